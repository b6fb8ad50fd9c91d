"""A second node that subscribes to topics for a first one, in a thread of its own."""

from __future__ import annotations

import threading

from rclpy.node import Node

from eqa_nodes.ros.spinning import OneThread, spin
from eqa_nodes.ros.subscriptions import AdaptiveSubscriptions


class ListenerNode:
    """The node `NAME_listener` beside the node NAME. It only subscribes, and its callbacks never overlap.

    For each message rclpy's executors look through everything that a node has, and a listener node has little
    (docs/decisions.md has the figures). It also receives messages while callbacks of the first node wait.
    """

    def __init__(self, node: Node) -> None:
        name = f"{node.get_name()}_listener"
        self.node = Node(name, context=node.context, namespace=node.get_namespace(), enable_rosout=False,
                         start_parameter_services=False,
                         cli_args=["--ros-args", "-r", f"__node:={name}"])  # a launch file names all nodes of a process
        self.adaptive = AdaptiveSubscriptions(self.node)
        self._executor = OneThread(context=node.context)
        self._executor.add_node(self.node)
        threading.Thread(target=spin, args=(self._executor,), daemon=True).start()

    def close(self) -> None:
        """End the subscriptions and destroy the node."""
        self._executor.shutdown(timeout_sec=1.0)
        self.node.destroy_node()
