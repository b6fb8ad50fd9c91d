"""Runs in the forms of other projects: read back, they give the same scores."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.bench.judges.base import GivenMarks, JudgeMark
from eqa_nodes.bench.metrics.scores import Scores, score_run
from eqa_nodes.bench.published import PublishedRun, read_numbers, read_published, write_run
from eqa_nodes.bench.published_writing import write_form
from eqa_nodes.bench.running.manifest import finish_manifest
from eqa_nodes.bench.running.predictions import PredictionWriter, read_predictions
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, ErrorCode
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.samples import EM, Sample

MARKS = {"a": JudgeMark(5.0, 1.0), "b": JudgeMark(4.0, 0.5), "c": JudgeMark(1.0, 0.0)}
SAMPLES = [Sample(name, f"Is {name} on?", "yes", category="state", scene="habitat:hm3d/00006-x", target=(1.0, 2.0, 3.0),
                  reference_metres=4.0, start_height_m=0.5) for name in "abcd"]


def made(out: Path) -> Scores:
    """Make a scored run of EXPRESS-Bench: two answers, an abstention, and a failure."""
    given = PublishedRun({"a": "yes", "b": "no", "c": None, "d": ""}, {"a": 8.0, "b": 2.0, "c": 5.0, "d": 1.0}, {},
                      {"a": 1.0, "b": 3.0})
    write_run(out, "express", SAMPLES, given, {}, "ours")
    lost = read_predictions(out).predictions["d"]
    with PredictionWriter(out) as writer:
        writer.append(replace(lost, answer=replace(lost.answer, error=ErrorCode.INTERNAL), final_pose=Pose2(1, 2, 0)))
    return score_run(out, GivenMarks(MARKS, "m"))


def means(scores: Scores) -> dict[str, float | None]:
    return {name: scores.rows[0].metrics[name].mean for name in
            ("express_c", "express_c_star", "express_e_path", "express_d_t", "openeqa_e_metres")}


def test_results_of_express_read_back_give_the_same_scores(tmp_path: Path) -> None:
    ours = made(tmp_path / "run")
    written = write_form(tmp_path / "run", tmp_path / "out", "express")
    assert [f.name for f in written.files] == ["results.pkl"] and written.left_out == ()
    rows = pickle.loads((tmp_path / "out" / "results.pkl").read_bytes())
    assert [row["end_pts"] for row in rows] == [None, None, None, [-2.0, 0.5, -1.0]]  # Habitat's axes: right, up, back
    found = read_published(tmp_path / "out", SAMPLES)
    assert found.marks["b"] == JudgeMark(4, 0.5) and found.answers == {"a": "yes", "b": "no", "c": "", "d": ""}
    assert found.marks["d"].sigma is None and "d" not in found.metres  # an infinite path leaves the question out
    write_run(tmp_path / "again", "express", SAMPLES, found, {}, "theirs")
    again = score_run(tmp_path / "again", GivenMarks(found.marks, "theirs"))
    assert means(again) == means(ours) and None not in means(ours).values()


def test_results_of_3d_mem_hold_answers_and_paths(tmp_path: Path) -> None:
    made(tmp_path / "run")
    written = write_form(tmp_path / "run", tmp_path / "out", "3d-mem")
    assert [f.name for f in written.files] == ["gpt_answer.json", "path_length_list.pkl"]
    assert written.left_out == ("d",)
    found = read_published(tmp_path / "out")
    assert found.answers == {"a": "yes", "b": "no", "c": None}
    assert found.metres == read_numbers(tmp_path / "out" / "path_length_list.pkl") == {"a": 8.0, "b": 2.0, "c": 5.0}


def test_what_a_form_cannot_hold_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    made(run)
    marks = {"a": JudgeMark(4.0, 1.0), "b": 3.0, "c": JudgeMark(4.5, 1.0)}  # b has no grounding, c no whole mark
    score_run(run, GivenMarks(marks, "m"))
    assert main(["bench", "export", str(run), str(tmp_path / "some"), "--to", "express"]) == 0
    out = capsys.readouterr().out
    assert "results.pkl" in out and "2 questions are not in them, such as b" in " ".join(out.split())
    finish_manifest(run, task=EM)
    with pytest.raises(ConfigError, match="task em, which has no paths"):
        write_form(run, tmp_path / "none", "3d-mem")
