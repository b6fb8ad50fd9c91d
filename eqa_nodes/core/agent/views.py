"""The views that were judged for one question, and which of them are relevant to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from eqa_nodes.core.agent.config import ASKING, NEWEST
from eqa_nodes.core.agent.reporting import EpisodeContext
from eqa_nodes.core.language.understanding import targets
from eqa_nodes.core.memory.diversity import recall_diverse
from eqa_nodes.core.memory.keyframes import spread
from eqa_nodes.core.memory.times import about_time, dated, time_phrase
from eqa_nodes.core.policies.keyframes import is_chosen, places_in
from eqa_nodes.core.protocols import adviser_of
from eqa_nodes.core.types.floor import Candidate
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Question, Recalled, RecallQuery, ViewAssessment
from eqa_nodes.core.types.views import Keyframe

_HERE_M, _HERE_RAD = 0.15, math.radians(7.5)  # a stored view within this distance shows what the robot sees now
_AT_ONCE = 100  # maximum number of views judged in one call, the newest ones


class ViewAssessments:
    """Judges each view once, within the question's limits.

    judged_one_by_one: False if a model is shown a few views of a drive together and judges only those that it names.
    """

    def __init__(self, context: EpisodeContext, calibrated: bool) -> None:
        """calibrated: whether the certainty of an answer depends on what recalled views say."""
        self._question, ports, self._config, self._ledger, self._report = context
        self._memory, self._answerer, self._odometry = ports.memory, ports.answerer, ports.odometry
        self._calibrated = calibrated
        self.judged_one_by_one = True
        self._newest = 0
        self._relevant: dict[int, Keyframe] = {}
        self._by_id: dict[int, ViewAssessment] = {}
        self._places: tuple[Candidate, ...] = ()

    @property
    def best(self) -> float:
        """Confidence of the best view, 0..1."""
        return max((a.enough for a in self._by_id.values()), default=0.0)

    def in_order(self) -> list[ViewAssessment]:
        """Return the assessments of all views, oldest view first."""
        return [self._by_id[i] for i in sorted(self._by_id)]

    def anything_new(self) -> bool:
        """Return whether something was seen since the last look."""
        return bool(self._memory.since(self._newest))

    def take_new(self) -> list[Keyframe]:
        """Return what was seen since the last look, and mark it as looked at."""
        new = self._memory.since(self._newest)[-_AT_ONCE:]
        self._newest = new[-1].id if new else self._newest
        return new

    def add(self, assessments: Sequence[ViewAssessment], views: Sequence[Keyframe]) -> None:
        """Keep assessments of some of these views; a later one replaces an earlier one of the same view."""
        by_id = {view.id: view for view in views}
        for a in assessments:
            self._by_id[a.keyframe_id] = a
            if a.relevance >= self._config.relevant:
                self._relevant[a.keyframe_id] = by_id[a.keyframe_id]
        self._report.judged(assessments)

    def forget_doubtful(self) -> None:
        """Forget the assessments of views that did not answer: only views named again are worth another look."""
        for i in [i for i, a in self._by_id.items() if not a.enough]:
            del self._by_id[i]
            self._relevant.pop(i, None)

    def proof(self) -> list[Keyframe]:
        """Return the views that were judged relevant, best first."""
        relevant = (self._by_id[i] for i in self._relevant)
        judged = sorted(relevant, key=lambda a: (-a.enough, -a.relevance, a.keyframe_id))
        return [self._relevant[a.keyframe_id] for a in judged]

    def leave_to_recall(self) -> None:
        """Mark all but the newest views as looked at, since memory recalls them; the newest are still to be judged."""
        earlier = self._memory.since(0)[:-self._config.recall_limit]
        self._newest = earlier[-1].id if earlier else 0

    def judge_new(self) -> float | None:
        """Judge what was seen since the last look in one call; older views are left to recall by memory.

        Return the confidence of the best view, None if nothing new was judged.
        """
        views = self._memory.since(self._newest)[-_AT_ONCE:] if self.judged_one_by_one else []
        return self.judge(views) if views and not self._ledger.reached() else None

    def judge(self, views: Sequence[Keyframe]) -> float | None:
        """Judge the views since the last look in one call; return the confidence of the best of them.

        Return None if the question's limits allow no call.
        """
        def judged(question: Question) -> float:
            self._newest = views[-1].id
            return self._take(question, views)

        return self._ledger.asked(judged, None)

    def judge_recalled(self, items: Sequence[Recalled]) -> None:
        """Judge in one call the recalled views not judged yet, if the certainty of an answer depends on them."""
        views = [item.keyframe for item in items if item.keyframe.id not in self._by_id]
        if self._calibrated and views and self.judged_one_by_one:
            self._ledger.asked(lambda question: self._take(question, views), None)

    def choose(self, marks: Sequence[Candidate]) -> None:
        """Take a policy's choice of places whose views the answerer gets; without one it gets those of all places."""
        self._places = places_in(marks)

    def items(self) -> list[Recalled]:
        """Return the views that were judged relevant, best first, then what memory recalls for the question's words.

        The newest relevant view is always included: it may be the second look that was made to confirm the answer. If
        the policy chose places, views from others are left out, unless no view would be left.
        """
        most = self._config.recall_limit if self.judged_one_by_one else self._config.pictures
        proof = self._of_each_target(self.proof()) if targets(self._question.text) else self.proof()
        newest = max(self._relevant, default=0)
        if newest and all(view.id != newest for view in proof[:most]):
            proof.insert(most - 1, self._relevant[newest])
        items = [Recalled(view, self._by_id[view.id].enough, "judged relevant") for view in proof]
        items += [item for item in self._recalled(most) if item.keyframe.id not in self._relevant]
        return ([item for item in items if is_chosen(item.keyframe.pose, self._places)] or items)[:most]

    def _of_each_target(self, proof: Sequence[Keyframe]) -> list[Keyframe]:
        """Return the views in turns over the rooms, the best view of each room first, so that all rooms are covered."""
        nth: Counter[str] = Counter()
        ranked: list[tuple[int, Keyframe]] = []
        for view in proof:
            room = self._by_id[view.id].region
            ranked.append((nth[room], view))
            nth[room] += 1
        return [view for _, view in sorted(ranked, key=lambda pair: pair[0])]

    def remembered(self) -> list[Recalled]:
        """Return what memory recalls before the robot moves; nothing if a model would see only the start view."""
        items, ours = self.items(), {view.id for view in self._memory.since(0)}
        return items if self.judged_one_by_one or len(ours) > 1 or any(i.keyframe.id not in ours for i in items) else []

    def _recalled(self, most: int) -> list[Recalled]:
        """Return what memory recalls; for a model that answers from recall alone, diverse views with their times."""
        text = self._question.text
        if adviser_of(self._answerer) is None or (self._question.may_explore and self.judged_one_by_one):
            return self._memory.recall(RecallQuery(text, most))
        items = recall_diverse(self._memory.recall, text, most)
        now_ns = max((item.keyframe.stamp_ns for item in items), default=0)
        now_ns = max(now_ns, self._odometry.last()[0])
        return dated(items, partial(time_phrase, now_ns=now_ns)) if about_time(text, now_ns) else items

    def _take(self, question: Question, views: Sequence[Keyframe]) -> float:
        assessments = self._answerer.assess(question, views)
        self.add(assessments, views)
        return max((a.enough for a in assessments), default=0.0)


