"""Rules about rooms and about living in a home: seats and guests, beds, signs of people and pets, energy and water."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from eqa_nodes.core.answerers.label.answers import (
    ONE_OF_SEVERAL,
    PROMISE,
    Rule,
    RuleAnswer,
    absent,
    clearest,
    counted,
    meant,
    surveyed,
    the_one,
    yes,
)
from eqa_nodes.core.answerers.label.finding import PLAIN, find, is_called, is_smaller
from eqa_nodes.core.answerers.label.scene import AREA_SURE, HALF, LOOKED, LabelScene, gap, likely
from eqa_nodes.core.language.english import join_list
from eqa_nodes.core.language.naming import kept_in, members
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.rooms import is_room
from eqa_nodes.core.language.uses import HINTS, SEATS, SIGNS, rooms_of
from eqa_nodes.core.types.questions import RankedRegion

ALIKE_SURE = 0.4  # confidence in a comparison of rooms that hardly differ
_AT_TABLE_M = 0.75  # between visible parts, which end a little inside the objects
_TWO_SLEEP_M = 1.17  # measured width of a bed for two


# The rooms that are worth a visit.

def regions_for(asked: Query) -> list[RankedRegion]:
    """Return the rooms where the answer may be, best first; if the question names rooms, these."""
    if asked.rooms:
        return [RankedRegion(room, 1.0) for room in sorted(asked.rooms)]
    kinds = _kinds(asked)
    weights = Counter[str]()
    for kind in kinds:
        weights.update({room: weight / len(kinds) for room, weight in rooms_of(kind).items()})
    return [RankedRegion(room, round(weights[room], 4)) for room in sorted(weights, key=lambda r: (-weights[r], r))]


def _kinds(asked: Query) -> list[str]:
    """Return the objects that a question is about: named, lying on named ones, or made for its purpose."""
    named = [kind for thing in asked.subjects for kind in (
        *(thing.kinds or (thing.kind,)), thing.support.kind if thing.support else "") if kind]
    hints = [kind for _, kinds in hints_of(asked) for kind in kinds]
    return [kind for name in named for kind in (*members(name), *kept_in(name))] or named or hints or [""]


def hints_of(asked: Query) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the possible answers about the people who live here, each with the kinds of objects that show it."""
    if asked.form == "hint":
        return HINTS[asked.aspect]
    return (("yes", SIGNS[asked.aspect]),) if asked.form == "sign" else ()


# Rooms.

def about_room(thing: Thing) -> bool:
    """Return whether a phrase means a room and nothing in it."""
    return is_room(thing.kind or thing.room) and thing.kind in ("", "room", thing.room)


def room_exists(scene: LabelScene, thing: Thing, there: str, not_there: str) -> RuleAnswer | None:
    """Answer whether there is such a room. Rooms are not objects: the objects in a room show that it exists."""
    rooms = scene.rooms(thing.kind)
    fit, sure = _fitting(scene, thing, rooms)
    if fit:
        best = clearest([t for room in fit for t in scene.in_room(room)])
        said = f"{there}: {_the(fit)}" if thing.unlike or thing.support else there
        return RuleAnswer(said, best.clarity if not thing.unlike else sure, (best,))
    said = f"{not_there}: none of the {len(rooms)} seen" if len(rooms) > 1 else not_there
    return RuleAnswer(said, sure, tuple(scene.in_room(rooms[0])[:1])) if rooms else None


def _fitting(scene: LabelScene, thing: Thing, rooms: Sequence[str]) -> tuple[list[str], float]:
    """Return the rooms that have what a phrase says, or have it not, and how sure that is."""
    has, lacks = thing.support, thing.unlike.support if thing.unlike else None
    fit = [room for room in rooms if (not has or _has(scene, room, has)) and not (lacks and _has(scene, room, lacks))]
    sure = min(map(scene.coverage, rooms), default=0.0) if has or lacks else 0.95
    return fit, 0.9 * sure


def _has(scene: LabelScene, room: str, thing: Thing) -> bool:
    return bool(find(scene, thing._replace(room=room), every=True))


def _the(rooms: Sequence[str]) -> str:
    return join_list([f"the {room}" for room in rooms])


