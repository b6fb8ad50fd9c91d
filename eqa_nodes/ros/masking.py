"""Images of the graph -> the same without what must not be kept, as soon as all is known that says where that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eqa_nodes.core.camera.config import TfConfig
from eqa_nodes.core.camera.privacy import PrivacyConfig, hidden_in
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.views import Frame, Label, check_frame
from eqa_nodes.wire.cdr import decoded, without
from eqa_nodes.wire.frame_assembler import FrameAssembler
from eqa_nodes.wire.graph import TOPICS
from eqa_nodes.wire.transforms import TfBuffer

IMAGES = ("color", "depth")
PARTS = (*IMAGES, "camera_info")
_TIMES = 3  # that lock-step shows an observation before one that lacks what says where things are is refused
_WHERE = ("no transform", "no labels", "no label table")


class Masking:
    """Takes in the parts of observations; hands on the masked images of each that is whole, refuses the others.

    What cannot be masked is refused: no image leaves as it came. done_ns: the newest observation that was handed on or
    refused.
    """

    def __init__(self, config: PrivacyConfig, keep: Callable[[str, int, bytes], None],
                 refuse: Callable[[int, str], None], detected: bool = False, frames: TfConfig = TfConfig()) -> None:
        """keep: gets key of graph.TOPICS, stamp and serialized message; refuse: stamp, and why its images are not.

        detected: labels come with a table for each observation.
        """
        self._config, self._keep, self._refuse = config, keep, refuse
        labels = (("labels", "label_table") if detected else ("labels",)) if config.kinds else ()
        self._frames = FrameAssembler(PARTS + labels, TfBuffer(), self._mask, frames=frames)
        self._frames.rejected = self._rejected
        self._images: dict[int, dict[str, Any]] = {}
        self.done_ns = -1
        self._shown = (-1, 0)  # the observation whose depth came last, and how often it came
        self.put_table = self._frames.put_table

    def begin(self) -> None:
        """Forget everything but the transforms: an episode begins."""
        self._frames.clear()
        self._images.clear()
        self.done_ns, self._shown = -1, (-1, 0)

    def end(self) -> None:
        """Refuse what lacks something."""
        self._frames.finish()

    def ask_again(self, stamp_ns: int) -> None:
        """Take an observation in once more when it comes again: its images were not kept."""
        self.done_ns = min(self.done_ns, stamp_ns - 1)

    def put(self, key: str, stamp_ns: int, message: Any) -> None:
        """Take in a part of an observation later than done_ns; others are passed over.

        key: color | depth | camera_info, serialized, or labels | label_table, a message.
        """
        if stamp_ns <= self.done_ns:
            return
        try:
            message = decoded(message, TOPICS[key].type) if key in PARTS else message
        except BadFrame as error:
            self._frames.give_up(stamp_ns, str(error))
            return
        if key in IMAGES:
            self._images.setdefault(stamp_ns, {})[key] = message
        self._frames.put(key, message)
        if key == "depth":
            self._shown = (stamp_ns, self._shown[1] + 1 if self._shown[0] == stamp_ns else 1)
            if self._shown[1] >= _TIMES and self._frames.lacking(stamp_ns) in _WHERE:
                self._frames.give_up(stamp_ns)

    def put_transforms(self, cdr: bytes, static: bool) -> list[str]:
        """Take in a serialized tf2_msgs/TFMessage; return why any of it was refused."""
        try:
            return self._frames.put_transforms(decoded(cdr, TOPICS["tf"].type), static)
        except BadFrame as error:
            return [str(error)]

    def _mask(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        try:
            check_frame(frame)
            hidden = hidden_in(frame, labels, self._config)
            kept = {key: without(self._images[frame.stamp_ns][key], hidden) for key in IMAGES}
        except BadFrame as error:
            self._rejected(frame.stamp_ns, str(error))
            return
        self._finished(frame.stamp_ns)
        for key, cdr in kept.items():
            self._keep(key, frame.stamp_ns, cdr)

    def _rejected(self, stamp_ns: int, reason: str) -> None:
        self._finished(stamp_ns)
        self._refuse(stamp_ns, reason)

    def _finished(self, stamp_ns: int) -> None:
        self._images.pop(stamp_ns, None)
        self.done_ns = max(self.done_ns, stamp_ns)
