"""A bag as an episode history: the frames that the robot saw, with its poses (for EM-EQA)."""

from __future__ import annotations

import copy
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.camera.depth import fitted
from eqa_nodes.core.camera.rectify import Lens, distortion_of
from eqa_nodes.core.camera.upright import quarter_turns, turned_frame
from eqa_nodes.core.errors import BadFrame, BadPose, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.views import Frame, Intrinsics, Label, check_frame, clean_depth
from eqa_nodes.recordings.bags import poses
from eqa_nodes.recordings.bags.poses import Poses
from eqa_nodes.recordings.bags.reader import Bag, Recorded, is_bag, open_bag
from eqa_nodes.recordings.bags.roles import rectified
from eqa_nodes.recordings.episode_history import EpisodeHistory, FramesAlone, RecordedFrame
from eqa_nodes.recordings.options import ReadingConfig, renamed
from eqa_nodes.wire import images, messages
from eqa_nodes.wire.transforms import NoTransform

KEEP_NS = 30_000_000_000  # transforms: a slow localisation may lag by seconds
HOLD_NS = 2_000_000_000  # an image waits this long, in recorded time, for its partner and its pose
_HOLD_BYTES = 256 << 20  # of waiting images; the oldest then does with what is there


class BagOptions(NamedTuple):
    """How to read another robot's bag. remap: role -> topic, found by type, count and name where not given; namespace:
    of the robot, where the bag has several.

    map_frame: what stands for the map (empty: map, odom or world); base_frame: empty: base_link, base_footprint, base,
    else a point on the ground below the camera; tolerance_s: between color and depth of one moment; depth_unit_m:
    metres of one unit of depth, 0: by the encoding.
    """

    remap: Mapping[str, str] = MappingProxyType({})
    namespace: str = ""
    map_frame: str = ""
    base_frame: str = ""
    tolerance_s: float = 0.02
    depth_unit_m: float = 0.0

    @staticmethod
    def of(config: ReadingConfig) -> BagOptions | None:
        """Return the options that parameters say, None where all of them are the usual ones."""
        if config == ReadingConfig():
            return None
        return BagOptions(renamed(config.topics), config.namespace, config.map_frame, config.base_frame,
                          config.tolerance_s, config.depth_unit_m)


