"""The drives of one question, and what is judged on the way."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from eqa_nodes.core.agent.assessments import ViewAssessments
from eqa_nodes.core.agent.bounds import Bounds
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.legs import Legs
from eqa_nodes.core.agent.progress import ProgressReport
from eqa_nodes.core.background import background_task
from eqa_nodes.core.errors import NavigationError
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Decision, NavCode, NavResult
from eqa_nodes.core.types.geometry import wrap

_HERE_M = 0.1  # a look round or a turn from so near is not meant to move the robot
_TURN_RAD = math.radians(5)


class Drives:
    """Drives and looks round. Raises NavigationError when the navigator fails, Canceled when the question is."""

    def __init__(self, ports: Ports, config: AgentConfig, legs: Legs, views: ViewAssessments, bounds: Bounds,
                 report: ProgressReport) -> None:
        self._ports, self._config, self._legs = ports, config, legs
        self._views, self._bounds, self._report = views, bounds, report
        self._failed, self._moved = 0, False  # drives in a row that did not move the robot; whether any did
        self._why = ""  # how the last drive ended

    def look_around(self) -> None:
        """Turn once on the spot."""
        turn = Decision(self._ports.odometry.last()[1], "to see what is around", look_around=True)
        if self._legs.allowed(turn):
            self._report("looking")
            self._check(self._legs.look_around(turn))

    def follow(self, decision: Decision) -> bool:
        """Drive to a decision's goal; False where that is not allowed.

        Raises NavigationError after too many drives that did not move the robot.
        """
        before, here = self._ports.odometry.travelled(), self._ports.odometry.last()[1]
        if not self.to(decision):
            return False
        moved = self._ports.odometry.travelled().metres > before.metres
        turns = decision.goal is not None and here.distance(decision.goal) < _HERE_M and (
            decision.look_around or abs(wrap(here.yaw - decision.goal.yaw)) >= _TURN_RAD)
        self._failed = 0 if moved else self._failed if turns else self._failed + 1
        self._moved = self._moved or moved
        if self._failed >= self._config.max_failed_legs:
            raise NavigationError(f"{self._failed} drives in a row did not move the robot: {self._why}")
        return True

    def ended(self, reason: str) -> str:
        """Return why exploration ended, with the drive that failed last; that may be all that there was to explore.

        Raises NavigationError where no drive has moved the robot.
        """
        if self._failed and not self._moved:
            raise NavigationError(f"no drive has moved the robot: {self._why}")
        return f"{reason}; the last drive did not move the robot: {self._why}" if self._failed else reason

    def to(self, decision: Decision) -> bool:
        """Drive to a decision's goal and look round where it says so; False where it has no goal, or may not."""
        if decision.goal is None or not self._legs.allowed(decision):
            return False
        self._report("driving", decision)
        with self._watching():
            result = self._legs.go_to(decision)
        self._check(result)
        self._why = "the navigator says that it arrived" if result.code is NavCode.SUCCEEDED else result.message
        if result.code is NavCode.NOT_ALLOWED:
            return False
        if decision.look_around:
            self._check(self._legs.look_around(decision))
        return True

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Judge what comes into view on the way: one call at a time, and one a leg, so that a step costs two at most.

        A view that promises an answer ends the drive. What the call raises is raised when the drive has ended.
        """
        if not self._config.assess_while_driving:
            yield
            return
        with background_task("assess", self._watch) as watch:
            yield
        self._views.promised = watch.result()

    def _watch(self, arrived: threading.Event) -> float | None:
        while not arrived.wait(self._config.look_s):
            views = self._views.unjudged()
            if views and not self._bounds.reached():
                best = self._views.judge(views)
                if best is not None and best >= self._config.promise:
                    self._ports.navigator.cancel()
                return best
        return None

    def _check(self, result: NavResult) -> None:
        if result.code is NavCode.FAILED:
            raise NavigationError(result.message)
        if result.code.limit:
            self._bounds.note(result.code.limit)
        self._bounds.check_canceled()
