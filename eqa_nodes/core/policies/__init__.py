"""Exploration policies. Each answers one question: where to look next, and why."""
