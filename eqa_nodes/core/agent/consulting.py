"""One call a decision: a model sees new pictures with the policy's options, answers, and says where to go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eqa_nodes.core.agent.answers import Answers
from eqa_nodes.core.agent.assessments import ViewAssessments
from eqa_nodes.core.agent.bounds import Bounds
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.notebook import Notebook, targets_of
from eqa_nodes.core.agent.picking import pick
from eqa_nodes.core.agent.progress import ProgressReport
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.protocols import Adviser, Explorer, Memory, Odometry
from eqa_nodes.core.types.advice import Advice, Brief
from eqa_nodes.core.types.floor import Decision, Option, WeighedOption
from eqa_nodes.core.types.questions import Answer, Question, RankedRegion
from eqa_nodes.core.types.views import Keyframe

_HERE_M = 0.5  # views from so near were taken where the robot stands
_EARLIER = 60  # views of before, of which one is shown again where it alone shows an option
_REPEATED = 3  # calls in a row with the same answer, after which it is given
_USELESS = 3  # calls in a row in which the model names no place to go to, after which the search ends
_CLOSING = 2  # times as many pictures as in other calls are shown in the last one
_PROOF = 2  # pictures named as evidence that are shown again


class Consulting:
    """Asks the model once a leg (DESIGN: one look, one call, one decision). Implements Looking.

    Its notes are what the model said before: no call is shown more than a few pictures, so it could not know otherwise.
    """

    regions: Sequence[RankedRegion] = ()

    def __init__(self, question: Question, adviser: Adviser, explorer: Explorer, memory: Memory, odometry: Odometry,
                 config: AgentConfig, views: ViewAssessments, answers: Answers, bounds: Bounds,
                 report: ProgressReport) -> None:
        self._question, self._adviser, self._explorer = question, adviser, explorer
        self._memory, self._odometry, self._config = memory, odometry, config
        self._views, self._answers, self._bounds, self._report = views, answers, bounds, report
        self.advice: Sequence[WeighedOption] = ()
        self._said = Advice(Answer(abstained=True))
        self._last_text, self._repeated = "", 0  # the answer of the last calls, and how many of them gave it
        self._useless = 0  # the last calls, in a row, that named no place to go to
        self._notebook, self._legs = Notebook(targets_of(question)), 0
        views.judged_one_by_one = False

    def begin(self) -> None:
        """Ask nothing: without a picture a model can only guess."""

    def answered(self) -> bool:
        """Show the model what is new, with where the robot could go; say whether its answer is sure enough."""
        self.advice = ()
        brief = self._brief()
        if brief is None:
            return False
        said = self._advice(brief)
        if said is None:
            return False
        answer = self._taken(said, brief)
        if any(not target.known for target in self._said.targets):
            return False
        return self._answers.enough(answer) or self._insists(answer)

    def gave_up(self) -> str:
        """Say that the model names no place any more; the policy chose others meanwhile, and they changed nothing."""
        return "the model saw no place left where a look would help" if self._useless >= _USELESS else ""

    def closing(self) -> Answer | None:
        """Ask once more, with the pictures that show most and nowhere to go; None where nothing may be asked."""
        views = pick(self._memory.since(0)[-_EARLIER:], (), _CLOSING * self._config.pictures, (),
                     self._views.proof()[:_PROOF])
        brief = self._filled(views)
        said = self._advice(brief, keep=False) if views else None
        if said is None:
            found = self._searched(self._said)  # by the calls before
            return self._answers.last or (Answer(abstained=True, message=found) if found else None)
        answer = self._taken(said, brief)
        if answer.abstained:
            return self._answers.last or replace(answer, message=self._searched(said))
        return answer

    def _searched(self, said: Advice) -> str:
        """Return what a search without an answer saw, in the words of the model, and what it did not see."""
        rooms = ", ".join(self._notebook.visited)
        return "; ".join(filter(None, (said.reasons.rstrip(". "), f"the robot was in: {rooms}" if rooms else "",
                                       f"not seen: {said.missing.rstrip('. ')}" if said.missing else "")))

    def still_stands(self) -> bool:
        """Ask again with what the second look showed; the answer stands unless another one, or none, is given now."""
        before = self._answers.last
        if not self._views.anything_new() or self.answered():
            return True
        after = self._said.answer
        agrees = before is not None and not after.abstained and canonical(after.text) == canonical(before.text)
        if agrees and before is not None:
            self._answers.last = replace(before, evidence=after.evidence or before.evidence)  # it saw both
        return agrees

    def went(self, decision: Decision) -> None:
        """Note which option the robot was sent to."""
        self._legs += 1
        self._notebook.went(decision, self.advice)

    def _advice(self, brief: Brief, keep: bool = True) -> Advice | None:
        """Ask the model, which may take long; None where the limits allow no call. keep: one is kept for the answer."""
        self._report("deciding")
        return self._bounds.asked(lambda: self._adviser.advise(self._question, brief), None, keep)

    def _insists(self, answer: Answer) -> bool:
        """Say whether the model gives the same answer again and again: more of the same would not make it surer."""
        if answer.abstained:
            return False
        text = canonical(answer.text)
        self._repeated = self._repeated + 1 if text == self._last_text else 1
        self._last_text = text
        return self._repeated >= _REPEATED and answer.confidence >= self._config.promise

    def _taken(self, said: Advice, brief: Brief) -> Answer:
        self._views.forget_doubtful()
        self._views.add(said.assessments, brief.views)
        self.advice = said.options
        self._notebook.add(said)
        self._said = said
        self._useless = 0 if any(option.weight > 0 for option in said.options) else self._useless + 1
        return self._answers.weigh(said.answer)

    def _brief(self) -> Brief | None:
        """Return what the model is to see; None where nothing is new."""
        new = self._views.take_new()
        if not new:
            return None
        options = tuple(self._explorer.options(self._question, self._views.in_order()) or ())
        here = self._odometry.last()[1]
        now = tuple(view.id for view in new if view.pose.distance(here) <= _HERE_M)
        earlier = self._memory.since(0)[-_EARLIER:]
        shown = [view for view in earlier if view.id < new[0].id]
        views = pick(new, options, self._config.pictures, now, self._views.proof()[:_PROOF], shown)
        return self._filled(views, options, now, self._bounds.legs_left(self._legs),
                            self._bounds.calls_left() if self._question.limits.calls else -1)

    def _filled(self, views: tuple[Keyframe, ...], options: tuple[Option, ...] = (), now: tuple[int, ...] = (),
                legs_left: int = -1, calls_left: int = -1) -> Brief:
        """Return a brief with what is noted."""
        notes = self._notebook
        notes.stands(self._odometry.last()[1])
        return Brief(views, options, now, tuple(notes.visited), notes.notes(), legs_left, calls_left, notes.targets)
