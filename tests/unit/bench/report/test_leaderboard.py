"""A row for each scored run: names, means with intervals, what differs, links; what cannot be compared is apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.judges.base import GivenMarks, JudgeMark
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import SCORES, score_run
from eqa_nodes.bench.report.leaderboard import MEASURES, Board, write_leaderboard
from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.running.manifest import MANIFEST, read_manifest
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.storage.codec import write_json
from tests.fixtures.synthetic_run import make_run


def made(out: Path, policy: str, **changes: Any) -> Path:
    """Make a scored run whose manifest says that this policy explored."""
    make_run(out)
    score_run(out, OfflineJudge())
    config = {"nodes": {"explorer": {"policy": policy}}, "limits": {"steps": changes.pop("steps", 300)}}
    write_json(out / MANIFEST, replace(read_manifest(out), **{
        "config": config, "model": "vlm", "asked": "gpt-4o", "commit": "0123456789abcdef", **changes}))
    return out


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [made(tmp_path / "runs" / "a", "best", run={"agent": "ours"}, steps=100),
            made(tmp_path / "runs" / "b", "frontier", dirty=True)]


def only(boards: tuple[Board, ...]) -> Board:
    assert len(boards) == 1
    return boards[0]


def test_a_row_names_agent_policy_model_commit_and_what_differs(runs: list[Path], tmp_path: Path) -> None:
    board = only(write_leaderboard(runs, tmp_path / "board.html"))
    names = {Path(row.run).name: row.names for row in board.rows}
    assert names["a"] == ("ours", "best", "gpt-4o", "0123456789")
    assert names["b"] == ("vlm", "frontier", "gpt-4o", "0123456789 with changes")
    assert {row.settings for row in board.rows} == {(("limits.steps", "100"),), (("limits.steps", "300"),)}
    plain = json.loads((runs[0] / SCORES).read_text())
    (runs[0] / SCORES).write_text(json.dumps({**plain, "privileged": []}))
    rows = {Path(row.run).name: dict(row.settings) for row in only(write_leaderboard(runs, tmp_path / "b.html")).rows}
    assert [rows[name]["privileged"] for name in "ab"] == ["nothing", "LabelAnswerer"]
    row = board.rows[0]
    shown = {measure.heading: cell for measure, cell in zip(MEASURES, row.cells, strict=True)}
    assert {"C %", "E % (metres)", "SPL %", "calls", "tokens"} <= set(shown)
    assert float(shown["C %"].mean) == pytest.approx(float(shown["C %"].order), abs=0.05)
    assert shown["C %"].interval.startswith("[") and shown["C %"].interval.endswith("]")


def test_the_best_run_is_first(tmp_path: Path) -> None:
    runs = [made(tmp_path / name, "best") for name in ("low", "high")]
    scores = json.loads((runs[0] / SCORES).read_text())
    scores["rows"][0]["metrics"]["openeqa_c"]["mean"] = 0.1
    (runs[0] / SCORES).write_text(json.dumps(scores))
    board = only(write_leaderboard(runs, tmp_path / "board.html"))
    assert [Path(row.run).name for row in board.rows] == ["high", "low"]


def _marks(run: Path, value: float) -> dict[str, Any]:
    return {name: JudgeMark(value) for name in read_predictions(run).predictions}


def test_a_report_is_linked_from_where_the_page_is(runs: list[Path], tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    write_report(runs[0])
    page = tmp_path / "elsewhere" / "board.html"
    assert main(["bench", "leaderboard", *map(str, runs), "--out", str(page)]) == 0
    assert str(page) in capsys.readouterr().out.replace("\n", "")
    board = only(write_leaderboard(runs, page))
    hrefs = {Path(row.run).name: row.href for row in board.rows}
    assert hrefs == {"a": "../runs/a/report.html", "b": ""} and (page.parent / hrefs["a"]).resolve().is_file()
    text = page.read_text()
    assert 'href="../runs/a/report.html"' in text and f"eqa report {runs[1]}" in text and "http" not in text


def test_other_questions_and_other_judges_are_tables_of_their_own(runs: list[Path], tmp_path: Path) -> None:
    score_run(runs[1], GivenMarks(_marks(runs[1], 5.0), "people"))
    boards = write_leaderboard(runs, tmp_path / "board.html")
    assert [len(board.rows) for board in boards] == [1, 1] and "judge people" not in boards[0].notes[0]


def test_names_cannot_write_into_the_page(tmp_path: Path) -> None:
    run = made(tmp_path / "a", "<script>alert(1)</script>", asked='"><img src=x onerror=alert(1)>')
    write_leaderboard([run], tmp_path / "board.html")
    text = (tmp_path / "board.html").read_text()
    assert "<script>alert" not in text and "<img" not in text


def test_what_cannot_stand_there_is_named(runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="named twice"):
        write_leaderboard([runs[0], runs[0]], tmp_path / "board.html")
    with pytest.raises(StorageError, match="eqa bench score"):
        write_leaderboard([make_run(tmp_path / "new")], tmp_path / "board.html")
