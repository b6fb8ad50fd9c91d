"""An episode history with a detector: its frames have detections instead of labels."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.views import Label
from eqa_nodes.recordings.episode_history import EpisodeHistory, FramesAlone, RecordedFrame


class DetectedHistory(FramesAlone):
    """Runs the detector during the first full iteration, which fills `labels`; later ones reuse the detections."""

    def __init__(self, history: EpisodeHistory, perceiver: Perceiver) -> None:
        self._history, self._perceiver = history, perceiver
        self.name = history.name
        self.labels: dict[int, Label] = {}
        self._images: dict[int, bytes] = {}  # index -> compressed (H, W) uint16, some kB each
        self._whole = False

    @property
    def dropped(self) -> Counter[str]:
        """As in EpisodeHistory."""
        return self._history.dropped

    def __len__(self) -> int:
        return len(self._history)

    def recorded(self) -> Iterator[RecordedFrame]:
        """As in EpisodeHistory. Raises ModelError."""
        if not self._whole:
            self.labels.clear()
            self._images.clear()
            self._perceiver.reset()
        for recorded in self._history.recorded():
            if not self._whole:
                self._look(recorded)
            shape = recorded.frame.depth_m.shape
            labels = np.frombuffer(zlib.decompress(self._images[recorded.index]), np.uint16).reshape(shape)
            yield replace(recorded, frame=replace(recorded.frame, labels=labels), labels=None)
        self._whole = True

    def _look(self, recorded: RecordedFrame) -> None:
        own = recorded.labels if recorded.labels is not None else self._history.labels
        perceived = self._perceiver.take(recorded.frame, own)
        self.labels.update(perceived.table)
        self._images[recorded.index] = zlib.compress(np.ascontiguousarray(perceived.frame.labels).tobytes(), 1)
