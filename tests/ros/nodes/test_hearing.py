"""Whatever quality of service a robot's drivers offer, now or when they come late, every node hears them, and once."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message

from eqa_nodes.nodes.agent import AgentNode
from eqa_nodes.nodes.explorer import ExplorerNode
from eqa_nodes.nodes.mapper import MapperNode
from eqa_nodes.nodes.memory import MemoryNode
from eqa_nodes.nodes.nav2_navigator import Nav2NavigatorNode
from eqa_nodes.nodes.navigator import NavigatorNode
from eqa_nodes.nodes.recorder import RecorderNode
from eqa_nodes.ros.diagnostics import Diagnostics
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.subscriptions import INFORMS, OfferedQos
from eqa_nodes.testing.waiting import holds
from eqa_nodes.wire.graph import CAMERA_TOPICS, FOREIGN, TOPICS

OFFERS = [OfferedQos(reliable, latched) for reliable in (True, False) for latched in (True, False)]


class Listeners:
    """What reaches the callbacks of nodes: marks of messages by node and key of the topic."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._lock = threading.Lock()
        self.marks: dict[tuple[str, str], list[str]] = {}
        self.now = ""  # the mark of what has no room for one
        monkeypatch.setattr(EqaNode, "_faulty", lambda node, key, _: self._of(node.get_name(), key))
        # what reaches a node counts, also before it is active and takes it in: what is latched comes only once
        monkeypatch.setattr(Diagnostics, "watched", lambda diagnostics, topic, callback, raw:
                            (lambda message, info: callback(message)) if INFORMS else callback)

    def _of(self, node: str, key: str) -> Callable[[Any], None]:
        if key in FOREIGN:
            self.marks[node, key] = []
        return partial(self.put, node, key)

    def put(self, node: str, key: str, message: Any) -> None:
        data = message if isinstance(message, bytes) else serialize_message(message)
        with self._lock:
            if key in FOREIGN:
                self.marks[node, key].append(_mark(data) or self.now)

    def deaf(self, mark: str, *keys: str) -> set[tuple[str, str]]:
        """Return who has not heard a message whose mark begins so. keys: of these topics, () = of all."""
        with self._lock:
            return {who for who, heard in self.marks.items()
                    if who[1] in (keys or FOREIGN) and not any(one.startswith(mark) for one in heard)}

    def twice(self) -> dict[tuple[str, str], list[str]]:
        """Return what was heard more than once."""
        with self._lock:
            counted = {who: [mark for mark, n in Counter(heard).items() if n > 1]
                       for who, heard in self.marks.items() if who[1] != "stop"}
        return {who: marks for who, marks in counted.items() if marks}


def _mark(data: bytes) -> str:
    """Return the mark in a serialized message, "" where its type has no room for one."""
    begin = data.find(b"<")
    return data[begin + 1:data.index(b">")].decode() if begin >= 0 else ""


def _marked(key: str, mark: str) -> Any:
    topic = TOPICS.get(key) or CAMERA_TOPICS[key]
    message, kind = interface(topic.type)(), topic.type.rpartition("/")[2]
    if kind == "TFMessage":
        message.transforms.append(interface("geometry_msgs/msg/TransformStamped")())
        message.transforms[0].header.frame_id = f"<{mark}>"
    elif kind != "Bool":
        message.header.frame_id = f"<{mark}>"
    return message


class Drivers:
    """Publishers of all topics of a robot, all with one offer; they come, go, and come again with another."""

    def __init__(self, node: Any, keys: set[str]) -> None:
        self._node, self._keys, self._number = node, sorted(keys), itertools.count()
        self._out: list[tuple[str, Any]] = []

    def come(self, offer: OfferedQos) -> None:
        for key in self._keys:
            topic = TOPICS.get(key) or CAMERA_TOPICS[key]
            self._out.append((key, self._node.create_publisher(interface(topic.type), topic.name, _profile(offer))))

    def say(self, mark: str) -> None:
        for key, out in self._out:
            out.publish(_marked(key, f"{mark}{next(self._number)}"))

    def go(self) -> None:
        while self._out:
            self._node.destroy_publisher(self._out.pop()[1])


def _profile(offer: OfferedQos) -> QoSProfile:
    return QoSProfile(depth=5, reliability=1 if offer.reliable else 2, durability=1 if offer.latched else 2)


def _start(ros: Any, folder: Path) -> None:
    """Start one of every node that hears a robot, so that together they hear all that one may publish."""
    seen = ("align", "compressed", "compressed_depth")
    both = {f"node__{camera}__{name}": True for camera in ("camera", "second_camera") for name in seen}
    ros.add(MapperNode, node__second_camera__present=True)
    ros.add(MemoryNode, folder=str(folder / "memory"), node__second_camera__present=True)
    ros.add(RecorderNode, folder=str(folder / "bags"), **both, node__second_camera__present=True)
    ros.add(AgentNode, odometry="topics", simulator=False, observers=["mapper"])
    for make in (ExplorerNode, NavigatorNode, Nav2NavigatorNode):
        ros.add(make)


def _heard(ears: Listeners, mark: str, driver: Drivers | None = None) -> None:
    """Wait until everybody has heard a message of this mark; a driver says it again and again."""
    ears.now = mark

    def all_heard() -> bool:
        if driver is not None:
            driver.say(mark)
        return not ears.deaf(mark)

    assert holds(all_heard), f"{mark}: {sorted(ears.deaf(mark))} have heard nothing"


def test_every_offer_is_heard_whoever_comes_when_with_what(ros: Any, monkeypatch: pytest.MonkeyPatch,
                                                           tmp_path: Path) -> None:
    node, ears = ros.plain("robot"), Listeners(monkeypatch)
    keys = set(FOREIGN) - {"scan", "cmd_vel"}  # no node of ours hears the first, a simulated robot the other
    early, late = Drivers(node, keys), Drivers(node, keys)
    early.come(OfferedQos(reliable=True, latched=True))
    ears.now = "kept"
    early.say("kept")  # once, before anybody listens
    _start(ros, tmp_path)
    assert {key for _, key in ears.marks} == keys
    _heard(ears, "kept")
    for number, offer in enumerate(OFFERS[::-1]):
        early.go()  # each driver is started again with another offer
        early.come(offer)
        _heard(ears, f"again {number} ", early)
    for number, offer in enumerate(OFFERS):  # beside one that is reliable and keeps its last message
        late.come(offer)
        _heard(ears, f"both {number} ", late)
        _heard(ears, f"first {number} ", early)
        late.go()
    assert ears.twice() == {}
