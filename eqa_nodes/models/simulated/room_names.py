"""Names for rooms by what can be seen in them. A number or any other name that a generator gave is never used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from eqa_nodes.core.answerers.label.rooms import rooms_of
from eqa_nodes.core.language.english import canonical

_CHILD = frozenset(("crib", "toy box", "teddy bear", "building blocks", "toy car", "dollhouse", "ball"))
_NEXT_BEST = 0.25  # evidence by which a room must lead over every other kind of room
_OTHER = "other"
_DOORS = 2  # at least, in a room that is known by little else: a hallway


class RoomThing(NamedTuple):
    """One thing of a room as it is named, how sure that is (0..1), and its size in the pictures."""

    kind: str
    sure: float
    pixels: float


class RoomName(NamedTuple):
    """A kind of room, "" unknown. mark: a thing that tells this room from others of its kind, "" where there are none.
    """

    kind: str = ""
    mark: str = ""

    @property
    def name(self) -> str:
        """Return the name by which things are looked up: "bathtub bathroom"."""
        return f"{self.mark} {self.kind}".strip()

    @property
    def spoken(self) -> str:
        """Return the name as people say it: "bathroom with the bathtub"."""
        return self.name if self.mark in ("", _OTHER) else f"{self.kind} with the {self.mark}"


def room_kind(things: Iterable[RoomThing], needed: float) -> str:
    """Return the kind of room that holds such things; "" where they are not typical of any one.

    needed: evidence; each kind of thing counts once, by the share of its usual rooms and as sure as it is.
    """
    best: dict[str, float] = {}
    doors = 0
    for thing in things:
        doors += canonical(thing.kind).endswith("door")
        best[thing.kind] = max(best.get(thing.kind, 0.0), thing.sure)
    score: dict[str, float] = {}
    for kind, sure in best.items():
        if rooms_of(kind) != rooms_of(""):
            for room, share in rooms_of(kind).items():
                score[room] = score.get(room, 0.0) + share * sure
    ranked = sorted(score, key=lambda room: (-score[room], room))
    second = score[ranked[1]] if len(ranked) > 1 else 0.0
    if ranked and score[ranked[0]] >= needed * 0.9 and score[ranked[0]] - second >= _NEXT_BEST:
        child = ranked[0] == "bedroom" and len(_CHILD & set(best)) > 1
        return "kids bedroom" if child else ranked[0]
    return "hallway" if doors >= _DOORS and len(best) <= doors + 3 else ""


def names_of(rooms: Mapping[str, Sequence[RoomThing]], needed: float) -> dict[str, RoomName]:
    """Return a name for each room (by a key that tells them apart, as walls do).

    Of several rooms of a kind each is marked by the largest thing that the others lack.
    """
    kinds = {key: room_kind(things, needed) for key, things in rooms.items()}
    named: dict[str, RoomName] = {}
    for key, kind in kinds.items():
        others = [other for other in rooms if other != key and kinds[other] == kind]
        named[key] = RoomName(kind, _mark(rooms[key], [rooms[o] for o in others]) if kind and others else "")
    return named


def _mark(own: Sequence[RoomThing], others: Sequence[Sequence[RoomThing]]) -> str:
    theirs = {thing.kind for other in others for thing in other}
    mine = sorted((t for t in own if t.kind not in theirs), key=lambda t: (-t.pixels, t.kind))
    return mine[0].kind if mine else _OTHER
