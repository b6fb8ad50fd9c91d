"""The node between the agent and Nav2 with a robot that stands, an agent's client and another client, such as RViz."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import importlib.util
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import TransformStamped
from nav2_msgs.action import NavigateToPose
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from tf2_msgs.msg import TFMessage

from eqa_nodes.core.types.floor import FREE, NavCode, NavResult
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import GO
from eqa_nodes.nodes.nav2_navigator import Nav2NavigatorNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.allowing import drive_parameters
from eqa_nodes.ros.environment import free_domain
from eqa_nodes.ros.interfaces import qos
from eqa_nodes.ros.node import executor_of
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.ros.spinning import spin

pytest.importorskip("lifecycle_msgs", reason="lifecycle_msgs is absent: pip install ros-lifecycle-msgs")
pytest.importorskip("nav2_msgs.srv", reason="nav2_msgs has no services: make setup builds them")
from eqa_nodes.testing.scripted_nav2 import ScriptedNav2
from eqa_nodes.testing.waiting import until

WAIT_S = 60.0
T = TypeVar("T")
COMMANDERS = ["wire", pytest.param("simple_commander", marks=pytest.mark.skipif(
    importlib.util.find_spec("nav2_simple_commander") is None, reason="nav2_simple_commander is not installed"))]


@contextmanager
def opened_rig(commander: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """Give a rig in a domain of its own. commander: one of COMMANDERS."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    with free_domain() as domain:
        result = Rig(domain, commander)
        yield result
        result.close()


class Rig:
    """The node under test, a robot that stands somewhere, and a client, in rclpy's default context."""

    def __init__(self, domain: int, commander: str) -> None:
        self.domain, self.commander, self.map_frame = domain, commander, "map"
        rclpy.init(domain_id=domain)
        self.at = Pose2(1.0, 2.0, 0.0)
        self._threads: list[threading.Thread] = []
        self._nodes: list[Any] = []
        self.client = Node("client")
        self._tf = self.client.create_publisher(TFMessage, "/tf", qos("event"))
        self.client.create_timer(0.05, self._stand)
        remotes = Remotes(self.client)  # before anything spins: rclpy shows an action client before it is whole
        self.drive_to_pose, self.look_around = remotes.action("drive_to_pose"), remotes.action("look_around")
        self.allow = remotes.service("allow_drive")
        self.rviz = ActionClient(self.client, NavigateToPose, "navigate_to_pose")
        executor = SingleThreadedExecutor()
        executor.add_node(self.client)
        self._spin(executor, self.client)

    def node(self, node__drive: str = GO, **parameters: Any) -> Any:
        """Start the node; quick, and without recovery unless that is asked for."""
        own = {"driving.wait.active_s": 30.0, "driving.wait.answer_s": 2.0, "driving.wait.cancel_s": 2.0,
               "driving.gates.place_s": 30.0, "driving.recovery.retries": 0, "driving.recovery.viewpoints": 0,
               "driving.recovery.afar_m": 0.0, "commander": self.commander, "node.drive": node__drive,
               "node.tf.map_frame": self.map_frame}
        own |= {f"driving.{name.replace('__', '.')}": value for name, value in parameters.items()}
        node = Nav2NavigatorNode(parameter_overrides=[Parameter(name, value=value) for name, value in own.items()])
        node.bring_up()
        self._spin(executor_of(node), node)
        return node

    def nav2(self, *script: Any, **how: Any) -> ScriptedNav2:
        """Return a Nav2 under whose goals the robot arrives. script, how: as ScriptedNav2 takes them."""
        return ScriptedNav2(self.domain, *script, **{"arrive": self._arrive} | how)

    def _arrive(self, goal: Pose2) -> None:
        self.at = goal

    def _spin(self, executor: Any, node: Any) -> None:
        self._nodes.append(node)
        self._threads.append(threading.Thread(target=spin, args=(executor,), daemon=True))
        self._threads[-1].start()

    def _stand(self) -> None:
        t = TransformStamped(header=convert.header(time.time_ns(), self.map_frame), child_frame_id="base_link")
        pose = convert.pose_msg(self.at.transform())
        t.transform.translation.x, t.transform.translation.y = pose.position.x, pose.position.y
        t.transform.rotation = pose.orientation
        self._tf.publish(TFMessage(transforms=[t]))

    def go(self, x: float = 3.0, y: float = 2.0, yaw: float = 1.0, permitted: bool = False) -> NavResult:
        def announce(goal_id: Any) -> None:
            if permitted:
                self.allow.call(WAIT_S, parameters=drive_parameters(goal_id, FREE._replace(permitted=True)))

        return self._result(self.drive_to_pose.run(
            self.drive_to_pose.Goal(pose=convert.goal_msg(Pose2(x, y, yaw), 0)), WAIT_S, announce=announce))

    def other(self, pose: Any) -> Callable[[], Any]:
        """Send Nav2 a goal as another client does; the callable waits for the response with its result."""
        def go() -> Any:
            assert self.rviz.wait_for_server(WAIT_S)
            answer = self.rviz.send_goal_async(NavigateToPose.Goal(pose=pose))
            until(answer.done)
            result = answer.result().get_result_async()
            until(result.done)
            return result.result()

        return self.begin(go)

    def turn(self) -> NavResult:
        return self._result(self.look_around.run(self.look_around.Goal(), WAIT_S))

    @staticmethod
    def begin(what: Callable[[], T]) -> Callable[[], T]:
        """Begin a drive in a thread; the callable waits for its end."""
        results: list[T] = []
        thread = threading.Thread(target=lambda: results.append(what()), daemon=True)
        thread.start()

        def end() -> T:
            thread.join(WAIT_S)
            return results[0]

        return end

    def running(self, nav2: ScriptedNav2) -> Callable[[], NavResult]:
        """Begin drives until Nav2 carries one out: what it serves is not discovered all at once."""
        ended = threading.Event()

        def drive() -> NavResult:
            try:
                return self.go()
            finally:
                ended.set()

        while True:
            ended.clear()
            end = self.begin(drive)
            until(lambda: nav2.running.is_set() or ended.is_set())
            if not ended.is_set():
                return end

    @staticmethod
    def _result(response: Any) -> NavResult:
        code = convert.NAV_CODES.get(response.result.error_code, NavCode.SUCCEEDED)
        assert (response.status == GoalStatus.STATUS_SUCCEEDED) == (code is NavCode.SUCCEEDED)
        return NavResult(code, response.result.error_msg)

    def close(self) -> None:
        for node in self._nodes[1:]:
            node.destroy_node()
        rclpy.try_shutdown()
        for thread in self._threads:
            thread.join(5.0)
        self._nodes[0].destroy_node()
