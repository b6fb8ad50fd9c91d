"""`eqa doctor --robot` hears what is there: a robot's camera driver, a simulated graph, a scripted Nav2."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eqa_interfaces.msg import Episode
from eqa_interfaces.srv import Act
from nav2_msgs.action import NavigateToPose, Spin
from nav_msgs.msg import OccupancyGrid, Odometry
from rclpy.action import ActionServer
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header

from eqa_nodes.cli import main
from eqa_nodes.config.profiles import profile
from eqa_nodes.core.components import DETECTORS
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.doctor.robot import Listening, robot_findings
from eqa_nodes.nodes.bridge import BridgeNode
from eqa_nodes.ros.environment import free_domain, ros_environment
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.robot import COLOR, DEPTH, INFO, ODOM
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.paths import ROOT

REMAP = {"color": COLOR, "depth": DEPTH, "camera_info": INFO, "odom": ODOM}


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A domain that this process is in, and in which eqa_nodes/testing/robot.py publishes."""
    with free_domain() as domain, pytest.MonkeyPatch.context() as patch:
        for name, value in ros_environment(domain, tmp_path_factory.mktemp("logs")).items():
            patch.setenv(name, value)
        with subprocess.Popen([sys.executable, "-m", "eqa_nodes.testing.robot"], cwd=ROOT, text=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdin is not None
            assert process.stdout.readline() == "publishing\n"
            yield
            process.stdin.close()


def _doctor(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, dict[str, str]]]:
    code = main(["doctor", "--robot", "--json", "--seconds", "2", "--wait", "60", *words])
    return code, {line["name"]: line for line in json.loads(capsys.readouterr().out)}


def test_a_robot_is_judged_by_its_topics(robot: None, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = _doctor(capsys, "--remap", *(f"{role}:={topic}" for role, topic in REMAP.items()))
    assert code == 1  # nobody drives it
    for name in ("color", "depth", "camera_info", "odom", "intrinsics", "registered", "depth scale", "tf to depth",
                 "camera matrix", "optical frame", "time jumps", "base"):
        assert lines[name]["state"] == "ok", lines[name]
    assert f"{DEPTH} (sensor_msgs/msg/Image)" in lines["depth"]["found"]
    assert "best effort, volatile" in lines["depth"]["found"]
    assert lines["tf to depth"]["found"] == "map > base_link > camera_color_optical_frame"
    assert lines["rate of depth"]["found"].startswith("20.00 Hz")
    assert lines["floor"]["state"] == "warning"  # a wall is all it sees
    assert {name: line["state"] for name, line in lines.items() if line["state"] == "error"} == {
        "navigate_to_pose": "error", "spin": "error"}
    assert all(line["remedy"] for line in lines.values() if line["state"] != "ok")


class Cups:
    """Finds a cup in every image."""

    privileged = False

    def __init__(self, *options: Any) -> None:
        """Take any options."""

    def detect(self, *view: Any) -> list[Detection]:
        """Return the cup."""
        return [Detection("cup", 0.75, (20, 10, 60, 50))]


def test_a_detector_is_tried_on_one_live_image(robot: None, capsys: pytest.CaptureFixture[str], tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DETECTORS, "cups", Cups)
    _, lines = _doctor(capsys, "--detector", "cups", "--boxes", str(tmp_path / "seen.png"), "--remap",
                       *(f"{role}:={topic}" for role, topic in REMAP.items()))
    assert "cups found cup 0.75 in" in lines["detector"]["found"] and (tmp_path / "seen.png").stat().st_size > 100


def test_topics_under_other_names_are_found_and_the_remapping_is_told(robot: None,
                                                                      capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = _doctor(capsys, "--remap", "odom=/nowhere")
    assert lines["color"]["state"] == "warning"
    assert f"-r camera/color/image_raw:={COLOR}" in lines["color"]["remedy"]
    assert lines["odom"]["state"] == "warning" and "no publisher on /nowhere" in lines["odom"]["found"]
    assert f"topics of its type: {ODOM}" in lines["odom"]["found"]


def _listened(ros: Any, monkeypatch: pytest.MonkeyPatch, **how: Any) -> dict[str, Finding]:
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros.context.get_domain_id()))
    return {line.name: line for line in robot_findings(Listening(**{"seconds": 1.5, "wait_s": 60.0, **how}))}


