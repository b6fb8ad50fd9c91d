"""The score of one question in pass 2: its marks, its costs, and the lengths that metrics need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

from eqa_nodes.bench.judges.base import Judge, JudgeMark
from eqa_nodes.bench.metrics import formulas as metrics
from eqa_nodes.bench.report.traces import last_view, load_trace
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.samples import source_of
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import ALLOWED_POSES, PRESENT, Sample, TaskCounts

Point = tuple[float, ...]  # x, y, and the height of the floor if the data set has it; metres


_OTHER_FLOOR_M = 1.0  # height difference from the start above which a map is of another floor


class SceneFacts(Protocol):
    """Facts about a scene that only the scorer may know. Raises EqaError."""

    def geodesic(self, scene: str, a: Point, b: Point) -> float:
        """Return the shortest drivable distance in metres, inf = no path."""

    def grounding(self, scene: str, targets: Sequence[int], pose: Pose2) -> float | None:
        """Return the grounding mark of the view from a pose: 0, 0.5, 1, or None if unknown."""


@dataclass(frozen=True)
class QuestionScore:
    """One question: its marks (None = unscored), its costs, and the lengths that metrics need (metres, steps).

    status: answered | abstained | failed. final_m: geodesic distance from the last position to the target, None = not
    measured or unreachable. passed: whether the path came within 3 m of the target, None = not measured. reachable:
    whether a path leads to the target, None = not measured; if not, metrics that need a path have no value.
    predicates: which goal predicates of a task are true at the end. allowed_steps: allowed poses (the divisor of
    normalised steps), None if the data set does not define it. poses: number of poses as HM-EQA counts them, None
    without a trace. judged: True = it asks for an answer, False = scored by predicates only. limit: the limit that
    ended the search, in words, "" = none. source: data set of the scan ("hm3d", "scannet"), "" = no scan. multi_floor:
    whether the recorded path changes floor. blind_calls, blind_tokens, blind_money: costs of the blind answer, not
    included in other counts. succeeded, endless, counts, recalled: as in Prediction.
    """

    id: str
    category: str
    status: str
    sigma: float | None
    delta: float | None
    note: str
    blind_sigma: float | None
    confidence: float | None
    steps: int
    metres: float
    seconds: float
    calls: int
    tokens: int
    reference_steps: int | None
    reference_metres: float | None
    final_m: float | None
    passed: bool | None
    multiple_choice: bool
    privileged: tuple[str, ...]
    error: str = ""
    reachable: bool | None = None
    predicates: tuple[bool, ...] = ()
    allowed_steps: int | None = None
    judged: bool = True
    money: float = 0.0
    poses: int | None = None
    limit: str = ""
    source: str = ""
    multi_floor: bool = False
    blind_calls: int = 0
    blind_tokens: int = 0
    blind_money: float = 0.0
    succeeded: bool | None = None
    endless: bool = False
    counts: TaskCounts | None = None
    recalled: int | None = None

    @property
    def unscored(self) -> bool:
        """Return whether there is an answer that the judge could not mark."""
        return self.judged and self.sigma is None and self.status != "failed"


class _Poses(NamedTuple):
    """`poses` of QuestionScore, and the reason if it is missing."""

    number: int | None
    note: str


class _Arrival(NamedTuple):
    """The lengths of QuestionScore, and the reason if one is missing."""

    final_m: float | None
    passed: bool | None
    reachable: bool | None
    note: str


def question_score(sample: Sample, prediction: Prediction, judge: Judge, facts: SceneFacts | None = None,
                   out: Path | None = None, blind_judge: Judge | None = None,
                   confidence_judge: Judge | None = None) -> QuestionScore:
    """Score one prediction. out: the run directory with its trace, if any. Other judges: as in score_run."""
    answer, receipt = prediction.answer, prediction.answer.receipt
    guess = Receipt() if prediction.blind is None else prediction.blind.receipt
    mark = JudgeMark(None, None, "failed") if prediction.failed else _marked(judge, sample, prediction, out)
    blind = Answer() if blind_judge is not None else prediction.blind
    blind_mark = JudgeMark(None) if blind is None or blind.error else mark_answer(blind_judge or judge, sample, blind)
    arrival = _arrival(out, sample, prediction, facts)
    allowed = sample.metadata.get(ALLOWED_POSES)
    sure = (JudgeMark(answer.confidence) if confidence_judge is None else
            _marked(confidence_judge, sample, prediction, out))
    unsure = f"; no confidence: {sure.note}" if sure.sigma is None else ""
    poses = _poses(out, prediction) if isinstance(allowed, int) else _Poses(None, "")
    status = "failed" if prediction.failed else "abstained" if answer.abstained else "answered"
    return QuestionScore(
        sample.id, sample.category, status, mark.sigma, _delta(sample, prediction, mark, None if judge.sees else facts),
        mark.note + arrival.note + poses.note + unsure, blind_mark.sigma, sure.sigma, receipt.steps, receipt.metres,
        receipt.seconds,
        receipt.calls, receipt.tokens_in + receipt.tokens_out,
        sample.reference_steps, _reference_metres(sample, prediction), arrival.final_m,
        arrival.passed, bool(sample.choices), receipt.privileged,
        f"{answer.error.name}: {answer.message}" if prediction.failed else "", arrival.reachable,
        prediction.predicates, allowed if isinstance(allowed, int) else None, bool(sample.answer), receipt.money,
        poses.number, receipt.limit, source_of(sample), sample.metadata.get("multi_floor") is True,
        guess.calls, guess.tokens_in + guess.tokens_out, guess.money,
        prediction.succeeded, prediction.endless, prediction.counts, prediction.recalled)


def _reference_metres(sample: Sample, prediction: Prediction) -> float | None:
    """Return the length of the reference path, None where it is unknown what of the present the agent has seen."""
    unknown = PRESENT in sample.metadata and prediction.recalled is None and not prediction.failed
    return None if unknown else sample.reference_metres


def mark_answer(judge: Judge, sample: Sample, answer: Answer, view: bytes | None = None) -> JudgeMark:
    """Mark an answer; an abstention counts as no answer (mark 1). An error or a mark outside 1..5 leaves it unscored.

    A task without a question has only its predicates.
    """
    if not sample.answer:
        return JudgeMark(None, None, "scored by its predicates")
    try:
        mark = judge.judge(sample, "" if answer.abstained else answer.text, view)
    except Exception as error:  # any error of a judge: the question is excluded from the mean, with a note
        return JudgeMark(None, None, f"the judge failed: {type(error).__name__}: {error}")
    if mark.sigma is not None and not 1 <= mark.sigma <= 5 and not (judge.sees and math.isfinite(mark.sigma)):
        return JudgeMark(None, None, f"the judge gave {mark.sigma}, which is not in 1..5")
    return mark  # the scale of EXPRESS-Bench starts at 0; the formulas clip marks as its scorer does


def _marked(judge: Judge, sample: Sample, prediction: Prediction, out: Path | None) -> JudgeMark:
    """Mark the answer, with the last view if the judge uses it."""
    try:
        view = last_view(inside(out, prediction.trace)) if judge.sees and out and prediction.trace else None
    except EqaError as error:
        return JudgeMark(None, None, f"the last view is lost: {error}")
    return mark_answer(judge, sample, prediction.answer, view)


def _delta(sample: Sample, prediction: Prediction, mark: JudgeMark, facts: SceneFacts | None) -> float | None:
    """Return the grounding mark: the judge's, else from the known content of the last view; 0 without an answer."""
    if mark.delta is not None or facts is None or prediction.final_pose is None or prediction.failed:
        return mark.delta
    pose = prediction.final_pose
    found = [facts.grounding(sample.scene, group, pose) for group in _groups(sample.metadata.get("targets"))]
    delta = max((mark for mark in found if mark is not None), default=None)
    return delta if delta is None or not prediction.answer.abstained else 0.0


