"""The rooms that are worth a visit for a question."""

from __future__ import annotations

from eqa_nodes.core.language.naming import kept_in, members
from eqa_nodes.core.language.query import Query
from eqa_nodes.core.language.uses import HINTS, SEATS, SIGNS, rooms_of
from eqa_nodes.core.types.questions import RankedRegion


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
