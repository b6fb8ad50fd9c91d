"""Directions along a path in a built-in house: its rooms, its turns, and what stands beside it. Privileged.

What is named was seen on the way, and is the only one of its kind in its room.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.generate.values import ScenePath
from sim_bridge.house.questions.facts import spoken
from sim_bridge.house.questions.lexicon import OPENINGS
from sim_bridge.house.scene import House, HouseObject
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup

_EVERY_M = 0.75  # distance between looks for landmarks
_GLANCE = CameraModel(width=64, height=64, color=False)
_SEEN = 8  # pixels of a glance in which a landmark was seen
_BESIDE_M = 2.2  # maximum distance of a landmark from the path
_LARGE_M, _FLAT_M = 0.3, 0.05  # minimum width or height of a landmark; what is flatter lies on the floor
_TURN = math.radians(40.0)
_AROUND_M = 1.0  # a turn is the change of heading over this distance before and after a place
_APART_M = 1.5  # two turns nearer than this are one, and one this near a doorway is the turn through it


class _Stop(NamedTuple):
    """A place on the path after some metres: x, y, and the heading there."""

    metres: float
    x: float
    y: float
    yaw: float


class _Stay(NamedTuple):
    """A part of the path in one room. room: number of the room; first, last: metres along the path."""

    room: int
    first: float
    last: float


def directions(path: ScenePath, house: House, phrases: Mapping[int, str], robot: RobotModel) -> str:
    """Return the path in words. house: the storey of the path; phrases: of rooms that are alone of their kind."""
    route = _Route(path, house, robot)
    stays = route.stays()
    if not stays:
        return "Stop where you are."
    names = [phrases.get(stay.room, f"a {_kind(house, stay.room)}") for stay in stays]
    clauses = list[str]()
    for i, stay in enumerate(stays):
        clauses += route.inside(stay, final=i == len(stays) - 1)
        if i + 1 < len(stays):
            clauses.append(_entering(route.turn(stays[i + 1].first), names[i + 1]))
    pairs = (" and ".join(clauses[:-1][i:i + 2]) for i in range(0, len(clauses) - 1, 2))
    return " ".join(f"{said[0].upper()}{said[1:]}." for said in (f"begin in {names[0]}", *pairs, clauses[-1]))


def _kind(house: House, room: int) -> str:
    return next(r.kind for r in house.rooms if r.id == room)


def _entering(turn: float, name: str) -> str:
    if abs(turn) < _TURN:
        return f"go straight on into {name}"
    return f"turn {_side(turn)} into {name}"


def _side(turn: float) -> str:
    return "left" if turn > 0 else "right"


class _Route:
    """The path by metres, and what was seen from it."""

    def __init__(self, path: ScenePath, house: House, robot: RobotModel) -> None:
        self._house, self._scene, self._z = house, path.scene, path.z
        metres, self._stops = 0.0, list[_Stop]()
        for a, b in pairwise(path.poses):
            if (step := math.dist(a[:2], b[:2])) > 0.01:
                self._stops.append(_Stop(metres, a.x, a.y, math.atan2(b.y - a.y, b.x - a.x)))
                metres += step
        end = path.poses[-1]
        self._stops.append(_Stop(metres, end.x, end.y, end.yaw))
        self._seen, self._used = self._glances(robot), set[int]()

    def stays(self) -> list[_Stay]:
        """Return the rooms of the path in order; doorways belong to none, and a room is not named twice in a row."""
        rooms = [(room.id if (room := self._house.room_at(s.x, s.y)) else -1, s.metres) for s in self._stops]
        found: list[_Stay] = []
        for room, run in groupby((pair for pair in rooms if pair[0] >= 0), key=lambda pair: pair[0]):
            metres = [m for _, m in run]
            found.append(_Stay(room, metres[0], metres[-1]))
        return found

    def turn(self, at_m: float) -> float:
        """Return by what angle the path turns at a place, left positive, radians."""
        before, after = self._at(at_m - _AROUND_M), self._at(at_m + _AROUND_M)
        return wrap(after.yaw - before.yaw)

    def inside(self, stay: _Stay, final: bool) -> Iterator[str]:
        """Yield clauses about the path within a room: what it passes, where it turns, and where it ends."""
        turns = [] if final and stay.last - stay.first < _APART_M else self._turns(stay)
        at = [stay.first, *(metres for metres, _ in turns), stay.last]
        for k, (first, last) in enumerate(pairwise(at)):
            if k:
                mark = self._landmark(stay.room, [self._at(first)])
                where = f" at the {mark[0]}" if mark else ""
                yield f"turn {_side(turns[k - 1][1])}{where}"
            passed = [s for s in self._stops if first + 0.5 <= s.metres <= last - 0.5]
            if (k < len(at) - 2 or not final) and (mark := self._landmark(stay.room, passed)):
                yield f"walk past the {mark[0]} on your {_side(mark[1])}"
        if final:
            yield self._end(stay.room)

    def _end(self, room: int) -> str:
        mark = self._landmark(room, [self._stops[-1]])
        if mark is None:
            return "stop there"
        name, bearing = mark
        return f"stop in front of the {name}" if abs(bearing) < _TURN else (
            f"stop by the {name} on your {_side(bearing)}")

    def _turns(self, stay: _Stay) -> list[tuple[float, float]]:
        """Return turns within a room, away from its doorways: metres along the path, and the angle."""
        found: list[tuple[float, float]] = []
        inside = [s.metres for s in self._stops if stay.first + _APART_M <= s.metres <= stay.last - _AROUND_M]
        for at in inside:
            angle = self.turn(at)
            if abs(angle) < _TURN:
                continue
            if found and at - found[-1][0] < _APART_M and angle * found[-1][1] > 0:
                if abs(angle) > abs(found[-1][1]):
                    found[-1] = (at, angle)
            else:
                found.append((at, angle))
        return found

    def _landmark(self, room: int, stops: Sequence[_Stop]) -> tuple[str, float] | None:
        """Return what stands beside a part of the path, and its bearing from there, left positive; it is then used."""
        mine = [t for t in self._house.objects if t.room == room]
        kinds = Counter(spoken(t.kind) for t in mine)
        best: tuple[float, HouseObject, float] | None = None
        for t in mine:
            if t.id in self._used or kinds[spoken(t.kind)] > 1 or not self._seen.get(t.id) or not _stands_out(t):
                continue
            near = min(stops, key=lambda s: t.distance(s.x, s.y), default=None)
            if near is None or (off := t.distance(near.x, near.y)) > _BESIDE_M:
                continue
            size = max(t.size[0], t.size[1]) * max(t.size[2], _LARGE_M)
            worth = math.sqrt(size) / (1.0 + off)
            if best is None or worth > best[0]:
                best = worth, t, _bearing(near, t)
        if best is None:
            return None
        self._used.add(best[1].id)
        return spoken(best[1].kind), best[2]

    def _at(self, metres: float) -> _Stop:
        return min(self._stops, key=lambda s: abs(s.metres - metres))

    def _glances(self, robot: RobotModel) -> Mapping[int, bool]:
        """Return which instances were seen from the path."""
        most: Counter[int] = Counter()
        blind, next_m = replace(robot, camera=replace(_GLANCE, height_m=robot.camera.height_m)), 0.0
        with closing(open_simulator(self._scene)) as simulator:
            for stop in self._stops:
                if stop.metres < next_m and stop is not self._stops[-1]:
                    continue
                next_m = stop.metres + _EVERY_M
                frame = simulator.reset(EpisodeSetup(self._scene, start=Pose2(stop.x, stop.y, stop.yaw), robot=blind,
                                                     start_height_m=self._z)).frame
                if frame.labels is not None:
                    most |= Counter({i: n for i, n in enumerate(np.bincount(frame.labels.ravel()).tolist()) if n})
        return {instance: pixels >= _SEEN for instance, pixels in most.items()}


def _stands_out(obj: HouseObject) -> bool:
    """Return whether people would name an object as a landmark: large, and no door, curtain, rug or ceiling lamp."""
    return (max(obj.size) >= _LARGE_M and obj.size[2] >= _FLAT_M and obj.relation != "ceiling"
            and obj.kind not in OPENINGS)


def _bearing(stop: _Stop, obj: HouseObject) -> float:
    return wrap(math.atan2(obj.position[1] - stop.y, obj.position[0] - stop.x) - stop.yaw)
