"""Spoken questions and answers that are read aloud, on this machine and without a network (docs/voice.md)."""
