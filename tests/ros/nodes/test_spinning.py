"""An entity that is destroyed between the moment it is found ready and its turn is left out."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import TimeoutException
from rclpy.qos import QoSProfile

from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.spinning import OneThread, Threads
from eqa_nodes.testing.waiting import holds

STRING, BEST_EFFORT = "std_msgs/msg/String", QoSProfile(depth=5, reliability=2)


@pytest.mark.parametrize("kind", [OneThread, Threads])
@pytest.mark.parametrize("event", [False, True], ids=["a message", "an event"])
def test_a_destroyed_subscription_has_no_turn_and_its_group_goes_on(ros: Any, kind: type, event: bool) -> None:
    node, group, heard = ros.plain_node("listener"), MutuallyExclusiveCallbackGroup(), list[str]()
    out = node.create_publisher(interface(STRING), "words", BEST_EFFORT if event else 5)
    gone = node.create_subscription(
        interface(STRING), "words", lambda message: None, 5, callback_group=group,
        event_callbacks=SubscriptionEventCallbacks(incompatible_qos=lambda info: None))
    executor = kind(context=node.context)
    executor.add_node(node)
    ready = of_the_group(executor, group, lambda: out.publish(interface(STRING)(data="one")))
    node.destroy_subscription(gone)
    ready()
    assert ready.done() and ready.exception() is None and group.can_execute(gone)
    node.create_subscription(interface(STRING), "words", lambda message: heard.append(message.data), BEST_EFFORT,
                             callback_group=group)

    def hears() -> bool:
        out.publish(interface(STRING)(data="two"))
        executor.spin_once(timeout_sec=0.1)
        return "two" in heard

    assert holds(hears)
    executor.shutdown()


def of_the_group(executor: Any, group: Any, say: Callable[[], object]) -> Any:
    """Return the task of the first entity of a group that is found ready, before it has its turn.

    say: publishes, again and again, since a publisher and a subscription may not know each other at once.
    """
    found = []

    def ready() -> bool:
        say()
        with suppress(TimeoutException):
            task, entity, _ = executor.wait_for_ready_callbacks(timeout_sec=0.2)
            if entity.callback_group is group:
                found.append(task)
            else:
                task()
        return bool(found)

    assert holds(ready)
    return found[0]
