"""Encoding of lengths measured in the map, and of points in a picture, in the note of an answer's evidence."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

Point3 = tuple[float, float, float]

_AT = r"-?\d+\.\d{3} -?\d+\.\d{3} -?\d+\.\d{3}"
_NOTED = re.compile(rf"measured from \((?P<a>{_AT})\) to \((?P<b>{_AT})\)")
_POINTED = re.compile(r"(?:; )?pointed at \((?P<x>[01]\.\d{3}) (?P<y>[01]\.\d{3})\)")


class MeasuredLine(NamedTuple):
    """A straight line between two points, map frame, metres."""

    start: Point3
    end: Point3

    @property
    def metres(self) -> float:
        """Return the length of the line."""
        return math.dist(self.start, self.end)


def noted(measure: MeasuredLine) -> str:
    """Return a measure as part of a note: evidence is passed through messages and files as text."""
    a, b = (" ".join(f"{value:.3f}" for value in point) for point in measure)
    return f"measured from ({a}) to ({b})"


def measures_of(note: str) -> list[MeasuredLine]:
    """Return the measures in a note, to a millimetre."""
    return [MeasuredLine(_point(hit["a"]), _point(hit["b"])) for hit in _NOTED.finditer(note)]


def _point(text: str) -> Point3:
    x, y, z = map(float, text.split())
    return x, y, z


def with_point(note: str, point: tuple[float, float]) -> str:
    """Return a note with the point of the picture that is the evidence, as shares of width and height."""
    return "; ".join(filter(None, (note, f"pointed at ({point[0]:.3f} {point[1]:.3f})")))


def points_of(note: str) -> tuple[tuple[float, float], ...]:
    """Return the points of the picture in a note, as shares of width and height."""
    found = [(float(hit["x"]), float(hit["y"])) for hit in _POINTED.finditer(note)]
    return tuple(point for point in found if max(point) <= 1.0)


def shown_note(note: str) -> str:
    """Return a note for display: measures without coordinates, and no points of the picture."""
    return _POINTED.sub("", _NOTED.sub("measured", note)).removeprefix("; ")
