"""The robot's body: what simulator, mapper, policies, planner, Nav2 and doctor have to know of it, in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from eqa_nodes.core.ranges import Counted, Degrees, NotNegative, Positive, Range, check_ranges
from eqa_nodes.core.types.views import Intrinsics

_FASTEST = 1000.0  # no base is faster
_Limit: TypeAlias = Annotated[float, Range(0.0, _FASTEST, above=True)]


@dataclass(frozen=True)
class CameraModel:
    """The robot's RGB-D camera and where it is mounted."""

    width: Counted = 640  # of the image, pixels
    height: Counted = 480  # of the image, pixels
    hfov_deg: Degrees = 90.0  # horizontal field of view, degrees
    height_m: float = 1.2  # of the camera, above the floor, metres
    tilt_down_deg: float = 10.0  # of the camera, below level, degrees
    max_range_m: Positive = 10.0  # farther than this depth is 0, metres
    # False: the image stays grey, which saves most of its cost where only depth and labels are looked at
    color: bool = True

    @property
    def intrinsics(self) -> Intrinsics:
        """The pinhole: square pixels, principal point in the middle."""
        focal = self.width / 2 / math.tan(math.radians(self.hfov_deg) / 2)
        return Intrinsics(self.width, self.height, focal, focal, self.width / 2, self.height / 2)

    def sees_from_m(self, height_m: float) -> float:
        """Return the distance from which a level view shows what is at this height, in every column; metres.

        inf where the lowest row of the image does not look down.
        """
        focal = self.width / 2 / math.tan(math.radians(self.hfov_deg) / 2)
        down = math.radians(self.tilt_down_deg) + math.atan(self.height / 2 / focal)
        if down <= 0:
            return math.inf
        ahead_m = (self.height_m - height_m) / math.tan(min(down, math.pi / 2))
        return ahead_m / math.cos(math.radians(self.hfov_deg) / 2)


@dataclass(frozen=True)
class BaseLimits:
    """Limits of a differential base."""

    forward_m_s: _Limit = 0.5  # fastest forward, metres a second
    backward_m_s: Annotated[float, Range(0.0, _FASTEST)] = 0.25  # fastest backward, metres a second
    turn_rad_s: _Limit = 1.5  # fastest turn either way, radians a second
    accelerate_m_s2: _Limit = 1.5  # acceleration, also when it slows down, metres a second squared
    accelerate_rad_s2: _Limit = 3.0  # acceleration of turns, also when they slow down, radians a second squared
    timeout_s: _Limit = 0.5  # a command older than this does not count, and the base stops, seconds

    def __post_init__(self) -> None:
        check_ranges(self, "base")


@dataclass(frozen=True)
class RobotModel:
    """The body, its camera, the atomic actions and the limits of its base."""

    radius_m: Positive = 0.18  # of the body, metres
    height_m: Positive = 1.3  # of the body, metres
    move_m: Positive = 0.25  # way of one action, metres
    turn_deg: Positive = 30.0  # angle of one action, degrees
    look_deg: Positive = 15.0  # angle of one action of the camera, up or down, degrees
    step_s: Positive = 0.5  # simulated time of one action, seconds
    climb_m: NotNegative = 0.2  # the highest step that it drives over, metres
    slope_deg: NotNegative = 45.0  # the steepest floor that it drives over, degrees
    slide: bool = True  # along what is in its way, instead of standing still before it
    camera: CameraModel = CameraModel()
    base: BaseLimits = BaseLimits()

    @property
    def turn_rad(self) -> float:
        """Angle of one turn action in radians."""
        return math.radians(self.turn_deg)
