"""Rules about living in a home: seats and guests, beds, signs of people and pets, energy and water."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.core.answerers.label.answers import (
    ONE_OF_SEVERAL,
    PROMISE,
    RuleAnswer,
    clearest,
    meant,
    surveyed,
    the_one,
    yes,
)
from eqa_nodes.core.answerers.label.finding import find
from eqa_nodes.core.answerers.label.scene import LabelScene, gap
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.uses import HINTS, SEATS, SIGNS

_AT_TABLE_M = 0.75  # between visible parts, which end a little inside the objects
_TWO_SLEEP_M = 1.17  # measured width of a bed for two


def _seats(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return how many people can sit at a table."""
    one = the_one(scene, asked.things[0])
    chairs = [t for t in scene.in_room(one[0].room) if t.kind.endswith("chair") and t.kind != "armchair"
              and gap(t, one[0]) < _AT_TABLE_M] if one else []
    if one is None or not chairs:
        return None
    sure = 0.9 * surveyed(one[0]) if len(one[0].views) > 2 else 0.6
    return RuleAnswer(str(len(chairs)), sure, (one[0], *chairs), PROMISE * one[1])


def _guests(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return whether there are enough chairs for some people, or how many more they need."""
    found = find(scene, asked.things[0])
    if not found:
        return None
    missing = max(0, asked.number - len(found))
    sure = 0.95 * scene.overview(asked.things[0].room) if missing or asked.form == "more" else 0.9
    text = str(missing) if asked.form == "more" else yes(not missing)
    return RuleAnswer(text, sure, tuple(found), PROMISE * min(t.clarity for t in found))


def _fits_two(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    one = the_one(scene, asked.things[0])
    return one and RuleAnswer(yes(min(one[0].sides[:2]) > _TWO_SLEEP_M), one[1] * surveyed(one[0]) / 0.9, (one[0],),
                              PROMISE * one[1])


def _sit_for(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return where one can sit to watch a screen."""
    screen = the_one(scene, asked.things[0])
    room = screen[0].room if screen else "living room"  # where it is most likely, while it is not seen
    seat = next(iter(find(scene, Thing(room=room, kinds=SEATS))), None)
    if seat is None:
        return None
    sure, objects = (min(screen[1], seat.clarity), (seat, screen[0])) if screen else (0.5 * seat.clarity, (seat,))
    return RuleAnswer(f"on the {seat.kind} in the {seat.room}", sure, objects)


def hints_of(asked: Query) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the answers to what is asked about those who live here, each with the kinds of objects that tell it."""
    if asked.form == "hint":
        return HINTS[asked.aspect]
    return (("yes", SIGNS[asked.aspect]),) if asked.form == "sign" else ()


def _hint(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return what objects tell about those who live here, or that there is a sign of a child or a pet."""
    told = reversed(hints_of(asked))
    hinted = {t.instance: (answer, t) for answer, kinds in told for t in scene.objects if t.kind in kinds}
    if not hinted:
        return None
    answer, obj = hinted[clearest([t for _, t in hinted.values()]).instance]
    alone = len({answer for answer, _ in hinted.values()}) == 1
    return RuleAnswer(answer, obj.clarity * (1.0 if alone else ONE_OF_SEVERAL), (obj,))


def _bath(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return whether a room has a bath or only a shower."""
    for kind, text, sure in (("bathtub", "a bath", 1.0), ("shower", "only a shower", 0.9)):
        if one := the_one(scene, Thing(kind, asked.things[0].room)):
            return RuleAnswer(text, one[1] * sure, (one[0],))
    return None


def _wasting(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return what wastes energy or water in a room, or whether anything does."""
    room, state = asked.things[0].room, "running" if asked.aspect == "water" else "on"
    found = [t for t in scene.in_room(room) if t.attributes.get("state") == state]
    if asked.form == "wasting":
        one = meant(found)
        return one and RuleAnswer(f"the {one[0].kind}", one[1], (one[0],))
    if found:
        return RuleAnswer("yes", clearest(found).clarity, tuple(found[:3]))
    return RuleAnswer("no", 0.9 * scene.coverage(room), tuple(scene.in_room(room)[:1])) if scene.looked_over(
        room) else None


HOMELY: dict[str, Callable[[LabelScene, Query], RuleAnswer | None]] = {
    "seats": _seats, "enough": _guests, "more": _guests, "fits_two": _fits_two, "sit_for": _sit_for, "hint": _hint,
    "sign": _hint, "bath": _bath, "wasted_in": _wasting, "wasting": _wasting}
