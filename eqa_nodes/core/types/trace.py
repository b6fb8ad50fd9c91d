"""The trace of one episode for the report, built by the agent in process or from a recorded bag."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from eqa_nodes.core.types.calls import ModelCall, option_at
from eqa_nodes.core.types.floor import Candidate, Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, ViewAssessment, WeighedAnswer
from eqa_nodes.core.types.views import Keyframe

VIEW_PX = 400  # width of the views of moments


class KnownMap(NamedTuple):
    """A map as a PNG with one pixel for each cell, north up. origin, z: as those of GridMap, metres, map frame."""

    resolution_m: float
    origin: tuple[float, float]
    png: bytes
    z: float = 0.0


class Moment(NamedTuple):
    """The view and the map at the stamp of an observation.

    view: JPEG of the observation, at most VIEW_PX wide; empty if a keyframe has this stamp or nothing was seen.
    map: the map at that time, None if there was none.
    """

    stamp_ns: int
    view: bytes = b""
    map: KnownMap | None = None


class TraceDecision(NamedTuple):
    """One choice of where to look next, with the explorer's input; map frame."""

    stamp_ns: int
    pose: Pose2  # pose of the robot at the decision
    goal: Pose2 | None  # None: nothing left to explore
    reason: str
    candidates: tuple[Candidate, ...] = ()
    frontiers: tuple[Frontier, ...] = ()
    marks: tuple[Candidate, ...] = ()


@dataclass
class EpisodeTrace:
    """The path, decisions, keyframes, weighed answers and answer of one question; stamps in ns, poses in the map frame.

    grid: the last map, None if there was none; answer: None if the episode ended before one was given.
    refused: number of unusable frames by the component that refused them; empty: none, or not counted.
    view: JPEG of the last observation or, for a question about a recording, of the best evidence; empty if none.
    calls: the model calls in order; their pictures are among the keyframes.
    moments: views and maps at decisions and keyframes, oldest first; older traces have none.
    judged: assessments of views in the order in which they were made, without their places.
    """

    question: str = ""
    poses: list[tuple[int, Pose2]] = field(default_factory=list)
    decisions: list[TraceDecision] = field(default_factory=list)
    keyframes: list[Keyframe] = field(default_factory=list)
    weighed: list[tuple[int, WeighedAnswer]] = field(default_factory=list)
    grid: GridMap | None = None
    answer: Answer | None = None
    refused: dict[str, int] = field(default_factory=dict)
    view: bytes = b""
    calls: list[ModelCall] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    judged: list[ViewAssessment] = field(default_factory=list)

    def moment_at(self, stamp_ns: int) -> Moment | None:
        """Return the newest moment at or before a stamp, None if there is none."""
        before = bisect_right(self.moments, stamp_ns, key=lambda moment: moment.stamp_ns)
        return self.moments[before - 1] if before else None


class Destination(NamedTuple):
    """Where the robot was sent after a call. option: number of the model's option that was chosen, 0 for none."""

    option: int
    decision: TraceDecision


def destinations(trace: EpisodeTrace) -> list[Destination | None]:
    """Return for each call of a trace where it sent the robot: the first decision after it, None if none followed."""
    found: list[Destination | None] = [None] * len(trace.calls)
    stamps = [call.stamp_ns for call in trace.calls]
    for decision in trace.decisions:
        last = bisect_right(stamps, decision.stamp_ns) - 1
        if last >= 0 and found[last] is None:
            option = option_at(trace.calls[last].options, decision.goal) if decision.goal is not None else 0
            found[last] = Destination(option, decision)
    return found
