"""Reads numbers and places in a picture, which models write in several ways."""

from __future__ import annotations

import math


def point_in(value: object, size: tuple[int, int]) -> tuple[float, float] | None:
    """Return a point as shares of width and height; models also write per cent, thousandths or pixels."""
    if not isinstance(value, (list, tuple)) or len(value) not in (2, 4):
        return None
    numbers = [number for number in map(_coordinate, value) if number is not None and number >= 0.0]
    if len(numbers) < len(value):
        return None
    x, y = (sum(numbers[axis::2]) / len(numbers[axis::2]) for axis in (0, 1))  # the middle of a box
    if max(x, y) > 1.0:
        across, down = size if x <= size[0] and y <= size[1] else (1000, 1000)
        x, y = x / across, y / down
    return (x, y) if x <= 1.0 and y <= 1.0 else None


def number_in(value: object) -> float | None:
    """Return a finite number, which may be written as text, with a sign of per cent or without; None for others."""
    if isinstance(value, str):
        try:
            value = float(value.strip().rstrip("%"))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def _coordinate(value: object) -> float | None:
    """Return a coordinate of a point; "25%" is a share."""
    number = number_in(value)
    return number / 100.0 if number is not None and isinstance(value, str) and value.strip().endswith("%") else number
