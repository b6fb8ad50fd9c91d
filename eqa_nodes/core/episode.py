"""One question: remember, look, explore until it is enough, answer. Nothing else orders these steps."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, TypeVar

from eqa_nodes.core.agent.assessments import ViewAssessments
from eqa_nodes.core.agent.background import background_task
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.cost import CostTracker
from eqa_nodes.core.agent.legs import Legs
from eqa_nodes.core.agent.limits import check_limits, exceeded, in_words, with_limit
from eqa_nodes.core.agent.spending import spending
from eqa_nodes.core.agent.stopping import Stop, WeighedAnswer, support_of
from eqa_nodes.core.answerers.common import answer_of, check_question, refusal
from eqa_nodes.core.errors import Canceled, EqaError, ErrorCode, LimitReached, NavigationError
from eqa_nodes.core.protocols import Answerer, Explorer, Memory, Navigator, Odometry
from eqa_nodes.core.types.floor import Decision, NavCode, NavResult
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Answer, Evidence, Question, RankedRegion
from eqa_nodes.core.types.remembered import Recalled, RecallQuery, Recollection
from eqa_nodes.core.types.views import Keyframe

T = TypeVar("T")
_SHOWN_M, _SHOWN_RAD = 0.5, math.radians(30)  # so near to a view's pose the robot stands where it was seen from


class Progress(NamedTuple):
    """What the agent is doing now; phase: queued | remembering | looking | exploring | driving | answering | showing.

    place: of a queued question, 1 = the next one.
    """

    phase: str
    steps: int = 0
    metres: float = 0.0
    confidence: float = 0.0
    decision: Decision | None = None
    reason: str = ""
    weighed: WeighedAnswer | None = None
    place: int = 0


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
        self.account = CostTracker(ports.odometry, ports.answerer)
        self.legs = Legs(ports.navigator, question.limits, self.account, config.leg_deadline_s)
        self.judged = ViewAssessments(ports.memory, ports.answerer, question, config)
        self.answered: Answer | None = None
        self.promised: float | None = None  # by views that were judged on the way
        self.regions: Sequence[RankedRegion] = ()
        self.ended = ""  # why exploration ended by itself
        self.limit = ""  # which limit ended it, in words
        self.privileged: tuple[str, ...] = ()  # what an answer of memory alone rests on
        self._waits: bool | None = None  # for its turn: False = what is seen meanwhile cannot answer it

    def run(self) -> Answer:
        """Return the answer, whatever happens on the way."""
        try:
            self._waits = False
            check_question(self.question.text)
            check_limits(self.question.limits)
            self.account.begin()
            self.answered = answer = self._refused() or self._search()
            if self.question.show:
                answer = self._show(answer)
            self.account.update()
        except EqaError as error:
            answer = self._failed(error.code, str(error))
        receipt = replace(self.account.receipt(self.privileged), limit=self.limit)
        return replace(answer, receipt=receipt, message=with_limit(answer.message, self.limit))

    def consider(self) -> Answer | None:
        """Answer a question that waits for its turn, without moving: from memory and from what is seen meanwhile.

        Return None while that is not enough. What asks for a drive, is of the past, or fails is left to its turn.
        """
        try:
            with self.account.apart():
                answer = self._considered()
        except EqaError:  # its turn will tell
            self._waits, answer = False, None
        if answer is not None:
            answer.receipt = self.account.receipt(self.privileged)
        return answer

    def _considered(self) -> Answer | None:
        if self._waits is None:
            check_question(self.question.text)
            if (refused := self._refused()) is not None:
                return refused
            self._waits = not self.question.show and (
                bool(self.question.choices) or self.ports.memory.recollect(self.question.text) is None)
            self.judged.leave_to_recall()
            enough = self._waits and not self._limit_reached() and self._from_memory() is not None
        else:
            enough = self._waits and not self._limit_reached() and self._new_views_answer()
        fresh = enough and self.answered is not None and not self._stale(self.answered.evidence)
        return self.answered if fresh else None

    def _refused(self) -> Answer | None:
        """Return the end of a question that the answerer does not understand, unless memory itself answers it."""
        refused = refusal(self.ports.answerer, self.question)
        if refused is None or (not self.question.choices
                               and self.ports.memory.recollect(self.question.text) is not None):
            return None
        return refused

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
        self.regions = self._asked(lambda: self.ports.answerer.regions(self.question), [])
        self._report("looking")
        self._check(self.legs.look_around())
        failed = 0
        for _ in range(self.config.max_legs):
            if self._new_views_answer() and self._confirmed():
                return True
            if self._limit_reached():
                return False
            decision = self._decide()
            if decision.goal is None:
                if not self.judged.anything_new():
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
        if (told.verify and self.question.may_explore and self._stale(told.evidence) and not self._limit_reached()
                and self._look_again(told.evidence[0])):
            self.answered = self._told(self.ports.memory.recollect(self.question.text) or told)
        return self._worth_saying(self.answered)

    def _told(self, told: Recollection) -> Answer:
        """Return what memory says, with what its proof rests on."""
        moments = (RecallQuery(limit=1, after_ns=e.stamp_ns, before_ns=e.stamp_ns) for e in told.evidence)
        return answer_of(told, [item.keyframe for query in moments for item in self.ports.memory.recall(query)])

    def _remembered_answers(self) -> bool:
        """Say whether memory answers; what it saw long ago has to be seen again."""
        remembered = self._from_memory()
        if remembered is None:
            return False
        if not self._stale(remembered.evidence) or self._limit_reached() or not self._look_again(
                remembered.evidence[0]):
            return True
        views = self.ports.memory.since(0)[-self.config.recall_limit:]
        return bool(views) and self._enough(self._answer_from([Recalled(v, 0.0, "seen just now") for v in views]))

    def _from_memory(self) -> Answer | None:
        """Return the answer from views that memory recalls, None where it is not enough."""
        items = self._items()
        if self.stop.calibration is not None:
            self._asked(lambda: self.judged.judge_recalled(items), None)
        return answer if items and self._enough(answer := self._answer_from(items)) else None

    def _stale(self, evidence: Sequence[Evidence]) -> bool:
        """Say whether evidence is too old to go by; of when it is, if its clock was ahead of ours, nobody knows."""
        now_ns, _ = self.ports.odometry.last()
        return bool(evidence) and abs(now_ns - max(e.stamp_ns for e in evidence)) > self.config.stale_s * 1e9

    def _look_again(self, evidence: Evidence) -> bool:
        """Drive to where a remembered view was taken and look round; False where that is outside the area."""
        decision = self.legs.within(Decision(evidence.pose, "what is remembered may have changed", look_around=True))
        if decision.goal is not None:
            self._drive(decision, decision.goal)
        return decision.goal is not None

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
        views = self.judged.unjudged()
        return self._judge(views) if views and not self._limit_reached() else None

    def _judge(self, views: Sequence[Keyframe]) -> float | None:
        """Return what the best of these views promises, None where the question's limits allow no judgement."""
        return self._asked(lambda: self.judged.judge(views), None)

    def _confirmed(self) -> bool:
        """Look again where the policy wants to before an answer is given; False when it no longer stands after that."""
        for _ in range(self.config.max_confirmations):
            if self._limit_reached():
                return True
            confirm = self.ports.explorer.confirm(self.question, self.judged.in_order(), self.regions)
            decision = self.legs.within(confirm)
            if decision.goal is None:
                return True
            self._drive(decision, decision.goal)
            if self._judge_new() is not None and not self._enough(self._answer_from(self._items())):
                return False
        return True

    def _decide(self) -> Decision:
        self._report("exploring")
        return self.legs.within(self.ports.explorer.decide(self.question, self.judged.in_order(), self.regions))

    def _drive(self, decision: Decision, goal: Pose2) -> bool:
        """Drive one leg; True when the robot moved."""
        before = self.ports.odometry.travelled()
        self._report("driving", decision)
        with self._watching():
            self._check(self.legs.go_to(goal))
        if decision.look_around:
            self._check(self.legs.look_around())
        return self.ports.odometry.travelled().metres > before.metres

    def _show(self, answer: Answer) -> Answer:
        """Drive to where the best evidence was seen from, and turn to it; the answer says whether that came off."""
        trouble = self._not_to_be_shown(answer)
        if not trouble:
            pose = answer.evidence[0].pose
            self._report("showing", Decision(pose, "shows what proves the answer"))
            result = self.legs.go_to(pose)
            if self._canceled():
                raise Canceled("canceled by the caller")
            _, at = self.ports.odometry.last()
            if at.distance(pose) > _SHOWN_M or abs(wrap(at.yaw - pose.yaw)) > _SHOWN_RAD:
                trouble = f"the drive ended {at.distance(pose):.2f} m from where it was seen: " + (
                    result.message or result.code.value)
        if not trouble:
            return replace(answer, shown=True)
        return replace(answer, message="; ".join(filter(None, (answer.message, f"not shown: {trouble}"))))

    def _not_to_be_shown(self, answer: Answer) -> str:
        """Say why there is no drive to the evidence, "" where there is one."""
        if not self.question.may_explore:
            return "the robot was asked not to move"
        if answer.abstained or not answer.evidence:
            return "there is nothing to drive to"
        return "the question's limits are used up" if self.limit or self.account.reached(self.question.limits) else ""

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Judge what comes into view on the way: one call at a time, and one a leg, so that a step costs two at most.

        A view that promises an answer ends the drive. What the call raises is raised when the drive has ended.
        """
        if not self.config.assess_while_driving:
            yield
            return
        with background_task("assess", self._watch) as watch:
            yield
        self.promised = watch.result()

    def _watch(self, arrived: threading.Event) -> float | None:
        while not arrived.wait(self.config.look_s):
            views = self.judged.unjudged()
            if views and not self._limit_reached():
                best = self._judge(views)
                if best is not None and best >= self.config.promise:
                    self.ports.navigator.cancel()
                return best
        return None

    def _check(self, result: NavResult) -> None:
        if result.code is NavCode.FAILED:
            raise NavigationError(result.message)
        if result.code.limit:
            self.limit = self.limit or in_words(self.question.limits, result.code.limit)
        if self._canceled():
            raise Canceled("canceled by the caller")

    def _items(self) -> list[Recalled]:
        """Return the views that an answer is made from."""
        return self.judged.items()

    def _asked(self, call: Callable[[], T], otherwise: T) -> T:
        """Return what the answerer says on the way, with the last call kept for the answer.

        otherwise: where the question's limits do not allow to ask; then they have ended the search.
        """
        try:
            with self.account.turn(), spending(self.account.purse(self.question.limits, keep=True)):
                return call()
        except LimitReached as error:
            self.limit = self.limit or exceeded(error, self.question.limits)
            return otherwise

    def _answer_from(self, items: Sequence[Recalled]) -> Answer:
        """Let the answerer answer; where the limits do not allow that any more, what it said last stands."""
        self._report("answering")
        try:
            with self.account.turn(), spending(self.account.purse(self.question.limits, keep=False)):
                answer = self.ports.answerer.answer(self.question, items)
        except LimitReached as error:
            self.limit = self.limit or exceeded(error, self.question.limits)
            return self.answered or Answer(abstained=True, message="no answer could be asked for")
        assessed = self.judged.in_order()
        sure = self.stop.sure(answer, assessed)
        if not answer.abstained:
            self._report("answering", weighed=WeighedAnswer(answer.text, support_of(answer, assessed), sure))
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
        """Say whether a limit has ended the search."""
        if self._canceled():
            raise Canceled("canceled by the caller")
        self.limit = self.limit or self.account.reached(self.question.limits)
        return bool(self.limit)

    def _report(self, phase: str, decision: Decision | None = None, weighed: WeighedAnswer | None = None) -> None:
        if self._waits is not False:
            return  # it is in the queue, whose word that is
        self._listener(Progress(phase, *self.account.update(), self.judged.best, decision,
                                decision.reason if decision else "", weighed))

