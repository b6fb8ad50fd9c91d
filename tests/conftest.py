"""For all tests: a busy machine is no failure, so hypothesis sets no deadline on one example."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("eqa", deadline=None)
settings.load_profile("eqa")
