"""Reads text in the views that memory keeps; lines of text become an attribute of the object that bears them.

Lines on no labelled object become sightings of the kind "text", one for each block of lines close to each other ("NO"
above "SHOES"). Only kept views are read, because reading is slow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from eqa_nodes.core.perception.detection import DetectionConfig
from eqa_nodes.core.perception.tracking import Perceiver, PerceiverConfig
from eqa_nodes.core.types.views import TEXT, Frame, Label, Sighting, box_of, least, most

# Text is read at larger distances than objects are measured, and with a higher score.
READING = PerceiverConfig(DetectionConfig(score=0.6, far_m=6.0))
_FIRST, _LAST = 60_001, 65_000  # range of text numbers: those of objects begin at 1, or at 30001
_EDGE = 2  # pixels: a line that ends this close to the image's left or right edge may be cut off
_BORNE = 0.5  # share of a line's box that an object must cover to bear it
# Two lines of one block: gap relative to the height of the lower one, ratio of their heights, and overlap relative to
# the narrower (or lower) one.
_GAP, _HEIGHTS, _BESIDE = 0.8, 2.0, 0.5


class Texts:
    """Reads kept views with a text detector. A text keeps its number while the process runs."""

    def __init__(self, perceiver: Perceiver) -> None:
        self._perceiver = perceiver
        self.reset()

    def reset(self) -> None:
        """Forget all known texts."""
        self._perceiver.reset(_FIRST)

    def read(self, frame: Frame, seen: Sequence[Sighting]) -> tuple[Sighting, ...]:
        """Return the sightings of a view with the text on them, then the texts that are on none of them.

        Lines that the left or right edge of the image may cut off are ignored: "OES" is not the text of a sign "SHOES".
        Lines at the upper or lower edge are kept: half letters are not read, and boxes are larger than their letters.
        Raises ModelError.
        """
        lines = [s for _, s in self._perceiver.take(frame, {}).found
                 if s.label.kind == TEXT and _whole(s, frame.depth_m.shape[1])]
        if any(line.label.instance >= _LAST for line in lines):
            self.reset()
        borne: dict[int, list[Sighting]] = {}
        known = {s.label.instance for s in seen}
        for line in lines:
            borne.setdefault(_bearer(frame, line, known), []).append(line)
        free = borne.pop(0, [])
        return (*(written_on(s, in_reading_order(borne[s.label.instance])) if s.label.instance in borne else s
                  for s in seen), *map(_joined, blocks(free)))


def unread(labels: Mapping[int, Label]) -> dict[int, Label]:
    """Return labels without the text that a simulator reports for objects, because it is read instead."""
    return {i: label if TEXT not in label.attributes else label._replace(
        attributes={k: v for k, v in label.attributes.items() if k != TEXT}) for i, label in labels.items()}


def written_on(s: Sighting, text: str) -> Sighting:
    """Return a sighting with text added as an attribute of the object."""
    return s._replace(label=s.label._replace(attributes={**s.label.attributes, TEXT: text}))


def in_reading_order(lines: Sequence[Sighting]) -> str:
    """Return the words of lines from top to bottom, and from left to right at one height."""
    rows: list[list[Sighting]] = []
    for line in sorted(lines, key=lambda s: s.bbox[1]):
        middle = (line.bbox[1] + line.bbox[3]) / 2
        if rows and middle < rows[-1][0].bbox[3]:
            rows[-1].append(line)
        else:
            rows.append([line])
    return " ".join(s.label.attributes[TEXT] for row in rows for s in sorted(row, key=lambda s: s.bbox[0]))


def blocks(lines: Sequence[Sighting]) -> list[list[Sighting]]:
    """Return the lines grouped into blocks of text, in which each line is close to another one."""
    found: list[list[Sighting]] = []
    for line in lines:
        near = [block for block in found if any(_close(line, other) for other in block)]
        found = [block for block in found if block not in near]
        found.append([line, *(other for block in near for other in block)])
    return found


def _whole(line: Sighting, width: int) -> bool:
    """Return whether a line begins and ends within an image of this width in pixels."""
    return line.bbox[0] >= _EDGE and line.bbox[2] <= width - _EDGE


def _close(a: Sighting, b: Sighting) -> bool:
    """Return whether two lines of similar height are above or beside each other, in the image and in space."""
    (left, top, right, bottom), (left_b, top_b, right_b, bottom_b) = a.bbox, b.bbox
    low, high = sorted((bottom - top, bottom_b - top_b))
    wide, tall = min(right, right_b) - max(left, left_b), min(bottom, bottom_b) - max(top, top_b)
    narrow = min(right - left, right_b - left_b)
    above = -tall <= _GAP * low and wide >= _BESIDE * narrow
    beside = -wide <= _GAP * low and tall >= _BESIDE * low
    reach = math.hypot(*a.size) + math.hypot(*b.size)  # lines at different depths form a block only in the image
    return high <= _HEIGHTS * low and (above or beside) and math.dist(a.centre, b.centre) <= reach


def _joined(block: Sequence[Sighting]) -> Sighting:
    """Return the lines of a block as one sighting with the number of the first line."""
    if len(block) == 1:
        return block[0]
    first = min(block, key=lambda s: (s.bbox[1], s.bbox[0]))
    lows, highs = zip(*map(box_of, block), strict=True)
    low, high = reduce(least, lows), reduce(most, highs)
    left, top, right, bottom = zip(*(s.bbox for s in block), strict=True)
    x, y, z = (round((a + b) / 2, 3) for a, b in zip(low, high, strict=True))
    deep, wide, tall = (round(b - a, 3) for a, b in zip(low, high, strict=True))
    whole = Sighting(first.label, sum(s.pixels for s in block), (min(left), min(top), max(right), max(bottom)),
                     (x, y, z), (deep, wide, tall))
    return written_on(whole, in_reading_order(block))


def _bearer(frame: Frame, line: Sighting, known: set[int]) -> int:
    """Return the sighted instance that covers most of a line's box, 0 if there is none."""
    if frame.labels is None:
        return 0
    left, top, right, bottom = line.bbox
    box = frame.labels[top:bottom, left:right]
    ids, pixels = np.unique(box, return_counts=True)
    most = int(ids[pixels.argmax()])
    return most if most in known and pixels.max() >= _BORNE * box.size else 0
