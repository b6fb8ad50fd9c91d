"""Merges the frames of several cameras into one sequence, ordered by stamp."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from dataclasses import replace

from eqa_nodes.core.types.views import Frame, Label

_PATIENCE_NS = 500_000_000  # a camera that is silent for so long is not waited for

Deliver = Callable[[Frame, Mapping[int, Label]], None]


class FrameOrdering:
    """Delays frames until every camera has reached their stamp or is silent; frames that arrive later are refused.

    Two frames of one stamp are handed on a nanosecond apart: an observation is known by its stamp.
    """

    def __init__(self, cameras: int, deliver: Deliver, refuse: Callable[[int, str], None]) -> None:
        self._cameras, self._deliver, self._refuse = cameras, deliver, refuse
        self.clear()

    def clear(self) -> None:
        """Drop all delayed frames."""
        self._newest = [-1] * self._cameras
        self._held: list[tuple[int, Frame, Mapping[int, Label]]] = []
        self._last_ns = -1

    def put(self, camera: int, frame: Frame, labels: Mapping[int, Label]) -> None:
        """Take in the next frame of a camera."""
        self._newest[camera] = max(self._newest[camera], frame.stamp_ns)
        bisect.insort(self._held, (frame.stamp_ns, frame, labels), key=lambda held: held[0])
        horizon = max(min(self._newest), max(self._newest) - _PATIENCE_NS)
        while self._held and self._held[0][0] <= horizon:
            self._hand_on(*self._held.pop(0))

    def _hand_on(self, stamp_ns: int, frame: Frame, labels: Mapping[int, Label]) -> None:
        if stamp_ns < self._last_ns - 1:
            self._refuse(stamp_ns, "came after a later frame of the other camera")
            return
        self._last_ns = max(stamp_ns, self._last_ns + 1)
        self._deliver(frame if self._last_ns == stamp_ns else replace(frame, stamp_ns=self._last_ns), labels)
