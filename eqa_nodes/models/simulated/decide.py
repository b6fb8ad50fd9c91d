"""The simulated model's reply to one decision: an answer with its evidence, and the options to go to."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from eqa_nodes.core.answerers.label.answers import RuleAnswer
from eqa_nodes.core.answerers.label.finding import find
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, in_region
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.naming import by_head
from eqa_nodes.core.language.query import Query
from eqa_nodes.core.perception.projection import point_at
from eqa_nodes.core.types.floor import CLOSER, LOOK_ROUND
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.questions import RankedRegion
from eqa_nodes.core.types.views import Keyframe, Sighting
from eqa_nodes.models.simulated.reading import (
    Noted,
    ShownOption,
    SimulatedRequest,
    asked_in,
    found_in,
    listed,
    noted,
    remembered_view,
    told,
    usual_rooms,
)
from eqa_nodes.models.simulated.sight import Sight, SightLimits, stored_size

Reply = dict[str, object]
# Forms whose rules need no positions, so that notes alone can answer them.
_FROM_NOTES = frozenset(("colour", "material", "state", "where", "room", "choice", "is", "use", "hint", "sign", "which",
                         "several"))
_COUNTED = 0.6  # confidence in a sum over several looks
_SETTLED = 0.7  # confidence from which no further look is requested
_MOST = 3
_NEAR_M, _AHEAD_RAD, _BEYOND_M = 2.0, 0.2, 5.0  # what is near a mark, and what is seen behind it
_BESIDE = 0.12  # share of the picture's width that counts as near a mark if depth is unknown
_MEANT, _SUPPORT, _FITS = 0.8, 0.6, 0.6  # chance if a mark shows the object itself, its support, its usual room
_SPACE, _FLOOR = 0.2, 0.1  # chance of unexplored space and of floor about which nothing else is known
_ROUND, _AROUND_M = 0.8, 3.0  # share of the room's chance; objects within this radius identify the room
_CLOSER = 0.6  # chance of a closer look while the answer is not settled
_WORDS = 12  # maximum length of `missing`


class _Aim(NamedTuple):
    """What the robot should look for to answer a question."""

    asked: Query
    rooms: Sequence[RankedRegion]
    meant: frozenset[int]  # instances that the question is about
    below: frozenset[int]  # instances that these may lie on


def decide(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return the reply to a request for a decision."""
    sight = Sight([shown.picture for shown in request.pictures], limits, request.question.seed)
    scene, notes = LabelScene(sight.views), noted(request.text)
    found = _found(request, sight, notes, limits)
    aim = _aim(request, scene)
    least = 0.0 if request.last else limits.least_said
    answer = found if found is not None and found.confidence > least else None
    settled = answer is not None and answer.confidence >= _SETTLED
    bearing = [*(found.objects if found else ()), *(t for t in scene.objects if t.instance in aim.meant | aim.below)]
    go_to = [] if settled else _go_to(request, sight, aim, limits)
    return {"reasons": _reasons(told(bearing), aim, answer is not None), "room": listed(_room_here(request, sight)),
            "targets": _targets(request, scene, sight, aim, answer.text if answer and settled else ""),
            "answer": sight.spoken(answer.text) if answer else "", "confidence": answer.confidence if answer else 0.0,
            "evidence": _evidence(request, sight, bearing),
            "missing": "" if settled else _missing(aim, answer is not None), "zoom": {}, "go_to": go_to}


def _found(request: SimulatedRequest, sight: Sight, notes: Sequence[Noted], limits: SightLimits) -> RuleAnswer | None:
    """Return the answer from the pictures, or from pictures and notes if the pictures alone give none."""
    found = found_in(sight.views, request.question, limits)
    asked = asked_in(request.question)
    if asked.form == "count":
        return _summed(found, sight, notes, asked)
    if (found is not None and found.confidence >= limits.least_said) or asked.form not in _FROM_NOTES or not notes:
        return found
    here = {(s.label.kind, s.label.room) for view in sight.views for s in view.sightings}
    earlier = remembered_view([one for one in notes if (one.kind, one.room) not in here], sight.views[0].pose)
    return found_in([earlier, *sight.views], request.question, limits) or found


def _summed(found: RuleAnswer | None, sight: Sight, notes: Sequence[Noted], asked: Query) -> RuleAnswer | None:
    """Return a count summed over rooms: for each room, the highest number seen at once."""
    ref = asked.things[0]
    scene = LabelScene(sight.views)
    most: dict[str, int] = {}
    for thing in find(scene, ref):
        most[thing.room] = most.get(thing.room, 0) + 1
    now = sum(most.values())
    for one in notes:
        fits = canonical(one.kind) == canonical(ref.kind) or by_head(one.kind, ref.kind)
        if fits and (not ref.room or in_region(one.room, ref.room)):
            most[one.room] = max(most.get(one.room, 0), one.times)
    total = sum(most.values())
    if found is not None and total <= now:
        return found
    return RuleAnswer(str(total), _COUNTED, tuple(find(scene, ref))) if total else None


