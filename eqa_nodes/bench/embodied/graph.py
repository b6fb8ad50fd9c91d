"""Moves on a navigation graph: forward to the faced point, left and right to face the next one, up and down."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from eqa_nodes.bench.embodied.tasks import DOWN, FORWARD, LEFT, RIGHT, UP, Task
from eqa_nodes.core.types.geometry import Pose2, wrap

LOOK_DEG, MOST_LOOK_DEG = 30.0, 30.0
TURN_RAD = math.pi / 2  # maximum of a turn to the next neighbour, so that what lies between is seen, too
_SAME = math.radians(1.0)


class GraphPose(NamedTuple):
    """The agent's position: point of the graph, heading in radians, upward look angle in degrees."""

    point: int
    yaw: float
    look_deg: float = 0.0


class NavigationGraph:
    """The points of a task, and the moves between them."""

    def __init__(self, task: Task) -> None:
        self._places = {p.id: (p.x, p.y) for p in task.points}
        self._heights = {p.id: p.z for p in task.points}
        self._bearings: dict[int, list[tuple[float, int]]] = {p.id: [] for p in task.points}
        for a, b in task.edges:
            for one, other in ((a, b), (b, a)):
                (x, y), (u, v) = self._places[one], self._places[other]
                self._bearings[one].append((math.atan2(v - y, u - x), other))
        self.start = GraphPose(self.nearest(task.start.x, task.start.y, task.start_height_m), task.start.yaw)

    @property
    def places(self) -> Mapping[int, tuple[float, float]]:
        """x, y of each point, metres, map frame."""
        return self._places

    def nearest(self, x: float, y: float, z: float) -> int:
        """Return the point nearest to a place; the lowest id of several."""
        return min(self._places, key=lambda i: (math.dist(self.spot(i), (x, y, z)), i))

    def spot(self, point: int) -> tuple[float, float, float]:
        """Return x, y and the floor height of a point, metres."""
        return (*self._places[point], self._heights[point])

    def pose(self, at: GraphPose) -> Pose2:
        """Return the pose of the agent."""
        return Pose2(*self._places[at.point], at.yaw)

    def faced(self, at: GraphPose) -> int | None:
        """Return the neighbour straight ahead, None if there is none."""
        ahead = [(abs(wrap(bearing - at.yaw)), point) for bearing, point in self._bearings[at.point]]
        return min(ahead)[1] if ahead and min(ahead)[0] <= _SAME else None

    def moves(self, at: GraphPose) -> dict[str, GraphPose]:
        """Return the result of each possible move, in the order of the options."""
        ahead = self.faced(at)
        level = at._replace(look_deg=0.0)
        moves = {} if ahead is None else {FORWARD: level._replace(point=ahead)}
        moves[LEFT] = level._replace(yaw=self._turned(at, 1.0))
        moves[RIGHT] = level._replace(yaw=self._turned(at, -1.0))
        for name, up in ((UP, LOOK_DEG), (DOWN, -LOOK_DEG)):
            if abs(at.look_deg + up) <= MOST_LOOK_DEG:
                moves[name] = at._replace(look_deg=at.look_deg + up)
        return moves

    def _turned(self, at: GraphPose, side: float) -> float:
        """Return the heading after a turn to the left (side 1) or to the right (-1)."""
        turns = [wrap(side * (bearing - at.yaw)) % (2 * math.pi) for bearing, _ in self._bearings[at.point]]
        on = [turn for turn in turns if _SAME < turn <= TURN_RAD]
        return wrap(at.yaw + side * min(on, default=TURN_RAD))
