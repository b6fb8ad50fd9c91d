"""Age of the map: from the stamp of a 640x480 RGB-D picture to its map, at 10 Hz, through the graph as on a robot.

One process per node, with memory and recorder. The camera is a process, too (`python -m benchmarks.live FILE`): it
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
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Figure, cpu_s, median_ms

CAMERA_HZ, TF_HZ, VIEWS = 10, 50, 40
SCENE = "house:3"
AFTER_TF_S = 0.007  # delay of a picture after a transform; it then waits for the next transform
WARM_S, SECONDS, ALONE = 6.0, 60.0, 120
BEGIN_S = 60.0  # timeout for the camera to load its views, and for the first map


def figures() -> list[Figure]:
    """Return the median time from stamp to map, compared with the core alone on the same views."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        render(folder / "views.npz")
        alone = _alone_ms(folder / "views.npz")
        ages_ms, cpu = _through_graph(folder)
    ages_ms.sort()
    median, p99 = statistics.median(ages_ms), ages_ms[round(0.99 * (len(ages_ms) - 1))]
    shares = ", ".join(f"{node} {share:.2f}" for node, share in sorted(cpu.items(), key=lambda one: -one[1])[:4])
    return [Figure("camera stamp to map, a process a node", round(median, 1), f"mapping alone, {alone:.1f} ms",
                   round(median / alone, 2), f"640x480 at {CAMERA_HZ} Hz, p99 {p99:.0f} ms, {len(ages_ms)} maps in "
                   f"{SECONDS:g} s (wanted: 60 ms, p99 150 ms); cores: {shares}")]


