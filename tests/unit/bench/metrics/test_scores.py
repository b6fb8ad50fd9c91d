"""Pass 2 counts what is missing and puts nothing in its place."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from eqa_nodes.bench.judges.base import GivenMarks, JudgeMark
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import read_scores, score_run
from eqa_nodes.bench.report import tables
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.running.predictions import PREDICTIONS
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.bench.samples import dataset_hash
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from tests.fixtures.scripted_runner import ScriptedRunner
from tests.fixtures.synthetic_run import FakeFacts, make_run, overall, plain, samples


def test_scores_by_hand(tmp_path: Path) -> None:
    """Marks 3, 5 and 1 (abstained); two failed. l = 30 steps / 8 m, p = 40 steps / 10 m."""
    out = make_run(tmp_path)
    score_run(out, OfflineJudge(), FakeFacts(lambda a, b: math.dist(a, b)))
    row = overall(out)
    assert (row.questions, row.answered, row.abstained, row.failed, row.missing, row.unscored) == (5, 2, 1, 2, 0, 0)
    mean = {name: s.mean for name, s in row.metrics.items()}
    assert mean["openeqa_c"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert mean["openeqa_e_steps"] == pytest.approx(0.5 * 0.75)
    assert mean["openeqa_e_metres"] == pytest.approx(0.5 * 0.8)
    assert mean["blind_c"] == pytest.approx((0 + 1 + 1) / 3)
    assert mean["gain_over_blind"] == pytest.approx((0.5 + 0 - 1) / 3)
    assert mean["openeqa_c_failed_lowest"] == pytest.approx(1.5 / 5)
    assert mean["express_c_star"] == pytest.approx((0.6 + 1 + 0.2) / 3)
    assert mean["express_c"] is None
    assert row.metrics["express_c"][3:] == (0, 5)
    assert mean["sr"] == mean["osr"] == 1
    assert mean["spl"] == pytest.approx(0.8)
    assert mean["npl"] == pytest.approx(0.8)
    assert mean["wce"] == pytest.approx(0.8 * (0.82 + 0.9 + 0.1) / 3)
    assert row.metrics["openeqa_c"].n == 3
    assert row.metrics["openeqa_c"].excluded == 2


def test_score_files(tmp_path: Path) -> None:
    out = make_run(tmp_path)
    scores = score_run(out, OfflineJudge())
    assert read_scores(out) == scores
    assert scores.privileged == ("LabelAnswerer",)
    assert read_json(out / "predictions.json")[1] == {"question_id": "q-2", "answer": "There are 4 chairs"}
    assert read_json(out / "openeqa_scores.json") == {"q-1": 3, "q-2": 5, "q-3": 1}
    ended = read_manifest(out)
    assert (ended.judge, ended.judge_sha256) == ("offline", OfflineJudge().version)
    assert ended.dataset_sha256 == dataset_hash(samples())
    assert ended.config == {"policy": "frontier"}


def test_scoring_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    out = make_run(tmp_path)
    score_run(out, OfflineJudge())
    first = (out / "scores.json").read_bytes()
    score_run(out, OfflineJudge())
    assert (out / "scores.json").read_bytes() == first


class SilentJudge:
    """Cannot say for the first question, raises for the second, and marks grounding for the rest."""

    name, version, sees = "silent", "1", False

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        if sample.id == "q-2":
            raise TimeoutError("no reply")
        return JudgeMark(None) if sample.id == "q-1" else JudgeMark(4, 0.5)


def test_unscored_questions_leave_the_mean_and_are_counted(tmp_path: Path) -> None:
    out = make_run(tmp_path)
    score_run(out, SilentJudge())
    row = overall(out)
    assert row.unscored == 2
    assert row.metrics["openeqa_c"][3:] == (1, 4)
    assert row.metrics["openeqa_c"].mean == 0.75
    assert row.metrics["express_c"].mean == pytest.approx(0.4)
    assert row.metrics["express_e_path"].mean == pytest.approx(0.32)


def test_what_the_last_view_shows_is_the_grounding_mark_where_the_judge_gives_none(tmp_path: Path) -> None:
    asked, _ = plain(3)
    asked = [replace(s, metadata={"targets": [7]}) for s in asked[:2]] + asked[2:]
    answers = [Answer("a cup"), Answer(abstained=True), Answer("a cup")]
    results = {s.id: EpisodeResult(s.id, a, Pose2(0, 0, 0)) for s, a in zip(asked, answers, strict=True)}
    run_benchmark(asked, ScriptedRunner(results), tmp_path)
    scores = score_run(tmp_path, OfflineJudge(), FakeFacts(lambda a, b: 1.0, 0.5))
    assert [q.delta for q in scores.questions] == [0.5, 0.0, None]  # an abstention shows nothing; no targets, no mark
    assert overall(tmp_path).metrics["express_c"].mean == pytest.approx((0.5 + 0.0) / 2)


def test_unreachable_targets_leave_d_t(tmp_path: Path) -> None:
    asked, _ = plain(2)
    runner = ScriptedRunner({s.id: EpisodeResult(s.id, Answer("a cup"), Pose2(i, 0, 0)) for i, s in enumerate(asked)})
    run_benchmark(asked, runner, tmp_path)
    score_run(tmp_path, OfflineJudge(), FakeFacts(lambda a, b: math.inf if a[0] == 0 else 2.0))
    assert overall(tmp_path).metrics["express_d_t"][0] == 2.0
    assert overall(tmp_path).metrics["express_d_t"][3:] == (1, 1)


def test_questions_that_no_way_leads_to_are_counted_and_leave_every_path_metric(tmp_path: Path) -> None:
    asked, _ = plain(4)
    asked = [replace(s, start_height_m=0.0, target=(1.0, 0.0, 2.8)) if i < 3 else s for i, s in enumerate(asked)]
    answers = [Answer("a cup", 0.5), Answer(abstained=True, message="no frontier is left"),
               Answer(error=ErrorCode.NAVIGATION), Answer("a cup", 0.9)]
    results = {s.id: EpisodeResult(s.id, a, Pose2(0, 0, 0)) for s, a in zip(asked, answers, strict=True)}
    results["q2"] = replace(results["q2"], final_pose=None)  # it is known of its start, too
    run_benchmark(asked, ScriptedRunner(results), tmp_path)
    facts = FakeFacts(lambda a, b: math.inf if a[2:] != b[2:] else 1.0, 1.0)
    scores = score_run(tmp_path, OfflineJudge(), facts)
    row = overall(tmp_path)
    assert [q.reachable for q in scores.questions] == [False, False, False, True]
    assert (row.unreachable, row.unreachable_abstained, row.abstained, row.failed) == (3, 1, 1, 1)
    assert (row.metrics["openeqa_c"].mean, row.metrics["openeqa_c"].n) == (pytest.approx(2 / 3), 3)
    for name in ("openeqa_e_steps", "openeqa_e_metres", "npl", "wce", "express_d_t", "sr", "spl"):
        assert row.metrics[name].n == 1 and math.isfinite(row.metrics[name].mean or 0.0), name
    assert any('unreachable: 3 questions, of which 1 ended with "I don\'t know"' in n for n in tables.footnotes(scores))


def test_e_path_keeps_targets_that_no_way_leads_to(tmp_path: Path) -> None:
    """EXPRESS-Bench's scorer leaves questions with an infinite path out, not those with an infinite distance."""
    asked, _ = plain(2)
    asked = [replace(s, reference_metres=5.0) for s in asked]
    runner = ScriptedRunner({s.id: EpisodeResult(s.id, Answer("a cup"), Pose2(i, 0, 0)) for i, s in enumerate(asked)})
    run_benchmark(asked, runner, tmp_path)
    marks = GivenMarks({s.id: JudgeMark(5, 0.5) for s in asked}, "theirs")
    row = score_run(tmp_path, marks, FakeFacts(lambda a, b: math.inf if a[0] == 0 else 2.0)).rows[0]
    assert (row.metrics["express_e_path"].mean, row.metrics["express_e_path"].n) == (0.5, 2)
    assert (row.metrics["openeqa_e_metres"].n, row.unreachable) == (1, 1)


