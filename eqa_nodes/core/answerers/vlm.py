"""Answers with a vision-language model, from the very images that memory holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import TypeVar

from eqa_nodes.core.answerers.common import check_question, evidence_from
from eqa_nodes.core.answerers.vlm_replies import REGIONS, Reply, read_answer, read_assessments, read_regions
from eqa_nodes.core.answerers.vlm_views import heading, lettered, picture
from eqa_nodes.core.model import Backend, Message, Usage, ask_json
from eqa_nodes.core.types import Answer, Keyframe, Place, Question, RankedRegion, Recalled, Receipt, ViewAssessment

T = TypeVar("T")


@dataclass(frozen=True)
class VlmConfig:
    """max_images: per call; max_side_px: longer images are scaled down, 0 = sent as they are stored.

    max_tokens: of a reply; an assessed view takes about 100.
    """

    max_images: int = 16  # a look round (13 views) and any leg fit into one call
    max_side_px: int = 0
    max_tokens: int = 2048


class VlmAnswerer:
    """The Answerer over a model backend. Raises ModelError (BudgetSpent), BadQuestion.

    The papers take the local semantic value of a place from the choice probabilities of its letter, and the global one
    from that of "yes" (explore-eqa, Ren et al. 2024; EXPRESS-Bench, 2025), which is two calls a view (Backend.choose).
    Here the model states both for all views in one call: a step stays within two calls, and models that give out no
    probabilities will do; stated weights are coarser and less calibrated than probabilities.

    Privileged from the first view on that a simulator labelled: its caption says what a robot would not know.
    """

    def __init__(self, backend: Backend, config: VlmConfig | None = None) -> None:
        self._backend = backend
        self._before = backend.usage
        self._config = config or VlmConfig()
        self._privileged: tuple[str, ...] = ()

    def spent(self) -> Receipt:
        """Return calls and tokens of this answerer so far, those of failed calls included."""
        return _receipt(self._backend.usage - self._before, self._privileged)

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return kinds of room out of REGIONS, the likeliest first; none where any would do. One call."""
        asked = Question(question.text, seed=question.seed)  # without options: through the graph they do not come
        return self._ask("regions", asked, (), read_regions)

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Judge views, `max_images` in one call, with a letter drawn at each place.

        target is the place nearest to the thing asked about: None also where it is in view but no place is.
        """
        size = self._config.max_images
        return [one for i in range(0, len(views), size) for one in self._assess(question, views[i:i + size])]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from the first `max_images` views; without views, or to force a guess, from no view at all."""
        before = self._backend.usage
        views = [item.keyframe for item in items[:self._config.max_images]]
        reply, message = self._look(question, views) if views else (None, "blind guess: no views")
        if reply is not None and reply.abstain and question.force_guess:
            reply, message = None, "forced guess: the views did not answer the question"
        if reply is None:
            reply = self._ask("blind", question, (), partial(read_answer, question=question, views=0))
        return Answer(reply.answer, reply.confidence, reply.abstain, evidence_from(views[i - 1] for i in reply.images),
                      _receipt(self._backend.usage - before, _labelled(views)), message=message)

    def _assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        return self._ask("assess", question, [(view, lettered(view)) for view in views],
                         partial(read_assessments, question=question, views=views))

    def _look(self, question: Question, views: Sequence[Keyframe]) -> tuple[Reply, str]:
        reply = self._ask("answer", question, [(view, {}) for view in views],
                          partial(read_answer, question=question, views=len(views)))
        return reply, "the views do not answer the question" if reply.abstain else ""

    def _ask(self, prompt: str, question: Question, views: Sequence[tuple[Keyframe, Mapping[str, Place]]],
             read: Callable[[dict[str, object]], T]) -> T:
        """Show each view with the letters given for it."""
        self._privileged = self._privileged or _labelled([view for view, _ in views])
        parts: list[str | bytes] = [_as_data(question)]
        for i, (view, letters) in enumerate(views):
            parts += [heading(i + 1, view, letters), picture(view, letters, self._config.max_side_px)]
        messages = (Message("system", (_prompt(prompt),)), Message("user", tuple(parts)))
        return ask_json(self._backend, messages, read, self._config.max_tokens, question.seed)


def _receipt(spent: Usage, privileged: tuple[str, ...]) -> Receipt:
    return Receipt(calls=spent.calls, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out, privileged=privileged)


def _labelled(views: Sequence[Keyframe]) -> tuple[str, ...]:
    """Return what is privileged about views: the labels that their captions and their order in memory come from."""
    return ("labels",) if any(view.privileged for view in views) else ()


@cache
def _prompt(name: str) -> str:
    text = resources.files("eqa_nodes.prompts").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return text.replace("$REGIONS", ", ".join(REGIONS))


def _as_data(question: Question) -> str:
    """Return the question as JSON between markers: quotes and line breaks in it cannot leave its string."""
    choices = f"\nOne of these options, word for word, is the answer: {json.dumps(question.choices)}" \
        if question.choices else ""
    return f"<question>\n{json.dumps(check_question(question.text))}{choices}\n</question>"
