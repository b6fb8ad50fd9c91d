"""The agent takes questions, one at a time; core/episode.py orders what is done for each.

It drives ports (core/protocols.py). In process they are objects; in the graph topics, services and actions. Where
several are asked at once they wait in core/agent/queue.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.progress import Progress
from eqa_nodes.core.agent.stopping import make_stop
from eqa_nodes.core.episode import Episode
from eqa_nodes.core.language.english import wish
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.inquiries import GO
from eqa_nodes.core.types.questions import Answer, Question

__all__ = ["Agent", "AgentConfig", "Ports", "Progress"]

T = TypeVar("T", int, float)
Listener = Callable[[Progress], None]


class Agent:
    """Answers one question at a time."""

    def __init__(self, ports: Ports, config: AgentConfig | None = None,
                 listener: Listener = lambda progress: None, drive: str = GO) -> None:
        """drive: one of DRIVE_MODES. Raises ConfigError for a calibration that cannot be read, or a risk beyond it."""
        self.ports = ports
        self.config = config or AgentConfig()
        self._stop = make_stop(self.config.enough, self.config.calibration, self.config.risk)
        self._listener, self._drive = listener, drive
        self._canceled = False

    def ask(self, question: Question) -> Answer:
        """Answer a question. Never raises EqaError: a failure is an Answer with its code, message and what was found.

        No limit is exceeded: they hold inside a drive and inside a model's turn.
        """
        self._canceled = False
        return self.episode(self.ports, question, self._listener, lambda: self._canceled).run()

    def episode(self, ports: Ports, question: Question, listener: Listener, canceled: Callable[[], bool]) -> Episode:
        """Return the episode of a question, not begun yet."""
        limits = question.limits
        limits = limits._replace(tokens=_tighter(limits.tokens, self.config.max_tokens),
                                 money=_tighter(limits.money, self.config.max_money))
        return Episode(ports, self.config, self._stop, understood(question._replace(limits=limits)), listener, canceled,
                       self._drive)

    def cancel(self) -> None:
        """End the running question at the next safe moment."""
        self._canceled = True
        self.ports.navigator.cancel()


def _tighter(a: T, b: T) -> T:
    """Return the smaller of two limits; 0 is none."""
    return min(a, b) if a and b else a or b


def understood(question: Question) -> Question:
    """Return the question with a wish to be shown something as what it asks: "Show me the mug" -> "Where is the mug?"
    """
    text = "" if question.choices else wish(question.text)
    return question._replace(text=text, show=True) if text else question
