"""The answers to one question: asked for, weighed, and kept until there is a better one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eqa_nodes.core.agent.assessments import ViewAssessments
from eqa_nodes.core.agent.bounds import Bounds
from eqa_nodes.core.agent.progress import ProgressReport
from eqa_nodes.core.agent.stopping import Stop, WeighedAnswer, support_of
from eqa_nodes.core.answerers.common import may_decline
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.types.questions import Answer, Question
from eqa_nodes.core.types.remembered import Recalled


class Answers:
    """Asks the answerer. last: what it said last, None before."""

    def __init__(self, question: Question, answerer: Answerer, views: ViewAssessments, stop: Stop, bounds: Bounds,
                 report: ProgressReport) -> None:
        self._question, self._answerer, self._views = question, answerer, views
        self._stop, self._bounds, self._report = stop, bounds, report
        self.last: Answer | None = None

    def ask(self, items: Sequence[Recalled]) -> Answer:
        """Return the answer from these views; where the limits allow no call any more, what was said last stands."""
        self._report("answering")
        answer = self._bounds.asked(lambda: self._answerer.answer(self._question, items), None, keep=False)
        if answer is None:
            return self.last or Answer(abstained=True, message="the limits leave no call for an answer")
        self.last = self._weighed(answer)
        return self.last

    def weigh(self, answer: Answer) -> Answer:
        """Return an answer that came with advice, as sure as its support makes it; an abstention leaves the last one.
        """
        weighed = self._weighed(answer)
        if not weighed.abstained:
            weighed = self.last = replace(weighed, confidence=self._stop.agreeing(weighed, self._views.in_order()))
        return weighed

    def _weighed(self, answer: Answer) -> Answer:
        assessed = self._views.in_order()
        sure = self._stop.sure(answer, assessed)
        if not answer.abstained:
            self._report("answering", weighed=WeighedAnswer(answer.text, support_of(answer, assessed), sure))
        return replace(answer, confidence=sure)

    def enough(self, answer: Answer) -> bool:
        """Say whether an answer ends the search."""
        return not answer.abstained and answer.confidence >= self._stop.line

    def best(self) -> Answer:
        """Return the last answer as it is given, or ask for one."""
        return self.final() if self.last is None or self._to_guess(self.last) else self.worth_giving(self.last)

    def final(self, ended: str = "", closing: Answer | None = None) -> Answer:
        """Answer from all that is known. Without any view there is no evidence: abstain unless a guess is wanted.

        ended: why exploration ended, for the message of an abstention; closing: what was said last, where that was
        asked for already.
        """
        items = self._views.items()
        if closing is not None and not self._to_guess(closing):
            answer = self.worth_giving(closing)
        elif not items and not self._question.force_guess:
            answer = Answer(abstained=True, message="nothing was seen that bears on the question")
        else:
            answer = self.worth_giving(self.ask(items))
        if not answer.abstained or not ended:
            return answer
        return replace(answer, message="; ".join(filter(None, (answer.message, ended))))

    def _to_guess(self, said: Answer) -> bool:
        """Return whether a guess may have to take the place of what a model said; asked again, it says so itself."""
        return self._question.force_guess and (said.abstained or may_decline(said.text))

    def failed(self, error: EqaError) -> Answer:
        """Return what was found until an error ended the search, with that error."""
        found = self.worth_giving(self.last) if self.last else Answer(abstained=True)
        return replace(found, error=error.code, message=str(error))

    def worth_giving(self, answer: Answer) -> Answer:
        """Return the answer, or "I don't know" when a risk was accepted and the answer is less sure than that asks."""
        if not self._stop.abstain or self._question.force_guess or self.enough(answer) or answer.abstained:
            return answer
        return replace(answer, text="", abstained=True, message=f"I don't know: {answer.text!r} is right with a chance "
                       f"of {answer.confidence:.2f}, and the accepted risk asks for {self._stop.line:.2f}")