class UnassessedViews(ViewAssessments):
    """Views of an agent that asks no model during the search and answers once, from views spread evenly in time.

    OpenEQA's baselines for A-EQA (section 3): the observations of question-agnostic frontier exploration are the
    episodic memory. The policy gets no assessments; `frontier` does not read the question either.
    """

    def anything_new(self) -> bool:
        """Return False: nothing is left to judge."""
        return False

    def items(self) -> list[Recalled]:
        """Return `recall_limit` of the stored views of this episode, spread evenly in time."""
        return spread(self._memory.since(0), self._config.recall_limit)


class NewestViews(ViewAssessments):
    """Judges only the view from where the robot stands, each view once."""

    _seen: Mapping[int, Keyframe] = {}

    def anything_new(self) -> bool:
        """Return False: no other view is left to judge."""
        return False

    def here(self, pose: Pose2) -> Keyframe | None:
        """Return the view from a pose, or the newest view if there is none; None if that view was judged already."""
        self._seen = {**self._seen, **{view.id: view for view in self.take_new()}}
        seen = list(self._seen.values())
        there = [view for view in seen if view.pose.distance(pose) <= _HERE_M
                 and abs(wrap(view.pose.yaw - pose.yaw)) <= _HERE_RAD]
        view = there[-1] if there else seen[-1] if seen else None
        return None if view is None or any(a.keyframe_id == view.id for a in self.in_order()) else view


def views_of(context: EpisodeContext, calibrated: bool) -> ViewAssessments:
    """Return the views of a question, judged as agent.explore requires."""
    kind = {ASKING: ViewAssessments, NEWEST: NewestViews}.get(context.config.explore, UnassessedViews)
    return kind(context, calibrated)
