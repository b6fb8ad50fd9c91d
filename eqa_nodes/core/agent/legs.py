"""The drives of one question: inside its area, each allowed, and each with what its limits still allow."""

from __future__ import annotations

from eqa_nodes.core.agent.cost import CostTracker
from eqa_nodes.core.agent.permission import Permission
from eqa_nodes.core.mapping.area import is_inside
from eqa_nodes.core.protocols import Navigator
from eqa_nodes.core.types.floor import Allowance, Decision, NavCode, NavResult
from eqa_nodes.core.types.questions import Limits


class Legs:
    """Sends the robot for one question, here and nowhere else. deadline_s: of one drive, in the clock of the stamps."""

    def __init__(self, navigator: Navigator, limits: Limits, account: CostTracker, deadline_s: float,
                 permission: Permission) -> None:
        self._navigator, self._limits, self._account, self._deadline_s = navigator, limits, account, deadline_s
        self.permission = permission

    def within(self, decision: Decision) -> Decision:
        """Return the decision without its goal where that lies outside the question's area, and say so."""
        area, goal = self._limits.area, decision.goal
        if not area or (goal is not None and is_inside(area, goal.x, goal.y)):
            return decision
        return decision._replace(goal=None, reason=f"nothing left within the area: {decision.reason}")

    def allowed(self, decision: Decision) -> bool:
        """Say whether a decision's drive may be made; a person is asked where that is set. Raises Canceled.

        Of a goal outside the area nobody is asked: `go_to` does not go there.
        """
        return not self._within(decision) or self.permission.asked(decision)

    def go_to(self, decision: Decision) -> NavResult:
        """Drive to a decision's goal, but never outside the area, nor where that is not allowed."""
        goal = decision.goal
        assert goal is not None
        if not self._within(decision):
            return NavResult(NavCode.UNREACHABLE, f"({goal.x:.2f}, {goal.y:.2f}) is outside the question's area")
        if not self.permission.covers(decision):
            return NavResult(NavCode.NOT_ALLOWED, "this drive was not allowed")
        with self._account.drive():
            result = self._heard(self._navigator.go_to(goal, self._deadline_s, self._allowance(decision)))
        if result.code is NavCode.OUT_OF_METRES and 0 < self._limits.poses <= self._account.poses:
            return NavResult(NavCode.OUT_OF_POSES, "the question's poses are used up")
        return result

    def look_around(self, decision: Decision) -> NavResult:
        """Turn once, where a decision says so, unless that is not allowed."""
        if not self.permission.covers(decision):
            return NavResult(NavCode.NOT_ALLOWED, "this turn was not allowed")
        return self._heard(self._navigator.look_around(self._deadline_s, self._allowance(decision)))

    def _within(self, decision: Decision) -> bool:
        return decision.goal is None or is_inside(self._limits.area, decision.goal.x, decision.goal.y)

    def _allowance(self, decision: Decision) -> Allowance:
        return self._account.allowance(self._limits)._replace(permitted=self.permission.permitted(decision))

    def _heard(self, result: NavResult) -> NavResult:
        if result.code is NavCode.NOT_ALLOWED:  # the navigator has the last word
            self.permission.refuse(result.message)
        return result
