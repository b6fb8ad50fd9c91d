"""How old a map is: from the stamp of a 640x480 RGB-D picture to its map, at 10 Hz, through the graph as on a robot.

A process a node, with memory and recorder; the camera (robot_camera.py) is a process too and shows views that were
rendered before.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.robot_camera import CAMERA_HZ, frames_of, render

WARM_S, SECONDS, ALONE = 6.0, 60.0, 120
WANTED_MS, WANTED_P99_MS = 60.0, 150.0
BEGIN_S = 60.0  # for the camera to load its views, and for the first map


def rows() -> list[dict[str, object]]:
    """Return one row: median of stamp to map, beside the core alone on the same views."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        render(folder / "views.npz")
        alone = _alone_ms(folder / "views.npz")
        ages_ms, cpu = _through_graph(folder)
    ages_ms.sort()
    median, p99 = statistics.median(ages_ms), ages_ms[round(0.99 * (len(ages_ms) - 1))]
    shares = ", ".join(f"{node} {share:.2f}" for node, share in sorted(cpu.items(), key=lambda one: -one[1])[:4])
    return [{"name": "camera stamp to map, a process a node", "median_ms": round(median, 1),
             "baseline": f"mapping alone, {alone:.1f} ms", "ratio": round(median / alone, 2),
             "note": f"640x480 at {CAMERA_HZ} Hz, p99 {p99:.0f} ms, {len(ages_ms)} maps in {SECONDS:g} s (wanted: "
                     f"{WANTED_MS:g} ms, p99 {WANTED_P99_MS:g} ms); cores: {shares}"}]


def _alone_ms(views: Path) -> float:
    """Return the median time in ms of the core alone: a picture taken in, and its map."""
    from eqa_nodes.core.mapping.floors import MultiFloorMapper

    mapper, times = MultiFloorMapper(), []
    for frame, _ in zip(frames_of(views), range(ALONE)):
        begin = time.perf_counter()
        mapper.integrate(frame)
        mapper.grid()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times[ALONE // 4:])


def _through_graph(folder: Path) -> tuple[list[float], dict[str, float]]:
    """Return the ages in ms of the maps of SECONDS as a listener gets them, and the cores that each node took."""
    from eqa_nodes.ros.client import GraphClient
    from eqa_nodes.ros.runner import RunningGraph
    from eqa_nodes.wire.graph import nodes_of

    own = {"memory": {"folder": f"{folder}/memory"}, "recorder": {"folder": f"{folder}/bags"}}
    maps = Maps()
    with RunningGraph(folder, own, world="robot", isolate=True, nodes=nodes_of("robot", recording=True)) as graph, \
            GraphClient(graph.environment, maps.listen) as client:
        begin_episode(client.node)
        with camera(folder / "views.npz", graph.environment):
            maps.wait(BEGIN_S)
            time.sleep(WARM_S)
            pids = {child.nodes[0]: child.process.pid for child in graph.children}
            before = {node: cpu_s(pid) for node, pid in pids.items()}
            maps.ages_ms.clear()
            time.sleep(SECONDS)
            ages = maps.ages_ms.copy()
            return ages, {node: (cpu_s(pid) - before[node]) / SECONDS for node, pid in pids.items()}


class Maps:
    """Hears maps as bytes, and how old each is when it comes."""

    def __init__(self) -> None:
        self.ages_ms: list[float] = []
        self._first = threading.Event()

    def listen(self, node: Any) -> None:
        """Subscribe with a node."""
        from eqa_nodes.ros.interfaces import interface, qos
        from eqa_nodes.wire.graph import TOPICS

        topic = TOPICS["map"]
        node.create_subscription(interface(topic.type), topic.name, self._on_map, qos(topic.qos), raw=True)

    def wait(self, deadline_s: float) -> None:
        """Wait for the first. Raises RuntimeError when none comes."""
        if not self._first.wait(deadline_s):
            raise RuntimeError(f"no map came within {deadline_s:g} s")

    def _on_map(self, data: bytes) -> None:
        from eqa_nodes.wire import messages

        self.ages_ms.append((time.time_ns() - messages.stamp_in(data)) / 1e6)
        self._first.set()


def begin_episode(node: Any, episode_id: str = "live") -> None:
    """Tell mapper, memory and recorder that an episode begins. Raises what they report."""
    from eqa_nodes.ros.interfaces import interface
    from eqa_nodes.ros.remote import Remotes

    remotes = Remotes(node)
    episode = interface("eqa_interfaces/msg/Episode")(episode_id=episode_id)
    for key in ("reset_mapper", "reset_memory", "reset_recorder"):
        remotes.service(key).call(BEGIN_S, episode=episode)


@contextlib.contextmanager
def camera(views: Path, environment: dict[str, str]) -> Iterator[None]:
    """Run a camera that shows these views."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.robot_camera", str(views)], env=environment,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None
    try:
        if process.stdout.readline().strip() != "begin":
            raise RuntimeError("the camera did not begin")
        yield
    finally:
        process.stdin.close()
        try:
            process.wait(20.0)
        except subprocess.TimeoutExpired:
            process.kill()


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process up to now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
