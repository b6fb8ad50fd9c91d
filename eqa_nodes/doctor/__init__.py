"""Checks before a run: collectors gather facts about this machine, a live robot or a bag; pure functions judge them."""
