"""A question that waits for its turn is answered without moving, when memory or what is seen meanwhile is enough."""

from __future__ import annotations

from eqa_nodes.core.agent.config import ASKING
from eqa_nodes.core.answerers.common import check_question
from eqa_nodes.core.episode import Episode
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.types.questions import Answer


class Waiting:
    """Considers one question before its episode begins. What asks for a drive, is about the past, or fails is left."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._begun = False  # memory was asked
        self._hopeless = False  # what is seen meanwhile cannot answer it

    def consider(self) -> Answer | None:
        """Return the answer from memory and from what was seen since; None while that is not enough."""
        if self._hopeless or self._episode.config.explore != ASKING:
            return None
        try:
            with self._episode.cost.apart():
                answer = self._considered()
        except EqaError:  # the episode will fail by it, and say so
            self._hopeless, answer = True, None
        if answer is not None:
            answer.receipt = self._episode.cost.receipt()
        return answer

    def _unclear(self) -> bool:
        """Say whether the person has to be asked first what is meant, which is done when its turn comes."""
        return self._episode.clarifying is not None and self._episode.clarifying.needed()

    def _considered(self) -> Answer | None:
        episode = self._episode
        if self._begun:
            enough = not episode.bounds.reached() and episode.judging.answered()
        else:
            check_question(episode.question.text)
            if (refused := episode.memory.refused()) is not None:
                return refused
            self._begun = True
            self._hopeless = episode.question.show or self._unclear() or episode.memory.recollection() is not None
            episode.views.leave_to_recall()
            enough = not self._hopeless and not episode.bounds.reached() and (
                episode.memory.answer_from_views() is not None)
        answer = episode.answers.last
        return answer if enough and answer is not None and not episode.memory.stale(answer.evidence) else None
