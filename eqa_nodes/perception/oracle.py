"""Detectors for tests: one reads the simulator's labels (privileged) with configurable faults, one plays a script.
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
    """Detects what is labelled. masks False: it gives boxes only, as most detectors do; noise: what it gets wrong."""

    privileged = True
    traits = DetectorTraits(labels=True)

    def __init__(self, masks: bool = True, noise: NoiseConfig | None = None) -> None:
        self._masks, self._config = masks, PerceptionConfig(noise=noise or NoiseConfig())

    @classmethod
    def from_options(cls, config: DetectorConfig, vocabulary: Sequence[str]) -> LabelDetector:
        """Return it as the registry makes it; what labels name it finds, whatever the vocabulary."""
        return cls(config.masks, config.noise)

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> list[Detection]:
        """Return every labelled object that has enough pixels and is near enough."""
        image = frame.labels if frame.labels is not None else np.zeros(frame.depth_m.shape, np.uint16)
        return [Detection(s.label.kind, 1.0, s.bbox, image == s.label.instance if self._masks else None)
                for s in sightings(frame, labels, self._config)]


class ScriptedDetector:
    """Returns the detections of a script, one entry a frame. Raises ModelError when the script has ended."""

    privileged = False

    def __init__(self, script: Iterable[Sequence[Detection]]) -> None:
        self._script = iter(script)
        self.frames: list[Frame] = []

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> Sequence[Detection]:
        """Return the next entry; `frames` keeps what was shown."""
        self.frames.append(frame)
        for found in self._script:
            return found
        raise ModelError(f"the script of detections ended before frame {len(self.frames)}: give it more entries")
