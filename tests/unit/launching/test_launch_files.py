"""Launch files where there is no launch: what they plan, and what stand-ins for launch are told.

tests/launch runs them for real.
"""

from __future__ import annotations

import copy
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from eqa_nodes.config.files import read_file
from eqa_nodes.config.nodes import BridgeSettings
from eqa_nodes.config.shared import SHARED
from eqa_nodes.core.errors import ConfigError, EqaError, NodeLost, StorageError
from eqa_nodes.launching.arguments import ARGUMENTS, FRAMES, table
from eqa_nodes.launching.exits import EPISODE_FAILED, INTERRUPTED, NOT_READY
from eqa_nodes.launching.nav2_parameters import fitted
from eqa_nodes.launching.plans import LaunchPlan, planned
from eqa_nodes.recordings.export import write_bag
from eqa_nodes.ros import environment
from eqa_nodes.ros.graph import TOPICS, nodes_of
from eqa_nodes.ros.run import LAUNCH, RUN
from eqa_nodes.ros.runner import RESTARTS
from tests.fixtures.histories import walk
from tests.fixtures.paths import ROOT

FILES = ROOT / "launch"
WORLDS = sorted(ARGUMENTS)
ACTIONS = "eqa_nodes.launching.actions"
OTHERS = {"robot": {"answerer": "blind"}, "sim": {}, "replay": {}}  # no model, no labels


def chosen(world: str, folder: Path, **said: str) -> dict[str, str]:
    """Return all arguments of a launch file; those that must be given are in said."""
    defaults = {name: argument.default for name, argument in ARGUMENTS[world].items()}
    parameters = {"params_file": str(ROOT / defaults["params_file"])}
    return {**defaults, **parameters, "folder": str(folder), **OTHERS[world], **said}


def plan(world: str, folder: Path, **said: str) -> LaunchPlan:
    return planned(world, chosen(world, folder, **said), FILES)


def test_sim_starts_the_graph_with_checked_parameters(tmp_path: Path) -> None:
    run = plan("sim", tmp_path / "run", policy="random", image="64x48", scene="toy:room", seed="5")
    assert run.nodes == nodes_of("sim") and not run.rviz and not run.nav2
    assert run.begin == ("--episode", "run", "--scene", "toy:room", "--seed", "5")
    written = read_file(tmp_path / "run" / "params.yaml")
    assert written["explorer"]["policy"] == "random" and written["memory"]["labels"] is True
    assert written[SHARED]["robot.camera.width"] == 64 and written[SHARED]["use_sim_time"] is True
    assert not plan("sim", tmp_path / "alone").begin and plan("sim", tmp_path / "alone", headless="false").rviz


def test_sim_takes_agents_and_data_sets_by_name(tmp_path: Path) -> None:
    run = plan("sim", tmp_path, agent="snapshot", dataset="hm-eqa", model="m", model_url="http://localhost:1/v1")
    own = run.parameters
    assert own["answerer"]["answerer"] == own["explorer"]["policy"] == "snapshot"
    assert (own["answerer"]["model.model"], own["answerer"]["model.base_url"]) == ("m", "http://localhost:1/v1")
    assert own[SHARED]["robot.camera.hfov_deg"] == 120.0
    assert plan("sim", tmp_path, agent="snapshot", policy="random").parameters["explorer"]["policy"] == "random"


def test_sim_takes_scans_and_may_record_nothing(tmp_path: Path) -> None:
    run = plan("sim", tmp_path / "run", scenes=str(tmp_path), habitat_python="~/habitat/bin/python", record="false")
    assert run.variables == {"EQA_SCENES": str(tmp_path),
                             "EQA_HABITAT_PYTHON": str(Path("~/habitat/bin/python").expanduser())}
    assert "recorder" not in run.nodes
    assert run.parameters["agent"]["observers"] == run.parameters["bridge"]["observers"] == ("mapper", "memory")
    command = plan("sim", tmp_path / "command", habitat_python="python3.9")
    assert command.variables == {"EQA_HABITAT_PYTHON": "python3.9"}
    assert "recorder" in plan("sim", tmp_path / "usual").nodes and not plan("sim", tmp_path / "usual").variables


