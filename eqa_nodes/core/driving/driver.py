"""Drives to goals within limits: recovers from failures, and can be stopped at any time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from eqa_nodes.core.driving.commander import Commander, RobotState, TaskEnd, TaskState, meaning_of, result_of
from eqa_nodes.core.driving.config import DrivingConfig
from eqa_nodes.core.driving.drive_budget import DriveBudget, DriveEnded, Gates
from eqa_nodes.core.driving.viewpoints import Viewpoint, viewpoints
from eqa_nodes.core.driving.zones import Fence, Touch, covered, mask_of, near, parsed
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.mapping.area import is_inside, outside
from eqa_nodes.core.types.floor import FREE, Allowance, NavCode, NavResult, Travelled
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import GO

_ASK_AGAIN_S = 1.0  # interval of checks whether Nav2 is active
_POLL_S = 0.1  # interval of checks of the limits while the robot drives
_COSTMAP_S = 5.0  # timeout of the costmap services
_LEAST_M = 0.1  # a drive with a shorter limit is not begun
_PACE_S = 0.15  # minimum time between two poses for estimating the speed
_STILL = 0.0, 0.0
_FASTEST_M_S = 3.0  # at higher speeds localisation has corrected the pose: the robot did not drive
MAY_DRIVE = "the robot may still drive, use its emergency stop"


class Interrupt:
    """Ends one drive from another thread. reason: "" while the drive may continue."""

    def __init__(self) -> None:
        self.reason = ""

    def set(self, reason: str) -> None:
        """End the drive; the first reason counts."""
        self.reason = self.reason or reason


class GoalDriver:
    """Drives through a commander, one drive at a time. Failures are result codes with the attempts and reasons."""

    def __init__(self, commander: Commander, robot: RobotState, gates: Gates, config: DrivingConfig,
                 radius_m: float, drive: str = GO) -> None:
        """radius_m: radius of the robot. drive: one of DRIVE_MODES. Sends the keep-out zones to the planner."""
        self.commander, self.robot, self.gates, self.config = commander, robot, gates, config
        self.zones, self.radius_m = parsed(config.keep_out.zones), radius_m
        self.drive = drive
        self.mark(())

    def go_to(self, goal: Pose2, deadline_s: float, interrupt: Interrupt, allowance: Allowance = FREE) -> NavResult:
        """Drive to the goal (map frame), or to a viewpoint that sees it."""
        def drive() -> NavResult:
            drive = _GoalDrive(self, deadline_s, interrupt, allowance, _LEAST_M)
            try:
                return drive.go_to(goal)
            finally:
                if drive.touch.points:
                    self.mark(())

        return self._ended(drive)

    def look_around(self, deadline_s: float, interrupt: Interrupt, allowance: Allowance = FREE) -> NavResult:
        """Turn once on the spot and observe."""
        return self._ended(lambda: _GoalDrive(self, deadline_s, interrupt, allowance, 0.0).look_around(deadline_s))

    def mark(self, touched: Sequence[tuple[float, float]]) -> None:
        """Send the planner the touched points and the keep-out zones, grown by the mean of the distances at which the
        robot is stopped and goals are refused."""
        keep_out = self.config.keep_out
        grow_m = (keep_out.stop_m + keep_out.margin_m) / 2
        self.commander.keep_out(mask_of(self.zones, grow_m, touched, self.radius_m))

    @staticmethod
    def _ended(drive: Callable[[], NavResult]) -> NavResult:
        try:
            return drive()
        except DriveEnded as end:
            return end.result
        except EqaError as error:
            return NavResult(NavCode.FAILED, str(error))


class _GoalDrive:
    """One drive: its limits and the attempts so far."""

    def __init__(self, driver: GoalDriver, deadline_s: float, interrupt: Interrupt, allowance: Allowance,
                 least_m: float) -> None:
        """least_m: the shortest path that the drive may take, metres."""
        self._commander, self._robot, self._gates = driver.commander, driver.robot, driver.gates
        self._config, self._zones, self._interrupt = driver.config, driver.zones, interrupt
        self._check()  # before the first wait
        self._deadline_s, self._until = deadline_s, driver.robot.now_s() + deadline_s
        self._leash, self._least_m = DriveBudget(allowance, driver.robot.travelled, drive=driver.drive), least_m
        self._pace = _Pace(driver.config.wait.stop_s + _POLL_S)
        self._fence = Fence(driver.zones, driver.config.keep_out.stop_m)
        self.touch, self._mark = Touch(driver.config.keep_out.touch_s, driver.radius_m), driver.mark
        self._tried: list[str] = []

    def go_to(self, goal: Pose2) -> NavResult:
        if not all(map(math.isfinite, goal)):
            raise DriveEnded(NavCode.FAILED, f"goal {goal} is not finite")
        self._wait_until_active()
        self._wait_for_others()
        margin = self._config.keep_out.margin_m
        if zone := near(self._zones, goal.x, goal.y, margin):
            failed = NavResult(NavCode.UNREACHABLE, f"the goal {_at(goal)} is within {margin:g} m of keep-out zone "
                               f"{zone!r}: choose another, or change keep_out.zones")
        elif not is_inside(self._leash.allowance.area, goal.x, goal.y):
            raise DriveEnded(NavCode.UNREACHABLE, f"the goal {_at(goal)} is outside the question's area")
        else:
            failed = self._try(lambda: self._drive(goal), f"goal {_at(goal)}")
        if failed.code in (NavCode.SUCCEEDED, NavCode.CANCELED, NavCode.FAILED):
            return failed
        return self._seen_from_elsewhere(goal, failed)

    def look_around(self, allowance_s: float) -> NavResult:
        self._wait_until_active()
        self._wait_for_others()
        return self._try(lambda: self._carry_out(lambda: self._commander.turn(2 * math.pi, allowance_s)), "turn")

    def _try(self, task: Callable[[], TaskEnd], what: str) -> NavResult:
        """Carry out a task, with retries if they may help. If Nav2 is gone or rejects it, name what is missing."""
        end, tries = task(), 1
        while end.state is not TaskState.SUCCEEDED and tries <= self._config.recovery.retries and meaning_of(end).again:
            self._recover(end)
            end, tries = task(), tries + 1
        if end.state in (TaskState.REJECTED, TaskState.LOST):
            self._tried.append(f"{what}: {result_of(end).message}")
            self._wait_until_active()
            self._tried.pop()
        result = result_of(end)
        if result.code is NavCode.SUCCEEDED:
            return result
        return NavResult(result.code, f"{what}: {result.message}" + (f", tried {tries} times" if tries > 1 else ""))

    def _recover(self, end: TaskEnd) -> None:
        """Prepare a retry: wait until Nav2 is active again, or clear the costmaps."""
        if end.state in (TaskState.LOST, TaskState.REJECTED):
            self._wait_until_active()
            return
        try:
            self._commander.clear_costmaps(_COSTMAP_S)
        except EqaError as error:
            self._tried.append(str(error))

    def _seen_from_elsewhere(self, goal: Pose2, failed: NavResult) -> NavResult:
        """Drive to a viewpoint that sees the goal; if all fail, return the code of the goal's own failure."""
        self._tried.append(failed.message)
        for view in self._views(goal):
            what = "from afar" if view.afar else "backed off"
            end = self._drive(view.pose)
            if end.state is TaskState.SUCCEEDED:
                return NavResult(NavCode.SUCCEEDED, f"{what} to {_at(view.pose)}, looking at the goal "
                                 f"{view.off_m:.2f} m off: {self._all_tried()}")
            self._tried.append(f"{what} to {_at(view.pose)}: {result_of(end).message}")
        return NavResult(failed.code, f"gave up: {self._all_tried()}")

    def _views(self, goal: Pose2) -> list[Viewpoint]:
        if not (self._config.recovery.viewpoints or self._config.recovery.afar_m):
            return []
        try:
            grid = self._commander.costmap(_COSTMAP_S)
            shut = covered(self._zones, grid, self._config.keep_out.margin_m)
            shut |= outside(grid, self._leash.allowance.area)
            views = viewpoints(grid, self._robot.pose(), goal, shut, self._config.recovery)
        except EqaError as error:
            self._tried.append(f"nowhere else to look from: {error}")
            return []
        if not views:
            self._tried.append("no place on the costmap can be reached and sees the goal")
        return views

    def _wait_until_active(self) -> None:
        end = time.monotonic() + self._config.wait.active_s
        while missing := self._commander.missing(min(_ASK_AGAIN_S, self._config.wait.active_s)):
            self._check()
            if time.monotonic() >= end:
                tried = f"{self._all_tried()}; then " if self._tried else ""
                raise DriveEnded(NavCode.FAILED,
                                 f"{tried}{missing}, not within {self._config.wait.active_s:g} s: bring up "
                                 "Nav2 (ros2 launch nav2_bringup navigation_launch.py), or wait for its lifecycle "
                                 "manager")

    def _wait_for_others(self) -> None:
        """Wait while another client, such as an operator, drives the robot."""
        end = time.monotonic() + self._config.wait.active_s
        while self._commander.others_drive():
            self._check()
            if time.monotonic() >= end:
                raise DriveEnded(NavCode.FAILED, "another client, such as RViz, drives the robot: cancel its goal, or "
                                                 "wait until it has ended")
            time.sleep(_POLL_S)

    def _drive(self, goal: Pose2) -> TaskEnd:
        """Drive to a pose. A success reported by Nav2 counts only if the robot's pose, which may be late, confirms it.
        """
        end = self._carry_out(lambda: self._commander.go_to(goal))
        if end.state is not TaskState.SUCCEEDED:
            return end
        until, limit_m = time.monotonic() + self._config.wait.cancel_s, self._config.arrived_m or math.inf
        while (off_m := (at := self._robot.pose()).distance(goal)) > limit_m:
            if time.monotonic() >= until:
                return TaskEnd(TaskState.ELSEWHERE, message=f"it is at {_at(at)}, {off_m:.2f} m off")
            self._check()
            time.sleep(_POLL_S)
        return end

    def _carry_out(self, begin: Callable[[], None]) -> TaskEnd:
        """Begin a task and wait for its end, checking the limits all the time."""
        self._check()
        self._watch()
        begin()
        while True:
            end = self._commander.poll(_POLL_S)
            if end is not None:
                if end.state is TaskState.CANCELED:  # by a stop, which cancels Nav2's goal at once
                    self._check()
                return self._left_standing(end) if end.state is TaskState.LOST else end
            try:
                self._check()
                self._watch()
                self._check_feedback()
            except DriveEnded as ended:
                raise self._stopped(ended) from ended
            except EqaError as error:
                raise self._stopped(DriveEnded(NavCode.FAILED, str(error))) from error

    def _check(self) -> None:
        """Raise DriveEnded if a gate forbids driving."""
        if self._interrupt.reason:
            raise DriveEnded(NavCode.CANCELED, self._interrupt.reason)
        if refusal := self._gates.refusal(time.monotonic()):
            raise DriveEnded(NavCode.FAILED, refusal)

    def _watch(self) -> None:
        """Raise DriveEnded if the robot is too close to a zone or exceeds its allowance. Raises StaleData if it is
        not localised."""
        at = self._robot.pose()
        if breach := self._fence.breached(at):
            raise DriveEnded(NavCode.BLOCKED, breach)
        now_s = self._robot.now_s()
        if self.touch.felt(now_s, at, self._robot.commanded_m_s()):
            self._mark(self.touch.points)
        then = self._pace.when_stopped(now_s, at)
        self._leash.check(at, then, Travelled(0, max(at.distance(then), self._least_m)))
        if now_s >= self._until:
            tried = f": {self._all_tried()}" if self._tried else ""
            raise DriveEnded(NavCode.TIMEOUT, f"did not arrive within {self._deadline_s:g} s{tried}")

    def _check_feedback(self) -> None:
        limit, silent = self._config.wait.silent_s, self._commander.silent_s()
        if limit and silent > limit:
            raise DriveEnded(NavCode.TIMEOUT,
                             f"Nav2 accepted the goal and has sent no feedback for {silent:.0f} s: look "
                             "at bt_navigator's log")

    def _stopped(self, ended: DriveEnded) -> DriveEnded:
        """Cancel the task and wait until it has ended; an unconfirmed stop is a separate failure.

        If the navigator does not end the task, halt the servers that move the base.
        """
        self._commander.cancel()
        wait = self._config.wait
        for _ in range(math.ceil(wait.cancel_s / _POLL_S)):
            end = self._commander.poll(_POLL_S)
            if end is not None and end.state is not TaskState.LOST:
                return ended
            if end is not None:
                break
        if self._commander.halt(wait.cancel_s).stands:
            return ended
        return DriveEnded(NavCode.FAILED,
                          f"{ended.result.message}; Nav2 did not confirm within {wait.cancel_s:g} s that it "
                          f"stopped: {MAY_DRIVE}")

    def _left_standing(self, lost: TaskEnd) -> TaskEnd:
        """Stop the base after its navigator was lost: the controller would follow the last path to the end."""
        silent = self._commander.halt(self._config.wait.cancel_s).silent
        return lost if not silent else lost._replace(
            message=f"{lost.message}; {', '.join(silent)} did not confirm that it stopped: {MAY_DRIVE}")

    def _all_tried(self) -> str:
        return "; ".join(self._tried)


