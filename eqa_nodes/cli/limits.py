"""Numbers on the command line that limit something: finite, above 0, or the word for no limit."""

from __future__ import annotations

import argparse
import math

NONE = "none"
UNLIMITED = 0  # what the rest of the program calls no limit


def whole(text: str) -> int:
    """Return a whole number from 1 on. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


def from_zero(text: str) -> int:
    """Return a whole number from 0 on, where 0 means all. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, got {text!r}")
    return int(text)


def whole_or_none(text: str) -> int:
    """Return a whole number from 1 on, or UNLIMITED for "none". Raises ArgumentTypeError."""
    if text == NONE:
        return UNLIMITED
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) < 2 ** 32):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, or {NONE}, got {text!r}")
    return int(text)


def measure_or_none(text: str) -> float:
    """Return a finite number above 0, or UNLIMITED for "none". Raises ArgumentTypeError."""
    if text == NONE:
        return UNLIMITED
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"expected a number above 0, or {NONE}, got {text!r}")
    return value