class BagFormat:
    """Bags of ROS 2 and ROS 1."""

    traits = HistoryTraits(looks_like="a rosbag2 folder, a .mcap or .db3 file, or a .bag file of ROS 1", topics=True)

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is a bag."""
        return is_bag(path)

    @staticmethod
    def open(path: Path, options: BagOptions | None = None) -> EpisodeHistory:
        """Return its history. Raises StorageError."""
        return read_history(path, options=options)


class BagHistory(FramesAlone):
    """The frames of a bag, read lazily by each iteration: one pass, with a few seconds of data in memory.

    Its length is the number of colour images; labels: what the ids in label images are (empty where nothing labels);
    dropped: what the last iteration could not use, by reason; remedy: what to do where that is everything.
    """

    def __init__(self, bag: Path, options: BagOptions | None = None) -> None:
        """Raises StorageError when the bag cannot be read or lacks images or poses, BadFrame for an unknown lens."""
        self.path, self._options = Path(bag), options or BagOptions()
        self.name, self.remedy = self.path.stem, f"`eqa bag check {self.path}` says more"
        self.dropped: Counter[str] = Counter()
        self._turns: int | None = None  # of the images, as the mount in the first frame says
        with self._opened() as opened:
            self._check_topics(opened)
            self._length = opened.count("color")
            self._poses = self._where(opened)
            self._lens = self._lens_of(opened)
            self._parts = ("depth",) + (("labels",) if "labels" in opened.keys else ())
            self.labels: Mapping[int, Label] = {}
            for _, _, message in opened.read(("label_table",)):
                self.labels = {**self.labels, **messages.label_table_of(message)}

    def __len__(self) -> int:
        return self._length

    def recorded(self, only: Collection[int] | None = None) -> Iterator[RecordedFrame]:
        """Yield the frames in the order their colour images were recorded. only: decode and count these images."""
        self.dropped, self._turns = Counter(), None
        where = copy.deepcopy(self._poses)
        with self._opened() as opened:
            moments = _Moments(opened, where, self._parts, round(self._options.tolerance_s * 1e9), self.dropped,
                               only)
            for color, parts in moments:
                try:
                    yield RecordedFrame(color.index, color.log_ns - opened.start_ns, self._frame(parts, where))
                except (BadFrame, BadPose) as error:
                    self.dropped[_reason(error)] += 1
        self.dropped.update({f"invalid transform of {child}": n for child, n in where.invalid.items()})
        self.dropped.update(f"the file {name} of the bag is missing" for name in opened.lost)

    def _where(self, opened: Bag) -> Poses:
        """Return the poses of the bag. Raises StorageError when there is none."""
        return Poses(opened, KEEP_NS, self._options.map_frame, self._options.base_frame)

    def _opened(self) -> Any:
        return open_bag(self.path, self._options.namespace, self._options.remap)

    def _check_topics(self, bag: Bag) -> None:
        missing = [role for role in ("color", "depth", "camera_info") if role not in bag.keys]
        if unclear := [role for role in missing if role in bag.unclear]:
            raise StorageError(f"bag {self.path}: {bag.missing(unclear[0])}")  # the others follow from it
        if missing:
            why = "".join(f"; {why}" for role in missing if (why := bag.missing(role)))
            raise StorageError(f"bag {self.path} has no topic for {', '.join(missing)}: an episode history needs "
                               f"images{why}; eqa bag check lists its topics")

    def _frame(self, parts: dict[str, Any], where: Poses) -> Frame:
        color, depth, stamp = parts["color"], parts["depth"], messages.stamp_of(parts["color"])
        camera = depth.header.frame_id
        if not where.registered(stamp, camera, color.header.frame_id):
            raise BadFrame(f"depth is seen from {camera!r}, colour from {color.header.frame_id!r}: record depth that "
                           "is registered to the colour camera")
        labels = messages.pixels_of(parts["labels"]) if "labels" in parts else None
        rgb, depth_m, k = self._straight(images.rgb_of(color), images.depth_of(depth, self._options.depth_unit_m),
                                         parts["camera_info"])
        mount = where.base_from_camera(stamp, camera)
        if self._turns is None:  # all images of a history have one size
            self._turns = quarter_turns(mount)
        frame = turned_frame(Frame(stamp, rgb, clean_depth(depth_m)[0], k, where.map_from_base(stamp, camera), mount,
                                   labels), self._turns)
        check_frame(frame)
        return frame

    def _straight(self, rgb: np.ndarray, depth_m: np.ndarray, info: Any) -> tuple[np.ndarray, np.ndarray, Intrinsics]:
        """Return images of one size without what the lens bends, and their intrinsics."""
        info, k = messages.calibrated(info, rgb.shape)
        depth_m = fitted(depth_m, k)
        k, maps = self._lens.straightened(info, k)
        if maps is not None:
            color, depth = self._rectified
            rgb, depth_m = rgb if color else maps.rgb(rgb), depth_m if depth else maps.nearest(depth_m)
        return rgb, depth_m, k

    def _lens_of(self, bag: Bag) -> Lens:
        """Return what straightens images. Raises BadFrame when the first camera_info names a lens that is not known."""
        self._rectified = rectified(bag.topics)  # colour, depth
        for _, _, info in bag.read(("camera_info",)):
            distortion_of(info, self._rectified)
            return Lens(self._rectified)
        raise StorageError(f"bag {bag.path} has no camera_info message: an episode history needs the intrinsics")


@dataclass(frozen=True, eq=False)
class _Held:
    """An image or camera_info that waits. index: which of its kind it is."""

    stamp_ns: int
    log_ns: int
    message: Any
    index: int


class _Moments:
    """The messages of one moment together: each colour image with its nearest partners, once their pose is known.

    A partner serves one moment only (each depth image is decoded once): the one whose colour image is nearest.
    """

    def __init__(self, bag: Bag, where: Poses, parts: tuple[str, ...], slop_ns: int, dropped: Counter[str],
                 only: Collection[int] | None = None) -> None:
        self._bag, self._where, self._parts, self._slop_ns, self._dropped = bag, where, parts, slop_ns, dropped
        self._only = only
        self._held: dict[str, deque[_Held]] = {key: deque() for key in ("color", *parts, "camera_info")}
        self._bytes = 0
        self._count = Counter[str]()
        every_image = 2 * bag.count("camera_info") > bag.count("color")  # else one was sent for many
        self._awaited = (*parts, "camera_info") if every_image else parts

    def __iter__(self) -> Iterator[tuple[_Held, dict[str, Any]]]:
        """Yield the colour image with the messages of its moment."""
        self._hold(next(self._bag.read(("camera_info",))))  # images may come before it
        for recorded in self._bag.read((*self._held, *poses.KEYS)):
            if recorded.key in poses.KEYS:
                self._where.take(recorded)
            else:
                self._hold(recorded)
            yield from self._complete(recorded.log_ns)
        yield from self._complete(1 << 63)

    def _hold(self, recorded: Recorded) -> None:
        message = recorded.message
        number = self._count[recorded.key]
        self._held[recorded.key].append(_Held(messages.stamp_of(message), recorded.log_ns, message, number))
        self._count[recorded.key] += 1
        self._bytes += _size(message)

    def _complete(self, now_ns: int) -> Iterator[tuple[_Held, dict[str, Any]]]:
        """Yield the frames that are complete or have waited long enough."""
        colors = self._held["color"]
        while colors:
            expired = now_ns - colors[0].log_ns > HOLD_NS or self._bytes > _HOLD_BYTES
            if not expired and not self._ready(colors[0]):
                break
            color = colors.popleft()
            self._bytes -= _size(color.message)
            parts = {key: held for key in self._parts if (held := self._partner(key, color))}
            if len(parts) < len(self._parts):
                if self._only is None or color.index in self._only:
                    self._dropped[f"no {' and '.join(p for p in self._parts if p not in parts)}"] += 1
                continue
            for key, held in parts.items():
                self._held[key].remove(held)
                self._bytes -= _size(held.message)
            if self._only is not None and color.index not in self._only:
                continue
            info = min(self._held["camera_info"], key=lambda held: abs(held.stamp_ns - color.stamp_ns))
            yield color, {"color": color.message, "camera_info": info.message,
                          **{k: h.message for k, h in parts.items()}}
        self._forget(now_ns)

    def _ready(self, color: _Held) -> bool:
        """Return whether later messages cannot change the frame of this image."""
        for key in self._awaited:
            if not any(held.stamp_ns >= color.stamp_ns for held in self._held[key]):
                return False
        depth = self._partner("depth", color)
        if depth is None:
            return True
        if depth.stamp_ns > color.stamp_ns and len(self._held["color"]) < 2:
            return False  # the next colour image may be nearer to it
        try:
            self._where.base_from_camera(color.stamp_ns, depth.message.header.frame_id)
            self._where.map_from_base(color.stamp_ns, depth.message.header.frame_id)
        except BadFrame:
            return False
        return True

    def _partner(self, key: str, color: _Held) -> _Held | None:
        """Return the nearest image of a kind, if it is near enough and no later colour image is nearer to it."""
        near = min(self._held[key], key=lambda held: abs(held.stamp_ns - color.stamp_ns), default=None)
        if near is None or abs(near.stamp_ns - color.stamp_ns) > self._slop_ns:
            return None
        rivals = (abs(other.stamp_ns - near.stamp_ns) for other in self._held["color"] if other is not color)
        return None if min(rivals, default=self._slop_ns + 1) < abs(near.stamp_ns - color.stamp_ns) else near

    def _forget(self, now_ns: int) -> None:
        """Drop messages that are too old for any later image."""
        infos = self._held["camera_info"]
        while len(infos) > 1 and now_ns - infos[0].log_ns > HOLD_NS:
            infos.popleft()
        for held in (self._held[key] for key in self._parts):
            while held and (now_ns - held[0].log_ns > HOLD_NS or self._bytes > _HOLD_BYTES):
                self._bytes -= _size(held.popleft().message)
                self._dropped["no color"] += 1


def _reason(error: BadFrame | BadPose) -> str:
    """Return why an image gave no frame, in words that are the same for all images with this fault."""
    if not isinstance(error, NoTransform):
        return str(error)
    return f"no transform of {error.child!r} " + ("in the bag" if str(error).endswith("nothing") else
                                                  "before the first that was recorded" if error.early else
                                                  "within 2 s after the image")


def _size(message: Any) -> int:
    return len(message.data) if hasattr(message, "data") else 0


def read_history(bag: Path, options: BagOptions | None = None) -> BagHistory:
    """Return the episode history of a bag (folder, MCAP or sqlite3 file). Raises StorageError."""
    return BagHistory(bag, options)
