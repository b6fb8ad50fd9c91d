"""Reconstructs the surfaces of the place from colour and depth, as a point cloud for RViz and Foxglove."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eqa_nodes.config.nodes import ReconstructorSettings
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.reconstruction.live_points import ChangedBlocks, LivePoints
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.views import Cloud, Frame, Label
from eqa_nodes.ros import convert
from eqa_nodes.ros.observer import ObserverNode
from eqa_nodes.ros.process import run_node
from eqa_nodes.wire import messages

_NEVER = -1


class ReconstructorNode(ObserverNode[ReconstructorSettings]):
    """Integrates every observation; publishes `reconstruction` every few seconds, after an answer, and at the end.

    Points are computed in a background task on a copy of the changed blocks. A new cloud waits for the previous
    one, so that the cloud of a stamp shows exactly the frames up to that stamp.
    """

    row = "reconstructor"
    two_cameras = False
    _task: threading.Thread | None = None  # the publishing task

    def configure(self) -> None:
        super().configure()
        self._start_anew()  # without Open3D the node does not start
        self.out("reconstruction")
        self.subscribe("answer", lambda _: self._show())

    def release(self) -> None:
        super().release()
        self._wait()

    def begin(self, episode: Any, late: bool) -> None:
        self._show()
        self._wait()
        self._start_anew()
        if episode.episode_id:
            self._send(self._points.cloud(self.config.max_points), messages.ns_of(episode.header.stamp))

    def set_back(self, stamp_ns: int) -> None:
        self._shown_ns = _NEVER

    def relocated(self) -> str:
        self._wait()
        self._start_anew()
        return "the reconstruction begins anew"

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        self._built.add(replace(frame, labels=None))  # labels may be privileged, and no cloud shows them
        self._newest_ns = frame.stamp_ns
        if self._shown_ns == _NEVER or frame.stamp_ns - self._shown_ns >= self.config.every_s * 1e9:
            self._show()

    def _start_anew(self) -> None:
        self._built = Reconstruction(self.config.reconstruction)
        self._points = LivePoints(self.config.reconstruction.voxel_m)
        self._newest_ns = self._shown_ns = _NEVER

    def _show(self) -> None:
        """Begin to publish the reconstruction if it has changed since the last time."""
        if self._newest_ns == self._shown_ns:
            return
        self._wait()
        self._shown_ns = self._newest_ns
        self._task = threading.Thread(target=self._publish, args=(self._built.changed(), self._points, self._newest_ns),
                                      daemon=True)
        self._task.start()

    def _wait(self) -> None:
        if self._task is not None:
            self._task.join()
            self._task = None

    def _publish(self, changed: ChangedBlocks, points: LivePoints, stamp_ns: int) -> None:
        try:
            points.update(changed)
            self._send(points.cloud(self.config.max_points), stamp_ns)
        except (EqaError, MemoryError) as error:
            self.count(f"reconstruction not published: {error}")

    def _send(self, cloud: Cloud, stamp_ns: int) -> None:
        self.send("reconstruction", convert.cloud_msg(cloud, stamp_ns))


def main() -> int:
    """Run the node."""
    return run_node(ReconstructorNode)
