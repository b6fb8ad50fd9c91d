"""Parameter files of earlier versions open; what was renamed names its successor."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.config.files import read_file, write_file
from eqa_nodes.config.graph import merged
from eqa_nodes.config.renamed import RENAMED
from eqa_nodes.config.shared import SHARED, graph_settings, shared_names
from eqa_nodes.core.errors import ConfigError
from tests.fixtures.logs import logged

ROBOT = """# of a robot
/**/mapper:
  ros__parameters:
    map.robot_radius_m: 0.2
    map.robot_height_m: 1.4
    map.blind_m: 1.5
    map.range_m: 5.0
"""
# what the runner wrote into the folder of a run, shortened
RUN = """/**/bridge:
  ros__parameters:
    robot.radius_m: 0.1
    robot.height_m: 1.5
    robot.move_m: 0.25
    robot.turn_deg: 15.0
    robot.camera.width: 512
    base.forward_m_s: 0.4
/**/mapper:
  ros__parameters: {map.robot_radius_m: 0.1, map.robot_height_m: 1.6, map.blind_m: 2.12, node.tf.wait_s: 2.0}
/**/navigator:
  ros__parameters: {navigator.move_m: 0.25, navigator.turn_deg: 15.0, navigator.radius_m: 0.1}
/**/explorer:
  ros__parameters: {policy: best, radius_m: 0.1, node.camera.tolerance_s: 0.02, node.call_deadline_s: 20.0}
"""


def test_a_robots_file_opens_and_one_warning_names_the_successors(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_text(ROBOT)
    with logged("eqa_nodes.config.renamed") as heard:
        result = merged(tmp_path / "robot.yaml")
    assert result == {SHARED: {"robot.radius_m": 0.2, "robot.height_m": 1.3},
                      "mapper": {"map.blind_m": 1.5, "map.range_m": 5.0}}
    (warning,) = heard.text.splitlines()
    assert "robot.yaml: " in warning and "map.robot_radius_m of mapper is now robot.radius_m of /**" in warning


def test_the_file_of_a_run_opens_and_is_written_anew_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(RUN)
    result = read_file(tmp_path / "old.yaml")
    built = graph_settings(result)
    robot = built.bridge.robot
    assert (robot.radius_m, robot.height_m, robot.turn_deg, robot.camera.width) == (0.1, 1.5, 15.0, 512)
    assert robot.base.forward_m_s == 0.4 and built.mapper.map.blind_m == 2.12
    assert built.memory.node.camera.tolerance_s == 0.02
    write_file(tmp_path / "new.yaml", result)
    with logged("eqa_nodes.config.renamed") as heard:
        assert read_file(tmp_path / "new.yaml") == result
    assert not heard.text


def test_nodes_that_were_given_different_radii_get_the_largest() -> None:
    result = merged(None, {"mapper": {"map.robot_radius_m": 0.2}, "explorer": {"radius_m": 0.3}})
    assert result[SHARED]["robot.radius_m"] == 0.3
    with pytest.raises(ConfigError, match="two values for robot.move_m, 0.2 and 0.3"):
        merged(None, {"bridge": {"robot.move_m": 0.2}, "navigator": {"navigator.move_m": 0.3}})


@pytest.mark.parametrize("name", ["node.test_delay_s", "node.test_seed", "node.test_lose_share"])
def test_what_is_gone_names_what_to_use(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} any more: .*EQA_FAULTS"):
        merged(None, {SHARED: {name: 1}})


def test_every_successor_is_a_shared_parameter() -> None:
    assert {renamed.name for renamed in RENAMED.values()} <= shared_names()


def test_a_parameter_renamed_within_a_node_is_read_by_its_new_name(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("/**/bridge:\n  ros__parameters: {taken_deadline_s: 7.0}\n")
    with logged("eqa_nodes.config.renamed") as heard:
        result = read_file(tmp_path / "old.yaml")
    assert graph_settings(result).bridge.acknowledged_deadline_s == 7.0
    assert "taken_deadline_s of bridge is now acknowledged_deadline_s" in heard.text
