"""Robots of the benchmarks: their exact settings, and that each reaches every node that knows the body."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
import yaml

from eqa_nodes.cli.bench.run import Run
from eqa_nodes.cli.groups import ScanOptions
from eqa_nodes.cli.verbs import command_of
from eqa_nodes.config.graph import SHARED, merged, of_robot
from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.mapping.config import MapperConfig, blind_m
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.launching.plans import fitted
from sim_bridge.robots import ROBOTS, robot_of
from tests.fixtures.paths import ROOT

NAV2 = ROOT / "launch" / "nav2" / "nav2.yaml"


@pytest.mark.parametrize(("name", "expected"), [
    ("openeqa", (1920, 1080, 90.0, 1.0, 0.0, 0.25, 15.0, 0.1, 1.5)),
    ("express", (512, 512, 90.0, 1.5, 0.0, 0.25, 30.0, 0.1, 1.5)),
    ("hm-eqa", (640, 480, 120.0, 1.5, 30.0, 0.25, 30.0, 0.1, 1.5)),
    ("exploraqa", (512, 512, 90.0, 1.25, 0.0, 0.25, 15.0, 0.1, 1.5)),
    ("embodied-eval", (448, 448, 90.0, 1.2, 0.0, 0.25, 30.0, 0.18, 1.3)),
])
def test_presets_are_those_of_the_papers(name: str, expected: tuple[float, ...]) -> None:
    robot, camera = ROBOTS[name], ROBOTS[name].camera
    assert (camera.width, camera.height, camera.hfov_deg, camera.height_m, camera.tilt_down_deg, robot.move_m,
            robot.turn_deg, robot.radius_m, robot.height_m) == expected


@pytest.mark.parametrize("name", ROBOTS)
def test_a_preset_reaches_every_node_that_knows_the_body(name: str) -> None:
    robot, parameters = ROBOTS[name], merged(None, of_robot(ROBOTS[name]))
    assert parameters.settings.bridge.robot == robot
    driving = parameters.settings.navigator.robot
    assert (driving.move_m, driving.turn_deg, driving.radius_m) == (robot.move_m, robot.turn_deg, robot.radius_m)
    assert parameters.settings.explorer.robot.radius_m == robot.radius_m
    mapper = parameters.settings.mapper
    assert (mapper.robot.radius_m, mapper.robot.height_m) == (robot.radius_m, robot.height_m)
    blind = blind_m(mapper.map, mapper.robot)
    assert blind >= 1.5 and blind >= robot.camera.sees_from_m(mapper.map.low_m) - 0.01


def test_one_parameter_sets_the_body_of_every_node() -> None:
    parameters = merged(None, {SHARED: {"robot.radius_m": 0.25}})
    for node in ("mapper", "explorer", "navigator", "bridge"):
        assert getattr(parameters.settings, node).robot.radius_m == 0.25
    costmap = fitted(yaml.safe_load(NAV2.read_text()), parameters.settings.bridge)[
        "local_costmap"]["local_costmap"]["ros__parameters"]
    assert costmap["robot_radius"] == 0.25
    with pytest.raises(ConfigError, match="robot.turn_deg is 50.0: it must divide 360"):
        merged(None, {SHARED: {"robot.turn_deg": 50.0}})
    with pytest.raises(ConfigError, match="mapper heights must rise"):
        merged(None, {SHARED: {"robot.height_m": 4.0}})


@pytest.mark.parametrize(("camera", "metres"), [
    ({"height_m": 1.2, "tilt_down_deg": 10.0}, 1.1), ({"height_m": 0.6}, 0.73), ({"height_m": 0.04}, 0.0),
    ({"tilt_down_deg": -60.0}, 1.1)])
def test_nav2_remembers_what_stands_nearer_than_the_camera_sees_it(camera: dict[str, float], metres: float) -> None:
    parameters = merged(None, {SHARED: {f"robot.camera.{name}": value for name, value in camera.items()}})
    nav2 = fitted(yaml.safe_load(NAV2.read_text()), parameters.settings.bridge)
    scan = nav2["local_costmap"]["local_costmap"]["ros__parameters"]["obstacle_layer"]["scan"]
    assert scan["raytrace_min_range"] == metres


def chosen(*options: str) -> RobotModel:
    """Return the bridge's robot under options of `eqa bench run`."""
    run = command_of(["bench", "run", *options])
    assert isinstance(run, Run)
    robot = run.chain.config(dataset=run.dataset).settings.bridge.robot
    assert isinstance(robot, RobotModel)
    return robot


def test_a_data_set_brings_its_robot_and_options_win() -> None:
    assert chosen() == ROBOTS["default"] == chosen("--dataset", "house")
    assert chosen("--dataset", "openeqa") == ROBOTS["openeqa"]
    assert chosen("--dataset", "hm-eqa", "--robot", "express") == ROBOTS["express"]
    small = chosen("--dataset", "express", "--image", "64x48")
    assert (small.camera.width, small.camera.height, small.camera.height_m) == (64, 48, 1.5)
    with pytest.raises(ConfigError, match="unknown robot 'tank': known are climber, default, embodied-eval"):
        chosen("--robot", "tank")


def test_launch_files_without_a_data_set_get_the_robot_that_they_name() -> None:
    assert robot_of("") == robot_of("default", "openeqa") == ROBOTS["default"]
    assert RunConfig(robot="hm-eqa").settings.bridge.robot == ROBOTS["hm-eqa"]


def test_where_the_floor_comes_into_view() -> None:
    level = CameraModel(512, 512, 90.0, height_m=1.5, tilt_down_deg=0.0)
    assert level.sees_from_m(0.0) == pytest.approx(1.5 * math.sqrt(2))  # 45 degrees down, and that at the edge
    assert CameraModel(512, 512, 90.0, height_m=1.5, tilt_down_deg=-50.0).sees_from_m(0.0) == math.inf
    up = RobotModel(camera=CameraModel(512, 512, 90.0, tilt_down_deg=-50.0))
    assert blind_m(MapperConfig(), up) == 5.0  # the map's range


def test_the_command_line_says_where_scans_and_habitat_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EQA_SCENES", "EQA_HABITAT_PYTHON"):
        monkeypatch.setenv(name, "before")
    monkeypatch.chdir(tmp_path)
    ScanOptions().set_environment()
    assert (os.environ["EQA_SCENES"], os.environ["EQA_HABITAT_PYTHON"]) == ("before", "before")
    said(["ask", "?", "--scenes", "scans", "--habitat-python", "python3.9"]).set_environment()
    assert (os.environ["EQA_SCENES"], os.environ["EQA_HABITAT_PYTHON"]) == (str(tmp_path / "scans"), "python3.9")
    for words in (["bench", "run"], ["bench", "human"], ["bench", "tasks"], ["history", "record", "mesh:x.glb", "out"],
                  ["generate", "express", "--out", "out"]):
        said([*words, "--scenes", "/data", "--habitat-python", "bin/python"]).set_environment()
        assert (os.environ["EQA_SCENES"], os.environ["EQA_HABITAT_PYTHON"]) == ("/data", str(tmp_path / "bin/python"))
        monkeypatch.setenv("EQA_SCENES", "before")
    defaults = {verb: said(["bench", verb]).simulator for verb in ("run", "human", "tasks")}  # type: ignore[attr-defined]
    assert defaults == {"run": "habitat", "human": "habitat", "tasks": "mesh"}


def said(words: list[str]) -> ScanOptions:
    """Return what a command line says of scans."""
    scans = command_of(words).scans  # type: ignore[attr-defined]
    assert isinstance(scans, ScanOptions)
    return scans
