"""The real chain by one worker and by two: the same answers and traces, in process and through graphs of their own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.cli import main
from tests.fixtures.needs import need_ros
from tests.fixtures.paths import ROOT
from tests.fixtures.workers import files_of

TABLE = "question,answer,scene\nWhere is the plant?,in a corner,toy:flat\nIs there a lamp?,yes,toy:room\n"
WORDS = ["bench", "run", "--dataset", "eqa_csv_reader:CsvReader", "--seed", "2", "--image", "96x72",
         "--max-steps", "12"]


@pytest.fixture(autouse=True)
def _on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(ROOT / "examples" / "eqa_csv_reader")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", folder, prepend=":")


def run(folder: Path, out: str, through: str, workers: int) -> Path:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "questions.csv").write_text(TABLE)
    assert main([*WORDS, "--data", str(folder / "data"), "--through", through, "--workers", str(workers), "--out",
                 str(folder / out)]) == 0
    return folder / out


def test_two_workers_in_process_leave_what_one_leaves(tmp_path: Path) -> None:
    one, two = (run(tmp_path, str(n), "process", n) for n in (1, 2))
    assert files_of(one) == files_of(two)
    assert len(read_predictions(one).predictions) == 2


@pytest.mark.slow
def test_two_workers_have_graphs_in_domains_of_their_own(tmp_path: Path) -> None:
    need_ros()
    out = run(tmp_path, "run", "graph", 2)
    predictions = read_predictions(out).predictions
    assert len(predictions) == 2 and not any(p.failed for p in predictions.values())
    assert all((out / p.bag).exists() for p in predictions.values())
    assert {p.name for p in (out / "workers").iterdir()} == {"1", "2"}
    assert all(list((out / "workers" / n / "logs").iterdir()) for n in "12")
    text = (out / "predictions.jsonl").read_text()
    assert not re.search(r"workers/\d", text)  # who asked does not show
