"""Navigation graphs of the built-in houses and shortest plans on them (privileged: only for generating tasks)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from eqa_nodes.bench.embodied.graph import GraphPose, NavigationGraph
from eqa_nodes.bench.embodied.predicates import LOOKED_AT, NEAR_M
from eqa_nodes.bench.embodied.tasks import GraphPoint, Task
from eqa_nodes.bench.embodied.world import CAMERA
from eqa_nodes.core.types.geometry import Pose2, camera_mount, wrap
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.handling import REACH_M
from sim_bridge.house.people.bodies import draw
from sim_bridge.house.people.residents import Residents
from sim_bridge.house.scene import HouseObject, Room
from sim_bridge.house.world import HouseWorld

SPACING_M, LONGEST_M, ROOM_M = 1.6, 4.0, 0.3  # spacing of points; maximum length of an edge; clearance of a point
_GRID_M = 0.4
_RINGS_M, _BEARINGS = (0.6, 0.8, 1.0, 1.2, 1.5), 16  # places around an object to be handled
_HANDLED_SHARE = 1e-4  # minimum share of the image that shows an object to be handled
_SAME_RAD = 1e-3  # headings that differ by less count as one
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


def graph_of(view: HouseView, start: Pose2, approached: tuple[HouseObject, ...] = ()) -> HouseGraph:
    """Return points on the floor, in doorways and in front of some objects, connected by straight free paths.

    Point 0 is the start. Only points reachable from it are kept; edges that two shorter ones replace are left out.
    """
    place = view.place
    places = [(start.x, start.y)]
    for room in place.house.rooms:
        places += _spread(place, room, places)
    for opening in place.house.openings:
        middle = ((opening.x0 + opening.x1) / 2, (opening.y0 + opening.y1) / 2)
        if opening.kind != "window" and -1 not in opening.rooms and place.free(*middle):
            places.append(middle)
    places += [found for obj in approached if (found := view.before(obj)) is not None]
    rounded = [(round(x, 3), round(y, 3)) for x, y in places]
    places = [rounded[0], *(at for at in rounded[1:] if view.free(*at))]
    return _reached(places, _pruned(places, _straight(place, places)))


def _spread(place: HouseWorld, room: Room, occupied: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return places of a room at least SPACING_M apart, those with the most space around them first."""
    space = place.space(RobotModel())
    grid = [(room.x0 + (i + 0.5) * _GRID_M, room.y0 + (j + 0.5) * _GRID_M)
            for i in range(int((room.x1 - room.x0) / _GRID_M)) for j in range(int((room.y1 - room.y0) / _GRID_M))]
    roomy = sorted(((-min(space.clearance(x, y), 0.8), x, y) for x, y in grid))
    found: list[tuple[float, float]] = []
    for clearance, x, y in roomy:
        if -clearance < ROOM_M:
            break
        if all(math.dist((x, y), p) >= SPACING_M for p in (*occupied, *found)):
            found.append((x, y))
    return found


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


