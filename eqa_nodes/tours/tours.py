"""Records episode histories in a simulator, as OpenEQA (supplement B.1), EXPRESS-Bench (3.2) and ExploraQA did.

A tour is planned with the simulator's shortest paths (privileged) and driven by atomic actions; the result is a
history that each iteration renders again. The same scene, recipe and seed give the same frames.

OpenEQA: between two points on the same floor, with a path longer than 10 m and at least 1.1 times the straight line;
every metre the agent looks around: it turns to one side, by a random angle of at most 180 degrees, and back.
EXPRESS-Bench: between two points on the same floor in 10 to 100 atomic actions.
ExploraQA: the long paths of VLN-CE, whose mean is 10.4 m, with turns of 15 degrees. Theirs are 5 m or more; here they
are 6.5 m or more, which gives about that mean in the built-in houses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from eqa_nodes.core.errors import BadPose, SimulatorError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.recordings.episode_history import FramesAlone, RecordedFrame
from sim_bridge.registry import file_name_of, open_simulator
from sim_bridge.robots import DEFAULT, ROBOTS
from sim_bridge.simulator import EpisodeSetup, Simulator, Step

Place: TypeAlias = tuple[float, float, float]  # x, y, and the height of the floor, metres

BLIND = CameraModel(width=16, height=12, color=False)  # planning needs poses, not images
_POINTS = 40  # candidate start and end places of a tour
_TRIES = 600  # attempts to find them, each within this distance of a known one:
_STRIDE_M = 6.0
_PAIRS = 300  # number of pairs that are measured
_NEAR_M = 0.25  # distance at which an end counts as reached
_FOLLOWED_M = 0.6  # distance at which a place within a given path counts as passed
_AHEAD_M = 0.35  # minimum distance of the corner of the path to aim at
_STILL_M = 0.01  # a shorter move was blocked by an obstacle


@dataclass(frozen=True)
class Recipe:
    """Requirements of a tour, and its robot; in metres, degrees, atomic actions.

    curved: minimum ratio of the path to the straight line; scan_every_m: distance between looks around, 0 = none.
    """

    robot: RobotModel
    min_m: float = 0.0
    curved: float = 1.0
    scan_every_m: float = 0.0
    scan_deg: float = 180.0
    min_steps: int = 1
    max_steps: int = 2000


def _guide(name: str, height_m: float) -> RobotModel:
    """Return a benchmark's robot with the body width that fits the built-in houses, so that tours keep clearance."""
    return replace(ROBOTS[name], radius_m=ROBOTS[DEFAULT].radius_m, height_m=height_m)


RECIPES: dict[str, Recipe] = {
    "openeqa": Recipe(_guide("openeqa", 1.3), min_m=10.0, curved=1.1, scan_every_m=1.0),
    "express": Recipe(_guide("express", 1.55), min_steps=10, max_steps=100),
    "exploraqa": Recipe(_guide("exploraqa", 1.3), min_m=6.5, max_steps=500),
}


@dataclass(frozen=True)
class Tour:
    """A planned tour. poses: (len(actions) + 1) floor poses, map frame; z: height of its floor, metres.

    way_m: length of the shortest path between its ends, metres.
    """

    scene: str
    robot: RobotModel
    actions: tuple[Action, ...]
    poses: tuple[Pose2, ...]
    way_m: float
    z: float = 0.0