def _alone_ms(views: Path) -> float:
    """Return the median time, ms, of the core alone from a picture to its map."""
    from eqa_nodes.core.mapping.floors import MultiFloorMapper

    mapper, frames = MultiFloorMapper(), iter(list(islice(frames_of(views), ALONE)))

    def take() -> None:
        mapper.integrate(next(frames))
        mapper.grid()

    return median_ms(take, 3 * ALONE // 4, ALONE // 4)


def _through_graph(folder: Path) -> tuple[list[float], dict[str, float]]:
    """Return the ages, ms, of the maps that a listener receives in SECONDS, and the CPU cores used by each node."""
    from eqa_nodes.ros.client import GraphClient
    from eqa_nodes.ros.runner import RunningGraph
    from eqa_nodes.wire.graph import nodes_of

    own = {"memory": {"folder": f"{folder}/memory"}, "recorder": {"folder": f"{folder}/bags"}}
    maps = _MapAges()
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


class _MapAges:
    """Receives maps as bytes and records their ages."""

    def __init__(self) -> None:
        self.ages_ms: list[float] = []
        self._first = threading.Event()

    def listen(self, node: Any) -> None:
        """Create the subscription with a node."""
        from eqa_nodes.ros.interfaces import interface, qos
        from eqa_nodes.wire.graph import TOPICS

        topic = TOPICS["map"]
        node.create_subscription(interface(topic.type), topic.name, self._on_map, qos(topic.qos), raw=True)

    def wait(self, deadline_s: float) -> None:
        """Wait for the first map. Raises RuntimeError if none arrives in time."""
        if not self._first.wait(deadline_s):
            raise RuntimeError(f"no map came within {deadline_s:g} s")

    def _on_map(self, data: bytes) -> None:
        from eqa_nodes.wire import messages

        self.ages_ms.append((time.time_ns() - messages.stamp_in(data)) / 1e6)
        self._first.set()


def begin_episode(node: Any, episode_id: str = "live") -> None:
    """Reset mapper, memory and recorder for a new episode. Raises the errors that they report."""
    from eqa_nodes.ros.interfaces import interface
    from eqa_nodes.ros.remote import Remotes

    remotes = Remotes(node)
    episode = interface("eqa_interfaces/msg/Episode")(episode_id=episode_id)
    for key in ("reset_mapper", "reset_memory", "reset_recorder"):
        remotes.service(key).call(BEGIN_S, episode=episode)


@contextlib.contextmanager
def camera(views: Path, environment: dict[str, str]) -> Iterator[None]:
    """Run a camera process that publishes these views."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.live", str(views)], env=environment,
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


def render(path: Path) -> None:
    """Save views of a robot that drives and turns: rgb, depth_m, and poses (VIEWS, 3): x, y, yaw; metres, radians."""
    from eqa_nodes.core.types.floor import Action
    from sim_bridge.house.simulator import HouseSimulator
    from sim_bridge.simulator import EpisodeSetup

    simulator = HouseSimulator()
    step = simulator.reset(EpisodeSetup(SCENE))
    frames = []
    for _ in range(VIEWS):
        frames.append(step.frame)
        step = simulator.act(Action.MOVE_FORWARD)
        if step.collided:
            step = simulator.act(Action.TURN_LEFT)
    k, mount = frames[0].intrinsics, frames[0].base_from_camera
    np.savez(path, rgb=np.stack([f.rgb for f in frames]), depth_m=np.stack([f.depth_m for f in frames]),
             poses=np.array([f.pose for f in frames]), k=np.array([k.width, k.height, k.fx, k.fy, k.cx, k.cy]),
             mount=np.array([*mount.xyz, *mount.xyzw]))


def frames_of(path: Path) -> Iterator[Any]:
    """Yield the views as frames of the core, back and forth without end, one per 100 ms."""
    from eqa_nodes.core.types.geometry import Pose2, Transform
    from eqa_nodes.core.types.views import Frame, Intrinsics

    views = np.load(path)
    rgb, depth_m, poses, k, mount = (views[name] for name in ("rgb", "depth_m", "poses", "k", "mount"))
    intrinsics = Intrinsics(int(k[0]), int(k[1]), *map(float, k[2:]))
    base_from_camera = Transform(tuple(map(float, mount[:3])), tuple(map(float, mount[3:])))
    number = 0
    while True:
        at = _there_and_back(number)
        number += 1
        yield Frame(number * 1_000_000_000 // CAMERA_HZ, rgb[at], depth_m[at], intrinsics,
                    Pose2(*map(float, poses[at])).transform(), base_from_camera)


def _there_and_back(number: int) -> int:
    at = number % (2 * VIEWS - 2)
    return at if at < VIEWS else 2 * VIEWS - 2 - at


def publish(path: Path) -> None:
    """Publish until standard input closes."""
    import rclpy
    from rclpy.node import Node

    from eqa_nodes.core.types.geometry import Transform
    from eqa_nodes.core.types.views import Frame
    from eqa_nodes.ros import convert
    from eqa_nodes.ros.interfaces import interface, qos
    from eqa_nodes.wire.graph import TOPICS

    rclpy.init()
    node = Node("robot_camera", start_parameter_services=False)
    out = {key: node.create_publisher(interface(TOPICS[key].type), TOPICS[key].name, qos(TOPICS[key].qos))
           for key in ("color", "depth", "camera_info", "odom", "tf", "tf_static")}
    frames = frames_of(path)
    first = next(frames)
    tf = interface(TOPICS["tf"].type)
    out["tf_static"].publish(tf(transforms=[
        convert.transform_msg(convert.BASE, convert.CAMERA, 1, first.base_from_camera)]))
    shown = [next(frames) for _ in range(2 * VIEWS - 2)]
    images = [(convert.image_msg(f.rgb, "rgb8", 0), convert.image_msg(f.depth_m, "32FC1", 0)) for f in shown]

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
        at = number % len(shown)
        due_s = [number / CAMERA_HZ + k / TF_HZ for k in range(TF_HZ // CAMERA_HZ)]
        for moment_s, camera in sorted([*((s, False) for s in due_s), (due_s[2] + AFTER_TF_S, True)]):
            stamp = begin_ns + round(1e9 * moment_s)
            if select.select([sys.stdin], [], [], max(0.0, (stamp - time.time_ns()) / 1e9))[0]:
                return
            if camera:
                show(stamp, shown[at], *images[at])
            else:
                place(stamp, shown[at])
        number += 1


if __name__ == "__main__":
    publish(Path(sys.argv[1]))