class HouseView:
    """What can be seen in a house, and where a robot can stand. residents: the people in it."""

    def __init__(self, place: HouseWorld, residents: Residents | None = None) -> None:
        self.place, self._residents = place, residents
        self._bodies = residents.bodies() if residents is not None else []
        self._seen: dict[tuple[float, ...], dict[int, float]] = {}

    def free(self, x: float, y: float) -> bool:
        """Return whether a robot can stand at a point, also with regard to people."""
        taken = self._residents is not None and self._residents.at(x, y, RobotModel().radius_m)
        return self.place.free(x, y) and not taken

    def shares(self, pose: Pose2, look_deg: float = 0.0) -> dict[int, float]:
        """Return the share of the image that shows each instance."""
        key = (*pose, look_deg)
        if key not in self._seen:
            camera = replace(GLANCE, tilt_down_deg=GLANCE.tilt_down_deg - look_deg)
            mount = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg))
            at = pose.transform(0.0).matrix() @ mount.matrix()
            image = self.place.image(camera, at)
            draw(image, camera, at, self._bodies)
            ids, pixels = np.unique(image.labels[image.depth_m > 0], return_counts=True)
            self._seen[key] = {int(i): int(n) / image.labels.size for i, n in zip(ids, pixels, strict=True)}
        return self._seen[key]

    def before(self, obj: HouseObject) -> tuple[float, float] | None:
        """Return a free place from which the object is visible and within reach, preferably in front of it."""
        front_first = sorted(range(_BEARINGS), key=lambda k: (min(k, _BEARINGS - k), k))
        for ring in _RINGS_M:
            for k in front_first:
                angle = obj.yaw + 2 * math.pi * k / _BEARINGS
                x, y = obj.position[0] + ring * math.cos(angle), obj.position[1] + ring * math.sin(angle)
                if not self.free(x, y) or obj.distance(x, y) > REACH_M - 0.1:
                    continue
                if self.shares(Pose2(x, y, wrap(angle + math.pi))).get(obj.id, 0.0) >= _HANDLED_SHARE:
                    return x, y
        return None


Goals = frozenset[GraphPose]


class Stage(NamedTuple):
    """A stretch of a plan: the poses at which it may end, and the option that is chosen there, "" = none."""

    goals: Goals
    then: str = ""


