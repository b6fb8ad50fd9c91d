"""A run's configuration: which setting wins; as JSON and pickled."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.cli.ask import Ask
from eqa_nodes.cli.verbs import command_of
from eqa_nodes.config.graph import SHARED, merged
from eqa_nodes.config.run import ISOLATED, REPLAY, ROBOT, Replayed, RunConfig, image_size
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import decode, dumps, encode
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.models.config import ModelConfig

FULL = RunConfig(agent="ours", policy="random", k=7, model=ModelConfig(model="m", temperature=0.5), body=RobotModel(),
                 through=ISOLATED, limits=Limits(steps=9, area=((0.0, 0.0), (4.0, 0.0), (4.0, 3.0))), show=True,
                 params=Path("own.yaml"), overrides={"agent": {"observers": ("mapper",)}}, folder=Path("runs/a"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A parameter file that names an answerer, a policy and a model's temperature."""
    path = tmp_path / "own.yaml"
    path.write_text("/**/explorer:\n  ros__parameters: {policy: random}\n"
                    "/**/answerer:\n  ros__parameters: {answerer: vlm, model.temperature: 0.5}\n")
    return path


def asked(*words: str) -> RunConfig:
    """Return the configuration of a line of `eqa ask`."""
    command = command_of(["ask", "Where?", *words])
    assert isinstance(command, Ask)
    return command.config


def test_it_pickles_and_is_written_as_json() -> None:
    assert pickle.loads(pickle.dumps(FULL)) == FULL
    read = decode(RunConfig, json.loads(dumps(FULL)))
    assert encode(read) == encode(FULL) and read.params == Path("own.yaml") and read.body == FULL.body
    assert read.limits == FULL.limits


def test_options_win_over_the_file_and_the_file_over_the_agent(file: Path) -> None:
    config = asked("--params", str(file), "--agent", "multi-frame")
    assert (config.named.policy, config.named.answerer) == ("random", "vlm")
    assert config.settings.explorer.policy == "random" and config.settings.answerer.model.temperature == 0.5
    config = asked("--params", str(file), "--policy", "frontier", "--answerer", "label")
    assert config.settings.explorer.policy == "frontier" and config.settings.answerer.answerer == "label"


def test_an_option_that_equals_the_default_wins_over_the_file_too(file: Path) -> None:
    assert asked("--params", str(file), "--temperature", "0").settings.answerer.model.temperature == 0.0


@pytest.mark.parametrize(("text", "size"), [("16x4096", (16, 4096)), ("640x480", (640, 480)), ("15x480", None),
                                            ("640x4097", None), ("640", None), ("640x480x3", None)])
def test_an_image_has_16_to_4096_pixels_a_side(text: str, size: tuple[int, int] | None) -> None:
    if size is None:
        with pytest.raises(ConfigError, match=f"--image is '{text}': expected WIDTHxHEIGHT"):
            image_size(text)
    else:
        assert image_size(text) == size
        camera = RunConfig(image=text).robot_body.camera
        assert (camera.width, camera.height) == size


def test_rules_see_a_house_by_its_detector_unless_labels_or_another_one_are_chosen(tmp_path: Path) -> None:
    def seen_by(*words: str) -> str:
        settings = asked(*words).settings
        assert settings.memory.reads_simulator == (settings.memory.labels and not settings.perception.detector.name)
        assert settings.answerer.labels_from == settings.memory.labels_from
        return settings.perception.detector.name

    file = tmp_path / "own.yaml"
    file.write_text("/**: {ros__parameters: {labels_from: detector}}\n"
                    "/**/perception: {ros__parameters: {detector.name: transformers}}\n")
    assert seen_by() == seen_by("--scene", "house:7+2") == seen_by("--detector-model", "x") == "perceiver"
    assert seen_by("--scene", "house:7+text") == seen_by("--scene", "house:7+2+chores") == ""  # not trained on those
    assert seen_by("--labels") == seen_by("--scene", "toy:flat") == seen_by("--answerer", "blind") == ""
    assert seen_by("--detector", "onnx") == "onnx" and seen_by("--params", str(file)) == "transformers"
    assert not RunConfig(scene="house:7").settings.perception.detector.name  # benchmarks keep the labels
    with pytest.raises(ConfigError, match="--labels and --detector exclude each other"):
        asked("--labels", "--detector", "onnx")


def test_overrides_win_over_everything(file: Path) -> None:
    config = RunConfig(params=file, policy="frontier").with_overrides({"explorer": {"policy": "topo"}})
    assert config.settings.explorer.policy == "topo" and RunConfig().overrides == {}


