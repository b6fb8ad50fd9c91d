"""Settings of cameras and of the transforms that locate them; see docs/cameras.md."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import NotNegative, check_ranges
from eqa_nodes.core.settings import constant, setting

PINHOLE, DISTORTED, RECTIFIED = "pinhole", "distorted", "rectified"


@dataclass(frozen=True)
class CameraConfig:
    """What a camera publishes. The defaults are for lock-step: raw, aligned images with equal stamps."""

    compressed: bool = setting(False, "Subscribe to the colour image of the image transport plugin 'compressed'.")
    compressed_depth: bool = setting(False,
        "Subscribe to the depth image of the image transport plugin 'compressedDepth'.")
    lens: str = setting(PINHOLE,
        "Lens model of the colour image: pinhole (matrix K, no distortion) | distorted (matrix K with coefficients d;"
        " images are undistorted here) | rectified (by the driver; matrix P).")
    align: bool = setting(False,
        "Align depth to the colour image here: depth comes from a camera of its own with its own camera_info.")
    depth_unit_m: NotNegative = setting(0.0,
        "Metres of one unit of depth; 0 derives it from the encoding (16UC1 is in millimetres, 32FC1 in metres).")
    tolerance_s: NotNegative = setting(0.0,
        "Maximum difference between the stamps of colour and depth in seconds. It must be less than half a frame "
        "period; 0 requires equal stamps.")
    upright: bool = setting(False,
        "Turn images upright by quarter turns, as the transform of the camera says: for cameras that are mounted on"
        " their side.")

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
    """A second camera, on the topics camera2/..., for map and memory."""

    present: bool = setting(False, "Use a second camera, on the topics camera2/..., for map and memory.")


@dataclass(frozen=True)
class TfConfig:
    """Names of the robot's frames, and limits for its transforms and its clock."""

    map_frame: str = setting("map", "Name of the frame in which the robot is localised.")
    odom_frame: str = setting("odom", "Name of the odometry frame, in which the robot moves without jumps.")
    base_frame: str = setting("base_link", "Name of the robot's base frame, which lies on the floor.")
    wait_s: NotNegative = setting(0.0,
        "Time in seconds after which an observation that lacks an image or a transform is dropped; 0 waits without "
        "limit.")
    time_jump_s: NotNegative = setting(1.0,
        "Threshold in seconds for stamps that go back: a larger step back starts a new time line, a smaller one is "
        "dropped until time has caught up; 0 drops all of them.")
    relocated_m: NotNegative = setting(1.0,
        "Distance in metres between two observations above which the robot counts as relocalised, not as corrected by"
        " odometry; 0 disables the check.")
    relocated_rad: NotNegative = constant(0.6,
        "Turn in radians between two observations above which the robot counts as relocalised; 0 disables the check.")

    def __post_init__(self) -> None:
        check_ranges(self, "tf")
        if "" in (frames := (self.map_frame, self.odom_frame, self.base_frame)) or len({*frames}) < 3:
            raise ConfigError(f"tf has frames {frames}: map, odom and base are three frames, each with a name")
