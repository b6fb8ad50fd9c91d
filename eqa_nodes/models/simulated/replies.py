"""Replies of the simulated model in the formats of the prompts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase

from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.answerers.label.found import RuleAnswer
from eqa_nodes.core.answerers.label.rooms import rooms_of
from eqa_nodes.core.answerers.label.scene import room_of
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.naming import by_head, kept_in, members
from eqa_nodes.core.types.questions import ViewAssessment
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.models.simulated.answers import asked_in, cautious, found_in, in_plain_rooms, listed, usual_rooms
from eqa_nodes.models.simulated.decide import decide
from eqa_nodes.models.simulated.request import SimulatedRequest
from eqa_nodes.models.simulated.sight import Sight, SightLimits

Reply = dict[str, object]
_MOST_PROOF = 3
_BESIDE_M = 4.0  # maximum distance of the target from the place whose letter is given
_AT_DOOR_M = 1.2  # maximum distance from a door of a place that leads through it
_NOTE_WORDS = 12
_TELLING = 0.5  # share of one kind of room from which a kind of object identifies that room


def regions(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return the usual rooms of the answer, from the prompt's list."""
    weights: dict[str, float] = {}
    for region in usual_rooms(request.question):
        name = listed(region.name)
        if name:
            weights[name] = max(weights.get(name, 0.0), round(region.weight, 2))
    return {"regions": weights}


def assess(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return an entry for each picture, each judged on its own."""
    return {"views": [_assessed(request, n, limits) for n in range(len(request.pictures))]}


def _assessed(request: SimulatedRequest, n: int, limits: SightLimits) -> Reply:
    number, picture = request.pictures[n]
    sight = Sight([picture], limits, request.question.seed)
    view = sight.views[0]
    plain = request.question._replace(text=in_plain_rooms(request.question.text))
    judged = LabelAnswerer().assess(plain, [view])[0]
    found = found_in([view], request.question, limits)
    worth, places = _worth(judged, view, request, limits)
    letters = dict(zip(ascii_uppercase, places))
    said = sight.spoken(found.text) if found else ""
    return {"image": number, "relevance": cautious(judged.relevance, limits),
            "enough": found.confidence if found else 0.0, "worth": worth, "places": letters,
            "target": _letter(judged, view), "region": sight.kind_of(room_of(view)), "says": said,
            "note": " ".join(said.split()[:_NOTE_WORDS])}


def _worth(judged: ViewAssessment, view: Keyframe, request: SimulatedRequest,
           limits: SightLimits) -> tuple[float, list[float]]:
    """Return the worth of driving on from a picture, and the share of each place; doorways raise both."""
    doors = [s.centre for s in view.sightings if canonical(s.label.kind).endswith("door")]
    ahead = [any(math.dist(door[:2], (p.x, p.y)) <= _AT_DOOR_M for door in doors) for p in view.places]
    weights = [place.weight + (limits.doorway if at_door else 0.0)
               for place, at_door in zip(judged.places, ahead, strict=True)]
    worth = max(cautious(judged.worth, limits), limits.doorway if doors else limits.elsewhere)
    return worth, [round(weight / sum(weights), 3) for weight in weights]


def _letter(judged: ViewAssessment, view: Keyframe) -> str:
    """Return the letter of the place nearest to the target of the question, "" if none is near."""
    if judged.target is None or not view.places:
        return ""
    off = [math.dist(judged.target, (p.x, p.y)) for p in view.places]
    return ascii_uppercase[off.index(min(off))] if min(off) <= _BESIDE_M else ""


def answer(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return the answer from all pictures together, or an abstention."""
    sight = Sight([shown.picture for shown in request.pictures], limits, request.question.seed)
    found = found_in(sight.views, request.question, limits)
    if found is None or found.confidence < limits.least_said:
        return {"answer": "", "confidence": 0.0, "images": [], "why": "the pictures do not show it", "abstain": True}
    return {"answer": sight.spoken(found.text), "confidence": found.confidence,
            "images": proofs(found, sight, [shown.number for shown in request.pictures]),
            "why": ", ".join(dict.fromkeys(t.kind for t in found.objects[:_MOST_PROOF])), "abstain": False}


def proofs(found: RuleAnswer, sight: Sight, numbers: Sequence[int]) -> list[int]:
    """Return the numbers of the pictures that prove an answer: the best one of each object, else the first picture."""
    by_view = {view.id: number for view, number in zip(sight.views, numbers, strict=True)}
    named = [by_view[t.view.id] for t in found.objects if t.view.id in by_view]
    return list(dict.fromkeys(named))[:_MOST_PROOF] or [numbers[0]]


def classes(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return the listed kinds that the question names, then those that identify its room."""
    asked = asked_in(request.question)
    named = [kind for ref in asked.refs for kind in (ref.kind, ref.support) if kind]
    wanted = [kind for name in named for kind in (name, *members(name), *kept_in(name))]
    direct = [kind for kind in request.listed if any(
        canonical(kind) == canonical(name) or by_head(kind, name) or by_head(name, kind) for name in wanted)]
    rooms = {region.name for region in usual_rooms(request.question)}
    telling = [kind for kind in request.listed if kind not in direct and rooms & _rooms_told_by(kind)]
    return {"classes": [*direct, *telling][:request.most or None]}


def _rooms_told_by(kind: str) -> set[str]:
    return {room for room, share in rooms_of(kind).items() if share >= _TELLING}


def blind(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return the answer that is most common in homes."""
    guessed = LabelAnswerer().answer(request.question, ())
    return {"answer": guessed.text, "confidence": round(guessed.confidence, 2)}


def abstention(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return that a reply is an answer: this model marks abstentions with a field of its own."""
    return {"answers": True}


REPLIES: Mapping[str, Callable[[SimulatedRequest, SightLimits], Reply]] = {
    "regions": regions, "assess": assess, "answer": answer, "classes": classes, "blind": blind,
    "decide": decide, "abstention": abstention}
