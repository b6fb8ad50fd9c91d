"""Answers by rules over labels, a simulator's (privileged) or a detector's: the offline default, no model."""
