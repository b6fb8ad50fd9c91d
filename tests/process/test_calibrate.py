"""`eqa bench calibrate` with workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.bench.running.trials import TRIALS, read_trials
from eqa_nodes.cli import main
from eqa_nodes.core.agent.stopping import load_calibration
from eqa_nodes.core.storage.codec import dumps


@pytest.mark.slow
def test_a_check_runs_goes_on_and_comes_out_the_same(tmp_path: Path) -> None:
    line = ["bench", "calibrate", "--check", "label", "--questions", "1", "--noise", "none", "--max-steps", "100",
            "--risk", "0.2", "--out", str(tmp_path)]
    assert main(line) == 0
    tables, trials = (tmp_path / "calibration.md").read_text(), read_trials(tmp_path)
    assert f"Calibrated: {load_calibration('label').source}" in tables and "| 0.2 |" in tables
    assert len(trials) == 3
    lines = (tmp_path / TRIALS).read_text().splitlines(keepends=True)
    (tmp_path / TRIALS).write_text("".join(lines[:1]) + lines[1][:50])
    assert main(line) == 0
    assert (tmp_path / "calibration.md").read_text() == tables
    assert sorted(read_trials(tmp_path), key=dumps) == sorted(trials, key=dumps)


@pytest.mark.thorough
def test_a_model_is_asked_through_the_simulated_one_and_never_stops_of_its_own_accord(tmp_path: Path) -> None:
    assert main(["bench", "calibrate", "--check", "label", "--answerer", "vlm", "--questions", "3", "--max-steps", "90",
                 "--out", str(tmp_path)]) == 0
    tables, trials = (tmp_path / "calibration.md").read_text(), read_trials(tmp_path)
    assert "vlm over the simulated model answers" in tables
    assert "Noise none" in tables and "Noise moderate" not in tables
    by_arm = {arm: [t.score.steps for t in trials if t.arm == arm] for arm in ("none, never stops", "none, risk 0")}
    assert min(by_arm["none, never stops"]) >= 90 > min(by_arm["none, risk 0"]) and len(trials) == 6
    assert all(trial.calls for trial in trials), "the model is asked"


@pytest.mark.thorough
def test_a_detector_looks_instead_of_labels_with_noise(tmp_path: Path) -> None:
    assert main(["bench", "calibrate", "--detector", "perceiver", "--questions", "2", "--max-steps", "30",
                 "--out", str(tmp_path)]) == 0
    assert "detector perceiver" in load_calibration(str(tmp_path / "calibration.json")).source
    trials = read_trials(tmp_path)
    assert len(trials) == 2 and not any(trial.score.privileged for trial in trials)
