"""The room of each tracked instance: what is around it on the same part of the floor tells which kind of room it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from eqa_nodes.core.language.uses import rooms_of
from eqa_nodes.core.perception.walls import WallMap
from eqa_nodes.core.types.views import Frame, Point

# The values were chosen on even houses of 600 to 613; on the odd ones as many of the instances had the right room.
_SPAN_M = 1.5  # distance at which what is around an instance counts 1 / e
_AROUND_M = 4.0  # and beyond which it does not count
_ANY = 0.1  # a thing is in a room where it usually is not this often, compared with its usual room
_DETECTOR = 3.0  # worth of the detector's own guesses of the room; a thing in its only room has 2.4
_BELOW_M, _STOREY_M = -0.5, 2.6  # what begins lower or higher than this is on another storey
_LEAST = 2.0  # a lower score names no room: a cup alone does not make a kitchen
_OFF_M = 0.3  # an instance stands on the floor this far towards the camera, clear of the wall


class Housed(Protocol):
    """A tracked instance with its box."""

    @property
    def id(self) -> int:
        """Return its number."""

    @property
    def kind(self) -> str:
        """Return its name."""

    @property
    def sure(self) -> float:
        """Return how sure its name is, 0..1."""

    @property
    def low(self) -> Point:
        """Return the lower corner in metres, map frame."""

    @property
    def high(self) -> Point:
        """Return the upper corner."""

    @property
    def rooms(self) -> Mapping[str, float]:
        """Return the detector's votes by room."""


class _Placed(NamedTuple):
    """An instance and where it stands, metres in the map."""

    one: Housed
    x: float
    y: float


class _Around(NamedTuple):
    """What an instance says of the rooms around it in one frame. votes: sum of the detector's votes by room."""

    x: float
    y: float
    kind: str
    sure: float
    rooms: Mapping[str, float]
    votes: float


def _around(placed: _Placed) -> _Around:
    one = placed.one
    return _Around(placed.x, placed.y, one.kind, one.sure, one.rooms, sum(one.rooms.values()) or 1.0)


class RoomVotes:
    """Names the rooms of instances by the usual rooms of what stands around them, and by the detector's guesses.

    The score of a room is the sum, over the kinds around an instance, of log((w p + _ANY) / _ANY), p: share of the room
    among the usual rooms of the kind, w: how sure its name is and how near it stands. Walls are between rooms: only
    what stands on the same part of the floor counts, see WallMap.
    """

    def __init__(self) -> None:
        self._walls = WallMap()
        self._placed: dict[int, _Placed] = {}

    def reset(self) -> None:
        """Forget all walls and instances."""
        self._walls.reset()
        self._placed.clear()

    def rooms_of(self, seen: Sequence[Housed], frame: Frame, moving: np.ndarray) -> list[str]:
        """Return the room of each instance in one frame, "" if nothing tells. moving: pixels of people, (H, W) bool."""
        self._walls.add(frame, moving)
        if not seen:
            return []
        camera = frame.map_from_camera()
        for one in seen:
            x, y = ((one.low[i] + one.high[i]) / 2 for i in (0, 1))
            dx, dy = camera[0][3] - x, camera[1][3] - y
            towards = min(1.0, _OFF_M / (math.hypot(dx, dy) or 1.0))
            self._placed[one.id] = _Placed(one, x + dx * towards, y + dy * towards)
        parts = self._walls.parts(*frame.map_from_base.xyz)
        by_part: dict[int, list[_Placed]] = {}
        for placed in self._placed.values():
            if _BELOW_M < placed.one.low[2] - frame.map_from_base.xyz[2] < _STOREY_M:
                by_part.setdefault(parts.at(placed.x, placed.y), []).append(placed)
        by_part.pop(0, None)
        part_of: dict[int, list[_Around]] = {}
        for together in by_part.values():
            around = [_around(placed) for placed in together]  # once, and not for each instance that is seen
            part_of.update((placed.one.id, around) for placed in together)
        return [_room(own, part_of.get(own.one.id) or [_around(own)])
                for own in (self._placed[one.id] for one in seen)]


def _room(own: _Placed, together: Sequence[_Around]) -> str:
    """Return the room of an instance. together: what stands on the same part of the floor, itself included."""
    kinds: dict[str, float] = {}
    guesses: dict[str, float] = {}
    for other in together:
        off_m = math.hypot(other.x - own.x, other.y - own.y)
        if off_m < _AROUND_M:
            near = math.exp(-(off_m / _SPAN_M) ** 2)
            kinds[other.kind] = max(kinds.get(other.kind, 0.0), near * other.sure)
            for room, votes in other.rooms.items():
                guesses[room] = guesses.get(room, 0.0) + near * votes / other.votes
    total = math.fsum(guesses.values()) or 1.0
    score = {room: _DETECTOR * votes / total for room, votes in guesses.items()}
    for kind in sorted(kinds):
        for room, share in (rooms_of(kind) if rooms_of(kind) != rooms_of("") else {}).items():
            score[room] = score.get(room, 0.0) + math.log(1.0 + kinds[kind] * share / _ANY)
    best = min(score, key=lambda room: (-round(score[room], 9), room), default="")
    return best if best and score[best] >= _LEAST else ""
