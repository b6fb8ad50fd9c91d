"""Nodes are tested on real rclpy, each test in a ROS domain of its own."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

_COLLECTED = 4  # tests after which contexts are collected: of a process with 32 the newest are not discovered


class Ros:
    """A context in a domain of its own; `add` spins a node in a thread until the test ends."""

    closed: ClassVar[int] = 0

    def __init__(self, domain: int) -> None:
        import rclpy
        from rclpy.context import Context

        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self._threads: list[threading.Thread] = []
        self._nodes: list[Any] = []

    def add(self, make: Callable[..., Any], **parameters: Any) -> Any:
        """Make a node of the graph with parameter overrides and spin it."""
        from rclpy.parameter import Parameter

        from eqa_nodes.ros.node import executor_of

        overrides = [Parameter(name.replace("__", "."), value=value) for name, value in parameters.items()]
        node = make(context=self.context, parameter_overrides=overrides)
        self._nodes.append(node)
        if node.config.node.autostart:
            node.bring_up()
        self.spin(executor_of(node))
        return node

    def spin(self, executor: Any) -> None:
        """Spin an executor in a thread."""
        from eqa_nodes.ros.spinning import spin

        thread = threading.Thread(target=spin, args=(executor,), daemon=True)
        thread.start()
        self._threads.append(thread)

    def plain_node(self, name: str) -> Any:
        """Make a node of the test's own, which the test spins."""
        from rclpy.node import Node

        node = Node(name, context=self.context)
        self._nodes.append(node)
        return node

    def plain(self, name: str) -> Any:
        """Make and spin a node of the test's own."""
        from rclpy.executors import SingleThreadedExecutor

        node = self.plain_node(name)
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(node)
        self.spin(executor)
        return node

    def close_node(self, name: str) -> None:
        """End one node, as its process would: it is not spun any more, and gone."""
        node = next(one for one in self._nodes if one.get_name() == name)
        self._nodes.remove(node)
        if node.executor is not None:
            node.executor.remove_node(node)
        node.destroy_node()

    def close(self) -> None:
        """End everything: a node that is only stopped still gives its latched messages to the next test's nodes."""
        import rclpy

        rclpy.try_shutdown(context=self.context)
        for thread in self._threads:
            thread.join(3.0)
        for node in self._nodes:
            node.destroy_node()
        Ros.closed += 1
        if Ros.closed % _COLLECTED == 0:
            gc.collect()


@pytest.fixture
def ros() -> Iterator[Ros]:
    """A ROS context nobody else hears."""
    from eqa_nodes.ros.environment import free_domain

    with free_domain() as domain:
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        context = Ros(domain)
        yield context
        context.close()