def test_an_empty_domain_has_nothing_but_remedies(ros: Any, monkeypatch: pytest.MonkeyPatch,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    lines = _listened(ros, monkeypatch, namespace="/r2", seconds=0.2, wait_s=0.2, remap={"depth": "/depth"})
    domain = ros.context.get_domain_id()
    assert lines["color"].found == f"no publisher on /r2/camera/color/image_raw in ROS domain {domain}"
    assert lines["depth"].found.startswith("no publisher on /depth in")
    assert "no message was received that a recording would store" in lines["disk"].found and "driver" not in lines
    assert {name for name, line in lines.items() if line.state == "error"} >= {
        "color", "depth", "camera_info", "navigate_to_pose", "spin"}
    with pytest.raises(ConfigError, match="lidar"):
        robot_findings(Listening(remap={"lidar": "/scan"}))
    assert main(["doctor", "--robot", "--seconds", "0"]) == 2
    assert "--seconds is 0" in capsys.readouterr().err


def test_the_driver_whose_topics_are_there_is_proposed(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    topics, node = profile("realsense").topics, ros.plain_node("camera")
    for role, kind in (("color", Image), ("depth", Image), ("camera_info", CameraInfo)):
        node.create_publisher(kind, topics[role], 1)
    for name in ("/wheel/odom", "/visual/odom"):
        node.create_publisher(Odometry, name, 1)
    remap = {**topics, "camera_info": "/nowhere"}
    for _ in range(8):  # nodes of a busy machine may need long to find each other
        lines = _listened(ros, monkeypatch, wait_s=1.0, seconds=0.2, remap=remap)
        if "driver" in lines and "wheel" in lines["odom"].found and "visual" in lines["odom"].found:
            break
    assert lines["driver"].found == "the topics are those of realsense or go2"
    assert "--driver realsense here, and driver:=realsense with robot.launch.py" in lines["driver"].remedy
    assert lines["camera_info"].found.startswith("no publisher on /nowhere")
    assert f"; topics of its type: {topics['camera_info']}" in lines["camera_info"].found
    assert f"name it: --remap camera_info={topics['camera_info']}" in lines["camera_info"].remedy
    assert "driver" not in _listened(ros, monkeypatch, wait_s=1.0, seconds=0.2, remap=topics)


class Nav2:
    """Action servers, managed nodes, a costmap and a map, as far as they can be seen."""

    def __init__(self, ros: Any, states: dict[str, str], map_cells: int = 4) -> None:
        node = ros.plain("nav2")
        self._served = [ActionServer(node, kind, name, lambda handle: handle) for kind, name in (
            (NavigateToPose, "navigate_to_pose"), (Spin, "spin"))]
        for name, state in states.items():
            node.create_service(interface("lifecycle_msgs/srv/GetState"), f"/{name}/get_state",
                                lambda request, response, state=state: self._say(response, state))
        node.create_publisher(OccupancyGrid, "/global_costmap/costmap", qos("latched"))
        grid = OccupancyGrid(data=[0] * map_cells)
        grid.info.width, grid.info.height, grid.info.resolution = map_cells, 1, 0.05
        node.create_publisher(OccupancyGrid, "/map", qos("latched")).publish(grid)

    @staticmethod
    def _say(response: Any, state: str) -> Any:
        response.current_state.label = state
        return response


def test_nav2_is_asked_for_its_servers_states_costmaps_and_map(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lifecycle_msgs", reason="lifecycle_msgs is absent: pip install ros-lifecycle-msgs")
    Nav2(ros, {"bt_navigator": "active", "planner_server": "inactive"})
    for _ in range(8):  # nodes of a busy machine may need long to find each other
        lines = _listened(ros, monkeypatch, wait_s=1.0, seconds=1.0)
        if lines["navigate_to_pose"].state == "ok" and "lifecycle" in lines and lines["map"].state == "ok":
            break
    assert lines["navigate_to_pose"].state == lines["spin"].state == "ok"
    assert lines["lifecycle"] == Finding("lifecycle", "error", "/planner_server inactive", lines["lifecycle"].remedy)
    assert lines["costmap"].state == "error" and "/local_costmap/costmap" in lines["costmap"].found
    assert lines["map"].state == "ok" and "4x1 cells of 0.05 m, 100% known" in lines["map"].found


class Simulated:
    """A bridge in the toy house, with an observer that acknowledges, and a thread that turns the robot."""

    def __init__(self, ros: Any, driven: bool) -> None:
        ros.add(BridgeNode, observers=["watcher"], acknowledged_deadline_s=60.0, robot__camera__width=96,
                robot__camera__height=72, robot__camera__tilt_down_deg=20.0)
        node = ros.plain("watcher")
        taken = node.create_publisher(Header, TOPICS["acknowledged"].name, qos("event"))
        node.create_subscription(Image, TOPICS["depth"].name, lambda image: taken.publish(
            Header(stamp=image.header.stamp, frame_id="watcher")), qos("frame"))
        remotes = Remotes(node)
        self._act, reset = remotes.service("act"), remotes.service("reset_simulator")
        assert not reset.exchange(60.0, episode=Episode(scene="toy:room", episode_id="e")).error_code
        for _ in range(8):  # whose odometry is latched: it is not taken for late
            self._act.exchange(60.0, action=Act.Request.TURN_LEFT)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._turn, daemon=True)
        if driven:
            self._thread.start()

    def _turn(self) -> None:
        while not self._end.wait(0.05):
            self._act.exchange(60.0, action=Act.Request.TURN_LEFT)

    def end(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(60.0)


@pytest.mark.parametrize("driven", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_a_simulator_in_lock_step_is_judged(ros: Any, monkeypatch: pytest.MonkeyPatch, driven: bool) -> None:
    simulated = Simulated(ros, driven)
    try:
        lines = _listened(ros, monkeypatch)
    finally:
        simulated.end()
    assert lines["floor"].state == "ok", lines["floor"]
    assert "TF says the camera is 1.20 m up and 20.0 deg down, the floor says 1.2" in lines["floor"].found
    links = "map > odom > base_link > camera_mount > camera_link > camera_color_optical_frame"
    assert lines["tf to depth"].found == links
    assert lines["tf to depth"].state == lines["time jumps"].state == lines["time sync"].state == "ok", lines
    assert "by /clock" in lines["time sync"].found
    assert {name for name, line in lines.items() if line.state == "error"} == {"navigate_to_pose", "spin"}


def test_a_simulator_without_an_episode_says_so(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ros.add(BridgeNode, observers=["watcher"])
    lines = _listened(ros, monkeypatch)
    assert lines["depth"].state == "error" and "has no episode" in lines["depth"].found
