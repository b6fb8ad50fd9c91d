"""What the graph has to be told of common cameras and robots, by name: topics, frames and camera settings.

These are the defaults of a robot's launch file where `driver:=NAME` is given. docs/robot.md says how each driver is
started for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from eqa_nodes.core.camera.config import DISTORTED, RECTIFIED, CameraConfig

ROBOT_CAMERA = CameraConfig(tolerance_s=0.02, upright=True)  # as in the world "robot"


@dataclass(frozen=True)
class Profile:
    """One driver. topics: key of graph.TOPICS -> name; frames: field of TfConfig -> name of the frame."""

    topics: Mapping[str, str]
    camera: CameraConfig = ROBOT_CAMERA
    frames: Mapping[str, str] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, object]:
        """Return its settings of the camera and of frames, as parameters of all nodes."""
        usual = asdict(ROBOT_CAMERA)
        camera = {f"node.camera.{name}": value for name, value in asdict(self.camera).items() if value != usual[name]}
        return camera | {f"node.tf.{name}": value for name, value in self.frames.items()}


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
