"""Publishes an episode history on ROS topics as a live robot would.

It replaces the bridge in the graph.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from eqa_nodes.config.nodes import ReplaySettings
from eqa_nodes.core.errors import EqaError, ErrorCode, SimulatorError
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.episode_history import EpisodeHistory, no_frame
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.observation import Observations, offset_after
from eqa_nodes.ros.process import run_node
from eqa_nodes.wire import messages

TELL_S = 0.1  # least time between two progress reports
ALIVE_S = 5.0  # time between two reports while no frame is shown
WAITING, PLAYING, FINISHED, FAILED = "waiting", "playing", "finished", "failed"  # first word of a report's message


class Reel:
    """The frames of a history with increasing stamps. Other frames are skipped and counted.

    shown: number of frames shown; metres: distance driven by the base, m; frame: the frame shown last.
    """

    def __init__(self, history: EpisodeHistory, newest_ns: int, labels: bool) -> None:
        """newest_ns: newest stamp that observers have seen. Raises StorageError if the history has no frame."""
        self.history, self._labels = history, labels
        self.skipped: Counter[str] = Counter()
        self._reading = iter(history)
        first = next(self._reading, None)
        if first is None:
            raise no_frame(history)
        self._offset_ns = offset_after(newest_ns, first.stamp_ns)
        self.frame = self._stamped(first)
        self.shown, self.metres = 0, 0.0

    def coming(self) -> Iterator[Frame]:
        """Yield the frames after the first."""
        newest_ns = self.frame.stamp_ns
        for read in self._reading:
            frame = self._stamped(read)
            if frame.stamp_ns <= newest_ns:  # observers would take it for a known or an old frame
                self.skipped["stamp is not later than that of the frame before"] += 1
                continue
            newest_ns = frame.stamp_ns
            yield frame

    def show(self, frame: Frame) -> None:
        """Make this the current frame."""
        self.metres += math.dist(self.frame.map_from_base.xyz, frame.map_from_base.xyz)
        self.frame, self.shown = frame, self.shown + 1

    def _stamped(self, frame: Frame) -> Frame:
        return replace(frame, stamp_ns=frame.stamp_ns + self._offset_ns, labels=frame.labels if self._labels else None)


class ReplayNode(EqaNode[ReplaySettings]):
    """Serves reset_episode, which opens the history named as the scene; plays it after the first OBSERVE."""

    row = "replay"

    def configure(self) -> None:
        self._reel: Reel | None = None
        self._one_at_a_time = threading.Lock()
        self._stop = threading.Event()  # ends the playing thread
        self._player: threading.Thread | None = None
        self._reported_at = 0.0
        self._observations = Observations(self)
        self._report_state(WAITING)
        self.serve("reset_simulator", self._reset)
        self.serve("act", self._act)

    def activate(self) -> None:
        if self.config.source:
            self._thread(self._begin)

    def deactivate(self) -> None:
        self._end_playing()

    def release(self) -> None:
        self._stop.set()

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        """Run `work` in its own thread; a failure is reported."""
        def guarded() -> None:
            try:
                work()
            except Exception as error:  # clients that wait for the end must be informed
                if not self.context.ok():
                    return  # the shutdown removed publishers and clients
                self.get_logger().error(str(error) if isinstance(error, EqaError) else traceback.format_exc())
                self._report_state(f"{FAILED}: {error}")

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread

    def _begin(self) -> None:
        """Begin an episode as soon as the graph is up. Raises the agent's error, NodeLost at the deadline."""
        source = Path(self.config.source)
        episode = interface("eqa_interfaces/msg/Episode")(scene=str(source), episode_id=source.stem)
        agent, end = self.remote("reset_episode"), time.monotonic() + self.config.begin_deadline_s
        while self.context.ok():
            try:
                agent.call(self.config.node.call_deadline_s, episode=episode)
                return
            except EqaError as error:
                if error.code is not ErrorCode.NODE_LOST or time.monotonic() > end:
                    raise

    def _reset(self, request: Any, response: Any) -> Any:
        """Open the history. Nothing is published before the first OBSERVE, so that observers are reset first."""
        self._end_playing()
        with self._one_at_a_time:
            asked = request.episode
            newest = max(messages.ns_of(asked.header.stamp), self._reel.frame.stamp_ns if self._reel else 0)
            self._reel = Reel(self._open(Path(asked.scene or self.config.source)), newest, self.config.labels)
            asked.header = convert.header(self._reel.frame.stamp_ns)
            self._report_state(WAITING)
        response.episode = asked
        return response

    def _open(self, source: Path) -> EpisodeHistory:
        return open_history(source, options=BagOptions.of(self.config.bag))

    def _end_playing(self) -> None:
        self._stop.set()
        if self._player is not None:
            self._player.join()
            self._player = None

    def _act(self, request: Any, response: Any) -> Any:
        if self._reel is None:
            raise SimulatorError("the replay has no episode: it has just been started, perhaps again after it "
                                 "ended; begin an episode (reset_episode)")
        if request.action not in (request.STATUS, request.OBSERVE):
            raise SimulatorError("a recording cannot be driven: ask without exploring (may_explore false)")
        if request.action == request.OBSERVE:
            with self._one_at_a_time:
                self._publish(self._reel, again=True)
                self._observations.await_observers(self._reel.frame, self._reel.history.labels)
            if self._player is None:
                self._play(self._reel)
        frame = self._reel.frame
        response.stamp, response.metres = convert.time_of(frame.stamp_ns), self._reel.metres
        response.pose = convert.pose_msg(frame.map_from_base)
        return response

    def _play(self, reel: Reel) -> None:
        self._stop = stop = threading.Event()
        reel.show(reel.frame)
        self._player = self._thread(lambda: self._run(reel, stop))

    def _run(self, reel: Reel, stop: threading.Event) -> None:
        """Show all frames, each at its time or, with rate 0, when all observers have acknowledged the previous one."""
        rate, began, first_ns = self.config.rate, time.monotonic(), reel.frame.stamp_ns
        for frame in reel.coming():
            if self.config.rate != rate:  # count from here
                rate, began, first_ns = self.config.rate, time.monotonic(), reel.frame.stamp_ns
            if rate > 0:
                self._wait(began + (frame.stamp_ns - first_ns) / 1e9 / rate, stop)
            if stop.is_set():
                return
            with self._one_at_a_time:
                reel.show(frame)
                self._publish(reel)
                if not rate:
                    self._observations.await_observers(frame, reel.history.labels)
            if time.monotonic() - self._reported_at > TELL_S:
                self._report_state(PLAYING)
        self._report_state(FINISHED)

    def _wait(self, due: float, stop: threading.Event) -> None:
        """Sleep until `due` (monotonic, s); report regularly meanwhile, as the robot may have stood still for long."""
        while (left := due - time.monotonic()) > 0 and not stop.wait(min(left, ALIVE_S)):
            if left > ALIVE_S:
                self._report_state(PLAYING)

    def _publish(self, reel: Reel, again: bool = False) -> None:
        self._observations.publish(reel.frame, reel.history.labels, again)

    def _report_state(self, state: str) -> None:
        """Publish the progress and the counts of frames that could not be shown."""
        self._reported_at = time.monotonic()
        values = {}
        if self._reel is not None:
            values = {"shown": self._reel.shown, "frames": len(self._reel.history)}
            values |= self._reel.skipped + self._reel.history.dropped
        level = DiagnosticStatus.ERROR if state.startswith(FAILED) else DiagnosticStatus.OK
        self.send("replay_status", DiagnosticStatus(
            level=level, name="replay", message=state,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()]))


def main() -> int:
    """Run the node."""
    return run_node(ReplayNode)
