"""Detects objects in images: publishes an instance image with its table, like a simulator's labels, and 3D boxes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from eqa_nodes.config.nodes import PerceptionSettings
from eqa_nodes.core.errors import EqaError, ModelError
from eqa_nodes.core.perception.tracking import Perceived, nothing_found
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception import open_perceiver
from eqa_nodes.ros import convert
from eqa_nodes.ros.observer import ObserverNode
from eqa_nodes.ros.process import run_node

_AFTER_A_RESTART = 30_001  # its first instance number: memory still has the earlier numbers


class PerceptionNode(ObserverNode[PerceptionSettings]):
    """Processes every observation in lock-step or, with `newest`, the newest one whenever the detector is free."""

    row = "perception"
    two_cameras = False

    def configure(self) -> None:
        super().configure()
        self.perceiver = open_perceiver(self.config.detector, self.config.perceiver)
        self._last: Perceived | None = None
        self._changed, self._looking = threading.Condition(), threading.Lock()
        self._next: tuple[Frame, Mapping[int, Label]] | None = None
        for key in self.spec.publishes:
            self.out(key)
        self._over = False
        if self.config.newest:
            threading.Thread(target=self._look_at_newest, daemon=True).start()

    def release(self) -> None:
        self._over = True

    def begin(self, episode: Any, late: bool) -> None:
        """Number instances from 1; continue the numbering if memory may contain earlier ones."""
        self._reset_perceiver(_AFTER_A_RESTART if late else 0 if episode.keep_memory else 1)

    def set_back(self, stamp_ns: int) -> None:
        self._reset_perceiver(0)

    def relocated(self) -> str:
        self._reset_perceiver(0)
        return "what was followed is forgotten"

    def _reset_perceiver(self, first: int) -> None:
        with self._changed, self._looking:
            self._last = self._next = None
            self.perceiver.reset(first)

    def reconfigured(self, old: PerceptionSettings, new: PerceptionSettings) -> None:
        with self._looking:
            self.perceiver.configure(new.perceiver)

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        if not self.config.newest:
            self._look(frame, labels)
            return
        with self._changed:
            if self._next is not None:
                self.count("pictures passed over: the detector was busy")
            self._next = (frame, labels)
            self._changed.notify()

    def republish(self) -> None:
        if self._last is not None:
            self._report(self._last)

    def _look_at_newest(self) -> None:
        while self.context.ok() and not self._over:
            with self._changed:
                if not self._changed.wait_for(lambda: self._next is not None, 0.5) or self._next is None:
                    continue
                (frame, labels), self._next = self._next, None
            try:
                self._look(frame, labels)
            except EqaError as error:
                self.count(str(error))

    def _look(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        with self._looking:
            broken = self.perceiver.broken
            try:
                self._last = self.perceiver.take(frame, labels)
            except ModelError as error:  # memory waits for an answer, so it gets an empty one
                self.count(str(error))
                self._last = nothing_found(frame)
            if self.perceiver.broken > broken:
                self.count("pictures for which the detector gave invalid boxes, scores or masks")
            self._report(self._last)

    def _report(self, p: Perceived) -> None:
        stamp = p.frame.stamp_ns
        self.send("detected_table", convert.label_table_msg(p.table, stamp))
        self.send("detected", convert.image_msg(cast(np.ndarray, p.frame.labels), "16UC1", stamp))
        self.send("detections", convert.detections_msg(p, stamp))


def main() -> int:
    """Run the node."""
    return run_node(PerceptionNode)
