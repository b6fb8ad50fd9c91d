"""Model of the robot, and the errors of a simulated robot's wheels, localisation and camera."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import Counted, Degrees, NotNegative, Positive, Range, check_ranges
from eqa_nodes.core.settings import EPISODE, NOW, constant, setting
from eqa_nodes.core.types.views import Intrinsics

_FASTEST = 1000.0  # upper bound of speeds and accelerations
_STEPS_DEG, _STEPS_M = 35.0, 3.3  # stairs down of this slope must be visible from this distance
_Limit: TypeAlias = Annotated[float, Range(0.0, _FASTEST, above=True)]
TRUTH, CORRECTIONS, OTHERS = "truth", "corrections", "others"  # sources of the robot's pose in the map


@dataclass(frozen=True)
class CameraModel:
    """The robot's RGB-D camera and where it is mounted."""

    width: Counted = setting(640, "Width of the image in pixels.")
    height: Counted = setting(480, "Height of the image in pixels.")
    hfov_deg: Degrees = setting(90.0, "Horizontal field of view in degrees.")
    height_m: float = setting(1.2, "Height of the camera above the floor in metres.")
    tilt_down_deg: float = setting(10.0, "Tilt of the camera below level in degrees; negative looks up.")
    max_range_m: Positive = constant(10.0, "Maximum range of depth in metres; farther pixels are 0.")
    color: bool = constant(True,
        "Render the simulated image in colour. If false it is grey, which is much cheaper where only depth and labels"
        " are needed.")

    @property
    def intrinsics(self) -> Intrinsics:
        """Pinhole intrinsics with square pixels and the principal point in the middle."""
        focal = self.width / 2 / math.tan(math.radians(self.hfov_deg) / 2)
        return Intrinsics(self.width, self.height, focal, focal, self.width / 2, self.height / 2)

    @property
    def lowest_rad(self) -> float:
        """Angle of the lowest row of the image below level, in its middle column; radians."""
        k = self.intrinsics
        return math.radians(self.tilt_down_deg) + math.atan((k.height - k.cy) / k.fy)

    def sees_from_m(self, height_m: float) -> float:
        """Return the distance from which on a level view shows points at this height in every column; metres.

        inf if the lowest row of the image does not look down.
        """
        if self.lowest_rad <= 0:
            return math.inf
        ahead_m = (self.height_m - height_m) / math.tan(min(self.lowest_rad, math.pi / 2))
        return ahead_m / math.cos(math.radians(self.hfov_deg) / 2)


@dataclass(frozen=True)
class BaseLimits:
    """Limits of a differential base."""

    forward_m_s: _Limit = setting(0.5, "Maximum forward speed in metres per second.")
    backward_m_s: Annotated[float, Range(0.0, _FASTEST)] = constant(0.25,
        "Maximum backward speed in metres per second; 0 for a base that cannot drive backwards.")
    turn_rad_s: _Limit = setting(1.5, "Maximum turn rate in either direction in radians per second.")
    accelerate_m_s2: _Limit = constant(1.5,
        "Maximum linear acceleration and deceleration in metres per second squared.")
    accelerate_rad_s2: _Limit = constant(3.0,
        "Maximum angular acceleration and deceleration in radians per second squared.")
    timeout_s: _Limit = constant(0.5, "Age of a velocity command in seconds after which the base ignores it and stops.")

    def __post_init__(self) -> None:
        check_ranges(self, "base")


