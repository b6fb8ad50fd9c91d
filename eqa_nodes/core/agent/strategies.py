"""View strategies: when the views of one question answer it, and what they tell the policy."""

from __future__ import annotations

from collections.abc import Sequence

from eqa_nodes.core.agent.config import ASKING, NEWEST
from eqa_nodes.core.agent.reporting import EpisodeContext
from eqa_nodes.core.agent.stopping import Answers
from eqa_nodes.core.agent.views import NewestViews
from eqa_nodes.core.language.targets import Target
from eqa_nodes.core.language.understanding import missing_in
from eqa_nodes.core.types.floor import Decision, WeighedOption
from eqa_nodes.core.types.questions import Answer, RankedRegion, Recalled

_KNOWN_ROOM = 0.2  # factor on a room's rank once everything the question asks about there is known


class ExploreFirst:
    """Makes no model call during exploration and answers once at the end. The base of the other strategies.

    A strategy evaluates new views: whether they answer the question, and what they tell the policy (regions, advice).
    """

    turns_by_map = False  # whether the policy says which turns a look round at the end of a drive takes
    advice: Sequence[WeighedOption] = ()
    regions: Sequence[RankedRegion] = ()

    def __init__(self, context: EpisodeContext, answers: Answers) -> None:
        self._question, self._ports, self._config, self._ledger, self._report = context
        self._answers, self._views = answers, answers.views

    def begin(self) -> None:
        """Ask the answerer for what must be known before the first look round: here nothing."""

    def answered(self) -> bool:
        """Return whether what was seen since the last call answers the question: here never before the end."""
        return False

    def gave_up(self) -> str:
        """Return why further exploration is useless, "" while it may help."""
        return ""

    def still_stands(self) -> bool:
        """Return whether the answer still holds after a second look."""
        return True

    def drove(self, decision: Decision) -> None:
        """Note where the robot was sent."""

    def closing_answer(self, why: str) -> Answer:
        """Return the answer when exploration ended without a certain one. why: the reason; "" if a limit ended it."""
        return self._answers.final(why)

    def _rank_rooms(self) -> Sequence[RankedRegion]:
        """Ask for the rooms where the answer may be found."""
        return self._ledger.asked(self._ports.answerer.regions, [])


class JudgeEachView(ExploreFirst):
    """Lets the answerer judge all new views in one call per drive, and asks for an answer once a view promises one."""

    _ranked: Sequence[RankedRegion] = ()

    def begin(self) -> None:
        """Ask for the rooms where the answer may be found."""
        self._ranked = self.regions = self._rank_rooms()

    def answered(self) -> bool:
        """Judge what was seen since the last call; ask for an answer only if a view promises one."""
        promised = self._views.judge_new()
        return promised is not None and promised >= self._config.promise and self._asked()

    def still_stands(self) -> bool:
        """Judge what the second look showed, and ask again if it showed anything new."""
        return self._views.judge_new() is None or self._asked()

    def _asked(self) -> bool:
        answer = self._answers.ask(self._views.items())
        self.regions = still_wanted(self._ranked, missing_in(answer.message, self._question.text))
        return self._answers.enough(answer)


class JudgeNewestView(ExploreFirst):
    """Judges one image per decision and answers from it if it shows enough (the agents of EXPRESS-Bench).

    agent.promise is the confidence from which it does. The published agents ask a model for yes or no. They always give
    an answer: if the search ends without one, a guess from the question alone. With agent.enough above 1 nothing that
    is seen stops the search, and the answer is made from the view in which it ends: the ablation of the stopping model.
    """

    _views: NewestViews
    _last: tuple[Recalled, ...] = ()

    def begin(self) -> None:
        """Ask for the rooms where the answer may be found."""
        self.regions = self._rank_rooms()

    def answered(self) -> bool:
        """Judge the view from here; answer from it if it shows enough."""
        view = self._views.here(self._ports.odometry.last()[1])
        promised = None if view is None else self._views.judge([view])
        if view is None or promised is None:
            return False
        last = (Recalled(view, promised, "the last view"),)
        if self._config.enough > 1:
            self._last = last
        elif promised >= self._config.promise:
            self._answers.ask(last)
            return True
        return False

    def closing_answer(self, why: str) -> Answer:
        """Guess from the question alone, or answer from the last view if nothing could stop the search."""
        return self._answers.final(why, self._answers.ask(self._last))


def strategy_of(context: EpisodeContext, answers: Answers) -> ExploreFirst:
    """Return the strategy that agent.explore names."""
    kind = {ASKING: JudgeEachView, NEWEST: JudgeNewestView}.get(context.config.explore, ExploreFirst)
    return kind(context, answers)


def still_wanted(regions: Sequence[RankedRegion], missing: Sequence[Target]) -> list[RankedRegion]:
    """Return the ranked rooms, those with a missing target of the question first; unchanged if no room is named."""
    rooms = {target.room for target in missing}
    if not rooms or "" in rooms:
        return list(regions)
    weighed = [r if r.name in rooms else r._replace(weight=r.weight * _KNOWN_ROOM) for r in regions]
    return sorted(weighed, key=lambda r: -r.weight)
