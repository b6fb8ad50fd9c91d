"""The graph, the nodes' rows, settings, parameter files and executables say the same."""

from __future__ import annotations

import ast
import configparser
import math
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from eqa_nodes.config.graph import SHARED, driven_by, merged, of_world, read_file, settings, write_file
from eqa_nodes.config.nodes import ATOMIC, NAV2, SETTINGS, MapperSettings, RecorderSettings
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.launching import PROGRAMS
from eqa_nodes.wire.graph import (
    ACTIONS,
    NAV2_SERVES,
    NODES,
    OBSERVERS,
    OPTIONAL,
    PERCEPTION,
    RECONSTRUCTOR,
    SERVICES,
    SIMULATED,
    TOPICS,
    TRANSFORMS,
    nodes_of,
)
from tests.fixtures.paths import ROOT

# the base classes', ROS's own, Nav2's, or a robot's
LATE = {"clock", "diagnostics", "episode", "started", "acknowledged", "tf_static", "cmd_vel", "stop", "battery",
        "localisation"}


def test_every_topic_that_a_node_hears_is_published_by_one() -> None:
    published = {key for spec in NODES.values() for key in spec.publishes} | LATE
    for name, spec in NODES.items():
        wanted = set(spec.subscribes + spec.frames)
        assert wanted <= published, f"{name} hears {wanted - published}, which nobody publishes"
        assert wanted | set(spec.publishes) <= TOPICS.keys()


@pytest.mark.parametrize("world", ["sim", "robot", "replay"])
def test_every_call_has_one_server_at_most(world: str) -> None:
    nodes = nodes_of(world, recording=True, optional=OPTIONAL)
    serving = [key for name in nodes for key in NODES[name].serves]
    assert len(serving) == len(set(serving)) and set(serving) <= SERVICES.keys() | ACTIONS.keys()
    ours = {*serving, *NAV2_SERVES} if world != "robot" else {*serving, *NAV2_SERVES, "act", "reset_simulator"}
    for name in nodes:
        assert set(NODES[name].calls) <= ours, name


def test_every_service_and_action_has_a_server() -> None:
    ours = {key for spec in NODES.values() for key in spec.serves}
    assert ours == (SERVICES.keys() | ACTIONS.keys()) - {*NAV2_SERVES} and not ours & {*NAV2_SERVES}
    assert {*NAV2_SERVES} <= {key for spec in NODES.values() for key in spec.calls}


def test_nothing_in_the_tables_is_unused() -> None:
    used = {key for spec in NODES.values() for key in spec.publishes + spec.subscribes + spec.frames}
    assert used | LATE | set(TRANSFORMS) >= TOPICS.keys()
    names = [wire.name for table in (TOPICS, SERVICES, ACTIONS) for wire in table.values()]
    assert len(names) == len(set(names))


def test_observers_can_be_reset() -> None:
    assert all(f"reset_{name}" in NODES[name].serves for name in OBSERVERS)


def test_robot_graph_has_no_simulator() -> None:
    assert "bridge" in nodes_of("sim") and "bridge" not in nodes_of("robot") + nodes_of("replay")


def test_on_a_robot_the_agent_begins_episodes_by_itself() -> None:
    """And calls nothing that only a simulated or replayed world serves."""
    assert {"act", "reset_simulator"} == SIMULATED
    own = merged(None, of_world("robot")).settings.agent
    assert (own.simulator, own.odometry, own.agent.answer_waiting) == (False, "topics", True)
    for world in ("sim", "replay"):
        own = merged(None, of_world(world)).settings.agent
        assert (own.simulator, own.odometry, own.agent.answer_waiting) == (True, "simulator", False)
    with pytest.raises(ConfigError, match="without a simulator its odometry is that of topics"):
        merged(None, {"agent": {"simulator": False}})
    with pytest.raises(ConfigError, match="queue is 0"):
        merged(None, {"agent": {"queue": 0}})


def test_a_replay_is_recorded_when_asked() -> None:
    assert set(nodes_of("replay", recording=True)) - set(nodes_of("replay")) == {"recorder"}
    assert set(nodes_of("sim", recording=True)) == set(nodes_of("sim"))


