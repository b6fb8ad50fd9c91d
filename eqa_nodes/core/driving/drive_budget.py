"""Keeps a drive within the limits of its question, and within what the operator allows.

This is the only place that decides it, for every navigator.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from eqa_nodes.core.mapping.area import is_inside
from eqa_nodes.core.types.floor import FREE, Allowance, NavCode, NavResult, Travelled
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import CONFIRM, DRY, GO

_EXACT_M = 1e-6  # sums of moves are not exact


class DriveEnded(Exception):
    """Carries the result out of a drive."""

    def __init__(self, code: NavCode, message: str) -> None:
        super().__init__(message)
        self.result = NavResult(code, message)


def check_allowed(drive: str, allowance: Allowance) -> None:
    """Raise DriveEnded where nothing may move, or where a person has to allow a drive and has not."""
    if drive == DRY:
        raise DriveEnded(NavCode.NOT_ALLOWED, "nothing moves: node.drive is dry")
    if drive == CONFIRM and not allowance.permitted:
        raise DriveEnded(NavCode.NOT_ALLOWED, "node.drive is confirm, and no person has allowed this drive: ask the "
                         "robot a question instead of sending it a goal, or set node.drive to go")


class DriveBudget:
    """One drive's allowance, counted from where the drive begins.

    travelled: counts of the robot, None where nobody counts; now: the wall clock, seconds.
    """

    def __init__(self, allowance: Allowance = FREE, travelled: Callable[[], Travelled | None] = lambda: None,
                 now: Callable[[], float] = time.monotonic, drive: str = GO) -> None:
        """Raises DriveEnded where the drive may not begin. drive: one of DRIVE_MODES."""
        check_allowed(drive, allowance)
        self.allowance, self._travelled, self._now = allowance, travelled, now
        self._begun, self._until = travelled(), now() + allowance.seconds
        self._entered = False
        if self._begun is None and math.isfinite(allowance.metres):
            raise DriveEnded(NavCode.FAILED,
                             f"no odometry has come, and the drive is limited to {allowance.metres:.2f} m: "
                             "does the robot publish odom?")

    def check(self, at: Pose2, then: Pose2, ahead: Travelled) -> None:
        """Raise DriveEnded unless the robot may go on.

        at: where it is; then, ahead: where it will be, and what it will have used more, when it can be stopped next.
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
