"""The ROS graph as the console's robot: an action client and subscriptions; pictures are decoded only on demand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.serialization import deserialize_message

from eqa_nodes.console.live import Live
from eqa_nodes.console.pictures import camera_picture
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.camera.config import TfConfig
from eqa_nodes.core.errors import BadFrame, NodeLost, StorageError
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Transform, compose, pose2_of
from eqa_nodes.core.types.inquiries import Inquiry
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Evidence, Question, Recalled
from eqa_nodes.core.types.views import Cloud, Keyframe
from eqa_nodes.ros import convert
from eqa_nodes.ros.client import CALL_S, GraphClient
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.subscriptions import AdaptiveSubscriptions, message_alone
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import FOREIGN, SELDOM, TOPICS
from eqa_nodes.wire.images import rgb_of

_NEWEST = ("color", "map", "explored", "frontiers", "reconstruction")  # only the newest message is kept, serialised
_KINDS = {"keyframes": "event"}  # views from before the start belong to questions that are not shown
_COMPRESSED = "sensor_msgs/msg/CompressedImage"
_LOOK_S = 1.0  # period of the search for a camera topic
_CLOUD_BYTES = 64_000_000  # maximum size of a message
_END_S = 1.0  # timeout for the recorder to close its bag
_CHAIN = 8  # maximum number of transforms between map and base; more is a loop


class RosRobot:
    """A graph in a ROS domain; call `close` at the end. Implements WatchedRobot."""

    def __init__(self, environment: Mapping[str, str], ring: Callable[[], None], place: str = "", *,
                 namespace: str = "", remap: Mapping[str, str] = MappingProxyType({}),
                 names: TfConfig = TfConfig()) -> None:
        """environment: environment variables of the graph's processes; ring: called after each new message.

        namespace, remap: of the graph, as in GraphClient. names: names of the robot's frames.
        """
        self.place, self._ring = place, ring
        self.live = Live(ring)
        self.episodes = threading.Event()  # set when an episode has begun
        self.inquired: Callable[[Inquiry], None] = lambda inquiry: None  # must not block: topic thread
        self._newest: dict[str, bytes] = {}
        self.pictures = self.clouds = 0
        self._frames: dict[str, tuple[str, Transform]] = {}  # child -> parent, parent_from_child
        self._names = names
        self._color = remap.get("color", TOPICS["color"].name)
        self._client = GraphClient(environment, self._listen, namespace=namespace, remap=remap)

    def begin(self, scene: str, episode_id: str, keep_memory: bool = False) -> None:
        """Begin an episode. Raises the errors that the graph reports."""
        self._client.reset(scene, episode_id, None, 0, keep_memory)
        self.place = scene

    def end(self) -> None:
        """End the episode so that its bag is closed; if the recorder does not answer in time, the bag needs repair."""
        with suppress(NodeLost):
            self._client.services["reset_recorder"].call(_END_S)

    def ask(self, question: Question, listener: Callable[[Progress], None], cancel: threading.Event) -> Answer:
        return self._client.ask(question, listener, cancel)

    def reply(self, inquiry: str, option: int) -> None:
        self._client.reply(inquiry, option)

    def stop(self) -> None:
        self._client.stop()

    def view(self, evidence: Evidence) -> Keyframe:
        stamp = convert.time_of(evidence.stamp_ns)
        found = self._client.services["recall"].call(CALL_S, limit=1, after=stamp, before=stamp)
        for keyframe in map(messages.keyframe_of, found.keyframes):
            return keyframe
        raise StorageError(f"memory has no view of {evidence.stamp_ns / 1e9:.1f} s (any more)")

    def recall(self, text: str, limit: int) -> list[Recalled]:
        found = self._client.services["recall"].call(CALL_S, text=text, limit=limit, in_order=not limit)
        return [Recalled(messages.keyframe_of(view), score, why)
                for view, score, why in zip(found.keyframes, found.scores, found.reasons, strict=True)]

    def camera(self) -> bytes:
        if (raw := self._newest.get("color")) is not None:
            return camera_picture(messages.rgb_of(_message("color", raw)))
        if (packed := self._newest.get(_COMPRESSED)) is not None:
            return camera_picture(rgb_of(deserialize_message(packed, interface(_COMPRESSED))))
        raise RequestRefused("the camera has shown nothing yet", 404)

    def grid(self) -> GridMap | None:
        raw, explored = self._newest.get("map"), self._newest.get("explored")
        if not raw:
            return None
        return messages.grid_of(_message("map", raw), _message("explored", explored) if explored else None)

    def surfaces(self) -> Cloud | None:
        raw = self._newest.get("reconstruction")
        return messages.cloud_of(_message("reconstruction", raw)) if raw else None

    def close(self) -> None:
        self._client.close()

    def _listen(self, node: Any) -> None:
        """Create the subscriptions. Cameras use best effort, so that a slow console never delays the graph.

        Other topics use the quality of service that their publishers offer.
        """
        adaptive = AdaptiveSubscriptions(node)
        callbacks: dict[str, Callable[[Any], None]] = {
            "tf": self._transforms, "tf_static": self._transforms, "question": self._question, "answer": self._answer,
            "decision": self._decision, "model_calls": self._call, "inquiry": self._inquiry,
            "episode": self._episode, "keyframes": self._keyframe}
        callbacks |= {key: partial(self._put, key) for key in _NEWEST}
        for key, callback in callbacks.items():
            topic = TOPICS[key]
            take = partial(self._take, key, callback)
            if key in FOREIGN and topic.qos != "frame":
                adaptive.subscribe(topic, message_alone(take), key in _NEWEST, seldom=key in SELDOM)
            else:
                node.create_subscription(interface(topic.type), topic.name, take,
                                         qos(_KINDS.get(key, topic.qos), reliable=topic.qos != "frame"),
                                         raw=key in _NEWEST)
        self._look = node.create_timer(_LOOK_S, partial(self._look_for_compressed, node),
                                       clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _look_for_compressed(self, node: Any) -> None:
        """Subscribe to compressed pictures if no raw ones are published; republishers work only for subscribers."""
        if "color" in self._newest or node.count_publishers(self._color):
            self._look.cancel()
        elif node.count_publishers(packed := f"{self._color}/compressed"):
            self._look.cancel()
            node.create_subscription(interface(_COMPRESSED), packed, partial(self._put, _COMPRESSED),
                                     qos("frame", reliable=False), raw=True)

    def _take(self, key: str, callback: Callable[[Any], None], message: Any) -> None:
        """Handle a message. Messages that cannot be used are counted, and the page shows the count.

        Whatever a peer sends (endlessly nested JSON, a truncated message), the console handles the next one.
        """
        try:
            callback(message)
        except Exception as error:
            self.live.refused(f"{TOPICS[key].name}: {type(error).__name__}")

    def _put(self, key: str, raw: bytes) -> None:
        if key == "reconstruction":
            if len(raw) > _CLOUD_BYTES:
                raise BadFrame(f"a reconstruction of {len(raw)} bytes: the page shows none of more than {_CLOUD_BYTES}")
            self.clouds += 1
        self._newest[key] = raw
        if key in ("color", _COMPRESSED):
            self.pictures += 1
            self._ring()
        elif key == "reconstruction":
            self._ring()
        elif key != "frontiers":
            self.live.changed()

    def _transforms(self, message: Any) -> None:
        stamp = 0
        for t in message.transforms:
            transform = messages.transform_of(t)
            transform.matrix()  # raises for an invalid transform
            self._frames[t.child_frame_id], stamp = (t.header.frame_id, transform), messages.stamp_of(t)
        if stamp and (map_from_base := self._map_from_base()) is not None:
            self.live.moved(stamp, pose2_of(map_from_base))

    def _map_from_base(self) -> Transform | None:
        """Return the robot's pose from the newest transform of each link; None while a link is missing."""
        frame, result = self._names.base_frame, Transform.identity()
        for _ in range(_CHAIN):
            if frame == self._names.map_frame:
                return result
            if frame not in self._frames:
                return None
            frame, parent_from_child = self._frames[frame]
            result = compose(parent_from_child, result)
        return None

    def _question(self, message: Any) -> None:
        self.live.began(str(message.data))

    def _answer(self, message: Any) -> None:
        self.live.answered(messages.answer_of(message))

    def _decision(self, message: Any) -> None:
        raw = self._newest.get("frontiers")
        frontiers = messages.frontiers_of(_message("frontiers", raw)) if raw else ()
        self.live.decided(messages.decision_of(message)._replace(frontiers=frontiers))

    def _call(self, message: Any) -> None:
        self.live.called(messages.call_of(message))

    def _inquiry(self, message: Any) -> None:
        inquiry = messages.inquiry_of(message)
        self.live.asks(inquiry)
        self.inquired(inquiry)

    def _episode(self, message: Any) -> None:
        self.place = str(message.scene) or self.place
        for key in ("map", "explored", "frontiers", "reconstruction"):  # drop older ones: newer ones may arrive first
            if key in self._newest and messages.stamp_in(self._newest[key]) < messages.stamp_of(message):
                del self._newest[key]
        self.live.began("")
        self.episodes.set()

    def _keyframe(self, message: Any) -> None:
        self.live.saw(messages.keyframe_of(message))


def _message(key: str, raw: bytes) -> Any:
    return deserialize_message(raw, interface(TOPICS[key].type))