def test_a_detector_brings_its_node_which_is_waited_for_and_reset() -> None:
    assert set(nodes_of("sim", optional=[PERCEPTION])) - set(nodes_of("sim")) == {PERCEPTION}
    assert not merged(None).settings.detecting and merged(None) == {}
    free = {"bridge": {"observers": ()}, "perception": {"detector.name": "transformers"}}
    result = merged(None, free)
    assert result.settings.detecting and result.settings.bridge.observers == ()
    assert result.settings.agent.observers == result.settings.replay.observers == (*OBSERVERS, PERCEPTION)
    assert merged(None, result) == result


def test_a_reconstructor_that_is_enabled_is_waited_for_and_reset() -> None:
    assert set(nodes_of("sim", optional=[RECONSTRUCTOR])) - set(nodes_of("sim")) == {RECONSTRUCTOR}
    built = merged(None, {"reconstructor": {"enabled": True}, "perception": {"detector.name": "transformers"}}).settings
    assert built.agent.observers == built.bridge.observers == (*OBSERVERS, PERCEPTION, RECONSTRUCTOR)
    assert RECONSTRUCTOR not in merged(None).settings.optional_observers


def test_nav2_takes_the_place_of_our_navigator() -> None:
    assert set(nodes_of("sim")) ^ set(nodes_of("sim", navigator=NAV2)) == {"navigator", "nav2_navigator"}
    assert "navigator" in nodes_of("replay", navigator=NAV2) and "nav2_navigator" not in nodes_of("replay")
    robot = {*nodes_of("robot", optional=[PERCEPTION]), "bridge"}
    assert set(nodes_of("sim", navigator=NAV2, optional=[PERCEPTION])) == robot
    result = merged(None, driven_by(NAV2))
    assert result.settings.drives == NAV2 and result.settings.agent.odometry == "topics"
    assert merged(None, driven_by(ATOMIC)).settings.drives == ATOMIC and merged(None, result) == result
    with pytest.raises(ConfigError, match="'nav3'.*atomic, nav2"):
        driven_by("nav3")


def test_the_map_of_a_robot_that_nav2_drives_begins_where_its_scan_does() -> None:
    def heights(*given: dict[str, dict[str, Any]]) -> tuple[float, float]:
        c = merged(None, *given).settings.mapper.map
        return c.obstacle_min_m, c.tilt_error_deg

    assert heights() == (0.15, 0.0)
    assert heights(driven_by(NAV2)) == (0.05, 1.0)
    assert heights(driven_by(NAV2), {"bridge": {"scan.low_m": 0.08, "scan.tilt_error_deg": 2.0}}) == (0.08, 2.0)
    assert heights(driven_by(NAV2), {"mapper": {"map.obstacle_min_m": 0.2}}) == (0.2, 0.0)


@pytest.mark.parametrize(("wrong", "complaint"), [
    ({"memory": {"labels": True, "labels_from": "detector"}}, "no detector is chosen"),
    ({"memory": {"labels_from": "oracle"}}, "'oracle'.*detector, simulator"),
    ({"recorder": {"labels_from": "none"}}, "source labels_from 'none'")])
