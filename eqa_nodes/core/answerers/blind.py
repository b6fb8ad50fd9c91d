"""The blind baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.types import Answer, Keyframe, Question, RankedRegion, Recalled, Receipt, ViewAssessment


class BlindAnswerer:
    """Answers every question as its inner answerer guesses without any view."""

    def __init__(self, inner: Answerer) -> None:
        self._inner = inner

    def spent(self) -> Receipt:
        """Return calls and tokens so far; guessing reads no label, so nothing is privileged."""
        return replace(self._inner.spent(), privileged=())

    def regions(self, question: Question) -> list[RankedRegion]:
        """Expect nothing anywhere."""
        return []

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Judge nothing: every view is as good as none."""
        return [ViewAssessment(view.id, view.stamp_ns, 0.0, 0.0, pose=view.pose.as_sent(), z=view.map_from_base.xyz[2])
                for view in views]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Guess without the items."""
        answer = self._inner.answer(question, ())
        return replace(answer, receipt=replace(answer.receipt, privileged=()))
