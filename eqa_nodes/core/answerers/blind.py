"""Blind baselines: answerers that see no view."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eqa_nodes.core.answerers.common import AnswererOptions, JudgesNoView, check_question
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.traits import AnswererTraits
from eqa_nodes.core.types.questions import Answer, Question, Recalled, Receipt

_OR = re.compile(r"\b(\w+) or (?:the |a |an )?(\w+)\W*$", re.IGNORECASE)
# Pattern of a question -> usual answers. The first pattern that matches counts.
_PRIORS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), tuple(answers.split(" | "))) for pattern, answers in (
        (r"^how many\b", "1 | 2 | 3 | 4"),
        (r"\bcolou?r\b", "white | black | brown | gray | blue | red | green"),
        (r"\bmade (?:out )?of\b|\bmaterial\b", "wood | metal | glass | fabric | plastic"),
        (r"^(?:is|are|am|was|were|do|does|did|can|could|has|have|will|would|should)\b", "yes | no"),
        (r"\b(?:which|what) room\b", "the living room | the kitchen | the bedroom | the bathroom"),
        (r"^where\b", "on the table | on the floor | on the wall | in the kitchen | in the living room | in the "
         "bedroom"),
        (r"", "a table | a chair | a lamp | a plant | a picture | a book")))


class BlindAnswerer(JudgesNoView):
    """Answers every question with the guess of its inner answerer without any view."""

    def __init__(self, inner: Answerer) -> None:
        self._inner = inner

    def spent(self) -> Receipt:
        """Return calls and tokens so far; a guess reads no label, so nothing is privileged."""
        return replace(self._inner.spent(), privileged=())

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Guess without the items."""
        answer = self._inner.answer(question, ())
        return replace(answer, receipt=replace(answer.receipt, privileged=()))


class BlindLabelAnswerer(BlindAnswerer):
    """Guesses by rules, from usual properties of objects."""

    @classmethod
    def from_options(cls, options: AnswererOptions) -> BlindLabelAnswerer:
        """Create it from the registry's options."""
        return cls(LabelAnswerer.from_options(options))


class BlindModelAnswerer(BlindAnswerer):
    """Guesses with a model that is shown no view."""

    traits = AnswererTraits(asks_model=True)

    @classmethod
    def from_options(cls, options: AnswererOptions) -> BlindModelAnswerer:
        """Create it from the registry's options. Raises the errors of opening its model."""
        return cls(VlmAnswerer.from_options(options))


class RandomAnswerer(JudgesNoView):
    """Draws an option, or a usual answer to a question of that kind, at random from the question and its seed.

    All options, or all usual answers, are equally likely. Raises BadQuestion.
    """

    @classmethod
    def from_options(cls, options: AnswererOptions) -> RandomAnswerer:
        """Create it; the registry's options are ignored."""
        return cls()

    def spent(self) -> Receipt:
        """Return an empty receipt: no model is asked."""
        return Receipt()

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Draw an answer without the items."""
        options = usual_answers(question)
        rng = np.random.default_rng([question.seed, zlib.crc32(question.text.encode())])
        return Answer(options[int(rng.integers(len(options)))], 1.0 / len(options),
                      message="blind guess: drawn at random")


def usual_answers(question: Question) -> tuple[str, ...]:
    """Return the answers to draw from: the options, the alternatives that the question names, or usual answers."""
    text = check_question(question.text)
    if question.choices:
        return question.choices
    if named := _OR.search(text):
        return named[1], named[2]
    return next(answers for pattern, answers in _PRIORS if pattern.search(text))
