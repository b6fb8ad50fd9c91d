"""Waiting before exploration is given up: somebody who stood in the way may have left it."""

from __future__ import annotations

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.drives import Drives
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.protocols import Memory
from eqa_nodes.core.types.views import MOVING

_KINDS = frozenset(canonical(kind) for kind in MOVING)


class Patience:
    """Looks round where nothing is left to explore, as long as somebody was seen who may have stood in the way."""

    def __init__(self, memory: Memory, drives: Drives, config: AgentConfig) -> None:
        self._memory, self._drives, self._waits = memory, drives, config.waits
        self.renew()

    def renew(self) -> None:
        """Count anew: the robot found somewhere to go, and somebody else may stand in the way there."""
        self._left = self._waits

    def waited(self) -> bool:
        """Look round once more, so that time passes and the map clears; False where that is not worth it."""
        if self._left <= 0 or not self._somebody_seen():
            return False
        self._left -= 1
        self._drives.look_around()
        return True

    def in_words(self, reason: str) -> str:
        """Return why exploration ended, with what the robot waited for in vain."""
        return reason if self._left == self._waits else f"{reason}; it waited for people who may stand in the way"

    def _somebody_seen(self) -> bool:
        return any(canonical(s.label.kind) in _KINDS for view in self._memory.since(0) for s in view.sightings)