@dataclass(frozen=True)
class RobotModel:
    """The body, its camera, the atomic actions and the limits of its base."""

    radius_m: Positive = setting(0.18, "Radius of the robot's body in metres.")
    height_m: Positive = setting(1.3, "Height of the robot's body in metres.")
    move_m: Positive = setting(0.25, "Distance of one move_forward action in metres.")
    turn_deg: Positive = setting(30.0,
        "Angle of one turn action in degrees. It must divide 360.")
    look_deg: Positive = constant(15.0, "Angle of one action that tilts the camera up or down, in degrees.")
    step_s: Positive = constant(0.5, "Simulated time of one action in seconds.")
    climb_m: NotNegative = setting(0.2, "Highest step that the robot can drive over, in metres.")
    slope_deg: NotNegative = constant(45.0, "Steepest floor that the robot can drive on, in degrees.")
    stairs: bool = setting(False,
        "The robot takes stairs whose steps are not higher than climb_m. If false stairs are obstacles, as robots with"
        " wheels need it.")
    slide: bool = constant(True, "Slide along obstacles in simulation. If false the robot stops in front of them.")
    camera: CameraModel = CameraModel()
    base: BaseLimits = setting(BaseLimits(), live=NOW)

    def __post_init__(self) -> None:
        check_ranges(self, "robot")
        if abs(360.0 / self.turn_deg - round(360.0 / self.turn_deg)) > 1e-9:
            raise ConfigError(f"robot.turn_deg is {self.turn_deg}: it must divide 360 (15, 30, 45 ...)")

    @property
    def looks_for_stairs(self) -> int:
        """Number of look actions that tilt the camera down far enough to see stairs down in front of the robot.

        0 for a robot that takes no stairs, and if the camera as mounted sees such stairs.
        """
        if not self.stairs:
            return 0
        fall = math.tan(math.radians(_STEPS_DEG))
        least = math.degrees(math.atan(fall + self.camera.height_m / _STEPS_M))
        return max(0, math.ceil((least - math.degrees(self.camera.lowest_rad)) / self.look_deg))

    @property
    def turn_rad(self) -> float:
        """Angle of one turn action in radians."""
        return math.radians(self.turn_deg)


@dataclass(frozen=True)
class WheelsConfig:
    """Errors of the odometry of a base: separate scale errors of distances and angles, and slip."""

    drift: Annotated[float, Range(0.0, 0.5)] = setting(0.0,
        "Share (0 to 1) by which odometry misjudges distances and angles, such as 0.03; whether it is too much or too "
        "little is drawn for each episode.", live=EPISODE)
    slip_every_m: NotNegative = setting(0.0,
        "Mean distance in metres between two slips of the wheels, which feign up to 3 cm and 3 degrees; 0 means never.",
        live=EPISODE)

    @property
    def exact(self) -> bool:
        """Return whether odometry is exact."""
        return self.drift == 0.0 and self.slip_every_m == 0.0


@dataclass(frozen=True)
class LocalisationConfig:
    """Source of the transform map > odom, and its errors."""

    by: str = setting(TRUTH,
        "Source of the transform from the map frame to the odometry frame: truth (exact at every step) | corrections "
        "(as by AMCL: with the scans, and corrected after some motion, so that the robot jumps in the map) | others "
        "(the bridge publishes none; AMCL or SLAM Toolbox does).", live=EPISODE)
    update_m: NotNegative = constant(0.25,
        "Motion in metres along an axis of odometry after which the next scan corrects the robot's place, as "
        "update_min_d of AMCL.")
    update_rad: NotNegative = constant(0.2,
        "Turn in radians after which the next scan corrects the robot's place, as update_min_a of AMCL.")
    ahead_s: NotNegative = constant(1.0,
        "Time in seconds by which corrections are stamped later than their scan, as transform_tolerance of AMCL.")
    error_m: NotNegative = constant(0.03,
        "Error of corrections: standard deviation in metres along each axis; that of the heading is 1 degree for each "
        "3 cm.")

    def __post_init__(self) -> None:
        if self.by not in (TRUTH, CORRECTIONS, OTHERS):
            raise ConfigError("localisation: " + unknown("source", self.by, (TRUTH, CORRECTIONS, OTHERS)))


@dataclass(frozen=True)
class SensesConfig:
    """Errors of the simulated robot's sensors and localisation."""

    wheels: WheelsConfig = WheelsConfig()
    localisation: LocalisationConfig = LocalisationConfig()
    depth_noise: Annotated[float, Range(0.0, 0.2)] = setting(0.0,
        "Standard deviation of measured depth, as a share of the distance, such as 0.004; with it, pixels at edges "
        "have no depth.", live=EPISODE)

    def __post_init__(self) -> None:
        for part in (self.wheels, self.localisation, self):
            check_ranges(part, "senses")

    @property
    def exact(self) -> bool:
        """Return whether pose and depth are exactly those of the simulator."""
        return self.wheels.exact and self.localisation.by == TRUTH and self.depth_noise == 0.0
