"""Waits until every node works, says so, and begins an episode: the program `ready` of the launch files.

It ends with code 0, or 1 with one line that names who is missing.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from std_msgs.msg import Header

from eqa_nodes.core.errors import EqaError, NodeLost
from eqa_nodes.graph import ACTIONS, NODES, SERVICES, TOPICS
from eqa_nodes.ros.client import RESET_S, GraphClient
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.runner import READY

POLL_S = 0.1


class Roll:
    """Hears which nodes have started, and looks for what they serve."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._nodes = nodes
        self._started: set[str] = set()
        self._node: Any = None

    def listen(self, node: Any) -> None:
        """Subscribe with this node."""
        topic = TOPICS["started"]
        self._node = node
        node.create_subscription(Header, topic.name, lambda header: self._started.add(header.frame_id), qos(topic.qos))

    def missing(self) -> list[str]:
        """Return what is not there yet: nodes, and services of nodes that have started."""
        silent = [name for name in self._nodes if name not in self._started]
        return silent or sorted(self._wanted() - {name for name, _ in self._node.get_service_names_and_types()})

    def _wanted(self) -> set[str]:
        keys = {key for name in self._nodes for key in NODES[name].serves}
        hidden = {f"{ACTIONS[key].name}/_action/send_goal" for key in keys if key in ACTIONS}
        names = hidden | {SERVICES[key].name for key in keys if key in SERVICES}
        return {self._node.resolve_service_name(name) for name in names}


def await_all(roll: Roll, deadline_s: float) -> None:
    """Wait until nothing is missing. Raises NodeLost at the deadline, with what is."""
    end = time.monotonic() + deadline_s
    while missing := roll.missing():
        if time.monotonic() > end:
            raise NodeLost(f"not ready within {deadline_s:g} s: no word of {', '.join(missing)}")
        time.sleep(POLL_S)


def begin(client: GraphClient, arguments: argparse.Namespace) -> None:
    """Begin an episode as the options say. Raises what the graph reports."""
    episode = interface("eqa_interfaces/msg/Episode")(
        episode_id=arguments.episode, scene=arguments.scene, seed=arguments.seed)
    client.services["reset_episode"].call(RESET_S, episode=episode)
    print(f"eqa: episode {arguments.episode} has begun", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ready", description=__doc__)
    parser.add_argument("--nodes", required=True, help="comma-separated names")
    parser.add_argument("--deadline", type=float, default=120.0, help="seconds for all to come up")
    parser.add_argument("--episode", default="", help="begin an episode of this name (default: none)")
    parser.add_argument("--scene", default="", help="of the episode")
    parser.add_argument("--seed", type=int, default=0, help="of the episode")
    return parser


def main() -> int:
    """Run the program; what follows --ros-args is rclpy's."""
    arguments, _ = _parser().parse_known_args()
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))  # the run ends before it was ready; nothing is to be closed
    roll = Roll(arguments.nodes.split(","))
    try:
        with GraphClient({"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}, roll.listen) as client:
            await_all(roll, arguments.deadline)
            print(READY, flush=True)
            if arguments.episode:
                begin(client, arguments)
    except EqaError as error:
        print(f"eqa: {error}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
