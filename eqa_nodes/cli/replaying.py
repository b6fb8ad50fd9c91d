"""What shows how far a replay through the graph is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from eqa_nodes.core.errors import NodeLost
from eqa_nodes.wire.graph import TOPICS

QUIET_S = 60.0  # a replay that reports nothing for as long is stuck: lock-step gives up earlier, with a reason


class Watch:
    """Hears how far a replay is."""

    def __init__(self, node: Any) -> None:
        from eqa_nodes.ros.interfaces import interface, qos

        topic = TOPICS["replay_status"]
        self._status: Any = None
        self._received = threading.Event()
        node.create_subscription(interface(topic.type), topic.name, self._on_status, qos(topic.qos))

    def _on_status(self, status: Any) -> None:
        self._status = status
        self._received.set()

    def until_end(self, show: Callable[[int], None]) -> Any:
        """Return the last report of the replay; raises NodeLost when there is none, or it failed."""
        while True:
            if not self._received.wait(QUIET_S):
                raise NodeLost(f"the replay has reported nothing for {QUIET_S:g} s: does it run?")
            self._received.clear()
            status = self._status
            show(next((int(v.value) for v in status.values if v.key == "shown"), 0))
            if status.message.startswith("failed"):
                raise NodeLost(f"the replay {status.message}")
            if status.message == "finished":
                return status