def _aim(request: SimulatedRequest, scene: LabelScene) -> _Aim:
    asked = asked_in(request.question)
    meant = {t.instance for ref in asked.subjects for t in find(scene, ref)}
    below = {t.instance for t in scene.objects for ref in asked.subjects
             if ref.support and canonical(t.kind) == canonical(ref.support.kind)}
    return _Aim(asked, usual_rooms(request.question), frozenset(meant), frozenset(below - meant))


def _evidence(request: SimulatedRequest, sight: Sight, bearing: Sequence[Seen]) -> list[Reply]:
    """Return the pictures that show objects relevant to the question, each with the centre of the object's box."""
    numbers = {view.id: shown.number for view, shown in zip(sight.views, request.pictures, strict=True) if shown.number}
    proofs: dict[int, Reply] = {}
    for thing in bearing:
        if thing.view.id in numbers and numbers[thing.view.id] not in proofs:
            left, top, right, bottom = thing.sighting.bbox  # of a 640 x 480 image
            number = numbers[thing.view.id]
            proofs[number] = {"picture": number, "what": thing.kind,
                              "point": [round((left + right) / 1280, 2), round((top + bottom) / 960, 2)]}
    return list(proofs.values())[:_MOST]


def _go_to(request: SimulatedRequest, sight: Sight, aim: _Aim, limits: SightLimits) -> list[Reply]:
    """Return the places worth going to, the best one first."""
    judged = [(*_judged(option, request, sight, aim, limits), _Place(option.number)) for option in request.options]
    if not request.last:
        judged += _pointed(request, sight, aim, {room for _, room, _ in judged})
    best = sorted(judged, key=lambda one: -one[0])[:_MOST]
    return [{**place.named(), "chance": round(chance, 2), "room": listed(room)}
            for chance, room, place in best if chance >= limits.elsewhere]


class _Place(NamedTuple):
    """A place to go to: the number of an option, or a point of a picture as shares of its width and height."""

    number: int
    picture: int = 0
    point: tuple[float, float] = (0.0, 0.0)

    def named(self) -> Reply:
        """Return the place in the format of the prompt."""
        return {"number": 0, "picture": self.picture, "point": list(self.point)} if self.picture else {
            "number": self.number}


def _pointed(request: SimulatedRequest, sight: Sight, aim: _Aim,
             offered: Collection[str]) -> list[tuple[float, str, _Place]]:
    """Return the best place without a number: an object that the target may lie on, or one in a likely room.

    Objects near which a picture was taken and rooms that an option leads into are excluded.
    """
    found: list[tuple[float, str, _Place]] = []
    covered = {s.label.instance for option in request.options for _, s in _there(option, request, sight)}
    for shown, view in zip(request.pictures, sight.views, strict=True):
        for s in view.sightings if shown.number else ():
            near = any(math.dist(s.centre[:2], other.pose[:2]) <= _NEAR_M for other in sight.views)
            if near or s.label.instance in covered | aim.meant:
                continue
            room = sight.kind_of(s.label.room)
            likely = 0.0 if room in offered else _likely(room, aim, room in request.visited)
            chance = _SUPPORT if s.label.instance in aim.below else likely
            left, _, right, bottom = s.bbox  # of a 640 x 480 image
            found.append((chance, room, _Place(0, shown.number, (round((left + right) / 1280, 2),
                                                                 round(bottom / 480, 2)))))
    return [one for one in sorted(found, key=lambda one: -one[0])[:1] if one[0] > 0.0]


def _judged(option: ShownOption, request: SimulatedRequest, sight: Sight, aim: _Aim,
            limits: SightLimits) -> tuple[float, str]:
    """Return the chance of an option and the kind of room there, "" if unknown."""
    there = _there(option, request, sight)
    if LOOK_ROUND in option.said:
        return _round(request, sight, aim)
    if CLOSER in option.said:
        named = any(ref.kind and canonical(ref.kind) in canonical(option.said) for ref in aim.asked.subjects)
        return _CLOSER if named else limits.elsewhere, ""
    instances = {s.label.instance for _, s in there}
    if instances & aim.meant:
        return _MEANT * limits.surest, _room_at(there, sight)
    if instances & aim.below:
        return _SUPPORT, _room_at(there, sight)
    room = _room_at(there, sight) or option.room
    return _by_room(room, option, aim, limits, room in request.visited), room


def _there(option: ShownOption, request: SimulatedRequest, sight: Sight) -> list[tuple[float, Sighting]]:
    """Return the objects near an option's mark in any picture, or seen behind it."""
    return [thing for shown, seen in zip(request.pictures, sight.views, strict=True)
            for mark in shown.picture.marks if mark.number == option.number
            for thing in _at_mark(shown.picture.view, seen, mark.u, mark.v)]


