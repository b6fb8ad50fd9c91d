"""Faults of the wire for drills: messages lost, doubled or late on their way into a node, as its `node.test_*` say.

Without `node.test_seed` there is nothing of this in a node. With it the shares and delays can be set while it runs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock

_TICK_S = 0.02  # how exactly late messages are late


class Injection:
    """Stands between a node's subscriptions and its callbacks. Drawn from one generator, seeded with the node's name.

    The same messages in the same order meet the same faults.
    """

    def __init__(self, node: Any) -> None:
        self._node, self._seed = node, node.config.node.test_seed
        self._dice = self._seeded()
        self._held: list[tuple[float, Callable[..., Any], tuple[Any, ...]]] = []
        node.create_timer(_TICK_S, self._deliver, callback_group=node.data_group, clock=Clock())

    def wrap(self, key: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callback of a topic that loses, doubles and holds back messages before `callback` gets them."""
        def faulty(*message: Any) -> None:
            now = self._node.config.node
            if now.test_seed != self._seed:
                self._seed = now.test_seed
                self._dice = self._seeded()
            late_s = now.test_tf_delay_s if key == "tf" else 0.0
            if self._dice.random() < now.test_lose_share:
                return
            if self._dice.random() < now.test_late_share:
                late_s = max(late_s, now.test_late_s)
            for _ in range(2 if self._dice.random() < now.test_duplicate_share else 1):
                if late_s:
                    self._held.append((time.monotonic() + late_s, callback, message))
                else:
                    callback(*message)

        return faulty

    def _deliver(self) -> None:
        now = time.monotonic()
        due = [held for held in self._held if held[0] <= now]
        self._held = [held for held in self._held if held[0] > now]
        for _, callback, message in due:
            callback(*message)

    def _seeded(self) -> random.Random:
        return random.Random(f"{self._seed}/{self._node.get_name()}")
