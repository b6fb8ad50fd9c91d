"""What the simulated model makes of what it sees: the rules of the label answerer, on what is left of the labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eqa_nodes.core.answerers.common import match_choice
from eqa_nodes.core.answerers.label.found import RuleAnswer
from eqa_nodes.core.answerers.label.parse import ParsedQuestion, parse
from eqa_nodes.core.answerers.label.rooms import regions_for
from eqa_nodes.core.answerers.label.rules import look_up
from eqa_nodes.core.answerers.label.scene import LabelScene, in_region
from eqa_nodes.core.answerers.vlm_replies import REGIONS
from eqa_nodes.core.types.questions import Question, RankedRegion
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.models.simulated.limits import SightLimits

_RULES_SUREST = 0.95  # of an object in full view
# Rooms of a kind that a question tells apart by what nobody sees in a picture.
_TOLD_APART = re.compile(r"\b(?:main|master|first|second|third|other|guest|kids'?|kid's|children's|small|large|back|"
                         r"upstairs|downstairs) (?=(?:bed|bath|living |dining |guest )?rooms?\b)", re.I)
_NUMBERED = re.compile(r"\b((?:bed|bath)?room) \d+\b", re.I)
_NOT_SEEN = frozenset(("exists", "exists_at", "anything", "offered", "set", "filled", "sign", "wasted_in", "at",
                       "enough"))  # forms in which "no" may mean that it was not seen


def in_plain_rooms(text: str) -> str:
    """Return a question in which rooms are named by their kind alone."""
    return _NUMBERED.sub(r"\1", _TOLD_APART.sub("", text))


def asked_in(question: Question) -> ParsedQuestion:
    """Return what a question asks of rooms by their kind."""
    return parse(in_plain_rooms(question.text))


def usual_rooms(question: Question) -> list[RankedRegion]:
    """Return where the answer is usually found, the likeliest first."""
    return regions_for(asked_in(question))


def listed(room: str) -> str:
    """Return the name of a kind of room that prompts list, "" where none fits."""
    return room if room in REGIONS else next((known for known in REGIONS if in_region(room, known)), "")


def found_in(views: Sequence[Keyframe], question: Question, limits: SightLimits) -> RuleAnswer | None:
    """Return the answer that pictures give, as sure as the model says it is; None where they give none."""
    scene = LabelScene(views)
    found, share = look_up(scene, parse(question.text)), 1.0
    plain = in_plain_rooms(question.text)
    if found is None and plain != question.text:
        found, share = look_up(scene, parse(plain)), limits.any_room
    if found is None:
        return None
    sure = cautious(found.confidence * share, limits)
    if found.text.startswith("no") and parse(plain).form in _NOT_SEEN:
        sure = min(sure, limits.surest_no)
    return _chosen(found._replace(confidence=sure), question)


def cautious(confidence: float, limits: SightLimits) -> float:
    """Return a confidence of the rules as the model states it."""
    return round(min(1.0, confidence / _RULES_SUREST) * limits.surest, 2)


def _chosen(found: RuleAnswer, question: Question) -> RuleAnswer | None:
    if not question.choices:
        return found
    index = match_choice(found.text, question.choices)
    return None if index is None else found._replace(text=question.choices[index])
