"""The base of every node: parameters from its config, wiring from its row of the graph, counters, a clean end."""

from __future__ import annotations

import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import Header

from eqa_nodes.core.errors import ConfigError, EqaError, ErrorCode
from eqa_nodes.graph import ACTIONS, NODES, SERVICES, TOPICS
from eqa_nodes.parameters import ROS_OWN, build, leaves
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.settings import SETTINGS


class EqaNode(Node):
    """A node of the graph; `name` is its row."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, start_parameter_services=True, **kwargs)
        self.spec = NODES[name]
        self.config: Any = self._declare()
        self.counts: Counter[str] = Counter()
        self.data_group = MutuallyExclusiveCallbackGroup()
        self.call_group = ReentrantCallbackGroup()
        self._publishers_by_key: dict[str, Any] = {}
        self._remotes: Remotes | None = None
        self._started = self.create_publisher(Header, TOPICS["started"].name, qos(TOPICS["started"].qos))
        self._started.publish(Header(stamp=rclpy.clock.Clock().now().to_msg(), frame_id=name))
        self._diagnostics = self.create_publisher(DiagnosticArray, TOPICS["diagnostics"].name, qos("event"))
        self._reported: Counter[str] = Counter()
        self.create_timer(1.0, self._report_counts, clock=rclpy.clock.Clock())

    def _declare(self) -> Any:
        """Declare every setting as a parameter. Raises ConfigError for an override that is none (rclpy would not)."""
        name = self.get_name()
        overrides = {key: p.value for key, p in self._parameter_overrides.items() if key not in ROS_OWN}
        config: Any = build(SETTINGS[name], overrides, name)
        for key, value in leaves(config):
            self.declare_parameter(key, value, ignore_override=True)
        return config

    def out(self, key: str) -> Any:
        """Return the publisher of a topic in this node's row (made at the first call)."""
        if key not in self._publishers_by_key:
            self._allowed(key, self.spec.publishes, "publish")
            topic = TOPICS[key]
            self._publishers_by_key[key] = self.create_publisher(interface(topic.type), topic.name, qos(topic.qos))
        return self._publishers_by_key[key]

    def hear(self, key: str, callback: Callable[[Any], None], raw: bool = False) -> None:
        """Subscribe to a topic in this node's row."""
        self._allowed(key, self.spec.subscribes + self.spec.frames, "subscribe to")
        self._subscribe(key, callback, raw)

    def _subscribe(self, key: str, callback: Callable[[Any], None], raw: bool = False) -> None:
        topic = TOPICS[key]
        profile = qos(topic.qos, topic.qos != "frame" or self.config.node.reliable_camera)
        self.create_subscription(interface(topic.type), topic.name, self._delayed(callback), profile,
                                 callback_group=self.data_group, raw=raw)

    def serve(self, key: str, callback: Callable[[Any, Any], Any]) -> None:
        """Offer a service of this node's row; EqaError raised by the callback is reported in the response."""
        self._allowed(key, self.spec.serves, "serve")

        def guarded(request: Any, response: Any) -> Any:
            try:
                return callback(request, response)
            except EqaError as error:
                return convert.report(response, error)
            except Exception as error:  # a node must answer: the caller waits
                self.get_logger().error(f"{key}: {traceback.format_exc()}")
                response.error_code, response.error_message = int(ErrorCode.INTERNAL), f"{self.get_name()}: {error!r}"
                return response

        group = self.call_group if self.spec.threads > 1 else self.data_group
        port = SERVICES[key]
        self.create_service(interface(port.type), port.name, self._delayed(guarded), callback_group=group)

    def remote(self, key: str) -> Any:
        """Return a client of a service or an action in this node's row."""
        self._allowed(key, self.spec.calls, "call")
        if self._remotes is None:
            self._remotes = Remotes(self)
        return self._remotes.action(key) if key in ACTIONS else self._remotes.service(key)

    def send(self, key: str, message: Any) -> None:
        """Publish; when the middleware cannot take more, that is counted (the observation is then shown again)."""
        try:
            self.out(key).publish(message)
        except RCLError as error:
            self.count(f"{key} not published: {error}")

    def count(self, reason: str) -> None:
        """Count something that was dropped or refused; shown in the log and on /diagnostics."""
        self.counts[reason] += 1
        if self.counts[reason] in (1, 10, 100, 1000):
            self.get_logger().warning(f"{reason} ({self.counts[reason]} so far)")

    def _delayed(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        delay = self.config.node.test_delay_s
        if not delay:
            return callback

        def late(*args: Any) -> Any:
            time.sleep(delay)
            return callback(*args)

        return late

    def _allowed(self, key: str, row: tuple[str, ...], verb: str) -> None:
        if key not in row:
            known = ", ".join(row) or "none"
            raise ConfigError(f"{self.get_name()} may not {verb} {key!r}: its row in graph.py has {known}")

    def _report_counts(self) -> None:
        if self.counts == self._reported:
            return
        self._reported = self.counts.copy()
        values = [KeyValue(key=k, value=str(v)) for k, v in sorted(self.counts.items())]
        status = DiagnosticStatus(level=DiagnosticStatus.WARN, name=self.get_fully_qualified_name(),
                                  message="observations or requests were refused", values=values)
        stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(DiagnosticArray(header=Header(stamp=stamp), status=[status]))


def executor_of(node: EqaNode) -> Any:
    """Return an executor as the node's row wants it, with the node added."""
    if node.spec.threads > 1:
        executor: Any = MultiThreadedExecutor(node.spec.threads, context=node.context)
    else:
        executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    return executor


def spin(executor: Any) -> None:
    """Spin until the context ends, also when that happens in the middle of a callback."""
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException, ROSInterruptException):
        return
    except (InvalidHandle, RCLError):  # the end takes publishers and clients away from callbacks that still run
        if executor.context.ok():
            raise


def run_node(node_class: Callable[[], EqaNode], args: list[str] | None = None) -> int:
    """Run one node until SIGINT or SIGTERM; a configuration error is one clear line and exit code 2."""
    rclpy.init(args=args)
    signal.signal(signal.SIGTERM, lambda *_: rclpy.try_shutdown())
    try:
        node = node_class()
    except ConfigError as error:
        print(f"eqa: {error}")
        rclpy.try_shutdown()
        return 2
    executor = executor_of(node)
    spin(executor)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # ending already; a second Ctrl-C must not tear the bag
    executor.shutdown(timeout_sec=2.0)
    node.destroy_node()
    rclpy.try_shutdown()
    return 0
