"""The client of a goal-driven navigator, as the recovery policy uses it: one task at a time, polled for its end."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol

from eqa_nodes.core.types.floor import GridMap, Travelled
from eqa_nodes.core.types.geometry import Pose2


class TaskState(Enum):
    """How a task ended. LOST: its server is gone, or never answered. REPLACED: by another client's goal.

    ELSEWHERE: its server says that it succeeded, and the robot is not at the goal.
    """

    SUCCEEDED = "succeeded"
    CANCELED = "canceled"
    ABORTED = "aborted"
    REJECTED = "rejected"
    LOST = "lost"
    REPLACED = "replaced"
    ELSEWHERE = "elsewhere"


class TaskEnd(NamedTuple):
    """End of a task. code: Nav2's number, 0 = none was given."""

    state: TaskState
    code: int = 0
    message: str = ""


class Halted(NamedTuple):
    """Whether the robot stands after a halt. controller: who follows paths confirmed that it has no goal any more.

    silent: names of servers that move the base, are there, and did not confirm it in time.
    """

    controller: bool = False
    silent: tuple[str, ...] = ()

    @property
    def stands(self) -> bool:
        """Return whether it is certain that the robot stands."""
        return self.controller and not self.silent


class Commander(Protocol):
    """Nav2 or a stand-in. No call blocks longer than its argument, or than its own short deadline."""

    def missing(self, wait_s: float) -> str:
        """Return what is absent or not active after waiting so long for it; "" = goals are accepted."""

    def others_drive(self) -> bool:
        """Return whether the goal of another client is being carried out, which ours would end."""

    def go_to(self, goal: Pose2) -> None:
        """Begin to drive to a pose in the map, which takes the place of what was begun before."""

    def turn(self, angle_rad: float, allowance_s: float) -> None:
        """Begin to turn on the spot, counter-clockwise."""

    def poll(self, wait_s: float) -> TaskEnd | None:
        """Return how the task ended after waiting so long for it; None while it runs."""

    def cancel(self) -> None:
        """Ask for the end of the task; `poll` says when it has ended. Does nothing where none runs."""

    def halt(self, wait_s: float) -> Halted:
        """Cancel every goal of every server that moves the base, whoever sent it, and wait so long for the answers."""

    def silent_s(self) -> float:
        """Return the time since the last message about the task, seconds of the wall clock."""

    def costmap(self, wait_s: float) -> GridMap:
        """Return the global costmap: cells -1 unknown, 0..98 free to dear, 99 the robot touches something, 100 shut.

        Raises EqaError when it does not come in time, or in another frame than the map's.
        """

    def keep_out(self, mask: GridMap) -> None:
        """Give the planner a mask (core/driving/keep_out_mask.py) in place of the last one."""

    def clear_costmaps(self, wait_s: float) -> None:
        """Forget what the costmaps saw. Raises NodeLost when that is not confirmed in time."""


class RobotState(Protocol):
    """Where the robot is."""

    def pose(self) -> Pose2:
        """Return the newest pose in the map. Raises StaleData when the robot is not localised (any more)."""

    def now_s(self) -> float:
        """Return the time of the clock that deadlines use, seconds. Raises StaleData like `pose`."""

    def commanded_m_s(self) -> float:
        """Return the newest speed forward that the base was told to drive, m/s; 0 where nobody tells."""

    def travelled(self) -> Travelled | None:
        """Return what was driven by odometry, None while none has come. Raises StaleData when it comes no more."""