def _groups(targets: object) -> list[Sequence[int]]:
    """Return groups of targets (instance ids), one per view that an answer needs; the last view must show one group."""
    if not isinstance(targets, Sequence) or not targets:
        return []
    return list(targets) if all(isinstance(group, Sequence) for group in targets) else [targets]


def _arrival(out: Path | None, sample: Sample, prediction: Prediction, facts: SceneFacts | None) -> _Arrival:
    """Measure the final distance, whether the robot passed near the target, and whether it is reachable.

    The path is measured as if it stayed on the floor of the start; if the robot takes stairs, only the end counts.
    """
    if (published := prediction.target_m) is not None:
        return _Arrival(published, None, True, "")
    start, end, targets = sample.start, prediction.final_pose, _targets(sample)
    if facts is None or not targets:
        return _Arrival(None, None, None, "")

    def away(x: float, y: float, floor_m: float | None = sample.start_height_m) -> float:
        here = (x, y) if floor_m is None else (x, y, floor_m)
        return min(facts.geodesic(sample.scene, here, target) for target in targets)

    def straight(x: float, y: float) -> float:
        return min(math.dist((x, y), target[:2]) for target in targets)

    try:
        final = None if end is None else metrics.reachable(away(end.x, end.y, _floor(out, sample, prediction)))
        if final is not None and metrics.arrived(final):
            return _Arrival(final, True, True, "")
        begin = start or end
        reachable = final is not None or (None if begin is None else math.isfinite(away(begin.x, begin.y)))
        if end is None:
            return _Arrival(None, None, reachable, "")
        path = load_trace(inside(out, prediction.trace)).poses if out and prediction.trace else []
        near = sorted({(p.x, p.y) for _, p in path if straight(p.x, p.y) <= metrics.SUCCESS_RADIUS_M},
                      key=lambda xy: (straight(*xy), xy))  # no path is shorter than the straight line
        return _Arrival(final, any(metrics.arrived(away(*xy)) for xy in near), reachable, "")
    except EqaError as error:
        return _Arrival(None, None, None, f"; no distance to the target: {error}")


def _floor(out: Path | None, sample: Sample, prediction: Prediction) -> float | None:
    """Return the height of the floor on which the robot ended: that of the start, unless it took stairs."""
    start = sample.start_height_m
    if start is None or not out or not prediction.trace:
        return start
    grid = load_trace(inside(out, prediction.trace)).grid
    return start if grid is None or abs(grid.z - start) < _OTHER_FLOOR_M else grid.z


def _poses(out: Path | None, prediction: Prediction) -> _Poses:
    """Return how many poses HM-EQA would count in an episode; a drive is the path between two decisions."""
    if out is None or not prediction.trace:
        return _Poses(None, "")
    try:
        trace = load_trace(inside(out, prediction.trace))
    except EqaError as error:
        return _Poses(None, f"; no normalised steps: {error}")
    ends = [decision.stamp_ns for decision in trace.decisions[1:]]
    legs = [0.0]
    for (_, a), (stamp, b) in pairwise(trace.poses):
        while len(legs) <= len(ends) and stamp > ends[len(legs) - 1]:
            legs.append(0.0)
        legs[-1] += math.dist((a.x, a.y), (b.x, b.y))
    return _Poses(metrics.poses_of(legs if trace.decisions or legs[0] else ()), "")


def _targets(sample: Sample) -> list[Point]:
    """Return the places from which the answer is visible; distances are to the nearest of them."""
    if sample.viewpoints:
        return list(sample.viewpoints)
    return [] if sample.target is None else [sample.target]
