"""Robots as their drivers are (eqa_nodes/testing/known_drivers.py): doctor, graph, recorder and console cope with each.

What the drivers publish and what the graph is told of them (eqa_nodes/config/profiles.py) are stated independently,
so a mistake in either makes one of these fail.
"""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import base64
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rclpy.executors import SingleThreadedExecutor

from eqa_nodes.cli.doctor import node_of
from eqa_nodes.config.profiles import PROFILES, profile
from eqa_nodes.console.robot import RosRobot
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.camera.config import TfConfig
from eqa_nodes.core.errors import ErrorCode, NodeLost
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.doctor.robot import Listening, robot_findings
from eqa_nodes.launching.arguments import ARGUMENTS
from eqa_nodes.launching.plans import LaunchPlan, planned
from eqa_nodes.recordings.bags.history import BagHistory, BagOptions
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.environment import ros_environment
from eqa_nodes.testing.drivers import Driver, Link, Offer, mount
from eqa_nodes.testing.imitation import Imitation, qos
from eqa_nodes.testing.known_drivers import DRIVERS, driver
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion
from eqa_nodes.testing.waiting import until
from sim_bridge.house.world import HouseWorld
from tests.fixtures.houses import two_rooms
from tests.fixtures.paths import ROOT

pytestmark = pytest.mark.timeout(600)
START = Pose2(1.6, 1.6, 0.1)  # looks across the room
START_S = 240.0  # for a graph to come up beside other work
SCALE, SLOWER = 0.15, 3  # of the images and of their rate: two cores render and receive them
FLOOR = {"spot": Link("spot/body", "base_floor", (0.0, 0.0, -0.52)),  # as docs/robot.md has it
         "go2": Link("base_link", "base_floor", (0.0, 0.0, -0.37))}
DRIVEN = {"navigate_to_pose", "spin", "map"}  # nobody drives these robots
# What a busy machine may lose or delay.
SHARE = {"drops of color", "drops of depth", "counts of images", "lost on the way", "sync", "transforms", "disk"}
WRONG = {"go2": {"tf of odom"}}  # the fixed joint of its description
LENS = {"azure_kinect": {"floor"}}  # the doctor does not take its lens out of depth: some 4 % of the height
MODEL_SAYS = {"answer": "a sofa", "confidence": 0.9, "images": [1], "abstain": False}


@cache
def house() -> HouseWorld:
    found = HouseWorld(two_rooms())
    found.image(CameraModel(width=32, height=24), np.eye(4))  # kernels and light, which take seconds
    return found


@contextmanager
def imitated(ros: Any, name: str) -> Iterator[Imitation]:
    """A robot that publishes as a driver does, in a thread."""
    robot = Imitation(ros.plain_node("robot"), without_gap(driver(name)), house(), START, scale=SCALE,
                      slower=SLOWER, more=[FLOOR[name]] if name in FLOOR else [])
    ended, executor = threading.Event(), SingleThreadedExecutor(context=ros.context)
    executor.add_node(robot.node)

    def work() -> None:
        while not ended.is_set():
            executor.spin_once(timeout_sec=min(0.02, robot.step()))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    robot.moving = False  # it looks across the room, at its floor
    try:
        yield robot
    finally:
        ended.set()
        thread.join(30.0)


def without_gap(robot: Driver) -> Driver:
    """Return a driver that opens its device once: when it does so again is tested apart."""
    return replace(robot, gap=(float("inf"), 0.0))


def doctor(name: str) -> dict[str, Finding]:
    known, node = profile(name), node_of(None, name)
    options = BagOptions(dict(known.topics), map_frame=node.tf.map_frame, base_frame=node.tf.base_frame)
    how = Listening("", known.topics, 1.0, 60.0, options, node.camera)
    return {line.name: line for line in robot_findings(how)}


def launched(folder: Path, name: str, url: str) -> LaunchPlan:
    """Return what robot.launch.py driver:=NAME starts."""
    chosen = {key: argument.default or "" for key, argument in ARGUMENTS["robot"].items()}
    return planned("robot", {**chosen, "driver": name, "nav2": "none", "folder": str(folder), "record": "true",
                             "params_file": str(ROOT / "launch" / "params" / "robot.yaml"), "model": "scripted",
                             "model_url": url}, ROOT / "launch")


@contextmanager
def graph(plan: LaunchPlan, environment: dict[str, str]) -> Iterator[None]:
    """The nodes of a plan, as composed:=true starts them."""
    rules = [word for pair in plan.remappings for word in ("-r", ":=".join(pair))]
    process = subprocess.Popen([sys.executable, "-m", "eqa_nodes.launching.graph", "--nodes", ",".join(plan.nodes),
                                "--ros-args", "--params-file", str(plan.folder / "params.yaml"), *rules],
                               cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=120)
        (plan.folder / "graph.log").write_text(said)


def model(request: dict[str, Any]) -> ServerReply:
    return completion(json.dumps(MODEL_SAYS))


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in ("azure_kinect", "go2", "spot") else
                                               pytest.mark.thorough) for name in sorted(DRIVERS)])
