"""Answers by rules over the simulator's labels: the offline default, privileged, no model."""
