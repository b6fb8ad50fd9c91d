"""Converts one camera's messages to a frame: a pinhole image with aligned depth in metres, upright, with poses.

Nodes, bags and replays all build their frames here. They differ in how messages are paired and in the source of poses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.camera.config import PINHOLE, RECTIFIED, CameraConfig
from eqa_nodes.core.camera.image_geometry import (
    Lens,
    Rectifier,
    calibration_of,
    fitted,
    quarter_turns,
    turned_frame,
)
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics
from eqa_nodes.wire import images, messages
from eqa_nodes.wire.pairing import LivePairing
from eqa_nodes.wire.transforms import RobotPoses

_APART_M = 0.01  # camera frames closer than this count as one
Parts = Mapping[str, Any]
Between = Callable[[str, str], Transform]  # RobotPoses.between, at one stamp


class RgbdImages(NamedTuple):
    """rgb: (H, W, 3) uint8, None without a colour topic; depth_m: (H, W) float32, metres, 0 = no return; camera: name
    of the optical frame."""

    rgb: np.ndarray | None
    depth_m: np.ndarray
    intrinsics: Intrinsics
    camera: str


class CameraInput:
    """Builds the frames of one camera. parts: names of the messages of an observation. Default settings keep images."""

    def __init__(self, config: CameraConfig, parts: tuple[str, ...], rectified: tuple[bool, bool] | None = None,
                 one_size: bool = False) -> None:
        """parts: the requested messages. Without colour, depth is returned in its own camera's frame, not aligned.

        rectified: whether colour and depth are already rectified, None = as config.lens says for both; one_size: turn
        all images by the number of quarter turns that the camera's mount in the first frame requires.
        """
        self._config, self._one_size = config, one_size
        self._aligned_here = config.align and "color" in parts
        info = "depth_camera_info" if config.align and "color" not in parts else "camera_info"
        self.parts = (*(info if part == "camera_info" else part for part in parts),
                      *(("depth_camera_info",) if self._aligned_here else ()))
        self._info = info
        self.noted: Callable[[str], None] = lambda what: None  # called for input that is doubtful but used
        self._rectified = rectified or (config.lens == RECTIFIED,) * 2
        self._lenses = {"camera_info": Lens(self._rectified), "depth_camera_info": Lens(self._rectified[1:])}
        self._turns: int | None = None

    def topics(self) -> dict[str, str]:
        """Return for each part that the camera publishes the key of its topic in graph.TOPICS or CAMERA_TOPICS."""
        swaps = {"color": self._config.compressed, "depth": self._config.compressed_depth}
        return {part: f"{part}_compressed" if swaps.get(part) else part
                for part in self.parts if part in (*swaps, "camera_info", "depth_camera_info")}

    def pairing(self, bound: int) -> LivePairing | None:
        """Return the pairing for messages whose stamps differ; None if stamps must be equal."""
        if not self._config.tolerance_s:
            return None
        infos = [part for part in self.parts if part.endswith("camera_info")]
        return LivePairing("depth", [part for part in self.parts if part == "color"], infos,
                           round(self._config.tolerance_s * 1e9), bound)

    def frame_of(self, have: Parts) -> str:
        """Return the optical frame of a running camera's image."""
        return str(have["color" if self._aligned_here else "depth"].header.frame_id)

    def frame(self, stamp_ns: int, have: Parts, poses: RobotPoses) -> Frame:
        """Return the frame of one observation. Raises BadFrame or BadPose naming what is wrong with its messages.

        Label images stay as they are: they were made from upright, rectified images.
        """
        rgb, depth_m, k, camera = self.picture(have, partial(poses.between, stamp_ns))
        if rgb is None:
            rgb = np.broadcast_to(np.uint8(0), (*depth_m.shape, 3))
        labels = messages.pixels_of(have["labels"]) if "labels" in have else None
        mount = poses.base_from_camera(stamp_ns, camera)
        frame = Frame(stamp_ns, rgb, depth_m, k, poses.map_from_base(stamp_ns, camera), mount, labels)
        if not self._config.upright:
            return frame
        if self._turns is None or not self._one_size:
            self._turns = quarter_turns(mount)
        return turned_frame(frame, self._turns)

    def picture(self, have: Parts, between: Between) -> RgbdImages:
        """Return the images of one observation. Raises BadFrame naming what is wrong with its messages."""
        align = self._aligned_here or self._apart(have, between)
        rgb = images.rgb_of(have["color"]) if "color" in have else None
        depth_m = images.depth_of(have["depth"], self._config.depth_unit_m)
        info = have[self._info]
        if rgb is None:
            depth_m = fitted(depth_m, messages.intrinsics_of(calibration_of(info, depth_m.shape)))
        k, maps = self._lens(self._info, info, depth_m if rgb is None else rgb)
        if align:
            depth_m = self._aligned(depth_m, k, have, between)
        else:
            depth_m = fitted(depth_m, k)
            depth_m = depth_m if maps is None or self._rectified[1] else maps.nearest(depth_m)
        if rgb is not None and maps is not None and not self._rectified[0]:
            rgb = maps.rgb(rgb)
        return RgbdImages(rgb, depth_m, k, str(have["color" if align else "depth"].header.frame_id))

    def _aligned(self, depth_m: np.ndarray, color_k: Intrinsics, have: Parts, between: Between) -> np.ndarray:
        """Return the depth image registered to the colour camera."""
        from eqa_nodes.core.camera.depth_registration import register  # loads numba

        depth_k, maps = self._lens("depth_camera_info", have["depth_camera_info"], depth_m)
        straight = depth_m if maps is None else maps.nearest(depth_m)
        color_from_depth = between(*(str(have[part].header.frame_id) for part in ("color", "depth")))
        return register(straight, depth_k, color_k, color_from_depth)

    def _apart(self, have: Parts, between: Between) -> bool:
        """Return whether depth has another viewpoint than colour. Raises BadFrame if it then cannot be aligned."""
        depth = str(have["depth"].header.frame_id)
        colour = str(have.get("color", have[self._info]).header.frame_id) or str(have[self._info].header.frame_id)
        if not colour or not apart(colour, depth, between):
            return False
        if not {"color", "depth_camera_info"} <= have.keys():
            raise BadFrame(f"depth is seen from {depth!r}, colour from {colour!r}: set node.camera.align, or publish "
                           "depth that is aligned to colour (in a bag: record its camera_info)")
        return True

    def _lens(self, part: str, info: Any, image: np.ndarray) -> tuple[Intrinsics, Rectifier | None]:
        """Return the intrinsics of the rectified image, and the rectifier if the image must be rectified."""
        info, k = messages.calibrated(info, image.shape)
        if self._config.lens != PINHOLE:
            return self._lenses[part].straightened(info, k)
        if any(info.d):
            self.noted("camera_info tells of a lens that bends lines, images are taken as straight: node.camera.lens")
        return k, None


def apart(target: str, source: str, between: Between) -> bool:
    """Return whether two optical frames are over 1 cm apart or differ in rotation. Raises BadFrame, as `between`."""
    if target.lstrip("/") == source.lstrip("/"):
        return False
    return not np.allclose(between(target, source).matrix(), np.eye(4), atol=_APART_M)
