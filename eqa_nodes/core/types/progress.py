"""What whoever asked a question hears while it is worked on."""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.inquiries import Inquiry
from eqa_nodes.core.types.questions import WeighedAnswer


class Progress(NamedTuple):
    """What the agent is doing now; phase: queued | remembering | looking | deciding | exploring | asking | driving |
    answering | showing. deciding: a model is shown pictures and options; asking: a person is asked.

    place: of a queued question, 1 = the next one; call: what a model was just asked, which nothing else tells; inquiry:
    what a person is asked, told when it opens and when it ends.
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
