"""A scripted commander, a robot that stands where it is told, and small costmaps: what driving is tested with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from eqa_nodes.core.driving.commander import TaskEnd, TaskState
from eqa_nodes.core.driving.config import DrivingConfig, GateConfig, KeepOutConfig, RecoveryConfig, WaitConfig
from eqa_nodes.core.driving.driver import Driver
from eqa_nodes.core.driving.gates import Gates
from eqa_nodes.core.errors import NodeLost, StaleData
from eqa_nodes.core.types.floor import GridMap, Travelled
from eqa_nodes.core.types.geometry import Pose2

Deed = TaskEnd | Callable[[], TaskEnd | None] | None
DONE, STOPPED = TaskEnd(TaskState.SUCCEEDED), TaskEnd(TaskState.CANCELED)
QUICK = WaitConfig(active_s=0.0, cancel_s=0.3, poll_s=0.1, silent_s=5.0)


def aborted(code: int, message: str = "") -> TaskEnd:
    return TaskEnd(TaskState.ABORTED, code, message)


class StandingRobot:
    """Implements Robot; time goes on with each look at the pose. silent: its odometry comes no more."""

    def __init__(self, pose: Pose2) -> None:
        self.at, self.now, self.lost, self.silent = pose, 0.0, False, False
        self.metres: float | None = 0.0

    def pose(self) -> Pose2:
        if self.lost:
            raise StaleData("no transform came")
        self.now += 1.0
        return self.at

    def now_s(self) -> float:
        return self.now

    def travelled(self) -> Travelled | None:
        if self.silent:
            raise StaleData("odometry gave no place on odom for 6 s")
        return None if self.metres is None else Travelled(0, self.metres)


class ScriptedCommander:
    """Implements Commander: each goal ends as the script says, None = never, a callable is asked at every poll.

    said: what was asked of it, in order.
    """

    def __init__(self, script: Sequence[Deed], grid: GridMap | None = None,
                 missing: str = "", stops: bool = True) -> None:
        self.script, self.grid, self.absent, self.stops = list(script), grid, missing, stops
        self.said: list[object] = []
        self.quiet_s = 0.0
        self._task: Deed = None
        self._canceled = False

    def missing(self, wait_s: float) -> str:
        return self.absent

    def go_to(self, goal: Pose2) -> None:
        self._begin(goal)

    def turn(self, angle_rad: float, allowance_s: float) -> None:
        self._begin(("turn", round(angle_rad, 3)))

    def _begin(self, what: object) -> None:
        self.said.append(what)
        self._task, self._canceled = self.script.pop(0), False

    def poll(self, wait_s: float) -> TaskEnd | None:
        if self._canceled and self.stops:
            return STOPPED
        return self._task() if callable(self._task) else self._task

    def cancel(self) -> None:
        self.said.append("cancel")
        self._canceled = True

    def silent_s(self) -> float:
        return self.quiet_s

    def costmap(self, wait_s: float) -> GridMap:
        self.said.append("costmap")
        if self.grid is None:
            raise NodeLost("nobody serves the costmap")
        return self.grid

    def clear_costmaps(self, wait_s: float) -> None:
        self.said.append("clear")


def costmap(rows: Sequence[str], resolution_m: float = 0.25) -> GridMap:
    """Return a map drawn in characters: . free, o inflated, x touching, # shut, ? unknown; the first row is y = 0."""
    cells = np.array([[{".": 0, "o": 50, "x": 99, "#": 100, "?": -1}[c] for c in row] for row in rows], np.int8)
    return GridMap(0, resolution_m, (0.0, 0.0), cells, np.zeros(cells.shape, bool))


def driver_of(commander: ScriptedCommander, robot: StandingRobot, *, zones: Sequence[str] = (),
              gates: GateConfig | None = None, wait: WaitConfig = QUICK,
              recovery: RecoveryConfig | None = None) -> Driver:
    config = DrivingConfig(recovery or RecoveryConfig(), wait, gates or GateConfig(),
                           replace(KeepOutConfig(), zones=tuple(zones)))
    return Driver(commander, robot, Gates(config.gates), config)
