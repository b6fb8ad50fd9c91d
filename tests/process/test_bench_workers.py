"""One worker or several, processes or a cluster: the same files, nothing asked twice, nothing lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.running.predictions import PREDICTIONS, RunProgress, read_predictions
from eqa_nodes.bench.running.runner import Engine, SequentialEngine, run_with
from eqa_nodes.bench.running.workers import ProcessEngine
from eqa_nodes.core.errors import ConfigError, EqaError, ErrorCode, NodeLost
from eqa_nodes.testing.waiting import gone, until
from tests.fixtures.paths import ROOT
from tests.fixtures.workers import (
    NotingRunner,
    files_of,
    noted,
    noting,
    open_dying,
    open_refusing,
    pids,
    questions,
    times,
)

IDS = ["cup-1", "fails-1", "cup-2", "crashes-1", "cup-3", "cup-4", "cup-5"]


def test_one_worker_and_several_leave_the_same_files(tmp_path: Path) -> None:
    engines: dict[str, Engine] = {"line": SequentialEngine(NotingRunner(tmp_path, 0.0, 0)),
                                  "one": ProcessEngine(noting(tmp_path), 1),
                                  "three": ProcessEngine(noting(tmp_path, 0.02), 3)}
    for name, engine in engines.items():
        summary = run_with(engine, questions(IDS), tmp_path / name)
        assert (summary.asked, summary.failed, summary.unexpected) == (7, 2, 1)
    assert files_of(tmp_path / "line") == files_of(tmp_path / "one") == files_of(tmp_path / "three")
    assert [json.loads(line)["id"] for line in (tmp_path / "three" / PREDICTIONS).read_text().splitlines()] == IDS
    assert sorted(noted(tmp_path)) == sorted(3 * IDS)
    assert (tmp_path / "asked.txt").read_text().count("closed") == 1 + 3


def test_a_worker_that_dies_is_replaced_and_its_question_asked_once_more(tmp_path: Path) -> None:
    ids = ["kills-once-1", "cup-1", "kills-1", "cup-2", "cup-3"]
    seen: list[RunProgress] = []
    summary = run_with(ProcessEngine(noting(tmp_path), 2), questions(ids), tmp_path / "run", seen.append)
    predictions = read_predictions(tmp_path / "run").predictions
    assert list(predictions) == ids and [p.done for p in seen] == [1, 2, 3, 4, 5]
    assert (summary.failed, summary.unexpected) == (1, 0)
    assert predictions["kills-1"].answer.error is ErrorCode.NODE_LOST
    assert "code -9" in predictions["kills-1"].answer.message
    assert not predictions["kills-once-1"].failed
    assert {name: times(tmp_path, name) for name in ids} == {
        "kills-once-1": 2, "cup-1": 1, "kills-1": 2, "cup-2": 1, "cup-3": 1}


def test_killed_parent_takes_its_workers_along_and_nothing_answered_is_asked_again(tmp_path: Path) -> None:
    ids = [f"cup-{n}" for n in range(40)]
    script = f"""
from pathlib import Path
from eqa_nodes.bench.running.runner import run_with
from eqa_nodes.bench.running.workers import ProcessEngine
from tests.fixtures.workers import noting, questions
if __name__ == "__main__":
    here = Path({str(tmp_path)!r})
    run_with(ProcessEngine(noting(here, 0.15), 2), questions({ids!r}), here / "run")
"""
    (tmp_path / "script.py").write_text(script)
    process = subprocess.Popen([sys.executable, str(tmp_path / "script.py")], cwd=ROOT,
                               env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        until(lambda: len(noted(tmp_path)) >= 8 or process.poll() is not None)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: all(map(gone, pids(tmp_path))), "the workers end with their parent")
    asked, answered = noted(tmp_path), list(read_predictions(tmp_path / "run").predictions)
    assert 4 <= len(answered) < len(asked) <= len(answered) + 2 + 2  # in flight, and on the way to the parent
    run_with(ProcessEngine(noting(tmp_path), 2), questions(ids), tmp_path / "run")
    assert list(read_predictions(tmp_path / "run").predictions) == ids
    assert all(times(tmp_path, name) == 1 for name in answered)
    assert len(noted(tmp_path)) == len(ids) + len(asked) - len(answered)


def test_what_cannot_begin_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(EqaError, match="worker . cannot begin: ConfigError: no model is named"):
        run_with(ProcessEngine(open_refusing, 2), questions(IDS), tmp_path / "a")
    with pytest.raises(NodeLost, match="code 7"):
        run_with(ProcessEngine(open_dying, 1), questions(IDS), tmp_path / "b")
    with pytest.raises(ConfigError, match="at least one worker, got 0"):
        ProcessEngine(noting(tmp_path), 0)


def test_a_spent_budget_ends_the_run_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    ids = [f"cup-{n}" for n in range(7)]
    engines: dict[str, Engine] = {"line": SequentialEngine(NotingRunner(tmp_path, 0.0, 0, budget=4)),
                                  "two": ProcessEngine(noting(tmp_path, 0.05, budget=2), 2)}
    for name, engine in engines.items():
        summary = run_with(engine, questions(ids), tmp_path / name)
        assert (summary.asked, summary.failed, summary.exit_code) == (4, 0, 2) and "is spent" in summary.spent
        answered = read_predictions(tmp_path / name).predictions
        assert len(answered) == 4 and not any(p.failed for p in answered.values())
        assert not read_manifest(tmp_path / name).finished
        summary = run_with(SequentialEngine(NotingRunner(tmp_path, 0.0, 0)), questions(ids), tmp_path / name)
        assert (summary.asked, summary.resumed, summary.spent, summary.exit_code) == (3, 4, "", 0)
    assert files_of(tmp_path / "line") == files_of(tmp_path / "two")
