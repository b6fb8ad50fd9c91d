"""Reads a bag as an episode history: the frames that the robot saw, with its poses (for EM-EQA)."""

from __future__ import annotations

import copy
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from eqa_nodes.core.camera.config import DISTORTED, CameraConfig
from eqa_nodes.core.camera.image_geometry import distortion_of
from eqa_nodes.core.errors import BadFrame, BadPose, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.views import Label, check_frame, clean_depth
from eqa_nodes.recordings.bags import poses
from eqa_nodes.recordings.bags.poses import Poses
from eqa_nodes.recordings.bags.reader import Bag, is_bag, open_bag
from eqa_nodes.recordings.bags.roles import rectified
from eqa_nodes.recordings.episode_history import FramesAlone, RecordedFrame
from eqa_nodes.recordings.options import ReadingConfig, renamed
from eqa_nodes.wire import messages
from eqa_nodes.wire.camera_input import CameraInput
from eqa_nodes.wire.pairing import HeldMessage, RecordedPairing
from eqa_nodes.wire.transforms import NoTransform

KEEP_NS = 30_000_000_000  # of transforms: a slow localisation may lag by seconds


class BagOptions(NamedTuple):
    """How to read another robot's bag. remap: role -> topic, if not given found by type, count and name; namespace:
    the robot's, if the bag has several.

    map_frame: frame used as the map (empty: map, odom or world); base_frame: frame of the robot (empty: base_link,
    base_footprint, base, else a point on the ground below the camera); tolerance_s: largest difference between the
    stamps of color and depth; depth_unit_m: metres of one unit of depth, 0: given by the encoding.
    """

    remap: Mapping[str, str] = MappingProxyType({})
    namespace: str = ""
    map_frame: str = ""
    base_frame: str = ""
    tolerance_s: float = 0.02
    depth_unit_m: float = 0.0

    @staticmethod
    def of(config: ReadingConfig) -> BagOptions | None:
        """Return the options of a configuration, None if all of them have their default values."""
        if config == ReadingConfig():
            return None
        return BagOptions(renamed(config.topics), config.namespace, config.map_frame, config.base_frame,
                          config.tolerance_s, config.depth_unit_m)


