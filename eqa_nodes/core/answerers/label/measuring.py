"""Answers about sizes, distances, gaps, and whether something fits, measured on the boxes of core/memory/extents.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.answerers.label.answers import RuleAnswer, the_one, yes
from eqa_nodes.core.answerers.label.evidence import best_view, clarity
from eqa_nodes.core.answerers.label.finding import side_of
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, facing
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.quantities import said_in, tolerance
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.rooms import is_room
from eqa_nodes.core.memory.extents import ObjectBox, box_of_sightings, wall_yaw, whole_edges
from eqa_nodes.core.perception.projection import pixel_of, visible_pixel
from eqa_nodes.core.types.measures import MeasuredLine, Point3
from eqa_nodes.core.types.views import Keyframe

_LONG_WAYS = frozenset(("bed", "table", "rug", "bench", "mat"))  # last words of kinds whose width is the shorter side
_PLAIN = 1.2  # ratio of two sides from which everybody agrees which is the longer one
_MEASURED_PIXELS = 4000  # of an object in its largest view, from which its sides are seen to a centimetre or two
_AREA_SURE, _SQUARE_FOOT_M2 = 0.7, 0.092903  # a room may be larger than the box of what stands in it
_PROMISE, _LEAST_PROMISE = 0.8, 0.55  # of a view that shows an object well, or badly


class _Measured(NamedTuple):
    """An object with its box; sure: how sure it is the one that is meant, 0..1; promise: what its views contribute."""

    seen: Seen
    box: ObjectBox
    sure: float
    promise: float


def _measured(scene: LabelScene, thing: Thing) -> _Measured | None:
    one = the_one(scene, thing)
    if one is None:
        return None
    seen, sure = one
    box = box_of_sightings(seen.views, wall_yaw(scene.views))
    best = max(sum(whole_edges(view, sighting)) for view, sighting in seen.views) / 4
    sure *= min(1.0, math.sqrt(max(sighting.pixels for _, sighting in seen.views) / _MEASURED_PIXELS))
    return _Measured(seen, box, sure, sure * (_LEAST_PROMISE + (_PROMISE - _LEAST_PROMISE) * best))


def _certain(doubt_m: float, within_m: float) -> float:
    """Return how sure a length is right, 0..1: its standard deviation beside the error that would make it wrong."""
    return min(max(1.2 - 0.6 * doubt_m / max(within_m, 1e-3), 0.3), 1.0)


def _size(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    thing = asked.things[0]
    if is_room(thing.kind or thing.room) and thing.kind in ("", "room", thing.room):
        return _area(scene, asked)
    one = _measured(scene, asked.things[0])
    if one is None:
        return None
    side = asked.aspect
    if side in ("big", "area"):
        wide, deep = _across(one, "wide"), _across(one, "deep")
        text = ", ".join(f"{said_in(one.box.size[axis], asked.unit)} {side}" for axis, side in (
            (wide, "wide"), (deep, "deep"), (2, "high")))
        doubt = max(one.box.doubt_m(axis) for axis in range(3))
        return _found(text, (one,), _side(one, wide), doubt, tolerance(min(one.box.size)))
    axis = 2 if side == "high" else _across(one, side)
    measure = _side(one, axis)
    return _found(said_in(measure.metres, asked.unit), (one,), measure, one.box.doubt_m(axis),
                  tolerance(measure.metres))


def _area(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return the area of a room: that of the box around what was seen of it."""
    name = asked.things[0].room or asked.things[0].kind
    area, there = scene.area(name), scene.in_room(name)
    if not there:
        return None
    feet = f"{area / _SQUARE_FOOT_M2:.0f} square feet ({area:.0f} m2)"
    text = feet if asked.unit in ("foot", "inch") else f"{area:.0f} m2"
    return RuleAnswer(text, _AREA_SURE * scene.coverage(name), (max(there, key=lambda t: t.clarity),))


