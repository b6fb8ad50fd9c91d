"""The agent takes questions, one at a time; core/search.py orders what is done for each.

It drives ports (core/protocols.py). In process they are objects; in the graph topics, services and actions.
"""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.explore_first import ExploreFirst, Unseen
from eqa_nodes.core.search import AgentConfig, Ports, Progress, Search
from eqa_nodes.core.stopping import make_stop
from eqa_nodes.core.types import Answer, Question

__all__ = ["Agent", "AgentConfig", "Ports", "Progress"]

_SEARCHES: dict[str, type[Search]] = {"asking": Search, "first": ExploreFirst, "never": Unseen}


class Agent:
    """Answers one question at a time."""

    def __init__(self, ports: Ports, config: AgentConfig | None = None,
                 listener: Callable[[Progress], None] = lambda progress: None) -> None:
        """Raises ConfigError for an unknown way to explore, a calibration that cannot be read, or a risk beyond it."""
        self._ports = ports
        self._config = config or AgentConfig()
        if self._config.explore not in _SEARCHES:
            raise ConfigError(unknown("way to explore", self._config.explore, _SEARCHES))
        self._stop = make_stop(self._config.enough, self._config.calibration, self._config.risk)
        self._listener = listener
        self._canceled = False

    def ask(self, question: Question) -> Answer:
        """Answer a question. Never raises EqaError: a failure is an Answer with its code, message and what was found.

        Limits are checked before every leg, so the last leg may overrun them.
        """
        self._canceled = False
        search = _SEARCHES[self._config.explore](self._ports, self._config, self._stop, question, self._listener,
                                                 lambda: self._canceled)
        return search.run()

    def cancel(self) -> None:
        """End the running question at the next safe moment."""
        self._canceled = True
        self._ports.navigator.cancel()
