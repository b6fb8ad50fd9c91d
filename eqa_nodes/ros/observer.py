"""Base of the nodes that process observations: episodes, frames in order, and acknowledgements."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.serialization import deserialize_message

from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.core.camera.jumps import ClockJumpDetector, RelocalisationDetector
from eqa_nodes.core.errors import BadFrame, EqaError
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import QUIET_PUBLISHER, interface, qos
from eqa_nodes.ros.node import ConfigT, EqaNode
from eqa_nodes.wire import messages
from eqa_nodes.wire.frame_assembler import PENDING, FrameAssembler
from eqa_nodes.wire.graph import LABELS, SECOND, TOPICS
from eqa_nodes.wire.pairing import FrameOrdering
from eqa_nodes.wire.transforms import TfBuffer


class EpisodeNode(EqaNode[ConfigT]):
    """Tracks the running episode: reset by service, or by the latched topic if the node started late.

    Observations are accepted only within an episode, and never from before its first stamp.
    """

    def configure(self) -> None:
        self.episode: Any = None
        self._preparing: threading.Thread | None = None
        self.starts_ns = 0
        self.last_ns = -1
        self._acknowledged = self.create_publisher(convert.Header, TOPICS["acknowledged"].name, qos("event"),
                                                   event_callbacks=QUIET_PUBLISHER)
        self.serve(f"reset_{self.row}", self._reset)
        self._subscribe("episode", self._late)

    def activate(self) -> None:
        self._preparing = threading.Thread(target=self._prepare, name="preparing", daemon=True)
        self._preparing.start()

    def prepare(self) -> None:
        """Load what the first episode needs. This runs in a thread of its own, while the simulator builds its scene."""

    def _prepare(self) -> None:
        with suppress(EqaError):  # the episode that needs it reports that
            self.prepare()

    def begin(self, episode: Any, late: bool) -> None:
        """Begin an episode (eqa_interfaces/Episode); late: it is already running. An empty id ends the last one."""
        raise NotImplementedError

    def not_before(self, episode: Any) -> int:
        """Return the first stamp, ns, at which an episode may begin.

        An episode with an earlier stamp is not begun, ends the running one, and gets this stamp in the response.
        """
        return 0

    def republish(self) -> None:
        """Publish the results of the last observation again, because that observation was repeated."""

    def acknowledge(self, stamp_ns: int) -> None:
        """Acknowledge that this observation was processed, or refused permanently."""
        self._acknowledged.publish(convert.header(stamp_ns, self.get_name()))

    def _reset(self, request: Any, response: Any) -> Any:
        response.episode = request.episode
        first_ns = self.not_before(request.episode)
        if messages.stamp_of(request.episode) < first_ns:
            response.episode.header = convert.header(first_ns)
            self.episode = None  # observations until then, on a moving robot, would delay it again
            self._drop_waiting()
        else:
            self._begin(request.episode, late=False)
        return response

    def _late(self, episode: Any) -> None:
        if self.episode is None:
            try:
                self._begin(episode, late=True)
            except EqaError as error:
                self.count(str(error))

    def _begin(self, episode: Any, late: bool) -> None:
        if self._preparing is not None:  # None for a node that hears of an episode before it is active
            self._preparing.join()
        self._drop_waiting()
        self.starts_ns, self.last_ns = messages.ns_of(episode.header.stamp), -1
        self.begin(episode, late)
        self.episode = episode if episode.episode_id else None

    def _drop_waiting(self) -> None:
        """Forget incomplete observations of the running episode."""


class LabelTables:
    """Passes serialized label tables on as messages, and reads one only when more than its stamp is new."""

    def __init__(self, take: Callable[[Any], None]) -> None:
        self._take, self._type = take, interface(TOPICS["label_table"].type)
        self._data, self._labels = b"", list[Any]()

    def __call__(self, data: bytes) -> None:
        """Take a serialized LabelArray."""
        if not messages.same_content(data, self._data):
            self._data, self._labels = data, deserialize_message(data, self._type).labels
        stamp_ns = messages.stamp_in(data)
        self._take(self._type(header=convert.header(stamp_ns), labels=self._labels))


class ObserverNode(EpisodeNode[ConfigT]):
    """Processes frames one by one: `take` gets each observation of the episode once, in order.

    Frames of two cameras are merged in stamp order. Jumps of the clock and of localisation are counted, and reported
    to `set_back` and `relocated` before the next frame.
    """

    two_cameras = True  # whether this node uses the second camera

    def configure(self) -> None:
        super().configure()
        node = self.config.node
        labels, source = getattr(self.config, "labels", False), getattr(self.config, "labels_from", "simulator")
        limits = (node.tf.relocated_m or math.inf, node.tf.relocated_rad or math.inf)
        self.tf = TfBuffer(corrected={node.tf.odom_frame: limits}, now=self.wall, ahead_s=node.tf.time_jump_s)
        self._place, self._clock_watch = RelocalisationDetector(*limits), ClockJumpDetector(node.tf.time_jump_s)
        parts = self.spec.frames + ("labels", "label_table") * labels
        both = node.second_camera.present and self.two_cameras
        self._order = FrameOrdering(2, self._frame, self._rejected) if both else None
        self.frames = self._camera(0, node.camera, parts, dict(zip(LABELS["simulator"], LABELS[source], strict=True)))
        self._cameras = [self.frames]
        self.diagnostics.gauge("observations that wait for a part", lambda: sum(f.waiting for f in self._cameras),
                               getattr(self.config, "pending", PENDING))
        if both:
            self._cameras.append(self._camera(1, node.second_camera, self.spec.frames, {}))
        self._subscribe("tf", lambda message: self._transforms(message, static=False))
        self._subscribe("tf_static", lambda message: self._transforms(message, static=True))
        self._jumps = self._watch_clock()

    def release(self) -> None:
        if self._jumps is not None:
            self._jumps.unregister()

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        """Process one observation. An EqaError refuses it; refusals are counted."""
        raise NotImplementedError

    def set_back(self, stamp_ns: int) -> None:
        """Continue from an earlier stamp after the clock was set back. An EqaError is counted."""

    def relocated(self) -> str:
        """React to a jump of localisation, after which earlier poses are not comparable; return what was done."""
        return "this node continues"

    def _camera(self, number: int, config: CameraConfig, parts: tuple[str, ...],
                topics: Mapping[str, str]) -> FrameAssembler:
        """Subscribe to a camera. topics: keys of the topics of the parts that the camera does not publish."""
        deliver = self._frame if self._order is None else partial(self._order.put, number)
        frames = FrameAssembler(parts, self.tf, deliver, getattr(self.config, "pending", PENDING), config,
                                self.config.node.tf)
        frames.rejected, frames.camera.noted = self._rejected, self.count
        own = frames.camera.topics()
        for part in frames.camera.parts:
            callback = partial(self._put, frames, part, self.future_watch(part))
            if part in own:
                self._subscribe(SECOND * number + own[part], callback)
            elif part == "label_table":
                self.subscribe(topics.get(part, part), LabelTables(callback), raw=True)
            else:
                self.subscribe(topics.get(part, part), callback)
        return frames

    def _watch_clock(self) -> Any:
        """Watch for jumps of a simulated clock; jumps of other clocks are detected by decreasing stamps."""
        if not self.get_parameter("use_sim_time").value or not self.config.node.tf.time_jump_s:
            return None
        limit = JumpThreshold(min_forward=None, on_clock_change=False,
                              min_backward=Duration(seconds=-self.config.node.tf.time_jump_s))
        return self.get_clock().create_jump_callback(limit, post_callback=self._clock_jumped)

    def _clock_jumped(self, jump: TimeJump) -> None:
        self._go_back(-jump.delta.nanoseconds, self.get_clock().now().nanoseconds)

    def _begin(self, episode: Any, late: bool) -> None:
        self.tf.forget_disputed()
        super()._begin(episode, late)

    def _drop_waiting(self) -> None:
        self._place.clear()
        for frames in self._cameras:
            frames.clear()
        if self._order is not None:
            self._order.clear()

    def _go_back(self, by_ns: int, stamp_ns: int) -> None:
        self.count(f"time went back by {by_ns / 1e9:.0f} s: what was waiting is dropped")
        self.clocks.went_back(by_ns / 1e9)
        self._drop_waiting()
        self.tf.set_back(stamp_ns, by_ns)
        self.starts_ns, self.last_ns = min(self.starts_ns, stamp_ns + 1), -1  # parts of this one may be gone
        try:
            self.set_back(stamp_ns)
        except EqaError as error:
            self.count(str(error))

    def _put(self, frames: FrameAssembler, part: str, stray: Callable[[int], bool], message: Any) -> None:
        stamp = messages.ns_of(message.header.stamp)
        if self.episode is None:
            return
        if stray(stamp):
            self.count(f"{part} is stamped in the future")
            return
        if frames.free(part):
            frames.put(part, message)
            return
        if part == "depth" and frames is self.frames and self._clock_watch.set_back(stamp, frames.last_ns):
            self._go_back(frames.last_ns - stamp, stamp)
        if stamp < self.starts_ns:
            return
        if stamp == frames.last_ns:
            if part == "depth":
                self._repeat(stamp)
            return
        if stamp < frames.last_ns:
            self.count("observation from the past")
            return
        frames.put(part, message)

    def _repeat(self, stamp_ns: int) -> None:
        try:
            self.republish()
        except EqaError as error:
            self.count(str(error))
        self.acknowledge(stamp_ns)

    def _transforms(self, message: Any, static: bool) -> None:
        for reason in self.frames.put_transforms(message, static):
            self.count(reason)
        for others in self._cameras[1:]:
            others.retry()

    def _frame(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        self.last_ns = frame.stamp_ns
        try:
            self._locate(frame)
            self.take(frame, labels)
        except EqaError as error:
            self.count(str(error))
        self.acknowledge(frame.stamp_ns)

    def _locate(self, frame: Frame) -> None:
        """Call `relocated` when localisation has moved the robot farther than odometry explains."""
        names = self.config.node.tf
        try:
            map_from_odom = self.tf.lookup(names.map_frame, names.odom_frame, frame.stamp_ns)
        except BadFrame:
            return  # no odometry to compare with: the pose of localisation is used
        jump = self._place.moved(map_from_odom, frame.map_from_base)
        if jump is not None:
            self.count(f"localisation jumped by {jump.metres:.1f} m and {math.degrees(jump.radians):.0f} degrees: "
                       f"{self.relocated()}")

    def _rejected(self, stamp_ns: int, reason: str) -> None:
        self.count(reason)
        self.acknowledge(stamp_ns)
