"""Checks before a run: pure functions judge facts, collectors gather them of this machine, a live robot or a bag."""
