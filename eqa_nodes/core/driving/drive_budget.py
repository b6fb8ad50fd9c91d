"""Keeps a drive within the limits of its question and of the operator, for every navigator."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from eqa_nodes.core.driving.config import GateConfig
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.mapping.area import is_inside
from eqa_nodes.core.types.floor import FREE, Allowance, NavCode, NavResult, Travelled
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import CONFIRM, DRY, GO

_EXACT_M = 1e-6  # tolerance for rounding in sums of moves
_FASTEST_M_S = 3.0  # faster than any robot that answers questions indoors


class DriveEnded(Exception):
    """Raised to end a drive; carries its result."""

    def __init__(self, code: NavCode, message: str) -> None:
        super().__init__(message)
        self.result = NavResult(code, message)


def check_allowed(drive: str, allowance: Allowance) -> None:
    """Raise DriveEnded in dry mode, or in confirm mode if no person has allowed the drive."""
    if drive == DRY:
        raise DriveEnded(NavCode.NOT_ALLOWED, "nothing moves: node.drive is dry")
    if drive == CONFIRM and not allowance.permitted:
        raise DriveEnded(NavCode.NOT_ALLOWED, "node.drive is confirm, and no person has allowed this drive: ask the "
                         "robot a question instead of sending it a goal, or set node.drive to go")


class DriveBudget:
    """The allowance of one drive, counted from its beginning.

    travelled: returns the totals of the robot, None if they are not counted; now: wall clock, seconds.
    """

    def __init__(self, allowance: Allowance = FREE, travelled: Callable[[], Travelled | None] = lambda: None,
                 now: Callable[[], float] = time.monotonic, drive: str = GO) -> None:
        """Raises DriveEnded if the drive may not begin. drive: one of DRIVE_MODES."""
        check_allowed(drive, allowance)
        self.allowance, self._travelled, self._now = allowance, travelled, now
        self._begun, self._until = travelled(), now() + allowance.seconds
        self._entered = False
        if self._begun is None and math.isfinite(allowance.metres):
            raise DriveEnded(NavCode.FAILED,
                             f"no odometry has arrived, and the drive is limited to {allowance.metres:.2f} m: "
                             "does the robot publish odom?")

    def check(self, at: Pose2, then: Pose2, ahead: Travelled) -> None:
        """Raise DriveEnded unless the robot may continue.

        at: current pose; then, ahead: pose, and further distance and steps, by the time the robot can next be stopped.
        """
        if self._now() >= self._until:
            raise DriveEnded(NavCode.OUT_OF_SECONDS, "the question's seconds are used up")
        self._check_path(ahead)
        self._entered = self._entered or is_inside(self.allowance.area, at.x, at.y)
        if self._entered and not is_inside(self.allowance.area, then.x, then.y):
            raise DriveEnded(NavCode.BLOCKED, f"going on from ({at.x:.2f}, {at.y:.2f}) would leave the question's area")

    def _check_path(self, ahead: Travelled) -> None:
        now, begun = self._travelled(), self._begun
        if now is None or begun is None:
            return
        if now.steps - begun.steps + ahead.steps > self.allowance.steps:
            raise DriveEnded(NavCode.OUT_OF_STEPS, "the question's steps are used up")
        if now.metres - begun.metres + ahead.metres > self.allowance.metres + _EXACT_M:
            raise DriveEnded(NavCode.OUT_OF_METRES,
                             "the robot would drive farther than the question's metres allow before "
                             "it can be stopped again")


class Odometer:
    """Sums the driven distance. Positions that are not finite are ignored.

    jump_m: a longer step is a jump and not counted, unless the robot could have driven it in the time.
    """

    def __init__(self, jump_m: float = math.inf) -> None:
        self._jump_m = jump_m
        self._before: tuple[float, ...] = ()
        self.metres, self.newest_ns = 0.0, 0

    def take(self, stamp_ns: int, at: Sequence[float]) -> None:
        """Add a position (x, y, z), metres. Raises BadFrame if the position is ignored.

        Repeated and late messages change nothing.
        """
        if not all(map(math.isfinite, at)):
            raise BadFrame("odometry without a place: its position is not finite")
        if stamp_ns <= self.newest_ns:
            return
        before, seconds = self._before or tuple(at), (stamp_ns - self.newest_ns) / 1e9
        self._before, self.newest_ns = tuple(at), stamp_ns
        step = math.dist(before, at)
        if step > self._jump_m + _FASTEST_M_S * seconds:
            raise BadFrame(f"odometry jumped by {step:.1f} m, which was not driven")
        self.metres += step

    def begin(self) -> None:
        """Restart the count at 0."""
        self.metres, self._before = 0.0, ()

    def set_back(self) -> None:
        """Accept messages from an earlier stamp on."""
        self._before, self.newest_ns = (), 0


class Gates:
    """Collects the robot's state and decides whether driving is allowed. Times are seconds of the wall clock."""

    def __init__(self, config: GateConfig) -> None:
        self._config = config
        self._stopped = False
        self._battery: tuple[float, float] | None = None  # charge 0..1, time
        self._spread: tuple[float, float] | None = None  # metres, radians

    def set_stop(self, stop: bool) -> None:
        """Set whether the operator has stopped the robot."""
        self._stopped = stop

    def set_battery(self, share: float, now_s: float) -> None:
        """Set the charge, 0..1. Raises BadFrame for any other value; the charge is then unknown."""
        self._battery = None
        if not 0 <= share <= 1:
            raise BadFrame(f"battery_state.percentage is {share}: it must be 0..1, as sensor_msgs/BatteryState says")
        self._battery = share, now_s

    def set_covariance(self, covariance: Sequence[float]) -> None:
        """Set the (36,) covariance of a pose: x, y, z, roll, pitch, yaw; metres and radians. Raises BadFrame.

        The deviation in metres is the one along the worst direction on the floor.
        """
        self._spread = None
        matrix = np.asarray(covariance, float).reshape(6, 6)
        if not np.isfinite(matrix).all() or (worst := np.linalg.eigvalsh(matrix[:2, :2]).max()) < 0 or matrix[5, 5] < 0:
            raise BadFrame("the covariance of the robot's pose is negative or not finite")
        self._spread = math.sqrt(worst), math.sqrt(matrix[5, 5])

    def refusal(self, now_s: float) -> str:
        """Return why the robot may not drive now (value, limit and remedy), "" if it may."""
        if self._stopped:
            return "the operator's stop is on: publish false on `stop` to let the robot drive"
        return self._battery_refusal(now_s) or self._place_refusal()

    def _battery_refusal(self, now_s: float) -> str:
        least, oldest_s = self._config.battery_min, self._config.battery_s
        if not least:
            return ""
        if self._battery is None or now_s - self._battery[1] > oldest_s:
            return (f"the charge of the battery is not known: no valid battery_state arrived in {oldest_s:g} s; "
                    "remap it, or set gates.battery_min to 0")
        share = self._battery[0]
        return "" if share >= least else f"the battery is at {share:.0%}, and the limit is {least:.0%}: charge it"

    def _place_refusal(self) -> str:
        limits = self._config.std_m, self._config.std_rad
        if not any(limits):
            return ""
        if self._spread is None:
            return ("how well the robot is localised is not known: no valid amcl_pose arrived; remap it, or set "
                    "gates.std_m and gates.std_rad to 0")
        for value, limit, unit in zip(self._spread, limits, ("m", "rad")):
            if limit and value > limit:
                return (f"the robot's place is uncertain by {value:.2f} {unit}, and the limit is {limit:g} {unit}: "
                        "localise it (give its pose in RViz, or drive it about by hand)")
        return ""
