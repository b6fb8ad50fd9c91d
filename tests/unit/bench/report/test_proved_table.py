"""A run over weeks from the command line: asked, marked by its rules, and shown by kind of question."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.bench.judges.marking import open_judge, usual_judge
from eqa_nodes.bench.report.proved_table import ProvedAnswer, calibration_error, proved_answers, proved_rows
from eqa_nodes.cli import main
from eqa_nodes.core.types.samples import Sample


def sample(kind: str = "now", half: str = "tuned") -> Sample:
    return Sample("q", "Is the bed made?", "yes", category=kind, metadata={
        "half": half, "rule": {"says": [r"^yes\b"]}, "time": "2026-12-01T18:36:00"})


def test_a_run_is_asked_marked_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, cache = tmp_path / "run", ["--cache", str(tmp_path / "cache")]
    asked = ["bench", "run", "--dataset", "house-weeks", "--split", "short", "--questions", "5", "--out", str(run)]
    assert main([*asked, *cache]) == 0
    assert "5 asked, 0 asked before, 0 failed" in capsys.readouterr().out
    assert main([*asked, *cache]) == 0  # it resumes
    assert "0 asked, 5 asked before" in capsys.readouterr().out
    assert usual_judge(run) == "proved"
    assert main(["bench", "score", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "judge: proved" in shown and "wrong, sure" in shown and "houses tuned" in shown
    answers = proved_answers(run)
    assert len(answers) == 5 and sum(a.verdict == "right" for a in answers) >= 3
    assert all(a.pictures <= 12 for a in answers)


def test_the_judge_marks_by_the_rule() -> None:
    judge = open_judge("proved")
    assert [judge.judge(sample(), text).sigma for text in ("Yes, it is", "no", "")] == [5, 1, 1]
    assert judge.judge(sample(), "I did not look then").note == "declined"
    assert judge.judge(Sample("q", "Is it?", "yes"), "yes").sigma is None
    assert not judge.sees and len(judge.version) == 64


def test_rows_count_by_kind_and_half() -> None:
    answers = [ProvedAnswer(sample(), "right", 0.95, 2, 1.0), ProvedAnswer(sample("who", "held out"), "wrong", 0.95, 4,
                                                                           0.0),
               ProvedAnswer(sample("who"), "declined", 0.0, 0, None)]
    rows = {row[0]: row[1:] for row in proved_rows(answers)}
    assert rows["all"] == ["3", "1", "1", "1", "1", "33", "2.0", "50"]
    assert rows["houses tuned"][:4] == ["2", "1", "0", "1"] and rows["who"][:5] == ["2", "0", "1", "1", "1"]
    assert rows["now"][-1] == "100"


def test_the_calibration_error_is_that_of_the_answers_given() -> None:
    right, wrong = (ProvedAnswer(sample(), verdict, 0.95, 0, None) for verdict in ("right", "wrong"))
    assert calibration_error([right]) == pytest.approx(0.05)
    assert calibration_error([right, wrong]) == pytest.approx(0.45)
    assert calibration_error([ProvedAnswer(sample(), "declined", 0.0, 0, None)]) == 0.0
