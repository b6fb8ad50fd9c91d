"""Reads numbers and places in a picture, which models write in several ways."""

from __future__ import annotations

import math
from collections.abc import Sequence

Size = tuple[int, int]  # of a picture as it was sent: width and height, pixels
SHARES, THOUSANDTHS, PIXELS = "shares", "thousandths", "pixels"
_PRIOR = 100.0  # odds of thousandths against pixels before a model has pointed: most models were trained to write them
_CERTAIN = 1e6


class PointScale:
    """In which scale a model writes points, where it does not keep to shares: decided once a reply, and remembered.

    A number beyond the picture's side tells thousandths, one beyond 1000 pixels. Points that both could mean make
    pixels likelier: few points in thousandths would all lie within the pixels of a small picture.
    """

    def __init__(self) -> None:
        self._odds = _PRIOR

    def of(self, points: Sequence[tuple[object, Size]]) -> str:
        """Return the scale of a reply. points: what it says of each, with the size of its picture."""
        found = [(numbers, size) for value, size in points if (numbers := _coordinates(value))]
        said = [(xy, size) for numbers, size in found for xy in zip(numbers[::2], numbers[1::2], strict=True)]
        if all(max(xy) <= 1.0 for xy, _ in said):
            return SHARES
        thousandths = all(max(xy) <= 1000.0 for xy, _ in said)
        pixels = all(x <= width and y <= height for (x, y), (width, height) in said)
        if thousandths and pixels:
            self._odds *= math.prod(min(w, 1000) * min(h, 1000) / 1e6 for _, (w, h) in found)
        elif thousandths or pixels:
            self._odds = _CERTAIN if thousandths else 1.0 / _CERTAIN
        self._odds = min(max(self._odds, 1.0 / _CERTAIN), _CERTAIN)
        return THOUSANDTHS if self._odds >= 1.0 else PIXELS


def point_in(value: object, size: Size, scale: str) -> tuple[float, float] | None:
    """Return a point as shares of width and height, of a box its middle; None where it is none, or not in the picture.

    value: [x, y], a box of four numbers, {"x": x, "y": y}, or one of these in a list.
    """
    if not (numbers := _coordinates(value)):
        return None
    x, y = (sum(numbers[axis::2]) / len(numbers[axis::2]) for axis in (0, 1))
    across, down = {SHARES: (1, 1), THOUSANDTHS: (1000, 1000), PIXELS: size}[scale]
    if max(numbers) > 1.0:  # else it is in shares, whatever the others are
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


def _coordinates(value: object) -> list[float]:
    """Return the two or four coordinates of a point or a box, [] for anything else."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        value = [value.get("x"), value.get("y")]
    if not isinstance(value, (list, tuple)) or len(value) not in (2, 4):
        return []
    numbers = [number for number in map(_coordinate, value) if number is not None and number >= 0.0]
    return numbers if len(numbers) == len(value) else []


def _coordinate(value: object) -> float | None:
    """Return a coordinate of a point; "25%" is a share."""
    number = number_in(value)
    return number / 100.0 if number is not None and isinstance(value, str) and value.strip().endswith("%") else number