def _round(request: SimulatedRequest, sight: Sight, aim: _Aim) -> tuple[float, str]:
    """Return the chance of a look round and the room; it helps in a likely room while no target is seen."""
    room = _room_here(request, sight)
    return (0.0 if aim.meant else _ROUND * _likely(room, aim, visited=False)), room


def _room_here(request: SimulatedRequest, sight: Sight) -> str:
    """Return the kind of the robot's room, by objects near it in the last picture; "" if unknown."""
    here = [view for view, shown in zip(sight.views, request.pictures, strict=True) if shown.number][-1]
    near = [(math.dist(s.centre[:2], here.pose[:2]), s) for s in here.sightings]
    return _room_at([one for one in near if one[0] <= _AROUND_M], sight)


def _likely(room: str, aim: _Aim, visited: bool) -> float:
    """Return the chance of a kind of room; 0 if the targets are usually not in it."""
    top = max((region.weight for region in aim.rooms), default=1.0)
    fits = max((region.weight / top for region in aim.rooms if in_region(room, region.name)), default=0.0) \
        if room else 0.0
    return _FITS * fits * (0.5 if visited else 1.0)


def _by_room(room: str, option: ShownOption, aim: _Aim, limits: SightLimits, visited: bool) -> float:
    """Return the chance of an option by the kind of its room."""
    unknown = limits.doorway if "doorway" in option.said else _SPACE if "unexplored" in option.said else _FLOOR
    if not room or not aim.rooms:
        return unknown
    return _likely(room, aim, visited) or limits.elsewhere + (unknown / 4 if unknown > _FLOOR else 0.0)


def _at_mark(view: Keyframe, seen: Keyframe, u: float, v: float) -> list[tuple[float, Sighting]]:
    """Return the objects near a mark or seen behind it, with their distance from it in metres, nearest first.

    view: the view as taken, with depth; seen: the same view with what is recognised in it.
    """
    spot = point_at(view, u, v)
    width = stored_size(view)[0]
    found = []
    for s in seen.sightings:
        if spot is None:  # by the picture alone: its boxes refer to 640 x 480 pixels
            off = abs((s.bbox[0] + s.bbox[2]) / 1280 - u / width)
            beside = off <= _BESIDE
            off *= _NEAR_M / _BESIDE
        else:
            off = math.dist(s.centre[:2], spot[:2])
            beside = off <= _NEAR_M or (off <= _BEYOND_M and _behind(view, spot[:2], s.centre[:2]))
        if beside:
            found.append((off, s))
    return sorted(found, key=lambda one: (one[0], one[1].label.instance))


def _behind(view: Keyframe, spot: tuple[float, ...], at: tuple[float, ...]) -> bool:
    """Return whether a point lies behind a spot, in the same direction from the view."""
    (x, y), (sx, sy) = ((p[0] - view.pose.x, p[1] - view.pose.y) for p in (at, spot))
    return math.hypot(x, y) > math.hypot(sx, sy) and abs(wrap(math.atan2(y, x) - math.atan2(sy, sx))) <= _AHEAD_RAD


def _room_at(there: Sequence[tuple[float, Sighting]], sight: Sight) -> str:
    """Return the kind of room of the nearest object whose room is known; "" if there is none."""
    return next((kind for _, s in sorted(there, key=lambda one: one[0]) if (kind := sight.kind_of(s.label.room))), "")


def _targets(request: SimulatedRequest, scene: LabelScene, sight: Sight, aim: _Aim, answer: str) -> list[Reply]:
    """Return the objects of a question about several, each with what was seen of it now or before."""
    refs = {f"{ref.kind}{f' in the {ref.room}' if ref.room else ''}": ref for ref in aim.asked.subjects if ref.kind}
    if len(refs) < 2:
        return []
    kept = f"the answer is {answer}" if answer else ""
    return [{"what": what, "known": sight.spoken(told(find(scene, ref)[:1])) or request.known.get(what) or kept}
            for what, ref in refs.items()]


def _reasons(seen: str, aim: _Aim, answered: bool) -> str:
    """Return two sentences; `noted` parses the first one in later requests."""
    first = f"Seen: {seen}." if seen else "The pictures do not show what is asked about."
    likely = next((region.name for region in aim.rooms), "")
    if answered:
        return f"{first} That gives the answer."
    return f"{first} " + (f"It is most likely in the {likely}." if likely else "It may be in any room.")


def _missing(aim: _Aim, answered: bool) -> str:
    """Return what still has to be seen."""
    named = next((ref for ref in aim.asked.subjects if ref.kind), None)
    likely = next((region.name for region in aim.rooms), "")
    what = f"the {named.kind}" if named else "what is asked about"
    said = f"a closer look at {what}" if answered else f"{what}{f' in the {likely}' if likely else ''}"
    return " ".join(said.split()[:_WORDS])
