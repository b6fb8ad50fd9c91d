"""What a model was shown in one call, what it said, and what that cost: for reports, the console and the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from eqa_nodes.core.types.floor import POINTED, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2

_SAME_M = 1.0  # a goal so near to an option is that option


class CallPicture(NamedTuple):
    """A remembered view that a model was shown. The image itself is that of the keyframe: it is not stored again.

    marks: numbers of options drawn on it; points: where the model saw evidence in it; both in pixels of the stored
    image. now: taken where the robot stood. note: what the model said of this view alone, "" for nothing.
    """

    keyframe_id: int
    marks: tuple[OptionMark, ...] = ()
    points: tuple[tuple[float, float], ...] = ()
    now: bool = False
    note: str = ""


class ModelCall(NamedTuple):
    """One turn of a model. stamp_ns, pose: of the robot's last observation when it ended, map frame.

    kind: decide | regions | assess | answer, what the model was asked for; pictures: oldest first; options: where the
    robot could go, numbered from 1 in their order, as the model weighs them; answer: "" where it gave none; confidence:
    of the answer, as the model states it; missing: what it wants to see; evidence: keyframe ids, best first; requests:
    how many were sent, repeated ones included; money: by the model's prices, 0.0 where none are known; error: why
    nothing came of it, "" where it ended well; models: which model was asked in which role, "caption by llava-13b".
    """

    stamp_ns: int
    pose: Pose2
    question: str
    kind: str
    pictures: tuple[CallPicture, ...] = ()
    options: tuple[WeighedOption, ...] = ()
    reasons: str = ""
    answer: str = ""
    confidence: float = 0.0
    missing: str = ""
    evidence: tuple[int, ...] = ()
    requests: int = 1
    tokens_in: int = 0
    tokens_out: int = 0
    money: float = 0.0
    seconds: float = 0.0
    error: str = ""
    models: tuple[str, ...] = ()


def option_at(options: Sequence[WeighedOption], goal: Pose2) -> int:
    """Return the number of the option that a goal stands for, of several near it the heaviest; 0 for none.

    For a place that the model pointed at also stands a goal on the way there, as the picture shows it: the place itself
    may be out of reach.
    """
    for off in (_off, _off_the_way):
        near = [(weighed.weight, -number) for number, weighed in enumerate(options, 1)
                if off(weighed.option, goal) < _SAME_M]
        if near:
            return -max(near)[1]
    return 0


def _off(option: Option, goal: Pose2) -> float:
    return math.dist((option.x, option.y), goal[:2])


def _off_the_way(option: Option, goal: Pose2) -> float:
    """Return how far a goal is from the line from the picture to a place that the model pointed at, inf for others."""
    if option.kind != POINTED:
        return math.inf
    dx, dy = math.cos(option.heading), math.sin(option.heading)
    back_m = (option.x - goal.x) * dx + (option.y - goal.y) * dy
    at_m = min(max(back_m, 0.0), option.distance_m)
    return math.dist((option.x - at_m * dx, option.y - at_m * dy), goal[:2])


class OptionMark(NamedTuple):
    """A number drawn on a picture, at a pixel (u, v) of the view's stored image."""

    number: int
    u: float
    v: float
