"""A measured length in the map, and how the note of an answer's evidence holds it."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

Point3 = tuple[float, float, float]

_AT = r"-?\d+\.\d{3} -?\d+\.\d{3} -?\d+\.\d{3}"
_NOTED = re.compile(rf"measured from \((?P<a>{_AT})\) to \((?P<b>{_AT})\)")


class Measure(NamedTuple):
    """A straight line between two points, map frame, metres."""

    start: Point3
    end: Point3

    @property
    def metres(self) -> float:
        """Return its length."""
        return math.dist(self.start, self.end)


def noted(measure: Measure) -> str:
    """Return a measure as a part of a note: evidence goes through messages and files as text."""
    a, b = (" ".join(f"{value:.3f}" for value in point) for point in measure)
    return f"measured from ({a}) to ({b})"


def measures_of(note: str) -> list[Measure]:
    """Return the measures that a note holds, to a millimetre; none where it holds none."""
    return [Measure(_point(hit["a"]), _point(hit["b"])) for hit in _NOTED.finditer(note)]


def _point(text: str) -> Point3:
    x, y, z = map(float, text.split())
    return x, y, z


def shown_note(note: str) -> str:
    """Return a note as people read it: a measure without its coordinates."""
    return _NOTED.sub("measured", note)
