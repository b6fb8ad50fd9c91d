"""The base of every node: lifecycle, parameters, interfaces from its row of the graph, counters, clean shutdown.

Nodes configure and activate themselves at start, or at the request of a lifecycle manager. An inactive node receives
latched messages only, and refuses requests with a named error.
"""

from __future__ import annotations

import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar

import rclpy
from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import default_handle_accepted_callback
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from std_msgs.msg import Header

from eqa_nodes.config.nodes import Settings
from eqa_nodes.core.camera.jumps import FutureStampFilter
from eqa_nodes.core.clocks import boot_ns
from eqa_nodes.core.errors import ConfigError, EqaError, ErrorCode, NodeLost
from eqa_nodes.ros import convert
from eqa_nodes.ros.actions import ConcurrentActionServer, answer_patiently, service_qos
from eqa_nodes.ros.diagnostics import INFORMS, Diagnostics
from eqa_nodes.ros.interfaces import QUIET_PUBLISHER, QUIET_SUBSCRIPTION, interface, qos
from eqa_nodes.ros.parameters import declare
from eqa_nodes.ros.rates import ClockAlarm
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.ros.run import HeldName, announcement
from eqa_nodes.ros.spinning import OneThread, Threads, taking_back
from eqa_nodes.ros.subscriptions import AdaptiveSubscriptions, ListenerNode, Take, message_alone
from eqa_nodes.wire.graph import ACTIONS, CAMERA_TOPICS, FOREIGN, NODES, SELDOM, SERVICES, TOPICS, Topic

FAULTS = "EQA_FAULTS"  # names a file of faults (docs/faults.md); only drills and tests set it
ACKED_S = 1.0  # deadline for subscribers to receive all messages before their publisher is destroyed
REASONS, OTHER = 100, "for another reason"  # at most 100 reasons are counted separately: some contain numbers
ConfigT = TypeVar("ConfigT", bound=Settings)


class ManagedNode(LifecycleNode):
    """A lifecycle node with four hooks: configure, activate, deactivate, release."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.configured = self.active = False
        self._failure: Exception | None = None
        self._lasting: set[Any] = set()  # entities that exist also while unconfigured

    def configure(self) -> None:
        """Create the node's publishers, servers and files. An EqaError leaves it unconfigured."""

    def activate(self) -> None:
        """Start the node's own work, such as timers and threads."""

    def deactivate(self) -> None:
        """End the work that `activate` started."""

    def release(self) -> None:
        """Close everything that is not a ROS entity of this node: files, threads, other nodes."""

    def bring_up(self) -> None:
        """Configure and activate. Raises the error of a failed transition."""
        self._failure = None
        if self.trigger_configure() is TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()
        if self._failure is not None:
            raise self._failure

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._lasting = set(self._entities())
        self.configured = True
        return self._transition(self.configure, otherwise=self._clean)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.active = True
        return self._transition(self.activate, otherwise=self.halt)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._transition(self.halt)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._transition(self._clean)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._transition(self._finish)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._transition(self._finish)

    def _transition(self, work: Callable[[], None], otherwise: Callable[[], None] = lambda: None) -> Any:
        """Do the work of a transition; if it fails, undo it and log the error."""
        try:
            work()
        except Exception as error:  # rclpy would ignore it silently
            expected = isinstance(error, EqaError)
            self.get_logger().error(str(error) if expected else traceback.format_exc())
            otherwise()
            self._failure = error
            return TransitionCallbackReturn.FAILURE if expected else TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS

    def halt(self) -> None:
        """Deactivate the node if it is active."""
        if self.active:
            self.active = False
            self.deactivate()

    def _finish(self) -> None:
        self.halt()
        self._clean()

    def _clean(self) -> None:
        """Destroy everything that was created since the node was unconfigured."""
        self.close()
        taking_back(self)
        for entity, destroy in self._entities().items():
            if entity not in self._lasting:
                destroy(entity)

    def _entities(self) -> dict[Any, Callable[[Any], object]]:
        """Return the ROS entities of this node, each with the function that destroys it."""
        actions = [one for one in self.waitables if isinstance(one, (ActionServer, ActionClient))]
        kinds: list[tuple[Iterable[Any], Callable[[Any], object]]] = [
            (actions, lambda action: action.destroy()), (self.publishers, self.destroy_publisher),
            (self.subscriptions, self.destroy_subscription), (self.clients, self.destroy_client),
            (self.services, self.destroy_service), (self.timers, self.destroy_timer)]
        return {entity: destroy for entities, destroy in kinds for entity in entities}

    def close(self) -> None:
        """Release everything that is not a ROS entity, once; works also after ROS has shut down."""
        if self.configured:
            self.configured = False
            self.release()

    def destroy_node(self) -> None:
        """End the node in any state."""
        self.close()
        taking_back(self)
        super().destroy_node()