def test_footnotes_count_in_plain_words_and_name_limits_and_answers_without_a_mark(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, _ = plain(4)
    limited = Receipt(calls=5, limit="5 model calls")
    answers = [Answer("a cup", 0.5), Answer("a mug", 0.5, receipt=limited),
               Answer(abstained=True, message="nothing was found", receipt=limited), Answer(error=ErrorCode.MODEL)]
    results = {s.id: EpisodeResult(s.id, a) for s, a in zip(asked, answers, strict=True)}
    run_benchmark(asked, ScriptedRunner(results), tmp_path)
    monkeypatch.setattr(OfflineJudge, "judge", lambda self, sample, text, view=None: JudgeMark(
        None if text == "a mug" else 5 if text else 1, None, ""))
    notes = tables.footnotes(score_run(tmp_path, OfflineJudge()))
    assert "1 failed question is in no mean; with mark 1 for each, C is 33.3 %" in notes
    assert notes[0] == "C is the mean over 2 of 4 questions: 1 answer has no mark"
    assert "2 searches were ended by a limit: 5 model calls" in notes


def test_what_blind_answers_cost_is_said_and_is_in_no_mean(tmp_path: Path) -> None:
    asked, _ = plain(2)
    seen = {s.id: EpisodeResult(s.id, Answer("a cup", 0.5, receipt=Receipt(calls=3, tokens_in=40))) for s in asked}
    cost = Receipt(calls=1, tokens_in=10, tokens_out=2, money=0.25)
    guessed = {s.id: Answer("a cup", 0.5, receipt=cost) for s in asked}
    run_benchmark(asked, ScriptedRunner(seen, guessed), tmp_path)
    notes = tables.footnotes(score_run(tmp_path, OfflineJudge()))
    assert "blind answers took 2 calls and 24 tokens more, 0.5 by their prices" in notes
    assert (overall(tmp_path).metrics["calls"].mean, overall(tmp_path).metrics["tokens"].mean) == (3, 40)


def test_an_end_beside_the_floor_makes_no_target_unreachable(tmp_path: Path) -> None:
    asked, _ = plain(1)
    run_benchmark(asked, ScriptedRunner({"q0": EpisodeResult("q0", Answer("a cup"), Pose2(9, 9, 0))}), tmp_path)
    scores = score_run(tmp_path, OfflineJudge(), FakeFacts(lambda a, b: math.inf if a[0] == 9 else 1.0))
    assert (scores.questions[0].reachable, scores.questions[0].final_m) == (True, None)
    assert overall(tmp_path).unreachable == 0 and "unreachable" not in " ".join(tables.footnotes(scores))


def test_a_run_in_progress_counts_what_is_missing(tmp_path: Path) -> None:
    out = make_run(tmp_path)
    lines = (out / PREDICTIONS).read_text().splitlines(keepends=True)
    (out / PREDICTIONS).write_text("".join(lines[:3]))
    row = score_run(out, OfflineJudge()).rows[0]
    assert (row.questions, row.missing) == (5, 2)


def test_cells_of_the_table(tmp_path: Path) -> None:
    scores = score_run(make_run(tmp_path), OfflineJudge())
    first = {column.heading: column.cell(scores.rows[0]) for column in tables.COLUMNS}
    assert first["C % [95 %]"].startswith("50.0 [")
    assert first["failed"] == "2"
    assert first["n"] == "3/5"
    assert len(scores.rows) == 6


@pytest.mark.parametrize("width", [80, 123, 124])
def test_terminal_table_shows_every_cell_at_any_width(tmp_path: Path, width: int) -> None:
    scores = score_run(make_run(tmp_path), OfflineJudge())
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(tables.score_table(scores, read_manifest(tmp_path), width))
    shown = console.export_text()
    assert "…" not in shown
    assert "privileged: LabelAnswerer" in shown
    assert shown.count(" spatial ") == (1 if width == 124 else 2)  # in one piece, or marks above costs
    assert all(column.cell(row) in shown for row in scores.rows for column in tables.COLUMNS[1:])
