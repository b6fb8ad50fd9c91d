"""Computes assessments and answers from views, by rules over labels or with a vision-language model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.core.errors import BadQuestion, ConfigError
from eqa_nodes.core.protocols import adviser_of
from eqa_nodes.core.types.costs import CallAccount
from eqa_nodes.core.types.questions import Question, Recalled, receipt_of
from eqa_nodes.ros import convert
from eqa_nodes.ros.diagnostics import Health
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.process import run_node
from eqa_nodes.runners.answerers import answerer_of
from eqa_nodes.wire import messages


class AnswererNode(EqaNode[AnswererSettings]):
    """Serves assess_views and answer_question; publishes every assessment."""

    row = "answerer"

    def configure(self) -> None:
        self.answerer = answerer_of(self.config)
        self.health = Health()
        self.diagnostics.add("model", lambda: self.health.report(self.answerer.spent().calls))
        self.out("view_assessments")
        self.serve("rank_regions", self._rank)
        self.serve("assess_views", self._assess)
        self.serve("advise", self._advise)
        self.serve("answer_question", self._answer)

    def _rank(self, request: Any, response: Any) -> Any:
        with self._paid(request, response) as question:
            response.regions = [convert.ranked_region_msg(r) for r in self.answerer.regions(question)]
        return response

    def _assess(self, request: Any, response: Any) -> Any:
        if not request.views:  # the caller only asks whether the question is understood
            if why := self.answerer.why_unanswerable(messages.question_of(request.question)):
                raise BadQuestion(why)
            response.advises = adviser_of(self.answerer) is not None
            return response
        with self._paid(request, response) as question:
            assessments = self.answerer.assess(question, [messages.keyframe_of(v) for v in request.views])
        response.assessments = [convert.assessment_msg(a, question.id) for a in assessments]
        return self._published(response)

    def _advise(self, request: Any, response: Any) -> Any:
        adviser = adviser_of(self.answerer)
        if adviser is None:
            raise ConfigError(f"the answerer {self.config.answerer!r} takes no briefs: let it judge views")
        with self._paid(request, response) as question:
            said = adviser.advise(question, messages.brief_of(request))
            convert.fill_advice(response, said, question.id)
        for unclear in said.unclear:
            self.count(unclear)
        return self._published(response)

    def _answer(self, request: Any, response: Any) -> Any:
        views = [Recalled(messages.keyframe_of(v), s, "") for v, s in zip(request.views, request.scores)]
        with self._paid(request, response) as question:
            convert.fill_answer(response, self.answerer.answer(question, views))
        return response

    @contextmanager
    def _paid(self, request: Any, response: Any) -> Iterator[Question]:
        """Yield the question with an account of the request's budget; report the cost in the response, even on failure.

        For an answerer that does not charge the account, the cost comes from its own counters.
        """
        account, before = CallAccount(messages.budget_of(request.budget)), self.answerer.spent()
        try:
            with self.health.call():
                yield messages.question_of(request.question)._replace(account=account)
        finally:
            own = self.answerer.spent()
            paid = receipt_of(account, own.privileged)
            response.receipt = convert.receipt_msg(paid if paid.calls else own.model_since(before))

    def _published(self, response: Any) -> Any:
        for message in response.assessments:
            self.send("view_assessments", message)
        return response


def main() -> int:
    """Run the node."""
    return run_node(AnswererNode)
