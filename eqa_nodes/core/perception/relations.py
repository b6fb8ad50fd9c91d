"""Where a detected object is by its box: on, in or under another one, on the floor, on a wall or at the ceiling.

The attributes are those of a simulator's label: "relation", and "support" for the kind of what it is on, in or under.
Only what the boxes show clearly is claimed. A box covers the visible part of an object: of a counter often only the
front is known, and what stands on it stands some way behind that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.types.views import MOVING, TEXT, Point

# Heights are above the floor; the values were chosen on houses 900 to 911.
_ON_FLOOR_M = 0.12  # height up to which the visible part of an object on the floor begins
_TOUCH_M = 0.06  # height below which not even the lowest board of a shelf is
_FLAT_M = 0.12  # height of rugs, plates and boards, which support nothing
_CONTACT_M = 0.08  # tolerance between the bottom of an object and the top of its support
_BESIDE_M = 0.3  # maximum distance of an object's centre from the visible part of its support
_RIVAL_M = 0.15  # another kind of support that is farther away by less than this may be the right one
_INSIDE_M = 0.05  # maximum distance of an object's centre from the footprint of what it is in
_LEVEL_M = 0.1  # tolerance between the boards of a shelf and the ends of its box
_SHELF_M = 1.2  # an object is in supports that are higher, such as shelves, and on lower ones, such as sofas
_SUPPORT_M = 0.3  # minimum width of a support
_LEGS_M = 0.3  # height up to which the visible part of a table begins that something is under
_HUNG_M, _THIN_M, _WIDE_M = 0.85, 0.06, 0.24  # a flat and wide object above this height without a support is on a wall
_HIGH_M, _BELOW_CEILING_M = 1.4, 2.4  # and so is one that is not flat between these heights
_CEILING_M = 2.2  # what begins above this height is at the ceiling
_BUILT_IN = frozenset(("door", "front door", "window", "curtain"))  # parts of walls
_NO_SUPPORT = _BUILT_IN | {TEXT, "rug", "painting", "mirror", *MOVING}  # what nothing is on, in or under
_WITH_LEGS = ("table", "desk", "bench", "workbench")  # how the names of supports end that something may be under


class Boxed(Protocol):
    """An instance with its box."""

    @property
    def kind(self) -> str:
        """Return its name."""

    @property
    def low(self) -> Point:
        """Return the lower corner in metres, map frame."""

    @property
    def high(self) -> Point:
        """Return the upper corner."""


class _Boxes(NamedTuple):
    """n boxes. low, high: (n, 3), metres above the floor; wide: (n,) longer side of the footprint; middle: (n, 2)."""

    low: np.ndarray
    high: np.ndarray
    wide: np.ndarray
    middle: np.ndarray
    kinds: list[str]


def relations_of(seen: Sequence[Boxed], known: Sequence[Boxed], floor_m: float) -> list[dict[str, str]]:
    """Return "relation" and "support" of each instance in view; {} where the boxes do not show them.

    known: all instances, those in view among them; floor_m: height of the floor, map frame, metres.
    """
    if not seen:
        return []
    low, high = (np.array([getattr(t, end) for t in known]) - (0.0, 0.0, floor_m) for end in ("low", "high"))
    boxes = _Boxes(low, high, (high - low)[:, :2].max(axis=1), (low + high)[:, :2] / 2, [t.kind for t in known])
    index = {id(t): i for i, t in enumerate(known)}
    return [_relation(index[id(t)], boxes) for t in seen]


def _relation(i: int, boxes: _Boxes) -> dict[str, str]:
    bottom, top = boxes.low[i, 2], boxes.high[i, 2]
    kind = canonical(boxes.kinds[i])
    if kind in _BUILT_IN or kind == TEXT:  # what text is written on is not detected
        return {"relation": "wall"} if kind in _BUILT_IN else {}
    if bottom >= _CEILING_M:
        return {"relation": "ceiling"}
    gap_m = np.maximum(np.maximum(boxes.low[:, :2] - boxes.middle[i], boxes.middle[i] - boxes.high[:, :2]), 0.0)
    off_m = np.sqrt((gap_m * gap_m).sum(axis=1))
    large = (boxes.high[:, 2] - boxes.low[:, 2] > _FLAT_M) & (boxes.wide >= max(_SUPPORT_M, boxes.wide[i]))
    large[i] = False
    boards = np.where(boxes.high[:, 2] > _SHELF_M, -_LEVEL_M, _LEVEL_M)
    around = large & (off_m <= _INSIDE_M) & (boxes.low[:, 2] + boards <= bottom) & (top <= boxes.high[:, 2] + _LEVEL_M)
    if bottom <= _ON_FLOOR_M and (bottom < _TOUCH_M or not around.any()):
        over = large & (off_m <= 0.0) & (boxes.high[:, 2] > top + _LEVEL_M) & (boxes.low[:, 2] < _LEGS_M)
        over &= np.array([name.endswith(_WITH_LEGS) for name in boxes.kinds])
        return (_claimed(i, "under", over, off_m, boxes) if top > _TOUCH_M else {}) or {"relation": "floor"}
    below = large & (off_m <= _BESIDE_M) & (np.abs(boxes.high[:, 2] - bottom) <= _CONTACT_M)
    found = below if below.any() else around
    if any(canonical(boxes.kinds[j]) not in _NO_SUPPORT for j in np.flatnonzero(found).tolist()):
        return _claimed(i, "on", found, off_m, boxes)
    sides = boxes.high[i, :2] - boxes.low[i, :2]
    hung = bottom >= _HIGH_M or (bottom >= _HUNG_M and sides.min() <= _THIN_M)
    return {"relation": "wall"} if hung and top < _BELOW_CEILING_M and sides.max() >= _WIDE_M else {}


def _claimed(i: int, relation: str, found: np.ndarray, off_m: np.ndarray, boxes: _Boxes) -> dict[str, str]:
    """Return the nearest of the supports found; {} if another kind is about as near, or for a part of the object."""
    ranked = sorted((float(off_m[j]), j) for j in np.flatnonzero(found).tolist()
                    if canonical(boxes.kinds[j]) not in _NO_SUPPORT)
    kinds = {boxes.kinds[j] for off, j in ranked if off <= ranked[0][0] + _RIVAL_M}
    if len(kinds) != 1 or boxes.kinds[i] in kinds:
        return {}
    top = boxes.high[ranked[0][1], 2]
    inside = relation == "on" and top > max(_SHELF_M, boxes.high[i, 2] - _LEVEL_M)
    return {"relation": "in" if inside else relation, "support": kinds.pop()}
