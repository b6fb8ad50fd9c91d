"""One model call per decision: the model sees the present view, a few others and the options, answers and says where
to go.

Each option has a thumbnail of the best stored view of it. The request repeats its statements in earlier calls and where
they led.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from eqa_nodes.core.agent.config import ASKING
from eqa_nodes.core.agent.reporting import EpisodeContext
from eqa_nodes.core.agent.stopping import Answers
from eqa_nodes.core.agent.strategies import ExploreFirst
from eqa_nodes.core.answerers.option_sheet import glimpses
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.rooms import is_room
from eqa_nodes.core.language.understanding import query_of, targets
from eqa_nodes.core.perception.best_views import best_glimpse, between_walls
from eqa_nodes.core.perception.projection import novelty
from eqa_nodes.core.perception.walls import WallMap
from eqa_nodes.core.protocols import Adviser, adviser_of
from eqa_nodes.core.types.calls import DecisionReply, DecisionRequest, TargetNote, option_at
from eqa_nodes.core.types.floor import LOOK_ROUND, POINTED, ZOOM, Decision, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import MAX_EVIDENCE, Answer, Evidence, Question, ViewAssessment
from eqa_nodes.core.types.views import Keyframe

_HERE_M = 0.5  # views within this distance count as taken where the robot stands
_NOW_M, _NOW_RAD = 0.15, math.radians(7.5)  # a stored view within this distance shows what the robot sees now
_EARLIER = 200  # number of earlier views of which thumbnails are made and the closing pictures are chosen
_REPEATED = 3  # calls in a row with the same answer after which it is given
_USELESS = 3  # calls in a row in which the model names no place to go to, after which the search ends
_CLOSING = 2  # the last call shows this many times as many pictures as other calls
_UNFINISHED, _SURE = 0.3, 0.9  # below this confidence, a place of that weight is looked at if something is missing
_PROOF = 1  # maximum number of pictures named as evidence that are shown again, for each target of the question
_NOTES = 5  # maximum number of notes of earlier calls
_AREA_M2 = 1.0  # less floor says nothing about the size of a room
_THERE_M = 1.0  # distance to its goal within which the robot has arrived
_WENT = {"frontier": "unexplored space", "doorway": "a doorway", "floor": "floor not yet visited",
         POINTED: "the place that you pointed at"}
_SIZES = re.compile(r"\b(?:larg|bigg?|small|spacious|roomi|size|area|square)(?:e|er|est|y)?\b", re.IGNORECASE)
_WORDS = re.compile(r"(?:living |dining |laundry |guest )?[a-z]+")
_PICTURES = re.compile(r"\b(?:pictures?|images?)\s+#?\d+(?:\s*(?:,|and|to|-)\s*#?\d+)*", re.IGNORECASE)
_LEAST = 0.9  # minimum share of a new picture that no other one shows
_PROOF_M, _CLEARLY = 1.6, 0.25  # best distance of a proof; how much better it must be: by a factor of 1.3, or uncut
_ALIKE = 0.3  # evidence of which the other pictures show more than the rest is not shown again


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

    turns_by_map = True

    def __init__(self, context: EpisodeContext, answers: Answers, adviser: Adviser) -> None:
        super().__init__(context, answers)
        self._adviser = adviser
        self._said = DecisionReply(Answer(abstained=True))
        self._last_text, self._repeated = "", 0  # the latest answer, and how many calls in a row gave it
        self._evidence: Sequence[ViewAssessment] = ()  # what the model named last, best first
        self._asks_of_sizes = asks_of_room_sizes(context.question.text)
        self._stood: dict[str, tuple[float, float, float]] = {}  # where the robot stood in each room, map frame, metres
        self._offered: tuple[Option, ...] = ()  # the options of the policy that the last request listed
        self._useless = 0  # number of latest calls in a row that named no place to go to
        self._notebook, self._drives = Notebook(targets_of(context.question)), 0
        self._legs_left = -1  # estimate in the latest request, -1 = unknown; it only falls
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
        if any(one.option.kind == ZOOM for one in said.options):  # the same request again, with what it asked to see
            self._notebook.add(said._replace(room=""))
            brief = brief._replace(notes=self._notebook.notes(), calls_left=max(-1, brief.calls_left - 1))
            said = self._advice(brief) or said
        answer = self._taken(said, brief)
        if any(not target.known for target in self._said.targets):
            return False
        return (self._answers.enough(answer) and not self._unfinished(answer)) or self._insists(answer)

    def _unfinished(self, answer: Answer) -> bool:
        """Return whether the model says that something is missing and where it may be seen, and is not very sure."""
        return bool(self._said.missing) and answer.confidence < _SURE and any(
            one.weight >= _UNFINISHED for one in self._said.options)

    def gave_up(self) -> str:
        """Return a reason once the model has repeatedly named no place to go to, despite views of other places."""
        return "the model saw no place left where a look would help" if self._useless >= _USELESS else ""

    def closing_answer(self, why: str) -> Answer:
        """Ask once more, with the most informative pictures and without options."""
        return self._answers.final(why, self._closing())

    def _closing(self) -> Answer | None:
        """Return the answer of a closing call or of an earlier one; None if there is none."""
        views = pick(self._ports.memory.since(0)[-_EARLIER:], _CLOSING * self._config.pictures,
                     self._views.proof()[:_CLOSING * _PROOF])
        self._offered, brief = (), self._filled(views)
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
            self._prove()
            return True
        after = self._said.answer
        agrees = before is not None and not after.abstained and canonical(after.text) == canonical(before.text)
        if agrees and before is not None:
            self._answers.last = replace(before, evidence=after.evidence or before.evidence)  # the model saw both
            self._prove()
        return agrees

    def drove(self, decision: Decision) -> None:
        """Note which option the robot was sent to."""
        self._drives += 1
        self._notebook.went(decision, self._said.options)

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
        self._views.add(said.assessments, (*brief.sheet, *brief.views))
        self.advice = tuple(one._replace(option=offered) for one, offered in zip(said.options, self._offered))
        self.advice += tuple(one for one in said.options[len(self._offered):] if one.option.kind != ZOOM)
        self._notebook.add(said)
        if said.room and brief.views:
            self._stood[said.room] = brief.views[-1].map_from_base.xyz
        self._said = said
        self._evidence = tuple(a for a in said.assessments if a.relevance > 0.0) or self._evidence
        self._useless = 0 if any(option.weight > 0 for option in said.options) else self._useless + 1
        answer = self._answers.weigh(said.answer)
        self._prove()
        return answer

    def _proof(self, seen: Sequence[Keyframe]) -> list[Keyframe]:
        """Return the views of what the model named last, each the best one of it that is stored."""
        by_id, found = {view.id: view for view in seen}, list[Keyframe]()
        for a in self._evidence:
            best = None if a.target is None else best_glimpse(seen, (*a.target, a.target_z), _PROOF_M)
            view = by_id.get(a.keyframe_id) if best is None else best.view
            found += [view] if view is not None and view not in found else []
        return found

    def _prove(self) -> None:
        """Make the best stored view of what the model named the first proof of the answer, if it is clearly better."""
        answer, seen = self._answers.last, self._ports.memory.since(0)[-_EARLIER:]
        named = next((a for a in self._said.assessments if answer is not None and answer.evidence
                      and a.keyframe_id == answer.evidence[0].keyframe_id and a.target is not None), None)
        if answer is None or named is None or named.target is None:
            return
        point = (*named.target, named.target_z)
        best, before = best_glimpse(seen, point, _PROOF_M), best_glimpse(
            [view for view in seen if view.id == named.keyframe_id], point, _PROOF_M)
        if best is not None and (before is None or best.worse < before.worse - _CLEARLY):
            proof = Evidence(best.view.id, best.view.stamp_ns, best.view.pose, answer.evidence[0].note)
            others = (one for one in answer.evidence if one.keyframe_id != proof.keyframe_id)
            self._answers.last = replace(answer, evidence=(proof, *others)[:MAX_EVIDENCE])

    def _brief(self) -> DecisionRequest | None:
        """Return the request to the model; None if there are no new views.

        The present view is stored first, so that it is always shown.
        """
        self._ports.memory.keep()
        new = self._views.take_new()
        if not new:
            return None
        here = self._ports.odometry.last()[1]
        seen = self._ports.memory.since(0)[-_EARLIER:]
        self._offered = tuple(self._ports.explorer.options(self._question, self._views.in_order()) or ())
        options = tuple(as_seen(option, seen) for option in self._offered)
        present = present_view(seen, here)
        most = self._config.pictures - bool(self._notebook.notes())  # the first call shows what is all around
        proof = self._proof(seen)[:_PROOF * max(1, len(self._notebook.targets))]
        views = pick(new, most, (*present, *proof))
        views = (*(view for view in views if view not in present), *present)
        now = tuple(view.id for view in views if view.pose.distance(here) <= _HERE_M) if present else ()
        left = self._ledger.drives_left(self._drives)
        self._legs_left = left if self._legs_left < 0 else min(self._legs_left, left)
        return self._filled(views, options, now, self._legs_left,
                            self._ledger.calls_left() if self._question.limits.calls else -1,
                            _for_sheet(options, seen, views) if present else ())

    def _filled(self, views: tuple[Keyframe, ...], options: tuple[Option, ...] = (), now: tuple[int, ...] = (),
                legs_left: int = -1, calls_left: int = -1, sheet: tuple[Keyframe, ...] = ()) -> DecisionRequest:
        """Return a request that includes the notes."""
        notes = self._notebook
        notes.stands(self._ports.odometry.last()[1])
        visited = self._with_sizes() if self._asks_of_sizes else notes.visited
        return DecisionRequest(views, options, now, tuple(visited), notes.notes(), legs_left, calls_left, notes.targets,
                               sheet)

    def _with_sizes(self) -> list[str]:
        """Return the rooms with the floor that was seen of each, by the depth of the views, the present one last."""
        walls, views = WallMap(), self._ports.memory.since(0)[-_EARLIER:]
        for view in views:
            with suppress(BadFrame):  # a view without readable depth adds nothing
                walls.add_view(view)
        sized = []
        for room, (x, y, floor_m) in (*self._stood.items(), *(("where it stands", view.map_from_base.xyz)
                                                              for view in views[-1:])):
            area_m2 = walls.parts(x, y, floor_m).area_m2(x, y)
            sized.append(f"{room} ({area_m2:.0f} m2 of floor seen)" if area_m2 >= _AREA_M2 else room)
        return sized


class Notebook:
    """Notes of one question. visited: kinds of rooms in which the robot was, according to the model."""

    def __init__(self, targets: tuple[TargetNote, ...] = ()) -> None:
        self.visited: list[str] = []
        self.targets = targets
        self._notes: list[str] = []
        self._goal: Pose2 | None = None  # goal of the drive since the last note
        self._instead = ""  # why it is not the model's first choice, "" if it is
        self._guess = ""  # the room that the model expected there

    def notes(self) -> tuple[str, ...]:
        """Return the latest notes, oldest first."""
        return tuple(self._notes[-_NOTES:])

    def add(self, said: DecisionReply) -> None:
        """Note a reply of the model, and whether it stands in the room that it expected."""
        if self._guess and said.room and said.room != self._guess:
            self._notes[-1] += f" That was the {said.room}, not the {self._guess}."
        self._guess = ""
        answer = f" Answer so far: {said.answer.text} ({said.answer.confidence:.2f})." if said.answer.text else ""
        missing = f" Missing: {_lasting(said.missing)}." if said.missing else ""
        self._notes.append(f"{_lasting(said.reasons)}{answer}{missing}")
        self.targets = said.targets or self.targets
        if said.room and said.room not in self.visited:
            self.visited.append(said.room)

    def went(self, decision: Decision, advice: Sequence[WeighedOption]) -> None:
        """Note where a decision sends the robot."""
        number = _chosen(decision, advice)
        if not self._notes or decision.goal is None:
            return
        if not number:
            self._notes[-1] += f" The robot then went elsewhere: it {decision.reason}."
            return
        chosen, first = advice[number - 1], max(advice, key=lambda one: one.weight)
        self._goal, self._guess = decision.goal, chosen.room
        self._notes[-1] += " The robot then looked round" if chosen.option.kind == LOOK_ROUND else \
            f" The robot was then sent to {_place_named(chosen)}"
        if first.weight > chosen.weight:
            farther_m = first.option.distance_m - chosen.option.distance_m
            reached = any(option_at([first], Pose2(c.x, c.y, first.option.heading)) for c in decision.candidates)
            why = "cannot be reached or was looked at already" if not reached else \
                f"is {farther_m:.0f} m farther" if farther_m >= 1.0 else "takes longer to reach, with its turns"
            self._instead = f" Your first choice, {_place_named(first)}, {why}."

    def stands(self, here: Pose2) -> None:
        """Note whether the robot has arrived."""
        if self._goal is None:
            return
        arrived = here.distance(self._goal) <= _THERE_M
        self._notes[-1] += ("." if arrived else ", but did not get there.") + self._instead
        self._goal, self._instead, self._guess = None, "", self._guess if arrived else ""


def _place_named(weighed: WeighedOption) -> str:
    """Return an option in words, with the room that the model or the map says is there."""
    kind, room = weighed.option.kind, weighed.room or weighed.option.room
    return f"{_WENT.get(kind, kind)}{f' ({room} by your guess)' if room else ''}"


def _chosen(decision: Decision, advice: Sequence[WeighedOption]) -> int:
    """Return the number of the option that a decision follows, 0 for none. A long drive ends before its place."""
    if decision.goal is None:
        return 0
    places = [*(Pose2(c.x, c.y, decision.goal.yaw) for c in decision.candidates[:1]), decision.goal]
    return next((number for place in places if (number := option_at(advice, place))), 0)


def asks_of_room_sizes(text: str) -> bool:
    """Return whether a question is about the sizes of rooms, which pictures show badly."""
    return _SIZES.search(text) is not None and any(is_room(word) for word in _WORDS.findall(text.lower())) and not any(
        thing.kind for thing in query_of(text).subjects)


def targets_of(question: Question) -> tuple[TargetNote, ...]:
    """Return the targets of a question about several places or objects, parsed from its words; () for a single one."""
    return tuple(TargetNote(f"{target.what} ({target.where})" if target.what and target.where else
                       target.what or target.where) for target in targets(question.text))


def _lasting(words: str) -> str:
    """Return a text without picture numbers, which differ in the next call."""
    return _PICTURES.sub("a picture", words)


def present_view(views: Sequence[Keyframe], here: Pose2) -> tuple[Keyframe, ...]:
    """Return the newest stored view of what the robot sees at a pose; () if there is none."""
    return tuple(view for view in views if view.pose.distance(here) <= _NOW_M
                 and abs(wrap(view.pose.yaw - here.yaw)) <= _NOW_RAD)[-1:]


def pick(views: Sequence[Keyframe], most: int, first: Sequence[Keyframe] = ()) -> tuple[Keyframe, ...]:
    """Return at most `most` views, oldest first: the first ones that differ, and those of the others that add most.

    first: views to show in any case, such as the present one and evidence, most important first; of those that show
    nearly the same, the first. A view adds what no chosen one shows: another direction or place. Fewer views are
    returned if the rest adds too little, but at least one: the newest if all are alike.
    """
    chosen: list[Keyframe] = []
    for view in first:
        if len(chosen) < max(1, most - 1) and (not chosen or novelty(view, chosen) >= _ALIKE):
            chosen.append(view)
    rest = [view for view in views if all(view.id != other.id for other in first)]
    while rest and len(chosen) < most:
        best = max(rest, key=lambda view: (novelty(view, chosen), view.id))
        if chosen and novelty(best, chosen) < _LEAST:
            break
        chosen.append(best)
        rest.remove(best)
    return tuple(sorted(chosen, key=lambda view: view.id))


def as_seen(option: Option, views: Sequence[Keyframe]) -> Option:
    """Return an option as it is shown: an opening of the map that is a gap between furniture is not called a doorway.
    """
    if option.kind == "doorway" and not between_walls(views, option.x, option.y, option.heading):
        return option._replace(kind="frontier")
    return option


def _for_sheet(options: Sequence[Option], seen: Sequence[Keyframe], shown: Sequence[Keyframe]) -> tuple[Keyframe, ...]:
    """Return the views of which thumbnails of the options are made, beside those that are shown, oldest first."""
    best = {one.view.id: one.view for one in glimpses(options, seen).values()}
    return tuple(best[i] for i in sorted(best) if all(i != view.id for view in shown))