def test_labels_that_nobody_gives_are_refused(wrong: dict[str, dict[str, object]], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        merged(None, wrong)


def test_every_node_has_settings_module_and_executable() -> None:
    assert SETTINGS.keys() == NODES.keys()
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    shipped = set(re.findall(r"resource/nodes/(\w+)", setup["options.data_files"]["lib/eqa_nodes"]))
    assert shipped == {*NODES, *PROGRAMS}
    for spec in NODES.values():
        module, _, cls = spec.target.partition(":")
        tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
        names = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        assert {cls, "main"} <= names


def test_shipped_parameter_files_fit_the_nodes() -> None:
    files = sorted((ROOT / "launch" / "params").glob("*.yaml"))
    assert files
    for file in files:
        read_file(file)


@pytest.mark.parametrize(("body", "complaint"), [
    ({"mapper": {"ros__parameters": {"map": {"voxel": 0.1}}}}, "map.voxel.*map.voxel_m"),
    ({"maper": {"ros__parameters": {}}}, "maper.*mapper"),
    ({"mapper": {"ros__parameters": {"map.voxel_m": "small"}}}, "map.voxel_m is 'small'"),
    ({"mapper": {"ros__parameters": {"map.voxel_m": True}}}, "map.voxel_m is True"),
    ({"mapper": {"map.voxel_m": 0.1}}, "ros__parameters"),
    ({"mapper": {"ros__parameters": {"map.voxel_m": -1.0}}}, "must be above 0"),
    ({"/**": {"ros__parameters": {"robot.radius": 0.2}}}, "robot.radius.*robot.radius_m"),
    ({"/**": {"ros__parameters": {"map.voxel_m": 0.2}}}, "unknown parameter 'map.voxel_m'"),
])
def test_wrong_parameter_files_are_named_errors(tmp_path: Path, body: object, complaint: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(body))
    with pytest.raises(ConfigError, match=complaint):
        read_file(file)


def test_later_parameters_win_and_wildcards_reach_every_node(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("/**:\n  ros__parameters: {node.tf.wait_s: 1}\nmapper:\n  ros__parameters: {map.voxel_m: 0.2}\n")
    result = merged(file, {"mapper": {"map.voxel_m": 0.05}})
    assert result["mapper"]["map.voxel_m"] == 0.05
    assert result[SHARED] == {"node.tf.wait_s": 1} and result.settings.memory.node.tf.wait_s == 1.0
    write_file(file, result)
    assert read_file(file) == result


def test_a_robots_stamps_differ_a_little_and_all_nodes_mean_the_same_camera() -> None:
    assert of_world("sim") == of_world("replay") == {}
    robot = merged(None, of_world("robot"))
    for name in ("mapper", "memory", "recorder", "perception"):
        node = getattr(robot.settings, name).node
        assert node.camera.tolerance_s == 0.02 and node.tf.wait_s == 2.0
    for name in ("mapper", "memory", "recorder", "perception"):  # whichever node it is said to
        result = merged(None, {name: {"node.camera.align": True}})
        built = result.settings
        assert all(own.node.camera.align for own in (built.mapper, built.memory, built.recorder, built.perception))
    with pytest.raises(ConfigError, match=r"two values for node.tf.base_frame, base and foot: set it once, under"):
        merged(None, {"mapper": {"node.tf.base_frame": "base"}, "agent": {"node.tf.base_frame": "foot"}})


@pytest.mark.parametrize(("wrong", "complaint"), [
    ({"node.camera.lens": "fish"}, "lens 'fish'.*distorted, pinhole, rectified"),
    ({"node.camera.tolerance_s": -1.0}, "camera.tolerance_s is -1.0"),
    ({"node.second_camera.depth_unit_m": math.nan}, "camera.depth_unit_m is nan"),
    ({"node.tf.wait_s": math.inf}, "tf.wait_s is inf"),
    ({"node.tf.odom_frame": "map"}, "map, odom and base are three frames"),
    ({"relocated": "lost"}, "relocated 'lost'.*keep, new")])
def test_cameras_that_are_none_are_refused(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        settings(MapperSettings, {"mapper": wrong})


@pytest.mark.parametrize("camera", [{"node.camera.compressed": True}, {"node.camera.tolerance_s": 0.02},
                                    {"node.second_camera.present": True}])
def test_what_cannot_be_masked_is_not_recorded_with_privacy(camera: dict[str, object]) -> None:
    hidden = {"memory.privacy.image": (0.0, 0.0, 0.5, 1.0)}
    assert settings(RecorderSettings, {"recorder": hidden}).memory.privacy.active
    with pytest.raises(ConfigError, match="recorder: privacy hides parts of images"):
        settings(RecorderSettings, {"recorder": {**hidden, **camera}})


def test_nothing_is_published_where_nav2_takes_orders() -> None:
    """What Nav2's servers hear beside their actions: a message there would drive the robot past our limits."""
    orders = {"goal_pose", "initialpose", "speed_limit", "preempt_teleop", "cmd_vel", "cmd_vel_nav", "cmd_vel_teleop"}
    published = {TOPICS[key].name for spec in NODES.values() for key in spec.publishes}
    assert not published & orders
