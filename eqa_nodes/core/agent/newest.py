"""Only the view in which a drive ended is judged, and the answer is made from it alone (EXPRESS-Bench's agents)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from eqa_nodes.core.agent.answers import Answers
from eqa_nodes.core.agent.assessments import ViewAssessments
from eqa_nodes.core.agent.bounds import Bounds
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Decision, WeighedOption
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Answer, Question, RankedRegion
from eqa_nodes.core.types.remembered import Recalled
from eqa_nodes.core.types.views import Keyframe

_HERE_M, _HERE_RAD = 0.15, math.radians(7.5)  # a remembered view from so near shows what the robot sees now


class NewestViews(ViewAssessments):
    """Judges the view from where the robot stands, and no other; a view that was judged is not judged again."""

    _seen: Mapping[int, Keyframe] = {}

    def anything_new(self) -> bool:
        """Say that no other view is left to judge."""
        return False

    def here(self, pose: Pose2) -> Keyframe | None:
        """Return the view that shows what the robot sees at a pose, unless it was judged; the newest for want of it."""
        self._seen = {**self._seen, **{view.id: view for view in self.take_new()}}
        seen = list(self._seen.values())
        there = [view for view in seen if view.pose.distance(pose) <= _HERE_M
                 and abs(wrap(view.pose.yaw - pose.yaw)) <= _HERE_RAD]
        view = there[-1] if there else seen[-1] if seen else None
        return None if view is None or any(a.keyframe_id == view.id for a in self.in_order()) else view


class JudgingNewest:
    """One image a decision: does it show enough? Then the answer is made from it. Implements Looking.

    agent.promise is the confidence from which it does. The published agents ask a model for yes or no; they always give
    an answer, and where the search ends without one, a guess from the question alone.
    """

    advice: Sequence[WeighedOption] = ()

    def __init__(self, question: Question, ports: Ports, config: AgentConfig, views: NewestViews, answers: Answers,
                 bounds: Bounds) -> None:
        self._question, self._ports, self._config = question, ports, config
        self._views, self._answers, self._bounds = views, answers, bounds
        self.regions: Sequence[RankedRegion] = ()

    def begin(self) -> None:
        """Ask for the rooms where the answer may be found."""
        self.regions = self._bounds.asked(lambda: self._ports.answerer.regions(self._question), [])

    def answered(self) -> bool:
        """Judge the view from here; answer from it where it shows enough."""
        view = self._views.here(self._ports.odometry.last()[1])
        promised = None if view is None else self._views.judge([view])
        if view is None or promised is None or promised < self._config.promise:
            return False
        self._answers.ask([Recalled(view, promised, "the last view")])
        return True

    def gave_up(self) -> str:
        """Go on as long as the policy finds something to explore."""
        return ""

    def still_stands(self) -> bool:
        """Let the answer stand."""
        return True

    def went(self, decision: Decision) -> None:
        """Nothing to note: the policy knows."""

    def closing(self) -> Answer:
        """Guess from the question alone."""
        return self._answers.ask(())
