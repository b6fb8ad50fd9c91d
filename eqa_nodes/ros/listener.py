"""A second node that hears topics for a first one, in a thread of its own."""

from __future__ import annotations

import threading

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from eqa_nodes.ros.hearing import AdaptiveSubscriptions
from eqa_nodes.ros.spinning import spin


class ListenerNode:
    """`NAME_listener` beside the node NAME, with subscriptions and nothing else; its callbacks never overlap.

    rclpy's executors look through all that a node has for each message, and a listener node has little: docs/decisions.md has
    the figures. And it hears while callbacks of the first node wait.
    """

    def __init__(self, node: Node) -> None:
        name = f"{node.get_name()}_listener"
        self.node = Node(name, context=node.context, namespace=node.get_namespace(), enable_rosout=False,
                         start_parameter_services=False,
                         cli_args=["--ros-args", "-r", f"__node:={name}"])  # a launch file names all nodes of a process
        self.hearing = AdaptiveSubscriptions(self.node)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self.node)
        threading.Thread(target=spin, args=(self._executor,), daemon=True).start()

    def close(self) -> None:
        """Hear no more."""
        self._executor.shutdown(timeout_sec=1.0)
        self.node.destroy_node()
