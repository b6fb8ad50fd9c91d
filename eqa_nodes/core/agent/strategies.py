"""What is made of the views of one question: when they answer it, and what they tell the policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from eqa_nodes.core.agent.config import ASKING, NEWEST
from eqa_nodes.core.agent.reporting import EpisodeContext
from eqa_nodes.core.agent.stopping import Answers
from eqa_nodes.core.agent.views import NewestViews
from eqa_nodes.core.language.targets import Target, missing_in
from eqa_nodes.core.types.floor import Decision, WeighedOption
from eqa_nodes.core.types.questions import Answer, RankedRegion, Recalled

_KNOWN_ROOM = 0.2  # of a room's rank, once what the question wants looked at there is known


class ViewStrategy(Protocol):
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

    def drove(self, decision: Decision) -> None:
        """Note where the robot was sent."""

    def closing_answer(self, why: str) -> Answer:
        """Return the answer to give when exploration has ended without a sure one, and why it ended; "": by a limit."""


class ExploreFirst:
    """Asks nothing on the way: one answer when the place is explored. The base of the other strategies."""

    advice: Sequence[WeighedOption] = ()
    regions: Sequence[RankedRegion] = ()

    def __init__(self, context: EpisodeContext, answers: Answers) -> None:
        self._question, self._ports, self._config, self._ledger, self._report = context
        self._answers, self._views = answers, answers.views

    def begin(self) -> None:
        """Ask nothing."""

    def answered(self) -> bool:
        """Look at nothing before the end."""
        return False

    def gave_up(self) -> str:
        """Go on as long as the policy finds something to explore."""
        return ""

    def still_stands(self) -> bool:
        """Let the answer stand."""
        return True

    def drove(self, decision: Decision) -> None:
        """Note nothing: the views tell."""

    def closing_answer(self, why: str) -> Answer:
        """Answer from the best of all views."""
        return self._answers.final(why)

    def _rank_rooms(self) -> Sequence[RankedRegion]:
        """Ask for the rooms where the answer may be found."""
        return self._ledger.asked(self._ports.answerer.regions, [])


class JudgeEachView(ExploreFirst):
    """Has the answerer judge each view, one call a drive, and asks for an answer once a view promises one."""

    _ranked: Sequence[RankedRegion] = ()

    def begin(self) -> None:
        """Ask for the rooms where the answer may be found."""
        self._ranked = self.regions = self._rank_rooms()

    def answered(self) -> bool:
        """Judge what was seen since the last look; ask for an answer only when a view promises one."""
        promised = self._views.judge_new()
        return promised is not None and promised >= self._config.promise and self._asked()

    def still_stands(self) -> bool:
        """Judge what the second look showed, and ask again where it showed anything."""
        return self._views.judge_new() is None or self._asked()

    def _asked(self) -> bool:
        answer = self._answers.ask(self._views.items())
        self.regions = still_wanted(self._ranked, missing_in(answer.message, self._question.text))
        return self._answers.enough(answer)


class JudgeNewestView(ExploreFirst):
    """One image a decision: does it show enough? Then the answer is made from it (EXPRESS-Bench's agents).

    agent.promise is the confidence from which it does. The published agents ask a model for yes or no; they always give
    an answer, and where the search ends without one, a guess from the question alone.
    """

    _views: NewestViews

    def begin(self) -> None:
        """Ask for the rooms where the answer may be found."""
        self.regions = self._rank_rooms()

    def answered(self) -> bool:
        """Judge the view from here; answer from it where it shows enough."""
        view = self._views.here(self._ports.odometry.last()[1])
        promised = None if view is None else self._views.judge([view])
        if view is None or promised is None or promised < self._config.promise:
            return False
        self._answers.ask([Recalled(view, promised, "the last view")])
        return True

    def closing_answer(self, why: str) -> Answer:
        """Guess from the question alone."""
        return self._answers.final(why, self._answers.ask(()))


def strategy_of(context: EpisodeContext, answers: Answers) -> ViewStrategy:
    """Return the strategy that agent.explore names."""
    kind = {ASKING: JudgeEachView, NEWEST: JudgeNewestView}.get(context.config.explore, ExploreFirst)
    return kind(context, answers)


def still_wanted(regions: Sequence[RankedRegion], missing: Sequence[Target]) -> list[RankedRegion]:
    """Return the ranked rooms, those first that hold a missing target of the question; where none is named, as before.
    """
    rooms = {target.room for target in missing}
    if not rooms or "" in rooms:
        return list(regions)
    weighed = [r if r.name in rooms else r._replace(weight=r.weight * _KNOWN_ROOM) for r in regions]
    return sorted(weighed, key=lambda r: -r.weight)
