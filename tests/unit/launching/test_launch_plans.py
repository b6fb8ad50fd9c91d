"""What launch files plan: nodes, parameters, what begins; and what they refuse. No launch is needed for it."""

from __future__ import annotations

import copy
import re
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from eqa_nodes.config.graph import SHARED, read_file
from eqa_nodes.config.nodes import BridgeSettings
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.ranges import date_ns
from eqa_nodes.launching.arguments import ARGUMENTS, FRAMES
from eqa_nodes.launching.plans import fitted, planned
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.wire.graph import TOPICS, nodes_of
from tests.fixtures.frames import frame
from tests.fixtures.histories import walk
from tests.fixtures.launch_plans import FILES, chosen, plan
from tests.fixtures.meshes import Glb


def test_sim_starts_the_graph_with_checked_parameters(tmp_path: Path) -> None:
    run = plan("sim", tmp_path / "run", policy="random", image="64x48", scene="toy:room", seed="5")
    assert run.nodes == nodes_of("sim") and not run.rviz and not run.nav2
    assert run.begin == ("--episode", "run", "--scene", "toy:room", "--seed", "5")
    written = read_file(tmp_path / "run" / "params.yaml")
    assert written["explorer"]["policy"] == "random" and written["memory"]["labels"] is True
    assert written[SHARED]["robot.camera.width"] == 64 and written[SHARED]["use_sim_time"] is True
    assert not plan("sim", tmp_path / "alone").begin and plan("sim", tmp_path / "alone", headless="false").rviz


def test_sim_starts_at_a_date_with_a_memory_that_knows_only_earlier_ones(tmp_path: Path) -> None:
    file, day = tmp_path / "home.sqlite", {"start": "2026-11-12T08:30", "memory_file": str(tmp_path / "home.sqlite")}
    run = plan("sim", tmp_path / "run", **day)
    assert run.parameters["bridge"]["clock_start"] == day["start"] and run.sim_time
    assert (run.parameters["memory"]["folder"], run.parameters["memory"]["file"]) == (str(tmp_path), file.name)
    with closing(MemoryStore(file)) as store:
        store.take(frame(date_ns("2026-11-12T08:31", "")), {})
    with pytest.raises(ConfigError, match="has seen 2026-11-12T08:31:00 already: start it later"):
        plan("sim", tmp_path / "again", **day)
    assert plan("sim", tmp_path / "later", **{**day, "start": "2026-11-12T08:32"}).nodes


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
    own.write_text("/**/bridge:\n  ros__parameters: {robot.base.forward_m_s: 0.8, robot.radius_m: 0.2}\n")
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
    ({"nav2": "bringup"}, "navigator:=nav2 and a scene"), ({"nav2_params_file": "absent"}, "does not exist"),
    ({"nav2": "bringup", "navigator": "nav2"}, "a scene"), ({"scenes": "absent"}, "scenes is 'absent'")])
def test_sim_starts_nothing_with_wrong_arguments(tmp_path: Path, wrong: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        plan("sim", tmp_path / "run", **wrong)
    assert not (tmp_path / "run" / "params.yaml").exists()


def test_a_scan_without_labels_is_not_launched_for_an_answerer_that_reads_them(tmp_path: Path) -> None:
    glb = Glb()
    glb.square(name="Cube")
    scene = f"mesh:{glb.write(tmp_path / 'room.glb')}"
    with pytest.raises(ConfigError, match="room.glb' has no labels.*the answerer vlm"):
        plan("sim", tmp_path / "run", scene=scene)
    assert plan("sim", tmp_path / "run", scene=scene, answerer="vlm").begin


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
    ({"composed": "true", "enclave": "/eqa"}, "one enclave"), ({"nav2_params_file": "absent"}, "does not exist")])
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


def test_every_run_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = chosen("robot", tmp_path) | {"folder": ARGUMENTS["robot"]["folder"].default or ""}
    monkeypatch.setattr("eqa_nodes.launching.plans.os.getpid", lambda: 7)
    first = planned("robot", told, FILES)
    monkeypatch.setattr("eqa_nodes.launching.plans.os.getpid", lambda: 8)  # a second launch in the same second
    second = planned("robot", told, FILES)
    assert first.folder.parent == second.folder.parent == tmp_path / "runs" / "launch"
    assert first.folder != second.folder and {*first.folder.parent.iterdir()} == {first.folder, second.folder}
