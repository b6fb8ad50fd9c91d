"""launch/robot.launch.py beside a stand-in for a robot: the simulated one that takes velocities, under other names."""

from __future__ import annotations

from tests.fixtures.needs import need_launch

need_launch()

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ament_index_python.packages import get_package_prefix
from rclpy.qos import ReliabilityPolicy

from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.types.questions import Question
from eqa_nodes.ros.client import RESET_S, GraphClient
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.wire.graph import TOPICS, nodes_of
from tests.fixtures.launched import WAIT_S, Launched, launched

NAMES = {"color": "/front/color", "depth": "/front/depth", "camera_info": "/front/info", "odom": "/wheel/odom"}
SETTINGS = {"drive": "velocities", "use_sim_time": "true", "robot.camera.width": "64", "robot.camera.height": "48"}
SCENE = "toy:room"


@contextmanager
def robot(run: Launched) -> Iterator[None]:
    """Run the stand-in in the domain of a launch file."""
    told = [option for name, value in SETTINGS.items() for option in ("-p", f"{name}:={value}")]
    moved = [option for key, name in NAMES.items() for option in ("-r", f"{TOPICS[key].name}:={name}")]
    program = Path(get_package_prefix("eqa_nodes")) / "lib" / "eqa_nodes" / "bridge"
    process = subprocess.Popen([program, "--ros-args", *told, *moved], env={**os.environ, **run.environment})
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()


class Seen:
    """Waits for a map that the camera has made."""

    def __init__(self) -> None:
        self.known = threading.Event()

    def listen(self, node: Any) -> None:
        """Subscribe with this node."""
        topic = TOPICS["map"]
        node.create_subscription(interface(topic.type), topic.name, self._on_map, qos(topic.qos))

    def _on_map(self, message: Any) -> None:
        if any(cell >= 0 for cell in message.data):
            self.known.set()


def begin(client: GraphClient) -> None:
    """Place the robot, and begin an episode as soon as the agent has heard where it is."""
    episode = interface("eqa_interfaces/msg/Episode")
    Remotes(client.node).service("reset_simulator").call(RESET_S, episode=episode(scene=SCENE, episode_id="robot"))
    end = time.monotonic() + WAIT_S
    while True:
        try:
            client.services["reset_episode"].call(RESET_S, episode=episode(episode_id="robot"))
            return
        except EqaError as error:
            if error.code != ErrorCode.STALE or time.monotonic() > end:
                raise
            time.sleep(0.2)


@pytest.mark.timeout(1500)
def test_a_robot_is_mapped_recorded_and_asked_by_its_own_names(tmp_path: Path) -> None:
    seen = Seen()
    with launched("robot", tmp_path, **NAMES, answerer="blind", record="true", use_sim_time="true") as run, robot(run):
        run.says("eqa: waiting for the robot: .*no odometry has arrived")
        with GraphClient(run.environment, seen.listen) as client:
            begin(client)
            run.says("eqa: ready")
            assert seen.known.wait(WAIT_S), f"no map came:\n{run.output}"
            ears = {one.node_name: one for one in client.node.get_subscriptions_info_by_topic(NAMES["depth"])}
            assert {"mapper", "memory", "recorder"} <= ears.keys()
            assert ears["mapper"].qos_profile.reliability == ReliabilityPolicy.RELIABLE  # as the camera
            answer = client.ask(Question("Where is the mug?", may_explore=False, force_guess=True))
            assert answer.text and not answer.error, answer.message
            client.end_episode()
        assert run.stop() == 0
        for node in nodes_of("robot"):
            run.says(rf"\[{node}-\d+\]: process has finished cleanly")
    assert list((tmp_path / "run" / "bags").glob("robot*/metadata.yaml"))
