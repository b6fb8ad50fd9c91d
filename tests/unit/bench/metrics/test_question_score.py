"""The score of one question: distances along its path, poses as HM-EQA counts them, groundings and marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from eqa_nodes.bench.judges.base import JudgeMark
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.question_score import QuestionScore
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import ALLOWED_POSES, EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from tests.fixtures.scripted_runner import ScriptedRunner
from tests.fixtures.synthetic_run import FakeFacts, grid


class Marks:
    """Gives one mark to every answer."""

    name, version, sees = "marks", "1", False

    def __init__(self, sigma: float) -> None:
        self._sigma = sigma

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        return JudgeMark(self._sigma)

    def close(self) -> None:
        pass


class Groups(FakeFacts):
    """Shows the first instance of a group as its mark for grounding."""

    def grounding(self, scene: str, targets: Sequence[int], pose: Pose2) -> float | None:
        return targets[0] / 2


def scored(out: Path, x: Sequence[float], facts: FakeFacts, judge: Marks | OfflineJudge | None = None, *,
           decided: Sequence[int] = (), floor: GridMap | None = None, **fields: object) -> QuestionScore:
    """Score an episode whose path goes through (x, 0), one pose a nanosecond."""
    poses = [(stamp, Pose2(each, 0.0, 0.0)) for stamp, each in enumerate(x)]
    decisions = [TraceDecision(stamp, poses[0][1], None, "there") for stamp in decided]
    given = {"target": (10.0, 0.0), "start": poses[0][1], **fields}
    sample = Sample("q", "What is it?", "a cup", **given)  # type: ignore[arg-type]
    trace = EpisodeTrace("What is it?", poses, decisions, grid=floor)
    run_benchmark([sample], ScriptedRunner({"q": EpisodeResult("q", Answer("a cup"), poses[-1][1], trace)}), out)
    return score_run(out, judge or OfflineJudge(), facts).questions[0]


STRAIGHT = FakeFacts(lambda a, b: math.dist(a[:2], b[:2]))


@pytest.mark.parametrize(("near", "passed"), [(7.0, True), (6.99, False)])
def test_a_path_that_came_within_three_metres_has_passed_the_target(tmp_path: Path, near: float, passed: bool) -> None:
    score = scored(tmp_path, (0.0, near, 0.0), STRAIGHT)
    assert (score.final_m, score.passed, score.reachable) == (10.0, passed, True)


@pytest.mark.parametrize(("z", "final_m"), [(0.99, None), (1.0, 2.0)])
def test_a_map_a_metre_above_the_start_is_of_another_floor(tmp_path: Path, z: float, final_m: float | None) -> None:
    facts = FakeFacts(lambda a, b: 2.0 if a[2] == b[2] else math.inf)
    known = grid()
    floor = GridMap(0, known.resolution_m, known.origin, known.cells, known.explored, z)
    score = scored(tmp_path, (0.0, 1.0), facts, floor=floor, target=(1.0, 0.0, 1.0), start_height_m=0.0)
    assert score.final_m == final_m


def test_poses_are_counted_for_each_drive_between_two_decisions(tmp_path: Path) -> None:
    score = scored(tmp_path, (0.0, 4.0, 4.0, 6.0), STRAIGHT, decided=(0, 2), metadata={ALLOWED_POSES: 10})
    assert (score.poses, score.allowed_steps) == (1 + 2 + 1, 10)  # the start, 4 m, 2 m
    assert scored(tmp_path / "still", (0.0, 0.0), STRAIGHT, metadata={ALLOWED_POSES: 10}).poses == 1


def test_the_last_view_must_show_one_group_of_targets(tmp_path: Path) -> None:
    facts = Groups(STRAIGHT.distance)
    assert scored(tmp_path / "a", (0.0,), facts, metadata={"targets": [[1, 2], [2, 9]]}).delta == 1.0
    assert scored(tmp_path / "b", (0.0,), facts, metadata={"targets": [1, 2]}).delta == 0.5


@pytest.mark.parametrize(("sigma", "kept"), [(0.99, False), (1.0, True), (5.0, True), (5.01, False)])
def test_a_mark_off_the_scale_is_no_mark(tmp_path: Path, sigma: float, kept: bool) -> None:
    score = scored(tmp_path, (0.0,), STRAIGHT, Marks(sigma))
    assert score.sigma == (sigma if kept else None) and score.unscored != kept
