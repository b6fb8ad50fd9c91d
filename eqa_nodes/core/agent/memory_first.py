"""Answers from memory before the robot explores: questions about the past, and earlier views that are enough."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from eqa_nodes.core.agent.driving import DriveExecutor
from eqa_nodes.core.agent.reporting import EpisodeContext
from eqa_nodes.core.agent.stopping import Answers
from eqa_nodes.core.answerers.common import answer_of, refusal
from eqa_nodes.core.language.refusing import NOT_UNDERSTOOD
from eqa_nodes.core.memory.recollect import past_question
from eqa_nodes.core.memory.times import WALL_NS, TimesInText, dated, span_phrase, time_phrase
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.questions import Answer, Evidence, Recalled, RecallQuery, Recollection


class MemoryFirst:
    """Asks memory first. privileged: privileged components of an answer from memory alone (see Receipt), else ()."""

    def __init__(self, context: EpisodeContext, answers: Answers, driver: DriveExecutor) -> None:
        self._question, self._ports, self._config, self._ledger, _ = context
        self._answers, self._driver = answers, driver
        self.privileged: tuple[str, ...] = ()

    def refused(self) -> Answer | None:
        """Return the refusal of a question, or of its time, that is not understood; None if it is or memory answers."""
        refused = self._ledger.asked(lambda question: refusal(self._ports.answerer, question), None, keep=False)
        _, asked = self._asked_time()
        if (refused is None and not asked.fault) or self.recollection() is not None:
            return None
        if asked.fault and (refused is None or refused.message.startswith(NOT_UNDERSTOOD)):
            return Answer(abstained=True, message=asked.fault)
        return refused

    def recollection(self) -> Recollection | None:
        """Return memory's own answer to a question about the past, None for other questions."""
        return None if self._question.choices else self._ports.memory.recollect(self._question.text)

    def answer(self, told: Recollection) -> Answer:
        """Answer from memory alone; if it names a present location from an old observation, look there first."""
        answer = self._answers.last = self._told(told)  # kept in case the drive fails
        self.privileged = answer.receipt.privileged
        if (told.verify and self._question.may_explore and self.stale(told.evidence) and not self._ledger.reached()
                and self._look_again(told.evidence[0])):
            answer = self._answers.last = self._told(self.recollection() or told)
        return self._answers.worth_giving(answer)

    def answer_of_then(self) -> Answer | None:
        """Return the answer about a time that is over, from its views alone; None for other questions."""
        now_ns, asked = self._asked_time()
        if asked.window is None or not self.asks_of_then():
            return None
        after_ns, before_ns, phrase, _ = asked.window
        items = self._ports.memory.recall(RecallQuery(asked.rest, self._config.recall_limit, after_ns, before_ns))
        if not items:
            return Answer(abstained=True, message=f"memory holds no view of that time: {phrase!r} is "
                                                  f"{span_phrase(after_ns, before_ns)}")
        return self._answers.worth_giving(self._answers.ask(dated(items, partial(time_phrase, now_ns=now_ns))))

    def asks_of_then(self) -> bool:
        """Return whether the question is about a time that is over, so that nothing seen now answers it."""
        now_ns, asked = self._asked_time()
        return asked.window is not None and not asked.window.last and asked.window.before_ns < now_ns

    def _asked_time(self) -> tuple[int, TimesInText]:
        """Return the present time, and the past time that the question asks about.

        A choice of answers and a required guess are not refused. Where a simulator's clock has no date, "this morning"
        is part of the present, and words that are no time on any clock ("before dinner") do not matter.
        """
        now_ns, _ = self._ports.odometry.last()
        asked = past_question(self._question.text, now_ns).times
        present = now_ns < WALL_NS and (re.search(r"\b(?:this|today)\b", self._question.text.lower()) or (
            past_question(self._question.text, 4 * WALL_NS).times.window is None))
        return now_ns, asked._replace(fault="") if present or self._question.choices or (
            self._question.force_guess) else asked

    def views_answer(self) -> bool:
        """Return whether remembered views answer the question; old observations must be confirmed by a second look."""
        remembered = self.answer_from_views()
        if remembered is None:
            return False
        if not self.stale(remembered.evidence) or self._ledger.reached() or not self._look_again(
                remembered.evidence[0]):
            return True
        views = self._ports.memory.since(0)[-self._config.recall_limit:]
        return bool(views) and self._answers.enough(
            self._answers.ask([Recalled(v, 0.0, "seen just now") for v in views]))

    def answer_from_views(self) -> Answer | None:
        """Return the answer from views that memory recalls, None if it is not certain enough."""
        items = self._answers.views.remembered()
        self._answers.views.judge_recalled(items)
        return answer if items and self._answers.enough(answer := self._answers.ask(items)) else None

    def stale(self, evidence: Sequence[Evidence]) -> bool:
        """Return whether evidence is too old to rely on, or has an unknown age (a stamp as far in the future)."""
        now_ns, _ = self._ports.odometry.last()
        return bool(evidence) and abs(now_ns - max(e.stamp_ns for e in evidence)) > self._config.stale_s * 1e9

    def _told(self, told: Recollection) -> Answer:
        """Return memory's answer, with the sources of its evidence."""
        moments = (RecallQuery(limit=1, after_ns=e.stamp_ns, before_ns=e.stamp_ns) for e in told.evidence)
        return answer_of(told, [item.keyframe for query in moments for item in self._ports.memory.recall(query)])

    def _look_again(self, evidence: Evidence) -> bool:
        """Drive to where a remembered view was taken and look round; return False if that is outside the area."""
        return self._driver.drive(self._driver.within_area(
            Decision(evidence.pose, "what is remembered may have changed", look_around=True)))