def test_sim_leaves_driving_to_nav2_and_writes_its_parameters(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("/**/bridge:\n  ros__parameters: {base.forward_m_s: 0.8, robot.radius_m: 0.2}\n")
    run = plan("sim", tmp_path / "run", navigator="nav2", params_file=str(own), nav2="bringup", scene="toy:room")
    assert run.nodes == nodes_of("sim", navigator="nav2")
    written = read_file(tmp_path / "run" / "params.yaml")
    assert written["bridge"]["drive"] == "velocities" and written["agent"]["odometry"] == "topics"
    assert run.nav2 and run.nav2_params == tmp_path / "run" / "nav2.yaml"
    nav2 = yaml.safe_load(run.nav2_params.read_text())
    assert nav2["velocity_smoother"]["ros__parameters"]["max_velocity"][0] == 0.8
    assert nav2["local_costmap"]["local_costmap"]["ros__parameters"]["robot_radius"] == 0.2
    plan("sim", tmp_path / "atomic")
    assert not (tmp_path / "atomic" / "nav2.yaml").exists()


def test_the_parameters_of_nav2_fit_the_robot_as_it_is() -> None:
    """As they are shipped, for whoever takes them as they are: what is written for the default robot is the same."""
    template = yaml.safe_load((FILES / "nav2" / "nav2.yaml").read_text())
    assert fitted(copy.deepcopy(template), BridgeSettings()) == template
    text = yaml.safe_dump(template)
    used = set(re.findall(r"(?:topic|map_topic|odom_topic): ([\w/]+)", text)) - {"cmd_vel_smoothed"}
    assert {name for name in used if "/" not in name and "monitor" not in name} <= {t.name for t in TOPICS.values()}
    assert set(re.findall(r"(?:frame|frame_id): (\w+)", text)) == {"map", "odom", "base_link"}  # REP 105
    assert "&" not in text and "*" not in text.replace("/**", "")  # aliases, which rcl does not read


@pytest.mark.parametrize(("wrong", "complaint"), [
    ({"params_file": "absent.yaml"}, "absent.yaml"), ({"image": "large"}, "large"), ({"seed": "-1"}, "seed is '-1'"),
    ({"ready_s": "soon"}, "'soon'"), ({"ready_s": "0"}, "more than 0"),
    ({"nav2": "bringup"}, "navigator:=nav2 and a scene"), ({"nav2_params_file": "absent"}, "no such file"),
    ({"nav2": "bringup", "navigator": "nav2"}, "a scene"), ({"scenes": "absent"}, "scenes is 'absent'")])
def test_sim_starts_nothing_with_wrong_arguments(tmp_path: Path, wrong: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        plan("sim", tmp_path / "run", **wrong)
    assert not (tmp_path / "run" / "params.yaml").exists()


def test_replay_shows_what_it_was_told(tmp_path: Path) -> None:
    write_bag(walk(2), tmp_path / "bag")
    said = {"source": str(tmp_path / "bag"), "rate": "2.0"}
    run = plan("replay", tmp_path / "run", **said)
    assert run.nodes == nodes_of("replay") and "bridge" not in run.nodes and "recorder" not in run.nodes
    assert run.begin == ("--episode", "bag", "--scene", str(tmp_path / "bag"))
    written = read_file(tmp_path / "run" / "params.yaml")
    assert written["replay"]["rate"] == 2.0 and not written["replay"].get("source")  # it waits for the nodes
    assert tuple(written["replay"]["observers"]) == tuple(written["agent"]["observers"]) == ("mapper", "memory")
    assert written["memory"]["labels"] is False  # the history has none: who waits for them waits for ever
    recorded = plan("replay", tmp_path / "again", **said, record="true")
    assert {*recorded.nodes} == {*nodes_of("replay"), "recorder"}
    assert "recorder" in recorded.parameters["replay"]["observers"]


@pytest.mark.parametrize(("wrong", "complaint"), [
    ({"source": "absent"}, "absent"), ({"source": "."}, "no episode history"), ({"rate": "fast"}, "'fast'"),
    ({"rate": "-1"}, "-1")])
def test_replay_starts_nothing_with_wrong_arguments(tmp_path: Path, wrong: dict[str, str], complaint: str,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_bag(walk(2), tmp_path / "bags" / "bag")
    with pytest.raises((ConfigError, StorageError), match=complaint):
        plan("replay", tmp_path / "run", **{"source": "bags/bag", **wrong})
    assert not (tmp_path / "run").exists()


def test_robot_starts_its_graph_for_a_live_camera(tmp_path: Path) -> None:
    run = plan("robot", tmp_path / "run", color="/front/image", tf="tf", memory_file=str(tmp_path / "flat.sqlite"))
    assert run.nodes == [name for name in nodes_of("robot") if name != "recorder"] and run.begin == ("--robot",)
    assert not run.nav2
    assert run.remappings == [("camera/color/image_raw", "/front/image"), ("/tf", "tf")]
    written = read_file(tmp_path / "run" / "params.yaml")
    assert written.keys() <= {SHARED, *run.nodes} and written["agent"]["odometry"] == "topics"
    assert tuple(written["agent"]["observers"]) == ("mapper", "memory")
    assert written[SHARED]["use_sim_time"] is False and written[SHARED]["robot.radius_m"] == 0.2
    assert (written["memory"]["folder"], written["memory"]["file"]) == (str(tmp_path), "flat.sqlite")
    assert written["mapper"]["map.range_m"] == 5.0  # from launch/params/robot.yaml


def test_robot_records_detects_and_drives_as_it_is_told(tmp_path: Path) -> None:
    run = plan("robot", tmp_path, record="true", detector="transformers", use_sim_time="true",
               nav2="bringup", enclave="/eqa/", rviz="true")
    assert {"recorder", "perception"} <= {*run.nodes} and run.nav2 and run.nav2_params is None and run.rviz
    assert tuple(run.parameters["agent"]["observers"]) == ("mapper", "memory", "recorder", "perception")
    assert run.parameters[SHARED]["labels_from"] == "detector" and run.parameters["perception"]["newest"] is True
    assert run.sim_time and run.enclave == "/eqa"
    assert run.begin == ("--robot",)  # a robot's agent begins by itself
    assert run.map_frame == "map" and plan("robot", tmp_path / "r1", map_frame="r1/map").map_frame == "r1/map"
    assert "navigator" not in plan("robot", tmp_path, nav2="none").nodes


@pytest.mark.parametrize(("wrong", "complaint"), [
    ({"answerer": "label"}, "'label' reads labels, and a robot has none"),
    ({"agent": "socratic-graph", "answerer": ""}, "'socratic-graph' reads labels"),
    ({"composed": "true", "enclave": "/eqa"}, "one enclave"), ({"nav2_params_file": "absent"}, "no such file")])
def test_robot_starts_nothing_with_wrong_arguments(tmp_path: Path, wrong: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        plan("robot", tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


def test_a_driver_sets_what_neither_arguments_nor_the_file_say(tmp_path: Path) -> None:
    run = plan("robot", tmp_path / "a", driver="azure_kinect", depth="/own/depth", odom_frame="own/odom")
    assert dict(run.remappings) == {"camera/color/image_raw": "/rgb/image_raw", "camera/depth/image_raw": "/own/depth",
                                    "camera/color/camera_info": "/rgb/camera_info"}
    assert run.parameters[SHARED]["node.camera.lens"] == "distorted"
    assert run.parameters[SHARED]["node.tf.odom_frame"] == "own/odom"
    own = tmp_path / "own.yaml"
    own.write_text("/**:\n  ros__parameters: {node.camera.lens: rectified, node.tf.base_frame: below}\n")
    run = plan("robot", tmp_path / "b", driver="azure_kinect", params_file=str(own))
    assert run.parameters[SHARED]["node.camera.lens"] == "rectified"
    assert plan("robot", tmp_path / "c", driver="spot", params_file=str(own)).parameters[SHARED][
        "node.tf.base_frame"] == "base_floor"  # an argument, as base_frame:= would be
    with pytest.raises(ConfigError, match="known are azure_kinect"):
        plan("robot", tmp_path / "d", driver="kinect")


@pytest.mark.parametrize(("name", "parameter", "value"), [
    *((frame, f"node.tf.{frame}", "other") for frame in FRAMES),
    ("autostart", "node.autostart", "false")])
def test_settings_of_all_nodes_reach_them(tmp_path: Path, name: str, parameter: str, value: str) -> None:
    assert ARGUMENTS["robot"][name].default != value
    written = plan("robot", tmp_path, **{name: value}).parameters
    assert written[SHARED][parameter] == (value == "true" if value in ("true", "false") else value)


def test_the_table_of_arguments_is_up_to_date() -> None:
    """`python -m eqa_nodes.launching.arguments` prints it."""
    text = (ROOT / "docs" / "robot.md").read_text()
    for world in WORLDS:
        assert f"### {world}.launch.py\n\n{table(world)}\n" in text, f"docs/robot.md: {world} is not as the code has it"


class Recorded(SimpleNamespace):
    """What a launch action was told; `given` are its positional arguments."""

    def __init__(self, *given: Any, **kwargs: Any) -> None:
        super().__init__(given=given, **kwargs)

    def perform(self, context: Any) -> str:
        """Of LaunchConfiguration."""
        return context.said[self.given[0]]


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand-ins for launch and launch_ros."""
    for name in ("launch", "launch.actions", "launch.substitutions", "launch.launch_description_sources",
                 "launch.logging", "launch_ros", "launch_ros.actions", "ament_index_python",
                 "ament_index_python.packages"):
        module = ModuleType(name)
        module.__getattr__ = lambda attribute: type(attribute, (Recorded,), {})  # type: ignore[method-assign]
        monkeypatch.setitem(sys.modules, name, module)
    index = sys.modules["ament_index_python.packages"]
    index.PackageNotFoundError = KeyError  # type: ignore[attr-defined]
    index.get_package_share_directory = {"nav2_bringup": "/share/nav2_bringup"}.__getitem__  # type: ignore[attr-defined]
    logs = SimpleNamespace(get_log_file_path=lambda name: f"/logs/{name}")
    sys.modules["launch.logging"].launch_config = logs  # type: ignore[attr-defined]
    sys.modules.pop(ACTIONS, None)
    yield
    sys.modules.pop(ACTIONS, None)


def entities(world: str) -> list[Any]:
    """Return what a launch file describes."""
    file = runpy.run_path(str(FILES / f"{world}.launch.py"))
    return file["generate_launch_description"]().given[0]


def begun(world: str, folder: Path, **said: str) -> list[Any]:
    """Return the processes that a launch file starts, without what it says before."""
    entity = entities(world)[-1]
    context = SimpleNamespace(said=chosen(world, folder, **said), is_shutdown=False)
    said_first, *processes = [each for each in entity.function(context, *entity.args)
                              if type(each).__name__ != "SetEnvironmentVariable"]
    assert str(folder) in said_first.msg
    return processes


def dies(process: Any, code: int, ending: bool = False) -> Any:
    """Return what follows when a process ends."""
    return process.on_exit(SimpleNamespace(returncode=code, process_name=f"{process.executable}-1"),
                           SimpleNamespace(is_shutdown=ending))


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("world", WORLDS)
def test_a_launch_file_describes_its_arguments(world: str) -> None:
    declared = {entity.given[0]: entity for entity in entities(world)
                if type(entity).__name__ == "DeclareLaunchArgument"}
    assert declared.keys() == ARGUMENTS[world].keys() and all(entity.description for entity in declared.values())
    assert all(entity.default_value in entity.choices for entity in declared.values() if entity.choices)
    assert Path(declared["params_file"].default_value).is_file()


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("world", WORLDS)
def test_a_distribution_stays_as_it_was_set_up(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def variables() -> list[str]:
        return [one.given[0] for one in entities(world) if type(one).__name__ == "SetEnvironmentVariable"]

    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    assert variables() == [RUN, LAUNCH]
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: object())
    assert variables() == [*environment.IMAGES, *environment.WHEELS, RUN, LAUNCH]


@pytest.mark.usefixtures("stand_ins")
def test_each_node_is_a_process_with_the_same_parameters(tmp_path: Path) -> None:
    *processes, ready = begun("robot", tmp_path, color="/front/image", enclave="/eqa", namespace="r1")
    assert [(p.executable, p.name) for p in processes] == [(n, n) for n in nodes_of("robot") if n != "recorder"]
    for process in processes:
        assert process.parameters == [str(tmp_path / "params.yaml")] and process.namespace == "r1"
        assert process.remappings == [("camera/color/image_raw", "/front/image")]
        assert process.ros_arguments == ["--enclave", f"/eqa/{process.name}"]
    assert ready.executable == "ready" and ready.ros_arguments == ["--enclave", "/eqa/eqa_client"]
    assert ready.arguments[:4] == ["--nodes", ",".join(p.name for p in processes), "--deadline", "120.0"]


@pytest.mark.usefixtures("stand_ins")
def test_where_scans_are_reaches_every_process(tmp_path: Path) -> None:
    entity = entities("sim")[-1]
    context = SimpleNamespace(said=chosen("sim", tmp_path, scenes=str(tmp_path)), is_shutdown=False)
    first = entity.function(context, *entity.args)[0]
    assert type(first).__name__ == "SetEnvironmentVariable" and first.given == ("EQA_SCENES", str(tmp_path))


@pytest.mark.usefixtures("stand_ins")
def test_composed_is_one_process_that_names_no_node(tmp_path: Path) -> None:
    """A name would be that of every node in it."""
    process, ready = begun("sim", tmp_path, composed="true")
    assert process.executable == "graph" and process.arguments == ["--nodes", ",".join(nodes_of("sim"))]
    assert not hasattr(process, "name") and not hasattr(process, "ros_arguments") and ready.executable == "ready"


@pytest.mark.usefixtures("stand_ins")
def test_what_dies_is_started_again_so_often(tmp_path: Path) -> None:
    process = begun("sim", tmp_path)[1]
    assert dies(process, -2, ending=True) is None
    for death in range(1, RESTARTS + 1):
        said, process = dies(process, -9)
        assert f"mapper ended with code -9, and is started again ({death} of {RESTARTS})" in said.msg
        assert process.executable == process.name == "mapper"
    with pytest.raises(NodeLost, match=r"mapper ended with code -9 after 3 restarts; its log is /logs/mapper-1\.log"):
        dies(process, -9)


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize(("said", "code", "complaint"), [
    ({"on_exit": "end"}, -9, "bridge ended with code -9; its log is"), ({}, 2, "code 2, a wrong setting"),
    ({"on_exit": "end", "composed": "true"}, 1, "graph ended with code 1")])
def test_what_ends_the_run_is_named(tmp_path: Path, said: dict[str, str], code: int, complaint: str) -> None:
    with pytest.raises(NodeLost, match=complaint):
        dies(begun("sim", tmp_path, **said)[0], code)


@pytest.mark.usefixtures("stand_ins")
def test_a_replay_is_not_begun_anew(tmp_path: Path) -> None:
    write_bag(walk(2), tmp_path / "bag")
    with pytest.raises(NodeLost, match="replay ended with code 1"):
        dies(begun("replay", tmp_path, source=str(tmp_path / "bag"))[0], 1)


@pytest.mark.usefixtures("stand_ins")
def test_nav2_follows_when_the_nodes_are_ready(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.touch()
    for file, expected in (("", "/share/nav2_bringup/params/nav2_params.yaml"), (str(own), str(own))):
        ready = begun("robot", tmp_path, nav2="bringup", nav2_params_file=file, use_sim_time="true", namespace="r1")[-1]
        assert ready.arguments[-1] == "--up"
        group, waiting = dies(ready, 0)
        (included,) = group.given[0]
        assert included.given[0].given == ("/share/nav2_bringup/launch/navigation_launch.py",)
        assert dict(included.launch_arguments) == {"namespace": "r1", "use_sim_time": "true", "autostart": "true",
                                                   "params_file": expected}
        assert waiting.executable == "ready" and waiting.arguments[-1] == "--robot" and dies(waiting, 0) == []
    (waiting,) = dies(begun("robot", tmp_path)[-1], 0)
    assert waiting.arguments[-1] == "--robot" and waiting.remappings == []


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("world", ["sim", "replay"])
def test_a_namespace_has_its_own_clock_and_transforms(world: str, tmp_path: Path) -> None:
    write_bag(walk(2), tmp_path / "bag")
    said = {"source": str(tmp_path / "bag")} if world == "replay" else {}
    for namespace, moved in (("r1", [("/tf", "tf"), ("/tf_static", "tf_static"), ("/clock", "clock")]), ("", [])):
        processes = begun(world, tmp_path, **said, namespace=namespace)
        assert processes and all(process.remappings == moved for process in processes)


@pytest.mark.usefixtures("stand_ins")
def test_nav2_in_a_namespace_hears_the_clock_of_its_simulation(tmp_path: Path) -> None:
    ready = begun("sim", tmp_path, navigator="nav2", nav2="bringup", scene="toy:flat", namespace="r1")[-1]
    (group,) = dies(ready, 0)
    moved, included = group.given[0]
    assert type(moved).__name__ == "SetRemap" and moved.given == ("/clock", "clock")
    assert included.given[0].given == ("/share/nav2_bringup/launch/navigation_launch.py",)


@pytest.mark.usefixtures("stand_ins")
def test_why_the_graph_is_not_ready_is_told_apart(tmp_path: Path) -> None:
    ready = begun("robot", tmp_path)[-1]
    with pytest.raises(NodeLost, match="not become ready"):
        dies(ready, NOT_READY)
    with pytest.raises(NodeLost, match="was ready, but its episode has not begun"):
        dies(ready, EPISODE_FAILED)
    for code in (INTERRUPTED, -2, -15):  # Ctrl-C, which launch may hear of after it
        assert dies(ready, code) is None


def test_every_run_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = chosen("robot", tmp_path) | {"folder": ARGUMENTS["robot"]["folder"].default or ""}
    monkeypatch.setattr("eqa_nodes.launching.plans.os.getpid", lambda: 7)
    first = planned("robot", told, FILES)
    monkeypatch.setattr("eqa_nodes.launching.plans.os.getpid", lambda: 8)  # a second launch in the same second
    second = planned("robot", told, FILES)
    assert first.folder.parent == second.folder.parent == tmp_path / "runs" / "launch"
    assert first.folder != second.folder and {*first.folder.parent.iterdir()} == {first.folder, second.folder}


@pytest.mark.usefixtures("stand_ins")
def test_who_activates_nodes_by_hand_has_time(tmp_path: Path) -> None:
    ready = begun("sim", tmp_path, autostart="false")[-1]
    assert ready.arguments[2:4] == ["--deadline", "inf"]


@pytest.mark.usefixtures("stand_ins")
def test_a_missing_package_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "kilted")
    with pytest.raises(EqaError, match="rviz2 is not installed: apt-get install ros-kilted-rviz2"):
        begun("robot", tmp_path, rviz="true")
    monkeypatch.setattr(sys.modules[ACTIONS], "get_package_share_directory", {}.__getitem__)
    with pytest.raises(EqaError, match="apt-get install ros-kilted-nav2-bringup"):
        begun("robot", tmp_path, nav2="bringup")
