"""Camera messages of one stamp -> one Frame, once its transform is known. Bounded; drops are counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eqa_nodes import messages
from eqa_nodes.core.errors import BadFrame, BadPose, EqaError
from eqa_nodes.core.types import Frame, Label
from eqa_nodes.ros import convert
from eqa_nodes.ros.tf_buffer import TfBuffer

PENDING = 30  # observations that may wait for their missing parts


class FrameAssembler:
    """Collects `parts` ("color", "depth", "camera_info", "labels") by stamp; hands complete frames on in their order.

    A part that is not asked for is filled in without cost (black image). With labels, frames wait for the table of
    labels; where "label_table" is a part, for that of their own stamp. Then labels come in the order of stamps, and
    what is older and has none gets none any more: it is dropped.
    """

    def __init__(self, parts: tuple[str, ...], tf: TfBuffer,
                 deliver: Callable[[Frame, Mapping[int, Label]], None], pending: int = PENDING) -> None:
        self._parts, self._tf, self._deliver, self._pending = parts, tf, deliver, pending
        self._tabled = "label_table" in parts
        self._waiting: dict[int, dict[str, Any]] = {}
        self._table: tuple[int, Mapping[int, Label]] | None = None
        self.dropped: Counter[str] = Counter()
        self.rejected: Callable[[int, str], None] = lambda stamp_ns, reason: None

    def put(self, part: str, message: Any) -> None:
        """Take in one camera message."""
        stamp = messages.ns_of(message.header.stamp)
        self._waiting.setdefault(stamp, {})[part] = message
        if part == "labels" and self._tabled:
            for older in sorted(s for s, have in self._waiting.items() if s < stamp and "labels" not in have):
                self._drop(older, "no labels: the detector did not look at them")
        if len(self._waiting) > self._pending:
            oldest = min(self._waiting)
            self._drop(oldest, self._missing(oldest))
        self.retry()

    def put_table(self, message: Any) -> None:
        """Take in the table of labels."""
        self._table = (messages.ns_of(message.header.stamp), messages.label_table_of(message))
        self.retry()

    def put_transforms(self, message: Any, static: bool) -> list[str]:
        """Take in a tf2_msgs/TFMessage; return why any of it was refused."""
        refused = []
        for t in message.transforms:
            parent, child, stamp = t.header.frame_id, t.child_frame_id, messages.ns_of(t.header.stamp)
            try:
                self._tf.put(parent, child, stamp, messages.transform_of(t), static)
            except EqaError as error:
                refused.append(str(error))
        self.retry()
        return refused

    def lacking(self, stamp: int) -> str:
        """Return what an observation waits for, such as "no transform"; "" when it waits for nothing."""
        return self._missing(stamp) if stamp in self._waiting else ""

    def give_up(self, stamp: int, reason: str = "") -> None:
        """Drop an observation, counted by the reason or by what it lacks, and hand on what waited behind it."""
        self._drop(stamp, reason or self._missing(stamp))
        self.retry()

    def finish(self) -> None:
        """Drop all that lacks something, and hand on the rest."""
        while self._waiting:
            self.give_up(min(self._waiting))

    def clear(self) -> None:
        """Forget what is waiting (a new episode begins)."""
        self._waiting.clear()
        self._table = None

    def retry(self) -> None:
        """Hand on what has become complete; call when transforms arrive."""
        for stamp in sorted(self._waiting):
            if self._missing(stamp):
                return  # later frames wait: order matters to a map
            parts = self._waiting.pop(stamp)
            try:
                frame = self._frame(stamp, parts)
            except (BadFrame, BadPose) as error:
                self._count(stamp, str(error))
            else:
                self._deliver(frame, self._labels(parts))

    def _missing(self, stamp: int) -> str:
        """Return what the observation still lacks, as a reason to drop it; empty when it is complete."""
        have = self._waiting[stamp]
        lacking = [part for part in self._parts if part not in have]
        if lacking:
            return f"no {' and '.join(lacking)}"
        if "labels" in self._parts and not self._tabled and (self._table is None or self._table[0] > stamp):
            return "no label table"
        try:
            self._poses(stamp, have)
        except BadFrame:
            return "no transform"
        return ""

    def _labels(self, have: Mapping[str, Any]) -> Mapping[int, Label]:
        if self._tabled:
            return messages.label_table_of(have["label_table"])
        return self._table[1] if self._table else {}

    def _poses(self, stamp: int, have: Mapping[str, Any]) -> tuple[Any, Any]:
        camera = have["depth"].header.frame_id
        return (self._tf.lookup(convert.MAP, convert.BASE, stamp), self._tf.lookup(convert.BASE, camera, stamp))

    def _frame(self, stamp: int, have: Mapping[str, Any]) -> Frame:
        depth = messages.depth_of(have["depth"])
        rgb = messages.rgb_of(have["color"]) if "color" in have else np.broadcast_to(np.uint8(0), (*depth.shape, 3))
        labels = messages.pixels_of(have["labels"]) if "labels" in have else None
        map_from_base, base_from_camera = self._poses(stamp, have)
        intrinsics = messages.intrinsics_of(have["camera_info"])
        return Frame(stamp, rgb, depth, intrinsics, map_from_base, base_from_camera, labels)

    def _drop(self, stamp: int, reason: str) -> None:
        self._waiting.pop(stamp, None)
        self._count(stamp, reason)

    def _count(self, stamp: int, reason: str) -> None:
        self.dropped[reason] += 1
        self.rejected(stamp, reason)