def _found(text: str, ones: tuple[_Measured, ...], measure: MeasuredLine, doubt_m: float,
           within_m: float) -> RuleAnswer:
    sure = min(one.sure for one in ones) * _certain(doubt_m, within_m)
    return RuleAnswer(text, sure, tuple(one.seen for one in ones), min(one.promise for one in ones), measure=measure)


def _across(one: _Measured, side: str) -> int:
    """Return which of the two level axes of an object's box its width, length, depth or thickness lies along.

    Of beds, tables and rugs the width is the shorter side. Other furniture is as wide as the side that it shows to who
    faces it, which is the longer one where they differ.
    """
    length, width = one.box.size[:2]
    longer, shorter = (0, 1) if length >= width else (1, 0)
    if side in ("long", "thick"):
        return longer if side == "long" else shorter
    if canonical(one.seen.kind).split()[-1] in _LONG_WAYS:
        across = shorter
    elif max(length, width) >= _PLAIN * min(length, width):
        across = longer
    else:
        x, y = facing(one.seen)
        along = abs(math.cos(one.box.yaw) * x + math.sin(one.box.yaw) * y)
        across = 1 if along > math.sqrt(0.5) else 0
    return across if side == "wide" else 1 - across


def size_of(scene: LabelScene, thing: Thing, aspect: str) -> tuple[Seen, float, tuple[float, float, float]] | None:
    """Return an object, what a word compares of it (height, width, length or volume), and its sides, metres."""
    one = _measured(scene, thing)
    if one is None:
        return None
    sides = one.box.size
    side = side_of(aspect, sides)
    value = math.prod(sides) if not side else sides[2] if side == "high" else sides[_across(one, side)]
    return one.seen, value, sides


def _side(one: _Measured, axis: int) -> MeasuredLine:
    """Return a side of an object's box as a line that its best view sees, along the box's own axis 0, 1 or 2.

    On the edge of its top that is nearest to the camera; half-way up a box that is taller than the camera, and of a
    height up the middle of the face that the camera looks at most squarely.
    """
    turn = one.box.axes()
    middle, half = turn @ np.array(one.box.centre), np.array(one.box.size) / 2
    eye = turn @ np.array(_eye(one))
    at = np.where(eye > middle, middle + half, middle - half)
    if axis == 2:
        across = int((np.abs(eye - middle)[:2] - half[:2]).argmin())
        at[across] = middle[across]
    elif at[2] < middle[2] or middle[2] + half[2] > eye[2]:
        at[2] = middle[2]
    start, end = at.copy(), at.copy()
    start[axis], end[axis] = middle[axis] - half[axis], middle[axis] + half[axis]
    return MeasuredLine(_point(turn.T @ start), _point(turn.T @ end))


def _eye(one: _Measured) -> tuple[float, float, float]:
    """Return where the camera of an object's best view was, about."""
    view = one.seen.view
    above = view.geometry.base_from_camera.xyz[2] if view.geometry is not None else 0.0
    x, y, z = view.map_from_base.xyz
    return x, y, z + above


def _point(at: np.ndarray) -> Point3:
    x, y, z = map(float, at)
    return x, y, z


def _between(one: _Measured, other: _Measured, level: bool) -> MeasuredLine:
    """Return the shortest line between two boxes, which are turned alike; level: within the floor plane."""
    turn = one.box.axes()
    a, b = (np.array(box.size) / 2 for box in (one.box, other.box))
    p, q = (turn @ np.array(box.centre) for box in (one.box, other.box))
    low, high = np.maximum(p - a, q - b), np.minimum(p + a, q + b)  # of what both share; low > high across a gap
    start = np.where(low <= high, (low + high) / 2, np.where(p < q, high, low))
    end = np.where(low <= high, (low + high) / 2, np.where(p < q, low, high))
    if level and start[2] != end[2]:
        start[2] = end[2] = min(start[2], end[2])
    return MeasuredLine(_point(turn.T @ start), _point(turn.T @ end))


