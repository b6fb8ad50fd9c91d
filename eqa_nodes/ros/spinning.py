"""Executors that spin in their own thread until ROS shuts down."""

from __future__ import annotations

from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor

_TAKEN_BACK = "_eqa_taken_back"  # attribute of a node


class _Sparing:
    """Skips an entity that was destroyed after it became ready and before it was executed.

    rclpy raises in this case and leaves the callback group blocked: the node would receive nothing any more.
    """

    def _take_waitable(self, waitable: Any) -> Any:
        try:
            return super()._take_waitable(waitable)  # type: ignore[misc]
        except InvalidHandle:
            return None


class OneThread(_Sparing, SingleThreadedExecutor):
    """rclpy's executor with one thread, for nodes that destroy entities while they spin."""


class Threads(_Sparing, MultiThreadedExecutor):
    """rclpy's executor with several threads, for nodes that destroy entities while they spin."""


def taking_back(node: Any) -> None:
    """Note that entities of a node are destroyed while it spins: rclpy may still access one of them."""
    setattr(node, _TAKEN_BACK, True)


def spin(executor: Any) -> None:
    """Spin until the context ends, even if it ends during a callback."""
    while True:
        try:
            executor.spin()
        except (KeyboardInterrupt, ExternalShutdownException, ROSInterruptException):
            return
        except (InvalidHandle, RCLError):  # the shutdown destroys publishers and clients that callbacks still use,
            if not executor.context.ok():
                return
            nodes = executor.get_nodes()  # and a clean-up destroys an action server that rclpy still waits for
            taken_back = [node for node in nodes if getattr(node, _TAKEN_BACK, False)]
            for node in taken_back:
                setattr(node, _TAKEN_BACK, False)
            if not taken_back:
                raise
        else:
            return
