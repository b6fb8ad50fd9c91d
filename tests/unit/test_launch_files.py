"""Launch files where there is no launch: read, and run against stand-ins that record what launch would be told.

tests/launch runs them for real.
"""

from __future__ import annotations

import ast
import copy
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from eqa_nodes.bags.export import write_bag
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.graph import TOPICS, nodes_of
from eqa_nodes.parameters import defaults_of, read_file
from eqa_nodes.ros import environment
from eqa_nodes.settings import SETTINGS, BridgeSettings
from sim_bridge.nav2 import fitted
from tests.unit.history_fixture import walk

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "launch").glob("*.launch.py"))
each_file = pytest.mark.parametrize("tree", [ast.parse(file.read_text()) for file in FILES],
                                    ids=[file.name for file in FILES])


def calls(tree: ast.AST, name: str) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name]


def own_nodes(tree: ast.AST) -> list[dict[str | None, ast.expr]]:
    """Return the keywords of every Node(package="eqa_nodes", ...)."""
    found = [{keyword.arg: keyword.value for keyword in call.keywords} for call in calls(tree, "Node")]
    return [keywords for keywords in found if ast.literal_eval(keywords["package"]) == "eqa_nodes"]


@each_file
def test_executables_come_from_the_graph(tree: ast.Module) -> None:
    loops = [node for node in ast.walk(tree) if isinstance(node, (ast.comprehension, ast.For))]
    drawn = {loop.target.id for loop in loops if isinstance(loop.target, ast.Name) and calls(loop.iter, "nodes_of")}
    assert own_nodes(tree)
    for keywords in own_nodes(tree):
        assert {getattr(keywords[key], "id", None) for key in ("executable", "name")} <= drawn
    assert all(nodes_of(ast.literal_eval(call.args[0])) for call in calls(tree, "nodes_of"))


@each_file
def test_parameters_that_are_named_exist(tree: ast.Module) -> None:
    known = {name for settings in SETTINGS.values() for name in defaults_of(settings)}
    values = [node for keywords in own_nodes(tree) for node in ast.walk(keywords["parameters"])]
    named = {ast.literal_eval(key) for value in values if isinstance(value, ast.Dict) for key in value.keys if key}
    assert named <= known | {"use_sim_time"}


class Recorded(SimpleNamespace):
    """What a launch action was told; `args` are its positional arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(args=args, **kwargs)

    def perform(self, context: dict[str, str]) -> str:
        """Of LaunchConfiguration."""
        return context[self.args[0]]


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for launch and launch_ros."""
    for name in ("launch", "launch.actions", "launch.substitutions", "launch_ros", "launch_ros.actions"):
        module = ModuleType(name)
        module.__getattr__ = lambda attribute: type(attribute, (Recorded,), {})  # type: ignore[method-assign]
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def sim(stand_ins: None) -> dict[str, Any]:
    """Names of launch/sim.launch.py."""
    return runpy.run_path(str(ROOT / "launch" / "sim.launch.py"))


@pytest.fixture
def replay(stand_ins: None) -> dict[str, Any]:
    """Names of launch/replay.launch.py."""
    return runpy.run_path(str(ROOT / "launch" / "replay.launch.py"))


def context_of(file: dict[str, Any], folder: Path, **chosen: str) -> dict[str, str]:
    return {name: default for name, (default, _) in file["ARGUMENTS"].items()} | {"folder": str(folder)} | chosen


def test_sim_starts_the_graph_with_checked_parameters(sim: dict[str, Any], tmp_path: Path) -> None:
    nodes = sim["graph"](context_of(sim, tmp_path / "run", policy="random", image="64x48"))
    assert [node.executable for node in nodes] == nodes_of("sim")
    assert {file for node in nodes for file in node.parameters} == {str(tmp_path / "run" / "params.yaml")}
    written = read_file(tmp_path / "run" / "params.yaml", SETTINGS)
    assert written["explorer"]["policy"] == "random" and written["memory"]["labels"] is True
    assert written["bridge"]["robot.camera.width"] == 64 and written["bridge"]["use_sim_time"] is True


