"""Whether the drives of one question may be made: at will, after a person's yes, or not at all (a dry run).

The navigators hold to the same setting by themselves (core/driving/drive_budget.py): what is decided here only saves
them goals that they would refuse.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from eqa_nodes.core.agent.dialogue import Dialogue
from eqa_nodes.core.types.floor import Decision, joined, parted
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import DRY, GO, MAY_I_DRIVE, NO_REPLY

YES, ELSEWHERE, ENOUGH = 1, 2, 3  # the numbers of the options
_OPTIONS = ("yes", "no, look elsewhere", "no, answer from what you know")
_SHOWN = 4  # what a dry drive shows: the look round at its beginning, and goals
_HERE_M = 0.1  # a drive so short is a turn on the spot
_TO = re.compile(r"(?:^|.*\b)(?:goes|going) to (?P<place>[^:;]+)(?:: (?P<why>.*))?$", re.DOTALL)
_LESS = re.compile(r", [0-9.]+ m away|, best of [0-9]+$")  # of a reason: a person is told the distance already


class Permission:
    """Asks before each drive where the setting says so, and keeps what was not allowed.

    ended: no further drive of this question is tried. drive: one of DRIVE_MODES.
    """

    def __init__(self, drive: str, dialogue: Dialogue, here: Callable[[], Pose2], most: int,
                 show: Callable[[Decision], None]) -> None:
        """here: the robot's pose; most: refusals after which no other goal is proposed; show: shows a goal that a dry
        drive does not go to.
        """
        self._drive, self._dialogue, self._here, self._most, self._show = drive, dialogue, here, most, show
        self.ended = False
        self._refused: list[str] = []
        self._why = ""
        self._allowed: Decision | None = None

    def asked(self, decision: Decision) -> bool:
        """Say whether a drive to a decision's goal, and its look round there, may be made. Raises Canceled."""
        if self._drive == GO or self.ended:
            return self._drive == GO
        reason, runner_up = parted(decision.reason)
        where = _where(decision._replace(reason=reason), self._here())
        if self._drive == DRY:
            self._show(decision._replace(reason=joined(f"dry drive: it would {where}", runner_up)))
            return self._not_allowed(where, "", len(self._refused) + 1 >= _SHOWN)
        reply = self._dialogue.ask(MAY_I_DRIVE, f"May I {where}?", _OPTIONS, decision)
        if reply == YES:
            self._allowed = decision
            return True
        why = "nobody replied in time" if reply == NO_REPLY else "a person said no"
        return self._not_allowed(where, why, reply != ELSEWHERE or len(self._refused) + 1 >= self._most)

    def covers(self, decision: Decision) -> bool:
        """Say whether this very drive may be made; the navigator hears so of one that a person has allowed."""
        return self._drive == GO or self._allowed is decision

    def permitted(self, decision: Decision) -> bool:
        """Say whether a person has allowed this very drive."""
        return self._allowed is decision

    def refuse(self, why: str) -> None:
        """Note that the navigator itself did not allow a drive."""
        self.ended, self._why = True, why

    def in_words(self) -> str:
        """Return what was not allowed, for the answer's message; "" where nothing was refused."""
        if not self._refused:
            return self._why
        listed = "; ".join(f"{n}. {what}" for n, what in enumerate(self._refused, start=1))
        if self._drive == DRY:
            return f"dry drive, nothing moved; the robot would {listed}"
        return "; ".join(filter(None, (f"not allowed: {listed}", self._why)))

    def _not_allowed(self, where: str, why: str, ended: bool) -> bool:
        self._refused.append(f"{where}: {why}" if why else where)
        self.ended = ended
        return False


def _where(decision: Decision, here: Pose2) -> str:
    """Return a drive in words, as it follows "may I": where to, how far in a straight line, and why."""
    goal, said = decision.goal, _TO.match(decision.reason)
    assert goal is not None
    look = " and look round there" if decision.look_around else ""
    metres = here.distance(goal)
    if metres < _HERE_M:
        return ("turn once on the spot" if decision.look_around else "turn on the spot") + _because(decision.reason)
    place, why = (said["place"], said["why"] or "") if said else (f"({goal.x:.1f}, {goal.y:.1f})", decision.reason)
    return f"drive {metres:.1f} m to {place}{look}{_because(why)}"


def _because(why: str) -> str:
    told = _LESS.sub("", why).strip()
    return f" ({told})" if told else ""
