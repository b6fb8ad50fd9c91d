"""launch/sim.launch.py, run by launch_ros: parameters arrive, questions are answered, what dies comes back, all ends.

Runs as `launch_test tests/launch/test_sim_launch.py` as well. Where there is no launch,
tests/unit/launching/test_launch_files.py reads the launch files.
"""

from __future__ import annotations

from tests.fixtures.needs import need_launch

need_launch()

import os
import signal
import tempfile
import unittest
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, SetEnvironmentVariable
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing import post_shutdown_test
from launch_testing.actions import ReadyToTest
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.environment import free_domain
from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.testing.waiting import until
from eqa_nodes.wire.graph import TOPICS, nodes_of
from tests.fixtures.launched import WAIT_S
from tests.fixtures.paths import ROOT

LAUNCH_FILE = ROOT / "launch" / "sim.launch.py"
OWN_PARAMETERS = "/**/bridge:\n  ros__parameters:\n    real_time_factor: 0.9\n"
ARGUMENTS = {"policy": "frontier", "answerer": "label", "image": "160x120"}
PLANT = Sample("plant", "Where is the plant?", "", scene="toy:flat", seed=3)
LIMITS = Limits(steps=60)


@pytest.mark.launch_test
@pytest.mark.timeout(1500)
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    """Return the graph in a domain and a folder of its own, which are held until the last test."""
    held = ExitStack()
    folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
    domain_id = str(held.enter_context(free_domain()))
    environment = {"ROS_DOMAIN_ID": domain_id, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    (folder / "own.yaml").write_text(OWN_PARAMETERS)
    arguments = {**ARGUMENTS, "folder": str(folder / "run"), "scene": "toy:room",
                 "params_file": str(folder / "own.yaml"), "ready_s": str(WAIT_S)}
    source = PythonLaunchDescriptionSource(str(LAUNCH_FILE))
    actions = [SetEnvironmentVariable(name, value) for name, value in environment.items()]
    actions += [IncludeLaunchDescription(source, launch_arguments=arguments.items()), ReadyToTest()]
    return LaunchDescription(actions), {"environment": environment, "folder": folder, "held": held}


def await_episode(proc_output: Any) -> None:
    """Wait until the launch file has begun its episode: before that some node may not be up."""
    proc_output.assertWaitFor("eqa: episode run has begun", timeout=WAIT_S, stream="stdout")


def pids(proc_info: Any, node: str) -> list[int]:
    """Return the process ids that a node has had."""
    details = [process.process_details for process in proc_info.processes()]
    return [one["pid"] for one in details if one["name"].startswith(f"{node}-")]


def parameter(client: GraphClient, node: str, name: str) -> Any:
    parameters = AsyncParameterClient(client.node, node)
    assert parameters.wait_for_services(WAIT_S), f"{node} serves no parameters"
    future = parameters.get_parameters([name])
    until(future.done, f"{node} tells {name}", WAIT_S)
    return parameter_value_to_python(future.result().values[0])


def births(client: GraphClient, node: str) -> set[bytes]:
    """Return an id of each process that speaks as this node; one that was killed is remembered for seconds."""
    speakers = client.node.get_publishers_info_by_topic(TOPICS["diagnostics"].name)
    return {bytes(speaker.endpoint_gid) for speaker in speakers if speaker.node_name == node}


class TestGraph(unittest.TestCase):
    """While the graph runs."""

    def test_parameters_arrive(self, environment: dict[str, str], proc_output: Any) -> None:
        await_episode(proc_output)
        with GraphClient(environment) as client:
            assert parameter(client, "bridge", "real_time_factor") == 0.9  # from the file
            assert parameter(client, "bridge", "robot.camera.width") == 160  # from an argument
            assert parameter(client, "memory", "labels") is True  # follows from another argument
            assert parameter(client, "navigator", "robot.move_m") == parameter(client, "bridge", "robot.move_m")

    def test_a_question_is_answered_as_without_ros(self, environment: dict[str, str], folder: Path,
                                                   proc_output: Any) -> None:
        await_episode(proc_output)
        own = RunConfig(**ARGUMENTS, folder=folder / "without_ros").parameters
        with closing(InProcessRunner(own, LIMITS)) as runner:
            expected = runner.run(PLANT).answer
        with GraphClient(environment) as client:
            client.reset(PLANT.scene, PLANT.id, PLANT.start, PLANT.seed)
            answer = client.ask(PLANT.as_question(LIMITS))
        assert answer.text and not answer.abstained
        assert (answer.text, answer.confidence, answer.receipt.steps, len(answer.evidence)) == (
            expected.text, expected.confidence, expected.receipt.steps, len(expected.evidence))

    def test_a_killed_node_comes_back(self, environment: dict[str, str], proc_info: Any, proc_output: Any) -> None:
        await_episode(proc_output)
        with GraphClient(environment) as client:
            (killed,), before = pids(proc_info, "mapper"), births(client, "mapper")
            os.kill(killed, signal.SIGKILL)
            until(lambda: len(pids(proc_info, "mapper")) == 2, "the mapper is started again", WAIT_S)
            until(lambda: births(client, "mapper") - before, "the new mapper is up", WAIT_S)
            client.reset(PLANT.scene, "again", PLANT.start, PLANT.seed)
            assert client.ask(PLANT.as_question(LIMITS)).text


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After SIGINT to all."""

    def test_exit_codes(self, proc_info: Any, held: ExitStack) -> None:
        self.addCleanup(held.close)
        codes = {process.process_details["name"].rpartition("-")[0]: proc_info[process].returncode
                 for process in proc_info.processes()}  # the later of two mappers
        assert codes == dict.fromkeys((*nodes_of("sim"), "ready"), 0)
