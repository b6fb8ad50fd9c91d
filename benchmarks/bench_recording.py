"""Recording a camera of 640x480 RGB-D at 30 Hz for a minute: drops, CPU of the recorder process, bytes an hour.

The camera is a process of its own (`python -m benchmarks.bench_recording FILE`) and publishes in real time: views of
the built-in house with the noise of a structured-light sensor.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

HZ, SECONDS, VIEWS = 30, 60, 24
SCENE, WIDTH, HEIGHT = "house:3", 640, 480
FORMS = {"raw, not compressed": "none", "raw, lz4 chunks (the default)": "lz4", "raw, zstd chunks": "zstd",
         "JPEG 90 and 16-bit PNG": "jpeg"}
COLOR, DEPTH, INFO, ODOM = "/cam/color/image_raw", "/cam/depth/image_raw", "/cam/color/camera_info", "/odom"
MATCH_S = 30.0  # until the recorder has found the camera


def rows() -> list[dict[str, object]]:
    """Return one row a form: name, median_ms (CPU of the recorder for one moment), baseline, ratio of bytes, note."""
    from eqa_nodes.ros.environment import free_domain, ros_environment

    result: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name, free_domain() as domain:
        folder = Path(name)
        _render(folder / "views.npz")
        environment = {**os.environ, **ros_environment(domain, folder)}
        plain = 0.0
        for form, compress in FORMS.items():
            cpu_s, spent_s, counts, size = _record(folder, compress, environment)
            hour_gb = size / SECONDS * 3600 / 1e9
            plain = plain or hour_gb
            drops = {topic: HZ * SECONDS - counts.get(topic, 0) for topic in (COLOR, DEPTH, INFO, ODOM)}
            result.append({
                "name": f"record RGB-D at {HZ} Hz, {form}", "median_ms": round(cpu_s / (HZ * SECONDS) * 1e3, 2),
                "baseline": f"not compressed, {plain:.0f} GB/h", "ratio": round(hour_gb / plain, 3),
                "note": f"{sum(drops.values())} of {4 * HZ * SECONDS} messages dropped in {SECONDS} s, "
                        f"{cpu_s / spent_s:.2f} of a core, {hour_gb:.1f} GB an hour"})
    return result


def _record(folder: Path, compress: str, environment: dict[str, str]) -> tuple[float, float, dict[str, int], int]:
    """Return CPU seconds of the recorder, seconds of the camera, messages in the bag by topic, and its bytes."""
    from rosbags.highlevel import AnyReader

    bag = folder / compress
    camera = subprocess.Popen([sys.executable, "-m", "benchmarks.bench_recording", str(folder / "views.npz")],
                              env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    recorder = subprocess.Popen(
        [sys.executable, "-m", "eqa_nodes.cli", "record", "--color", COLOR, "--depth", DEPTH, "--camera-info", INFO,
         "--odom", ODOM, "--out", str(bag), "--compress", compress, "--wait", str(MATCH_S)], env=environment,
        stdout=subprocess.DEVNULL)
    assert camera.stdout is not None and camera.stdin is not None
    try:
        _expect(camera, "begin")
        before, begin = _cpu_s(recorder.pid), time.monotonic()
        _expect(camera, "end")
        time.sleep(1.0)  # what still waits is written
        cpu_s, spent_s = _cpu_s(recorder.pid) - before, time.monotonic() - begin
        recorder.send_signal(signal.SIGINT)
        recorder.wait(60.0)
    finally:
        camera.stdin.close()
        camera.wait(20.0)
        recorder.kill()
    with AnyReader([bag]) as reader:
        counts = {c.topic.removesuffix("Depth").removesuffix("/compressed"): c.msgcount for c in reader.connections}
    return cpu_s, spent_s, counts, sum(path.stat().st_size for path in bag.iterdir())


def _expect(camera: subprocess.Popen[str], word: str) -> None:
    assert camera.stdout is not None
    said = camera.stdout.readline().strip()
    if said != word:
        raise RuntimeError(f"the camera said {said!r} instead of {word!r}: did the recorder start?")


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _render(path: Path) -> None:
    """Keep views of a robot that turns: rgb (VIEWS, H, W, 3) uint8, depth_mm (VIEWS, H, W) uint16, both with noise.

    Depth has the axial noise of a Kinect, 1.2 mm + 1.9 mm (z / m - 0.4)^2 (Nguyen, Izadi and Lovell 2012).
    """
    from eqa_nodes.core.types.floor import Action
    from sim_bridge.house.simulator import HouseSimulator
    from sim_bridge.simulator import EpisodeSetup

    random, simulator = np.random.default_rng(0), HouseSimulator()
    frames = [simulator.reset(EpisodeSetup(SCENE)).frame,
              *(simulator.act(Action.TURN_LEFT).frame for _ in range(VIEWS - 1))]
    rgb = [(f.rgb + random.normal(0, 2, f.rgb.shape)).clip(0, 255).astype(np.uint8) for f in frames]
    depth_mm = [((1e3 * f.depth_m + random.normal(0, 1.2 + 1.9 * (f.depth_m - 0.4) ** 2)) * (f.depth_m > 0)).clip(
        0, 65535).astype(np.uint16) for f in frames]
    assert rgb[0].shape == (HEIGHT, WIDTH, 3)
    np.savez(path, rgb=np.stack(rgb), depth_mm=np.stack(depth_mm))


def publish(path: Path) -> None:
    """Publish the views when somebody hears all topics, in real time; stay until standard input closes."""
    import rclpy
    from nav_msgs.msg import Odometry
    from rclpy.node import Node
    from sensor_msgs.msg import CameraInfo, Image

    from eqa_nodes.core.types.views import Intrinsics
    from eqa_nodes.ros import convert

    views = np.load(path)
    rgb = [convert.image_msg(v, "rgb8", 0) for v in views["rgb"]]
    depth = [convert.image_msg(v, "16UC1", 0) for v in views["depth_mm"]]
    info = convert.camera_info_msg(Intrinsics(WIDTH, HEIGHT, 500.0, 500.0, WIDTH / 2, HEIGHT / 2), 0)
    odometry = Odometry(header=convert.header(0, "odom"), child_frame_id="base_link")
    rclpy.init()
    node = Node("camera", start_parameter_services=False)
    kinds: dict[str, Any] = {COLOR: Image, DEPTH: Image, INFO: CameraInfo, ODOM: Odometry}
    out = {name: node.create_publisher(kind, name, 10) for name, kind in kinds.items()}  # reliable, ten deep
    end = time.monotonic() + MATCH_S
    while any(not publisher.get_subscription_count() for publisher in out.values()) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1.0)
    print("begin", flush=True)
    begin = time.monotonic()
    for number in range(HZ * SECONDS):
        time.sleep(max(0.0, begin + number / HZ - time.monotonic()))
        messages = {ODOM: odometry, INFO: info, COLOR: rgb[number % VIEWS], DEPTH: depth[number % VIEWS]}
        stamp = convert.time_of(time.time_ns())
        for name, message in messages.items():
            message.header.stamp = stamp
            out[name].publish(message)
    print("end", flush=True)
    select.select([sys.stdin], [], [])


if __name__ == "__main__":
    publish(Path(sys.argv[1]))
