"""A robot with an RGB-D camera, as a process of its own: `python -m benchmarks.robot_camera FILE`.

Publishes views that were rendered before, with stamps of the wall's clock at a steady rate, and transforms and odometry
at a rate and with stamps of their own, as on a robot. It says "begin", and ends when its standard input closes.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

CAMERA_HZ, TF_HZ, VIEWS = 10, 50, 40
SCENE = "house:3"
AFTER_TF_S = 0.007  # a picture is taken so long after a transform, and waits for the next one


def render(path: Path) -> None:
    """Keep views of a robot that drives and turns: rgb, depth_m, and poses (VIEWS, 3) of x, y and yaw."""
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
    """Yield the views as frames of the core, to and fro for ever, one each 100 ms."""
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
