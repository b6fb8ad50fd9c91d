"""An executor at work, in a thread of its own: until ROS ends."""

from __future__ import annotations

from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import ExternalShutdownException

from eqa_nodes.ros.managed import ManagedNode


def spin(executor: Any) -> None:
    """Spin until the context ends, also when that happens in the middle of a callback."""
    while True:
        try:
            executor.spin()
        except (KeyboardInterrupt, ExternalShutdownException, ROSInterruptException):
            return
        except (InvalidHandle, RCLError):  # the end takes publishers and clients away from callbacks that still run,
            if not executor.context.ok():
                return
            nodes = executor.get_nodes()  # and a clean-up an action's server, which rclpy then still waits for
            if not sum(node.took_back() for node in nodes if isinstance(node, ManagedNode)):
                raise
        else:
            return