def _which_rooms(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which rooms there are, or have such objects, or have none; or how many rooms."""
    thing, one = asked.things[0], asked.things[0].plain()
    if is_room(thing.kind) or thing.kind == "room":
        rooms, sure = _fitting(scene, thing, scene.rooms("" if thing.kind == "room" else thing.kind))
        sure = min(sure, HALF)  # nothing proves that there are no more
    else:
        known, lacking = scene.rooms(thing.room), thing.quantifier == "no"
        rooms = [room for room in known if _has(scene, room, one) != lacking]
        if lacking and len(rooms) == len(known) and absent(scene, one) is None:
            return None
        if lacking and known and not rooms:
            shown = find(scene, one._replace(room=known[0]), every=True)[:1]
            return RuleAnswer("none", min(LOOKED, scene.overview(thing.room)), tuple(shown))
        shares = [scene.coverage(room) for room in known] or [0.0]
        sure = 0.9 * min(shares) if thing.room else min(0.9 * sum(shares) / len(shares), LOOKED)
    if not rooms:
        return None
    objects = [next((t for t in scene.objects if t.room == room and is_called(t.kind, thing.kind)),
                    scene.in_room(room)[0]) for room in rooms]
    text = str(len(rooms)) if asked.aspect == "count" else _the(rooms)
    return RuleAnswer(text, sure, tuple(objects)[:3], PROMISE * clearest(objects).clarity)


def _most_rooms(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which room has most (fewest) of a kind; all that share the first place."""
    thing = asked.things[0].plain()
    found = find(scene, thing, every=True)
    counts = Counter(t.room for t in found if t.room)
    if not counts:
        return None
    best = (min if is_smaller(asked.aspect) else max)(counts.values())
    first = sorted(room for room in counts if counts[room] == best)
    said = f"{_the(first)}: {counted(thing.kind or found[0].kind, best)}{' each' if len(first) > 1 else ''}"
    shown = tuple(t for t in found if t.room in first)[:3]
    return RuleAnswer(said, 0.95 * scene.overview(), shown, PROMISE * min(t.clarity for t in found))


def extreme_room(scene: LabelScene, thing: Thing) -> RuleAnswer | None:
    """Return the largest (smallest) room by the box of what was seen of it."""
    kind = thing.kind or thing.room
    rooms = sorted(scene.rooms("" if kind == "room" else kind), key=scene.area, reverse=not is_smaller(thing.size))
    if len(rooms) < 2:
        return None
    one, two = scene.area(rooms[0]), scene.area(rooms[1])
    plain = max(one, two) >= PLAIN * min(one, two)
    text = f"the {rooms[0]}: {one:.0f} m2" + ("" if plain else f" (the {rooms[1]} has {two:.0f} m2)")
    sure = min(scene.overview(), AREA_SURE) if plain else ALIKE_SURE
    return RuleAnswer(text, sure, tuple(scene.in_room(rooms[0])[:1]))


# Living in a home.

def _seats(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return how many people can sit at a table."""
    one = the_one(scene, asked.things[0])
    chairs = [t for t in scene.in_room(one[0].room) if t.kind.endswith("chair") and t.kind != "armchair"
              and gap(t, one[0]) < _AT_TABLE_M] if one else []
    if one is None or not chairs:
        return None
    sure, counted = 0.9 * surveyed(one[0]) if len(one[0].views) > 2 else 0.6, likely(chairs)
    return RuleAnswer(str(len(counted)), sure * scene.counted(chairs), (one[0], *counted), PROMISE * one[1])


def _guests(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return whether there are enough chairs for some people, or how many more they need."""
    found = find(scene, asked.things[0], every=True)
    if not found:
        return None
    counted = likely(found)
    missing = max(0, asked.number - len(counted))
    sure = 0.95 * scene.overview(asked.things[0].room) if missing or asked.form == "more" else 0.9
    text = str(missing) if asked.form == "more" else yes(not missing)
    return RuleAnswer(text, sure * scene.counted(found), counted, PROMISE * min(t.clarity for t in found))


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


def _hint(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return what the objects show about the people who live here, or that there is a sign of a child or a pet."""
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
    shown = tuple(scene.in_room(room)[:1])
    return RuleAnswer("no", 0.9 * scene.coverage(room), shown) if scene.looked_over(room) else None


HOME: dict[str, Rule] = {
    "seats": _seats, "enough": _guests, "more": _guests, "fits_two": _fits_two, "sit_for": _sit_for, "hint": _hint,
    "sign": _hint, "bath": _bath, "wasted_in": _wasting, "wasting": _wasting,
    "rooms": _which_rooms, "most": _most_rooms}
