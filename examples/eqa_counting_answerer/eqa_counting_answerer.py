"""An answerer that counts: "How many chairs are there?" It reads labels, so its results are marked privileged.

eqa ask "How many chairs are there?" --answerer counting
"""

from __future__ import annotations

from collections.abc import Sequence

from eqa_nodes.core.answerers.common import AnswererOptions, JudgesNoView, evidence_from
from eqa_nodes.core.language.english import content_words
from eqa_nodes.core.traits import AnswererTraits
from eqa_nodes.core.types.questions import Answer, Question, Recalled, Receipt


class CountingAnswerer(JudgesNoView):
    """Counts the objects of the kind that the question names. It judges no view, so the robot explores to the end."""

    traits = AnswererTraits(labels=True)

    def __init__(self, options: AnswererOptions) -> None:
        """options.open_model() would open the model of the run; this answerer needs none."""

    def spent(self) -> Receipt:
        """Return no calls, and what is privileged."""
        return Receipt(privileged=("CountingAnswerer",))

    def why_unanswerable(self, question: Question) -> str:
        """Object to what is no question about a number."""
        return "" if "how many" in question.text.lower() else "only questions that begin with 'How many' are answered"

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Return how many different objects of the kind are in the views; abstain where there is none."""
        wanted = set(content_words(question.text))
        seen = {sighting.label.instance: item.keyframe for item in items for sighting in item.keyframe.sightings
                if wanted & set(content_words(sighting.label.kind))}
        if not seen and not question.force_guess:
            return Answer(abstained=True, receipt=self.spent(), message="no such object was seen")
        proof = evidence_from(seen.values(), "counted here")
        return Answer(str(len(seen)), confidence=0.5 if seen else 0.1, evidence=proof, receipt=self.spent())
