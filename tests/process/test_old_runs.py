"""Run directories of earlier versions are resumed and scored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.cli import main
from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.storage.codec import decode

OLD_RUN = Path(__file__).resolve().parents[1] / "data" / "old_run"  # of commit bed3d19


def test_a_run_of_an_earlier_version_is_resumed_and_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    shutil.copytree(OLD_RUN, run)
    line = ["bench", "run", "--questions", "2", "--through", "process", "--image", "64x48", "--out", str(run)]
    assert main([*line, "--max-steps", "4"]) == 2
    assert "holds a run with another config" in capsys.readouterr().err
    assert main([*line, "--max-steps", "3"]) == 0
    assert "0 asked, 2 asked before" in capsys.readouterr().out
    manifest = read_manifest(run)
    assert manifest.sessions == 2 and decode(RunConfig, manifest.run).limits.steps == 3
    assert main(["bench", "score", str(run)]) == 0
