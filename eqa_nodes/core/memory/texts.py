"""What is written in the views that memory keeps: lines of text become a property of the object that bears them.

Lines on no labelled object are sightings of their own, of the kind "text": one for each block of lines that stand close
together ("NO" above "SHOES"). Only kept views are read: reading is slow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from eqa_nodes.core.perception.detection import DetectionConfig
from eqa_nodes.core.perception.tracking import Perceiver, PerceiverConfig
from eqa_nodes.core.types.views import TEXT, Frame, Label, Sighting, box_of, least, most

# Text is read from farther away than objects are measured, and is surer than they are.
READING = PerceiverConfig(DetectionConfig(score=0.6, far_m=6.0))
_FIRST, _LAST = 60_001, 65_000  # numbers of texts: those of objects begin at 1, or at 30001
_EDGE = 2  # pixels: a line that ends nearer to the image's left or right edge may go on beyond it
_BORNE = 0.5  # share of a line's box that an object must cover to bear it
# Of two lines of one block: gap in heights of the lower one, ratio of their heights, share of the narrower (or lower)
# one that lies beside the other.
_GAP, _HEIGHTS, _BESIDE = 0.8, 2.0, 0.5


class Texts:
    """Reads kept views with a detector that gives text. A text keeps its number while the process runs."""

    def __init__(self, perceiver: Perceiver) -> None:
        self._perceiver = perceiver
        self.reset()

    def reset(self) -> None:
        """Begin anew: no text is known."""
        self._perceiver.reset(_FIRST)

    def read(self, frame: Frame, seen: Sequence[Sighting]) -> tuple[Sighting, ...]:
        """Return the sightings of a view with what is written on them, then the texts that are on none of them.

        Lines that an edge of the image may cut off are left out: "OES" is no text of a sign that says "SHOES". Those at
        its upper or lower edge stay: half letters are not read, and boxes are larger than their letters. Raises
        ModelError.
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
    """Return labels without what a simulator knows to be written on their objects: it is read instead."""
    return {i: label if TEXT not in label.attributes else label._replace(
        attributes={k: v for k, v in label.attributes.items() if k != TEXT}) for i, label in labels.items()}


def written_on(s: Sighting, text: str) -> Sighting:
    """Return a sighting that also says what is written on the object."""
    return s._replace(label=s.label._replace(attributes={**s.label.attributes, TEXT: text}))


def in_reading_order(lines: Sequence[Sighting]) -> str:
    """Return the words of lines from the top down, and of those at one height from the left."""
    rows: list[list[Sighting]] = []
    for line in sorted(lines, key=lambda s: s.bbox[1]):
        middle = (line.bbox[1] + line.bbox[3]) / 2
        if rows and middle < rows[-1][0].bbox[3]:
            rows[-1].append(line)
        else:
            rows.append([line])
    return " ".join(s.label.attributes[TEXT] for row in rows for s in sorted(row, key=lambda s: s.bbox[0]))


def blocks(lines: Sequence[Sighting]) -> list[list[Sighting]]:
    """Return lines by the blocks of text that they belong to, in which each line is close to another one."""
    found: list[list[Sighting]] = []
    for line in lines:
        near = [block for block in found if any(_close(line, other) for other in block)]
        found = [block for block in found if block not in near]
        found.append([line, *(other for block in near for other in block)])
    return found


def _whole(line: Sighting, width: int) -> bool:
    """Return whether a line begins and ends within an image that is so many pixels wide."""
    return line.bbox[0] >= _EDGE and line.bbox[2] <= width - _EDGE


def _close(a: Sighting, b: Sighting) -> bool:
    """Return whether two lines of letters of a size are above or beside each other, in the image and in the room."""
    (left, top, right, bottom), (left_b, top_b, right_b, bottom_b) = a.bbox, b.bbox
    low, high = sorted((bottom - top, bottom_b - top_b))
    wide, tall = min(right, right_b) - max(left, left_b), min(bottom, bottom_b) - max(top, top_b)
    narrow = min(right - left, right_b - left_b)
    above = -tall <= _GAP * low and wide >= _BESIDE * narrow
    beside = -wide <= _GAP * low and tall >= _BESIDE * low
    reach = math.hypot(*a.size) + math.hypot(*b.size)  # one behind the other is a block in the image only
    return high <= _HEIGHTS * low and (above or beside) and math.dist(a.centre, b.centre) <= reach


def _joined(block: Sequence[Sighting]) -> Sighting:
    """Return the lines of a block as one sighting, under the number of its first line."""
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
    """Return the sighted instance that most of a line's box shows, 0 where none does."""
    if frame.labels is None:
        return 0
    left, top, right, bottom = line.bbox
    box = frame.labels[top:bottom, left:right]
    ids, pixels = np.unique(box, return_counts=True)
    most = int(ids[pixels.argmax()])
    return most if most in known and pixels.max() >= _BORNE * box.size else 0
