"""Answers about sizes and distances, sides, and what fits or is closer. Lengths are those of core/memory/extents.py."""

from __future__ import annotations

import math
from typing import NamedTuple

from eqa_nodes.core.answerers.label.answers import Rule, RuleAnswer, clearest, each_one, places, the_one, yes
from eqa_nodes.core.answerers.label.finding import find, side_of, to_the_right
from eqa_nodes.core.answerers.label.home import about_room
from eqa_nodes.core.answerers.label.scene import AREA_SURE, LabelScene, Seen, facing, gap
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.quantities import said_in, tolerance
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.memory.extents import Length, ObjectBox, box_of_sightings, wall_yaw, whole_edges

_LONG_WAYS = frozenset(("bed", "table", "rug", "bench", "mat"))  # last words of kinds whose width is the shorter side
_PLAIN = 1.2  # ratio of two sides from which it is clear which is the longer one
_MEASURED_PIXELS = 4000  # of an object in its largest view, from which its sides are seen to a centimetre or two
_SQUARE_FOOT_M2 = 0.092903
_PROMISE, _LEAST_PROMISE = 0.8, 0.55  # of a view that shows an object well, or badly


class _Measured(NamedTuple):
    """An object with its box; sure: how sure it is the one that is meant, 0..1; promise: what its views contribute."""

    seen: Seen
    box: ObjectBox
    sure: float
    promise: float

    def side(self, axis: int) -> Length:
        """Return a side of the box, as a line that its best view sees."""
        view = self.seen.view
        x, y, z = view.map_from_base.xyz
        return self.box.side(axis, (x, y, z + (view.geometry.base_from_camera.xyz[2] if view.geometry else 0.0)))


def _measured(scene: LabelScene, thing: Thing) -> _Measured | None:
    one = the_one(scene, thing)
    if one is None:
        return None
    seen, sure = one
    box = box_of_sightings(seen.views, wall_yaw(scene.views))
    best = max(sum(whole_edges(view, sighting)) for view, sighting in seen.views) / 4
    sure *= min(1.0, math.sqrt(max(sighting.pixels for _, sighting in seen.views) / _MEASURED_PIXELS))
    return _Measured(seen, box, sure, sure * (_LEAST_PROMISE + (_PROMISE - _LEAST_PROMISE) * best))


def _found(text: str, ones: tuple[_Measured, ...], length: Length, within_m: float) -> RuleAnswer:
    """Return an answer, as sure as the doubt of a length is small beside the error that would make it wrong."""
    certain = min(max(1.2 - 0.6 * length.doubt_m / max(within_m, 1e-3), 0.3), 1.0)
    return RuleAnswer(text, min(one.sure for one in ones) * certain, tuple(one.seen for one in ones),
                      min(one.promise for one in ones), measure=length.line)


def _size(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    thing = asked.things[0]
    if about_room(thing):
        return _area(scene, asked)
    one = _measured(scene, thing)
    if one is None:
        return None
    if asked.aspect not in ("big", "area"):
        side = one.side(_axis(one, asked.aspect))
        return _found(said_in(side.metres, asked.unit), (one,), side, tolerance(side.metres))
    sides = {name: one.side(_axis(one, name)) for name in ("wide", "deep", "high")}
    text = ", ".join(f"{said_in(side.metres, asked.unit)} {name}" for name, side in sides.items())
    shown = sides["wide"]._replace(doubt_m=max(side.doubt_m for side in sides.values()))
    return _found(text, (one,), shown, tolerance(min(one.box.size)))


def _area(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return the area of a room: that of the box around what was seen of it."""
    name = asked.things[0].room or asked.things[0].kind
    area, there = scene.area(name), scene.in_room(name)
    feet = f"{area / _SQUARE_FOOT_M2:.0f} square feet ({area:.0f} m2)"
    text = feet if asked.unit in ("foot", "inch") else f"{area:.0f} m2"
    return RuleAnswer(text, AREA_SURE * scene.coverage(name), (clearest(there),)) if there else None


def _axis(one: _Measured, side: str) -> int:
    """Return which axis of an object's box its height, width, length, depth or thickness lies along.

    The width of beds, tables and rugs is the shorter side. The width of other furniture is that of its front, which is
    the longer side if they differ.
    """
    length, width = one.box.size[:2]
    longer, shorter = (0, 1) if length >= width else (1, 0)
    if side in ("high", "long", "thick"):
        return {"high": 2, "long": longer, "thick": shorter}[side]
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
    side = side_of(aspect, one.box.size)
    return one.seen, one.box.size[_axis(one, side)] if side else math.prod(one.box.size), one.box.size


def _apart(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return how far two objects are apart, or whether something fits between them; which of them was not seen."""
    found = [_measured(scene, thing) for thing in asked.things[:2]]
    ones = tuple(one for one in found if one is not None)
    if not ones or (len(ones) == 2 and ones[0].seen.instance == ones[1].seen.instance):
        return None
    if len(ones) == 1:
        says = f"the {asked.things[found.index(None)].kind} was not seen, only the {ones[0].seen.kind}"
        return RuleAnswer("", 0.0, (ones[0].seen,), ones[0].promise, says, True)
    length = ones[0].box.distance(ones[1].box, level=asked.form != "apart")
    if asked.form == "fits":
        return _verdict(scene, asked, ones, length, "the gap is")
    return _found(said_in(length.metres, asked.unit), ones, length, tolerance(length.metres))


def _passes(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    one = _measured(scene, asked.things[0])
    return one and _verdict(scene, asked, (one,), one.side(_axis(one, "long")), f"the {one.seen.kind} is")


def _verdict(scene: LabelScene, asked: Query, ones: tuple[_Measured, ...], room: Length,
             what: str) -> RuleAnswer | None:
    """Return whether there is room for something: of a length that the question names, or an object as it was seen."""
    needed = asked.metres
    if not needed:
        thing = _measured(scene, asked.things[-1])
        if thing is None:
            return None
        width = thing.side(_axis(thing, "wide"))
        needed, ones = width.metres, (*ones, thing)
        room = room._replace(doubt_m=math.hypot(room.doubt_m, width.doubt_m))
    text = f"{yes(room.metres >= needed)}: {what} {said_in(room.metres, asked.unit)} wide"
    return _found(text, ones, room, abs(room.metres - needed))


def _side(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    found = each_one(scene, asked.things)
    if found is None:
        return None
    (obj, base), sure = found
    side = "right" if to_the_right(base, obj)[0] > 0 else "left"
    return RuleAnswer(yes(side == asked.aspect) if asked.aspect else f"to the {side}", sure, (obj, base))


def _closer(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which of two named objects is nearer to the first one, or which of those that a phrase means."""
    if len(asked.things) == 2:
        base, others = the_one(scene, asked.things[0]), find(scene, asked.things[1], every=True)
        if base is None or len(others) < 2:
            return None
        nearer = min(others, key=lambda t: (t.room != base[0].room, gap(base[0], t), t.instance))
        return RuleAnswer(places([nearer], others), min(base[1], nearer.clarity), (nearer, base[0]))
    three = each_one(scene, asked.things)
    if three is None:
        return None
    (of, a, b), sure = three
    nearer = min((a, b), key=lambda t: gap(of, t))
    return RuleAnswer(f"the {nearer.kind}", sure, (nearer, of, b if nearer is a else a))


MEASURING: dict[str, Rule] = {
    "size": _size, "apart": _apart, "gap": _apart, "fits": _apart, "passes": _passes,
    "side": _side, "closer": _closer}
