"""Rooms: those that are worth a visit for a question, and the rules of questions about rooms."""

from __future__ import annotations

from collections.abc import Sequence

from eqa_nodes.core.answerers.label.answers import RuleAnswer, absent, counted
from eqa_nodes.core.answerers.label.finding import find, is_called, is_smaller
from eqa_nodes.core.answerers.label.scene import LabelScene
from eqa_nodes.core.language.english import join_list
from eqa_nodes.core.language.naming import kept_in, members
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.rooms import is_room
from eqa_nodes.core.language.uses import HINTS, SEATS, SIGNS, rooms_of
from eqa_nodes.core.types.questions import RankedRegion

_ALIKE = 1.15  # ratio of two areas from which one room is larger
_DOUBTED = 0.4  # how sure a comparison of rooms that hardly differ is


def regions_for(asked: Query) -> list[RankedRegion]:
    """Return the rooms where the answer may be, best first; the room that the question names, where it names one."""
    if asked.rooms:
        return [RankedRegion(room, 1.0) for room in sorted(asked.rooms)]
    kinds = _kinds(asked)
    weights: dict[str, float] = {}
    for kind in kinds:
        for room, weight in rooms_of(kind).items():
            weights[room] = weights.get(room, 0.0) + weight / len(kinds)
    return [RankedRegion(room, round(weights[room], 4)) for room in sorted(weights, key=lambda r: (-weights[r], r))]


def _kinds(asked: Query) -> list[str]:
    """Return the objects that a question is about: named, lying on named ones, or made for its purpose."""
    named = [kind for thing in asked.subjects for kind in (
        *(thing.kinds or (thing.kind,)), thing.support.kind if thing.support else "") if kind]
    if named:
        return [kind for name in named for kind in (*members(name), *kept_in(name))] or named
    if asked.form == "hint":
        return [kind for _, kinds in HINTS[asked.aspect] for kind in kinds]
    if asked.form == "sign":
        return list(SIGNS[asked.aspect])
    return list(SEATS) if asked.form == "sit_for" else [""]


def room_exists(scene: LabelScene, thing: Thing, there: str, not_there: str) -> RuleAnswer | None:
    """Answer whether there is such a room: rooms are no objects, what stands in one shows it."""
    rooms = scene.rooms(thing.kind)
    fit, sure = _fitting(scene, thing, rooms)
    if fit:
        best = max((t for room in fit for t in scene.in_room(room)), key=lambda t: (t.clarity, -t.instance))
        said = f"{there}: {join_list([f'the {room}' for room in fit])}" if thing.unlike or thing.support else there
        return RuleAnswer(said, best.clarity if not thing.unlike else sure, (best,))
    said = f"{not_there}: none of the {len(rooms)} seen" if len(rooms) > 1 else not_there
    return RuleAnswer(said, sure, tuple(scene.in_room(rooms[0])[:1])) if rooms else None


def _fitting(scene: LabelScene, thing: Thing, rooms: Sequence[str]) -> tuple[list[str], float]:
    """Return the rooms that have what a phrase says, or have it not, and how sure that is."""
    has, lacks = thing.support, thing.unlike.support if thing.unlike else None
    fit = [room for room in rooms if (not has or find(scene, has._replace(room=room), every=True))
           and not (lacks and find(scene, lacks._replace(room=room), every=True))]
    sure = min(map(scene.coverage, rooms), default=0.0) if has or lacks else 0.95
    return fit, 0.9 * sure


def which_rooms(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which rooms there are, or have such objects, or have none; or how many rooms."""
    thing = asked.things[0]
    if is_room(thing.kind) or thing.kind == "room":
        rooms = scene.rooms() if thing.kind == "room" else scene.rooms(thing.kind)
        rooms, sure = _fitting(scene, thing, rooms)
        sure = min(sure, 0.5)  # nothing proves that there are no more
    else:
        known = scene.rooms(thing.room)
        lacking = thing.quantifier == "no"
        one = thing._replace(quantifier="", number=0)
        having = {room: find(scene, one._replace(room=room), every=True) for room in known}
        rooms = [room for room in known if bool(having[room]) != lacking]
        if lacking and not rooms and known:
            return RuleAnswer("none", min(0.8, scene.overview(thing.room)), tuple(having[known[0]])[:1])
        if lacking and absent(scene, one) is None and not any(having.values()):
            return None
        shares = [scene.coverage(room) for room in known]
        sure = 0.9 * (min(shares) if thing.room else sum(shares) / len(shares)) if shares else 0.0
        sure = min(sure, 0.8) if not thing.room else sure
    if not rooms:
        return None
    objects = [next((t for t in scene.objects if t.room == room and is_called(t.kind, thing.kind)),
                    scene.in_room(room)[0]) for room in rooms]
    text = str(len(rooms)) if asked.aspect == "count" else join_list([f"the {room}" for room in rooms])
    return RuleAnswer(text, sure, tuple(objects)[:3], 0.75 * max(t.clarity for t in objects))


def most_rooms(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which room has most (fewest) of a kind; all that share the first place."""
    thing = asked.things[0]._replace(quantifier="", number=0)
    found = find(scene, thing, every=True)
    counts = {room: sum(t.room == room for t in found) for room in scene.rooms() if any(
        t.room == room for t in found)}
    if not counts:
        return None
    best = (min if asked.aspect == "fewest" else max)(counts.values())
    first = [room for room in counts if counts[room] == best]
    said = f"{join_list([f'the {room}' for room in first])}: {counted(thing.kind or found[0].kind, best)}"
    shown = tuple(t for t in found if t.room in first)[:3]
    return RuleAnswer(said + (" each" if len(first) > 1 else ""), 0.95 * scene.overview(""), shown,
                      0.75 * min(t.clarity for t in found))


def extreme_room(scene: LabelScene, thing: Thing) -> RuleAnswer | None:
    """Return the largest (smallest) room by the box of what was seen of it."""
    kind = thing.kind or thing.room
    rooms = scene.rooms() if kind in ("room", "") else scene.rooms(kind)
    if len(rooms) < 2:
        return None
    ranked = sorted(rooms, key=scene.area, reverse=not is_smaller(thing.size))
    one, two = scene.area(ranked[0]), scene.area(ranked[1])
    sure = min(scene.overview(""), 0.7) if max(one, two) >= _ALIKE * min(one, two) else _DOUBTED
    text = f"the {ranked[0]}: {one:.0f} m2" + (f" (the {ranked[1]} has {two:.0f} m2)" if sure == _DOUBTED else "")
    return RuleAnswer(text, sure, tuple(scene.in_room(ranked[0])[:1]))
