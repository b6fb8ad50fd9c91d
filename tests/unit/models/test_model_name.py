"""The name of the model that is asked: from options, a file or the environment, into the manifest and the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.bench.running.manifest import begin_manifest, read_manifest
from eqa_nodes.cli.groups import ModelOptions
from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models.config import ModelConfig

SAMPLES = [Sample("1", "What color is the sofa?", "red")]


def test_the_name_comes_from_options_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQA_VLM_MODEL", "from-the-environment")
    assert RunConfig(answerer="vlm").model_name == "from-the-environment"
    named = ModelConfig(model="from-options")
    assert RunConfig(answerer="vlm", model=named,
                     overrides={"answerer": {"model.model": "from-options"}}).model_name == "from-options"
    assert RunConfig(answerer="label").model_name == ""
    monkeypatch.delenv("EQA_VLM_MODEL")
    assert RunConfig(answerer="vlm").model_name == "openai"


def test_a_file_names_the_model_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQA_VLM_MODEL", "from-the-environment")
    path = tmp_path / "params.yaml"
    path.write_text("answerer:\n  ros__parameters:\n    model: {model: from-the-file}\n")
    assert RunConfig(answerer="vlm", params=path).model_name == "from-the-file"


def test_a_run_keeps_the_name_and_goes_on_with_no_other(tmp_path: Path) -> None:
    begin_manifest(tmp_path, "set", SAMPLES, model="best", asked="gpt-4o")
    assert read_manifest(tmp_path).asked == "gpt-4o"
    begin_manifest(tmp_path, "set", SAMPLES, model="best", asked="gpt-4o")
    with pytest.raises(ConfigError, match="another asked"):
        begin_manifest(tmp_path, "set", SAMPLES, model="best", asked="another")


def test_settings_of_pictures_and_times_are_options() -> None:
    options = ModelOptions(image_side=320, image_detail="low", timeout=20.0, deadline=400.0, price_cached=0.5)
    config = options.config()
    assert (config.image_side_px, config.image_detail, config.timeout_s, config.deadline_s, config.price_cached) == (
        320, "low", 20.0, 400.0, 0.5)
    with pytest.raises(ConfigError, match="image_detail"):
        ModelConfig(image_detail="fine")


@pytest.mark.parametrize("backend", ["scripted", "simulated"])
def test_a_stand_in_does_not_bear_the_name_of_a_model_that_is_not_asked(
        backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQA_VLM_MODEL", "from-the-environment")
    assert RunConfig(answerer="vlm", overrides={"answerer": {"model.backend": backend}}).model_name == backend
    assert RunConfig(answerer="vlm", overrides={"answerer": {"model.backend": "transformers"}}).model_name \
        == "from-the-environment"
