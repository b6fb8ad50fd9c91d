"""One decision of a model: the pictures and numbered options that it is shown, and what it says to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eqa_nodes.core.types.floor import Option, WeighedOption
from eqa_nodes.core.types.questions import Answer, ViewAssessment
from eqa_nodes.core.types.views import Keyframe


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
    to the answer, or UNSEEN; rooms: the kind of room that each option leads into, "" unknown; assessments: one of each
    view that the model named as evidence, its target from the point given and the view's depth.
    """

    answer: Answer
    reasons: str = ""
    missing: str = ""
    weights: tuple[float, ...] = ()
    rooms: tuple[str, ...] = ()
    assessments: tuple[ViewAssessment, ...] = ()

    def weighed(self, options: Sequence[Option]) -> list[WeighedOption]:
        """Return the options of the brief with their weights and rooms."""
        return [WeighedOption(*each) for each in zip(options, self.weights, self.rooms, strict=True)]
