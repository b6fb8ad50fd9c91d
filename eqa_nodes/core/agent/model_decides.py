"""One model call per decision: the model sees new pictures with the policy's options, answers, and says where to go.

It sees a few views that differ from each other and show where the robot could go. The request repeats its statements
in earlier calls and where they led.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from eqa_nodes.core.agent.config import ASKING
from eqa_nodes.core.agent.reporting import EpisodeContext
from eqa_nodes.core.agent.stopping import Answers
from eqa_nodes.core.agent.strategies import ExploreFirst
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.understanding import targets
from eqa_nodes.core.perception.projection import novelty, visible_pixel
from eqa_nodes.core.protocols import Adviser, adviser_of
from eqa_nodes.core.types.calls import DecisionReply, DecisionRequest, TargetNote, option_at
from eqa_nodes.core.types.floor import LOOK_ROUND, POINTED, Decision, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Question
from eqa_nodes.core.types.views import Keyframe

_HERE_M = 0.5  # views within this distance count as taken where the robot stands
_EARLIER = 60  # number of earlier views of which one may be shown again if it alone shows an option
_REPEATED = 3  # calls in a row with the same answer after which it is given
_USELESS = 3  # calls in a row in which the model names no place to go to, after which the search ends
_CLOSING = 2  # the last call shows this many times as many pictures as other calls
_PROOF = 2  # maximum number of pictures named as evidence that are shown again
_NOTES = 8  # maximum number of notes of earlier calls
_THERE_M = 1.0  # distance to its goal within which the robot has arrived
_WENT = {"frontier": "unexplored space", "doorway": "a doorway", "floor": "floor not yet visited",
         POINTED: "the place that you pointed at"}
_PICTURES = re.compile(r"\b(?:pictures?|images?)\s+#?\d+(?:\s*(?:,|and|to|-)\s*#?\d+)*", re.IGNORECASE)
_OPTION = 0.4  # gain of showing one more option; a view that shares nothing with the others gains 1
_NOW = 0.3  # additional gain of a view from where the robot stands
_LEAST = 0.55  # minimum gain of a further picture


def with_model(context: EpisodeContext, answers: Answers, strategy: ExploreFirst) -> ExploreFirst:
    """Return ModelDecides if the agent, its answerer and its policy support it; otherwise the given strategy."""
    config, ports = context.config, context.ports
    adviser = adviser_of(ports.answerer)
    if (not (config.explore == ASKING and config.consult) or adviser is None
            or ports.explorer.options(context.question, ()) is None):
        return strategy
    return ModelDecides(context, answers, adviser)


class ModelDecides(ExploreFirst):
    """Asks the model once per drive: one look, one call, one decision. Without new views it makes no call.

    The notes repeat what the model said before: each call shows only a few pictures, so it cannot know that otherwise.
    """

    def __init__(self, context: EpisodeContext, answers: Answers, adviser: Adviser) -> None:
        super().__init__(context, answers)
        self._adviser = adviser
        self._said = DecisionReply(Answer(abstained=True))
        self._last_text, self._repeated = "", 0  # the latest answer, and how many calls in a row gave it
        self._useless = 0  # number of latest calls in a row that named no place to go to
        self._notebook, self._drives = Notebook(targets_of(context.question)), 0
        self._views.judged_one_by_one = False

    def answered(self) -> bool:
        """Show the model the new views and the options; return whether its answer is certain enough."""
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
        """Return a reason once the model has repeatedly named no place to go to, despite views of other places."""
        return "the model saw no place left where a look would help" if self._useless >= _USELESS else ""

    def closing_answer(self, why: str) -> Answer:
        """Ask once more, with the most informative pictures and without options."""
        return self._answers.final(why, self._closing())

    def _closing(self) -> Answer | None:
        """Return the answer of a closing call or of an earlier one; None if there is none."""
        views = pick(self._ports.memory.since(0)[-_EARLIER:], (), _CLOSING * self._config.pictures, (),
                     self._views.proof()[:_PROOF])
        brief = self._filled(views)
        said = self._advice(brief, keep=False) if views else None
        if said is None:
            found = self._searched(self._said)  # from earlier calls
            return self._answers.last or (Answer(abstained=True, message=found) if found else None)
        answer = self._taken(said, brief)
        if answer.abstained:
            return self._answers.last or replace(answer, message=self._searched(said))
        return answer

    def _searched(self, said: DecisionReply) -> str:
        """Return what a search without an answer saw and did not see, in the words of the model."""
        rooms = ", ".join(self._notebook.visited)
        return "; ".join(filter(None, (said.reasons.rstrip(". "), f"the robot was in: {rooms}" if rooms else "",
                                       f"not seen: {said.missing.rstrip('. ')}" if said.missing else "")))

    def still_stands(self) -> bool:
        """Ask again with the views of the second look; return whether the model still gives the same answer."""
        before = self._answers.last
        if not self._views.anything_new() or self.answered():
            return True
        after = self._said.answer
        agrees = before is not None and not after.abstained and canonical(after.text) == canonical(before.text)
        if agrees and before is not None:
            self._answers.last = replace(before, evidence=after.evidence or before.evidence)  # the model saw both
        return agrees

    def drove(self, decision: Decision) -> None:
        """Note which option the robot was sent to."""
        self._drives += 1
        self._notebook.went(decision, self.advice)

    def _advice(self, brief: DecisionRequest, keep: bool = True) -> DecisionReply | None:
        """Ask the model; None if the limits allow no call. keep: whether to reserve one call for the answer."""
        self._report("deciding")
        return self._ledger.asked(lambda question: self._adviser.advise(question, brief), None, keep)

    def _insists(self, answer: Answer) -> bool:
        """Return whether the model has repeated its answer so often that further views would not change it."""
        if answer.abstained:
            return False
        text = canonical(answer.text)
        self._repeated = self._repeated + 1 if text == self._last_text else 1
        self._last_text = text
        return self._repeated >= _REPEATED and answer.confidence >= self._config.promise

    def _taken(self, said: DecisionReply, brief: DecisionRequest) -> Answer:
        self._views.forget_doubtful()
        self._views.add(said.assessments, brief.views)
        self.advice = said.options
        self._notebook.add(said)
        self._said = said
        self._useless = 0 if any(option.weight > 0 for option in said.options) else self._useless + 1
        return self._answers.weigh(said.answer)

    def _brief(self) -> DecisionRequest | None:
        """Return the request to the model; None if there are no new views."""
        new = self._views.take_new()
        if not new:
            return None
        options = tuple(self._ports.explorer.options(self._question, self._views.in_order()) or ())
        here = self._ports.odometry.last()[1]
        now = tuple(view.id for view in new if view.pose.distance(here) <= _HERE_M)
        earlier = self._ports.memory.since(0)[-_EARLIER:]
        shown = [view for view in earlier if view.id < new[0].id]
        views = pick(new, options, self._config.pictures, now, self._views.proof()[:_PROOF], shown)
        return self._filled(views, options, now, self._ledger.drives_left(self._drives),
                            self._ledger.calls_left() if self._question.limits.calls else -1)

    def _filled(self, views: tuple[Keyframe, ...], options: tuple[Option, ...] = (), now: tuple[int, ...] = (),
                legs_left: int = -1, calls_left: int = -1) -> DecisionRequest:
        """Return a request that includes the notes."""
        notes = self._notebook
        notes.stands(self._ports.odometry.last()[1])
        return DecisionRequest(views, options, now, tuple(notes.visited), notes.notes(), legs_left, calls_left,
                               notes.targets)


class Notebook:
    """Notes of one question. visited: kinds of rooms in which the robot was, according to the model."""

    def __init__(self, targets: tuple[TargetNote, ...] = ()) -> None:
        self.visited: list[str] = []
        self.targets = targets
        self._notes: list[str] = []
        self._goal: Pose2 | None = None  # goal of the drive since the last note

    def notes(self) -> tuple[str, ...]:
        """Return the latest notes, oldest first."""
        return tuple(self._notes[-_NOTES:])

    def add(self, said: DecisionReply) -> None:
        """Note a reply of the model."""
        answer = f" Answer so far: {said.answer.text} ({said.answer.confidence:.2f})." if said.answer.text else ""
        missing = f" Missing: {_lasting(said.missing)}." if said.missing else ""
        self._notes.append(f"{_lasting(said.reasons)}{answer}{missing}")
        self.targets = said.targets or self.targets
        if said.room and said.room not in self.visited:
            self.visited.append(said.room)

    def went(self, decision: Decision, advice: Sequence[WeighedOption]) -> None:
        """Note where a decision sends the robot."""
        number = _chosen(decision, advice)
        if not number or not self._notes:
            return
        chosen = advice[number - 1]
        self._goal, room = decision.goal, chosen.room or chosen.option.room
        kind = _WENT.get(chosen.option.kind, chosen.option.kind)
        self._notes[-1] += " The robot then looked round" if kind == LOOK_ROUND else \
            f" The robot was then sent to {kind}{f' ({room} by your guess)' if room else ''}"

    def stands(self, here: Pose2) -> None:
        """Note whether the robot has arrived."""
        if self._goal is None:
            return
        arrived = here.distance(self._goal) <= _THERE_M
        self._notes[-1] += "." if arrived else ", but did not get there."
        self._goal = None


def _chosen(decision: Decision, advice: Sequence[WeighedOption]) -> int:
    """Return the number of the option that a decision follows, 0 for none. A long drive ends before its place."""
    if decision.goal is None:
        return 0
    places = [decision.goal, *(Pose2(c.x, c.y, decision.goal.yaw) for c in decision.candidates[:1])]
    return next((number for place in places if (number := option_at(advice, place))), 0)


def targets_of(question: Question) -> tuple[TargetNote, ...]:
    """Return the targets of a question about several places or objects, parsed from its words; () for a single one."""
    return tuple(TargetNote(f"{target.what} ({target.where})" if target.what and target.where else
                       target.what or target.where) for target in targets(question.text))


def _lasting(words: str) -> str:
    """Return a text without picture numbers, which differ in the next call."""
    return _PICTURES.sub("a picture", words)


def pick(views: Sequence[Keyframe], options: Sequence[Option], most: int, now: Collection[int] = (),
         kept: Sequence[Keyframe] = (), shown: Sequence[Keyframe] = ()) -> tuple[Keyframe, ...]:
    """Return at most `most` views, oldest first: the kept ones and those of the others that add most.

    now: ids of views taken where the robot stands. A view adds what no chosen one shows: another direction or place,
    and options visible in it. shown: views that were shown before, which add options only: one is shown again if it
    alone shows an option and there is room. Fewer views are returned if the rest adds too little, but at least one of
    `views`: the newest if all are alike.
    """
    chosen = list(kept)[:most - 1]
    ids = {view.id for view in chosen}
    new = [view for view in views if view.id not in ids]
    rest = [*(view for view in shown if view.id not in ids), *new]
    seen = {view.id: _options_in(view, options) for view in (*chosen, *rest)}
    stale = {view.id for view in shown}

    def gain(view: Keyframe) -> float:
        covered = set().union(*(seen[other.id] for other in chosen))
        new = 0.0 if view.id in stale else novelty(view, chosen)
        return new + _OPTION * len(seen[view.id] - covered) + _NOW * (view.id in now)

    candidates = new or rest  # the first choice is a new view, however little it adds: it shows where the robot is
    while candidates and len(chosen) < most:
        best = max(candidates, key=lambda view: (gain(view), view.id))
        enough = _OPTION if best.id in stale else _LEAST + _NOW * (best.id in now)
        if candidates is rest and chosen and gain(best) < enough:
            break
        chosen.append(best)
        rest.remove(best)
        candidates = rest
    return tuple(sorted(chosen, key=lambda view: view.id))


def _options_in(view: Keyframe, options: Sequence[Option]) -> set[int]:
    z = view.map_from_base.xyz[2]
    return {i for i, o in enumerate(options) if visible_pixel(view, o.x, o.y, z) is not None}
