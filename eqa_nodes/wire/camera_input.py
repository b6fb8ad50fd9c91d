"""Converts camera messages, according to the camera's settings, to a pinhole image with depth aligned to colour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.camera.config import PINHOLE, RECTIFIED, CameraConfig
from eqa_nodes.core.camera.depth import fitted
from eqa_nodes.core.camera.matching import Matcher
from eqa_nodes.core.camera.rectify import Lens, Rectifier, calibration_of
from eqa_nodes.core.camera.registration import register
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.wire import images, messages

_APART_M = 0.01  # camera frames closer than this count as one
Parts = Mapping[str, Any]


class RgbdImages(NamedTuple):
    """rgb: (H, W, 3) uint8, None without a colour topic; depth_m: (H, W) float32, metres, 0 = no return."""

    rgb: np.ndarray | None
    depth_m: np.ndarray
    intrinsics: Intrinsics


class CameraInput:
    """One camera. parts: messages that make an observation; with the default settings images are not changed."""

    def __init__(self, config: CameraConfig, parts: tuple[str, ...]) -> None:
        """parts: the requested messages. Without colour, depth is returned in its own camera's frame, not aligned."""
        self._config, self.upright = config, config.upright
        self._aligned_here = config.align and "color" in parts
        info = "depth_camera_info" if config.align and "color" not in parts else "camera_info"
        self.parts = (*(info if part == "camera_info" else part for part in parts),
                      *(("depth_camera_info",) if self._aligned_here else ()))
        self._info = info
        self.noted: Callable[[str], None] = lambda what: None  # what is odd, and yet used
        self._lenses = {part: Lens((config.lens == RECTIFIED,)) for part in self.parts if part.endswith("camera_info")}

    def topics(self) -> dict[str, str]:
        """Return the key of the topic of every part that comes from the camera: of graph.TOPICS or CAMERA_TOPICS."""
        swaps = {"color": self._config.compressed, "depth": self._config.compressed_depth}
        return {part: f"{part}_compressed" if swaps.get(part) else part
                for part in self.parts if part in (*swaps, "camera_info", "depth_camera_info")}

    def matcher(self, bound: int) -> Matcher | None:
        """Return the matcher of messages whose stamps differ; None where stamps must be equal."""
        if not self._config.tolerance_s:
            return None
        infos = [part for part in self.parts if part.endswith("camera_info")]
        return Matcher("depth", [part for part in self.parts if part == "color"], infos,
                       round(self._config.tolerance_s * 1e9), bound)

    def frame_of(self, have: Parts) -> str:
        """Return the optical frame that the picture is seen from."""
        return str(have["color" if self._aligned_here else "depth"].header.frame_id)

    def picture(self, have: Parts, between: Callable[[str, str], Transform]) -> RgbdImages:
        """Return the images of one observation. Raises BadFrame that says what is wrong with its messages.

        between: returns the transform into the one frame from the other; raises BadFrame where it is not known.
        """
        rgb = images.rgb_of(have["color"]) if "color" in have else None
        depth_m = images.depth_of(have["depth"], self._config.depth_unit_m)
        if not self._aligned_here:
            self._check_aligned(have, between)
        info = have[self._info]
        if rgb is None:
            depth_m = fitted(depth_m, messages.intrinsics_of(calibration_of(info, depth_m.shape)))
        k, maps = self._lens(self._info, info, depth_m if rgb is None else rgb)
        if self._aligned_here:
            depth_m = self._aligned(depth_m, k, have, between)
        else:
            depth_m = fitted(depth_m, k) if maps is None else maps.nearest(fitted(depth_m, k))
        return RgbdImages(rgb if rgb is None or maps is None else maps.rgb(rgb), depth_m, k)

    def _aligned(self, depth_m: np.ndarray, color_k: Intrinsics, have: Parts,
                 between: Callable[[str, str], Transform]) -> np.ndarray:
        """Return the depth as the colour camera sees it."""
        depth_k, maps = self._lens("depth_camera_info", have["depth_camera_info"], depth_m)
        straight = depth_m if maps is None else maps.nearest(depth_m)
        apart = between(*(str(have[part].header.frame_id) for part in ("color", "depth")))
        return register(straight, depth_k, color_k, apart)

    def _check_aligned(self, have: Parts, between: Callable[[str, str], Transform]) -> None:
        """Raise BadFrame when the intrinsics are those of a camera that stands elsewhere."""
        depth, colour = str(have["depth"].header.frame_id), str(have[self._info].header.frame_id)
        if depth == colour or not colour:
            return
        apart = between(colour, depth)
        if not np.allclose(apart.matrix(), np.eye(4), atol=_APART_M):
            raise BadFrame(f"depth is seen from {depth!r}, colour from {colour!r}: set node.camera.align, or publish "
                           "depth that is aligned to colour")

    def _lens(self, part: str, info: Any, image: np.ndarray) -> tuple[Intrinsics, Rectifier | None]:
        """Return the intrinsics of the rectified image, and the rectifier where the image must be rectified."""
        info, k = messages.calibrated(info, image.shape)
        if self._config.lens != PINHOLE:
            return self._lenses[part].straightened(info, k)
        if any(info.d):
            self.noted("camera_info tells of a lens that bends lines, images are taken as straight: node.camera.lens")
        return k, None
