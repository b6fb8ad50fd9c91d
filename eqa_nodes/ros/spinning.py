"""An executor at work, in a thread of its own: until ROS ends."""

from __future__ import annotations

from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor

_TAKEN_BACK = "_eqa_taken_back"  # attribute of a node


class _Sparing:
    """Leaves out what was destroyed after it was found ready and before its turn.

    rclpy raises there, and its callback group then stays shut: the node would be deaf.
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
    """Say that entities of a node are destroyed while it spins: rclpy may look at one of them once more."""
    setattr(node, _TAKEN_BACK, True)


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
            taken_back = [node for node in nodes if getattr(node, _TAKEN_BACK, False)]
            for node in taken_back:
                setattr(node, _TAKEN_BACK, False)
            if not taken_back:
                raise
        else:
            return
