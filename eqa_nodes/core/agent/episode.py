"""The episode of one question: understand it, ask memory, look and drive until it is answered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial

from eqa_nodes.core.agent.config import ASKING, NEVER, NEWEST, AgentConfig
from eqa_nodes.core.agent.driving import DriveExecutor, at_rest
from eqa_nodes.core.agent.memory_first import MemoryFirst
from eqa_nodes.core.agent.model_decides import with_model
from eqa_nodes.core.agent.person import Dialogue
from eqa_nodes.core.agent.reporting import CallRecorder, EpisodeContext, Reporter
from eqa_nodes.core.agent.resolving import needs_resolving, read_as, resolve
from eqa_nodes.core.agent.stopping import Answers, Stop
from eqa_nodes.core.agent.strategies import strategy_of
from eqa_nodes.core.answerers.common import check_asked
from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.ledger import Ledger, check_limits, limit_in, limit_in_words
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.inquiries import GO
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Question

# Reasons for a failed drive: the navigator, a missing map or transform, or a lost node.
DRIVE_ERRORS = (ErrorCode.NAVIGATION, ErrorCode.STALE, ErrorCode.NODE_LOST)


class Episode:
    """Answers one question; `run` and `explore` contain the whole procedure.

    ledger: limits and costs. person: asked what the question means, and whether the robot may drive. driver: drives as
    far as person, area and ledger allow. answers: the answers so far and their views. strategy: makes answers from
    views. memory: what is known before the robot moves. policy: chooses where to look next.
    """

    def __init__(self, ports: Ports, config: AgentConfig, stop: Stop, question: Question,
                 listener: Callable[[Progress], None], canceled: Callable[[], bool], drive: str = GO,
                 turn: AbstractContextManager[object] = nullcontext()) -> None:
        """drive: one of DRIVE_MODES. turn: lock held while the answerer is asked, if several questions share it."""
        self._with_question = partial(Episode, ports, replace(config, ask_back=False), stop, listener=listener,
                                      canceled=canceled, drive=drive, turn=turn)
        if config.explore == NEWEST:  # such an agent never abstains
            question = question._replace(force_guess=True)
        self.ledger = Ledger(question, ports.odometry, ports.answerer, canceled, turn)
        self.report = Reporter(listener, self.ledger)
        ports = ports._replace(answerer=CallRecorder(ports.answerer, ports.odometry.last, self.report.called))
        self.context = EpisodeContext(question, ports, config, self.ledger, self.report)
        self.config, self.question, self.policy = config, question, ports.explorer
        self.person = Dialogue(self.context)
        self.answers = Answers(self.context, stop)
        self.driver = DriveExecutor(self.context, self.person, drive)
        self.memory = MemoryFirst(self.context, self.answers, self.driver)
        self.strategy = strategy_of(self.context, self.answers)
        self._may_turn = drive == GO
        self._unconfirmed = ""  # why a certain answer was not confirmed by a second look

    def run(self) -> Answer:
        """Return the answer. A failure is returned as an answer with error code, message and what was found so far."""
        self.report.begin()
        try:
            check_asked(self.question)
            check_limits(self.question.limits)
            if self.config.ask_back:
                resolved = resolve(self.question, self.context.ports.memory, self.person, self._not_understood())
                return resolved.complete(self._with_question(resolved.question).run())
            self.ledger.begin()
            answer = self.answers.last = self.memory.refused() or self._without_exploring() or self.explore()
            if self.question.show:
                answer = self.driver.show(answer)
            self.ledger.update()
        except EqaError as error:
            answer = self.answers.failed(error)
        answer = answer.saying(self.driver.not_allowed(), limit_in_words(self.ledger.limit))
        return replace(answer, receipt=self.ledger.receipt(self.memory.privileged), understood=read_as(self.question))

    def explore(self) -> Answer:
        """Look, decide and drive until an answer is certain enough, nothing is left to explore or a limit is reached.
        """
        self.strategy.begin()
        if self.config.look_round:
            self.driver.look_around()
        for _ in range(self.config.max_legs):
            if self.strategy.answered() and self._confirmed():  # at most one call of the model
                return self.answers.best().saying(self._unconfirmed)
            last = self.ledger.on_last_call() and any(option.weight > 0 for option in self.strategy.advice)
            if (not last and self.ledger.reached()) or self.driver.ended:
                break
            if why := self.strategy.gave_up():
                return self.strategy.closing_answer(why)
            decision = self._decide()
            if decision.goal is not None:
                self._follow(decision)
            elif limit := limit_in(decision.reason):
                self.ledger.limit = self.ledger.limit or limit
                break
            elif not self.answers.views.anything_new() and not self.driver.waited_for_people():
                return self.strategy.closing_answer(self.driver.ended_by(decision.reason))
            if last and self.ledger.reached():  # the closing call shows the view from where the model wanted to go
                break
        return self.strategy.closing_answer("")

    def unclear(self, refused: bool = False) -> bool:
        """Return whether a person must be asked what the question means. Raises EqaError if memory fails.

        refused: whether the answerer does not understand it.
        """
        return self.config.ask_back and needs_resolving(self.question, self.context.ports.memory, refused)

    def _not_understood(self) -> bool:
        """Return whether the question will end without an answer because the answerer does not understand it."""
        refused = self.memory.refused()
        return refused is not None and refused.abstained

    def _without_exploring(self) -> Answer | None:
        """Return the answer if the robot need not or may not explore; None otherwise."""
        asks = self.config.explore == ASKING
        if self.config.explore == NEVER:
            return self.answers.ask(())
        if asks:
            self.report("remembering")
            if (recollection := self.memory.recollection()) is not None:
                return self.memory.answer(recollection)
            if (then := self.memory.answer_of_then()) is not None:
                return then
        if not self.question.may_explore:
            return self.answers.final()
        self.strategy = with_model(self.context, self.answers, self.strategy)
        return self.answers.best() if (asks and self.memory.views_answer()) or self.ledger.reached() else None

    def _decide(self) -> Decision:
        self.report("exploring")
        decision = self.policy.decide(self.question, self.answers.views.in_order(), self.strategy.regions,
                                      self.strategy.advice)
        self.answers.views.choose(decision.marks)
        return self.driver.within_area(decision)

    def _follow(self, decision: Decision) -> None:
        """Drive; at the end of a promising drive that a model decided, turn to floor that the robot has not seen.

        The policy says by the map which turns that takes. A person who has to allow each drive is asked once: the robot
        then looks all round.
        """
        assert decision.goal is not None
        here = self.context.ports.odometry.last()[1]
        by_map = decision.look_around and self._may_turn and self.strategy.turns_by_map and not at_rest(
            here, decision.goal)
        if not self.driver.follow(decision._replace(look_around=decision.look_around and not by_map)):
            return
        self.strategy.drove(decision)
        while by_map and not self.ledger.reached() and not self.driver.ended:
            turn = self.driver.within_area(self.policy.decide(self.question, self.answers.views.in_order(),
                                                              self.strategy.regions))
            if turn.goal is None:
                break
            by_map = not at_rest(self.context.ports.odometry.last()[1], turn.goal)  # else the last turn is all round
            self.driver.drive(turn._replace(look_around=not by_map))

    def _confirmed(self) -> bool:
        """Look again where the policy asks for it; return False if the answer no longer holds after that."""
        for _ in range(self.config.max_confirmations):
            if self.ledger.reached() or not self._looked_again():
                return True
            if not self.strategy.still_stands():
                return False
        return True

    def _looked_again(self) -> bool:
        """Drive to where the policy wants to look again and store the view there.

        Return False if the policy does not want to or the drive fails: the answer, which was certain enough without
        it, is kept, and its message says why it was not confirmed.
        """
        try:
            confirm = self.policy.confirm(self.question, self.answers.views.in_order(), self.strategy.regions)
            if not self.driver.drive(self.driver.within_area(confirm)):
                return False
            self.context.ports.memory.keep()
            return True
        except EqaError as error:
            if error.code not in DRIVE_ERRORS:
                raise
            self._unconfirmed = f"not confirmed by a second look: {error}"
            return False
