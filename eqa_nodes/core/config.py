"""Settings of mapper, navigator and laser scan, apart from their code.

Every node reads them, few need what that code imports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from eqa_nodes.core.errors import ConfigError


@dataclass(frozen=True)
class MapperConfig:
    """How frames become a map. Heights are above the floor, which is where the base stands in the first frame.

    voxel_m: edge of a voxel and of a grid cell, metres.
    range_m: horizontal distance up to which depth is believed, metres.
    truncation_m: space this close before a surface (along the optical axis) is not called free, metres.
    floor_below_m, ceiling_m: the height band that is mapped, metres.
    obstacle_min_m, robot_height_m: what lies between these heights stands in the robot's way, metres.
    drop_m: floor that lies deeper than this is a drop, not floor, metres.
    low_m: a column counts as clear only when it is seen down to this height, metres.
    blind_m: nearer than this the floor may lie below the image, and the lowest visible part counts instead, metres.
    explored_range_m, explored_width: floor is explored once seen clear so near (metres) and in this central share
        of the image's width (explore-eqa; a range stands in for its share of rows, which depends on the camera's tilt).
    clearance_m: radius of the disc at the start that is taken to be clear and explored, metres.
    robot_radius_m: where the robot has stood is clear, metres.
    hit, miss, bound: integer log-odds of a surface point, of seen-through space, and the bound of their sum.
    max_extent_m: a map wider than this is a fault of localisation, metres.
    storey_band_m: the robot is on a floor while its base is so near to that floor's height, metres.
    storey_gap_m: level ground farther than this from every known floor is a new floor, metres.
    """

    voxel_m: float = 0.1
    range_m: float = 5.0
    truncation_m: float = 0.1
    floor_below_m: float = 0.2
    ceiling_m: float = 3.5
    obstacle_min_m: float = 0.15
    robot_height_m: float = 1.4
    drop_m: float = 0.2
    low_m: float = 0.35
    blind_m: float = 1.5
    explored_range_m: float = 3.5
    explored_width: float = 0.5
    clearance_m: float = 0.5
    robot_radius_m: float = 0.18
    hit: int = 3
    miss: int = 1
    bound: int = 15
    max_extent_m: float = 300.0
    storey_band_m: float = 0.6
    storey_gap_m: float = 1.5

    def __post_init__(self) -> None:
        positive = ("voxel_m", "range_m", "truncation_m", "ceiling_m", "robot_radius_m", "hit", "miss", "bound",
                    "explored_range_m", "explored_width", "max_extent_m", "storey_band_m")
        for name in positive:
            if not getattr(self, name) > 0:
                raise ConfigError(f"mapper.{name} is {getattr(self, name)}: it must be positive")
        if not 0 < self.obstacle_min_m < self.robot_height_m <= self.ceiling_m:
            raise ConfigError(f"mapper heights must rise: obstacle_min_m {self.obstacle_min_m} < robot_height_m "
                              f"{self.robot_height_m} <= ceiling_m {self.ceiling_m}")
        if self.storey_gap_m < 2 * self.storey_band_m:
            raise ConfigError(f"mapper.storey_gap_m is {self.storey_gap_m}: below twice storey_band_m "
                              f"({self.storey_band_m}) a robot could be on two floors at once")
        if self.hit > self.bound or self.bound > 127:
            raise ConfigError(f"mapper.bound is {self.bound}: it must lie between hit ({self.hit}) and 127")


@dataclass(frozen=True)
class NavigatorConfig:
    """How to drive.

    move_m, turn_deg: size of the atomic actions, metres and degrees; turn_deg divides 360.
    radius_m: radius of the robot, metres.
    tolerance_m: a goal counts as reached so near, metres.
    snap_m: a goal may be moved so far onto reachable floor, metres.
    allow_unknown: also drive through cells never seen.
    patience: give up after this many times the expected number of actions (and 40 more).
    """

    move_m: float = 0.25
    turn_deg: float = 30.0
    radius_m: float = 0.18
    tolerance_m: float = 0.25
    snap_m: float = 0.5
    allow_unknown: bool = False
    patience: float = 4.0

    def __post_init__(self) -> None:
        for name in ("move_m", "turn_deg", "radius_m", "tolerance_m", "snap_m", "patience"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"navigator.{name} is {getattr(self, name)}: it must be positive")
        if abs(360.0 / self.turn_deg - round(360.0 / self.turn_deg)) > 1e-9:
            raise ConfigError(f"navigator.turn_deg is {self.turn_deg}: it must divide 360 (15, 30, 45 ...)")


@dataclass(frozen=True)
class ScanConfig:
    """What a scan takes in, and where its frame is.

    low_m, high_m: heights over the floor that would hit the robot, metres; high_m 0 = the robot's own height.
    frame_m: height of the scan's frame over the floor, metres. min_range_m, max_range_m: what it measures, metres;
    max_range_m 0 = as far as the camera.
    """

    low_m: float = 0.15
    high_m: float = 0.0
    frame_m: float = 0.3
    min_range_m: float = 0.05
    max_range_m: float = 0.0

    def __post_init__(self) -> None:
        if not self.low_m >= 0 or not (self.high_m == 0 or self.low_m < self.high_m):
            raise ConfigError(f"scan heights must rise: 0 <= low_m {self.low_m} < high_m {self.high_m}")
        if not self.min_range_m >= 0 or not (self.max_range_m == 0 or self.min_range_m < self.max_range_m):
            raise ConfigError(f"scan ranges must rise: 0 <= min_range_m {self.min_range_m} < max_range_m "
                              f"{self.max_range_m}")

    def of(self, robot_height_m: float, camera_range_m: float) -> ScanConfig:
        """Return it for a robot and its camera, both metres, where it leaves a height or range to them."""
        return replace(self, high_m=self.high_m or robot_height_m, max_range_m=self.max_range_m or camera_range_m)
