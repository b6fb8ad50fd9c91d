"""A scored run in TensorBoard, MLflow and Weights & Biases, read back by their own readers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import Scores, score_run
from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.trackers import TRACKERS, track, tracked
from eqa_nodes.cli import main
from eqa_nodes.core.errors import MissingExtra, StorageError
from tests.fixtures.synthetic_run import make_run

LIBRARIES = {"tensorboard": "tensorboard", "mlflow": "mlflow", "wandb": "wandb"}


def need(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed: pip install 'eqa-nodes[{name}]'")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    out = make_run(tmp_path / "a run")
    score_run(out, OfflineJudge())
    write_report(out)
    return out


@pytest.fixture
def scores(run: Path) -> Scores:
    return score_run(run, OfflineJudge())


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_URI", "WANDB_MODE", "MLFLOW_ALLOW_FILE_STORE"):
        monkeypatch.delenv(name, raising=False)


def test_all_get_settings_means_with_intervals_and_questions(run: Path, scores: Scores) -> None:
    what = tracked(run)
    c = scores.rows[0].metrics["openeqa_c"]
    assert what.name == "a run" and what.parameters["dataset"] == scores.dataset
    assert what.metrics["all/openeqa_c"] == c.mean and what.metrics["all/openeqa_c_low"] == c.low
    assert {name.partition("/")[0] for name in what.metrics} == {row.name for row in scores.rows}
    assert len(what.questions) == len(scores.questions)
    assert sum("openeqa_c" in values for values in what.questions) == c.n
    assert [file.name for file in what.files] == ["manifest.json", "scores.json", "report.html"]


def test_tensorboard_reads_it_back(run: Path, scores: Scores, tmp_path: Path) -> None:
    need("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert "tensorboard --logdir" in track(run, tmp_path / "out", "tensorboard")
    (file,) = (tmp_path / "out" / "a run").iterdir()
    read = EventAccumulator(str(file))
    read.Reload()
    assert read.Scalars("all/openeqa_c")[0].value == pytest.approx(scores.rows[0].metrics["openeqa_c"].mean)
    marks = read.Scalars("questions/openeqa_c")
    assert len(marks) == scores.rows[0].metrics["openeqa_c"].n and all(mark.step >= 1 for mark in marks)
    assert read.SummaryMetadata("_hparams_/session_start_info").plugin_data.plugin_name == "hparams"


def test_mlflow_reads_it_back(run: Path, scores: Scores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("mlflow")
    from mlflow.tracking import MlflowClient

    track(run, tmp_path / "out", "mlflow")
    assert "mlflow ui" in track(run, tmp_path / "out", "mlflow")  # a second run in the same experiment
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = MlflowClient((tmp_path / "out" / "mlruns").as_uri())
    runs = client.search_runs([client.get_experiment_by_name("eqa").experiment_id])
    assert len(runs) == 2 and {one.info.status for one in runs} == {"FINISHED"}
    assert runs[0].data.params["dataset"] == scores.dataset
    assert runs[0].data.metrics["all/openeqa_c"] == pytest.approx(scores.rows[0].metrics["openeqa_c"].mean)
    history = client.get_metric_history(runs[0].info.run_id, "questions/openeqa_c")
    assert len(history) == scores.rows[0].metrics["openeqa_c"].n
    assert {file.path for file in client.list_artifacts(runs[0].info.run_id)} == {
        "manifest.json", "scores.json", "report.html"}


def test_weights_and_biases_keeps_it_here(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("wandb")
    for name in ("WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    said = track(run, tmp_path / "out", "wandb")
    (folder,) = (tmp_path / "out" / "wandb").glob("offline-run-*")
    assert said == f"wandb sync {folder}"
    (file,) = folder.glob("*.wandb")
    content = file.read_bytes()
    assert b"all/openeqa_c" in content and b"a run-scores" in content and b"questions/steps" in content


@pytest.mark.parametrize("tracker", TRACKERS)
def test_a_missing_library_is_named_with_its_command(tracker: str, run: Path, tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.split(".")[0] == LIBRARIES[tracker]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, LIBRARIES[tracker], None)
    with pytest.raises(MissingExtra, match=rf"pip install 'eqa-nodes\[{tracker}\]'"):
        track(run, tmp_path / "out", tracker)


def test_a_run_without_scores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="eqa bench score"):
        track(make_run(tmp_path / "run"), tmp_path / "out", "tensorboard")


def test_the_former_name_of_the_option_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "export", "RUN", "DIR", "--form", "express"])
    assert "--to" in capsys.readouterr().err
