"""What both commanders are: Nav2's services, and one task at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from eqa_nodes.core.driving.commander import Halted, TaskEnd, TaskState
from eqa_nodes.ros.nav2.halting import Halting
from eqa_nodes.ros.nav2.others import OtherGoals
from eqa_nodes.ros.nav2.services import Nav2Services
from eqa_nodes.ros.node import EqaNode

TOLD_S = 0.5  # within which Nav2 tells of the goal that replaced another; the two messages come by different topics
GONE_S = 2.0  # a server that is not seen for so long is gone


class Nav2Task(Protocol):
    """One goal on its way."""

    @property
    def received_s(self) -> float:
        """Return when the last message of its server arrived, wall clock."""

    def poll(self, wait_s: float) -> TaskEnd | None:
        """Return how it ended; also when its server is gone or does not answer."""

    def cancel(self) -> None:
        """Ask for its end, at once or as soon as it is accepted."""


class Presence:
    """Watches whether a server is there. seen: says so now."""

    def __init__(self, seen: Callable[[], bool]) -> None:
        self._seen, self._seen_s = seen, time.monotonic()

    def gone(self) -> bool:
        """Return whether the server has not been seen for GONE_S; ask often."""
        now = time.monotonic()
        if self._seen():
            self._seen_s = now
        return now - self._seen_s > GONE_S


class TaskCommander(Nav2Services):
    """Implements Commander but for the beginning of tasks: that puts them into `task`."""

    task: Nav2Task | None = None

    def __init__(self, node: EqaNode) -> None:
        super().__init__(node, node.config.managed)
        self.others, self._halting = OtherGoals(node), Halting(node)

    def poll(self, wait_s: float) -> TaskEnd | None:
        end = self.task.poll(wait_s) if self.task is not None else TaskEnd(TaskState.LOST, 0, "no goal was sent")
        if end == TaskEnd(TaskState.ABORTED) and self.others.came_later(TOLD_S):  # Nav2 gives no reason for this one
            return TaskEnd(TaskState.REPLACED)
        return end

    def others_drive(self) -> bool:
        return self.others.under_way()

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def halt(self, wait_s: float) -> Halted:
        return self._halting.halt(wait_s)

    def silent_s(self) -> float:
        return time.monotonic() - self.task.received_s if self.task is not None else 0.0
