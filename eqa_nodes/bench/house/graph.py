"""Navigation graphs of the built-in houses and shortest plans on them (privileged: only for generating tasks)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from eqa_nodes.bench.embodied.graph import GraphPose, NavigationGraph
from eqa_nodes.bench.embodied.predicates import LOOKED_AT, NEAR_M
from eqa_nodes.bench.embodied.tasks import GraphPoint, Task
from eqa_nodes.bench.embodied.world import CAMERA
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.handling import REACH_M, Manipulator
from sim_bridge.house.scene import House, HouseObject, Room
from sim_bridge.house.world import HouseWorld

SPACING_M, LONGEST_M, ROOM_M = 1.6, 4.0, 0.3  # spacing of points; maximum length of an edge; clearance of a point
_GRID_M = 0.4
_RINGS_M, _BEARINGS = (0.6, 0.8, 1.0, 1.2, 1.5), 16  # places around an object to be handled
_HANDLED_SHARE = 1e-4  # minimum share of the image that shows an object to be handled
GLANCE = replace(CAMERA, width=160, height=160, color=False)


class HouseGraph(NamedTuple):
    """Points and edges of a navigation graph."""

    points: tuple[GraphPoint, ...]
    edges: tuple[tuple[int, int], ...]

    def of(self, task: Task) -> Task:
        """Return the task on this graph."""
        return replace(task, points=self.points, edges=self.edges)


class TaskPlan(NamedTuple):
    """Option texts, and the agent's position after them."""

    texts: tuple[str, ...]
    at: GraphPose


def graph_of(place: HouseWorld, start: Pose2, approached: tuple[HouseObject, ...] = ()) -> HouseGraph:
    """Return points on the floor, in doorways and in front of some objects, connected by straight free paths.

    Point 0 is the start. Only points reachable from it are kept; edges that two shorter ones replace are left out.
    """
    places = [(start.x, start.y)]
    for room in place.house.rooms:
        places += _spread(place, room, places)
    for opening in place.house.openings:
        middle = ((opening.x0 + opening.x1) / 2, (opening.y0 + opening.y1) / 2)
        if opening.kind != "window" and -1 not in opening.rooms and place.free(*middle):
            places.append(middle)
    places += [found for obj in approached if (found := _before(place, obj)) is not None]
    edges = _pruned(places, _straight(place, places))
    return _reached([(round(x, 3), round(y, 3)) for x, y in places], edges)


