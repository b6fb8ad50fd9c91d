"""Moves on a navigation graph: forward to the faced point, left and right to face the next direction, up and down.

The edges of a published task follow from the geometry of its scene, by the rules with which its authors made them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from eqa_nodes.bench.embodied.predicates import AT_M, NEAR_M
from eqa_nodes.bench.embodied.tasks import (
    DOWN,
    FORWARD,
    LEFT,
    NAVIGATION,
    RIGHT,
    TARGET,
    UP,
    GraphPoint,
    Predicate,
    Task,
)
from eqa_nodes.core.types.geometry import Pose2, wrap

LOOK_DEG, MOST_LOOK_DEG = 30.0, 30.0
TURN_RAD = math.pi / 2  # maximum of a turn to the next neighbour, so that what lies between is seen, too
LONGEST_M = 3.51  # maximum length of an edge that follows from the scene (3.5, and a tolerance)
LOOK_AT_M = 2.01  # maximum distance of an object that a point has a direction to, besides its own object
BETWEEN_RAD = math.radians(60.0)  # minimum angle between the directions of a point
GAP_RAD = math.radians(150.0)  # a wider gap between directions gets one in its middle
_SAME = math.radians(1.0)

Straight = Callable[[tuple[float, float, float], tuple[float, float, float]], bool]  # is there no obstacle between?


class GraphPose(NamedTuple):
    """The agent's position: point of the graph, heading in radians, upward look angle in degrees."""

    point: int
    yaw: float
    look_deg: float = 0.0


class Direction(NamedTuple):
    """A direction in which the agent can face at a point: its bearing, and the point that lies there, None = none."""

    bearing: float
    point: int | None


