"""Settings of the mapper, navigator and laser scan, in a module of their own.

Every node reads them, but few nodes need the packages that the algorithms import.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.ranges import NotNegative, Part, Positive, Range, check_ranges
from eqa_nodes.core.settings import PICTURE, constant, setting
from eqa_nodes.core.types.robot import RobotModel

HEAD_ROOM_M = 0.1  # an obstacle this close above the robot still blocks it: one voxel
_BLIND_M = 1.5  # lower bound of the computed blind_m
Weight: TypeAlias = Annotated[int, Range(1, 127)]


@dataclass(frozen=True)
class MapperConfig:
    """Settings of the mapper. Heights are above the floor, i.e. above the base in the first frame."""

    voxel_m: Positive = setting(0.1, "Edge length of a voxel and of a grid cell in metres.")
    range_m: Positive = setting(5.0, "Maximum horizontal distance in metres at which depth is used for the map.")
    truncation_m: NotNegative = constant(0.1,
        "Distance in metres in front of a surface, along the optical axis, that is not marked as free.")
    floor_below_m: NotNegative = constant(0.2, "Depth below the floor in metres down to which the map reaches.")
    ceiling_m: Positive = setting(3.5, "Height above the floor in metres up to which the map reaches.")
    obstacle_min_m: Positive = setting(0.15, "Height above the floor in metres from which a surface is an obstacle.")
    tilt_error_deg: NotNegative = constant(0.0,
        "Error in degrees of the camera's tilt: the height from which a surface is an obstacle rises with the distance"
        " by its tangent, so that a low obstacle_min_m makes no obstacles of far floor.")
    drop_m: NotNegative = setting(0.2, "Depth below the floor in metres from which lower ground is a drop.")
    low_m: NotNegative = constant(0.35,
        "Height in metres down to which a column must have been seen to be marked as clear.")
    blind_m: Annotated[float, Range(-1.0)] = setting(-1.0,
        "Distance in metres within which the floor may lie below the image, so that the lowest visible part of a "
        "column decides; negative computes it from robot.camera, at least 1.5.")
    explored_range_m: Positive = constant(3.5,
        "Maximum distance in metres at which floor that is seen clear is marked as explored (explore-eqa uses a share"
        " of the image rows, which depends on the tilt of the camera).")
    explored_width: Part = constant(0.5, "Central share of the image width (0 to 1) in which floor counts as explored.")
    clearance_m: NotNegative = constant(0.5,
        "Radius in metres of the disc around the start that is assumed to be clear and explored.")
    hit: Weight = constant(3, "Increase of the log-odds of a voxel that holds a surface point.")
    miss: Weight = setting(1, "Decrease of the log-odds of a voxel that a ray passes.")
    bound: Weight = constant(15, "Bound on the absolute value of the summed log-odds.")
    max_extent_m: Positive = constant(300.0,
        "Maximum width of the map in metres; a wider one is rejected as an error of localisation.")
    storey_band_m: Positive = constant(0.6,
        "Maximum difference in metres between the height of the base and that of the floor it stands on.")
    storey_gap_m: Positive = constant(1.5,
        "Minimum height difference in metres between level ground and all known floors for a new floor to begin.")

    def __post_init__(self) -> None:
        check_ranges(self, "mapper")
        if self.storey_gap_m < 2 * self.storey_band_m:
            raise ConfigError(f"mapper.storey_gap_m is {self.storey_gap_m}: below twice storey_band_m "
                              f"({self.storey_band_m}) a robot could be on two floors at once")
        if self.hit > self.bound:
            raise ConfigError(f"mapper.bound is {self.bound}: it must be at least hit ({self.hit})")


def check_body(config: MapperConfig, robot: RobotModel) -> None:
    """Raise ConfigError if the height of the robot does not fit between the map's heights."""
    if not 0 < config.obstacle_min_m < robot.height_m + HEAD_ROOM_M <= config.ceiling_m:
        raise ConfigError(f"mapper heights must rise: obstacle_min_m {config.obstacle_min_m} < robot.height_m "
                          f"{robot.height_m} + {HEAD_ROOM_M} <= ceiling_m {config.ceiling_m}")


def blind_m(config: MapperConfig, robot: RobotModel) -> float:
    """Return the distance within which the floor may lie below the image: the configured one, else from the camera."""
    if config.blind_m >= 0:
        return config.blind_m
    return max(_BLIND_M, min(config.range_m, round(robot.camera.sees_from_m(config.low_m), 2)))


@dataclass(frozen=True)
class NavigatorConfig:
    """Settings of the navigator."""

    tolerance_m: Positive = setting(0.25, "Distance in metres to the goal at which it is reached.")
    snap_m: Positive = constant(0.5, "Maximum distance in metres by which a goal is moved onto reachable floor.")
    allow_unknown: bool = setting(False, "Allow paths through cells that have never been seen.")
    patience: Positive = constant(4.0, "The drive fails after this many times the expected number of actions, plus 40.")

    def __post_init__(self) -> None:
        check_ranges(self, "navigator")


@dataclass(frozen=True)
class ScanConfig:
    """Height range and frame of a laser scan."""

    low_m: NotNegative = setting(0.05,
        "Minimum height above the floor in metres of the points in the scan, at the camera.", live=PICTURE)
    tilt_error_deg: NotNegative = setting(1.0,
        "Error in degrees of the camera's tilt: the minimum height rises with the distance by its tangent, so that"
        " far floor is no obstacle.", live=PICTURE)
    high_m: NotNegative = constant(0.0,
        "Maximum height above the floor in metres of the points in the scan; 0 uses the robot's height.")
    frame_m: float = constant(0.3, "Height of the frame of the scan above the floor in metres.")
    min_range_m: NotNegative = constant(0.05, "Minimum range of the scan in metres.")
    max_range_m: NotNegative = constant(0.0,
        "Maximum range of the scan in metres; 0 uses that of the camera.")

    def __post_init__(self) -> None:
        check_ranges(self, "scan")
        if not (self.high_m == 0 or self.low_m < self.high_m):
            raise ConfigError(f"scan heights must rise: 0 <= low_m {self.low_m} < high_m {self.high_m}")
        if not (self.max_range_m == 0 or self.min_range_m < self.max_range_m):
            raise ConfigError(f"scan ranges must rise: 0 <= min_range_m {self.min_range_m} < max_range_m "
                              f"{self.max_range_m}")

    def of(self, robot_height_m: float, camera_range_m: float) -> ScanConfig:
        """Return the settings for a robot and its camera (metres); unset heights and ranges are taken from these."""
        return replace(self, high_m=self.high_m or robot_height_m, max_range_m=self.max_range_m or camera_range_m)