def _spread(place: HouseWorld, room: Room, occupied: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return places of a room at least SPACING_M apart, those with the most space around them first."""
    space = place.space(RobotModel())
    grid = [(room.x0 + (i + 0.5) * _GRID_M, room.y0 + (j + 0.5) * _GRID_M)
            for i in range(int((room.x1 - room.x0) / _GRID_M)) for j in range(int((room.y1 - room.y0) / _GRID_M))]
    roomy = sorted(((-min(float(space.clearance(x, y)), 0.8), x, y) for x, y in grid))
    found: list[tuple[float, float]] = []
    for clearance, x, y in roomy:
        if -clearance < ROOM_M:
            break
        if all(math.dist((x, y), p) >= SPACING_M for p in (*occupied, *found)):
            found.append((x, y))
    return found


def _before(place: HouseWorld, obj: HouseObject) -> tuple[float, float] | None:
    """Return a free place from which the object is visible and within reach, preferably in front of it."""
    front_first = sorted(range(_BEARINGS), key=lambda k: (min(k, _BEARINGS - k), k))
    for ring in _RINGS_M:
        for k in front_first:
            angle = obj.yaw + 2 * math.pi * k / _BEARINGS
            x, y = obj.position[0] + ring * math.cos(angle), obj.position[1] + ring * math.sin(angle)
            pose = Pose2(x, y, angle + math.pi)
            near = Manipulator(place.house, pose, RobotModel(), None).distance(obj) <= REACH_M - 0.1
            if near and place.free(x, y) and shares(place, pose).get(obj.id, 0.0) >= _HANDLED_SHARE:
                return x, y
    return None


def _straight(place: HouseWorld, places: list[tuple[float, float]]) -> dict[tuple[int, int], float]:
    """Return the length of each straight free path between two places, up to LONGEST_M."""
    space, radius = place.space(RobotModel()), RobotModel().radius_m
    return {(i, j): math.dist(places[i], places[j]) for i, j in combinations(range(len(places)), 2)
            if 0.2 < math.dist(places[i], places[j]) <= LONGEST_M and space.sees(places[i], places[j], radius)}


def _pruned(places: list[tuple[float, float]], edges: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    """Remove edges whose ends have shorter edges to a common third place (relative neighbourhood graph)."""

    def shorter(i: int, j: int, length: float) -> bool:
        thirds = (k for k in range(len(places)) if k not in (i, j))
        return any(max(edges.get((min(e, k), max(e, k)), math.inf) for e in (i, j)) < length for k in thirds)

    return [(i, j) for (i, j), length in edges.items() if not shorter(i, j, length)]


def _reached(places: list[tuple[float, float]], edges: list[tuple[int, int]]) -> HouseGraph:
    """Return the points that are reachable from point 0."""
    seen, queue = {0}, deque([0])
    while queue:
        at = queue.popleft()
        for edge in edges:
            if at in edge and (other := edge[0] + edge[1] - at) not in seen:
                seen.add(other)
                queue.append(other)
    return HouseGraph(tuple(GraphPoint(i, *places[i]) for i in sorted(seen)), tuple(e for e in edges if set(e) <= seen))


def shares(place: HouseWorld, pose: Pose2, look_deg: float = 0.0) -> dict[int, float]:
    """Return the share of the image that shows each instance."""
    camera = replace(GLANCE, tilt_down_deg=GLANCE.tilt_down_deg - look_deg)
    pixels = GLANCE.width * GLANCE.height
    return {i: n / pixels for i, n in place.visible_pixels(pose, camera).items()}


class Planner:
    """Finds the shortest sequence of options that leads to a goal on a task's graph."""

    def __init__(self, place: HouseWorld, task: Task) -> None:
        self._place, self.graph = place, NavigationGraph(task)
        self._seen: dict[GraphPose, dict[int, float]] = {}

    def to(self, begin: GraphPose, goal: Callable[[GraphPose], bool], most: int) -> TaskPlan | None:
        """Return the shortest plan from a start; None if there is none with at most `most` options."""
        before: dict[GraphPose, tuple[GraphPose, str] | None] = {_rounded(begin): None}
        queue = deque([(_rounded(begin), 0)])
        while queue:
            at, length = queue.popleft()
            if goal(at):
                return TaskPlan(tuple(reversed(list(_texts(before, at)))), at)
            for text, to in self.graph.moves(at).items() if length < most else ():
                to = _rounded(to)
                if to not in before:
                    before[to] = (at, text)
                    queue.append((to, length + 1))
        return None

    def near(self, obj: HouseObject) -> Callable[[GraphPose], bool]:
        """Return the goal that the agent is close to an object and looks at it."""
        return lambda at: self.away(at, obj) <= NEAR_M and self.share(at, obj.id) >= 1.2 * LOOKED_AT

    def reach(self, obj: HouseObject, house: House) -> Callable[[GraphPose], bool]:
        """Return the goal that the agent can handle an object."""
        return lambda at: (Manipulator(house, self.graph.pose(at), RobotModel(), None).distance(obj) <= REACH_M
                           and self.share(at, obj.id) >= _HANDLED_SHARE)

    def shows(self, targets: tuple[int, ...], need: int) -> Callable[[GraphPose], bool]:
        """Return the goal that at least `need` of the objects are clearly visible."""
        return lambda at: sum(self.share(at, target) >= LOOKED_AT for target in targets) >= need

    def away(self, at: GraphPose, obj: HouseObject) -> float:
        """Return the horizontal distance from the agent to the centre of an object, metres."""
        return math.dist(self.graph.places[at.point], obj.position[:2])

    def share(self, at: GraphPose, obj: int) -> float:
        """Return the share of the image that shows an object."""
        if not self._ahead(at, self._place.house.object_by_id(obj)):
            return 0.0  # rendering is the slow part
        if at not in self._seen:
            self._seen[at] = shares(self._place, self.graph.pose(at), at.look_deg)
        return self._seen[at].get(obj, 0.0)


    def _ahead(self, at: GraphPose, obj: HouseObject) -> bool:
        """Return whether any part of the object could lie between the left and the right side of the image."""
        (x, y), (u, v) = self.graph.places[at.point], obj.position[:2]
        away, half = math.hypot(u - x, v - y), math.hypot(*obj.size[:2]) / 2
        if away <= half:
            return True
        beside = abs(math.remainder(math.atan2(v - y, u - x) - at.yaw, 2 * math.pi)) - math.asin(half / away)
        return beside <= math.radians(GLANCE.hfov_deg) / 2 and away - half <= GLANCE.max_range_m


def _rounded(at: GraphPose) -> GraphPose:
    """Return a pose rounded for use as a key, because turning back and forth adds rounding errors."""
    return at._replace(yaw=round(math.remainder(at.yaw, 2 * math.pi), 6))


def _texts(before: dict[GraphPose, tuple[GraphPose, str] | None], at: GraphPose) -> Iterator[str]:
    while (step := before[at]) is not None:
        at, text = step
        yield text