def test_a_robot_is_judged_and_shown(ros: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = str(ros.context.get_domain_id())
    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    known = profile(name)
    with imitated(ros, name) as robot:
        until(lambda: robot.images > 2, "the first images")
        lines = doctor(name)
        bad, odd = ({line.name for line in lines.values() if line.state == state} for state in ("error", "warning"))
        assert bad - DRIVEN == WRONG.get(name, set()), "\n".join(map(str, (lines[each] for each in bad)))
        assert odd - DRIVEN <= SHARE | LENS.get(name, set()), lines
        base = known.frames.get("base_frame", "base_link")
        with closing(RosRobot({"ROS_DOMAIN_ID": domain}, lambda: None, remap=known.topics,
                              names=TfConfig(base_frame=base))) as page:
            picture = Image.open(io.BytesIO(until(lambda: shown(page), "a picture on the console")))
            assert picture.size == robot.streams[colour_of(robot, name)].size
            until(lambda: page.live.trace().poses, "a place of the robot")


def shown(page: RosRobot) -> bytes:
    with suppress(RequestRefused, NodeLost):
        return page.camera()
    return b""


def colour_of(robot: Imitation, name: str) -> int:
    return [stream.topic for stream in robot.streams].index(profile(name).topics["color"])


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name == "stretch" else pytest.mark.thorough)
                                  for name in sorted(DRIVERS)])
def test_a_robot_is_asked_and_recorded(ros: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")
    domain = str(ros.context.get_domain_id())
    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    monkeypatch.setenv("EQA_VLM_API_KEY", "none")
    environment = {**os.environ, **ros_environment(int(domain), tmp_path / "logs"), "PYTHONPATH": str(ROOT)}
    with imitated(ros, name) as robot, VlmServer(model) as server:
        plan = launched(tmp_path / "run", name, server.url)
        with graph(plan, environment), GraphClient({"ROS_DOMAIN_ID": domain}) as client:
            until(lambda: robot.sent > 3, "images for the graph", START_S)
            answer = until(lambda: asked(client), "an answer", START_S)
            assert answer.error is ErrorCode.NONE and answer.text == "a sofa" and answer.evidence, answer
        upright(name, pictures(server.requests)[-1])
    bag = next((tmp_path / "run").rglob("*.mcap")).parent
    frames = list(BagHistory(bag, options=BagOptions(base_frame="base_floor" if name in FLOOR else "")))
    stream = robot.streams[colour_of(robot, name)]
    upright(name, frames[0].rgb)
    assert {*frames[0].rgb.shape[:2]} == {*stream.size}
    height_m = mount(robot.driver, stream.frame).xyz[2] - (FLOOR[name].xyz[2] if name in FLOOR else 0.0)
    assert frames[0].base_from_camera.xyz[2] == pytest.approx(height_m, abs=1e-3)


def asked(client: GraphClient) -> Any:
    with suppress(NodeLost):  # it has not come up yet
        answer = client.ask(Question("What do you see?", may_explore=False))
        return None if answer.error is ErrorCode.STALE else answer
    return None


def pictures(requests: list[dict[str, Any]]) -> list[np.ndarray]:
    """Return the pictures that a model was shown."""
    parts = [part for request in requests for message in request["messages"] if isinstance(message["content"], list)
             for part in message["content"] if part["type"] == "image_url"]
    data = [base64.b64decode(part["image_url"]["url"].partition(",")[2]) for part in parts]
    return [np.asarray(Image.open(io.BytesIO(one)).convert("RGB")) for one in data]


def upright(name: str, picture: np.ndarray) -> None:
    """Assert that a picture of a camera on its side is higher than wide."""
    height, width = picture.shape[:2]
    assert (height > width) == (name in ("stretch", "spot")), picture.shape


def test_a_device_that_is_opened_anew_loses_the_images_that_were_on_their_way(ros: Any) -> None:
    now_ns, late = [0], replace(driver("realsense"), begin_s=0.0, gap=(1.0, 0.5))
    late = replace(late, streams=tuple(replace(stream, sent_s=0.2, lazy=False) for stream in late.streams))
    robot = Imitation(ros.plain_node("robot"), late, house(), START, scale=0.05, now_ns=lambda: now_ns[0])
    topic, there = late.streams[0].topic, []
    for tick in range(36):
        now_ns[0] = tick * 50_000_000
        robot.step()
        there.append(robot.node.count_publishers(topic) > 0)
    assert there == [True] * 20 + [False] * 10 + [True] * 6  # it publishes on, at 30 Hz, when it is back


def test_the_middleware_offers_what_the_profiles_of_drivers_say(ros: Any) -> None:
    node = ros.plain_node("robot")
    from sensor_msgs.msg import Image as Message

    for number, offer in enumerate((Offer(), Offer("system_default", "system_default", 0),
                                    Offer("best_effort", "volatile", 5), Offer(durability="transient_local"))):
        node.create_publisher(Message, f"/image{number}", qos(offer))
    offered = [node.get_publishers_info_by_topic(f"/image{number}")[0].qos_profile for number in range(4)]
    assert [o.reliability.name for o in offered] == ["RELIABLE", "RELIABLE", "BEST_EFFORT", "RELIABLE"]
    assert [o.durability.name for o in offered] == ["VOLATILE", "TRANSIENT_LOCAL", "VOLATILE", "TRANSIENT_LOCAL"]


def test_each_driver_has_a_profile_and_says_its_sources() -> None:
    assert set(DRIVERS) == set(PROFILES)
    for name in sorted(DRIVERS):
        assert any("commit" in source for source in driver(name).source), name
        for stream in driver(name).streams:
            assert np.isfinite(mount(driver(name), stream.frame).matrix()).all()
