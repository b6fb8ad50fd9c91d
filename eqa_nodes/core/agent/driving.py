"""The drives of one question: each within its area and limits, and permitted."""

from __future__ import annotations

import math
from dataclasses import replace

from eqa_nodes.core.agent.person import Dialogue, Permission
from eqa_nodes.core.agent.reporting import EpisodeContext
from eqa_nodes.core.errors import NavigationError
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.mapping.area import is_inside
from eqa_nodes.core.protocols import ViewMemory
from eqa_nodes.core.types.floor import Allowance, Decision, NavCode, NavResult
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.views import MOVING

_HERE_M = 0.1  # a goal within this distance is a turn or a look round and need not move the robot
_TURN_RAD = math.radians(5)
_SHOWN_M, _SHOWN_RAD = 0.5, math.radians(30)  # tolerance for standing at the pose of a view
_PEOPLE = frozenset(canonical(kind) for kind in MOVING)


def at_rest(here: Pose2, goal: Pose2) -> bool:
    """Return whether a goal is where the robot stands, so that it need neither drive nor turn."""
    return here.distance(goal) < _HERE_M and abs(wrap(here.yaw - goal.yaw)) < _TURN_RAD


class BoundedNavigator:
    """Sends the robot only to goals within the question's area, as far as limits and permission allow."""

    def __init__(self, context: EpisodeContext, permission: Permission) -> None:
        self._navigator, self._limits, self._ledger = context.ports.navigator, context.question.limits, context.ledger
        self._deadline_s, self._permission = context.config.leg_deadline_s, permission

    def within_area(self, decision: Decision) -> Decision:
        """Return the decision; if its goal lies outside the question's area, without the goal and with that reason."""
        area, goal = self._limits.area, decision.goal
        if not area or (goal is not None and is_inside(area, goal.x, goal.y)):
            return decision
        return decision._replace(goal=None, reason=f"nothing left within the area: {decision.reason}")

    def allowed(self, decision: Decision) -> bool:
        """Return whether a decision's drive is allowed; ask a person if so configured. Raises Canceled.

        Nobody is asked about a goal outside the area: `go_to` refuses it anyway.
        """
        return not self._within(decision) or self._permission.asked(decision)

    def go_to(self, decision: Decision) -> NavResult:
        """Drive to a decision's goal, unless it is outside the area or not allowed."""
        goal = decision.goal
        assert goal is not None
        if not self._within(decision):
            return NavResult(NavCode.UNREACHABLE, f"({goal.x:.2f}, {goal.y:.2f}) is outside the question's area")
        if not self._permission.covers(decision):
            return NavResult(NavCode.NOT_ALLOWED, "this drive was not allowed")
        with self._ledger.drive():
            result = self._checked(self._navigator.go_to(goal, self._deadline_s, self._allowance(decision)))
        if result.code is NavCode.OUT_OF_METRES and 0 < self._limits.poses <= self._ledger.poses:
            return NavResult(NavCode.OUT_OF_POSES, "the question's poses are used up")
        return result

    def look_around(self, decision: Decision) -> NavResult:
        """Turn once on the spot for a decision, unless that is not allowed."""
        if not self._permission.covers(decision):
            return NavResult(NavCode.NOT_ALLOWED, "this turn was not allowed")
        return self._checked(self._navigator.look_around(self._deadline_s, self._allowance(decision)))

    def _within(self, decision: Decision) -> bool:
        return decision.goal is None or is_inside(self._limits.area, decision.goal.x, decision.goal.y)

    def _allowance(self, decision: Decision) -> Allowance:
        return self._ledger.allowance()._replace(permitted=self._permission.permitted(decision))

    def _checked(self, result: NavResult) -> NavResult:
        if result.code is NavCode.NOT_ALLOWED:  # the navigator may refuse a drive that was permitted here
            self._permission.refuse(result.message)
        return result


