"""Other ways to a question's answer than core/episode.py: explore first, whatever is asked, or answer unseen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eqa_nodes.core.episode import Search
from eqa_nodes.core.errors import NavigationError
from eqa_nodes.core.memory.keyframes import spread_in_time
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.remembered import Recalled


class ExploreFirst(Search):
    """Explores until nothing is left or a limit ends it, asks no model on the way, then answers once.

    OpenEQA's baselines for A-EQA (section 3): the observations of question-agnostic frontier exploration are the
    episodic memory. The policy is told of no judgement; `frontier` does not read the question either. The views are
    those that memory keeps of this episode, K of them even in time.
    """

    def consider(self) -> Answer | None:
        """Answer only after its own exploration."""
        return None

    def _search(self) -> Answer:
        if self.question.may_explore:
            self._explore()
        return self._last_word()

    def _explore(self) -> None:
        if self._limit_reached():
            return
        self._report("looking")
        self._check(self.legs.look_around())
        failed = 0
        for _ in range(self.config.max_legs):
            if self._limit_reached():
                return
            decision = self._decide()
            if decision.goal is None:
                self.ended = decision.reason
                return
            failed = 0 if self._drive(decision, decision.goal) else failed + 1
            if failed >= self.config.max_failed_legs:
                raise NavigationError(f"{failed} drives in a row did not move the robot")

    @contextmanager
    def _watching(self) -> Iterator[None]:
        yield  # nobody judges on the way

    def _items(self) -> list[Recalled]:
        return spread_in_time(self.ports.memory.since(0), self.config.recall_limit)


class Unseen(Search):
    """Answers at once, without a view: the blind agents."""

    def consider(self) -> Answer | None:
        """Nothing that is seen bears on its answer."""
        return None

    def _search(self) -> Answer:
        return self._answer_from(())
