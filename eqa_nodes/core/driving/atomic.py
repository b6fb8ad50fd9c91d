"""The atomic navigator: drives with single moves and turns on the robot's own map, and observes on the way."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.driving import motion
from eqa_nodes.core.driving.drive_budget import DriveBudget, DriveEnded
from eqa_nodes.core.driving.planning import ShortestPaths, Waypoint, cell_at, centre_of, index_of, snap, weights
from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.mapping.area import fence, is_inside
from eqa_nodes.core.mapping.config import NavigatorConfig
from eqa_nodes.core.types.floor import FREE, Action, Allowance, GridMap, NavCode, NavResult, Travelled
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.inquiries import GO
from eqa_nodes.core.types.robot import RobotModel

_ACTIONS = {motion.FORWARD: Action.MOVE_FORWARD, motion.LEFT: Action.TURN_LEFT, motion.RIGHT: Action.TURN_RIGHT}
_STRAYED_M = 0.05  # if the robot is farther than this from the planned position, it plans again
_BUMP_M = 0.02  # a move that falls short by more than this hit an obstacle


class ActOutcome(NamedTuple):
    """Result of one atomic action: the pose after it, and whether the robot collided."""

    pose: Pose2
    collided: bool


def steps_of(robot: RobotModel) -> motion.ActionSizes:
    """Return the action sizes in the units of the search."""
    return motion.ActionSizes(robot.move_m, math.radians(robot.turn_deg), round(360.0 / robot.turn_deg))


class AtomicNavigator:
    """Implements the Navigator protocol with atomic actions.

    act: carries out one action and returns once the map contains its observation; its exceptions pass through.
    view: returns the map of the last observation. pose: returns the pose of the last observation.
    now: clock of the deadlines, seconds: the stamps of the observations, so that slow computers drive the same way.
    travelled: returns the totals counted up to the last observation. drive: one of DRIVE_MODES.
    """

    def __init__(self, act: Callable[[Action], ActOutcome], view: Callable[[], GridMap],
                 config: NavigatorConfig | None = None, robot: RobotModel | None = None, *, now: Callable[[], float],
                 pose: Callable[[], Pose2], travelled: Callable[[], Travelled], drive: str = GO) -> None:
        self.config, self.robot = config or NavigatorConfig(), robot or RobotModel()
        self._act, self._view, self._now, self._pose_now, self._travelled = act, view, now, pose, travelled
        self._drive, self._canceled = drive, threading.Event()

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance = FREE) -> NavResult:
        """Drive to the goal (map frame), then turn to its yaw (rounded to whole turns). Failures are result codes."""
        try:
            drive = self._begin(deadline_s, allowance)
            if not all(map(math.isfinite, goal)):
                raise DriveEnded(NavCode.FAILED, f"goal {goal} is not finite")
            drive.go(goal)
            drive.turn_to(goal.yaw)
        except DriveEnded as end:
            return end.result
        off = drive.pose.distance(goal)
        return NavResult(NavCode.SUCCEEDED, f"reached in {drive.used} actions, {off:.2f} m off")

    def look_around(self, deadline_s: float, allowance: Allowance = FREE) -> NavResult:
        """Turn once on the spot and observe.

        A robot for stairs whose camera looks over its feet turns a second time, looking down to find stairs down. It
        skips this at the start of an episode, when it looks for the answer and does not yet need another floor.
        """
        looks = self.robot.looks_for_stairs if self._travelled().steps > 0 else 0
        try:
            drive = self._begin(deadline_s, allowance)
            drive.turn_round()
            if looks:
                with drive.looking_down(looks):
                    drive.turn_round()
        except DriveEnded as end:
            return end.result
        return NavResult(NavCode.SUCCEEDED, f"looked around in {drive.used} actions")

    def cancel(self) -> None:
        """End the running drive after its current action; it returns CANCELED. Does nothing if no drive is running."""
        self._canceled.set()

    def _begin(self, deadline_s: float, allowance: Allowance) -> _AtomicDrive:
        self._canceled.clear()
        return _AtomicDrive(self._act, self._view, self.config, self.robot, self._pose_now(),
                            self._check_until(deadline_s), DriveBudget(allowance, self._travelled, drive=self._drive))

    def _check_until(self, deadline_s: float) -> Callable[[], None]:
        """Return the check that runs before each action; it ends a drive that was canceled or is late."""
        until = self._now() + deadline_s

        def check() -> None:
            if self._canceled.is_set():
                raise DriveEnded(NavCode.CANCELED, "canceled")
            if self._now() >= until:
                raise DriveEnded(NavCode.TIMEOUT, f"did not arrive within {deadline_s:g} s")

        return check


class _AtomicDrive:
    """One drive: the pose, the remaining plan, and the points where the robot was blocked."""

    def __init__(self, act: Callable[[Action], ActOutcome], view: Callable[[], GridMap], config: NavigatorConfig,
                 robot: RobotModel, pose: Pose2, check: Callable[[], None], leash: DriveBudget) -> None:
        self._act, self._view, self._config, self._robot = act, view, config, robot
        self._check, self._leash = check, leash
        self.pose, self.used, self._tilted = pose, 0, 0
        self._limit = math.inf
        self._bumps: list[tuple[float, float]] = []

    def do(self, action: Action) -> ActOutcome:
        """Carry out one action. Raises DriveEnded if the drive must end."""
        self._check()
        ahead_m = self._robot.move_m if action is Action.MOVE_FORWARD else 0.0
        then = self.pose._replace(x=self.pose.x + ahead_m * math.cos(self.pose.yaw),
                                  y=self.pose.y + ahead_m * math.sin(self.pose.yaw))
        tilted = self._tilted + (action is Action.LOOK_DOWN)  # number of actions reserved to raise the camera again
        self._leash.check(self.pose, then, Travelled(1 + tilted, ahead_m))
        outcome = self._act(action)
        self.pose, self.used, self._tilted = outcome.pose, self.used + 1, tilted
        return outcome

    @contextmanager
    def looking_down(self, times: int) -> Iterator[None]:
        """Tilt the camera down by look actions. The camera is raised again even if the drive ends meanwhile."""
        try:
            for _ in range(times):
                self.do(Action.LOOK_DOWN)
            yield
        except DriveEnded:
            self._look_up()
            raise
        self._look_up()

    def _look_up(self) -> None:
        for _ in range(self._tilted):
            self._act(Action.LOOK_UP)
        self.used, self._tilted = self.used + self._tilted, 0

    def turn_round(self) -> None:
        """Turn once on the spot."""
        for _ in range(steps_of(self._robot).headings):
            self.do(Action.TURN_LEFT)

    def turn_to(self, yaw: float) -> None:
        """Turn to the nearest reachable multiple of a turn."""
        turns = round(wrap(yaw - self.pose.yaw) / steps_of(self._robot).turn_rad)
        for _ in range(abs(turns)):
            self.do(Action.TURN_LEFT if turns > 0 else Action.TURN_RIGHT)

    def go(self, goal: Pose2) -> None:
        """Drive until within tolerance of the goal, or of the reachable point nearest to it."""
        while True:
            self._check()
            place, actions, positions = self._plan(goal)
            if math.hypot(place.x - self.pose.x, place.y - self.pose.y) <= self._config.tolerance_m:
                return
            if len(actions) == 0:
                raise DriveEnded(NavCode.BLOCKED, f"no way on from {_at(self.pose)}: blocked {len(self._bumps)} times")
            self._follow(actions, positions)

    def _plan(self, goal: Pose2) -> tuple[Waypoint, np.ndarray, np.ndarray]:
        """Return the target, and the actions and positions towards it on the newest map."""
        c, robot, grid = self._config, self._robot, self._map()
        try:
            start = index_of(grid, self.pose.x, self.pose.y)
            cost = weights(grid, self.pose, robot.radius_m, c.allow_unknown)
        except BadPose as error:
            raise DriveEnded(NavCode.FAILED, str(error)) from error
        near = ShortestPaths(cost, start, grid.resolution_m).metres
        cell = snap(grid, near, goal.x, goal.y, c.snap_m)
        if cell is None:
            raise DriveEnded(NavCode.UNREACHABLE,
                             f"no reachable floor within {c.snap_m:g} m of {_at(goal)} on this map")
        place = Waypoint(goal.x, goal.y) if cell == cell_at(grid, goal.x, goal.y) else centre_of(grid, *cell)
        field = motion.CostField(cost, ShortestPaths(cost, cell, grid.resolution_m).metres, *grid.origin,
                                 grid.resolution_m)
        if math.isinf(self._limit):
            self._limit = 40 + c.patience * field.to_go[start] / robot.move_m
        here = self.pose
        actions, positions = motion.search(field, steps_of(robot), here.x, here.y, here.yaw, place.x, place.y,
                                           c.tolerance_m)
        return place, actions, positions

    def _follow(self, actions: np.ndarray, positions: np.ndarray) -> None:
        """Carry out the plan until its end, a collision, a deviation or a newly blocked path."""
        for i, number in enumerate(actions.tolist()):
            if self.used >= self._limit:
                raise DriveEnded(NavCode.BLOCKED,
                                 f"at {_at(self.pose)} after {self.used} actions: something is in the way")
            before = self.pose
            outcome = self.do(_ACTIONS[number])
            if outcome.collided:
                self._feel(before)
            strayed = math.hypot(self.pose.x - positions[i, 0], self.pose.y - positions[i, 1]) > _STRAYED_M
            if outcome.collided or strayed or not passable(self._map(), positions[i + 1:], self._robot.radius_m):
                return

    def _feel(self, before: Pose2) -> None:
        """Record the obstacle of a blocked move: the missing part of the move points at it, even if the robot slid."""
        move = self._robot.move_m
        short_x = before.x + move * math.cos(before.yaw) - self.pose.x
        short_y = before.y + move * math.sin(before.yaw) - self.pose.y
        short = math.hypot(short_x, short_y)
        if short > _BUMP_M:
            reach = self._robot.radius_m + _BUMP_M
            self._bumps.append((self.pose.x + reach * short_x / short, self.pose.y + reach * short_y / short))

    def _map(self) -> GridMap:
        """Return the newest map with the obstacles that were hit but not seen, and the border of the area as a wall.

        A robot that stands outside its area has to drive in first, so then there is no wall.
        """
        grid, area = self._view(), self._leash.allowance.area
        grid = with_obstacles(grid, self._bumps) if self._bumps else grid
        return fence(grid, area) if area and is_inside(area, self.pose.x, self.pose.y) else grid


def with_obstacles(grid: GridMap, places: list[tuple[float, float]]) -> GridMap:
    """Return a copy of the map in which cells with centres within one cell of the points (x, y) are occupied."""
    cells = grid.cells.copy()
    rows, columns = np.ogrid[:cells.shape[0], :cells.shape[1]]
    for x, y in places:
        fx, fy = (x - grid.origin[0]) / grid.resolution_m - 0.5, (y - grid.origin[1]) / grid.resolution_m - 0.5
        cells[(rows - fy) ** 2 + (columns - fx) ** 2 <= 1.0] = 100
    return replace(grid, cells=cells)


def passable(grid: GridMap, positions: np.ndarray, radius_m: float) -> bool:
    """Return whether the robot's disc at each position (n, 2), metres, covers no centre of an occupied cell."""
    reach = math.ceil(radius_m / grid.resolution_m)
    for x, y in positions:
        iy, ix = index_of(grid, x, y)
        y0, x0 = max(0, iy - reach), max(0, ix - reach)
        rows, columns = np.nonzero(grid.cells[y0:iy + reach + 1, x0:ix + reach + 1] == 100)
        if np.any(np.hypot(rows + y0 - iy, columns + x0 - ix) * grid.resolution_m < radius_m):
            return False
    return True


def _at(pose: Pose2) -> str:
    return f"({pose.x:.2f}, {pose.y:.2f})"
