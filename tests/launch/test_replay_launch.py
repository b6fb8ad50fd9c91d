"""launch/replay.launch.py, run by launch_ros: it begins by itself, shows every frame, answers, and all ends.

Runs as `launch_test tests/launch/test_replay_launch.py` as well.
"""

from __future__ import annotations

from tests.fixtures.needs import need_launch

need_launch()

import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, SetEnvironmentVariable
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing import post_shutdown_test
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes

from eqa_nodes.cli.replay import Watch
from eqa_nodes.core.types.questions import Question
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.environment import free_domain
from eqa_nodes.wire.graph import nodes_of
from tests.fixtures.histories import walk
from tests.fixtures.launched import WAIT_S
from tests.fixtures.paths import ROOT

LAUNCH_FILE = ROOT / "launch" / "replay.launch.py"


@pytest.mark.launch_test
@pytest.mark.timeout(1000)
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    """Return the graph of a replay in a domain and a folder of its own, which are held until the last test."""
    held = ExitStack()
    folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
    domain_id = str(held.enter_context(free_domain()))
    environment = {"ROS_DOMAIN_ID": domain_id, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    write_bag(walk(5), folder / "walk")
    arguments = {"source": str(folder / "walk"), "record": "true", "folder": str(folder / "run"),
                 "ready_s": str(WAIT_S)}
    source = PythonLaunchDescriptionSource(str(LAUNCH_FILE))
    actions = [SetEnvironmentVariable(name, value) for name, value in environment.items()]
    actions += [IncludeLaunchDescription(source, launch_arguments=arguments.items()), ReadyToTest()]
    return LaunchDescription(actions), {"environment": environment, "folder": folder, "held": held}


class TestReplay(unittest.TestCase):
    """While the graph runs."""

    def test_it_is_shown_recorded_and_asked_about(self, environment: dict[str, str], folder: Path,
                                                  proc_output: Any) -> None:
        with GraphClient(environment) as client:
            proc_output.assertWaitFor("eqa: ready", timeout=WAIT_S, stream="stdout")
            status = Watch(client.node).until_end(lambda shown: None)
            assert {v.key: v.value for v in status.values} == {"shown": "5", "frames": "5"}
            answer = client.ask(Question("Where is the mug?", may_explore=False))
            assert answer.abstained and not answer.error
            client.end_episode()
        assert [f.stamp_ns for f in open_history(folder / "run" / "bags" / "walk")] == [f.stamp_ns for f in walk(5)]


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After SIGINT to all."""

    def test_exit_codes(self, proc_info: Any, held: ExitStack) -> None:
        self.addCleanup(held.close)
        assert len(proc_info.processes()) == len(nodes_of("replay", recording=True)) + 1  # and ready
        assertExitCodes(proc_info)
