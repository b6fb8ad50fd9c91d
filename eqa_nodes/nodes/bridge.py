"""The bridge to a simulator in lock-step: each atomic action waits until every observer has acknowledged its view.

Lock-step consists of that wait: when `act` returns, no observer is behind the observation that it returned.
With velocities instead, time advances continuously (bridge_velocities.py).
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from eqa_nodes.config.nodes import VELOCITIES, BridgeSettings
from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Transform, pose2_of
from eqa_nodes.nodes.bridge_velocities import END_S, VelocityDrive, taking
from eqa_nodes.ros import convert
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.observation import Observations, offset_after
from eqa_nodes.ros.process import run_node
from eqa_nodes.wire import messages
from sim_bridge.registry import SimulatorPool
from sim_bridge.simulator import EpisodeSetup, Simulator, Step, begin_episode


class BridgeNode(EqaNode[BridgeSettings]):
    """Serves reset_episode and act; publishes color, depth, labels, camera_info, odom, tf and clock.

    With velocities (parameter drive) it follows cmd_vel instead of act, and also publishes scan and points.
    """

    _simulator: Simulator  # set by the first reset

    row = "bridge"

    def configure(self) -> None:
        self.config.check_senses()
        self._pool = SimulatorPool()
        self._step: Step | None = None
        self._max_steps = 0
        self._offset_ns = 0
        self._one_at_a_time = threading.Lock()
        self._observations = Observations(self)
        self._velocities = VelocityDrive(self, self._observations) if self.config.drive == VELOCITIES else None
        self.serve("reset_simulator", self._reset)
        self.serve("act", self._act)

    def reconfigured(self, old: BridgeSettings, new: BridgeSettings) -> None:
        if self._velocities is not None:
            self._velocities.limit(new.robot.base)

    def _reset(self, request: Any, response: Any) -> Any:
        """Place the robot. No image is published before the first OBSERVE, so that observers are reset first."""
        with self._one_at_a_time:
            asked = request.episode
            simulator = self._pool.get(asked.scene)
            if self._velocities is not None:
                taking(simulator)
                self._velocities.end()
            self._simulator = simulator
            base = messages.pose_of(asked.start) if asked.use_start else None
            start, height = (pose2_of(base), base.xyz[2]) if base is not None else (None, 0.0)
            setup = EpisodeSetup(asked.scene, asked.episode_id, start, asked.seed, self.config.robot, height,
                                 self.config.clock_start_ns)
            first = begin_episode(self._simulator, setup)
            newest = max(messages.ns_of(asked.header.stamp), self._newest_ns())
            self._offset_ns = offset_after(newest, first.frame.stamp_ns)
            self._step = self._stamped(first)
            self._max_steps = asked.max_steps
            asked.header = convert.header(self._step.frame.stamp_ns)
            asked.map_name = asked.map_name or asked.scene  # poses of one scene are all in its own frame
            if self._velocities is not None:
                self._velocities.begin(simulator, self._step, self._offset_ns, asked.seed)
            else:
                self._observations.tell_fixed(self._step.frame.stamp_ns, self._step.frame.base_from_camera)
        response.episode = asked
        return response

    def _newest_ns(self) -> int:
        """Return the newest published stamp, 0 before the first."""
        shown = self._step.frame.stamp_ns if self._step is not None else 0
        return max(shown, self._velocities.published_ns if self._velocities is not None else 0)

    def _act(self, request: Any, response: Any) -> Any:
        if self._velocities is not None:
            return self._velocity_status(self._velocities, request, response)
        if request.action == request.STATUS:
            return self._fill(response, self._current())
        with self._one_at_a_time:
            step = self._current()
            if request.action != request.OBSERVE:
                step = self._advance(Action(request.action), step)
            labels = self._simulator.labels() if step.frame.labels is not None else {}
            self._observations.publish(step.frame, labels, again=request.action == request.OBSERVE)
            self._observations.await_observers(step.frame, labels)
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
            raise SimulatorError("the bridge has no episode: it has just been started, perhaps again after it "
                                 "ended; begin an episode (reset_episode)")
        return self._step

    def _velocity_status(self, velocities: VelocityDrive, request: Any, response: Any) -> Any:
        if request.action != request.STATUS:
            raise SimulatorError("this robot takes velocities, not atomic actions (bridge.drive is velocities): "
                                 "publish cmd_vel, or let Nav2 drive (docs/nav2.md)")
        now = velocities.status()
        return _filled(response, now.stamp_ns, now.map_from_base, now.collided, 0, now.metres)

    def _fill(self, response: Any, step: Step) -> Any:
        return _filled(response, step.frame.stamp_ns, step.frame.map_from_base, step.collided, step.steps, step.metres)

    def release(self) -> None:
        if self._velocities is not None:
            self._velocities.end(END_S)


def _filled(response: Any, stamp_ns: int, map_from_base: Transform, collided: bool, steps: int, metres: float) -> Any:
    response.stamp, response.pose = convert.time_of(stamp_ns), convert.pose_msg(map_from_base)
    response.collided, response.steps, response.metres = collided, steps, metres
    return response


def main() -> int:
    """Run the node."""
    return run_node(BridgeNode)
