"""Questions that come one after the other are a run directory that the report, and the next session, can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.running.manifest import begin_manifest, read_manifest
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import ASKED, SAMPLES, KeptRun
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import EpisodeResult
from eqa_nodes.core.types.trace import EpisodeTrace

GREY, UNSEEN = Answer("grey", 0.75), Answer("", 0.0, abstained=True, message="nothing of the kind was seen")


def _result(answer: Answer) -> EpisodeResult:
    pose = Pose2(1.0, 2.0, 0.0)
    return EpisodeResult("", answer, pose, EpisodeTrace("?", poses=[(0, pose)], answer=answer))


def test_questions_are_added_and_reported(tmp_path: Path) -> None:
    with KeptRun(tmp_path, "a-model") as kept:
        assert kept.keep("What colour is the sofa?", "house:7", _result(GREY)) == 0
    alone = write_report(tmp_path).read_text()
    assert "What colour is the sofa?" in alone and "<h1>A question</h1>" in alone
    assert "What it cost" not in alone and "<dt>reference</dt>" not in alone and "unmarked" not in alone
    assert "objects found by" not in alone
    for detector in ("perceiver", "perceiver", "onnx"):
        with KeptRun(tmp_path, "a-model", detector) as kept:
            kept.keep("Is the oven on?", "house:7", EpisodeResult("", UNSEEN))
    with KeptRun(tmp_path, "a-model") as kept:
        assert kept.keep("Is the oven on?", "house:7", EpisodeResult("", UNSEEN)) == 4
    manifest = read_manifest(tmp_path)
    assert (manifest.dataset, manifest.questions, manifest.model) == (ASKED, 5, "a-model")
    assert "objects found by perceiver, onnx" in write_report(tmp_path).read_text()
    assert [sample.question for sample in read_samples(tmp_path / SAMPLES)] == ["What colour is the sofa?",
                                                                                *["Is the oven on?"] * 4]
    assert [p.answer for p in read_predictions(tmp_path).predictions.values()] == [GREY, *[UNSEEN] * 4]
    both = write_report(tmp_path).read_text()
    assert "What it cost" in both and "nothing of the kind was seen" in both


def test_the_folder_of_a_benchmark_is_left_alone(tmp_path: Path) -> None:
    begin_manifest(tmp_path, "house", [])
    with pytest.raises(StorageError, match="contains a run of house: choose a new directory"):
        KeptRun(tmp_path)


def test_a_run_with_many_other_settings_is_refused_in_a_few_words(tmp_path: Path) -> None:
    begin_manifest(tmp_path, "house", [], config={"policy": {f"p{k}": 1 for k in range(40)}})
    with pytest.raises(ConfigError) as refused:
        begin_manifest(tmp_path, "house", [], config={"policy": {f"p{k}": 2 for k in range(40)}})
    assert str(refused.value).endswith("a run with another config (policy.p0 was 1, is 2; policy.p1 was 1, is 2; "
                                       "policy.p10 was 1, is 2; policy.p11 was 1, is 2; 36 more): resume it as it was, "
                                       "or choose a new directory")
