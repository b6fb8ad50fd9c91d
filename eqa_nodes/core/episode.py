"""One question: remember, observe, decide, drive, answer. Nothing else orders these steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from eqa_nodes.core.agent.answers import Answers
from eqa_nodes.core.agent.assessments import UnassessedViews, ViewAssessments
from eqa_nodes.core.agent.bounds import Bounds
from eqa_nodes.core.agent.clarifying import Clarifying, Clear
from eqa_nodes.core.agent.config import ASKING, NEVER, NEWEST, AgentConfig
from eqa_nodes.core.agent.consulting import Consulting
from eqa_nodes.core.agent.cost import CostTracker
from eqa_nodes.core.agent.dialogue import Dialogue
from eqa_nodes.core.agent.drives import Drives
from eqa_nodes.core.agent.judging import Judging, Looking
from eqa_nodes.core.agent.legs import Legs
from eqa_nodes.core.agent.limits import check_limits, left, limit_in, with_limit
from eqa_nodes.core.agent.newest import JudgingNewest, NewestViews
from eqa_nodes.core.agent.noting import NotedAnswerer
from eqa_nodes.core.agent.patience import Patience
from eqa_nodes.core.agent.permission import Permission
from eqa_nodes.core.agent.progress import Progress
from eqa_nodes.core.agent.recollecting import Recollecting
from eqa_nodes.core.agent.showing import show
from eqa_nodes.core.agent.stopping import Stop, WeighedAnswer
from eqa_nodes.core.answerers.common import check_question
from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.protocols import Ports, adviser_of
from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.inquiries import GO, Inquiry
from eqa_nodes.core.types.questions import Answer, Question

# Of a drive that fails: by the navigator, for want of a map or a transform, or with the node that drives.
UNDRIVEN = (ErrorCode.NAVIGATION, ErrorCode.STALE, ErrorCode.NODE_LOST)


class Episode:
    """One question on its way to an answer: `run` is the whole of it."""

    def __init__(self, ports: Ports, config: AgentConfig, stop: Stop, question: Question,
                 listener: Callable[[Progress], None], canceled: Callable[[], bool], drive: str = GO) -> None:
        self._meant = partial(Episode, ports, replace(config, ask_back=False), stop, listener=listener,
                              canceled=canceled, drive=drive)
        ports = ports._replace(answerer=NotedAnswerer(ports.answerer, ports.odometry, self._note))
        self.ports, self.config, self.question = ports, config, question
        self._listener, self._begun, self._phase = listener, False, "queued"
        self._earlier: list[ModelCall] = []  # calls that were made while the question waited
        self._asking = config.explore == ASKING
        self.cost = CostTracker(ports.odometry, ports.answerer)
        self.bounds = Bounds(question.limits, self.cost, canceled)
        if config.explore == NEWEST:  # such an agent never says that it does not know
            self.question = question = question._replace(force_guess=True)
        kind = {ASKING: ViewAssessments, NEWEST: NewestViews}.get(config.explore, UnassessedViews)
        self.views = kind(ports.memory, ports.answerer, question, config, self.bounds, stop.calibration is not None,
                          lambda: ports.odometry.last()[0])
        self.answers = Answers(question, ports.answerer, self.views, stop, self.bounds, self._report)
        self.dialogue = Dialogue(question, ports.person, config.reply_s,
                                 lambda: left(question.limits.seconds, self.cost.receipt().seconds), canceled,
                                 self._inquire)
        self.permission = Permission(drive, self.dialogue, lambda: ports.odometry.last()[1], config.max_failed_legs,
                                     lambda decision: self._report("exploring", decision))
        self.legs = Legs(ports.navigator, question.limits, self.cost, config.leg_deadline_s, self.permission)
        self.drives = Drives(ports, config, self.legs, self.views, self.bounds, self._report)
        self.patience = Patience(ports.memory, self.drives, config)
        self.memory = Recollecting(question, ports, config, self.views, self.answers, self.bounds, self.legs,
                                   self.drives)
        self.judging = Judging(question, ports.answerer, config, self.views, self.answers, self.bounds)
        self._looking: Looking = self.judging
        self.clarifying = Clarifying(question, ports.memory, self.dialogue) if config.ask_back else None
        self._unconfirmed = ""  # why a sure answer was not looked at again

    def run(self) -> Answer:
        """Return the answer. A failure is an answer with its code, its message and what was found."""
        self._begun = True
        self._tell_earlier()
        try:
            check_question(self.question.text)
            check_limits(self.question.limits)
            if self.clarifying is not None:
                return self._cleared(self.clarifying.clear())
            self.cost.begin()
            answer = self.answers.last = self.memory.refused() or self._answer()
            if self.question.show:
                answer = show(answer, self.question, self.legs, self.ports.odometry, self.bounds, self._report)
            self.cost.update()
        except EqaError as error:
            answer = self.answers.failed(error)
        receipt = replace(self.cost.receipt(self.memory.privileged), limit=self.bounds.limit)
        message = "; ".join(filter(None, (answer.message, self.permission.in_words())))
        return replace(answer, receipt=receipt, message=with_limit(message, self.bounds.limit))

    def _cleared(self, clear: Clear) -> Answer:
        """Return the answer to the question as it is meant."""
        answer = self._meant(clear.question).run()
        if not clear.said:
            return answer
        privileged = tuple(sorted({*answer.receipt.privileged, *clear.privileged}))
        return replace(answer, message="; ".join(filter(None, (clear.said, answer.message))),
                       receipt=replace(answer.receipt, privileged=privileged))

    def _answer(self) -> Answer:
        """Ask memory first, then explore until the answer is sure enough or exploration ends."""
        if self.config.explore == NEVER:
            return self.answers.ask(())
        if self._asking:
            self._report("remembering")
            if (recollection := self.memory.recollection()) is not None:
                return self.memory.answer(recollection)
        if not self.question.may_explore:
            return self.answers.final()
        self._looking = self._newest() or self._consulting() or self.judging
        ended = self._explore()
        if ended is not None:
            return self.answers.final(ended, self._looking.closing())
        answer = self.answers.best()
        return replace(answer, message="; ".join(filter(None, (answer.message, self._unconfirmed))))

    def _explore(self) -> str | None:
        """Observe, decide and drive until the views answer the question.

        Return None then; else why exploration ended, "" where a limit ended it.
        """
        if (self._asking and self.memory.views_answer()) or self.bounds.reached():
            return None
        self._looking.begin()
        if self.config.look_round:
            self.drives.look_around()
        for _ in range(self.config.max_legs):
            if self._looking.answered() and self._confirmed():
                return None
            last = self.bounds.on_last_call() and any(option.weight > 0 for option in self._looking.advice)
            if (not last and self.bounds.reached()) or self.permission.ended:
                return ""
            if ended := self._looking.gave_up():
                return ended
            decision = self._decide()
            if decision.goal is not None:
                if self.drives.follow(decision):
                    self.patience.renew()
                    self._looking.went(decision)
            elif limit := limit_in(decision.reason):
                self.bounds.limit = self.bounds.limit or limit
                return ""
            elif not self.views.anything_new() and not self.patience.waited():  # new views are judged first
                return self.drives.ended(self.patience.in_words(decision.reason))
            if last and self.bounds.reached():  # the model named a place, and its last call is shown what is seen there
                return ""
        return ""

    def _newest(self) -> JudgingNewest | None:
        """Return what judges single views, None where the agent keeps what it saw before."""
        if not isinstance(self.views, NewestViews):
            return None
        return JudgingNewest(self.question, self.ports, self.config, self.views, self.answers, self.bounds)

    def _consulting(self) -> Consulting | None:
        """Return what lets a model decide with the policy, None where the answerer or the policy cannot do that."""
        ports, adviser = self.ports, adviser_of(self.ports.answerer)
        if (not (self._asking and self.config.consult) or adviser is None
                or ports.explorer.options(self.question, ()) is None):
            return None
        return Consulting(self.question, adviser, ports.explorer, ports.memory, ports.odometry, self.config,
                          self.views, self.answers, self.bounds, self._report)

    def _confirmed(self) -> bool:
        """Look again where the policy wants to before an answer is given; False when it no longer stands after that."""
        for _ in range(self.config.max_confirmations):
            if self.bounds.reached() or not self._looked_again():
                return True
            if not self._looking.still_stands():
                return False
        return True

    def _looked_again(self) -> bool:
        """Drive to where the policy wants to look again, and remember what shows there; False where it does not, or
        where that fails.

        Then the answer, which was sure enough without it, stays, and its message says why it was not confirmed.
        """
        try:
            confirm = self.ports.explorer.confirm(self.question, self.views.in_order(), self._looking.regions)
            if not self.drives.to(self.legs.within(confirm)):
                return False
            self.ports.memory.keep()
            return True
        except EqaError as error:
            if error.code not in UNDRIVEN:
                raise
            self._unconfirmed = f"not confirmed by a second look: {error}"
            return False

    def _decide(self) -> Decision:
        self._report("exploring")
        looking = self._looking
        return self.legs.within(self.ports.explorer.decide(self.question, self.views.in_order(), looking.regions,
                                                           looking.advice))

    def _report(self, phase: str, decision: Decision | None = None, weighed: WeighedAnswer | None = None) -> None:
        """Tell the listener; while the question waits in the queue, that one tells it."""
        self._phase = phase
        if self._begun:
            self._listener(Progress(phase, *self.cost.update(), self.views.best, decision,
                                    decision.reason if decision else "", weighed))

    def _inquire(self, inquiry: Inquiry, decision: Decision | None) -> None:
        """Tell the listener what a person is asked, and how that ended. Raises Canceled."""
        self._listener(Progress("asking", *self.cost.update(), self.views.best, decision, inquiry.in_words(),
                                inquiry=inquiry))
        self.bounds.check_canceled()

    def _note(self, call: ModelCall) -> None:
        """Tell the listener what a model was asked; what it was asked while the question waited, when it begins."""
        if self._begun:
            self._listener(Progress(self._phase, *self.cost.travelled, self.views.best, call=call))
        else:
            self._earlier.append(call)

    def _tell_earlier(self) -> None:
        earlier, self._earlier = self._earlier, []
        for call in earlier:
            self._note(call)
