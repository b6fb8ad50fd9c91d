"""nav2:=bringup includes the launch file of nav2_bringup when the nodes are ready; here of one that only speaks."""

from __future__ import annotations

from tests.fixtures.needs import need_launch

need_launch()

import os
from pathlib import Path

import pytest

from tests.fixtures.launched import launched

BRINGUP = '''
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo
from launch.substitutions import LaunchConfiguration

NAMES = ("namespace", "use_sim_time", "params_file", "autostart")

def generate_launch_description():
    said = [part for name in NAMES for part in (f" {name}=", LaunchConfiguration(name))]
    return LaunchDescription([*map(DeclareLaunchArgument, NAMES), LogInfo(msg=["Nav2:", *said])])
'''


@pytest.mark.timeout(1000)
def test_it_follows_the_nodes_with_its_own_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "share" / "nav2_bringup"
    marker = tmp_path / "share" / "ament_index" / "resource_index" / "packages" / "nav2_bringup"
    for folder in (package / "launch", marker.parent):
        folder.mkdir(parents=True)
    (package / "launch" / "navigation_launch.py").write_text(BRINGUP)
    marker.touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join([str(tmp_path), os.environ.get("AMENT_PREFIX_PATH", "")]))
    with launched("robot", tmp_path, answerer="blind", composed="true", nav2="bringup", namespace="r1") as run:
        said = run.says("Nav2:")
        assert said.endswith(f"Nav2: namespace=r1 use_sim_time=false params_file={package}/params/nav2_params.yaml "
                             "autostart=true")
        lines = [line for line in run.lines if "eqa: all nodes work" in line or "Nav2:" in line]
        assert "eqa: all nodes work" in lines[0]
        assert run.stop() == 0
