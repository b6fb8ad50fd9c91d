"""A managed node: lifecycle states and transitions as hooks. A node's entities are destroyed automatically.

Nodes configure and activate themselves as they start, or a lifecycle manager asks them to.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import Any

from rclpy.action import ActionClient, ActionServer
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from eqa_nodes.core.errors import EqaError
from eqa_nodes.ros.spinning import taking_back


class ManagedNode(LifecycleNode):
    """A lifecycle node with four hooks: configure, activate, deactivate, release."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.configured = self.active = False
        self._failure: Exception | None = None
        self._lasting: set[Any] = set()  # what is there also while unconfigured

    def configure(self) -> None:
        """Make what the node works with: publishers, servers, files. An EqaError leaves it unconfigured."""

    def activate(self) -> None:
        """Start the node's own work, such as timers and threads."""

    def deactivate(self) -> None:
        """End what runs."""

    def release(self) -> None:
        """Close what is no entity of ROS: files, threads, other nodes."""

    def bring_up(self) -> None:
        """Configure and activate. Raises what that failed of."""
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
        """Do the work of a transition; where it fails, undo and tell why."""
        try:
            work()
        except Exception as error:  # rclpy would pass over it without a word
            expected = isinstance(error, EqaError)
            self.get_logger().error(str(error) if expected else traceback.format_exc())
            otherwise()
            self._failure = error
            return TransitionCallbackReturn.FAILURE if expected else TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS

    def halt(self) -> None:
        """End what runs, if the node is active."""
        if self.active:
            self.active = False
            self.deactivate()

    def _finish(self) -> None:
        self.halt()
        self._clean()

    def _clean(self) -> None:
        """Take back all that was made since the node was unconfigured."""
        self.close()
        taking_back(self)
        for entity, destroy in self._entities().items():
            if entity not in self._lasting:
                destroy(entity)

    def _entities(self) -> dict[Any, Callable[[Any], object]]:
        """Return what of ROS belongs to this node, and how to destroy each."""
        actions = [one for one in self.waitables if isinstance(one, (ActionServer, ActionClient))]
        kinds: list[tuple[Iterable[Any], Callable[[Any], object]]] = [
            (actions, lambda action: action.destroy()), (self.publishers, self.destroy_publisher),
            (self.subscriptions, self.destroy_subscription), (self.clients, self.destroy_client),
            (self.services, self.destroy_service), (self.timers, self.destroy_timer)]
        return {entity: destroy for entities, destroy in kinds for entity in entities}

    def close(self) -> None:
        """Let go of what is no entity of ROS, once; also when ROS has ended."""
        if self.configured:
            self.configured = False
            self.release()

    def destroy_node(self) -> None:
        """End the node in whatever state it is."""
        self.close()
        taking_back(self)
        super().destroy_node()
