"""One question: remember, look, explore until it is enough, answer. Nothing else orders these steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from eqa_nodes.core.account import Account
from eqa_nodes.core.answerers.common import answer_of, check_question
from eqa_nodes.core.errors import Canceled, EqaError, ErrorCode, NavigationError
from eqa_nodes.core.geometry import Pose2
from eqa_nodes.core.protocols import Answerer, Explorer, Memory, Navigator, Odometry
from eqa_nodes.core.stopping import Stop, Weighed, support_of
from eqa_nodes.core.types import (
    Answer,
    Decision,
    Evidence,
    Keyframe,
    NavCode,
    NavResult,
    Question,
    RankedRegion,
    Recalled,
    RecallQuery,
    Recollection,
    ViewAssessment,
)


@dataclass(frozen=True)
class AgentConfig:
    """When to stop and how long to wait.

    explore: "asking" (views are judged on the way, until one answers), "first" (question-agnostic: until nothing is
    left or a limit ends it, then one answer from `recall_limit` views even in time) or "never" (one answer, unseen).
    """

    explore: str = "asking"
    enough: float = 0.7  # chance that it is right, 0..1, from which an answer ends the search
    promise: float = 0.5  # of a view's own confidence, 0..1, from which an answer is asked for
    calibration: str = ""  # of that chance: a name or a .json file; "" = the answerer's own confidence counts
    risk: float = 0.0  # accepted share of wrong answers; above 0 it replaces `enough`, and less sure answers abstain
    recall_limit: int = 12  # views an answer is made from
    relevant: float = 0.3  # relevance, 0..1, from which an assessed view is shown to the answerer
    leg_deadline_s: float = 60.0  # for one drive, in the clock of the stamps
    max_legs: int = 200  # ends an exploration that goes nowhere
    max_confirmations: int = 3  # drives to look again before an answer is given
    assess_while_driving: bool = False  # judge views on the way, and stop where one promises an answer (live only)
    look_s: float = 0.5  # how often to ask for new views meanwhile, wall clock
    max_failed_legs: int = 5  # drives in a row that did not move the robot
    # what was seen longer ago is looked at again where that is allowed; at least memory.keyframes.refresh_s, or that
    # look shows memory nothing new
    stale_s: float = 4 * 3600.0


class Progress(NamedTuple):
    """What the agent is doing now; phase: remembering | looking | exploring | driving | answering."""

    phase: str
    steps: int = 0
    metres: float = 0.0
    confidence: float = 0.0
    decision: Decision | None = None
    reason: str = ""
    weighed: Weighed | None = None


class Ports(NamedTuple):
    """What the agent is connected to."""

    navigator: Navigator
    explorer: Explorer
    memory: Memory
    answerer: Answerer
    odometry: Odometry


class Search:
    """One question on its way to an answer."""

    def __init__(self, ports: Ports, config: AgentConfig, stop: Stop, question: Question,
                 listener: Callable[[Progress], None], canceled: Callable[[], bool]) -> None:
        self.ports, self.config, self.stop, self.question = ports, config, stop, question
        self._listener, self._canceled = listener, canceled
        self.account = Account(ports.odometry, ports.answerer)
        self.views: dict[int, Keyframe] = {}
        self.assessed: dict[int, ViewAssessment] = {}
        self.answered: Answer | None = None
        self.newest = 0
        self.promised: float | None = None  # by views that were judged on the way
        self.regions: Sequence[RankedRegion] = ()
        self.ended = ""  # why exploration ended by itself
        self.privileged: tuple[str, ...] = ()  # what an answer of memory alone rests on

    def run(self) -> Answer:
        """Return the answer, whatever happens on the way."""
        try:
            check_question(self.question.text)
            self.account.begin()
            answer = self._search()
            self.account.update()
        except EqaError as error:
            answer = self._failed(error.code, str(error))
        answer.receipt = self.account.receipt(self.privileged)
        return answer

    def _search(self) -> Answer:
        """Memory first, then look and explore until it is enough or a limit is reached."""
        self._report("remembering")
        told = None if self.question.choices else self.ports.memory.recollect(self.question.text)
        if told is not None:
            return self._recollected(told)
        if not (self.question.may_explore and self._explore_until_enough()):
            return self._last_word()
        return self._best()

    def _explore_until_enough(self) -> bool:
        """Return True as soon as what is remembered answers the question."""
        if self._remembered_answers() or self._limit_reached():
            return True
        self.regions = self.ports.answerer.regions(self.question)
        self._report("looking")
        self._check(self.ports.navigator.look_around(self.config.leg_deadline_s))
        failed = 0
        for _ in range(self.config.max_legs):
            if self._new_views_answer() and self._confirmed():
                return True
            if self._limit_reached():
                return False
            decision = self._decide()
            if decision.goal is None:
                if not self.ports.memory.since(self.newest):
                    self.ended = decision.reason
                    return False
                continue  # views that came after the last call are judged first
            failed = 0 if self._drive(decision, decision.goal) else failed + 1
            if failed >= self.config.max_failed_legs:
                raise NavigationError(f"{failed} drives in a row did not move the robot")
        return False

    def _recollected(self, told: Recollection) -> Answer:
        """Answer from memory alone; where that says where something is now, and long ago, look there first."""
        self.answered = self._told(told)  # what is left when the drive fails
        self.privileged = self.answered.receipt.privileged
        if told.verify and self.question.may_explore and self._stale(told.evidence) and not self._limit_reached():
            self._look_again(told.evidence[0])
            self.answered = self._told(self.ports.memory.recollect(self.question.text) or told)
        return self._worth_saying(self.answered)

    def _told(self, told: Recollection) -> Answer:
        """Return what memory says, with what its proof rests on."""
        moments = (RecallQuery(limit=1, after_ns=e.stamp_ns, before_ns=e.stamp_ns) for e in told.evidence)
        return answer_of(told, [item.keyframe for query in moments for item in self.ports.memory.recall(query)])

    def _remembered_answers(self) -> bool:
        """Say whether memory answers; what it saw long ago has to be seen again."""
        items = self._recall()
        if items and self.stop.calibration is not None:
            views = [item.keyframe for item in items]
            self._take(views, self.ports.answerer.assess(self.question, views))
        if not items or not self._enough(remembered := self._answer_from(items)):
            return False
        if not self._stale(remembered.evidence) or self._limit_reached():
            return True
        self._look_again(remembered.evidence[0])
        views = self.ports.memory.since(0)[-self.config.recall_limit:]
        return bool(views) and self._enough(self._answer_from([Recalled(v, 0.0, "seen just now") for v in views]))

    def _stale(self, evidence: Sequence[Evidence]) -> bool:
        now_ns, _ = self.ports.odometry.last()
        return bool(evidence) and now_ns - max(e.stamp_ns for e in evidence) > self.config.stale_s * 1e9

    def _look_again(self, evidence: Evidence) -> None:
        """Drive to where a remembered view was taken and look round."""
        self._drive(Decision(evidence.pose, "what is remembered may have changed", look_around=True), evidence.pose)

    def _new_views_answer(self) -> bool:
        """Assess what was seen since the last look; ask for an answer only when a view promises one."""
        promised = self._judge_new()
        return promised is not None and promised >= self.config.promise and self._enough(
            self._answer_from(self._items()))

    def _judge_new(self) -> float | None:
        """Judge what was seen since the last look, unless that was done on the way: one call a leg.

        Return what the best view promises, None when nothing new was judged.
        """
        promised, self.promised = self.promised, None
        if promised is not None:
            return promised
        views = self.ports.memory.since(self.newest)
        return self._assess(views) if views and not self._limit_reached() else None

    def _confirmed(self) -> bool:
        """Look again where the policy wants to before an answer is given; False when it no longer stands after that."""
        for _ in range(self.config.max_confirmations):
            if self._limit_reached():
                return True
            decision = self.ports.explorer.confirm(self.question, self._ordered(), self.regions)
            if decision.goal is None:
                return True
            self._drive(decision, decision.goal)
            if self._judge_new() is not None and not self._enough(self._answer_from(self._items())):
                return False
        return True

    def _assess(self, views: Sequence[Keyframe]) -> float:
        """Judge new views in one call; return how much the best of them promises."""
        self.newest = views[-1].id
        return self._take(views, self.ports.answerer.assess(self.question, views))

    def _take(self, views: Sequence[Keyframe], assessments: Sequence[ViewAssessment]) -> float:
        by_id = {view.id: view for view in views}
        for a in assessments:
            self.assessed[a.keyframe_id] = a
            if a.relevance >= self.config.relevant:
                self.views[a.keyframe_id] = by_id[a.keyframe_id]
        return max((a.enough for a in assessments), default=0.0)

    def _decide(self) -> Decision:
        self._report("exploring")
        return self.ports.explorer.decide(self.question, self._ordered(), self.regions)

    def _ordered(self) -> list[ViewAssessment]:
        return [self.assessed[i] for i in sorted(self.assessed)]

    def _drive(self, decision: Decision, goal: Pose2) -> bool:
        """Drive one leg; True when the robot moved."""
        before = self.ports.odometry.travelled()
        self._report("driving", decision)
        with self._watching():
            self._check(self.ports.navigator.go_to(goal, self.config.leg_deadline_s))
        if decision.look_around:
            self._check(self.ports.navigator.look_around(self.config.leg_deadline_s))
        return self.ports.odometry.travelled().metres > before.metres

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Judge what comes into view on the way: one call at a time, and one a leg, so that a step costs two at most.

        A view that promises an answer ends the drive. What the call raises is raised when the drive has ended.
        """
        if not self.config.assess_while_driving:
            yield
            return
        arrived = threading.Event()
        with ThreadPoolExecutor(1, "assess") as pool:
            watch = pool.submit(self._watch, arrived)
            try:
                yield
            finally:
                arrived.set()
            self.promised = watch.result()

    def _watch(self, arrived: threading.Event) -> float | None:
        while not arrived.wait(self.config.look_s):
            views = self.ports.memory.since(self.newest)
            if views and not self._limit_reached():
                best = self._assess(views)
                if best >= self.config.promise:
                    self.ports.navigator.cancel()
                return best
        return None

    def _check(self, result: NavResult) -> None:
        if result.code is NavCode.FAILED:
            raise NavigationError(result.message)
        if self._canceled():
            raise Canceled("canceled by the caller")

    def _recall(self) -> list[Recalled]:
        return self.ports.memory.recall(RecallQuery(self.question.text, self.config.recall_limit))

    def _items(self) -> list[Recalled]:
        """Views that were judged relevant, best first, then what memory recalls by the question's words."""
        judged = sorted((self.assessed[i] for i in self.views), key=lambda a: (-a.enough, -a.relevance, a.keyframe_id))
        items = [Recalled(self.views[a.keyframe_id], a.enough, "judged relevant") for a in judged]
        items += [item for item in self._recall() if item.keyframe.id not in self.views]
        return items[:self.config.recall_limit]

    def _answer_from(self, items: Sequence[Recalled]) -> Answer:
        self._report("answering")
        answer = self.ports.answerer.answer(self.question, items)
        assessed = self._ordered()
        sure = self.stop.sure(answer, assessed)
        if not answer.abstained:
            self._report("answering", weighed=Weighed(answer.text, support_of(answer, assessed), sure))
        self.answered = replace(answer, confidence=sure)
        return self.answered

    def _enough(self, answer: Answer) -> bool:
        return not answer.abstained and answer.confidence >= self.stop.line

    def _last_word(self) -> Answer:
        """Answer from all that is known; without any view there is no evidence, so abstain unless a guess is wanted."""
        items = self._items()
        if not items and not self.question.force_guess:
            answer = Answer(abstained=True, message="nothing was seen that bears on the question")
        else:
            answer = self._worth_saying(self._answer_from(items))
        if not answer.abstained or not self.ended:
            return answer
        return replace(answer, message="; ".join(filter(None, (answer.message, self.ended))))

    def _worth_saying(self, answer: Answer) -> Answer:
        """Return the answer, or "I don't know" when a risk was accepted and the answer is less sure than that asks."""
        if not self.stop.abstain or self.question.force_guess or self._enough(answer) or answer.abstained:
            return answer
        return replace(answer, text="", abstained=True, message=f"I don't know: {answer.text!r} is right with a chance "
                       f"of {answer.confidence:.2f}, and the accepted risk asks for {self.stop.line:.2f}")

    def _best(self) -> Answer:
        return self._worth_saying(self.answered) if self.answered is not None else self._last_word()

    def _failed(self, code: ErrorCode, message: str) -> Answer:
        found = self._worth_saying(self.answered) if self.answered else Answer(abstained=True)
        return replace(found, error=code, message=message)

    def _limit_reached(self) -> bool:
        if self._canceled():
            raise Canceled("canceled by the caller")
        return self.account.reached(self.question.limits)

    def _report(self, phase: str, decision: Decision | None = None, weighed: Weighed | None = None) -> None:
        best = max((a.enough for a in self.assessed.values()), default=0.0)
        self._listener(Progress(phase, *self.account.update(), best, decision, decision.reason if decision else "",
                                weighed))

