"""Executors that spin in their own thread until ROS shuts down."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from itertools import chain
from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError, WaitSet
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.subscription import Subscription
from rclpy.waitable import NumberOfEntities

INFORMS = hasattr(Subscription, "CallbackType")  # False for Humble's rclpy, which passes only the message
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
    """rclpy's executor with one thread, for nodes that destroy entities while they spin.

    `spin` passes messages on itself, in a third of the time: rclpy looks twice through all that its nodes have for each
    message, and makes a task of it. Everything else (services, timers, events, new entities) is left to rclpy.
    """

    def spin(self) -> None:
        while self._context.ok() and not self._is_shutdown:
            with ExitStack() as held:
                messages = _Messages(self, held)
                while not (others := messages.pass_on()):
                    pass
            if others and self._context.ok():
                self.spin_once(timeout_sec=0)


class _Messages:
    """Waits for the entities that an executor has now. They are not destroyed before `held` is closed."""

    def __init__(self, executor: Any, held: ExitStack) -> None:
        self._executor, nodes = executor, executor.get_nodes()
        self._guards = _held(held, (executor._guard, executor._sigint_gc))
        self._subscriptions = _held(held, chain.from_iterable(node.subscriptions for node in nodes))
        self._timers = _held(held, chain.from_iterable(node.timers for node in nodes))
        self._clients = _held(held, chain.from_iterable(node.clients for node in nodes))
        self._services = _held(held, chain.from_iterable(node.services for node in nodes))
        self._waitables = [waitable for node in nodes for waitable in node.waitables if _enters(held, waitable)]
        held.enter_context(executor.context.handle)
        count = NumberOfEntities(len(self._subscriptions), len(self._guards), len(self._timers), len(self._clients),
                                 len(self._services))
        for waitable in self._waitables:
            count += waitable.get_num_entities()
        self._set = WaitSet(count.num_subscriptions, count.num_guard_conditions, count.num_timers, count.num_clients,
                            count.num_services, count.num_events, executor.context.handle)

    def pass_on(self) -> bool:
        """Wait, pass on one message of each subscription that has one. Return whether something else is ready, or an
        entity is to be destroyed, for which this has to let go of it.
        """
        ready = self._set
        try:
            self._fill(ready)
        except InvalidHandle:
            return True
        ready.wait(-1)
        heard = set(ready.get_ready_entities("subscription"))
        for subscription in self._subscriptions:
            if subscription.handle.pointer in heard:
                _pass_on(subscription)
        return (any(ready.get_ready_entities(kind) for kind in ("guard_condition", "timer", "client", "service"))
                or any(waitable.is_ready(ready) for waitable in self._waitables))

    def _fill(self, ready: Any) -> None:
        ready.clear_entities()
        for add, entities in ((ready.add_subscription, self._subscriptions), (ready.add_guard_condition, self._guards),
                              (ready.add_timer, self._timers), (ready.add_client, self._clients),
                              (ready.add_service, self._services)):
            for entity in entities:
                add(entity.handle)
        for waitable in self._waitables:
            waitable.add_to_wait_set(ready)


def _held(held: ExitStack, entities: Iterable[Any]) -> list[Any]:
    """Return the entities that are not destroyed, and keep them from being destroyed."""
    return [entity for entity in entities if entity is not None and _enters(held, entity.handle)]


def _enters(held: ExitStack, handle: Any) -> bool:
    try:
        held.enter_context(handle)
    except InvalidHandle:
        return False
    return True


def _pass_on(subscription: Any) -> None:
    """Take a message and call the subscription's callback, as rclpy does."""
    try:
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    except InvalidHandle:  # destroyed meanwhile
        return
    if taken is not None:
        both = INFORMS and subscription._callback_type is subscription.CallbackType.WithMessageInfo
        subscription.callback(*(taken if both else taken[:1]))


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
