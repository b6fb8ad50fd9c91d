"""For all tests: a busy machine is no failure, so hypothesis sets no deadline on an example, nor on drawing it.

A shell ignores interrupts in what it starts in the background, and so would every process that a test interrupts.
"""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("eqa", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("eqa")
