"""A bag as an episode history: the frames that the robot saw, with its poses (EM-EQA asks about these)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eqa_nodes import messages
from eqa_nodes.bags.reader import Bag, Poses, open_bag
from eqa_nodes.core.errors import BadFrame, BadPose, StorageError
from eqa_nodes.core.frames import check_frame
from eqa_nodes.core.types import Frame, Intrinsics, Label

SLOP_NS = 20_000_000  # colour and depth of one moment may differ by this much on a real camera
_PENDING = 30  # images that may wait for their partner


class EpisodeHistory:
    """The frames of a bag, read anew and lazily by each iteration.

    length: colour images in the bag, at least as many as there are frames; labels: what the ids in label images are
    (empty where nothing labels); dropped: what the last iteration could not use, by reason.
    """

    def __init__(self, bag: Path, namespace: str = "") -> None:
        """Raises StorageError when the bag cannot be read or lacks images or poses."""
        self.path, self._namespace = Path(bag), namespace
        self.dropped: Counter[str] = Counter()
        with open_bag(self.path, namespace) as opened:
            missing = sorted({"color", "depth", "camera_info"} - opened.keys)
            if missing:
                raise StorageError(f"bag {bag} has no topic for {', '.join(missing)}: an episode history needs images")
            self.length = opened.count("color")
            self._poses = Poses(opened)
            self._cameras = {messages.stamp_of(m): m for _, _, m in opened.read(("camera_info",))}
            self._parts = ("color", "depth") + (("labels",) if "labels" in opened.keys else ())
            self.labels: Mapping[int, Label] = {}
            for _, _, message in opened.read(("label_table",)):
                self.labels = {**self.labels, **messages.label_table_of(message)}

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames in the order of their completion."""
        self.dropped = Counter()
        self.dropped.update({f"invalid transform of {child}": n for child, n in self._poses.invalid.items()})
        with open_bag(self.path, self._namespace) as opened:
            for parts in self._together(opened):
                try:
                    frame = self._frame(parts)
                    check_frame(frame)
                except (BadFrame, BadPose) as error:
                    self.dropped[str(error)] += 1
                else:
                    yield frame

    def _together(self, bag: Bag) -> Iterator[dict[str, Any]]:
        """Yield the images of one moment together."""
        waiting: dict[int, dict[str, Any]] = {}
        for key, _, message in bag.read(self._parts):
            stamp = messages.stamp_of(message)
            moment = min((s for s in waiting if key not in waiting[s]), key=lambda s: abs(s - stamp), default=stamp)
            moment = moment if abs(moment - stamp) <= SLOP_NS else stamp
            parts = waiting.setdefault(moment, {})
            parts[key] = message
            if len(parts) == len(self._parts):
                yield waiting.pop(moment)
            elif len(waiting) > _PENDING:
                self._drop(waiting.pop(min(waiting)))
        for parts in waiting.values():
            self._drop(parts)

    def _drop(self, parts: dict[str, Any]) -> None:
        self.dropped[f"no {' and '.join(p for p in self._parts if p not in parts)}"] += 1

    def _frame(self, parts: dict[str, Any]) -> Frame:
        depth, stamp = parts["depth"], messages.stamp_of(parts["color"])
        labels = messages.pixels_of(parts["labels"]) if "labels" in parts else None
        return Frame(stamp, messages.rgb_of(parts["color"]), messages.depth_of(depth), self._intrinsics(stamp),
                     self._poses.base(stamp), self._poses.camera(depth.header.frame_id, stamp), labels)

    def _intrinsics(self, stamp_ns: int) -> Intrinsics:
        if not self._cameras:
            raise BadFrame("no camera_info")
        nearest = stamp_ns if stamp_ns in self._cameras else min(self._cameras, key=lambda s: abs(s - stamp_ns))
        return messages.intrinsics_of(self._cameras[nearest])


def read_history(bag: Path, namespace: str = "") -> EpisodeHistory:
    """Return the episode history that a bag (folder or MCAP file) holds. Raises StorageError."""
    return EpisodeHistory(bag, namespace)
