"""What a simulated robot's wheels, localisation and camera get wrong: nothing, unless it is set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import NotNegative, Range, check_ranges
from eqa_nodes.core.settings import EPISODE, constant, setting

TRUTH, CORRECTIONS, OTHERS = "truth", "corrections", "others"  # who knows where the robot is in the map


@dataclass(frozen=True)
class WheelsConfig:
    """Errors of the odometry that a base reports: a scale of its own for distances and for angles, and slip."""

    drift: Annotated[float, Range(0.0, 0.5)] = setting(0.0,
        "Share (0 to 1) by which odometry misjudges distances and angles, such as 0.03; whether it is too much or too "
        "little is drawn for each episode.", live=EPISODE)
    slip_every_m: NotNegative = setting(0.0,
        "Mean distance in metres between two slips of the wheels, which feign up to 3 cm and 3 degrees; 0 means never.",
        live=EPISODE)

    @property
    def exact(self) -> bool:
        """Return whether odometry reports what was driven."""
        return self.drift == 0.0 and self.slip_every_m == 0.0


@dataclass(frozen=True)
class LocalisationConfig:
    """Who publishes map > odom, and how wrong that is."""

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
    """What the simulated robot does not know exactly."""

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
        """Return whether place and depth are those of the simulator."""
        return self.wheels.exact and self.localisation.by == TRUTH and self.depth_noise == 0.0
