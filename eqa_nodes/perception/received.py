"""The detections of another node, which the perception node receives, in the form of a detector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadPose, ModelError
from eqa_nodes.core.perception.detection import Detection, DetectorConfig
from eqa_nodes.core.traits import DetectorTraits
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception.class_names import read_class_names
from eqa_nodes.wire.detection_messages import DETECTION_TYPES

_HELD = 4  # number of messages whose image the node has not processed yet


class ReceivedMessage(NamedTuple):
    """A message of detections. type: a key of DETECTION_TYPES; map_from_source: (4, 4), for boxes in space."""

    type: str
    message: Any
    map_from_source: np.ndarray


class ReceivedDetector:
    """Returns what was received for an image: `put` before `detect`. names: of classes by number."""

    privileged = False
    traits = DetectorTraits()

    def __init__(self, config: DetectorConfig, vocabulary: Sequence[str]) -> None:
        """Raises ConfigError for an unusable file of names."""
        self.names: dict[int, str] = read_class_names(config.names) if config.names else {}
        self._held: dict[int, ReceivedMessage] = {}

    def put(self, stamp_ns: int, received: ReceivedMessage) -> None:
        """Add the message for the image with this stamp."""
        self._held[stamp_ns] = received
        for oldest in sorted(self._held)[:-_HELD]:
            self._held.pop(oldest, None)

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> list[Detection]:
        """Return the detections in the image, the highest score first. Raises ModelError for unusable messages."""
        received = self._held.pop(frame.stamp_ns, None)
        if received is None:
            raise ModelError("the detector topic has no detections for an image: it works in the perception node, with "
                             "perception.detections_topic")
        try:
            return DETECTION_TYPES[received.type].read(received.message, frame, self.names, received.map_from_source)
        except BadPose as error:
            raise ModelError(f"a detection has an unusable pose: {error}") from error
