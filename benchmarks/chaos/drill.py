"""Executes the plans: each episode with its faults, the next question after it, and the checks."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.chaos import checks
from benchmarks.chaos.schedule import CASES, NEXT, Case, DrillPlan
from benchmarks.chaos.world import GRACE_S, LIMITS, DrillWorld
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import Sample

_TRIES = 5  # attempts at a graph's first question: on a busy machine, deadlines may pass during start-up
_LATE_S = 5.0  # extra time for the client to notice its own deadline
RIGHT = 4  # mark of the offline judge from which an answer counts as right


@dataclass
class Outcome:
    """How an episode ended. how: same | right | abstained | the error's name | wrong. problems: failed checks."""

    plan: DrillPlan
    how: str = ""
    text: str = ""
    message: str = ""
    seconds: float = 0.0
    restarts: int = 0
    after: str = ""  # the next question: works | works at the second try | why not
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Drill:
    """Runs plans one after the other, several on one graph; `ended` is called after each."""

    def __init__(self, out: Path, ended: Callable[[Outcome], None]) -> None:
        self._out, self._ended, self._judge = out, ended, OfflineJudge()
        self._world: DrillWorld | None = None
        self._worlds = 0
        self._reference: dict[tuple[str, str], Answer] = {}
        self._first = Answer()  # answer to the next question in the current graph before any fault
        self.outcomes: list[Outcome] = []
        self.left: list[str] = []  # remains of graphs that have ended
        self.graphs = 0

    def run(self, plans: Sequence[DrillPlan]) -> None:
        """Execute all plans. Errors of the drill itself are raised; errors of the graph are recorded as problems."""
        try:
            for plan in plans:
                outcome = self._episode(plan)
                self.outcomes.append(outcome)
                self._ended(outcome)
        finally:
            self._close()

    def _episode(self, plan: DrillPlan) -> Outcome:
        world = self._opened(plan.world)
        case, outcome, episode = CASES[plan.case], Outcome(plan), f"episode-{plan.number:03d}"
        reference = self._reference_of(world, plan.case)
        before, world.wrong = world.restarts(), []
        at_once = world.prepare(plan.faults, plan.seed)
        for strike in at_once:
            strike()
        began = time.monotonic()
        answer = self._asked(world, case, episode, outcome)
        outcome.seconds = time.monotonic() - began
        outcome.notes += [f"the question ended before: {text}" for text in world.missed(plan.faults)]
        self._judged(outcome, case, answer, reference)
        world.calm()
        down = world.wait_until_up()
        if not down:
            world.quiet_wire()
        promised = set(world.tap.recorded)  # a recorder acknowledges later messages, too, but does not store them
        incomplete = self._bag_closed(world, outcome)
        self._stored(world, outcome, episode, set() if incomplete else promised)
        self._next(world, outcome, down)
        outcome.restarts = world.restarts() - before
        outcome.notes += world.wrong
        if down or outcome.problems:
            self._close(outcome)
        return outcome

    def _opened(self, kind: str) -> DrillWorld:
        if self._world is not None and self._world.kind != kind:
            self._close()
        if self._world is None:
            self.graphs += 1
            self._world = DrillWorld(kind, self._out / f"graph-{self.graphs:02d}-{kind}").__enter__()
            self._first = whole(self._world, NEXT.sample, "first")
        return self._world

    def _close(self, outcome: Outcome | None = None) -> None:
        """End the graph, and check for remains."""
        world, self._world = self._world, None
        if world is None:
            return
        world.__exit__(None, None, None)
        left = checks.left_behind(world.folder, world.graph.domain)
        self.left += [f"{world.folder.name}: {one}" for one in left]

    def _reference_of(self, world: DrillWorld, name: str) -> Answer:
        """Return the answer to the question without faults, in a graph of the same kind."""
        key = world.kind, name
        if key not in self._reference:
            answer = whole(world, CASES[name].sample, f"reference-{name}")
            if answer.error or answer.abstained or self._mark(CASES[name], answer) < RIGHT:
                raise EqaError(f"without any fault {name!r} ({world.kind}) ends with {answer.text!r} {answer.error!r} "
                               f"{answer.message}: such a question shows nothing")
            self._reference[key] = answer
        return self._reference[key]

    def _asked(self, world: DrillWorld, case: Case, episode: str, outcome: Outcome) -> Answer | None:
        """Ask; None if the graph's error was raised as an exception."""
        try:
            return world.ask(case.sample, episode)
        except EqaError as error:
            outcome.how, outcome.message = error.code.name, str(error)
        except Exception as error:
            outcome.how, outcome.message = "unnamed", repr(error)
            outcome.problems.append(f"an error without a name: {traceback.format_exc()}")
        return None

    def _judged(self, outcome: Outcome, case: Case, answer: Answer | None, reference: Answer) -> None:
        if answer is not None:
            outcome.text, outcome.message = answer.text, answer.message
            outcome.how = self._how(case, answer, reference)
        if outcome.how == "wrong":
            outcome.problems.append(f"silently wrong: {outcome.text!r}, without any fault {reference.text!r}")
        if outcome.how == ErrorCode.INTERNAL.name:
            outcome.problems.append(f"an internal error: {outcome.message}")
        if outcome.how in ErrorCode.__members__ and not outcome.message:
            outcome.problems.append(f"{outcome.how} without a message")
        if outcome.seconds > LIMITS.seconds + GRACE_S + _LATE_S:
            outcome.problems.append(f"ended after {outcome.seconds:.0f} s: limit {LIMITS.seconds:g} s, "
                                    f"grace {GRACE_S:g} s")

    def _how(self, case: Case, answer: Answer, reference: Answer) -> str:
        if answer.error:
            return answer.error.name
        if answer.abstained:
            return "abstained"
        if answer.text == reference.text:
            return "same"
        return "right" if self._mark(case, answer) >= RIGHT else "wrong"

    def _mark(self, case: Case, answer: Answer) -> float:
        return self._judge.judge(case.sample, answer.text).sigma or 0.0

    def _bag_closed(self, world: DrillWorld, outcome: Outcome) -> bool:
        """Close the bag; return whether the graph reported that it is incomplete."""
        for last in (False, True):
            try:
                world.client.end_episode()
            except EqaError as error:
                if error.code == ErrorCode.STORAGE:
                    outcome.notes.append(f"the recorder reports: {error}")
                    return True
                if last:
                    outcome.notes.append(f"the bag was not closed: {error}")
            else:
                break
        return False

    def _stored(self, world: DrillWorld, outcome: Outcome, episode: str, promised: set[int]) -> None:
        lost = checks.lost_keyframes(world.folder, episode, world.tap.keyframes)
        try:
            lost += checks.lost_observations(world.folder, episode, promised) if promised else []
        except EqaError as error:
            lost.append(f"bags cannot be read: {error}")
        outcome.problems += [f"lost: {one}" for one in lost]

    def _differs(self, world: DrillWorld, answer: Answer) -> str:
        """Return how an answer to the next question differs from that of the fresh graph, "" if it does not."""
        if answer.error or answer.text != self._first.text:
            return f"{answer.error.name} {answer.text!r} {answer.message}"
        steps, before = answer.receipt.steps, self._first.receipt.steps
        return "" if steps == before else f"{steps} steps, in the fresh graph {before}"

    def _next(self, world: DrillWorld, outcome: Outcome, down: str) -> None:
        """Ask the next question on the same graph, twice if the first attempt ends with an error."""
        for again in (False, True):
            try:
                answer = world.ask(NEXT.sample, f"after-{outcome.plan.number:03d}")
                world.client.end_episode()
                said = self._differs(world, answer)
            except EqaError as error:
                said = f"{error.code.name} {error}"
            if not said:
                outcome.after = "works at the second try" if again else "works"
                return
            outcome.notes.append(f"next question: {said}")
            if down:
                break
        outcome.after = f"graph down: {down}" if down else said
        if not down or "\n" in said.strip():
            outcome.problems.append(f"the next question does not work: {said}")


def whole(world: DrillWorld, sample: Sample, episode: str) -> Answer:
    """Ask without faults, and again after a missed deadline. Raises the graph's error of the last attempt."""
    for left in range(_TRIES - 1, -1, -1):
        try:
            answer = world.ask(sample, episode)
            world.client.end_episode()
        except EqaError:
            if not left:
                raise
        else:
            if not answer.error:
                break
    return answer
