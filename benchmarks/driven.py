"""A graph, a process a node, whose simulated robot atomic actions or Nav2 drive; it counts drives and contacts."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from action_msgs.msg import GoalStatus, GoalStatusArray
from diagnostic_msgs.msg import DiagnosticArray

from benchmarks.nav2_servers import Driver, Nav2, StandInForNav2, installed
from eqa_nodes.config.graph import ATOMIC, GraphParameters
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.interfaces import qos
from eqa_nodes.ros.runner import RunningGraph

CONTACT = "contact with an obstacle"  # the bridge's words
DRIVES = {GoalStatus.STATUS_SUCCEEDED: "reached", GoalStatus.STATUS_ABORTED: "failed",
          GoalStatus.STATUS_CANCELED: "canceled"}


class Atomic:
    """The project's own navigator, which the graph has started."""

    name = "atomic actions"

    def listen(self, node: Any) -> None:
        """Need nothing."""

    def new_scene(self) -> None:
        """Need nothing."""

    def __enter__(self) -> Atomic:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind."""


class Drives:
    """Counts the drives of a graph by how they ended, and the robot's contacts."""

    def __init__(self) -> None:
        self._status: dict[bytes, int] = {}
        self.contacts = 0

    def listen(self, node: Any) -> None:
        """Subscribe with a node that is spun elsewhere."""
        node.create_subscription(GoalStatusArray, "drive_to_pose/_action/status", self._on_status, qos("latched"))
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, qos("event"))

    @property
    def ended(self) -> Counter[str]:
        """Return how many drives ended how."""
        return Counter(DRIVES[status] for status in self._status.values() if status in DRIVES)

    def in_words(self) -> str:
        """Return how many drives ended how, and how often the robot touched something."""
        counts = ", ".join(f"{count} {word}" for word, count in sorted(self.ended.items()))
        return f"drives: {counts or 'none'}; contacts: {self.contacts}"

    def _on_status(self, message: Any) -> None:
        self._status |= {bytes(one.goal_info.goal_id.uuid): one.status for one in message.status_list}

    def _on_diagnostics(self, message: Any) -> None:
        counts = [int(value.value) for status in message.status for value in status.values if value.key == CONTACT]
        self.contacts = max([self.contacts, *counts])


class Driven(NamedTuple):
    """A running graph, its client, what drives its robot, and the drives so far."""

    graph: RunningGraph
    client: GraphClient
    driver: Driver
    drives: Drives

    @property
    def name(self) -> str:
        """Name of what drives."""
        return self.driver.name


@contextlib.contextmanager
def driven(folder: Path, navigator: str, parameters: GraphParameters) -> Iterator[Driven]:
    """Run a graph in a folder, and what drives its robot: navigator is ATOMIC or NAV2."""
    with RunningGraph(folder, parameters, isolate=True) as graph:
        driver, drives = _driver(navigator, graph, parameters, folder), Drives()

        def listen(node: Any) -> None:
            driver.listen(node)
            drives.listen(node)

        with GraphClient(graph.environment, listen) as client, driver:
            yield Driven(graph, client, driver, drives)


def _driver(navigator: str, graph: RunningGraph, parameters: GraphParameters, folder: Path) -> Driver:
    if navigator == ATOMIC:
        return Atomic()
    if installed():
        return Nav2(graph.environment, parameters.settings.bridge, folder)
    return StandInForNav2(graph.environment)
