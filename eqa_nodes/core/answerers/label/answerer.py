"""Answers by rules over sightings. Privileged where a simulator provides the labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from eqa_nodes.core.answerers.common import AnswererOptions, check_question, evidence_from
from eqa_nodes.core.answerers.label.answers import RuleAnswer, in_choices
from eqa_nodes.core.answerers.label.evidence import is_doubtful, proving_views
from eqa_nodes.core.answerers.label.finding import LOOKS, find
from eqa_nodes.core.answerers.label.home import regions_for
from eqa_nodes.core.answerers.label.rules import look_up
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, in_region, room_of
from eqa_nodes.core.answerers.label.tables import guess
from eqa_nodes.core.language.directions import at_destination
from eqa_nodes.core.language.english import canonical, content_words
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.understanding import query_of, understand
from eqa_nodes.core.memory.recollect import about_past
from eqa_nodes.core.traits import AnswererTraits
from eqa_nodes.core.types.floor import Candidate, shows_stairs
from eqa_nodes.core.types.measures import noted
from eqa_nodes.core.types.questions import Answer, Question, RankedRegion, Recalled, Receipt, ViewAssessment
from eqa_nodes.core.types.views import FloorPixel, Keyframe

_PRIVILEGED = ("LabelAnswerer",)
_IN_ROOM = 0.35  # relevance of a view that shows only the room asked about
_SUPPORT, _RIGHT_ROOM, _UNKNOWN = 0.7, 0.5, 0.1  # worth of an object's support, its usual room, bare floor
_ABOUT_ONE = (*LOOKS, "is", "choice", "text")  # forms of questions about one object
_ELSEWHERE = 0.5  # maximum confidence in an answer about an object in a room that was named otherwise
_BESIDE_M = 2.5  # objects within this distance of a place can be looked at from there


class LabelAnswerer:
    """The Answerer without a model: the offline default. Knows only what the views sighted. Raises BadQuestion.

    It is privileged unless all objects in the views were detected: then it knows what a robot knows. detected: what the
    labels are while no view has an object.
    """

    traits = AnswererTraits(labels=True, asks_memory=True, calibration="label", enough=0.9,
                            detected_calibration="detected", detected_enough=0.8)

    def __init__(self, detected: bool = False) -> None:
        self._detected = detected
        self._shown: set[bool] = set()  # the values of `detected` of all objects so far

    @classmethod
    def from_options(cls, options: AnswererOptions) -> LabelAnswerer:
        """Return an answerer for these labels."""
        return cls(options.detected)

    def spent(self) -> Receipt:
        """Return a receipt without calls and tokens: no model is asked."""
        return Receipt(privileged=() if (self._shown or {self._detected}) == {True} else _PRIVILEGED)

    def why_unanswerable(self, question: Question) -> str:
        """Return why the question is not understood, with questions that may have been meant; "" if it is."""
        return understand(check_question(question.text)).refusal

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return the rooms that the question names, else those where such objects usually are."""
        return regions_for(_asked(question))

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Judge every view separately.

        For what only several views can settle (counts, lists), `enough` says that this view is worth an answer; the
        answer's own confidence then says whether the views together were.
        """
        asked = _asked(question)
        regions = regions_for(asked)
        self._note(views)
        return [_assessed(view, asked, regions) for view in views]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from what the items' views sighted; without items, or to force a guess, by what is usual in homes."""
        asked = _asked(question)
        views = [item.keyframe for item in items]
        self._note(views)
        scene = LabelScene(views)
        found = (look_up(scene, asked) or _in_another_room(scene, asked)) if views else None
        if found and not found.open and (chosen := in_choices(found, question.choices)):
            kinds = dict.fromkeys(t.kind for t in chosen.objects[:3])
            note = ", ".join((*kinds, *([noted(chosen.measure)] if chosen.measure is not None else [])))
            proofs = evidence_from(proving_views([t.views for t in chosen.objects], chosen.measure), note)
            return Answer(chosen.text, chosen.confidence, evidence=proofs, receipt=self.spent(), message=chosen.says)
        if views and not question.force_guess:
            unseen = "what is asked about was not seen" if asked.form else _not_understood(question)
            return Answer(abstained=True, receipt=self.spent(), message=found.says if found and found.open else unseen)
        text, confidence = guess(asked)
        if question.choices:
            words = set(content_words(text))
            text = max(question.choices, key=lambda choice: len(words & set(content_words(choice))))
            confidence = 1.0 / len(question.choices)
        kind = "forced guess: what is asked about was not seen" if views else "blind guess: no views"
        return Answer(text, confidence, receipt=self.spent(), message=kind)

    def _note(self, views: Sequence[Keyframe]) -> None:
        self._shown |= {s.label.detected for view in views for s in view.sightings}


