"""A listener outside the graph: what was acknowledged, and when (in observations) a fault is to come."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rcl_interfaces.srv import SetParameters
from rclpy.node import Node

from eqa_nodes.core.errors import NodeLost
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS

_READY_S = 120.0  # for all nodes to be discovered


class Tap:
    """Hears a graph through the node of a client. keyframes: id -> stamp; recorded: stamps; both of this episode."""

    def __init__(self, nodes: list[str]) -> None:
        self.keyframes: dict[int, int] = {}
        self.recorded: set[int] = set()
        self._seen: set[int] = set()
        self._begun_ns = self._newest_ns = 0
        self._due: dict[int, list[Callable[[], None]]] = {}
        self._nodes = nodes
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()

    def listen(self, node: Node) -> None:
        """Subscribe with the client's node, before it spins."""
        for key, take in (("keyframes", self._on_keyframe), ("acknowledged", self._on_acknowledged)):
            topic = TOPICS[key]
            node.create_subscription(interface(topic.type), topic.name, take, qos(topic.qos))
        self._clients = {name: node.create_client(SetParameters, f"/{name}/set_parameters") for name in self._nodes}

    def begin(self) -> None:
        """Forget the last episode: what comes from now on, later than all that was heard, is of the next one."""
        with self._lock:
            self._begun_ns = self._newest_ns + 1
            self.keyframes, self.recorded = {}, set()
            self._seen.clear()

    def begun(self, stamp_ns: int) -> None:
        """Hear the first stamp of the episode: what was shown between the last one and this is of neither."""
        with self._lock:
            self._begun_ns = stamp_ns
            self.recorded = {stamp for stamp in self.recorded if stamp >= stamp_ns}
            self.keyframes = {i: stamp for i, stamp in self.keyframes.items() if stamp >= stamp_ns}

    def after(self, observations: int, act: Callable[[], None]) -> None:
        """Call `act` when so many observations of the episode were taken in by anybody."""
        with self._lock:
            self._due.setdefault(observations, []).append(act)

    def calm(self) -> None:
        """Forget what was still to come."""
        with self._lock:
            self._due.clear()

    def _on_keyframe(self, message: Any) -> None:
        with self._lock:
            if messages.stamp_of(message) >= self._begun_ns:
                self.keyframes[int(message.keyframe_id)] = messages.stamp_of(message)

    def _on_acknowledged(self, header: Any) -> None:
        stamp = messages.ns_of(header.stamp)
        with self._lock:
            if stamp < self._begun_ns:
                return
            self._seen.add(stamp)
            self._newest_ns = max(self._newest_ns, stamp)
            if header.frame_id == "recorder":
                self.recorded.add(stamp)
            due = self._due.pop(len(self._seen), [])
        for act in due:
            act()

    def ready(self) -> None:
        """Return when all nodes are up. Raises NodeLost."""
        for name, client in self._clients.items():
            if not client.wait_for_service(_READY_S):
                raise NodeLost(f"{name} did not come up")
