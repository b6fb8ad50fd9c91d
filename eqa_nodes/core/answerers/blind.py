"""The blind baseline."""

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
# What a question begins with, or says early -> what is usually answered. The first line that fits counts.
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
    """Answers every question as its inner answerer guesses without any view."""

    def __init__(self, inner: Answerer) -> None:
        self._inner = inner

    def spent(self) -> Receipt:
        """Return calls and tokens so far; guessing reads no label, so nothing is privileged."""
        return replace(self._inner.spent(), privileged=())

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Guess without the items."""
        answer = self._inner.answer(question, ())
        return replace(answer, receipt=replace(answer.receipt, privileged=()))


class BlindLabelAnswerer(BlindAnswerer):
    """Guesses by rules from usual properties of objects."""

    @classmethod
    def from_options(cls, options: AnswererOptions) -> BlindLabelAnswerer:
        """Return it as the registry makes it."""
        return cls(LabelAnswerer.from_options(options))


class BlindModelAnswerer(BlindAnswerer):
    """Guesses by a model that is shown no view."""

    traits = AnswererTraits(asks_model=True)

    @classmethod
    def from_options(cls, options: AnswererOptions) -> BlindModelAnswerer:
        """Return it as the registry makes it. Raises as opening its model does."""
        return cls(VlmAnswerer.from_options(options))


class RandomAnswerer(JudgesNoView):
    """Draws an option, or a usual answer to a question of that kind; the same question and seed draw the same.

    Each option is as likely as any other, and so is each usual answer. Raises BadQuestion.
    """

    @classmethod
    def from_options(cls, options: AnswererOptions) -> RandomAnswerer:
        """Return it as the registry makes it: it has no options."""
        return cls()

    def spent(self) -> Receipt:
        """Return no calls: nothing is asked."""
        return Receipt()

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Draw without the items."""
        options = usual_answers(question)
        rng = np.random.default_rng([question.seed, zlib.crc32(question.text.encode())])
        return Answer(options[int(rng.integers(len(options)))], 1.0 / len(options),
                      message="blind guess: drawn at random")


def usual_answers(question: Question) -> tuple[str, ...]:
    """Return what a random answer is drawn from: the options, those that the question itself names, or usual ones."""
    text = check_question(question.text)
    if question.choices:
        return question.choices
    if named := _OR.search(text):
        return named[1], named[2]
    return next(answers for pattern, answers in _PRIORS if pattern.search(text))
