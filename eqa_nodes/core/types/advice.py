"""One decision of a model: the request with pictures and numbered options, and the reply."""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.core.types.floor import Option, WeighedOption
from eqa_nodes.core.types.questions import Answer, ViewAssessment
from eqa_nodes.core.types.views import Keyframe


class TargetNote(NamedTuple):
    """One of several objects or places that a question is about, and what is known about it, "" for nothing yet."""

    what: str
    known: str = ""


class DecisionRequest(NamedTuple):
    """The input of a model for one decision.

    views: the chosen pictures, oldest first; now: keyframe ids of those taken where the robot stands, the current view
    last; options: where it could go; visited: kinds of rooms that it has been in; notes: the model's earlier
    statements, oldest first; legs_left, calls_left: number of drives and model calls left, -1 = no limit; targets: the
    objects or places of a question about several, with what is known about them.
    """

    views: tuple[Keyframe, ...]
    options: tuple[Option, ...] = ()
    now: tuple[int, ...] = ()
    visited: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    legs_left: int = -1
    calls_left: int = -1
    targets: tuple[TargetNote, ...] = ()


class DecisionReply(NamedTuple):
    """A model's reply to a DecisionRequest.

    answer: an abstention if the pictures and the notes do not answer yet; reasons: two sentences; missing: what must
    still be seen, "" for nothing; options: those of the request in its order, weighed, then the places that the model
    pointed at; assessments: one for each view that the model named as evidence, its target computed from the point
    given and the view's depth; targets: those of a question about several, () if the model names none; room: the
    kind of room in which the robot stands, "" unknown.
    """

    answer: Answer
    reasons: str = ""
    missing: str = ""
    options: tuple[WeighedOption, ...] = ()
    assessments: tuple[ViewAssessment, ...] = ()
    targets: tuple[TargetNote, ...] = ()
    room: str = ""
