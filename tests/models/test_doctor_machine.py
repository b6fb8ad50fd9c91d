"""`eqa doctor` of a model in this process: one that is not there is an error."""

from __future__ import annotations

from pathlib import Path

from eqa_nodes.doctor.machine import judge_model
from eqa_nodes.models.config import ModelConfig


def test_a_local_model_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    (found,) = judge_model(ModelConfig(backend="transformers", model=str(tmp_path / "model")))
    assert found.state == "error" and ("does not exist" in found.found or "eqa-nodes[local]" in found.found)