class TourHistory(FramesAlone):
    """A tour as an episode history. Its frames have labels if the simulator provides them (privileged)."""

    def __init__(self, tour: Tour, clock_ns: int = 0) -> None:
        """clock_ns: time at which the simulator's clock starts, ns."""
        self._clock_ns = clock_ns
        self.tour, self.name = tour, file_name_of(tour.scene)
        self.dropped: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.tour.poses)

    @cached_property
    def labels(self) -> Mapping[int, Label]:
        """Id in label images -> label."""
        with closing(open_simulator(self.tour.scene)) as simulator:
            simulator.reset(self._episode(BLIND))
            return dict(simulator.labels())

    def recorded(self) -> Iterator[RecordedFrame]:
        """Yield the rendered frames."""
        with closing(open_simulator(self.tour.scene)) as simulator:
            yield RecordedFrame(0, -1, simulator.reset(self._episode(self.tour.robot.camera)).frame, simulator.labels())
            for index, action in enumerate(self.tour.actions, start=1):
                yield RecordedFrame(index, -1, simulator.act(action).frame, simulator.labels())

    def _episode(self, camera: CameraModel) -> EpisodeSetup:
        robot = replace(self.tour.robot, camera=camera)
        return EpisodeSetup(self.tour.scene, self.name, self.tour.poses[0], robot=robot, start_height_m=self.tour.z,
                            clock_ns=self._clock_ns)


def plan_tour(scene: str, recipe: Recipe, seed: int = 0, floor: Place | None = None) -> Tour:
    """Plan a tour of a scene, on the floor of its start or of a given place.

    Raises UnknownScene, or SimulatorError that states the longest path found if no tour fits.
    """
    robot, rng = replace(recipe.robot, camera=BLIND), np.random.default_rng(seed)
    with closing(open_simulator(scene)) as simulator:
        first = first_frame(simulator, scene, robot, floor)
        z = first.map_from_base.xyz[2]
        points = spread_points(simulator, first, rng)
        longest = steps = 0.0
        for a, b in _pairs(len(points), rng):
            path_m = _length(simulator.shortest_path(points[a], points[b]))
            longest = max(longest, path_m if math.isfinite(path_m) else 0.0)
            if not recipe.min_m < path_m < math.inf or path_m < recipe.curved * math.dist(points[a], points[b]):
                continue
            drive = _drive(simulator, scene, robot, (points[a], points[b]), recipe, rng)
            if drive is not None and recipe.min_steps <= len(drive.actions) <= recipe.max_steps:
                return Tour(scene, recipe.robot, tuple(drive.actions), tuple(drive.poses), path_m, z)
            steps = max(steps, len(drive.actions) if drive is not None else 0)
    raise SimulatorError(
        f"scene {scene!r} has no such tour with seed {seed}: it needs a path of more than {recipe.min_m:g} m, "
        f"{recipe.curved:g} times the straight line or more, in {recipe.min_steps} to {recipe.max_steps} actions; the "
        f"longest way between {len(points)} places is {longest:.1f} m, the longest drive had {steps:.0f} actions: try "
        "another seed, a larger scene, or a smaller --min-metres")


def follow_path(scene: str, robot: RobotModel, start: Pose2, path: Sequence[Place]) -> Tour:
    """Drive from a pose along given places of one floor, each reached within _FOLLOWED_M but the last one.

    Raises UnknownScene, or SimulatorError if the robot cannot start there or does not arrive.
    """
    blind, goal = replace(robot, camera=BLIND), path[-1]
    with closing(open_simulator(scene)) as simulator:
        try:
            step = simulator.reset(EpisodeSetup(scene, start=start, robot=blind, start_height_m=path[0][2]))
        except BadPose as error:
            raise SimulatorError(f"the path in {scene!r} cannot begin there: {error}") from error
        drive, z = TourDrive(simulator, blind, step), step.frame.map_from_base.xyz[2]
        length_m = _length(simulator.shortest_path((start.x, start.y, z), (*goal[:2], z)))
        if math.isinf(length_m):
            raise SimulatorError(f"no path on one floor of {scene!r} leads from ({start.x:.2f}, {start.y:.2f}) to "
                                 f"({goal[0]:.2f}, {goal[1]:.2f})")
        for place in path:
            within_m = _NEAR_M if place is goal else _FOLLOWED_M
            most = len(drive.actions) + round(_STEPS * (1.0 + math.dist(drive.pose[:2], place[:2])))
            while math.dist(drive.pose[:2], place[:2]) > within_m:
                if len(drive.actions) > most or not drive.advance((*place[:2], z)):
                    raise SimulatorError(f"the path in {scene!r} cannot be driven: the robot does not reach "
                                         f"({place[0]:.2f}, {place[1]:.2f})")
    return Tour(scene, robot, tuple(drive.actions), tuple(drive.poses), length_m, z)


