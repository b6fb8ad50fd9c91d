"""Shared by all answerers with a model: prompts, the question as data, costs, the blind guess."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import resources
from typing import TypeVar

from eqa_nodes.core.agent.spending import BudgetedBackend
from eqa_nodes.core.answerers.common import check_question, evidence_from, labelled
from eqa_nodes.core.answerers.vlm_replies import NOTHING_SEEN, REGIONS, Reply, read_answer
from eqa_nodes.core.errors import LimitReached
from eqa_nodes.core.model import Backend, Message, Schema, Usage, ask_json
from eqa_nodes.core.types.questions import Answer, Question, Receipt
from eqa_nodes.core.types.views import Keyframe

T = TypeVar("T")


class MeteredModel:
    """A model with its costs. Raises ModelError (BudgetSpent), BadQuestion.

    Privileged from the first view on that a simulator labelled: its caption says what a robot would not know.
    max_tokens: of a reply.
    """

    def __init__(self, backend: Backend, max_tokens: int = 2048) -> None:
        self.backend, self._max_tokens = BudgetedBackend(backend), max_tokens
        self._before = backend.usage
        self._own: tuple[str, ...] = getattr(backend, "privileged", ())  # of a model that is none but in name
        self._privileged = self._own

    def spent(self) -> Receipt:
        """Return calls and tokens so far, those of failed calls included."""
        return _receipt(self.backend.usage - self._before, self._privileged)

    def ask(self, prompt: str, question: Question, parts: Sequence[str | bytes],
            read: Callable[[dict[str, object]], T], views: Sequence[Keyframe] = (),
            schema: Schema | None = None) -> T:
        """Ask by a prompt of eqa_nodes/prompts and return what `read` makes of the reply. views: what parts tell of.

        schema: of the reply (core.forms), for servers that hold a model to one.
        """
        self._privileged = self._privileged or labelled(views)
        messages = (Message("system", (prompt_text(prompt),)), Message("user", (_as_data(question), *parts)))
        return ask_json(self.backend, messages, read, self._max_tokens, question.seed, schema)

    def settle(self, question: Question, views: Sequence[Keyframe],
               look: Callable[[], tuple[Reply, Sequence[Keyframe]]]) -> Answer:
        """Return the answer from the views; without views, or to force a guess after an abstention, a blind guess.

        look: returns a reply and the views that the numbers in it mean, from 1.
        """
        check_question(question.text)
        before = self.backend.usage
        reply, shown = look() if views else (NOTHING_SEEN, ())
        message = "the views do not answer the question" if reply.abstain else ""
        if not views or (reply.abstain and question.force_guess):
            try:
                reply = self.ask("blind", question, (), partial(read_answer, question=question, views=0))
                message = "forced guess: the views did not answer the question" if views else "blind guess: no views"
            except LimitReached:
                if not views:
                    raise
                message += ", and the limits allow no guess"
        return Answer(reply.answer, reply.confidence, reply.abstain,
                      evidence_from((shown[i - 1] for i in reply.images), reply.why),
                      _receipt(self.backend.usage - before, self._own or labelled(views)), message=message)


def _receipt(spent: Usage, privileged: tuple[str, ...]) -> Receipt:
    return Receipt(calls=spent.calls, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out, privileged=privileged,
                   money=spent.money)


@cache
def prompt_text(name: str) -> str:
    """Return a prompt of the package."""
    text = resources.files("eqa_nodes.prompts").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return text.replace("$REGIONS", ", ".join(REGIONS))


def _as_data(question: Question) -> str:
    """Return the question as JSON between markers: quotes and line breaks in it cannot leave its string."""
    choices = f"\nOne of these options, word for word, is the answer: {json.dumps(question.choices)}" \
        if question.choices else ""
    return f"<question>\n{json.dumps(check_question(question.text))}{choices}\n</question>"