class DriveExecutor:
    """Drives and looks round. Raises NavigationError if the navigator fails, Canceled if the question is canceled."""

    def __init__(self, context: EpisodeContext, person: Dialogue, drive: str) -> None:
        """drive: one of DRIVE_MODES."""
        self._context = context
        self._permission = Permission(drive, context, person)
        self._navigator = BoundedNavigator(context, self._permission)
        self._people = WaitForPeople(context.ports.memory, context.config.waits)
        self.within_area = self._navigator.within_area
        self._failed, self._moved = 0, False  # drives in a row without motion; whether any drive moved the robot
        self._last = ""  # how the last drive ended

    @property
    def ended(self) -> bool:
        """Whether no further drive is tried for this question, because a person or the navigator refused."""
        return self._permission.ended

    def not_allowed(self) -> str:
        """Return which drives were refused, for the answer's message; "" if none."""
        return self._permission.in_words()

    def look_around(self) -> None:
        """Turn once on the spot."""
        turn = Decision(self._here(), "to see what is around", look_around=True)
        if self._navigator.allowed(turn):
            self._context.report("looking")
            self._check(self._navigator.look_around(turn))

    def follow(self, decision: Decision) -> bool:
        """Drive to a decision's goal; return False if that is not allowed.

        Raises NavigationError after too many drives that did not move the robot.
        """
        odometry = self._context.ports.odometry
        before, here = odometry.travelled(), self._here()
        if not self.drive(decision):
            return False
        moved = odometry.travelled().metres > before.metres
        turns = decision.goal is not None and here.distance(decision.goal) < _HERE_M and (
            decision.look_around or not at_rest(here, decision.goal))
        self._failed = 0 if moved else self._failed if turns else self._failed + 1
        self._moved = self._moved or moved
        if self._failed >= self._context.config.max_failed_legs:
            raise NavigationError(f"{self._failed} drives in a row did not move the robot: {self._last}")
        self._people.renew()
        return True

    def drive(self, decision: Decision) -> bool:
        """Drive to a decision's goal and look round if it asks for it; return False without a goal or permission."""
        if decision.goal is None or not self._navigator.allowed(decision):
            return False
        self._context.report("driving", decision)
        result = self._navigator.go_to(decision)
        self._check(result)
        self._last = "the navigator says that it arrived" if result.code is NavCode.SUCCEEDED else result.message
        if result.code is NavCode.NOT_ALLOWED:
            return False
        if decision.look_around:
            self._check(self._navigator.look_around(decision))
        return True

    def waited_for_people(self) -> bool:
        """Look round once more if a person was seen who may block the way; return False if that is not worthwhile."""
        if not self._people.worth_waiting():
            return False
        self.look_around()
        return True

    def ended_by(self, reason: str) -> str:
        """Return why exploration ended, with the last drive if it failed: it may have led to the only unexplored space.

        Raises NavigationError if no drive has moved the robot.
        """
        if self._failed and not self._moved:
            raise NavigationError(f"no drive has moved the robot: {self._last}")
        reason = self._people.in_words(reason)
        return f"{reason}; the last drive did not move the robot: {self._last}" if self._failed else reason

    def show(self, answer: Answer) -> Answer:
        """Drive to the pose from which the best evidence was seen.

        Return the answer, which says whether the robot stands there and, if not, why. Raises Canceled.
        """
        if not (trouble := self._not_to_be_shown(answer)):
            trouble = self._shown(Decision(answer.evidence[0].pose, "goes to where the answer was seen from"))
        return answer.saying(f"not shown: {trouble}") if trouble else replace(answer, shown=True)

    def _not_to_be_shown(self, answer: Answer) -> str:
        """Return why the robot does not drive to the evidence, "" if it does."""
        if not self._context.question.may_explore:
            return "the robot was asked not to move"
        if answer.abstained or not answer.evidence:
            return "there is nothing to drive to"
        return "the question's limits are used up" if self._context.ledger.used_up() else ""

    def _shown(self, decision: Decision) -> str:
        """Drive to the evidence; return why the robot did not arrive, "" if it did. Raises Canceled."""
        assert decision.goal is not None
        if not self._navigator.allowed(decision):
            return "the drive was not allowed"
        self._context.report("showing", decision)
        result = self._navigator.go_to(decision)
        self._context.ledger.check_canceled()
        return _missed(decision.goal, self._here(), result.message or result.code.value)

    def _check(self, result: NavResult) -> None:
        if result.code is NavCode.FAILED:
            raise NavigationError(result.message)
        if result.code.limit:
            self._context.ledger.note(result.code.limit)
        self._context.ledger.check_canceled()

    def _here(self) -> Pose2:
        return self._context.ports.odometry.last()[1]


class WaitForPeople:
    """Decides whether to look round again when nothing is left to explore: a person in the way may have left."""

    def __init__(self, memory: ViewMemory, waits: int) -> None:
        self._memory, self._waits = memory, waits
        self.renew()

    def renew(self) -> None:
        """Reset the count: the robot has driven on, and another person may stand in the way there."""
        self._left = self._waits

    def worth_waiting(self) -> bool:
        """Return whether to wait once more, and count it; False if no person was seen."""
        if self._left <= 0 or not any(canonical(sighting.label.kind) in _PEOPLE for view in self._memory.since(0)
                                      for sighting in view.sightings):
            return False
        self._left -= 1
        return True

    def in_words(self, reason: str) -> str:
        """Return why exploration ended, and whether the robot waited for people in vain."""
        return reason if self._left == self._waits else f"{reason}; it waited for people who may stand in the way"


def _missed(pose: Pose2, at: Pose2, why: str) -> str:
    """Return how far from the pose a drive ended, "" within tolerance. why: message of the navigator."""
    if at.distance(pose) <= _SHOWN_M and abs(wrap(at.yaw - pose.yaw)) <= _SHOWN_RAD:
        return ""
    return f"the drive ended {at.distance(pose):.2f} m from where it was seen: {why}"