def test_sim_leaves_driving_to_nav2_and_writes_its_parameters(sim: dict[str, Any], tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("/**/bridge:\n  ros__parameters: {base.forward_m_s: 0.8, robot.radius_m: 0.2}\n")
    nodes = sim["graph"](context_of(sim, tmp_path / "run", navigator="nav2", params_file=str(own)))
    assert [node.executable for node in nodes] == [name for name in nodes_of("sim") if name != "navigator"]
    written = read_file(tmp_path / "run" / "params.yaml", SETTINGS)
    assert written["bridge"]["drive"] == "velocities" and written["agent"]["odometry"] == "topics"
    nav2 = yaml.safe_load((tmp_path / "run" / "nav2.yaml").read_text())
    assert nav2["velocity_smoother"]["ros__parameters"]["max_velocity"][0] == 0.8
    assert nav2["local_costmap"]["local_costmap"]["ros__parameters"]["robot_radius"] == 0.2
    sim["graph"](context_of(sim, tmp_path / "atomic"))
    assert not (tmp_path / "atomic" / "nav2.yaml").exists()


def test_the_parameters_of_nav2_fit_the_robot_as_it_is(sim: dict[str, Any]) -> None:
    """As they are shipped, for whoever takes them as they are: what is written for the default robot is the same."""
    template = yaml.safe_load((ROOT / "launch" / "nav2" / "nav2.yaml").read_text())
    assert fitted(copy.deepcopy(template), BridgeSettings()) == template
    text = yaml.safe_dump(template)
    used = set(re.findall(r"(?:topic|map_topic|odom_topic): ([\w/]+)", text)) - {"cmd_vel_smoothed"}
    assert {name for name in used if "/" not in name and "monitor" not in name} <= {t.name for t in TOPICS.values()}
    assert set(re.findall(r"(?:frame|frame_id): (\w+)", text)) == {"map", "odom", "base_link"}  # REP 105
    assert "&" not in text and "*" not in text.replace("/**", "")  # aliases, which rcl does not read


@pytest.mark.parametrize("wrong", [{"params_file": "absent.yaml"}, {"image": "large"}])
def test_sim_starts_nothing_with_wrong_arguments(sim: dict[str, Any], tmp_path: Path, wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong.values()))):
        sim["graph"](context_of(sim, tmp_path / "run", **wrong))
    assert not (tmp_path / "run").exists()


def test_replay_begins_by_itself_with_what_it_was_told(replay: dict[str, Any], tmp_path: Path) -> None:
    write_bag(walk(2), tmp_path / "bag")
    chosen = {"source": str(tmp_path / "bag"), "rate": "2.0"}
    nodes = replay["graph"](context_of(replay, tmp_path / "run", **chosen))
    assert [node.executable for node in nodes] == nodes_of("replay")
    assert "bridge" not in nodes_of("replay") and "recorder" not in nodes_of("replay")
    assert [node.executable for node in nodes if not node.respawn] == ["replay"]
    written = read_file(tmp_path / "run" / "params.yaml", SETTINGS)
    assert (written["replay"]["source"], written["replay"]["rate"]) == (str(tmp_path / "bag"), 2.0)
    assert tuple(written["replay"]["observers"]) == tuple(written["agent"]["observers"]) == ("mapper", "memory")
    assert written["memory"]["labels"] is False  # the history has none: who waits for them waits for ever
    recorded = replay["graph"](context_of(replay, tmp_path / "again", **chosen, record="true"))
    assert {node.executable for node in recorded} == {*nodes_of("replay"), "recorder"}
    assert "recorder" in read_file(tmp_path / "again" / "params.yaml", SETTINGS)["replay"]["observers"]


@pytest.mark.parametrize(("wrong", "complaint"), [
    ({"source": "absent"}, "absent"), ({"source": "."}, "no episode history"), ({"rate": "fast"}, "'fast'"),
    ({"rate": "-1"}, "-1")])
def test_replay_starts_nothing_with_wrong_arguments(replay: dict[str, Any], tmp_path: Path, wrong: dict[str, str],
                                                    complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_bag(walk(2), tmp_path / "bags" / "bag")
    with pytest.raises((ConfigError, StorageError), match=complaint):
        replay["graph"](context_of(replay, tmp_path / "run", **{"source": "bags/bag", **wrong}))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["sim", "replay"])
def test_a_launch_file_describes_its_arguments(name: str, request: pytest.FixtureRequest) -> None:
    file = request.getfixturevalue(name)
    entities = file["generate_launch_description"]().args[0]
    declared = {entity.args[0]: entity for entity in entities if type(entity).__name__ == "DeclareLaunchArgument"}
    assert declared.keys() == file["ARGUMENTS"].keys() and all(entity.description for entity in declared.values())
    assert all(declared[name].default_value in choices for name, choices in file["CHOICES"].items())


@pytest.mark.parametrize("name", ["sim", "replay"])
def test_a_distribution_stays_as_it_was_set_up(name: str, request: pytest.FixtureRequest,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    def variables() -> list[str]:
        entities = file["generate_launch_description"]().args[0]
        return [entity.args[0] for entity in entities if type(entity).__name__ == "SetEnvironmentVariable"]

    file = request.getfixturevalue(name)
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    assert variables() == []
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: object())
    assert variables() == [*environment.IMAGES, *environment.WHEELS]


def test_rviz_shows_topics_of_the_graph_as_they_are_published() -> None:
    layout = yaml.safe_load((ROOT / "launch" / "rviz" / "eqa.rviz").read_text())["Visualization Manager"]
    topics = {topic.name: topic for topic in TOPICS.values()}
    shown = {display["Topic"]["Value"]: display for display in layout["Displays"]}
    assert {"map", "exploration/markers", "exploration/semantic_map"} <= shown.keys() <= topics.keys()
    for name, display in shown.items():
        assert display["Class"].split("/")[1] in topics[name].type.replace("OccupancyGrid", "Map")
        latched = display["Topic"]["Durability Policy"] == "Transient Local"
        assert latched == (topics[name].qos == "latched"), name
