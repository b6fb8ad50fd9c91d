"""The drives of one question: inside its area, and each with what its limits still allow."""

from __future__ import annotations

from eqa_nodes.core.agent.cost import CostTracker
from eqa_nodes.core.mapping.area import is_inside
from eqa_nodes.core.protocols import Navigator
from eqa_nodes.core.types.floor import Decision, NavCode, NavResult
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Limits


class Legs:
    """Sends the robot for one question, here and nowhere else. deadline_s: of one drive, in the clock of the stamps."""

    def __init__(self, navigator: Navigator, limits: Limits, account: CostTracker, deadline_s: float) -> None:
        self._navigator, self._limits, self._account, self._deadline_s = navigator, limits, account, deadline_s

    def within(self, decision: Decision) -> Decision:
        """Return the decision without its goal where that lies outside the question's area, and say so."""
        area, goal = self._limits.area, decision.goal
        if not area or (goal is not None and is_inside(area, goal.x, goal.y)):
            return decision
        return decision._replace(goal=None, reason=f"nothing left within the area: {decision.reason}")

    def go_to(self, goal: Pose2) -> NavResult:
        """Drive to a goal, but never outside the area."""
        if not is_inside(self._limits.area, goal.x, goal.y):
            return NavResult(NavCode.UNREACHABLE, f"({goal.x:.2f}, {goal.y:.2f}) is outside the question's area")
        with self._account.drive():
            result = self._navigator.go_to(goal, self._deadline_s, self._account.allowance(self._limits))
        if result.code is NavCode.OUT_OF_METRES and 0 < self._limits.poses <= self._account.poses:
            return NavResult(NavCode.OUT_OF_POSES, "the question's poses are used up")
        return result

    def look_around(self) -> NavResult:
        """Turn once."""
        return self._navigator.look_around(self._deadline_s, self._account.allowance(self._limits))
