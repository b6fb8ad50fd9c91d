"""Waits until every node works and, on a robot, until an episode has begun; says so, or begins one itself.

The program `ready` of the launch files. It ends with code 0, or with one line that says what is missing: code 1 before
it was ready, EPISODE_FAILED after it. Interrupted, it ends with INTERRUPTED.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from std_msgs.msg import Header

from eqa_nodes.core.errors import EqaError, NodeLost
from eqa_nodes.launching import EPISODE_FAILED, INTERRUPTED, NOT_READY
from eqa_nodes.ros.client import RESET_S, GraphClient
from eqa_nodes.ros.environment import READY
from eqa_nodes.ros.episodes import EPISODE
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.rates import OK, UNHEARD
from eqa_nodes.ros.run import end_with_launch, signature, signature_in
from eqa_nodes.wire.graph import ACTIONS, CAMERA_TOPICS, NODES, SERVICES, TOPICS

POLL_S = 0.1
OK_LEVEL = bytes([OK])
CAMERA = {topic.name.strip("/") for topic in (*(TOPICS[key] for key in ("color", "depth", "camera_info")),
                                              *CAMERA_TOPICS.values())}
REMIND_S = 30.0  # period of repeated messages about what is missing


class Roll:
    """Tracks which nodes of this run have started, and checks for their services."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._nodes = nodes
        self._started: set[str] = set()
        self._node: Any = None

    def listen(self, node: Any) -> None:
        """Subscribe with this node."""
        topic = TOPICS["started"]
        self._node = node
        node.create_subscription(Header, topic.name, self._on_started, qos(topic.qos))

    def missing(self) -> list[str]:
        """Return what is missing: nodes, else names that two nodes have, else services of the nodes.

        Nodes of another run do not count. A killed node may stay visible for some seconds.
        """
        silent = [name for name in self._nodes if signature(name) not in self._started]
        served = {name for name, _ in self._node.get_service_names_and_types()}
        return silent or self._doubled() or sorted(self._wanted() - served)

    def _on_started(self, header: Any) -> None:
        self._started.add(signature_in(header.frame_id))

    def _doubled(self) -> list[str]:
        space = self._node.get_namespace().rstrip("/")
        seen = Counter(f"{space.rstrip('/')}/{name}" for name, space in self._node.get_node_names_and_namespaces())
        return [f"{space}/{name} alone, of {seen[f'{space}/{name}']} nodes of this name (end the other graph)"
                for name in self._nodes if seen[f"{space}/{name}"] > 1]

    def _wanted(self) -> set[str]:
        keys = {key for name in self._nodes for key in NODES[name].serves}
        hidden = {f"{ACTIONS[key].name}/_action/send_goal" for key in keys if key in ACTIONS}
        names = hidden | {SERVICES[key].name for key in keys if key in SERVICES}
        return {self._node.resolve_service_name(name) for name in names}


class Needs:
    """Tracks what a robot's episode still waits for, as reported by the nodes on /diagnostics."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._observers = [name for name in nodes if name != "agent"]
        self._waits = "the status of the agent on /diagnostics"
        self._silent: dict[str, str] = {}  # topic -> the observer that has received nothing on it

    def listen(self, node: Any) -> None:
        """Subscribe with this node."""
        topic, self._node = TOPICS["diagnostics"], node
        node.create_subscription(interface(topic.type), topic.name, self._on_diagnostics, qos(topic.qos))

    @property
    def waits(self) -> str:
        """A description of what is missing, "" if nothing is."""
        topics = ", ".join(sorted(f"{topic} ({who})" for topic, who in self._silent.items()))
        return f"{self._waits}; no message on {topics}" if self._waits and topics else self._waits

    def _on_diagnostics(self, message: Any) -> None:
        prefix = f"{self._node.get_namespace().strip('/')}/".lstrip("/")
        for status in message.status:
            node, _, what = status.name.removeprefix(prefix).partition(": ")
            if (node, what) == ("agent", EPISODE):
                self._waits = "" if status.level == OK_LEVEL else status.message
            elif node in self._observers and what in CAMERA:
                topic = self._node.resolve_topic_name(what)
                if status.message == UNHEARD:
                    self._silent[topic] = node
                else:
                    self._silent.pop(topic, None)


def await_robot(needs: Needs) -> None:
    """Wait until an episode has begun, without a deadline: a user may have to start a camera or localise the robot."""
    said, at = "", 0.0
    while waits := needs.waits:
        if waits != said or time.monotonic() - at > REMIND_S:
            print(f"eqa: waiting for the robot: {waits}", flush=True)
            said, at = waits, time.monotonic()
        time.sleep(POLL_S)


def await_all(roll: Roll, deadline_s: float) -> None:
    """Wait until nothing is missing. Raises NodeLost at the deadline, naming what is missing."""
    end = time.monotonic() + deadline_s
    while missing := roll.missing():
        if time.monotonic() > end:
            raise NodeLost(f"timed out after {deadline_s:g} s: no message from {', '.join(missing)}; see their logs")
        time.sleep(POLL_S)


def begin(client: GraphClient, name: str, scene: str, seed: int) -> None:
    """Begin an episode. Raises the error that the graph reports."""
    episode = interface("eqa_interfaces/msg/Episode")(episode_id=name, scene=scene, seed=seed)
    client.services["reset_episode"].call(RESET_S, episode=episode)
    print(f"eqa: episode {name} has begun", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ready", description=__doc__)
    parser.add_argument("--nodes", required=True, help="comma-separated names")
    parser.add_argument("--up", action="store_true", help="say that all nodes work, and end")
    parser.add_argument("--robot", action="store_true", help="wait until an episode has begun on a robot")
    parser.add_argument("--deadline", type=float, default=120.0, help="seconds for all to come up")
    parser.add_argument("--episode", default="", help="begin an episode of this name (default: none)")
    parser.add_argument("--scene", default="", help="of the episode")
    parser.add_argument("--seed", type=int, default=0, help="of the episode")
    return parser


def main() -> int:
    """Run the program; arguments after --ros-args are for rclpy."""
    arguments, _ = _parser().parse_known_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # interrupted before the graph is ready; nothing has to be closed
        signal.signal(number, lambda *_: os._exit(INTERRUPTED))
    end_with_launch()
    nodes, ready = arguments.nodes.split(","), False
    roll, needs = Roll(nodes), Needs(nodes)

    def listen(node: Any) -> None:
        roll.listen(node)
        needs.listen(node)

    try:
        with GraphClient({"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}, listen) as client:
            await_all(roll, arguments.deadline)
            if arguments.robot:
                await_robot(needs)
            print("eqa: all nodes work" if arguments.up else READY, flush=True)
            ready = True
            if arguments.episode:
                begin(client, arguments.episode, arguments.scene, arguments.seed)
    except EqaError as error:
        print(f"eqa: {error}", flush=True)
        return EPISODE_FAILED if ready else NOT_READY
    return 0


if __name__ == "__main__":
    sys.exit(main())
