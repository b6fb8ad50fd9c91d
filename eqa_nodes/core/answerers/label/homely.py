"""Rules about living in a home: seats and guests, beds, signs of people and pets, energy and water."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.core.answerers.label.finding import find
from eqa_nodes.core.answerers.label.found import RuleAnswer, clearest, surveyed, the_one, yes
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, extent, gap
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.uses import HINTS, SEATS, SIGNS

_AT_TABLE_M = 0.75  # between visible parts, which end a little inside the objects
_TWO_SLEEP_M = 1.17  # measured width of a bed for two
_LOOKED = 0.8  # of a room that was looked over


def _seats(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return how many people can sit at a table."""
    one = the_one(scene, asked.things[0])
    chairs = [t for t in scene.in_room(one[0].room) if t.kind.endswith("chair") and t.kind != "armchair"
              and gap(t, one[0]) < _AT_TABLE_M] if one else []
    if one is None or not chairs:
        return None
    sure = 0.9 * surveyed(one[0]) if len(one[0].views) > 2 else 0.6
    return RuleAnswer(str(len(chairs)), sure, (one[0], *chairs), 0.75 * one[1])


def _guests(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return whether there are enough chairs for some people, or how many more they need."""
    found = find(scene, asked.things[0])
    if not found:
        return None
    seen, promise = 0.95 * scene.overview(asked.things[0].room), 0.75 * min(t.clarity for t in found)
    missing = max(0, asked.number - len(found))
    if asked.form == "more":
        return RuleAnswer(str(missing), seen, tuple(found), promise)
    return RuleAnswer(yes(not missing), seen if missing else 0.9, tuple(found), promise)


def _fits_two(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    one = the_one(scene, asked.things[0])
    if one is None:
        return None
    width = min(extent(one[0], (1.0, 0.0)), extent(one[0], (0.0, 1.0)))
    return RuleAnswer(yes(width > _TWO_SLEEP_M), one[1] * surveyed(one[0]) / 0.9, (one[0],), 0.75 * one[1])


def _sit_for(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return where one can sit to watch a screen."""
    screen = the_one(scene, asked.things[0])
    room = screen[0].room if screen else "living room"  # where it is most likely, while it is not seen
    seat = next(iter(find(scene, Thing(room=room, kinds=SEATS))), None)
    if seat is None:
        return None
    sure, objects = (min(screen[1], seat.clarity), (seat, screen[0])) if screen else (0.5 * seat.clarity, (seat,))
    return RuleAnswer(f"on the {seat.kind} in the {seat.room}", sure, objects)


def _hint(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return what objects tell about those who live here."""
    hinted = [(answer, t) for answer, kinds in HINTS[asked.aspect] for t in scene.objects if t.kind in kinds]
    if not hinted:
        return None
    answer, obj = max(hinted, key=lambda pair: (pair[1].clarity, -pair[1].instance))
    return RuleAnswer(answer, obj.clarity * (1.0 if len({answer for answer, _ in hinted}) == 1 else 0.6), (obj,))


def _sign(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    signs = [t for t in scene.objects if t.kind in SIGNS[asked.aspect]]
    best = max(signs, key=lambda t: (t.clarity, -t.instance), default=None)
    return RuleAnswer("yes", best.clarity, (best,)) if best else None


def _bath(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return whether a room has a bath or only a shower."""
    tub, shower = (the_one(scene, Thing(kind, asked.things[0].room)) for kind in ("bathtub", "shower"))
    one = tub or shower
    return RuleAnswer("a bath" if tub else "only a shower", one[1] * (1.0 if tub else 0.9), (one[0],)) if one else None


def _wasting(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return what wastes energy or water in a room, or whether anything does."""
    room, state = asked.things[0].room, "running" if asked.aspect == "water" else "on"
    found: list[Seen] = [t for t in scene.in_room(room) if t.attributes.get("state") == state]
    if asked.form == "wasting":
        one = clearest(found)
        return one and one._replace(text=f"the {one.objects[0].kind}")
    if found:
        return RuleAnswer("yes", max(t.clarity for t in found), tuple(found[:3]))
    seen = scene.coverage(room)
    return RuleAnswer("no", 0.9 * seen, tuple(scene.in_room(room)[:1])) if seen > _LOOKED else None


HOMELY: dict[str, Callable[[LabelScene, Query], RuleAnswer | None]] = {
    "seats": _seats, "enough": _guests, "more": _guests, "fits_two": _fits_two, "sit_for": _sit_for, "hint": _hint,
    "sign": _sign, "bath": _bath, "wasted_in": _wasting, "wasting": _wasting}
