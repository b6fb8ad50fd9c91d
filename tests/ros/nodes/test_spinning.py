"""Executors: what they pass on, and that an entity destroyed between being found ready and its turn is left out."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import TimeoutException
from rclpy.qos import QoSProfile

from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.spinning import OneThread, Threads, spin
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


def test_whatever_a_spinning_node_gets_is_served(ros: Any) -> None:
    """Messages take the short way, everything else rclpy's; what is created or destroyed meanwhile is noticed."""
    node, heard = ros.plain_node("listener"), list[str]()
    executor = OneThread(context=node.context)
    executor.add_node(node)
    out = {name: node.create_publisher(interface(STRING), name, 5) for name in ("early", "late")}
    node.create_subscription(interface(STRING), "early", lambda message: heard.append("early " + message.data), 5)
    node.create_timer(0.05, lambda: heard.append("timer"))
    node.create_service(interface("std_srvs/srv/Trigger"), "asked", lambda request, response: response)
    thread = threading.Thread(target=spin, args=(executor,), daemon=True)
    thread.start()
    client = node.create_client(interface("std_srvs/srv/Trigger"), "asked")
    assert client.wait_for_service(10.0)
    late = node.create_subscription(
        interface(STRING), "late", lambda message, info: heard.append(f"late at {min(info['source_timestamp'], 1)}"), 5)

    def said(words: str, topic: str, data: str) -> bool:
        out[topic].publish(interface(STRING)(data=data))
        return words in heard

    assert holds(lambda: said("early one", "early", "one"))
    assert holds(lambda: said("late at 1", "late", "two"))
    answer = client.call_async(interface("std_srvs/srv/Trigger").Request())
    assert holds(answer.done) and holds(lambda: heard.count("timer") > 2)
    node.destroy_subscription(late)
    assert holds(lambda: said("early three", "early", "three"))
    executor.shutdown()
    thread.join(10.0)
    assert not thread.is_alive()


def test_an_error_of_a_callback_ends_the_spinning(ros: Any) -> None:
    node = ros.plain_node("listener")
    executor, out = OneThread(context=node.context), node.create_publisher(interface(STRING), "words", 5)
    executor.add_node(node)
    node.create_subscription(interface(STRING), "words", lambda message: {}["absent"], 5)
    failed = list[str]()

    def run() -> None:
        try:
            spin(executor)
        except KeyError as error:
            failed.append(str(error))

    threading.Thread(target=run, daemon=True).start()

    def fails() -> bool:
        out.publish(interface(STRING)(data="one"))
        return failed == ["'absent'"]

    assert holds(fails)
    executor.shutdown()
