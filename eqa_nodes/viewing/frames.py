"""What the camera saw and where it was: images, transforms, path and surface of an episode history."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from eqa_nodes.core.memory.keyframes import jpeg_of_pixels
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics
from eqa_nodes.recordings.compress import png_file
from eqa_nodes.recordings.episode_history import EpisodeHistory
from eqa_nodes.viewing.layout import BASE, CAMERA, COLOR, DEPTH, MAP, PATH
from eqa_nodes.viewing.library import rerun
from eqa_nodes.viewing.rrd_file import RrdFile
from eqa_nodes.viewing.surfaces import Surface

_QUALITY = 85  # of JPEG
_FARTHEST_M = 65.535  # that a PNG of millimetres holds
_BOUND_M = 100_000.0  # Rerun's coordinates are float32: that far away they are 8 mm apart


class Steps:
    """The stamps of the frames that were written, and the step of each."""

    def __init__(self) -> None:
        self._stamps: list[int] = []
        self._steps: list[int] = []

    def add(self, stamp_ns: int, step: int) -> None:
        """Note a frame; one that goes back in time is no step to look up."""
        if not self._stamps or stamp_ns > self._stamps[-1]:
            self._stamps.append(stamp_ns)
            self._steps.append(step)

    def of(self, stamp_ns: int) -> int:
        """Return the step of the last frame up to a stamp, before the first one that of the first."""
        place = max(bisect_right(self._stamps, stamp_ns) - 1, 0)
        return self._steps[place] if self._steps else 0

    @property
    def first_ns(self) -> int:
        """Stamp of the first frame, 0 without any."""
        return self._stamps[0] if self._stamps else 0


class FrameWriter:
    """Writes frames one at a time. frames, images: how many were written with their poses, and with their images.

    refused: how many were not, by reason.
    """

    def __init__(self, file: RrdFile, surface: Surface, every: int) -> None:
        """every: images of every Nth frame only."""
        self._rr, self._file, self._surface, self._every = rerun(), file, surface, every
        self._path: list[tuple[float, float, float]] = []
        self._lens: Intrinsics | None = None
        self.steps, self.refused = Steps(), Counter[str]()
        self.frames = self.images = 0
        file.log(MAP, self._rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)

    def write(self, history: EpisodeHistory, progress: Callable[[int], None]) -> None:
        """Write all frames, then the path. Raises StorageError."""
        for recorded in history.recorded():
            if max(map(abs, recorded.frame.map_from_base.xyz)) <= _BOUND_M:
                self._write(recorded.frame, recorded.index)
            else:
                self.refused[f"a pose more than {_BOUND_M / 1000:g} km from the map's origin"] += 1
            progress(recorded.index + 1)
        if len(self._path) > 1:
            self._file.log(PATH, self._rr.LineStrips3D([self._path], colors=[(14, 165, 233)], radii=0.02), static=True)

    def extent(self) -> tuple[tuple[float, float, float], float]:
        """Return the middle of the path, metres, map frame, and its longer side from above."""
        low, high = np.min(self._path, axis=0), np.max(self._path, axis=0)
        x, y, z = ((low + high) / 2).tolist()
        return (x, y, z), float((high - low)[:2].max())

    def _write(self, frame: Frame, step: int) -> None:
        self.steps.add(frame.stamp_ns, step)
        self._file.at(frame.stamp_ns, step)
        self._file.log(BASE, _transform(self._rr, frame.map_from_base))
        self._file.log(CAMERA, _transform(self._rr, frame.base_from_camera))
        if frame.intrinsics != self._lens:
            self._lens = frame.intrinsics
            self._file.log(CAMERA, _pinhole(self._rr, frame.intrinsics))
        if self.frames % self._every == 0:
            self._write_images(frame)
        if self._path[-1:] != [frame.map_from_base.xyz]:
            self._path.append(frame.map_from_base.xyz)
        self.frames += 1
        self._file.flush()

    def _write_images(self, frame: Frame) -> None:
        self._file.log(COLOR, self._rr.EncodedImage(contents=jpeg_of_pixels(frame.rgb, _QUALITY),
                                                    media_type="image/jpeg"))
        self._file.log(DEPTH, self._rr.EncodedDepthImage(blob=_depth_png(frame.depth_m), media_type="image/png",
                                                         meter=0.001))
        self._surface.add(frame)
        self.images += 1


def _depth_png(depth_m: np.ndarray) -> bytes:
    """Return depth (H, W) float32 metres as millimetres of 16 bits; 0 = no return, also for what is too far."""
    millimetres = np.where(depth_m <= _FARTHEST_M, np.rint(depth_m * 1000), 0).astype(np.uint16)
    return png_file(millimetres, zlib.Z_FILTERED)


def _transform(rr: Any, transform: Transform) -> Any:
    return rr.Transform3D(translation=transform.xyz, quaternion=rr.Quaternion(xyzw=transform.xyzw))


def _pinhole(rr: Any, k: Intrinsics) -> Any:
    return rr.Pinhole(image_from_camera=[[k.fx, 0.0, k.cx], [0.0, k.fy, k.cy], [0.0, 0.0, 1.0]],
                      resolution=[k.width, k.height], camera_xyz=rr.ViewCoordinates.RDF, image_plane_distance=0.5)
