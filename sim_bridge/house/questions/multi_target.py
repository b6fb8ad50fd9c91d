"""Questions over two rooms, each target with a view of its own (as in MT-HM3D): no single picture answers them.

They are a data set of their own (`house-multi`); the data set `house` contains none of them.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.questions import lexicon
from sim_bridge.house.questions.facts import HouseFacts, QuestionCandidate, heads, is_plural, kinds_of
from sim_bridge.house.questions.grounding import Grounding, over_houses, start_past

CATEGORY = "multi_target"
_LARGER = 1.5  # minimum ratio of two floor areas for a clear answer
_COUNTED = ("chair", "painting", "house plant", "potted plant", "bookshelf")
_LAMPS = ("floor lamp", "table lamp", "desk lamp", "wall lamp")


class RoomTarget(NamedTuple):
    """The objects (instance ids) to look at in one room, all of them in one view."""

    room: str
    objects: tuple[int, ...]


class MultiTargetCandidate(NamedTuple):
    """A question over two rooms that the scene graph answers."""

    question: str
    answer: str
    targets: tuple[RoomTarget, RoomTarget]


class MultiTargetQuestion(NamedTuple):
    """A question over two rooms of a house: its targets, and a view in which each of them is clearly visible.

    start: pose from which no target is visible in any heading; l_steps, l_metres: atomic actions and metres of the
    shortest path from there past both views, in the better order.
    """

    id: str
    scene: str
    question: str
    answer: str
    targets: tuple[RoomTarget, ...]
    views: tuple[Pose2, ...]
    start: Pose2
    l_steps: int
    l_metres: float
    category: str = CATEGORY


def multi_target_candidates(facts: HouseFacts) -> Iterator[MultiTargetCandidate]:
    """Yield every question over two rooms, each room the only one of its kind."""
    for a, b in combinations(facts.rooms, 2):
        if facts.coin("order of rooms", a, b):
            a, b = b, a
        yield from _same_colour(facts, a, b)
        yield from _both_lit(facts, a, b)
        yield from _more(facts, a, b)
        yield from _larger(facts, a, b)


def _targets(facts: HouseFacts, a: int, b: int, *kinds: str) -> tuple[RoomTarget, RoomTarget]:
    one, other = (RoomTarget(facts.rooms[r], tuple(t.id for t in facts.inside(r, *kinds))) for r in (a, b))
    return one, other


def _same_colour(facts: HouseFacts, a: int, b: int) -> Iterator[MultiTargetCandidate]:
    for kind in heads(facts.inside(a)):
        pair = [*facts.inside(a, kind), *facts.inside(b, kind)]
        single = len(facts.inside(a, kind)) == len(facts.inside(b, kind)) == 1
        if not single or kind in (*lexicon.COVERED, *lexicon.DOORS) or not all(t.colour for t in pair):
            continue
        near = {pair[0].colour, *lexicon.NEAR_COLOURS.get(pair[0].colour, ())}
        same = pair[0].colour == pair[1].colour
        if any(lexicon.colour_unclear(t) or not facts.alone(t, facts.inside(t.room)) for t in pair):
            continue
        if same or pair[1].colour not in near:
            kinds = kind if is_plural(kind) else kinds_of(kind)
            rooms = f"{facts.rooms[a]} and in {facts.rooms[b]}"
            yield MultiTargetCandidate(f"Are the {kinds} in {rooms} the same color?",
                                       "yes" if same else "no", _targets(facts, a, b, kind))


def _both_lit(facts: HouseFacts, a: int, b: int) -> Iterator[MultiTargetCandidate]:
    lamps = [facts.inside(r, *_LAMPS, "ceiling lamp", "pendant lamp") for r in (a, b)]
    if all(len(there) == 1 and there[0].kind in _LAMPS for there in lamps):
        lit = all(there[0].state == "on" for there in lamps)
        yield MultiTargetCandidate(f"Is there a lamp on in both {facts.rooms[a]} and {facts.rooms[b]}?",
                                   "yes" if lit else "no", _targets(facts, a, b, *_LAMPS))


def _more(facts: HouseFacts, a: int, b: int) -> Iterator[MultiTargetCandidate]:
    for kind in _COUNTED:
        one, other = len(facts.inside(a, kind)), len(facts.inside(b, kind))
        alike = any(not facts.alone(t, [x for x in facts.inside(t.room) if x.kind != kind])
                    for r in (a, b) for t in facts.inside(r, kind))
        if one and other and one != other and not alike:
            yield MultiTargetCandidate(
                f"Which room has more {kinds_of(kind)}, {facts.rooms[a]} or {facts.rooms[b]}?",
                facts.rooms[a if one > other else b], _targets(facts, a, b, kind))


def _larger(facts: HouseFacts, a: int, b: int) -> Iterator[MultiTargetCandidate]:
    areas = {room.id: room.area_m2 for room in facts.house.rooms}
    clues = facts.clues(a)[:1], facts.clues(b)[:1]
    if all(clues) and max(areas[a], areas[b]) > _LARGER * min(areas[a], areas[b]):
        yield MultiTargetCandidate(f"Is {facts.rooms[a]} larger than {facts.rooms[b]}?",
                                   "yes" if areas[a] > areas[b] else "no",
                                   (RoomTarget(facts.rooms[a], clues[0]), RoomTarget(facts.rooms[b], clues[1])))


def multi_target_questions(seeds: Iterable[int], n: int, per_house: int = 4) -> Iterator[MultiTargetQuestion]:
    """Yield n questions (fewer if the houses run out), no form twice in a house; rare answers first."""
    return over_houses(seeds, n, per_house, _of_house)


def _of_house(grounding: Grounding, seed: int, most: int, used: Counter[str]) -> list[MultiTargetQuestion]:
    found = list[MultiTargetQuestion]()
    every = sorted(enumerate(multi_target_candidates(HouseFacts(grounding.house))),
                   key=lambda item: (used[item[1].answer], zlib.crc32(f"{seed} {item[0]}".encode())))
    asked: set[str] = set()
    for number, candidate in every:
        form = candidate.question.split(" the ")[0]
        if len(found) >= most or form in asked:
            continue
        question = _grounded(grounding, seed, number, candidate)
        if question is not None:
            asked.add(form)
            used[candidate.answer] += 1
            found.append(question)
    return found


def _grounded(grounding: Grounding, seed: int, number: int, candidate: MultiTargetCandidate
              ) -> MultiTargetQuestion | None:
    """Return the question with a view of each target and a hidden start; None if there are none."""
    found = [grounding.find_view(QuestionCandidate(CATEGORY, candidate.question, candidate.answer, target.objects,
                                                   need=len(target.objects))) for target in candidate.targets]
    views = tuple(view for view in found if view is not None)
    objects = [t for target in candidate.targets for t in target.objects]
    past = start_past(grounding, objects, views) if len(views) == len(found) else None
    if past is None:
        return None
    return MultiTargetQuestion(f"house-{seed}-multi-{number}", f"house:{seed}", candidate.question, candidate.answer,
                               candidate.targets, views, *past)
