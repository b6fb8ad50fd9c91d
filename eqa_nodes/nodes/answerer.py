"""Views -> assessments and answers, by rules over labels or by a vision-language model."""

from __future__ import annotations

from typing import Any

from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.core.errors import BadQuestion, ConfigError
from eqa_nodes.core.ledger import spending
from eqa_nodes.core.protocols import adviser_of
from eqa_nodes.core.types.questions import Recalled
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
        before = self.answerer.spent()
        try:
            with self.health.call(), spending(messages.budget_of(request.budget)):
                regions = self.answerer.regions(messages.question_of(request.question))
            response.regions = [convert.ranked_region_msg(r) for r in regions]
        finally:
            response.receipt = convert.receipt_msg(self.answerer.spent().model_since(before))
        return response

    def _assess(self, request: Any, response: Any) -> Any:
        question = messages.question_of(request.question)
        if not request.views:  # only whether the question is understood was asked
            if why := self.answerer.why_unanswerable(question):
                raise BadQuestion(why)
            response.advises = adviser_of(self.answerer) is not None
            return response
        before = self.answerer.spent()
        try:
            with self.health.call(), spending(messages.budget_of(request.budget)):
                assessments = self.answerer.assess(question, [messages.keyframe_of(v) for v in request.views])
        finally:
            response.receipt = convert.receipt_msg(self.answerer.spent().model_since(before))
        response.assessments = [convert.assessment_msg(a, question.id) for a in assessments]
        for message in response.assessments:
            self.send("view_assessments", message)
        return response

    def _advise(self, request: Any, response: Any) -> Any:
        adviser, question = adviser_of(self.answerer), messages.question_of(request.question)
        if adviser is None:
            raise ConfigError(f"the answerer {self.config.answerer!r} takes no briefs: let it judge views")
        before = self.answerer.spent()
        try:
            with self.health.call(), spending(messages.budget_of(request.budget)):
                said = adviser.advise(question, messages.brief_of(request))
            convert.fill_advice(response, said, question.id)
        finally:
            response.receipt = convert.receipt_msg(self.answerer.spent().model_since(before))
        for message in response.assessments:
            self.send("view_assessments", message)
        return response

    def _answer(self, request: Any, response: Any) -> Any:
        before = self.answerer.spent()
        views = [Recalled(messages.keyframe_of(v), s, "") for v, s in zip(request.views, request.scores)]
        try:
            with self.health.call(), spending(messages.budget_of(request.budget)):
                answer = self.answerer.answer(messages.question_of(request.question), views)
            convert.fill_answer(response, answer)
        finally:
            response.receipt = convert.receipt_msg(self.answerer.spent().model_since(before))
        return response


def main() -> int:
    """Run the node."""
    return run_node(AnswererNode)
