"""A simulator on ROS topics. It advances only by atomic actions; each waits until every observer has taken in its view.

That wait is all of lock-step: when `act` returns, nothing in the graph is older than the observation it returned.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Header

from eqa_nodes import messages
from eqa_nodes.core.errors import NodeLost, SimulatorError
from eqa_nodes.core.geometry import Transform, pose2_of
from eqa_nodes.core.types import Action, Label
from eqa_nodes.graph import TOPICS
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.node import EqaNode, run_node, spin
from sim_bridge.registry import SimulatorPool
from sim_bridge.simulator import Episode, Simulator, Step


class BridgeNode(EqaNode):
    """Serves reset_episode and act; publishes color, depth, labels, camera_info, odom, tf and clock."""

    _simulator: Simulator  # there from the first reset on

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("bridge", **kwargs)
        self._pool = SimulatorPool()
        self._step: Step | None = None
        self._max_steps = 0
        self._offset_ns = 0
        self._told: Mapping[int, Label] = {}  # the table of labels that was published last
        self._one_at_a_time = threading.Lock()
        self._taken: dict[str, int] = {}
        self._heard = threading.Condition()
        for key in self.spec.publishes:
            self.out(key)
        self._ear = self._listen()
        self.serve("reset_simulator", self._reset)
        self.serve("act", self._act)

    def _listen(self) -> Any:
        """Hear acknowledgements in a node and thread of their own while `act` waits for them.

        A multi-threaded executor would do, but it spins while a callback waits: 35 ms of CPU a step.
        """
        ear = Node(f"{self.get_name()}_ear", context=self.context, enable_rosout=False, start_parameter_services=False)
        ear.create_subscription(Header, TOPICS["taken"].name, self._on_taken, qos(TOPICS["taken"].qos))
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(ear)
        threading.Thread(target=spin, args=(executor,), daemon=True).start()
        return ear

    def _on_taken(self, header: Any) -> None:
        with self._heard:
            self._taken[header.frame_id] = messages.ns_of(header.stamp)
            self._heard.notify_all()

    def _reset(self, request: Any, response: Any) -> Any:
        """Place the robot; nothing is published before the first OBSERVE, so that observers can be told first."""
        with self._one_at_a_time:
            asked = request.episode
            self._simulator = self._pool.get(asked.scene)
            start = pose2_of(messages.pose_of(asked.start)) if asked.use_start else None
            first = self._simulator.reset(Episode(asked.scene, asked.episode_id, start, asked.seed, self.config.robot))
            # Each simulator has its own clock; on the wire time goes on, also when the next scene is another
            # simulator's, and when this node was started again (the request says what others have seen).
            newest = max(messages.ns_of(asked.header.stamp), self._step.frame.stamp_ns if self._step is not None else 0)
            self._offset_ns = max(0, newest + 1 - first.frame.stamp_ns)
            self._step = self._stamped(first)
            self._max_steps = asked.max_steps
            asked.header = convert.header(self._step.frame.stamp_ns)
            asked.map_name = asked.map_name or asked.scene  # poses of one scene are all in its own frame
        response.episode = asked
        return response

    def _act(self, request: Any, response: Any) -> Any:
        if request.action == request.STATUS:
            return self._fill(response, self._current())
        with self._one_at_a_time:
            step = self._current()
            if request.action != request.OBSERVE:
                step = self._advance(Action(request.action), step)
            self._publish(step, again=request.action == request.OBSERVE)
            self._await_observers(step)
        return self._fill(response, step)

    def _advance(self, action: Action, step: Step) -> Step:
        if self._max_steps and step.steps >= self._max_steps:
            raise SimulatorError(f"the episode is over after {self._max_steps} steps")
        self._step = self._stamped(self._simulator.act(action))
        return self._step

    def _stamped(self, step: Step) -> Step:
        return replace(step, frame=replace(step.frame, stamp_ns=step.frame.stamp_ns + self._offset_ns))

    def _current(self) -> Step:
        if self._step is None:
            raise SimulatorError("no episode has begun: call reset_episode first")
        return self._step

    def _await_observers(self, step: Step) -> None:
        """Return when all observers have taken in the observation. Raises NodeLost naming those that have not."""
        stamp = step.frame.stamp_ns
        end = time.monotonic() + self.config.taken_deadline_s
        with self._heard:
            while not self._heard.wait_for(lambda: not self._behind(stamp), self.config.repeat_s):
                if time.monotonic() > end:
                    raise NodeLost(f"{', '.join(self._behind(stamp))} did not take in the observation at "
                                   f"{stamp / 1e9:.3f} s within {self.config.taken_deadline_s:g} s")
                self.count("observation published again")
                self._publish(step, again=True)

    def _behind(self, stamp_ns: int) -> list[str]:
        return [name for name in self.config.observers if self._taken.get(name, -1) < stamp_ns]

    def _publish(self, step: Step, again: bool) -> None:
        """Show an observation; the table of labels only when it has changed, or when somebody may not have it."""
        frame, stamp = step.frame, step.frame.stamp_ns
        self.send("clock", Clock(clock=convert.time_of(stamp)))
        self.send("tf", interface("tf2_msgs/msg/TFMessage")(transforms=[
            convert.transform_msg(convert.MAP, convert.ODOM, stamp, Transform.identity()),
            convert.transform_msg(convert.ODOM, convert.BASE, stamp, frame.map_from_base),
            convert.transform_msg(convert.BASE, convert.CAMERA, stamp, frame.base_from_camera)]))
        self.send("odom", self._odometry(step))
        self.send("camera_info", convert.camera_info_msg(frame.intrinsics, stamp))
        if frame.labels is not None:
            labels = self._simulator.labels()
            if again or labels != self._told:
                self._told = labels
                self.send("label_table", convert.label_table_msg(labels, stamp))
            self.send("labels", convert.image_msg(frame.labels, "16UC1", stamp))
        self.send("color", convert.image_msg(frame.rgb, "rgb8", stamp))
        self.send("depth", convert.image_msg(frame.depth_m, "32FC1", stamp))

    def _odometry(self, step: Step) -> Any:
        message = interface("nav_msgs/msg/Odometry")(header=convert.header(step.frame.stamp_ns, convert.ODOM),
                                                     child_frame_id=convert.BASE)
        message.pose.pose = convert.pose_msg(step.frame.map_from_base)
        return message

    def _fill(self, response: Any, step: Step) -> Any:
        response.stamp, response.collided = convert.time_of(step.frame.stamp_ns), step.collided
        response.steps, response.metres = step.steps, step.metres
        response.pose = convert.pose_msg(step.frame.map_from_base)
        return response


def main() -> int:
    """Run the node."""
    return run_node(BridgeNode)
