"""Measures a bag in one pass: stamps, share of images with a pose, intrinsics, sampled images."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.recordings.bags import poses
from eqa_nodes.recordings.bags.history import KEEP_NS, BagOptions
from eqa_nodes.recordings.bags.poses import Poses
from eqa_nodes.recordings.bags.reader import Bag, BagMessage
from eqa_nodes.wire import images, messages
from eqa_nodes.wire.camera_input import apart
from eqa_nodes.wire.pairing import HOLD_NS

STAMPED = ("color", "depth", "camera_info")
_SAMPLES = 40  # images decoded per role
_THIN = 96  # maximum number of columns kept of a depth image
_CAMERAS = 100  # maximum number of different intrinsics that are counted


@dataclass
class ImageSamples:
    """Sampled images of a topic. faults: reasons for decoding errors; sizes: width, height; encodings: as stated."""

    encodings: Counter[str] = field(default_factory=Counter)
    frames: Counter[str] = field(default_factory=Counter)
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    valid: list[float] = field(default_factory=list)  # share of pixels with a return, depth only
    median_m: list[float] = field(default_factory=list)  # median over the pixels with a return, depth only


class DepthView(NamedTuple):
    """A subsampled depth image (every `stride`-th pixel of rows and columns) and the camera's pose on the robot.

    depth_m: (h, w) float32, metres, 0 or not finite = no return.
    """

    depth_m: np.ndarray
    stride: int
    base_from_camera: Transform


@dataclass
class Measured:
    """stamps_ns: role -> header stamps in recorded order, ns; resolved, unresolved: images with and without a pose.

    cameras: different camera_info messages (without their headers) and the count of each; broken: where reading the
    bag failed; no_poses: why the bag has no poses at all. views: some depth images whose pose is known.
    """

    stamps_ns: dict[str, list[int]] = field(default_factory=lambda: {role: [] for role in STAMPED})
    samples: dict[str, ImageSamples] = field(default_factory=lambda: {r: ImageSamples() for r in ("color", "depth")})
    cameras: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    resolved: int = 0
    unresolved: Counter[str] = field(default_factory=Counter)
    unregistered: int = 0
    views: list[DepthView] = field(default_factory=list)
    invalid: Counter[str] = field(default_factory=Counter)
    where: Poses | None = None
    no_poses: str = ""
    broken: str = ""


def measure(bag: Bag, options: BagOptions, watch: Callable[[BagMessage], None] | None = None,
            also: tuple[str, ...] = ()) -> Measured:
    """Read the bag once, in recorded order; reading ends at damage, which is reported.

    watch: called with every message that is read; also: keys of further topics to read for it.
    """
    return _Measuring(bag, options).run(watch, also)


class _Measuring:
    def __init__(self, bag: Bag, options: BagOptions) -> None:
        self._bag, self._result, self._unit_m = bag, Measured(), options.depth_unit_m
        self._every = {key: max(1, bag.count(key) // _SAMPLES) for key in ("color", "depth")}
        self._asked = "depth" if "depth" in bag.keys else "color"  # role of the images whose poses are looked up
        self._waiting: deque[tuple[int, int, str]] = deque()  # log, stamp, frame
        self._seen: dict[int, tuple[np.ndarray, int]] = {}  # stamp -> subsampled depth, stride
        try:
            self._result.where = Poses(bag, KEEP_NS, options.map_frame, options.base_frame)
        except StorageError as error:
            self._result.no_poses = str(error)

    def run(self, watch: Callable[[BagMessage], None] | None, also: tuple[str, ...]) -> Measured:
        where = self._result.where
        try:
            for recorded in self._bag.read([key for key in (*STAMPED, *poses.KEYS, *also) if key in self._bag.keys]):
                if watch is not None:
                    watch(recorded)
                if recorded.key in STAMPED:
                    self._take(recorded)
                elif where is not None and recorded.key in poses.KEYS:
                    where.take(recorded)
                self._look_up(recorded.log_ns)
        except StorageError as error:
            self._result.broken = str(error)
        self._look_up(1 << 63)
        self._result.invalid = where.invalid if where is not None else Counter()
        return self._result

    def _take(self, recorded: BagMessage) -> None:
        key, message = recorded.key, recorded.message
        stamps = self._result.stamps_ns[key]
        if key == "camera_info":
            self._camera(message)
        else:
            self._image(key, message, sample=len(stamps) % self._every[key] == 0)
        if key == self._asked:
            self._waiting.append((recorded.log_ns, messages.stamp_of(message), message.header.frame_id))
        stamps.append(messages.stamp_of(message))

    def _image(self, key: str, message: Any, sample: bool) -> None:
        samples = self._result.samples[key]
        samples.encodings[message.encoding if hasattr(message, "encoding") else message.format] += 1
        samples.frames[message.header.frame_id] += 1
        if not sample:
            return
        try:
            pixels = images.depth_of(message, self._unit_m) if key == "depth" else images.rgb_of(message)
        except BadFrame as error:
            samples.faults[str(error)] += 1
            return
        samples.sizes[pixels.shape[1], pixels.shape[0]] += 1
        if key == "depth":
            good = pixels[np.isfinite(pixels) & (pixels > 0)]
            samples.valid.append(good.size / pixels.size)
            samples.median_m += [float(np.median(good))] if good.size else []
            stride = -(-pixels.shape[1] // _THIN)
            self._seen[messages.stamp_of(message)] = pixels[::stride, ::stride].copy(), stride

    def _camera(self, info: Any) -> None:
        seen = (info.width, info.height, info.distortion_model, info.binning_x, info.binning_y, *_window(info.roi),
                *map(float, (*info.k, *info.d)))
        if len(self._result.cameras) < _CAMERAS:
            self._result.cameras.setdefault(seen, info)

    def _look_up(self, now_ns: int) -> None:
        """Look up the poses of waiting images up to the first unknown one; after a while it counts as unresolved."""
        where, result = self._result.where, self._result
        while where is not None and self._waiting:
            log_ns, stamp_ns, frame = self._waiting[0]
            try:
                where.map_from_base(stamp_ns, frame)
                mount = where.base_from_camera(stamp_ns, frame)
                result.resolved += 1
                if stamp_ns in self._seen:
                    result.views.append(DepthView(*self._seen.pop(stamp_ns), mount))
                result.unregistered += self._apart(where, stamp_ns, frame)
            except BadFrame as error:
                if now_ns - log_ns <= HOLD_NS:
                    return
                result.unresolved[str(error)] += 1
            self._waiting.popleft()

    def _apart(self, where: Poses, stamp_ns: int, frame: str) -> bool:
        colors = self._result.samples["color"].frames
        return bool(colors) and apart(next(iter(colors)), frame, partial(where.between, stamp_ns))


def _window(roi: Any) -> tuple[int, ...]:
    return int(roi.x_offset), int(roi.y_offset), int(roi.width), int(roi.height)