class BagHistory(FramesAlone):
    """The frames of a bag, read lazily by each iteration: one pass, with a few seconds of data in memory.

    Its length is the number of colour images; labels: id in label images -> label (empty if there are no labels), as at
    the end, while each recorded frame has those of its moment; dropped: number of images that the last iteration
    skipped, by reason; remedy: advice for when that is all of them.
    """

    def __init__(self, bag: Path, options: BagOptions | None = None) -> None:
        """Raises StorageError when the bag cannot be read or lacks images or poses, BadFrame for an unknown lens."""
        self.path, self._options = Path(bag), options or BagOptions()
        self.name, self.remedy = self.path.stem, f"`eqa doctor --bag {self.path}` says more"
        self.dropped: Counter[str] = Counter()
        with self._opened() as opened:
            self._check_topics(opened)
            self._length = opened.count("color")
            self._poses = Poses(opened, KEEP_NS, self._options.map_frame, self._options.base_frame)
            self._rectified = rectified(opened.topics)  # colour, depth
            self._check_lens(opened)
            self._parts = ("depth",) + (("labels",) if "labels" in opened.keys else ())
            self.labels: dict[int, Label] = {}
            self._changes: list[tuple[int, dict[int, Label]]] = []  # stamp -> labels that are new or have changed
            for _, _, message in opened.read(("label_table",)):
                new = {i: x for i, x in messages.label_table_of(message).items() if self.labels.get(i) != x}
                if new:
                    self._changes.append((messages.ns_of(message.header.stamp), new))
                    self.labels.update(new)

    def __len__(self) -> int:
        return self._length

    def recorded(self, only: Collection[int] | None = None) -> Iterator[RecordedFrame]:
        """Yield the frames in recorded order of their colour images. only: images to decode and count."""
        self.dropped = Counter()
        where, camera, labels = copy.deepcopy(self._poses), self._camera(), self._labels_by_stamp()
        with self._opened() as opened:
            for color, parts in self._moments(opened, where, only):
                try:
                    frame = camera.frame(color.stamp_ns, parts, where)
                    frame = replace(frame, depth_m=clean_depth(frame.depth_m)[0])
                    check_frame(frame)
                    yield RecordedFrame(color.index, color.log_ns - opened.start_ns, frame, labels(frame.stamp_ns))
                except (BadFrame, BadPose) as error:
                    self.dropped[_reason(error)] += 1
        self.dropped.update({f"invalid transform of {child}": n for child, n in where.invalid.items()})
        self.dropped.update(f"the file {name} of the bag is missing" for name in opened.lost)

    def _labels_by_stamp(self) -> Callable[[int], Mapping[int, Label]]:
        """Return a function that returns the labels which are valid at a stamp; stamps must not decrease.

        A recorder writes a table where it changes. The first table counts from the start.
        """
        waiting, known = deque(sorted(self._changes, key=lambda change: change[0])), dict[int, Label]()

        def at(stamp_ns: int) -> Mapping[int, Label]:
            nonlocal known
            while waiting and (not known or waiting[0][0] <= stamp_ns):
                known = {**known, **waiting.popleft()[1]}
            return known

        return at

    def _camera(self) -> CameraInput:
        """Return the converter to frames; all images of a history have one size."""
        config = CameraConfig(lens=DISTORTED, depth_unit_m=self._options.depth_unit_m, upright=True)
        return CameraInput(config, ("color", *self._parts, "camera_info"), self._rectified, one_size=True)

    def _moments(self, bag: Bag, where: Poses,
                 only: Collection[int] | None) -> Iterator[tuple[HeldMessage, dict[str, Any]]]:
        """Yield each colour image with the messages of its moment, once their pose is known."""
        infos = [key for key in ("camera_info", "depth_camera_info") if key in bag.keys]
        each = 2 * bag.count("camera_info") > bag.count("color")  # else one message was sent for many images
        pairing = RecordedPairing(self._parts, tuple(infos), each, round(self._options.tolerance_s * 1e9), where.known,
                                  self.dropped, only)
        for info in infos:  # images may be recorded before it
            for recorded in islice(bag.read((info,)), 1):
                pairing.put(info, recorded.log_ns, recorded.message)
        for recorded in bag.read(("color", *self._parts, *infos, *poses.KEYS)):
            if recorded.key in poses.KEYS:
                where.take(recorded)
            else:
                pairing.put(recorded.key, recorded.log_ns, recorded.message)
            yield from pairing.complete(recorded.log_ns)
        yield from pairing.complete(1 << 63)

    def _opened(self) -> Any:
        return open_bag(self.path, self._options.namespace, self._options.remap)

    def _check_topics(self, bag: Bag) -> None:
        missing = [role for role in ("color", "depth", "camera_info") if role not in bag.keys]
        if unclear := [role for role in missing if role in bag.unclear]:
            raise StorageError(f"bag {self.path}: {bag.missing(unclear[0])}")  # the other roles depend on it
        if missing:
            why = "".join(f"; {why}" for role in missing if (why := bag.missing(role)))
            raise StorageError(f"bag {self.path} has no topic for {', '.join(missing)}: an episode history needs "
                               f"images{why}; eqa doctor --bag lists its topics")

    def _check_lens(self, bag: Bag) -> None:
        """Raise BadFrame when the first camera_info names an unknown lens model, StorageError if there is none."""
        for _, _, info in bag.read(("camera_info",)):
            distortion_of(info, self._rectified)
            return
        raise StorageError(f"bag {bag.path} has no camera_info message: an episode history needs the intrinsics")


def _reason(error: BadFrame | BadPose) -> str:
    """Return why an image could not be used, with the same text for all images with this fault."""
    if not isinstance(error, NoTransform):
        return str(error)
    return f"no transform of {error.child!r} " + ("in the bag" if str(error).endswith("nothing") else
                                                  "before the first that was recorded" if error.early else
                                                  "within 2 s after the image")


class BagFormat:
    """Bags of ROS 2 and ROS 1."""

    traits = HistoryTraits(looks_like="a rosbag2 folder, a .mcap or .db3 file, or a .bag file of ROS 1", topics=True)
    fits = staticmethod(is_bag)
    open = BagHistory
