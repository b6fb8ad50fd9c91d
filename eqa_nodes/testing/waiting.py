"""Tests wait for a condition, never for a time: a busy machine is slow, and that is no failure."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
WAIT_S = 60.0  # a deadline that a busy machine does not miss
PAUSE_S = 0.02


def holds(condition: Callable[[], T], within_s: float = WAIT_S) -> T:
    """Look at a condition again and again; return its value as soon as it is true, else its last value."""
    end = time.monotonic() + within_s
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(PAUSE_S)
    return value


def until(condition: Callable[[], T], what: str = "", within_s: float = WAIT_S) -> T:
    """Wait until a condition holds and return its value; an AssertionError names what did not come about."""
    value = holds(condition, within_s)
    assert value, f"not within {within_s:g} s: {what or 'what the test waits for'}"
    return value


def gone(pid: int) -> bool:
    """Return whether a process has ended; also one whose parent has not asked for its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
