"""Topics, frames and camera settings of common cameras and robots, by name.

They are the defaults of the robot launch file if `driver:=NAME` is given. docs/robot.md describes how to start each
driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from eqa_nodes.config.graph import SHARED, Parameters, read_file
from eqa_nodes.core.camera.config import DISTORTED, RECTIFIED, CameraConfig
from eqa_nodes.core.errors import ConfigError, unknown

ROBOT_CAMERA = CameraConfig(tolerance_s=0.02, upright=True)  # as in the world "robot"


@dataclass(frozen=True)
class Profile:
    """One driver. topics: key of graph.TOPICS -> topic name; frames: field of TfConfig -> frame name."""

    topics: Mapping[str, str]
    camera: CameraConfig = ROBOT_CAMERA
    frames: Mapping[str, str] = field(default_factory=dict)

    def parameters(self, file: Path | None = None) -> Parameters:
        """Return camera settings and frame names as parameters of all nodes, without those that a file sets."""
        said = read_file(file).get(SHARED, {}) if file else {}
        usual = asdict(ROBOT_CAMERA)
        own = {f"node.camera.{name}": value for name, value in asdict(self.camera).items() if value != usual[name]}
        own |= {f"node.tf.{name}": value for name, value in self.frames.items()}
        return {SHARED: {name: value for name, value in own.items() if name not in said}}


def _camera(color: str, depth: str, camera_info: str, **also: str) -> dict[str, str]:
    return {"color": color, "depth": depth, "camera_info": camera_info, **also}


_REALSENSE = _camera("/camera/camera/color/image_raw", "/camera/camera/aligned_depth_to_color/image_raw",
                     "/camera/camera/color/camera_info")

PROFILES: dict[str, Profile] = {
    "realsense": Profile(_REALSENSE),
    "oak": Profile(_camera("/oak/rgb/image_rect", "/oak/stereo/image_raw", "/oak/rgb/camera_info"),
                   CameraConfig(lens=RECTIFIED, tolerance_s=0.02, upright=True)),
    "zed": Profile(_camera("/zed/zed_node/rgb/color/rect/image", "/zed/zed_node/depth/depth_registered",
                           "/zed/zed_node/rgb/color/rect/camera_info")),
    "azure_kinect": Profile(_camera("/rgb/image_raw", "/depth_to_rgb/image_raw", "/rgb/camera_info"),
                            CameraConfig(lens=DISTORTED, tolerance_s=0.02, upright=True)),
    "turtlebot4": Profile(_camera("/oakd/rgb/image_rect", "/oakd/stereo/image_raw", "/oakd/rgb/camera_info"),
                          CameraConfig(lens=RECTIFIED, tolerance_s=0.02, upright=True)),
    "stretch": Profile(_camera("/camera/color/image_raw", "/camera/aligned_depth_to_color/image_raw",
                               "/camera/color/camera_info")),
    "spot": Profile(_camera("/spot/camera/frontleft/image", "/spot/depth_registered/frontleft/image",
                            "/spot/camera/frontleft/camera_info", odom="/spot/odometry"),
                    frames={"odom_frame": "spot/odom", "base_frame": "base_floor"}),
    "go2": Profile(_REALSENSE, frames={"base_frame": "base_floor"}),
}


def profile(name: str) -> Profile:
    """Return the profile of a driver, "" = an empty one. Raises ConfigError for an unknown name."""
    if name and name not in PROFILES:
        raise ConfigError(unknown("driver", name, PROFILES))
    return PROFILES[name] if name else Profile({})
