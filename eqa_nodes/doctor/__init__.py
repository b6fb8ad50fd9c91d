"""Checks before a run: collectors gather facts from this machine, a live robot or a bag; pure functions judge them."""