class Planner:
    """Finds the shortest sequence of options that leads through the stages of a task on its graph."""

    def __init__(self, view: HouseView, task: Task) -> None:
        self._view, self.graph = view, NavigationGraph(task)
        self._yaws: dict[int, list[float]] = {}
        self._moves = self._closure()

    def plan(self, begin: GraphPose, stages: Sequence[Stage]) -> TaskPlan | None:
        """Return the shortest plan for each stage in turn; None if a stage cannot be reached."""
        texts, at = list[str](), begin
        for stage in stages:
            found = self._to(at, stage.goals)
            if found is None:
                return None
            texts += [*found.texts, *([stage.then] if stage.then else [])]
            at = found.at
        return TaskPlan(tuple(texts), at)

    def begin(self, stages: Sequence[Stage], steps: int, draw: Callable[[object], int]) -> GraphPose | None:
        """Return the level pose from which the stages take about this number of steps; draw: chooses among several."""
        if not stages or not stages[0].goals:
            return None
        rest = self.plan(min(stages[0].goals), stages[1:])
        if rest is None:
            return None
        left = max(0, steps - len(rest.texts) - bool(stages[0].then))
        away = self.steps_to(stages[0].goals)
        level = [at for at in away if at.look_deg == 0.0]
        return min(level, key=lambda at: (abs(away[at] - left), draw(at)), default=None)

    def steps_to(self, goals: Goals) -> dict[GraphPose, int]:
        """Return the number of moves from each pose to the nearest goal."""
        before: dict[GraphPose, list[GraphPose]] = {}
        for at, moves in self._moves.items():
            for to in moves.values():
                before.setdefault(to, []).append(at)
        away, queue = dict.fromkeys(sorted(goals), 0), deque(sorted(goals))
        while queue:
            to = queue.popleft()
            for at in before.get(to, ()):
                if at not in away:
                    away[at] = away[to] + 1
                    queue.append(at)
        return away

    def near(self, obj: HouseObject, look: bool = True) -> Goals:
        """Return the poses close to an object, looking at it."""
        return self._where(obj, NEAR_M - 0.02, lambda at: not look or self.share(at, obj) >= 1.2 * LOOKED_AT)

    def reach(self, obj: HouseObject, beside: HouseObject | None = None, reach_m: float = REACH_M) -> Goals:
        """Return the poses from which the agent can handle an object, and reach another one."""
        def handles(at: GraphPose) -> bool:
            x, y = self.graph.places[at.point]
            close = all(t.distance(x, y) <= reach_m - 0.02 for t in (obj, beside) if t is not None)
            return close and self.share(at, obj) >= 2 * _HANDLED_SHARE
        return self._where(obj, 4.0, handles)

    def beside(self, obj: HouseObject) -> Goals:
        """Return the poses within reach of an object, whether they see it or not."""
        return self._where(obj, 4.0, lambda at: obj.distance(*self.graph.places[at.point]) <= REACH_M - 0.02)

    def shows(self, targets: Sequence[HouseObject], need: int) -> Goals:
        """Return the poses at which at least `need` of the objects are clearly visible."""
        return self._where(targets[0], 5.0, lambda at: sum(self.share(at, t) >= LOOKED_AT for t in targets) >= need)

    def at(self, point: int) -> Goals:
        """Return all poses at a point."""
        return frozenset(at for at in self._moves if at.point == point)

    def everywhere(self) -> Goals:
        """Return all poses."""
        return frozenset(self._moves)

    def share(self, at: GraphPose, obj: HouseObject) -> float:
        """Return the share of the image that shows an object."""
        if not self._ahead(at, obj):
            return 0.0  # rendering is the slow part
        return self._view.shares(self.graph.pose(at), at.look_deg).get(obj.id, 0.0)

    def _where(self, obj: HouseObject, within_m: float, fits: Callable[[GraphPose], bool]) -> Goals:
        """Return the fitting poses at points within a distance of an object's centre; level, or down where close."""
        close = [at for at in self._moves if at.look_deg <= 0.0 and (at.look_deg == 0.0 or self._away(at, obj) < 2.0)
                 and self._away(at, obj) <= within_m]
        return frozenset(at for at in close if fits(at))

    def _away(self, at: GraphPose, obj: HouseObject) -> float:
        return math.dist(self.graph.places[at.point], obj.position[:2])

    def _closure(self) -> dict[GraphPose, dict[str, GraphPose]]:
        """Return every pose that can be reached from the start, with its moves."""
        found: dict[GraphPose, dict[str, GraphPose]] = {}
        queue = deque([self._known(self.graph.start)])
        while queue:
            at = queue.popleft()
            if at not in found:
                found[at] = {text: self._known(to) for text, to in self.graph.moves(at).items()}
                queue.extend(found[at].values())
        return found

    def _known(self, at: GraphPose) -> GraphPose:
        """Return the pose with the heading that is known already: turning back and forth adds rounding errors."""
        yaws = self._yaws.setdefault(at.point, [])
        same = next((yaw for yaw in yaws if abs(wrap(yaw - at.yaw)) < _SAME_RAD), None)
        if same is None:
            yaws.append(same := round(wrap(at.yaw), 6))
        return at._replace(yaw=same)

    def _to(self, begin: GraphPose, goals: Goals) -> TaskPlan | None:
        """Return the shortest plan to one of some poses."""
        begin = self._known(begin)
        before: dict[GraphPose, tuple[GraphPose, str] | None] = {begin: None}
        queue = deque([begin])
        while queue:
            at = queue.popleft()
            if at in goals:
                return TaskPlan(tuple(reversed(list(_texts(before, at)))), at)
            for text, to in self._moves.get(at, {}).items():
                if to not in before:
                    before[to] = (at, text)
                    queue.append(to)
        return None

    def _ahead(self, at: GraphPose, obj: HouseObject) -> bool:
        """Return whether any part of the object could lie between the left and the right side of the image."""
        (x, y), (u, v) = self.graph.places[at.point], obj.position[:2]
        away, half = math.hypot(u - x, v - y), math.hypot(*obj.size[:2]) / 2
        if away <= half:
            return True
        beside = abs(math.remainder(math.atan2(v - y, u - x) - at.yaw, 2 * math.pi)) - math.asin(half / away)
        return beside <= math.radians(GLANCE.hfov_deg) / 2 and away - half <= GLANCE.max_range_m


def _texts(before: dict[GraphPose, tuple[GraphPose, str] | None], at: GraphPose) -> Iterator[str]:
    while (step := before[at]) is not None:
        at, text = step
        yield text
