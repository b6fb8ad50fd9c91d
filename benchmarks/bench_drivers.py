"""The same questions to a robot that atomic actions drive and to one that Nav2 drives: answers, drives, contacts.

Nav2's own servers drive where they are installed, elsewhere a stand-in. Ctrl-C ends a driver's questions early, with
what was measured so far.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from diagnostic_msgs.msg import DiagnosticArray

from benchmarks.asking import CORRECT, Ended, ask
from benchmarks.bench_soak import ROBOT
from benchmarks.nav2_servers import Driver, Nav2, StandInForNav2, installed
from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.samples import Sample
from eqa_nodes.config.graph import ATOMIC, GraphParameters, driven_by, merged, of_robot
from eqa_nodes.config.nodes import NAV2
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.interfaces import qos
from eqa_nodes.ros.runner import RunningGraph

HOUSES, DRAWN, LIMITS = 20, 200, Limits(metres=60.0)
CONTACT = "contact with an obstacle"  # the bridge's words
DRIVES = {GoalStatus.STATUS_SUCCEEDED: "reached", GoalStatus.STATUS_ABORTED: "failed",
          GoalStatus.STATUS_CANCELED: "canceled"}


def rows() -> list[dict[str, object]]:
    """Return a row a driver."""
    return measured("house", 2)


def measured(dataset: str, per_house: int) -> list[dict[str, object]]:
    """Ask the first questions about each of twenty houses of a data set with each driver; return a row for each."""
    houses: dict[str, list[Sample]] = {}
    for sample in open_dataset(dataset, limit=DRAWN):
        houses.setdefault(sample.scene, []).append(sample)
    samples = [sample for scene in list(houses)[:HOUSES] for sample in houses[scene][:per_house]]
    return [_row(dataset, *_asked(navigator, samples)) for navigator in (ATOMIC, NAV2)]


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

    def _on_status(self, message: Any) -> None:
        self._status |= {bytes(one.goal_info.goal_id.uuid): one.status for one in message.status_list}

    def _on_diagnostics(self, message: Any) -> None:
        counts = [int(value.value) for status in message.status for value in status.values if value.key == CONTACT]
        self.contacts = max([self.contacts, *counts])


def _asked(navigator: str, samples: list[Sample]) -> tuple[str, list[tuple[Sample, Ended]], Drives]:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        own = {"memory": {"labels": True, "folder": f"{folder}/memory"}, "recorder": {"folder": f"{folder}/bags"}}
        parameters = merged(None, of_robot(ROBOT), own, driven_by(navigator))
        graph = stack.enter_context(RunningGraph(Path(folder), parameters, isolate=True))
        driver, drives = _driver(navigator, graph, parameters, Path(folder)), Drives()

        def listen(node: Any) -> None:
            driver.listen(node)
            drives.listen(node)

        client = stack.enter_context(GraphClient(graph.environment, listen))
        stack.enter_context(driver)
        ended: list[tuple[Sample, Ended]] = []
        with contextlib.suppress(KeyboardInterrupt):
            for sample, end in _ends(client, driver, samples):
                ended.append((sample, end))
                print(f"{driver.name}  {len(ended)}  {end.how:9}  {sample.scene}  {sample.question}  {end.why}  "
                      f"{end.wall_s:.0f} s wall; drives {dict(drives.ended)}, contacts {drives.contacts}", flush=True)
        return driver.name, ended, drives


def _driver(navigator: str, graph: RunningGraph, parameters: GraphParameters, folder: Path) -> Driver:
    if navigator == ATOMIC:
        return Atomic()
    if installed():
        return Nav2(graph.environment, parameters.settings.bridge, folder)
    return StandInForNav2(graph.environment)


def _ends(client: GraphClient, driver: Driver, samples: list[Sample]) -> Iterator[tuple[Sample, Ended]]:
    for number, sample in enumerate(samples):
        yield sample, ask(client, driver, f"q{number}", sample, LIMITS)


def _row(dataset: str, name: str, ended: list[tuple[Sample, Ended]], drives: Drives) -> dict[str, object]:
    how = Counter(end.how for _, end in ended)
    answered = [(sample, end.answer.receipt, end.wall_s) for sample, end in ended
                if end.answer is not None and end.how == CORRECT]
    note = f"{', '.join(f'{count} {word}' for word, count in sorted(how.items()))}; drives: " + (
        ", ".join(f"{count} {word}" for word, count in sorted(drives.ended.items()))) + f"; contacts: {drives.contacts}"
    if answered:
        means = [statistics.mean(values) for values in zip(*((receipt.metres, receipt.seconds, wall_s)
                                                             for _, receipt, wall_s in answered), strict=True)]
        note += "; of those answered right, on average: {:.1f} m, {:.0f} s of the robot's time, {:.0f} s".format(*means)
    return {"name": f"{len(ended)} questions of {dataset} in {len({sample.scene for sample, _ in ended})} houses, "
                    f"driven by {name}", "median_ms": "", "baseline": "", "ratio": "", "note": note}
