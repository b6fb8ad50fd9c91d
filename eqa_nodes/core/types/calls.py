"""Model calls: the request for a decision with its reply, and the record of any call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from eqa_nodes.core.types.floor import CLOSER, POINTED, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Answer, ViewAssessment
from eqa_nodes.core.types.views import Keyframe

_SAME_M = 1.0  # a goal within this distance of an option counts as that option
_LOOK_M, _FACING_RAD = 3.0, 0.5  # a closer look is taken from at most so far, and faces its object


class CallPicture(NamedTuple):
    """A remembered view that a model was shown. The image itself is that of the keyframe and is not stored again.

    marks: numbers of options drawn on it; points: positions of evidence according to the model; both in pixels of the
    stored image. now: taken where the robot stood. note: the model's statement about this view alone, "" for none.
    """

    keyframe_id: int
    marks: tuple[OptionMark, ...] = ()
    points: tuple[tuple[float, float], ...] = ()
    now: bool = False
    note: str = ""


class ModelCall(NamedTuple):
    """One turn of a model. stamp_ns, pose: stamp and pose (map frame) of the robot's last observation when it ended.

    kind: the request: decide | regions | assess | answer; pictures: oldest first; options: where the robot could go,
    numbered from 1 in this order, with the model's weights; answer: "" if it gave none; confidence: the model's own
    confidence in the answer; missing: what it wants to see; evidence: keyframe ids, best first; requests: number of
    requests sent, including repeated ones; money: cost by the model's prices, 0.0 if none are known; error: why it
    failed, "" if it succeeded; models: models with their roles, such as "caption by llava-13b".
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
    """Return the number of the option that a goal corresponds to, the heaviest of several near it; 0 for none.

    A goal on the line from the camera to a place that the model pointed at corresponds to that place too, since the
    place itself may be unreachable.
    """
    for off in (_off, _off_the_way):
        near = [(weighed.weight, -number) for number, weighed in enumerate(options, 1)
                if off(weighed.option, goal) < _SAME_M]
        if near:
            return -max(near)[1]
    return 0


def _off(option: Option, goal: Pose2) -> float:
    """Return the distance of a goal from an option.

    A closer look is taken from a place that faces its object, and a drive to a doorway ends behind it.
    """
    metres = math.dist((option.x, option.y), goal[:2])
    if option.kind == "doorway":
        behind = option.x + math.cos(option.heading), option.y + math.sin(option.heading)
        return min(metres, math.dist(behind, goal[:2]))
    if not option.kind.startswith(CLOSER):
        return metres
    towards = math.atan2(option.y - goal.y, option.x - goal.x)
    return max(0.0, metres - _LOOK_M) if abs(wrap(towards - goal.yaw)) <= _FACING_RAD else math.inf


def _off_the_way(option: Option, goal: Pose2) -> float:
    """Return the distance of a goal from the line from the camera to a place the model pointed at, inf for others."""
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


class TargetNote(NamedTuple):
    """One of several objects or places that a question is about, and what is known about it, "" for nothing yet."""

    what: str
    known: str = ""


class DecisionRequest(NamedTuple):
    """The input of a model for one decision.

    views: the chosen pictures, oldest first, the present view last; now: keyframe ids of those taken where the robot
    stands, the present view last; options: where it could go; visited: kinds of rooms that it has been in; notes: the
    model's earlier statements, oldest first; legs_left, calls_left: number of drives and model calls left, -1 = no
    limit; targets: the objects or places of a question about several, with what is known about them; sheet: further
    views, which are only shown as thumbnails of the options.
    """

    views: tuple[Keyframe, ...]
    options: tuple[Option, ...] = ()
    now: tuple[int, ...] = ()
    visited: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    legs_left: int = -1
    calls_left: int = -1
    targets: tuple[TargetNote, ...] = ()
    sheet: tuple[Keyframe, ...] = ()


class DecisionReply(NamedTuple):
    """A model's reply to a DecisionRequest.

    answer: an abstention if the pictures and the notes do not answer yet; reasons: two sentences; missing: what must
    still be seen, "" for nothing; options: those of the request in its order, weighed, then the places that the model
    pointed at; assessments: one for each view that the model named as evidence, its target computed from the point
    given and the view's depth; targets: those of a question about several, () if the model names none; room: the
    kind of room in which the robot stands, "" unknown; unclear: what it named that was not shown, for counters.
    """

    answer: Answer
    reasons: str = ""
    missing: str = ""
    options: tuple[WeighedOption, ...] = ()
    assessments: tuple[ViewAssessment, ...] = ()
    targets: tuple[TargetNote, ...] = ()
    room: str = ""
    unclear: tuple[str, ...] = ()
