"""A detector that returns scripted detections, frame by frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.core.types.views import Frame, Label


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