class _Pace:
    """Estimates the robot's speed from its poses."""

    def __init__(self, stop_s: float) -> None:
        """stop_s: time in seconds until the robot stands still if it is stopped at the next check."""
        self._stop_s, self._velocity, self._before = stop_s, _STILL, _STILL
        self._last: tuple[float, Pose2] | None = None

    def when_stopped(self, now_s: float, at: Pose2) -> Pose2:
        """Add the current pose; return the pose where the robot stands if it is stopped at the next check."""
        since_s, before = self._last or (now_s, at)
        if self._last is None:
            self._last = now_s, at
        elif now_s - since_s >= _PACE_S:
            velocity = (at.x - before.x) / (now_s - since_s), (at.y - before.y) / (now_s - since_s)
            self._before, self._velocity = self._velocity, velocity if math.hypot(*velocity) <= _FASTEST_M_S else _STILL
            self._last = now_s, at
        (x, y), gains = self._velocity, math.hypot(*self._velocity) > math.hypot(*self._before)
        if gains:  # assume the same increase until the next check
            x, y = 2 * x - self._before[0], 2 * y - self._before[1]
        return at._replace(x=at.x + self._stop_s * x, y=at.y + self._stop_s * y)


def _at(pose: Pose2) -> str:
    return f"({pose.x:.2f}, {pose.y:.2f})"
