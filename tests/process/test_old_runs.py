"""Run directories of earlier versions are resumed and scored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eqa_nodes.bench import datasets
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.cli import main
from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.storage.codec import decode
from eqa_nodes.core.types.samples import Sample

OLD_RUN = Path(__file__).resolve().parents[1] / "data" / "old_run"  # of commit bed3d19


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a copy of the old run."""
    return Path(shutil.copytree(OLD_RUN, tmp_path / "run"))


def resume(run: Path) -> list[str]:
    return ["bench", "run", "--questions", "2", "--through", "process", "--image", "64x48", "--out", str(run)]


def test_a_run_of_an_earlier_version_is_resumed_and_scored(run: Path, monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    def as_then(*asked: object, **how: object) -> list[Sample]:
        return read_samples(OLD_RUN / "samples.jsonl")

    monkeypatch.setattr(datasets, "open_dataset", as_then)  # the house asks other questions today
    line = resume(run)
    assert main([*line, "--max-steps", "4"]) == 2
    said = capsys.readouterr().err
    assert "holds a run with another config" in said and "limits.steps was 3, is 4" in said
    assert main([*line, "--max-steps", "3"]) == 0
    assert "0 asked, 2 asked before" in capsys.readouterr().out
    manifest = read_manifest(run)
    assert manifest.sessions == 2 and decode(RunConfig, manifest.run).limits.steps == 3
    assert main(["bench", "score", str(run)]) == 0


def test_a_run_whose_questions_are_others_today_is_scored_and_not_resumed(run: Path,
                                                                        capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*resume(run), "--max-steps", "3"]) == 2
    assert "holds a run with another dataset_sha256" in capsys.readouterr().err
    assert main(["bench", "score", str(run)]) == 0
    assert main(["report", str(run)]) == 0
