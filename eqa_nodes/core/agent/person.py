"""Inquiries to a person while the agent works on a question, and the permission to drive."""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Callable

from eqa_nodes.core.agent.reporting import EpisodeContext
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.floor import Decision, joined, parted
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import DRY, GO, MAY_I_DRIVE, NO_REPLY, Inquiry

YES, ELSEWHERE, ENOUGH = 1, 2, 3  # the numbers of the options
_OPTIONS = ("yes", "no, look elsewhere", "no, answer from what you know")
_POLL_S = 0.1  # interval of checks whether the question was canceled
_SHOWN = 4  # number of drives that a dry drive lists: the first look round, and goals
_HERE_M = 0.1  # a shorter drive is a turn on the spot
_TO = re.compile(r"(?:^|.*\b)(?:goes|going) to (?P<place>[^:;]+)(?:: (?P<why>.*))?$", re.DOTALL)
_LESS = re.compile(r", [0-9.]+ m away|, best of [0-9]+$")  # parts of a reason that the inquiry omits or says already


class Replies:
    """Waits for replies, which any thread may submit. Implements Person."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: dict[str, Inquiry] = {}
        self._replies: dict[str, int] = {}

    def ask(self, inquiry: Inquiry, announce: Callable[[], None], canceled: Callable[[], bool]) -> int:
        """Announce an inquiry and wait for its reply."""
        with self._changed:
            self._open[inquiry.id] = inquiry
        try:
            announce()
            end = time.monotonic() + inquiry.deadline_s
            with self._changed:
                while inquiry.id not in self._replies and not canceled() and time.monotonic() < end:
                    self._changed.wait(max(0.0, min(_POLL_S, end - time.monotonic())))
                return self._replies.get(inquiry.id, NO_REPLY)
        finally:
            with self._changed:
                del self._open[inquiry.id]
                self._replies.pop(inquiry.id, None)

    def reply(self, identity: str, option: int) -> None:
        """Submit a reply; the first one counts. Raises ConfigError if no open inquiry has this id or the option."""
        with self._changed:
            inquiry = self._open.get(identity)
            if inquiry is None or identity in self._replies:
                raise ConfigError(f"no inquiry with the id {identity!r:.80} waits for a reply (any more)")
            if not 1 <= option <= len(inquiry.options):
                raise ConfigError(f"option {option} is none of 1 to {len(inquiry.options)}: {inquiry.in_words()}")
            self._replies[identity] = option
            self._changed.notify_all()


class Dialogue:
    """Asks the person about one question: one inquiry at a time, with numbered options and a deadline."""

    def __init__(self, context: EpisodeContext) -> None:
        self._context = context

    def ask(self, kind: str, text: str, options: tuple[str, ...], decision: Decision | None = None) -> int:
        """Return the number of the chosen option, NO_REPLY if there was no reply. decision: the drive it is about.

        The inquiry is reported to the listener when it opens, and again with its reply. Raises Canceled.
        """
        question, ports, config, ledger, report = self._context
        deadline_s = max(0.0, min(config.reply_s, ledger.seconds_left()))
        inquiry = Inquiry(uuid.uuid4().hex[:12], kind, text, options, deadline_s, question.id, question.text)
        reply = ports.person.ask(inquiry, lambda: report.inquired(inquiry, decision), ledger.canceled)
        report.inquired(inquiry._replace(reply=reply), None)
        return reply


class Permission:
    """Asks before each drive if so configured, and records the refused drives.

    The navigators enforce the same setting (core/driving/drive_budget.py): the checks here only avoid goals that they
    would refuse. ended: whether no further drive is tried for this question.
    """

    def __init__(self, drive: str, context: EpisodeContext, person: Dialogue) -> None:
        """drive: one of DRIVE_MODES."""
        self._drive, self._context, self._person = drive, context, person
        self.ended = False
        self._refused: list[str] = []
        self._why = ""
        self._allowed: Decision | None = None

    def asked(self, decision: Decision) -> bool:
        """Return whether a drive to a decision's goal, with the look round there, is allowed. Raises Canceled."""
        if self._drive == GO or self.ended:
            return self._drive == GO
        reason, runner_up = parted(decision.reason)
        where = _where(decision._replace(reason=reason), self._context.ports.odometry.last()[1])
        if self._drive == DRY:
            would = decision._replace(reason=joined(f"dry drive: it would {where}", runner_up))
            self._context.report("exploring", would)
            return self._not_allowed(where, "", len(self._refused) + 1 >= _SHOWN)
        reply = self._person.ask(MAY_I_DRIVE, f"May I {where}?", _OPTIONS, decision)
        if reply == YES:
            self._allowed = decision
            return True
        why = "nobody replied in time" if reply == NO_REPLY else "a person said no"
        most = self._context.config.max_failed_legs
        return self._not_allowed(where, why, reply != ELSEWHERE or len(self._refused) + 1 >= most)

    def covers(self, decision: Decision) -> bool:
        """Return whether exactly this drive is allowed, by the setting or by a person."""
        return self._drive == GO or self._allowed is decision

    def permitted(self, decision: Decision) -> bool:
        """Return whether a person has allowed exactly this drive."""
        return self._allowed is decision

    def refuse(self, why: str) -> None:
        """Note that the navigator itself refused a drive."""
        self.ended, self._why = True, why

    def in_words(self) -> str:
        """Return which drives were refused, for the answer's message; "" if none."""
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
    """Return a drive in words to follow "may I": its goal, straight-line distance and reason."""
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
