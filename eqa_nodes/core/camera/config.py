"""Settings of cameras and of the transforms that locate them; see docs/cameras.md."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import NotNegative, check_ranges

PINHOLE, DISTORTED, RECTIFIED = "pinhole", "distorted", "rectified"


@dataclass(frozen=True)
class CameraConfig:
    """What a camera publishes. By default what lock-step needs: raw, aligned images of exactly one stamp."""

    compressed: bool = False  # colour is heard on the topic of the image transport compressed
    compressed_depth: bool = False  # depth is heard on that of compressedDepth
    # pinhole: matrix K, lines are straight | distorted: matrix K and coefficients d, which are taken out | rectified:
    # by the driver, matrix P
    lens: str = PINHOLE
    align: bool = False  # depth is seen from a camera of its own, with its camera_info, and is aligned to colour here
    depth_unit_m: NotNegative = 0.0  # metres of one unit of depth; 0 = by the encoding: 16UC1 millimetres, 32FC1 metres
    tolerance_s: NotNegative = 0.0  # by which stamps of colour and depth may differ, less than half a period, seconds

    def __post_init__(self) -> None:
        known = (PINHOLE, DISTORTED, RECTIFIED)
        if self.lens not in known:
            raise ConfigError("camera: " + unknown("lens", self.lens, known))
        check_ranges(self, "camera")

    @property
    def as_it_is(self) -> bool:
        """Whether images are used unchanged, so that their pixels need no conversion."""
        return self == type(self)()


@dataclass(frozen=True)
class SecondCameraConfig(CameraConfig):
    """Another camera, on the topics camera2/..., for map and memory."""

    present: bool = False  # there is a second camera


@dataclass(frozen=True)
class TfConfig:
    """Names of the robot's frames, and how far its transforms and its clock are trusted."""

    map_frame: str = "map"  # in which the robot is localised
    odom_frame: str = "odom"  # in which it moves without jumps
    base_frame: str = "base_link"  # of the robot, on the floor
    wait_s: NotNegative = 0.0  # an observation that lacks a part or its transform for longer is dropped; 0 = never
    # stamps that go back by more begin anew, seconds; by less they are dropped until time has caught up; 0 = always so
    time_jump_s: NotNegative = 1.0
    # more than this between two observations is no correction of odometry: localisation has found the robot elsewhere;
    # metres; 0 = no limit
    relocated_m: NotNegative = 1.0
    relocated_rad: NotNegative = 0.6  # likewise of its heading, radians

    def __post_init__(self) -> None:
        check_ranges(self, "tf")
        if "" in (frames := (self.map_frame, self.odom_frame, self.base_frame)) or len({*frames}) < 3:
            raise ConfigError(f"tf has frames {frames}: map, odom and base are three frames, each with a name")
