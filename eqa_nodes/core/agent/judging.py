"""Views are judged one by one as they come; an answer is asked for when one of them promises it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from eqa_nodes.core.agent.answers import Answers
from eqa_nodes.core.agent.assessments import ViewAssessments
from eqa_nodes.core.agent.bounds import Bounds
from eqa_nodes.core.agent.config import ASKING, AgentConfig
from eqa_nodes.core.language.targets import Target, missing_in
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.types.floor import Decision, WeighedOption
from eqa_nodes.core.types.questions import Answer, Question, RankedRegion

_KNOWN_ROOM = 0.2  # of a room's rank, once what the question wants looked at there is known


class Looking(Protocol):
    """What is made of new views: whether they answer, and what they tell the policy."""

    regions: Sequence[RankedRegion]
    advice: Sequence[WeighedOption]

    def begin(self) -> None:
        """Ask what has to be known before the first look round."""

    def answered(self) -> bool:
        """Look at what was seen since the last time; say whether it answers the question."""

    def gave_up(self) -> str:
        """Return why looking on is of no use, "" while it may be."""

    def still_stands(self) -> bool:
        """Say whether the answer stands after a second look."""

    def went(self, decision: Decision) -> None:
        """Note where the robot was sent."""

    def closing(self) -> Answer | None:
        """Return the answer to give when exploration has ended without a sure one; None to ask as without drives."""


class Judging:
    """Has the answerer judge each view, one call a leg, and asks for an answer once a view promises one."""

    advice: Sequence[WeighedOption] = ()

    def __init__(self, question: Question, answerer: Answerer, config: AgentConfig, views: ViewAssessments,
                 answers: Answers, bounds: Bounds) -> None:
        self._question, self._answerer, self._config = question, answerer, config
        self._views, self._answers, self._bounds = views, answers, bounds
        self.regions: Sequence[RankedRegion] = ()
        self._ranked: Sequence[RankedRegion] = ()

    def begin(self) -> None:
        """Ask for the rooms where the answer may be found."""
        if self._config.explore == ASKING:
            self._ranked = self.regions = self._bounds.asked(lambda: self._answerer.regions(self._question), [])

    def answered(self) -> bool:
        """Judge what was seen since the last look; ask for an answer only when a view promises one."""
        promised = self._views.judge_new()
        return promised is not None and promised >= self._config.promise and self._asked()

    def gave_up(self) -> str:
        """Go on as long as the policy finds something to explore."""
        return ""

    def still_stands(self) -> bool:
        """Judge what the second look showed, and ask again where it showed anything."""
        return self._views.judge_new() is None or self._asked()

    def went(self, decision: Decision) -> None:
        """Nothing to note: the views tell."""

    def closing(self) -> Answer | None:
        """Leave it to the best of all views."""
        return None

    def _asked(self) -> bool:
        answer = self._answers.ask(self._views.items())
        self.regions = still_wanted(self._ranked, missing_in(answer.message, self._question.text))
        return self._answers.enough(answer)


def still_wanted(regions: Sequence[RankedRegion], missing: Sequence[Target]) -> list[RankedRegion]:
    """Return the ranked rooms, those first that hold a missing target of the question; where none is named, as before.
    """
    rooms = {target.room for target in missing}
    if not rooms or "" in rooms:
        return list(regions)
    weighed = [r if r.name in rooms else r._replace(weight=r.weight * _KNOWN_ROOM) for r in regions]
    return sorted(weighed, key=lambda r: -r.weight)
