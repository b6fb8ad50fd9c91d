"""What whoever asked a question hears while it is worked on."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from eqa_nodes.core.agent.stopping import WeighedAnswer
from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.inquiries import Inquiry


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


class ProgressReport(Protocol):
    """Tells whoever asked what the agent is doing."""

    def __call__(self, phase: str, decision: Decision | None = None, weighed: WeighedAnswer | None = None) -> None:
        """Report a phase, with the decision or the answer that it is about."""