def _pair(scene: LabelScene, asked: Query) -> tuple[_Measured, _Measured] | RuleAnswer | None:
    """Return the two objects; where only one was seen, that there is no answer yet, and None where none was."""
    found = [_measured(scene, thing) for thing in asked.things[:2]]
    a, b = found
    if a is not None and b is not None:
        return (a, b) if a.seen.instance != b.seen.instance else None
    one = a or b
    if one is None:
        return None
    missing = asked.things[0 if a is None else 1].kind
    says = f"the {missing} was not seen, only the {one.seen.kind}"
    return RuleAnswer("", 0.0, (one.seen,), one.promise, says, True)


def _apart(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    pair = _pair(scene, asked)
    if pair is None or isinstance(pair, RuleAnswer):
        return pair
    measure = _between(*pair, level=asked.form == "gap")
    return _found(said_in(measure.metres, asked.unit), pair, measure, _doubt_between(*pair), tolerance(measure.metres))


def _doubt_between(one: _Measured, other: _Measured) -> float:
    """Return the standard deviation of the distance of two boxes: of the faces that look at each other."""
    turn = one.box.axes()
    off = turn @ (np.array(other.box.centre) - np.array(one.box.centre))
    gaps = np.abs(off) - (np.array(one.box.size) + np.array(other.box.size)) / 2
    axis = int(gaps[:2].argmax())
    ahead = bool(off[axis] > 0)
    return math.hypot(one.box.face_doubt_m(axis, ahead), other.box.face_doubt_m(axis, not ahead))


def _fits(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    pair = _pair(scene, asked)
    if pair is None or isinstance(pair, RuleAnswer):
        return pair
    return _verdict(scene, asked, pair, _between(*pair, level=True), _doubt_between(*pair), "the gap is")


def _passes(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    one = _measured(scene, asked.things[0])
    if one is None:
        return None
    axis = _across(one, "long")
    return _verdict(scene, asked, (one,), _side(one, axis), one.box.doubt_m(axis), f"the {one.seen.kind} is")


def _verdict(scene: LabelScene, asked: Query, ones: tuple[_Measured, ...], room: MeasuredLine, doubt_m: float,
             what: str) -> RuleAnswer | None:
    """Return whether there is room for something: of a length that the question names, or an object as it was seen."""
    needed = asked.metres
    if not needed:
        thing = _measured(scene, asked.things[-1])
        if thing is None:
            return None
        axis = _across(thing, "wide")
        needed, ones = thing.box.size[axis], (*ones, thing)
        doubt_m = math.hypot(doubt_m, thing.box.doubt_m(axis))
    text = f"{yes(room.metres >= needed)}: {what} {said_in(room.metres, asked.unit)} wide"
    return _found(text, ones, room, doubt_m, abs(room.metres - needed))


MEASURING: dict[str, Callable[[LabelScene, Query], RuleAnswer | None]] = {
    "size": _size, "apart": _apart, "gap": _apart, "fits": _fits, "passes": _passes}


def shown_first(found: RuleAnswer) -> list[Keyframe]:
    """Return the views that prove an answer; of a measure first the one that shows both its ends best."""
    views = list({view.id: view for view in (best_view(t.views) for t in found.objects)}.values())
    if found.measure is None:
        return views
    seen: dict[int, tuple[Keyframe, list[float]]] = {}
    for obj in found.objects:
        for view, sighting in obj.views:
            seen.setdefault(view.id, (view, []))[1].append(clarity(view, sighting))
    whole = [(_uncovered(view, found.measure), min(clear), -view.id, view) for view, clear in seen.values()
             if len(clear) == len(found.objects) and all(pixel_of(view, *end) for end in found.measure)]
    first = max(whole, key=lambda one: one[:3], default=None)
    return views if first is None else [first[3], *(view for view in views if view.id != first[3].id)]


def _uncovered(view: Keyframe, measure: MeasuredLine) -> int:
    """Return how many ends of a measure nothing hides in a view, of a broken depth image none."""
    try:
        return sum(visible_pixel(view, *end) is not None for end in measure)
    except BadFrame:
        return 0
