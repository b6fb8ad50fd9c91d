"""`ready` waits for the nodes of its own run and for the robot, and says what is missing; a name has one node."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from nav_msgs.msg import Odometry

from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.launching.ready import Needs, Roll, await_robot
from eqa_nodes.nodes.agent import AgentNode
from eqa_nodes.nodes.explorer import ExplorerNode
from eqa_nodes.nodes.mapper import MapperNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.environment import ros_environment
from eqa_nodes.ros.run import LAUNCH, RUN, HeldName
from eqa_nodes.testing.waiting import gone, holds, until
from tests.fixtures.camera_robot import CameraRobot, Feed
from tests.fixtures.house_views import PATH
from tests.fixtures.paths import ROOT

NO_ODOM = "no odometry has arrived on odom"


def test_ready_says_what_the_robot_lacks_until_an_episode_has_begun(ros: Any,
                                                                    capsys: pytest.CaptureFixture[str]) -> None:
    needs, tolerance = Needs(["agent", "mapper"]), {"node__camera__tolerance_s": 0.02}
    needs.listen(ros.plain("listener"))
    ros.add(MapperNode, **tolerance)
    ros.add(AgentNode, odometry="topics", simulator=False, observers=["mapper"], **tolerance)
    waiting = threading.Thread(target=await_robot, args=(needs,), daemon=True)
    waiting.start()
    assert holds(lambda: NO_ODOM in needs.waits and "no transform from map to base_link" in needs.waits)
    assert "no message on /camera/color/camera_info (mapper), /camera/depth/image_raw (mapper)" in needs.waits
    node, moment = ros.plain("robot"), iter(range(10**6))
    robot = CameraRobot(node, Feed(camera=CameraConfig(tolerance_s=0.02)))
    out = node.create_publisher(Odometry, "odom", 10)

    def drive(camera: bool) -> None:
        number = next(moment) % len(PATH)
        out.publish(Odometry(header=convert.header(robot.stamp(number), convert.ODOM)))
        (robot.show if camera else robot.place)(number)

    assert holds(lambda: drive(camera=False) or NO_ODOM not in needs.waits)
    assert waiting.is_alive() and "/camera/depth/image_raw (mapper)" in needs.waits
    assert holds(lambda: drive(camera=True) or not needs.waits), needs.waits
    waiting.join(60.0)
    assert not waiting.is_alive()
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("eqa: waiting for the robot: ") and any(NO_ODOM in line for line in said)


def test_ready_counts_the_nodes_of_its_own_run_alone(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = ros.plain("listener")
    ros.add(MapperNode)  # of another run
    roll = Roll(["mapper", "explorer"])
    roll.listen(listener)
    until(lambda: roll.missing() == ["explorer"], "word of the mapper")
    monkeypatch.setenv(RUN, "ours")
    assert roll.missing() == ["mapper", "explorer"]
    ros.add(ExplorerNode)
    until(lambda: roll.missing() == ["mapper"], "word of the explorer")
    alone = Roll(["explorer"])
    alone.listen(listener)
    until(lambda: not alone.missing())
    ros.plain("explorer")  # as of a graph on another machine
    assert holds(alone.missing) == ["/explorer alone, of 2 nodes of this name (end the other graph)"]


def test_a_second_node_of_a_name_is_refused_with_who_holds_it(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ros.add(MapperNode)
    domain = ros.context.get_domain_id()
    with pytest.raises(ConfigError, match=rf"/mapper runs in ROS domain {domain} .*\(kill {os.getpid()}\)"):
        MapperNode(context=ros.context)
    HeldName("/r2/mapper", domain).close()  # a namespace is another name
    ros.close_node("mapper")
    ros.add(MapperNode)


def test_an_interrupt_while_modules_load_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    environment = {**os.environ, **ros_environment(0, tmp_path), "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run([ROOT / "resource" / "nodes" / "mapper"], env=environment, capture_output=True, text=True,
                          timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


CHILD = "import signal; from eqa_nodes.ros.run import end_with_launch; end_with_launch(); print('up', flush=True)\n" \
        "signal.pause()"


def test_nodes_end_with_the_launch_that_started_them(tmp_path: Path) -> None:
    parent = f"import os, subprocess, sys; os.environ[{LAUNCH!r}] = str(os.getpid())\n" \
             f"child = subprocess.Popen([sys.executable, '-c', {CHILD!r}], stdout=subprocess.PIPE)\n" \
             "child.stdout.readline(); print(child.pid, flush=True); child.wait()"
    with subprocess.Popen([sys.executable, "-c", parent], env={**os.environ, "PYTHONPATH": str(ROOT)},
                          stdout=subprocess.PIPE, text=True) as launch:
        assert launch.stdout is not None
        child = int(launch.stdout.readline())
        launch.send_signal(signal.SIGKILL)
    until(lambda: gone(child), "the orphan's end")


CLIENT = "import os; from eqa_nodes.ros.client import GraphClient\n" \
         "with GraphClient(os.environ):\n    input()\nos._exit(0)"
LEASE_S = 20.0  # of Fast DDS: who leaves without a word is listed so long


def test_a_client_that_closed_is_not_listed_any_more_though_its_program_ends_without_a_clean_up(ros: Any) -> None:
    listener, domain = ros.plain("listener"), str(ros.context.get_domain_id())
    with subprocess.Popen([sys.executable, "-c", CLIENT], stdin=subprocess.PIPE,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "ROS_DOMAIN_ID": domain}) as program:
        until(lambda: "eqa_client" in listener.get_node_names(), "the client")
        program.communicate(b"\n", timeout=60.0)
        assert program.returncode == 0
    until(lambda: "eqa_client" not in listener.get_node_names(), "the client's end", LEASE_S / 2)
