"""Settings of mapper, navigator and laser scan. They stand apart so that nodes can read them without the code.

Every node reads them, few need what that code imports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.ranges import NotNegative, Part, Positive, Range, check_ranges

Weight: TypeAlias = Annotated[int, Range(1, 127)]


@dataclass(frozen=True)
class MapperConfig:
    """Settings of the mapper. Heights are above the floor, which is the height of the base in the first frame."""

    voxel_m: Positive = 0.1  # edge of a voxel and of a grid cell, metres
    range_m: Positive = 5.0  # horizontal distance up to which depth is believed, metres
    # space this close before a surface (along the optical axis) is not called free, metres
    truncation_m: NotNegative = 0.1
    floor_below_m: NotNegative = 0.2  # depth below the floor down to which is mapped, metres
    ceiling_m: Positive = 3.5  # height up to which is mapped, metres
    obstacle_min_m: Positive = 0.15  # what lies higher than this stands in the robot's way, metres
    robot_height_m: Positive = 1.4  # what lies higher than this does not any more, metres
    drop_m: NotNegative = 0.2  # floor that lies deeper than this is a drop, not floor, metres
    low_m: NotNegative = 0.35  # a column counts as clear only when it is seen down to this height, metres
    # nearer than this the floor may lie below the image, and the lowest visible part counts instead, metres
    blind_m: NotNegative = 1.5
    # floor is explored once seen clear so near, metres (explore-eqa; stands in for its share of rows, which depends on
    # the camera's tilt)
    explored_range_m: Positive = 3.5
    explored_width: Part = 0.5  # floor counts as seen in this central share of the image's width
    clearance_m: NotNegative = 0.5  # radius of the disc at the start that is taken to be clear and explored, metres
    robot_radius_m: Positive = 0.18  # where the robot has stood is clear, metres
    hit: Weight = 3  # log-odds of a surface point
    miss: Weight = 1  # log-odds of seen-through space
    bound: Weight = 15  # bound of the sum of log-odds, either way
    max_extent_m: Positive = 300.0  # a map wider than this is a fault of localisation, metres
    # the robot is on a floor while its base is so near to that floor's height, metres
    storey_band_m: Positive = 0.6
    storey_gap_m: Positive = 1.5  # level ground farther than this from every known floor is a new floor, metres

    def __post_init__(self) -> None:
        check_ranges(self, "mapper")
        if not 0 < self.obstacle_min_m < self.robot_height_m <= self.ceiling_m:
            raise ConfigError(f"mapper heights must rise: obstacle_min_m {self.obstacle_min_m} < robot_height_m "
                              f"{self.robot_height_m} <= ceiling_m {self.ceiling_m}")
        if self.storey_gap_m < 2 * self.storey_band_m:
            raise ConfigError(f"mapper.storey_gap_m is {self.storey_gap_m}: below twice storey_band_m "
                              f"({self.storey_band_m}) a robot could be on two floors at once")
        if self.hit > self.bound:
            raise ConfigError(f"mapper.bound is {self.bound}: it must be at least hit ({self.hit})")


@dataclass(frozen=True)
class NavigatorConfig:
    """How to drive."""

    move_m: Positive = 0.25  # size of the atomic move, metres: the simulator's
    turn_deg: Positive = 30.0  # size of the atomic turn, degrees: the simulator's; divides 360
    radius_m: Positive = 0.18  # radius of the robot, metres
    tolerance_m: Positive = 0.25  # a goal counts as reached so near, metres
    snap_m: Positive = 0.5  # a goal may be moved so far onto reachable floor, metres
    allow_unknown: bool = False  # also drive through cells never seen
    patience: Positive = 4.0  # give up after this many times the expected number of actions (and 40 more)

    def __post_init__(self) -> None:
        check_ranges(self, "navigator")
        if abs(360.0 / self.turn_deg - round(360.0 / self.turn_deg)) > 1e-9:
            raise ConfigError(f"navigator.turn_deg is {self.turn_deg}: it must divide 360 (15, 30, 45 ...)")


@dataclass(frozen=True)
class ScanConfig:
    """The range of heights of a scan, and its frame."""

    low_m: NotNegative = 0.15  # height over the floor from which objects would hit the robot, metres
    high_m: NotNegative = 0.0  # height up to which they would, metres; 0 = the robot's own height
    frame_m: float = 0.3  # height of the scan's frame over the floor, metres
    min_range_m: NotNegative = 0.05  # the nearest that it measures, metres
    max_range_m: NotNegative = 0.0  # the farthest that it measures, metres; 0 = as far as the camera

    def __post_init__(self) -> None:
        check_ranges(self, "scan")
        if not (self.high_m == 0 or self.low_m < self.high_m):
            raise ConfigError(f"scan heights must rise: 0 <= low_m {self.low_m} < high_m {self.high_m}")
        if not (self.max_range_m == 0 or self.min_range_m < self.max_range_m):
            raise ConfigError(f"scan ranges must rise: 0 <= min_range_m {self.min_range_m} < max_range_m "
                              f"{self.max_range_m}")

    def of(self, robot_height_m: float, camera_range_m: float) -> ScanConfig:
        """Return it for a robot and its camera, both metres, where it leaves a height or range to them."""
        return replace(self, high_m=self.high_m or robot_height_m, max_range_m=self.max_range_m or camera_range_m)
