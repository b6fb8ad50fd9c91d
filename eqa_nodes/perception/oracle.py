"""Detectors for tests: one reads the simulator's labels (privileged) with configurable errors, one plays a script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.perception.detection import Detection, DetectorConfig
from eqa_nodes.core.perception.instances import NoiseConfig, PerceptionConfig, sightings
from eqa_nodes.core.traits import DetectorTraits
from eqa_nodes.core.types.views import Frame, Label


class LabelDetector:
    """Detects labelled objects. masks: False = only boxes, like most detectors; noise: simulated detection errors."""

    privileged = True
    traits = DetectorTraits(labels=True)

    def __init__(self, masks: bool = True, noise: NoiseConfig | None = None) -> None:
        self._masks, self._config = masks, PerceptionConfig(noise=noise or NoiseConfig())

    @classmethod
    def from_options(cls, config: DetectorConfig, vocabulary: Sequence[str]) -> LabelDetector:
        """Create it for the registry. It finds all labelled objects, whatever the vocabulary."""
        return cls(config.masks, config.noise)

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> list[Detection]:
        """Return all labelled objects that have enough pixels and are near enough."""
        image = frame.labels if frame.labels is not None else np.zeros(frame.depth_m.shape, np.uint16)
        return [Detection(s.label.kind, 1.0, s.bbox, image == s.label.instance if self._masks else None)
                for s in sightings(frame, labels, self._config)]


class ScriptedDetector:
    """Returns the detections of a script, one entry per frame. Raises ModelError after the last entry."""

    privileged = False

    def __init__(self, script: Iterable[Sequence[Detection]]) -> None:
        self._script = iter(script)
        self.frames: list[Frame] = []

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> Sequence[Detection]:
        """Return the next entry of the script, and append the frame to `frames`."""
        self.frames.append(frame)
        for found in self._script:
            return found
        raise ModelError(f"the script of detections ended before frame {len(self.frames)}: give it more entries")