@lru_cache(maxsize=64)
def house_tour(scene: str) -> Tour:
    """Return the tour for the benchmark's questions about a house, by OpenEQA's recipe. Raises as plan_tour."""
    return plan_tour(scene, RECIPES["openeqa"])


@lru_cache(maxsize=64)
def most_pixels(tour: Tour) -> Mapping[int, int]:
    """Return each instance's pixels in the tour's frame that shows it best, for images of 640x480 (privileged)."""
    camera = replace(tour.robot.camera, width=160, height=120, color=False)
    most: Counter[int] = Counter()
    for frame in TourHistory(replace(tour, robot=replace(tour.robot, camera=camera))):
        if frame.labels is not None:
            most |= Counter({i: n * 16 for i, n in enumerate(np.bincount(frame.labels.ravel()).tolist()) if n})
    return dict(most)


def first_frame(simulator: Simulator, scene: str, robot: RobotModel, floor: Place | None) -> Frame:
    """Return the first frame at the scene's default start, or at a place on another floor."""
    if floor is None:
        return simulator.reset(EpisodeSetup(scene, robot=robot)).frame
    x, y, z = floor
    return simulator.reset(EpisodeSetup(scene, start=Pose2(x, y, 0.0), robot=robot, start_height_m=z)).frame


def spread_points(simulator: Simulator, first: Frame, rng: np.random.Generator) -> list[Place]:
    """Return reachable places on the floor of the first frame, each within a fixed distance of another one."""
    x, y, z = first.map_from_base.xyz
    points = [(x, y, z)]
    for _ in range(_TRIES):
        near, (dx, dy) = points[int(rng.integers(len(points)))], rng.uniform(-_STRIDE_M, _STRIDE_M, 2).tolist()
        place = (near[0] + dx, near[1] + dy, z)
        if simulator.shortest_path(near, place):
            points.append(place)
        if len(points) == _POINTS:
            break
    return points


