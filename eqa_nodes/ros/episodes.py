"""The agent's episodes. They begin on request, and on a robot also automatically once its messages arrive."""

from __future__ import annotations

import threading
import time
from typing import Any

from eqa_nodes.core.errors import EqaError, SimulatorError, StaleData, UnknownScene
from eqa_nodes.ros import convert
from eqa_nodes.ros.diagnostics import StatusReport
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.odometry import RosOdometry
from eqa_nodes.ros.rates import OK, WARN, FlowStatus
from eqa_nodes.wire.messages import stamp_of

EPISODE = "episode"  # name of the status on /diagnostics
LISTEN_S, AGAIN_S = 0.2, 2.0  # period of checks for the robot's messages; pause after a failed attempt to begin


class Episodes:
    """Begins episodes: resets the simulator, which gives the stamp, then the observers; gets the first observation."""

    def __init__(self, node: EqaNode, odometry: RosOdometry) -> None:
        self._node, self._odometry, self._simulated = node, odometry, node.config.simulator
        self._resets = [f"reset_{observer}" for observer in node.config.observers]
        first = ("reset_simulator",) if self._simulated else ()
        self._remote = {key: node.remote(key) for key in (*first, *self._resets)}
        self._one_at_a_time = threading.Lock()
        self._begun, self._ended = threading.Event(), threading.Event()
        self._why = "the agent has just started"
        if self._simulated:
            self._begun.set()  # otherwise the simulator reports the error

    def start(self) -> None:
        """On a robot: begin an episode as soon as its messages arrive. Returns at once."""
        if not self._simulated:
            threading.Thread(target=self._begin_by_itself, name="episode", daemon=True).start()

    def stop(self) -> None:
        """Stop trying to begin an episode."""
        self._ended.set()

    def await_begun(self) -> None:
        """Wait for the episode that begins automatically. Raises StaleData naming what is missing."""
        if not self._begun.wait(self._node.config.begin_deadline_s):
            raise StaleData(f"no episode has begun: {self._odometry.missing() or self._why}")

    def report(self) -> StatusReport:
        """Return the status of the episode; before the first one, what is missing."""
        if self._begun.is_set():
            return StatusReport(FlowStatus(OK, "an episode can be asked about"), {})
        return StatusReport(FlowStatus(WARN, self._odometry.missing() or self._why), {})

    def begin(self, asked: Any) -> Any:
        """Begin an episode (eqa_interfaces/Episode) and return it as begun. Raises EqaError naming the obstacle."""
        with self._one_at_a_time:
            return self._begin(asked)

    def _begin(self, asked: Any) -> Any:
        if not self._simulated:
            self._complete(asked)
        own = not self._simulated  # the agent stamps it: it begins after all received messages
        asked.header = convert.header(self._odometry.newest_ns + own)
        begun = self._announced(asked, self._node.config.node.call_deadline_s)
        self._node.send("episode", begun)
        self._odometry.begin(stamp_of(begun))
        self._begun.set()
        return begun

    def _complete(self, asked: Any) -> None:
        """Fill in the defaults of a robot's episode. Raises UnknownScene, StaleData."""
        if asked.scene:
            raise UnknownScene(f"scene {asked.scene!r}: a robot cannot change its scene; leave the scene empty")
        if missing := self._odometry.missing():
            raise StaleData(f"no episode can begin: {missing}")
        asked.episode_id = asked.episode_id or _today()
        asked.map_name = asked.map_name or self._node.config.map_name

    def _announced(self, asked: Any, deadline_s: float) -> Any:
        """Reset all observers; return the episode as begun. Retry once with a later stamp if memory has later ones."""
        for _ in range(2):
            begun = asked
            if self._simulated:
                begun = self._remote["reset_simulator"].call(deadline_s, episode=asked).episode
            for key in self._resets:
                reply = self._remote[key].call(deadline_s, episode=begun).episode
                if stamp_of(reply) > stamp_of(begun):
                    asked.header = reply.header
                    break
            else:
                return begun
        raise SimulatorError(f"the episode begins at {stamp_of(begun) / 1e9:.3f} s, and memory has seen "
                             f"{stamp_of(reply) / 1e9:.3f} s: begin it without keep_memory")

    def _begin_by_itself(self) -> None:
        name = self._node.config.episode or _today()
        while not self._ended.wait(LISTEN_S) and not self._begun.is_set():
            if self._odometry.missing():
                continue
            self._why = f"{', '.join(self._node.config.observers)} have not answered yet"
            try:
                self.begin(interface("eqa_interfaces/msg/Episode")(
                    episode_id=name, keep_memory=self._node.config.keep_memory, map_name=self._node.config.map_name))
            except EqaError as error:
                self._why = str(error)
                self._node.count(f"no episode begun: {error}")
                self._ended.wait(AGAIN_S)


def _today() -> str:
    return time.strftime("%Y%m%d-%H%M%S")