class NavigationGraph:
    """The points of a task, and the moves between them."""

    def __init__(self, task: Task, straight: Straight | None = None) -> None:
        """straight: says which points are joined if the task has no edges. Raises ValueError if it is then missing."""
        self._spots = {p.id: (p.x, p.y, p.z) for p in task.points}
        self._nodes = [p.id for p in task.points if p.type == NAVIGATION]
        self._always_faces = task.edges is None  # the agent never faces a place between two directions
        if task.edges is not None:
            self._directions = _joined(self._spots, task.edges)
        elif straight is not None:
            self._directions = scene_directions(task.points, straight)
        else:
            raise ValueError(f"task {task.index} has no edges: its graph follows from its scene")
        at = self.nearest(task.start.x, task.start.y, task.start_height_m)
        self.start = self._facing(GraphPose(at, task.start.yaw))

    @property
    def places(self) -> Mapping[int, tuple[float, float]]:
        """x, y of each point, metres, map frame."""
        return {point: spot[:2] for point, spot in self._spots.items()}

    @property
    def spots(self) -> Mapping[int, tuple[float, float, float]]:
        """x, y and height of each point, metres, map frame."""
        return self._spots

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges, from either end."""
        return [(at, way.point) for at, ways in self._directions.items() for way in ways if way.point is not None]

    def nearest(self, x: float, y: float, z: float) -> int:
        """Return the point of the graph nearest to a place; the lowest id of several.

        Heights do not count in a graph that follows from the scene, as in EmbodiedEval.
        """
        axes = 2 if self._always_faces else 3
        return min(self._nodes, key=lambda i: (math.dist(self._spots[i][:axes], (x, y, z)[:axes]), i))

    def spot(self, point: int) -> tuple[float, float, float]:
        """Return x, y and the floor height of a point, metres."""
        return self._spots[point]

    def pose(self, at: GraphPose) -> Pose2:
        """Return the pose of the agent."""
        return Pose2(*self._spots[at.point][:2], at.yaw)

    def faced(self, at: GraphPose) -> int | None:
        """Return the neighbour straight ahead, None if there is none."""
        ahead = [(abs(wrap(way.bearing - at.yaw)), way.point) for way in self._directions[at.point]
                 if way.point is not None]
        return min(ahead)[1] if ahead and min(ahead)[0] <= _SAME else None

    def moves(self, at: GraphPose) -> dict[str, GraphPose]:
        """Return the result of each possible move, in the order of the options."""
        ahead = self.faced(at)
        level = at._replace(look_deg=0.0)
        moves = {} if ahead is None else {FORWARD: self._facing(level._replace(point=ahead))}
        moves[LEFT] = level._replace(yaw=self._turned(at, 1.0))
        moves[RIGHT] = level._replace(yaw=self._turned(at, -1.0))
        for name, up in ((UP, LOOK_DEG), (DOWN, -LOOK_DEG)):
            if abs(at.look_deg + up) <= MOST_LOOK_DEG:
                moves[name] = at._replace(look_deg=at.look_deg + up)
        return moves

    def _facing(self, at: GraphPose) -> GraphPose:
        """Return a pose in the nearest direction of its point, where the agent always faces one."""
        ways = self._directions[at.point] if self._always_faces else []
        return at._replace(yaw=min((way.bearing for way in ways), key=lambda b: abs(wrap(b - at.yaw)), default=at.yaw))

    def _turned(self, at: GraphPose, side: float) -> float:
        """Return the heading after a turn to the left (side 1) or to the right (-1)."""
        turns = [wrap(side * (way.bearing - at.yaw)) % (2 * math.pi) for way in self._directions[at.point]]
        farthest = 2 * math.pi - _SAME if self._always_faces else TURN_RAD
        on = [turn for turn in turns if _SAME < turn <= farthest]
        return wrap(at.yaw + side * min(on, default=TURN_RAD))


def reached_from(start: int, edges: Sequence[tuple[int, int]]) -> set[int]:
    """Return the points that edges, which lead both ways, join with a start."""
    beside: dict[int, set[int]] = {}
    for a, b in edges:
        beside.setdefault(a, set()).add(b)
        beside.setdefault(b, set()).add(a)
    seen, queue = {start}, deque([start])
    while queue:
        fresh = beside.get(queue.popleft(), set()) - seen
        seen |= fresh
        queue.extend(fresh)
    return seen


def unreached(task: Task, graph: NavigationGraph) -> Predicate | None:
    """Return the first predicate about a point that no path from the start leads to, None if there is none."""
    reached = [graph.spot(point) for point in reached_from(graph.start.point, graph.edges)]
    for predicate in task.predicates:
        if predicate.point >= 0 and predicate.type in ("agent_at", "agent_pass", "agent_near"):
            limit = NEAR_M if predicate.type == "agent_near" else AT_M
            if all(math.dist(spot[:2], graph.spot(predicate.point)[:2]) >= limit for spot in reached):
                return predicate
    return None


def _joined(spots: Mapping[int, tuple[float, float, float]],
            edges: Sequence[tuple[int, int]]) -> dict[int, list[Direction]]:
    """Return the directions of each point along given edges."""
    ways: dict[int, list[Direction]] = {point: [] for point in spots}
    for a, b in edges:
        for one, other in ((a, b), (b, a)):
            ways[one].append(Direction(_bearing(spots[one], spots[other]), other))
    return ways


def scene_directions(points: Sequence[GraphPoint], straight: Straight) -> dict[int, list[Direction]]:
    """Return the directions of each point as EmbodiedEval's authors made them (NavigationGraph.cs).

    Pairs of points up to LONGEST_M apart without an obstacle are joined, the nearest first, unless a direction of the
    first point is less than BETWEEN_RAD away. Then come the objects (points of type TARGET) within LOOK_AT_M, the way
    back at points with a single direction, and the middles of wide gaps. Points count in the order of the file.
    """
    nodes = [p for p in points if p.type == NAVIGATION]
    targets = [p for p in points if p.type == TARGET]
    own = {target.name: target for target in targets}
    ways: dict[int, list[Direction]] = {p.id: [] for p in points}
    for node in nodes:
        if (target := own.get(f"{node.name}-Target")) is not None:
            ways[node.id].append(Direction(_bearing(node[1:4], target[1:4]), None))
    for node in nodes:
        _join_neighbours(node, nodes, ways, straight)
        for target in targets:
            if _apart(node, target) <= LOOK_AT_M and _is_free(ways[node.id], towards := _towards(node, target)):
                ways[node.id].append(Direction(towards, None))
    for node in nodes:
        ways[node.id] += _behind(ways[node.id])
        ways[node.id] += _in_gaps(ways[node.id])
    return ways


def _join_neighbours(node: GraphPoint, nodes: Sequence[GraphPoint], ways: dict[int, list[Direction]],
                     straight: Straight) -> None:
    """Join a point with its neighbours, the nearest first."""
    for other in sorted((p for p in nodes if p.id != node.id), key=lambda p: _apart(node, p)):
        if _apart(node, other) > LONGEST_M:
            break
        towards = _towards(node, other)
        if other.id in [way.point for way in ways[node.id]] or not _is_free(ways[node.id], towards):
            continue
        if straight(node[1:4], other[1:4]):
            ways[node.id].append(Direction(towards, other.id))
            ways[other.id].append(Direction(wrap(towards + math.pi), node.id))


def _behind(ways: Sequence[Direction]) -> list[Direction]:
    """Return the direction opposite to the only one of a dead end."""
    return [Direction(wrap(ways[0].bearing + math.pi), None)] if len(ways) == 1 else []


def _in_gaps(ways: Sequence[Direction]) -> list[Direction]:
    """Return the middles of the gaps between neighbouring directions that are GAP_RAD or wider."""
    bearings = sorted(way.bearing for way in ways)
    if len(bearings) < 2:
        return []
    around = pairwise([*bearings, bearings[0] + 2 * math.pi])
    return [Direction(wrap((a + b) / 2), None) for a, b in around if b - a >= GAP_RAD]


def _is_free(ways: Sequence[Direction], bearing: float) -> bool:
    return all(abs(wrap(way.bearing - bearing)) >= BETWEEN_RAD for way in ways)


def _apart(a: GraphPoint, b: GraphPoint) -> float:
    return math.dist(a[1:3], b[1:3])


def _towards(a: GraphPoint, b: GraphPoint) -> float:
    return _bearing(a[1:4], b[1:4])


def _bearing(a: Sequence[float], b: Sequence[float]) -> float:
    return math.atan2(b[1] - a[1], b[0] - a[0])