def _asked(question: Question) -> Query:
    """Return what is asked; a room that only the directions name is that of the thing. Raises BadQuestion."""
    return at_destination(query_of(check_question(question.text)), question.instruction)


def _in_another_room(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Answer about the only one of its kind that was seen, where a detector named its room otherwise than the question.

    A detector names rooms by what stands in them, and is more often wrong in that than a person who asks about "the
    desk in the study" is about having a desk there.
    """
    if asked.form not in _ABOUT_ONE or not asked.rooms or not asked.subjects:
        return None
    if not all(is_doubtful(t.sighting) for t in scene.objects):
        return None
    anywhere = asked._replace(things=tuple(map(_without_room, asked.things)),
                              predicates=tuple(map(_without_room, asked.predicates)))
    if any(len(find(scene, thing, every=True)) != 1 for thing in anywhere.subjects):
        return None
    found = look_up(scene, anywhere)
    if found is None or found.open or not found.objects:
        return None
    there = f"the only {found.objects[0].kind} that was seen, but not recognised to be in the {asked.rooms[0]}"
    return found._replace(confidence=min(found.confidence, _ELSEWHERE), says=f"{found.text}: of {there}")


def _without_room(thing: Thing) -> Thing:
    support, other = (t and _without_room(t) for t in (thing.support, thing.other_support))
    return thing._replace(room="", other_room="", support=support, other_support=other)


def _not_understood(question: Question) -> str:
    if about_past(question.text) and not question.choices:
        return "memory holds nothing that fits this question about the past"
    return understand(question.text).refusal


def _assessed(view: Keyframe, asked: Query, regions: Sequence[RankedRegion]) -> ViewAssessment:
    scene = LabelScene([view])
    found = look_up(scene, asked)
    meant = [t for thing in asked.subjects for t in find(scene, thing)]
    clear = [t.clarity for t in found.objects] if found else []
    clear += [0.9 * t.clarity for t in meant]
    if any(in_region(t.room, room) for t in scene.objects for room in asked.rooms):
        clear.append(_IN_ROOM)
    said = "" if found is None else found.text if found.open else found.says or found.text
    note = f"{found.says or found.text} ({', '.join(t.kind for t in found.objects[:3])})" if found else ""
    enough = max(found.confidence, found.promise) if found else 0.0
    worth = {t.instance: _worth(t, asked, regions, t in meant) for t in scene.objects}
    aims = (list(found.objects) if found else []) or sorted(meant, key=lambda t: (-t.clarity, t.instance))
    return ViewAssessment(view.id, view.stamp_ns, max(clear, default=0.0), enough, view.region or room_of(view), note,
                          view.pose, max(worth.values(), default=0.0), _values(view, scene, worth),
                          aims[0].middle if aims else None, said, view.map_from_base.xyz[2])


def _worth(obj: Seen, asked: Query, regions: Sequence[RankedRegion], meant: bool) -> float:
    """Return how promising an object is: asked about, below such an object, or in a room where one may be."""
    if meant:
        return obj.clarity
    if any(thing.support and canonical(thing.support.kind) == canonical(obj.kind) for thing in asked.subjects):
        return _SUPPORT * obj.clarity
    top = max((region.weight for region in regions), default=1.0)
    return max((_RIGHT_ROOM * r.weight / top for r in regions if in_region(obj.room, r.name)), default=0.0)


def _values(view: Keyframe, scene: LabelScene, worth: Mapping[int, float]) -> tuple[Candidate, ...]:
    """Return the view's places; the value of each is that of the best object near it, as a share of 1."""
    def near(place: FloorPixel) -> list[Seen]:
        off = {t.instance: math.dist(t.middle, (place.x, place.y)) for t in scene.objects}
        there = [t for t in scene.objects if off[t.instance] <= _BESIDE_M]
        return sorted(there, key=lambda t: (off[t.instance], t.instance))

    beside = [near(place) for place in view.places]
    values = [max((worth[t.instance] for t in objects), default=0.0) + _UNKNOWN for objects in beside]
    return tuple(Candidate(p.x, p.y, value / sum(values), _name(objects))
                 for p, value, objects in zip(view.places, values, beside, strict=True))


def _name(beside: Sequence[Seen]) -> str:
    """Return the name of a place: the room of the nearest object, or stairs, which scans label as objects."""
    return next((t.kind for t in beside if shows_stairs(t.kind)), beside[0].room if beside else "")