class EqaNode(ManagedNode, Generic[ConfigT]):
    """A node of the graph; `row` names its row there."""

    row: str
    _listener: ListenerNode | None = None  # also if __init__ has failed
    _adaptive: AdaptiveSubscriptions | None = None
    _name_held: HeldName | None = None

    def __init__(self, **kwargs: Any) -> None:
        """Raises ConfigError for wrong parameters, and if a node of this name is already running."""
        super().__init__(self.row, start_parameter_services=True, **kwargs)
        self._name_held = HeldName(self.get_fully_qualified_name(), self.context.get_domain_id())
        self.spec = NODES[self.row]
        self.config: ConfigT = declare(self)  # read it at each use: `ros2 param set` replaces it
        self.counts: Counter[str] = Counter()
        self.data_group = MutuallyExclusiveCallbackGroup()
        self.call_group = ReentrantCallbackGroup()
        self._publishers_by_key: dict[str, Any] = {}
        self._remotes: Remotes | None = None
        self._started = self.create_publisher(Header, TOPICS["started"].name, qos(TOPICS["started"].qos))
        self.clocks = ClockAlarm(self.config.node.tf.time_jump_s)
        self.diagnostics = Diagnostics(self)
        self._faults = _faults_of(self)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        result = super().on_activate(state)
        if self.active:
            self._started.publish(Header(stamp=rclpy.clock.Clock().now().to_msg(),
                                         frame_id=announcement(self.row, boot_ns())))
        return result

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._publishers_by_key, self._remotes, self._adaptive = {}, None, None  # the earlier ones were destroyed
        self.diagnostics.clear()
        return super().on_configure(state)

    def _clean(self) -> None:
        super()._clean()
        self._close_listener()

    def destroy_node(self) -> None:
        super().destroy_node()
        self._close_listener()
        if self._name_held is not None:
            self._name_held.close()

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    @property
    def wall(self) -> Callable[[], int] | None:
        """The clock, ns, that stamps may not be ahead of; None if time is simulated, as its sender may set any time."""
        return None if self.get_parameter("use_sim_time").value else time.time_ns

    def steady_s(self) -> float:
        """Return seconds of the monotonic clock or, if the node uses it, of simulated time, which may stand still."""
        if self.get_parameter("use_sim_time").value:
            return self.get_clock().now().nanoseconds / 1e9
        return time.monotonic()

    def future_watch(self, what: str = "a message") -> Callable[[int], bool]:
        """Return a function that says whether a stamp of one sender is an outlier in the future. what: its message."""
        watch, wall = FutureStampFilter(self.config.node.tf.time_jump_s), self.wall
        if wall is None:
            return lambda stamp_ns: False

        def stray(stamp_ns: int) -> bool:
            ahead = watch.stray(stamp_ns, wall())
            if ahead:
                self.clocks.stray(what)
            return ahead

        return stray

    def reconfigured(self, old: ConfigT, new: ConfigT) -> None:
        """Pass new settings to objects that store them; self.config is `old` until this returns.

        An EqaError refuses the settings; then nothing may have changed.
        """

    def out(self, key: str) -> Any:
        """Return the publisher of a topic in this node's row (created at the first call)."""
        if key not in self._publishers_by_key:
            self._allowed(key, self.spec.publishes, "publish")
            topic = TOPICS[key]
            self._publishers_by_key[key] = self.create_publisher(
                interface(topic.type), topic.name, qos(topic.qos), event_callbacks=QUIET_PUBLISHER)
        return self._publishers_by_key[key]

    def recreate_publisher(self, key: str) -> None:
        """Create a topic's publisher again, so that late subscribers receive no earlier messages."""
        publisher = self.out(key)
        publisher.wait_for_all_acked(Duration(seconds=ACKED_S))
        self.destroy_publisher(self._publishers_by_key.pop(key))
        self.out(key)

    def subscribe(self, key: str, callback: Callable[[Any], None], raw: bool = False) -> None:
        """Subscribe to a topic in this node's row."""
        self._allowed(key, self.spec.subscribes + self.spec.frames, "subscribe to")
        self._subscribe(key, callback, raw)

    def subscribe_any_type(self, topic: Topic, take: Take) -> None:
        """Subscribe to a foreign topic of any type. take: called with each message and rclpy's message info."""
        self._adaptive = self._adaptive or AdaptiveSubscriptions(self, self.data_group)
        self._adaptive.subscribe(topic, take)

    def _subscribe(self, key: str, callback: Callable[[Any], None], raw: bool = False) -> None:
        topic = TOPICS.get(key) or CAMERA_TOPICS[key]
        counting = self.diagnostics.watched(topic, self._faulty(key, callback), raw)
        if key in self.spec.apart:
            self._listener = self._listener or ListenerNode(self)
            node, adaptive, group = self._listener.node, self._listener.adaptive, None
        else:
            self._adaptive = self._adaptive or AdaptiveSubscriptions(self, self.data_group)
            node, adaptive, group = self, self._adaptive, self.data_group
        if key in FOREIGN:
            take = counting if INFORMS else message_alone(counting)
            adaptive.subscribe(topic, take, raw, seldom=key in SELDOM)
        else:
            node.create_subscription(interface(topic.type), topic.name, counting, qos(topic.qos), callback_group=group,
                                     raw=raw, event_callbacks=QUIET_SUBSCRIPTION)

    def serve(self, key: str, callback: Callable[[Any, Any], Any]) -> None:
        """Offer a service of this node's row; an EqaError of the callback is reported in the response."""
        self._allowed(key, self.spec.serves, "serve")

        def guarded(request: Any, response: Any) -> Any:
            try:
                if not self.active:
                    raise NodeLost(f"{self.get_name()} is not active: ros2 lifecycle set "
                                   f"{self.get_fully_qualified_name()} activate")
                return callback(request, response)
            except EqaError as error:
                return convert.report(response, error)
            except Exception as error:  # a node must answer: the caller waits
                self.get_logger().error(f"{key}: {traceback.format_exc()}")
                return convert.report(response, convert.RemoteError(ErrorCode.INTERNAL,
                                                                    f"{self.get_name()}: {error!r}"))

        answering = guarded if self._faults is None else self._faults.slow(self._faults.unheard(key, guarded))
        group = self.call_group if self.spec.threads > 1 else self.data_group
        port = SERVICES[key]
        service = self.create_service(interface(port.type), port.name, self.diagnostics.timed(port.name, answering),
                                      callback_group=group, qos_profile=service_qos())
        answer_patiently(service)
        if self._faults is not None:
            self._faults.mute(service)

    def offer(self, key: str, execute: Callable[[Any], Any], cancel: Callable[[Any], None],
              accepted: Callable[[Any], None] = default_handle_accepted_callback) -> None:
        """Offer an action of this node's row. An inactive node rejects goals.

        cancel: called for each goal that is cancelled; accepted: starts its execution, by default at once.
        """
        self._allowed(key, self.spec.serves, "serve")

        def canceled(handle: Any) -> CancelResponse:
            cancel(handle)
            return CancelResponse.ACCEPT

        port = ACTIONS[key]
        server = ConcurrentActionServer(
            self, interface(port.type), port.name, execute, callback_group=self.call_group,
            goal_callback=lambda _: GoalResponse.ACCEPT if self.active else GoalResponse.REJECT,
            handle_accepted_callback=accepted, cancel_callback=canceled)
        self.inject_faults(key, server)

    def inject_faults(self, key: str, server: ConcurrentActionServer) -> None:
        """In a drill, make an action server lose the configured requests and results."""
        if self._faults is not None:
            self._faults.deafen(key, server)

    def remote(self, key: str) -> Any:
        """Return a client of a service or an action in this node's row."""
        self._allowed(key, self.spec.calls, "call")
        if self._remotes is None:
            self._remotes = Remotes(self)
        return self._remotes.action(key) if key in ACTIONS else self._remotes.service(key)

    def send(self, key: str, message: Any) -> bool:
        """Publish a message, in the robot's own map frame; return whether the middleware has accepted it.

        One that it cannot accept is counted (the observation is then published again).
        """
        try:
            self.out(key).publish(convert.in_frame(message, self.config.node.tf.map_frame))
            return True
        except (RCLError, InvalidHandle) as error:
            if self.context.ok():  # otherwise the shutdown destroyed the publisher
                self.count(f"{key} not published: {error}")
            return False

    def count(self, reason: str) -> None:
        """Count a dropped or refused input by its reason; shown in the log and on /diagnostics."""
        if reason not in self.counts and len(self.counts) >= REASONS:
            reason = OTHER
        self.counts[reason] += 1
        if self.counts[reason] in (1, 10, 100, 1000):
            self.get_logger().warning(f"{reason} ({self.counts[reason]} so far)")

    def _faulty(self, key: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return the callback of a topic, in a drill wrapped with its faults."""
        return callback if self._faults is None else self._faults.slow(self._faults.wrap(key, callback))

    def _allowed(self, key: str, row: tuple[str, ...], verb: str) -> None:
        if key not in row:
            known = ", ".join(row) or "none"
            raise ConfigError(f"{self.get_name()} may not {verb} {key!r}: its row in graph.py has {known}")


def _faults_of(node: EqaNode[Any]) -> Any:
    """Return the fault injection of a node in a drill; None without the environment variable."""
    if not (path := os.environ.get(FAULTS)):
        return None
    from eqa_nodes.ros.faults import Injection

    return Injection(node, Path(path))


def executor_of(node: EqaNode) -> Any:
    """Return an executor with the number of threads in the node's row, with the node added."""
    if node.spec.threads > 1:
        executor: Any = Threads(node.spec.threads, context=node.context)
    else:
        executor = OneThread(context=node.context)
    executor.add_node(node)
    return executor
