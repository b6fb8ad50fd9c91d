"""Progress reports to the asker of a question."""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.inquiries import Inquiry
from eqa_nodes.core.types.questions import ViewAssessment, WeighedAnswer


class Progress(NamedTuple):
    """What the agent is doing now; phase: queued | remembering | looking | deciding | exploring | asking | driving |
    answering | showing. deciding: a model is asked with pictures and options; asking: a person is asked.

    place: place of a queued question, 1 = the next one; call: the model call that just ended, in a report of its own;
    inquiry: inquiry to a person, reported when it opens and when it ends; judged: views that were just judged, in a
    report of their own.
    """

    phase: str
    steps: int = 0
    metres: float = 0.0
    confidence: float = 0.0
    decision: Decision | None = None
    reason: str = ""
    weighed: WeighedAnswer | None = None
    place: int = 0
    call: ModelCall | None = None
    inquiry: Inquiry | None = None
    judged: tuple[ViewAssessment, ...] = ()
