"""One decision of a model: the pictures and numbered options that it is shown, and what it says to them."""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.core.types.questions import Answer, ViewAssessment
from eqa_nodes.core.types.views import Keyframe


class Option(NamedTuple):
    """A place where the robot could go next, map frame. Its number in a brief is its position there, from 1.

    kind: frontier (unknown space behind it) | doorway (a narrow frontier or passage) | floor (seen, not visited) |
    object (something seen from afar). heading: where it looks to, radians. distance_m: length of the path, metres.
    room: the kind of room that the map believes it leads into, "" unknown. value: what the policy itself expects, 0..1.
    """

    x: float
    y: float
    heading: float
    kind: str
    distance_m: float
    room: str = ""
    value: float = 0.0


class Brief(NamedTuple):
    """What a model is shown for one decision.

    views: the chosen pictures, oldest first; now: keyframe ids of those taken where the robot stands, the one it faces
    last; options: where it could go; visited: kinds of the rooms that it has been in; notes: what the model said
    before, oldest first; legs_left, calls_left: how many drives and model calls are left, -1 = no limit.
    """

    views: tuple[Keyframe, ...]
    options: tuple[Option, ...] = ()
    now: tuple[int, ...] = ()
    visited: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    legs_left: int = -1
    calls_left: int = -1


class Advice(NamedTuple):
    """What a model says to a brief.

    answer: abstained where the pictures and the notes do not answer yet; reasons: in two sentences; missing: what has
    still to be seen, "" for nothing; weights: of each option in the brief's order, 0..1, how likely going there leads
    to the answer; rooms: the kind of room that each option leads into, "" unknown; assessments: one of each view that
    the model named as evidence, its target from the point given and the view's depth.
    """

    answer: Answer
    reasons: str = ""
    missing: str = ""
    weights: tuple[float, ...] = ()
    rooms: tuple[str, ...] = ()
    assessments: tuple[ViewAssessment, ...] = ()
