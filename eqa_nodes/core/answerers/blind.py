"""The blind baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eqa_nodes.core.answerers.common import JudgesNoView
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.answerers.options import AnswererOptions
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.traits import AnswererTraits
from eqa_nodes.core.types.questions import Answer, Question, Receipt
from eqa_nodes.core.types.remembered import Recalled


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
