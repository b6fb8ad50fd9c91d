"""Age of the map: from the stamp of a 640x480 RGB-D picture to its map, at 10 Hz, through the graph as on a robot.

One process per node, with memory and recorder. The camera is a process, too (`python -m benchmarks.live`): it
publishes rendered views with stamps of the wall clock at a constant rate, and transforms and odometry with their own
rate and stamps, as on a robot. It prints "begin", and ends when its standard input closes.
"""

from __future__ import annotations

import contextlib
import select
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import rclpy
from rclpy.node import Node

from benchmarks.timing import Figure, cpu_s, median_ms
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame
from eqa_nodes.ros import convert
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.ros.runner import RunningGraph
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS, nodes_of
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.simulator import EpisodeSetup

CAMERA_HZ, TF_HZ, VIEWS = 10, 50, 40
SCENE = "house:3"
AFTER_TF_S = 0.007  # delay of a picture after a transform; it then waits for the next transform
WARM_S, SECONDS, ALONE = 6.0, 60.0, 120
BEGIN_S = 60.0  # timeout for the camera to load its views, and for the first map


def figures() -> list[Figure]:
    """Return the median time from stamp to map, compared with the core alone on the same views."""
    alone = _alone_ms()
    with tempfile.TemporaryDirectory() as folder:
        ages_ms, cpu = _through_graph(Path(folder))
    ages_ms.sort()
    median, p99 = statistics.median(ages_ms), ages_ms[round(0.99 * (len(ages_ms) - 1))]
    shares = ", ".join(f"{node} {share:.2f}" for node, share in sorted(cpu.items(), key=lambda one: -one[1])[:4])
    return [Figure("camera stamp to map, a process a node", round(median, 1), f"mapping alone, {alone:.1f} ms",
                   round(median / alone, 2), f"640x480 at {CAMERA_HZ} Hz, p99 {p99:.0f} ms, {len(ages_ms)} maps in "
                   f"{SECONDS:g} s (wanted: 60 ms, p99 150 ms); cores: {shares}")]


