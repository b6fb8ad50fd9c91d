"""One decision of a model: the pictures and numbered options that it is shown, and what it says to them."""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.core.types.floor import Option, WeighedOption
from eqa_nodes.core.types.questions import Answer, ViewAssessment
from eqa_nodes.core.types.views import Keyframe


class TargetNote(NamedTuple):
    """One of several things or places that a question is about, and what is known of it, "" for nothing yet."""

    what: str
    known: str = ""


class DecisionRequest(NamedTuple):
    """What a model is shown for one decision.

    views: the chosen pictures, oldest first; now: keyframe ids of those taken where the robot stands, the one it faces
    last; options: where it could go; visited: kinds of the rooms that it has been in; notes: what the model said
    before, oldest first; legs_left, calls_left: how many drives and model calls are left, -1 = no limit; targets: the
    things or places that a question about several is about, with what is known of them.
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
    """What a model says to a brief.

    answer: abstained where the pictures and the notes do not answer yet; reasons: in two sentences; missing: what has
    still to be seen, "" for nothing; options: those of the brief in its order, weighed, and after them the places that
    the model pointed at; assessments: one of each view that the model named as evidence, its target from the point
    given and the view's depth; targets: those of a question about several, () where the model names none; room: the
    kind of room in which the robot stands, "" unknown.
    """

    answer: Answer
    reasons: str = ""
    missing: str = ""
    options: tuple[WeighedOption, ...] = ()
    assessments: tuple[ViewAssessment, ...] = ()
    targets: tuple[TargetNote, ...] = ()
    room: str = ""