def _pairs(count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return at most _PAIRS pairs of different numbers in random order."""
    every = [(a, b) for a in range(count) for b in range(count) if a != b]
    return [every[i] for i in rng.permutation(len(every))[:_PAIRS].tolist()]


def _length(path: Sequence[tuple[float, float]]) -> float:
    return math.fsum(math.dist(p, q) for p, q in pairwise(path)) if path else math.inf


def _drive(simulator: Simulator, scene: str, robot: RobotModel, ends: tuple[tuple[float, ...], tuple[float, ...]],
           recipe: Recipe, rng: np.random.Generator) -> TourDrive | None:
    """Drive between two places, looking around on the path; None if the robot does not fit or does not arrive."""
    (x, y, z), goal = ends[0], ends[1]
    corner = next(p for p in simulator.shortest_path(*ends)[1:] if math.dist(p, (x, y)) > 0)
    try:
        step = simulator.reset(EpisodeSetup(scene, start=Pose2(x, y, math.atan2(corner[1] - y, corner[0] - x)),
                                       robot=robot, start_height_m=z))
    except BadPose:
        return None
    drive, scanned_m = TourDrive(simulator, robot, step), 0.0
    while math.dist((drive.pose.x, drive.pose.y), goal[:2]) > _NEAR_M:
        if recipe.scan_every_m and drive.metres >= scanned_m:
            drive.scan(int(rng.integers(1, math.floor(recipe.scan_deg / robot.turn_deg) + 1)), bool(rng.integers(2)))
            scanned_m += recipe.scan_every_m
        if len(drive.actions) > recipe.max_steps or not drive.advance(goal):
            return None
    return drive


class TourDrive:
    """Records atomic actions towards a goal, and the pose after each."""

    def __init__(self, simulator: Simulator, robot: RobotModel, step: Step) -> None:
        self._simulator, self._robot = simulator, robot
        self._z = step.frame.map_from_base.xyz[2]
        self.pose, self.metres = step.frame.pose, 0.0
        self.actions: list[Action] = []
        self.poses = [self.pose]

    def advance(self, goal: tuple[float, ...]) -> bool:
        """Turn along the path and move, around an obstacle if there is one. Return False if no move is possible."""
        here = (self.pose.x, self.pose.y)
        path = self._simulator.shortest_path((*here, self._z), goal)
        if not path:
            return False
        ahead = next((p for p in path[1:] if math.dist(p, here) >= _AHEAD_M), path[-1])
        turns = round(wrap(math.atan2(ahead[1] - here[1], ahead[0] - here[0]) - self.pose.yaw) / self._robot.turn_rad)
        self.turn(turns)
        return self._move() or any(self._sidestep(k) for k in range(1, round(120 / self._robot.turn_deg)))

    def scan(self, turns: int, left: bool) -> None:
        """Turn to one side and back."""
        self.turn(turns if left else -turns)
        self.turn(-turns if left else turns)

    def _sidestep(self, k: int) -> bool:
        """Try the headings k turns to the left and right of the current one, which is kept if both fail."""
        self.turn(k)
        if self._move():
            return True
        self.turn(-2 * k)
        if self._move():
            return True
        self.turn(k)
        return False

    def turn(self, turns: int) -> None:
        """Turn to the left by a number of turn actions, to the right if it is negative."""
        for _ in range(abs(turns)):
            self._act(Action.TURN_LEFT if turns > 0 else Action.TURN_RIGHT)

    def _move(self) -> bool:
        before = self.metres
        self._act(Action.MOVE_FORWARD)
        return self.metres - before > _STILL_M

    def _act(self, action: Action) -> None:
        step = self._simulator.act(action)
        self.pose, self.metres = step.frame.pose, step.metres
        self.actions.append(action)
        self.poses.append(self.pose)


_SPACING_M = 1.0  # between places
_NEIGHBOURS = tuple((dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
_DETOUR = 3.0  # maximum ratio of a path to the straight line; beyond it the place is reached from another
_REACHED_M = 0.3
_LOOK_M = 1.2  # distance between turns on the spot
_PASSED_M = 0.5  # a place passed within this distance needs no visit
_STEPS = 20  # maximum actions per metre of path to the next place; a longer drive is given up
_MOST_PLACES = 2000
_ASKED = 4  # nearest places by straight line whose path lengths are compared: each query takes time


def plan_survey(scene: str, robot: RobotModel) -> Tour:
    """Plan a tour that covers the floor of a scene's start. Raises UnknownScene, SimulatorError."""
    blind = replace(robot, camera=BLIND)
    with closing(open_simulator(scene)) as simulator:
        step = simulator.reset(EpisodeSetup(scene, robot=blind))
        x, y, z = step.frame.map_from_base.xyz
        left = _places(simulator, (x, y, z))
        drive, looked = TourDrive(simulator, blind, step), list[tuple[float, float]]()
        while left:
            here = (drive.pose.x, drive.pose.y)
            if all(math.dist(here, place) > _LOOK_M for place in looked):
                drive.turn(round(2 * math.pi / robot.turn_rad))
                looked.append(here)
            left = [place for place in left if math.dist(place[:2], here) > _PASSED_M]
            if left:
                close = sorted(left, key=lambda place: math.dist(place[:2], here))[:_ASKED]
                away_m, nearest = min((simulator.geodesic((*here, z), place), place) for place in close)
                left.remove(nearest)
                _drive_to(drive, nearest, away_m)
    return Tour(scene, robot, tuple(drive.actions), tuple(drive.poses), drive.metres, z)


def _places(simulator: Simulator, start: Place) -> list[Place]:
    """Return places _SPACING_M apart that can be reached from a start, each from a previous one."""
    found, waiting, x, y, z = {(0, 0): start}, [(0, 0)], *start
    while waiting and len(found) < _MOST_PLACES:
        column, row = waiting.pop(0)
        for dx, dy in _NEIGHBOURS:
            cell = (column + dx, row + dy)
            place = (x + cell[0] * _SPACING_M, y + cell[1] * _SPACING_M, z)
            straight = math.hypot(dx, dy) * _SPACING_M
            if cell not in found and simulator.geodesic(found[column, row], place) <= _DETOUR * straight:
                found[cell] = place
                waiting.append(cell)
    return list(found.values())


def _drive_to(drive: TourDrive, place: Place, way_m: float) -> None:
    """Drive to a place, or near it: an obstacle ends the drive."""
    if not math.isfinite(way_m):
        return
    most = len(drive.actions) + round(_STEPS * (1.0 + way_m))
    while math.dist((drive.pose.x, drive.pose.y), place[:2]) > _REACHED_M and len(drive.actions) < most:
        if not drive.advance(place):
            return


_FAR_M = 100.0  # height of requests from above and below: homes are lower
_STOREY_M = 1.0  # minimum distance between floors; places nearer to a floor belong to it
_EVIDENCE = 3  # number of places at about the same height that make a floor; steps of stairs differ in height


@lru_cache(maxsize=16)
def floors_of(scene: str, robot: RobotModel) -> tuple[Place | None, ...]:
    """Return a place on each floor with space for the robot: x, y and the floor's height, metres, lowest floor first.

    None means the floor of the scene's default start. Raises UnknownScene, SimulatorError.
    """
    with closing(open_simulator(scene)) as simulator:
        first = simulator.reset(EpisodeSetup(scene, robot=robot)).frame
        found: dict[float, Place | None] = {first.map_from_base.xyz[2]: None}
        new = [first]
        while new:
            places = spread_points(simulator, new.pop(), np.random.default_rng(0))
            stood = [stacked for place in places for stacked in _stacked(simulator, scene, robot, place)]
            for x, y, z in _levels(stood):
                if all(abs(z - height) > _STOREY_M for height in found):
                    found[z] = (x, y, z)
                    new.append(first_frame(simulator, scene, robot, (x, y, z)))
        return tuple(found[height] for height in sorted(found))


def _levels(stood: list[Place]) -> Iterator[Place]:
    """Yield a place for each height with several places, starting with the height that has the most."""
    def beside(place: Place) -> int:
        return sum(abs(other[2] - place[2]) < _STOREY_M / 4 for other in stood)

    yield from sorted((place for place in stood if beside(place) >= _EVIDENCE), key=beside, reverse=True)


def _stacked(simulator: Simulator, scene: str, robot: RobotModel, place: Place) -> list[Place]:
    """Return places for the robot above and below a place, and the place itself if it is the highest or lowest."""
    x, y, z = place

    def height(near_m: float) -> float | None:
        try:
            return first_frame(simulator, scene, robot, (x, y, near_m)).map_from_base.xyz[2]
        except BadPose:
            return None

    known = [found for near in (z - _FAR_M, z + _FAR_M) if (found := height(near)) is not None]
    levels = sorted({z, *known})
    gaps = [(a, b) for a, b in pairwise(levels) if b - a > 2 * _STOREY_M]
    while gaps:
        low, high = gaps.pop()
        between = height((low + high) / 2)
        if between is not None and low + _STOREY_M < between < high - _STOREY_M:
            known.append(between)
            gaps += [(a, b) for a, b in ((low, between), (between, high)) if b - a > 2 * _STOREY_M]
    return [(x, y, found) for found in known]