def _alone_ms() -> float:
    """Return the median time, ms, of the core alone from a picture to its map."""
    mapper, shown = MultiFloorMapper(), iter(list(islice(frames(), ALONE)))

    def take() -> None:
        mapper.integrate(next(shown))
        mapper.grid()

    return median_ms(take, 3 * ALONE // 4, ALONE // 4)


def _through_graph(folder: Path) -> tuple[list[float], dict[str, float]]:
    """Return the ages, ms, of the maps that a listener receives in SECONDS, and the CPU cores used by each node."""
    own = {"memory": {"folder": f"{folder}/memory"}, "recorder": {"folder": f"{folder}/bags"}}
    maps = _MapAges()
    with RunningGraph(folder, own, world="robot", isolate=True, nodes=nodes_of("robot", recording=True)) as graph, \
            GraphClient(graph.environment, maps.listen) as client:
        begin_episode(client.node)
        with camera(graph.environment):
            maps.wait(BEGIN_S)
            time.sleep(WARM_S)
            pids = {child.nodes[0]: child.process.pid for child in graph.children}
            before = {node: cpu_s(pid) for node, pid in pids.items()}
            maps.ages_ms.clear()
            time.sleep(SECONDS)
            ages = maps.ages_ms.copy()
            return ages, {node: (cpu_s(pid) - before[node]) / SECONDS for node, pid in pids.items()}


class _MapAges:
    """Receives maps as bytes and records their ages."""

    def __init__(self) -> None:
        self.ages_ms: list[float] = []
        self._first = threading.Event()

    def listen(self, node: Any) -> None:
        """Create the subscription with a node."""
        topic = TOPICS["map"]
        node.create_subscription(interface(topic.type), topic.name, self._on_map, qos(topic.qos), raw=True)

    def wait(self, deadline_s: float) -> None:
        """Wait for the first map. Raises RuntimeError if none arrives in time."""
        if not self._first.wait(deadline_s):
            raise RuntimeError(f"no map arrived within {deadline_s:g} s")

    def _on_map(self, data: bytes) -> None:
        self.ages_ms.append((time.time_ns() - messages.stamp_in(data)) / 1e6)
        self._first.set()


def begin_episode(node: Any, episode_id: str = "live") -> None:
    """Reset mapper, memory and recorder for a new episode. Raises the errors that they report."""
    remotes = Remotes(node)
    episode = interface("eqa_interfaces/msg/Episode")(episode_id=episode_id)
    for key in ("reset_mapper", "reset_memory", "reset_recorder"):
        remotes.service(key).call(BEGIN_S, episode=episode)


@contextlib.contextmanager
def camera(environment: dict[str, str]) -> Iterator[None]:
    """Run a camera process."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.live"], env=environment,
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


def frames() -> Iterator[Frame]:
    """Yield the views of a robot that drives and turns, back and forth without end, one per 100 ms."""
    simulator = HouseSimulator()
    step = simulator.reset(EpisodeSetup(SCENE))
    there = []
    for _ in range(VIEWS):
        there.append(step.frame)
        step = simulator.act(Action.MOVE_FORWARD)
        if step.collided:
            step = simulator.act(Action.TURN_LEFT)
    for number, frame in enumerate(cycle([*there, *there[-2:0:-1]]), start=1):
        yield replace(frame, stamp_ns=number * 1_000_000_000 // CAMERA_HZ, labels=None)


def publish() -> None:
    """Publish until standard input closes."""
    views = list(islice(frames(), 2 * VIEWS - 2))
    rclpy.init()
    node = Node("robot_camera", start_parameter_services=False)
    out = {key: node.create_publisher(interface(TOPICS[key].type), TOPICS[key].name, qos(TOPICS[key].qos))
           for key in ("color", "depth", "camera_info", "odom", "tf", "tf_static")}
    tf = interface(TOPICS["tf"].type)
    out["tf_static"].publish(tf(transforms=[
        convert.transform_msg(convert.BASE, convert.CAMERA, 1, views[0].base_from_camera)]))
    images = [(convert.image_msg(f.rgb, "rgb8", 0), convert.image_msg(f.depth_m, "32FC1", 0)) for f in views]

    def place(stamp: int, frame: Frame) -> None:
        out["tf"].publish(tf(transforms=[
            convert.transform_msg(convert.MAP, convert.ODOM, stamp, Transform.identity()),
            convert.transform_msg(convert.ODOM, convert.BASE, stamp, frame.map_from_base)]))
        odometry = interface(TOPICS["odom"].type)(header=convert.header(stamp, convert.ODOM))
        odometry.pose.pose = convert.pose_msg(frame.map_from_base)
        out["odom"].publish(odometry)

    def show(stamp: int, frame: Frame, color: Any, depth: Any) -> None:
        color.header.stamp = depth.header.stamp = convert.time_of(stamp)
        out["camera_info"].publish(convert.camera_info_msg(frame.intrinsics, stamp))
        out["color"].publish(color)
        out["depth"].publish(depth)

    print("begin", flush=True)
    begin_ns, number = time.time_ns(), 0
    while True:
        at = number % len(views)
        due_s = [number / CAMERA_HZ + k / TF_HZ for k in range(TF_HZ // CAMERA_HZ)]
        for moment_s, camera in sorted([*((s, False) for s in due_s), (due_s[2] + AFTER_TF_S, True)]):
            stamp = begin_ns + round(1e9 * moment_s)
            if select.select([sys.stdin], [], [], max(0.0, (stamp - time.time_ns()) / 1e9))[0]:
                return
            if camera:
                show(stamp, views[at], *images[at])
            else:
                place(stamp, views[at])
        number += 1


if __name__ == "__main__":
    publish()
