"""Assembles camera messages of one stamp into a Frame once its transform is known. Drops are counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from eqa_nodes.core.camera.config import CameraConfig, TfConfig
from eqa_nodes.core.errors import BadFrame, BadPose, EqaError
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.wire import messages
from eqa_nodes.wire.camera_input import CameraInput
from eqa_nodes.wire.transforms import NamedFrames, NoTransform, TfBuffer

PENDING = 30  # observations that may wait for their missing parts
UNPLACED = "no transform"
EARLY = "image from before the robot was localised"  # its transform will never arrive


class FrameAssembler:
    """Collects `parts` by stamp, and delivers complete frames in stamp order.

    Parts are "color", "depth", "camera_info", "labels" and "label_table". A colour image that was not requested is
    black. The label table is that of the frame's own stamp, since the room or state of a label may change from frame
    to frame. Labels arrive in stamp order: an older observation without labels is dropped.
    """

    def __init__(self, parts: tuple[str, ...], tf: TfBuffer,
                 deliver: Callable[[Frame, Mapping[int, Label]], None], pending: int = PENDING,
                 camera: CameraConfig = CameraConfig(), frames: TfConfig = TfConfig()) -> None:
        self.camera, self._frames = CameraInput(camera, parts), frames
        self._parts, self._tf, self._deliver, self._pending = self.camera.parts, tf, deliver, pending
        self._poses = NamedFrames(tf, frames)
        self._pairing = self.camera.pairing(pending)
        self._paired = self._pairing.parts if self._pairing is not None else frozenset()
        self._wait_ns = round(frames.wait_s * 1e9)
        self._waiting: dict[int, dict[str, Any]] = {}
        self._newest_ns = -1
        self.last_ns = -1  # the stamp of the last delivered frame
        self.dropped: Counter[str] = Counter()
        self.rejected: Callable[[int, str], None] = lambda stamp_ns, reason: None

    @property
    def waiting(self) -> int:
        """Number of observations that wait for a part or a transform."""
        return len(self._waiting)

    def put(self, part: str, message: Any) -> None:
        """Add one camera message.

        A repeated message shows which observation its publisher still waits for: older ones will not be completed.
        """
        stamp = messages.ns_of(message.header.stamp)
        if self._pairing is not None and part in self._paired:
            for paired, parts in self._pairing.put(part, stamp, message):
                self._hold(paired, parts)
            for unpaired, reason in self._pairing.unpaired:
                self._drop(unpaired, reason)
            self._pairing.unpaired.clear()
        else:
            self._hold(stamp, {part: message})
        if part == "labels":
            for older in sorted(s for s, have in self._waiting.items() if s < stamp and "labels" not in have):
                self._drop(older, "no labels: only later images were labelled")
        if len(self._waiting) > self._pending:
            oldest = min(self._waiting)
            self._drop(oldest, self._missing(oldest))
        self.retry()

    def free(self, part: str) -> bool:
        """Return whether the stamp of a part may differ from its observation's stamp, which is the depth image's."""
        return part != "depth" and part in self._paired

    def put_transforms(self, message: Any, static: bool) -> list[str]:
        """Add the transforms of a tf2_msgs/TFMessage; return the reasons for those that were refused."""
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
        """Return what an observation lacks, such as "no transform"; "" if it lacks nothing."""
        return self._missing(stamp) if stamp in self._waiting else ""

    def give_up(self, stamp: int, reason: str = "") -> None:
        """Drop an observation, counted under the reason or what it lacks, and deliver the frames that waited for it."""
        self._drop(stamp, reason or self._missing(stamp))
        self.retry()

    def finish(self) -> None:
        """Drop all incomplete observations and deliver the rest."""
        while self._waiting:
            self.give_up(min(self._waiting))

    def clear(self) -> None:
        """Forget all waiting observations (a new episode begins)."""
        self._waiting.clear()
        self._newest_ns = self.last_ns = -1
        if self._pairing is not None:
            self._pairing.clear()

    def retry(self) -> None:
        """Deliver the frames that have become complete; call when transforms arrive."""
        for stamp in sorted(self._waiting):
            missing = self._missing(stamp)
            if missing and missing != EARLY:
                if not self._wait_ns or self._newest_ns - stamp <= self._wait_ns:
                    return  # later frames wait: a map needs them in order
                missing += f" within {self._frames.wait_s:g} s"
            if missing:
                self._drop(stamp, missing)
                continue
            parts = self._waiting.pop(stamp)
            try:
                frame = self.camera.frame(stamp, parts, self._poses)
            except (BadFrame, BadPose) as error:
                self._count(stamp, str(error))
            else:
                self.last_ns = stamp
                self._deliver(frame, messages.label_table_of(parts["label_table"]) if "label_table" in parts else {})

    def _hold(self, stamp: int, parts: Mapping[str, Any]) -> None:
        have = self._waiting.setdefault(stamp, {})
        if not have.keys().isdisjoint(parts):  # repeated: its publisher waits for this one and for no older one
            for older in sorted(s for s in self._waiting if s < stamp):
                if lacks := self._missing(older):
                    self._drop(older, lacks)
        have.update(parts)
        self._newest_ns = max(self._newest_ns, stamp)

    def _missing(self, stamp: int) -> str:
        """Return what the observation still lacks, as a reason to drop it; empty when it is complete."""
        have = self._waiting[stamp]
        if lacking := [part for part in self._parts if part not in have]:
            return f"no {' and '.join(lacking)}"
        camera = self.camera.frame_of(have)
        try:
            self._poses.map_from_base(stamp, camera)
            self._poses.base_from_camera(stamp, camera)
        except NoTransform as error:
            return EARLY if error.early and error.child == self._frames.odom_frame else UNPLACED
        except BadFrame:
            return UNPLACED
        return ""

    def _drop(self, stamp: int, reason: str) -> None:
        self._waiting.pop(stamp, None)
        self._count(stamp, reason)

    def _count(self, stamp: int, reason: str) -> None:
        self.dropped[reason] += 1
        self.rejected(stamp, reason)
