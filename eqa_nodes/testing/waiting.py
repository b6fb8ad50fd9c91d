"""Waits of tests for a condition, never for a fixed time: a slow, busy machine is not a failure."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
WAIT_S = 60.0  # a deadline that a busy machine can meet
PAUSE_S = 0.02


def holds(condition: Callable[[], T], within_s: float = WAIT_S) -> T:
    """Poll a condition; return its value as soon as it is true, else its last value at the deadline."""
    end = time.monotonic() + within_s
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(PAUSE_S)
    return value


def until(condition: Callable[[], T], what: str = "", within_s: float = WAIT_S) -> T:
    """Wait until a condition holds and return its value. Raises AssertionError that names it if it does not."""
    value = holds(condition, within_s)
    assert value, f"not within {within_s:g} s: {what or 'what the test waits for'}"
    return value


def gone(pid: int) -> bool:
    """Return whether a process has ended, including a zombie process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
