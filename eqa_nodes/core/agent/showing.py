"""After an answer: drive to where its best evidence was seen from, and turn to it."""

from __future__ import annotations

import math
from dataclasses import replace

from eqa_nodes.core.agent.bounds import Bounds
from eqa_nodes.core.agent.legs import Legs
from eqa_nodes.core.agent.progress import ProgressReport
from eqa_nodes.core.protocols import Odometry
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Answer, Question

_SHOWN_M, _SHOWN_RAD = 0.5, math.radians(30)  # so near to a view's pose the robot stands where it was seen from


def show(answer: Answer, question: Question, legs: Legs, odometry: Odometry, bounds: Bounds,
         report: ProgressReport) -> Answer:
    """Return the answer, which says whether the robot stands at its evidence, and if not why. Raises Canceled."""
    trouble = _not_to_be_shown(answer, question, bounds)
    if not trouble:
        trouble = _shown(Decision(answer.evidence[0].pose, "goes to where the answer was seen from"), legs, odometry,
                         bounds, report)
    if not trouble:
        return replace(answer, shown=True)
    return replace(answer, message="; ".join(filter(None, (answer.message, f"not shown: {trouble}"))))


def _shown(decision: Decision, legs: Legs, odometry: Odometry, bounds: Bounds, report: ProgressReport) -> str:
    """Drive to the evidence; return why the robot does not stand there, "" where it does. Raises Canceled."""
    assert decision.goal is not None
    if not legs.allowed(decision):
        return "the drive was not allowed"
    report("showing", decision)
    result = legs.go_to(decision)
    bounds.check_canceled()
    return _missed(decision.goal, odometry.last()[1], result.message or result.code.value)


def _not_to_be_shown(answer: Answer, question: Question, bounds: Bounds) -> str:
    """Return why there is no drive to the evidence, "" where there is one."""
    if not question.may_explore:
        return "the robot was asked not to move"
    if answer.abstained or not answer.evidence:
        return "there is nothing to drive to"
    return "the question's limits are used up" if bounds.used_up() else ""


def _missed(pose: Pose2, at: Pose2, why: str) -> str:
    """Return by how much a drive ended elsewhere, "" where it did not. why: what the navigator says."""
    if at.distance(pose) <= _SHOWN_M and abs(wrap(at.yaw - pose.yaw)) <= _SHOWN_RAD:
        return ""
    return f"the drive ended {at.distance(pose):.2f} m from where it was seen: {why}"
