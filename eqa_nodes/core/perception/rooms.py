"""The room of each tracked instance: a detector guesses it for every object alone, so its neighbours vote too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from eqa_nodes.core.types.views import Point

_NEAR_M = 2.0  # neighbours vote within this distance on the floor
_OWN = 1.0  # weight of own votes; that of a neighbour falls from 1 to 0 with the distance


class Housed(Protocol):
    """A tracked instance with its box."""

    @property
    def id(self) -> int:
        """Return its number."""

    @property
    def low(self) -> Point:
        """Return the lower corner in metres, map frame."""

    @property
    def high(self) -> Point:
        """Return the upper corner."""

    @property
    def rooms(self) -> Mapping[str, float]:
        """Return its votes by room."""


class RoomVotes:
    """Names the rooms of instances. Neighbours were seen in one image: a wall seldom stands between them."""

    def __init__(self) -> None:
        self._near: dict[int, dict[int, Housed]] = {}

    def reset(self) -> None:
        """Forget which instances are neighbours."""
        self._near.clear()

    def rooms_of(self, seen: Sequence[Housed]) -> list[str]:
        """Return the room of each instance in one image, "" if there are no votes."""
        for one in seen:
            near = self._near.setdefault(one.id, {})
            near.update((other.id, other) for other in seen if other is not one and _off_m(one, other) < _NEAR_M)
        return [self._room(one) for one in seen]

    def _room(self, one: Housed) -> str:
        weighed = [(one, _OWN), *((other, 1.0 - _off_m(one, other) / _NEAR_M) for other in self._near[one.id].values())]
        votes: dict[str, float] = {}
        for voter, weight in weighed:
            total = sum(voter.rooms.values()) or 1.0
            for room, share in voter.rooms.items():
                votes[room] = votes.get(room, 0.0) + max(0.0, weight) * share / total
        return min(votes, key=lambda room: (-votes[room], room), default="")


def _off_m(a: Housed, b: Housed) -> float:
    return math.hypot(*((a.low[i] + a.high[i] - b.low[i] - b.high[i]) / 2 for i in (0, 1)))
