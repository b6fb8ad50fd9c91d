"""Boxes around the objects in a picture of evidence, with names that do not overlap."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image

from eqa_nodes.core.types.views import Keyframe

_MOST = 6  # maximum number of objects outlined in an evidence image
_EDGE, _SMALL = 0.5, 0.5  # percent: from an edge, closer is cut off; of the image's area, smaller is hard to see
_LETTER, _PAD, _LINE = 2.3, 4.0, 7.5  # size of a name, percent of an image as wide as a phone
_CORNERS = ((False, False), (True, False), (False, True), (True, True))  # right, below
_COVERED = 20.0  # percent: a name inside a lower box would hide much of it


class Outline(NamedTuple):
    """An object in an image: its name, and left, top, width and height as percentages of the image.

    right, below: corner of the box at which its name is written; outside: the name is outside the box; named: there is
    room for the name.
    """

    name: str
    left: float
    top: float
    width: float
    height: float
    right: bool = False
    below: bool = False
    outside: bool = False
    named: bool = True

    @property
    def cut(self) -> bool:
        """Return whether it reaches an edge of the image, which then may show only a part of it."""
        return (min(self.left, self.top) < _EDGE or self.left + self.width > 100 - _EDGE
                or self.top + self.height > 100 - _EDGE)

    @property
    def label(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the name."""
        wide = _PAD + _LETTER * len(self.name)
        left = self.left + self.width - wide if self.right else self.left
        top = self.top + self.height - _LINE * (not self.outside) if self.below else self.top - _LINE * self.outside
        return left, top, left + wide, top + _LINE


def weakness(shown: Sequence[Outline]) -> str:
    """Return a warning about a picture with these objects as a proof; "" = none."""
    if shown and all(one.cut for one in shown):
        return "only a part of it is in the picture"
    if shown and max(one.width * one.height / 100 for one in shown) < _SMALL:
        return "it is small in the picture"
    return ""


def outlines(view: Keyframe, note: str) -> tuple[Outline, ...]:
    """Return the outlines of the labelled objects that the note of the evidence names, largest first."""
    named = [part.strip() for part in note.split(",")]
    shown = sorted((s for s in view.sightings if s.label.kind in named), key=lambda s: (-s.pixels, s.label.instance))
    with Image.open(io.BytesIO(view.jpeg)) as image:
        wide, high = image.size
    return placed([Outline(s.label.kind, 100 * s.bbox[0] / wide, 100 * s.bbox[1] / high,
                           100 * (s.bbox[2] - s.bbox[0]) / wide, 100 * (s.bbox[3] - s.bbox[1]) / high)
                   for s in shown[:_MOST]])


def placed(boxes: list[Outline]) -> tuple[Outline, ...]:
    """Place each name at a corner of its box, without overlapping other names and within the image.

    The name of a low box is placed outside if there is room. A box without any room has no name.
    """
    done: list[Outline] = []
    for box in boxes:
        beside = (True, False) if box.height < _COVERED else (False,)
        tries = (box._replace(right=right, below=below, outside=outside)
                 for outside in beside for right, below in _CORNERS)
        done.append(next((one for one in tries if _free(one, done)), box._replace(named=False)))
    return tuple(done)


def _free(one: Outline, others: list[Outline]) -> bool:
    left, top, right, bottom = one.label
    if left < 0 or right > 100 or top < 0 or bottom > 100:
        return False
    return not any(other.named and left < o[2] and o[0] < right and top < o[3] and o[1] < bottom
                   for other in others for o in (other.label,))