def test_worlds_differ_by_what_a_robot_and_a_recording_lack() -> None:
    assert not RunConfig(world=ROBOT).settings.agent.simulator and RunConfig().settings.agent.simulator
    played = RunConfig(answerer="label", world=REPLAY, replayed=Replayed(labels=True, rate=2.0))
    assert played.settings.replay.labels and played.settings.replay.rate == 2.0
    assert "replay" in played.nodes and "bridge" not in played.nodes
    with pytest.raises(ConfigError, match="unknown world 'moon'"):
        _ = RunConfig(world="moon").parameters


@pytest.mark.parametrize(("chosen", "stairs"), [
    ({"scene": "house:7@2"}, True), ({"scene": "house:7"}, False), ({"scene": "house:7@2", "robot": "default"}, False),
    ({"scene": "house:7@2", "dataset": "house"}, False), ({"scene": "house:7@2", "navigator": "nav2"}, False),
    ({"scene": "", "dataset": "house-floors"}, True)])
def test_in_a_home_of_two_storeys_the_usual_robot_takes_stairs(chosen: dict[str, Any], stairs: bool) -> None:
    assert RunConfig(**chosen).robot_body.stairs == stairs
    assert RunConfig(**chosen).settings.explorer.robot.stairs == stairs


def test_the_agent_waits_as_long_as_a_slow_model_may_take(tmp_path: Path) -> None:
    assert asked().settings.agent.model_deadline_s == 2 * ModelConfig().deadline_s + 60.0
    slow = asked("--answerer", "vlm", "--deadline", "1800")
    assert slow.settings.agent.model_deadline_s == slow.parameters["agent"]["model_deadline_s"] == 3660.0
    file = tmp_path / "own.yaml"
    file.write_text("/**/agent:\n  ros__parameters: {model_deadline_s: 45.0}\n")
    assert asked("--params", str(file), "--deadline", "1800").settings.agent.model_deadline_s == 45.0


def test_settings_are_built_once_until_something_changes() -> None:
    config = RunConfig(answerer="label")
    checked = config.parameters
    assert config.parameters is checked and config.settings is checked.settings
    assert merged(None, checked) is checked and merged(None, {}, checked, {"explorer": {}}) is checked
    assert merged(None, checked, {"explorer": {"policy": "topo"}}).settings.explorer.policy == "topo"
    assert checked.settings.explorer.policy != "topo"


def test_checked_parameters_survive_another_process_also_with_the_settings_of_a_policys_own_class() -> None:
    checked = merged(None, {"explorer": {"policy": "eqa_nodes.core.policies.topo_policy:TopoPolicy"}})
    again = pickle.loads(pickle.dumps(checked))
    assert again == checked and again.settings.memory == checked.settings.memory


def test_a_file_that_options_complete_is_accepted(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("/**/agent:\n  ros__parameters: {agent.max_money: 2.0}\n")
    with pytest.raises(ConfigError, match="no prices are known"):
        _ = RunConfig(params=own).parameters
    assert RunConfig(params=own, model=ModelConfig(price_in=1.0)).settings.agent.agent.max_money == 2.0


def test_a_model_that_reads_labels_gets_them_without_captions() -> None:
    for asked in (RunConfig(answerer="vlm", model=ModelConfig(backend="simulated")),
                  RunConfig(answerer="vlm", overrides={"answerer": {"model.backend": "simulated"}})):
        assert asked.settings.memory.labels and not asked.settings.memory.memory.perception.caption_items
    assert not RunConfig(answerer="vlm").settings.memory.labels
    assert RunConfig(answerer="label", model=ModelConfig(backend="simulated")
                     ).settings.memory.memory.perception.caption_items


def test_a_date_of_the_clock_makes_the_nodes_use_simulated_time() -> None:
    config = asked("--start", "2026-11-12T08:30+00:00")
    assert config.settings.bridge.clock_start_ns == 1_794_472_200 * 10**9
    assert config.parameters[SHARED]["use_sim_time"] is True
    assert "use_sim_time" not in asked().parameters[SHARED] and not asked().settings.bridge.clock_start_ns
    with pytest.raises(ConfigError, match="the start of the simulator's clock is '2026-02-31'"):
        _ = asked("--start", "2026-02-31").settings


def test_one_memory_file_of_all_runs(tmp_path: Path) -> None:
    memory = asked("--memory-file", str(tmp_path / "home.sqlite")).settings.memory
    assert memory.path_of("monday") == memory.path_of("tuesday") == tmp_path / "home.sqlite"
    assert asked().settings.memory.path_of("mon/day").name != asked().settings.memory.path_of("tuesday").name
