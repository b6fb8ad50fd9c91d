"""Plans paths through a scene with the views at their end, along them and elsewhere.

Privileged, like the recipes of the benchmarks: paths and places are found with the simulator's shortest paths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from itertools import count, pairwise

import numpy as np

from eqa_nodes.core.errors import BadPose, SimulatorError, UnknownScene
from eqa_nodes.core.types.geometry import Point, Pose2, wrap
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.views import Frame, Keyframe
from eqa_nodes.generate.values import APART_M, Benchmark, DistractorView, ScenePath
from eqa_nodes.generate.vln_episodes import VlnEpisode
from eqa_nodes.recordings.history_views import ViewSelection, keyframe_of
from eqa_nodes.tours.tours import BLIND, Place, Tour, first_frame, floors_of, follow_path, plan_tour, spread_points
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup, Simulator

PASSED = 4  # number of views kept along a path
_NEAR_M = 3.0  # distance from the end: viewpoints are within it (ExploraQA, 3.1), other parts of the scene beyond
_RINGS_M, _BEARINGS, _HEADINGS = (1.0, 2.0), 8, 12
_BESIDE_RINGS_M, _BESIDE_BEARINGS = (0.8, 1.5, 2.3), 12
_WALL_M = 1.2  # a view with a middle nearer than this faces a wall
_OPEN_M = 4.0  # depths beyond it count as equally open
_SIGHT = 1.2  # maximum ratio of the path from the end to a viewpoint to the straight line: beyond it lies a corner
_BESIDE = 5  # places from which the middle of a view is also looked at
_FOCUS_M = (0.8, 5.0)  # nearest and farthest distance of such a place from it
_CLEAR = 0.7  # minimum share of that distance that must be free: something nearer hides what is looked at
_FLOORS = 2  # separate random stream for floors, so that scenes with one floor keep their other random numbers


def make_path(kind: Benchmark, scene: str, seed: int, number: int, elsewhere: int, labels: bool,
              episode: VlnEpisode | None = None) -> ScenePath:
    """Plan a path on one of the scene's floors, drawn by the seed, or follow that of an episode, and render its views.
    labels: whether to use the simulator's labels (privileged).

    Raises UnknownScene, or SimulatorError if no such path fits into the scene.
    """
    tour, floor = _drawn_tour(kind, scene, seed) if episode is None else _followed(kind, episode)
    with closing(open_simulator(scene)) as simulator:
        scout = _Scout(simulator, kind.recipe.robot, tour, floor, labels)
        ends = [tour.poses[-1]] if kind.viewpoints == 1 else scout.viewpoints(tour.poses[-1], kind.viewpoints)
        along = [tour.poses[round(i)] for i in np.linspace(0, len(tour.poses) - 1, PASSED + 1)[:-1].tolist()]
        others = scout.elsewhere(tour.poses[-1], elsewhere)
        stops = [tour.poses[len(tour.poses) * k // 4] for k in range(3)] if kind.instructed else []
        before = [pose for stop in stops for pose in scout.all_around(stop)]
        return ScenePath(number, scene, tour.actions, tour.poses, round(tour.way_m, 6), scout.z,
                         tuple(map(scout.view, ends)), tuple(map(scout.view, along)),
                         tuple(DistractorView(scout.view(pose),
                                              round(scout.way_m(tour.poses[0], pose), 6)) for pose in others),
                         instruction=episode.instruction if episode else "", before=tuple(map(scout.view, before)),
                         beside=tuple(tuple(map(scout.view, scout.beside(tour.poses[-1], pose))) for pose in ends
                                      ) if kind.viewpoints > 1 else ())


def _followed(kind: Benchmark, episode: VlnEpisode) -> tuple[Tour, Place]:
    if not episode.one_floor:
        raise SimulatorError(f"episode {episode.id} leads over stairs to another floor, and a path here stays on one")
    tour = follow_path(episode.scene, kind.recipe.robot, episode.start, episode.path)
    return tour, (tour.poses[0].x, tour.poses[0].y, tour.z)


def _drawn_tour(kind: Benchmark, scene: str, seed: int) -> tuple[Tour, Place | None]:
    """Return a tour and a place on its floor (None: the floor of the scene's start); all floors are equally likely.

    If no tour fits on the drawn floor, another floor is drawn. Raises as make_path.
    """
    floors = floors_of(scene, replace(kind.recipe.robot, camera=BLIND))
    *others, last = np.random.default_rng((seed, _FLOORS)).permutation(len(floors)).tolist()
    for number in others:
        try:
            return plan_tour(scene, kind.recipe, seed, floors[number]), floors[number]
        except UnknownScene:
            raise
        except SimulatorError:
            continue
    return plan_tour(scene, kind.recipe, seed, floors[last]), floors[last]


class _Scout:
    """Renders views on a floor without driving there. floor: a place on it, None: the floor of the scene's start."""

    def __init__(self, simulator: Simulator, robot: RobotModel, tour: Tour, floor: Place | None, labels: bool) -> None:
        self._simulator, self._scene, self._robot, self._floor = simulator, tour.scene, robot, floor
        self._blind = replace(robot, camera=replace(robot.camera, width=64, height=64, color=False))
        self.z = tour.z
        self.z = self._look(tour.poses[0], self._blind).map_from_base.xyz[2]
        self._selection, self._numbers = ViewSelection("uniform", labels=labels), count(1)

    def view(self, pose: Pose2) -> Keyframe:
        """Return the view from a pose; views are numbered from 1."""
        frame = self._look(pose, self._robot)
        known = self._simulator.labels() if self._selection.labels else {}
        return keyframe_of(frame, next(self._numbers), known, self._selection)

    def way_m(self, a: Pose2, b: Pose2) -> float:
        """Return the length of the shortest path, metres; inf if there is none."""
        path = self._simulator.shortest_path(self._point(a), self._point(b))
        return math.fsum(math.dist(p, q) for p, q in pairwise(path)) if path else math.inf

    def viewpoints(self, end: Pose2, wanted: int) -> list[Pose2]:
        """Return poses near the end that face no wall, are apart, and whose views do not overlap (ExploraQA, 3.1)."""
        own = self._openness(end)
        chosen = [end] if own >= _WALL_M else []
        near = [(min(self._openness(pose), _OPEN_M), -math.dist(pose[:2], end[:2]), pose) for pose in self._around(end)]
        for openness, _, pose in sorted(near, key=lambda item: item[:2], reverse=True):
            if len(chosen) < wanted and openness >= _WALL_M and all(self._differs(pose, other) for other in chosen):
                chosen.append(pose)
        return chosen or [end]

    def beside(self, end: Pose2, view: Pose2) -> list[Pose2]:
        """Return poses near the end that look at the middle of a view from other places, spread apart."""
        off_m = min(self._openness(view), _FOCUS_M[1])
        focus = view.x + off_m * math.cos(view.yaw), view.y + off_m * math.sin(view.yaw)
        places = (p for p in self._near(end, _BESIDE_RINGS_M, _BESIDE_BEARINGS)
                  if _FOCUS_M[0] <= math.dist(p[:2], focus) <= _FOCUS_M[1])
        turned = (Pose2(p.x, p.y, math.atan2(focus[1] - p.y, focus[0] - p.x)) for p in places)
        left = [pose for pose in turned if self._openness(pose) >= _CLEAR * math.dist(pose[:2], focus)]
        chosen = [view]
        while left and len(chosen) <= _BESIDE:
            best = max(left, key=lambda p: min(math.dist(p[:2], k[:2]) for k in chosen))
            if min(math.dist(best[:2], k[:2]) for k in chosen) < APART_M:
                break
            left.remove(best)
            chosen.append(best)
        return chosen[1:]

    def all_around(self, place: Pose2) -> list[Pose2]:
        """Return poses at a place whose views together show everything around it."""
        turns = math.ceil(360.0 / self._robot.camera.hfov_deg)
        return [Pose2(place.x, place.y, wrap(place.yaw + k * 2 * math.pi / turns)) for k in range(turns)]

    def elsewhere(self, end: Pose2, wanted: int) -> list[Pose2]:
        """Return poses far from the end and from each other, each in the most open direction."""
        left = [Pose2(x, y, 0.0) for x, y in _places(self._scene, self._blind, self._floor)
                if math.dist((x, y), end[:2]) > _NEAR_M]
        known, chosen = [end], list[Pose2]()
        while left and len(chosen) < wanted:
            place = max(left, key=lambda p: min(math.dist(p[:2], k[:2]) for k in known))
            known.append(place)
            left.remove(place)
            if self._fits(place):
                chosen.append(max(self._turned(place), key=self._openness))
        return chosen

    def _around(self, end: Pose2) -> list[Pose2]:
        return [turned for place in self._near(end, _RINGS_M, _BEARINGS) for turned in self._turned(place)]

    def _near(self, end: Pose2, rings_m: Sequence[float], bearings: int) -> list[Pose2]:
        """Return the end and places around it to which the robot can drive almost straight: not round a corner."""
        rings = [(r, Pose2(end.x + r * math.cos(b), end.y + r * math.sin(b), end.yaw)) for r in rings_m
                 for b in np.linspace(0, 2 * math.pi, bearings, endpoint=False).tolist()]
        return [end, *(p for r, p in rings if self._fits(p) and self.way_m(end, p) <= min(_NEAR_M, _SIGHT * r))]

    def _turned(self, place: Pose2) -> list[Pose2]:
        return [Pose2(place.x, place.y, wrap(place.yaw + k * 2 * math.pi / _HEADINGS)) for k in range(_HEADINGS)]

    def _differs(self, a: Pose2, b: Pose2) -> bool:
        return (math.dist(a[:2], b[:2]) >= APART_M and
                abs(wrap(a.yaw - b.yaw)) >= math.radians(self._robot.camera.hfov_deg) - 1e-9)

    def _openness(self, pose: Pose2) -> float:
        """Return the median depth, metres, of the middle ninth of the view; no return counts as far."""
        frame = self._look(pose, self._blind)
        rows, columns = frame.depth_m.shape
        middle = frame.depth_m[rows // 3:2 * rows // 3, columns // 3:2 * columns // 3]
        return float(np.median(np.where(middle > 0, middle, self._robot.camera.max_range_m)))

    def _fits(self, place: Pose2) -> bool:
        """Return whether the robot can stand there: shortest paths also lead to places that are slightly too narrow."""
        try:
            self._look(place, self._blind)
        except BadPose:
            return False
        return True

    def _look(self, pose: Pose2, robot: RobotModel) -> Frame:
        return self._simulator.reset(EpisodeSetup(self._scene, start=pose, robot=robot,
                                                 start_height_m=self.z)).frame

    def _point(self, pose: Pose2) -> Point:
        return (pose.x, pose.y, self.z)


@lru_cache(maxsize=8)
def _places(scene: str, robot: RobotModel, floor: Place | None) -> tuple[tuple[float, float], ...]:
    """Return places all over a floor. floor: a place on it, None: the floor of the scene's start."""
    with closing(open_simulator(scene)) as simulator:
        first = first_frame(simulator, scene, robot, floor)
        return tuple((x, y) for x, y, _ in spread_points(simulator, first, np.random.default_rng(0)))
