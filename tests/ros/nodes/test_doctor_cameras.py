"""The doctor judges a camera by what the graph is told of it: fits, or which setting would make it fit."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.cli import main
from eqa_nodes.cli.doctor import node_of
from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.core.findings import Finding
from eqa_nodes.doctor.robot import Listening, robot_findings
from tests.fixtures.camera_robot import CameraRobot, Feed
from tests.fixtures.house_views import PATH

# How a robot publishes, and line -> what its remedy names where the graph is not told.
CASES: dict[str, tuple[Feed, dict[str, str]]] = {
    "compressed": (Feed(CameraConfig(compressed=True, compressed_depth=True), depth="16UC1"), {
        "color": "node.camera.compressed: true", "depth": "node.camera.compressed_depth: true"}),
    "distorted": (Feed(CameraConfig(lens="distorted")), {"lens": "node.camera.lens: distorted"}),
    "unaligned": (Feed(CameraConfig(align=True)), {"registered": "node.camera.align: true"}),
    "unsynchronised": (Feed(CameraConfig(tolerance_s=0.02), color_late_ns=12_000_000), {
        "sync": "node.camera.tolerance_s"}),
}


@contextmanager
def showing(ros: Any, feed: Feed) -> Iterator[None]:
    """Show the same moments over and over."""
    robot, ended = CameraRobot(ros.plain("robot"), feed), threading.Event()

    def show() -> None:
        for number in cycle(range(len(PATH))):
            if ended.wait(0.1):
                return
            robot.show(number)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join(10.0)


def lines(camera: CameraConfig) -> dict[str, Finding]:
    """Listen until colour and depth were heard."""
    for _ in range(8):  # on a busy machine a topic may be seen before its messages come
        found = {line.name: line for line in robot_findings(Listening(seconds=1.5, wait_s=60.0, camera=camera))}
        if {"registered", "lens", "sync"} <= found.keys():
            break
    return found


@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in ("compressed", "unaligned") else
                                               pytest.mark.thorough) for name in CASES])
def test_a_camera_is_judged_by_what_the_graph_is_told(ros: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros.context.get_domain_id()))
    feed, remedies = CASES[name]
    with showing(ros, feed), ThreadPoolExecutor(2) as pool:
        told, untold = pool.map(lines, (feed.camera, CameraConfig()))
    for line in ("color", "depth", "registered", "lens", "sync"):
        assert told[line].state == "ok", told[line]
    for line, remedy in remedies.items():
        assert untold[line].state != "ok" and remedy in untold[line].remedy, untold[line]


def test_raw_images_are_not_what_a_graph_hears_that_is_told_of_compressed_ones(
        ros: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros.context.get_domain_id()))
    with showing(ros, Feed()):
        found = lines(CameraConfig(compressed=True))
    assert found["color"].state == "error" and "node.camera.compressed: false" in found["color"].remedy
    own = tmp_path / "own.yaml"
    own.write_text("/**: {ros__parameters: {node.camera.compressed: true, node.tf.map_frame: r1/map}}\n")
    assert main(["doctor", "--params", str(own)]) == 2
    assert "it needs --robot" in capsys.readouterr().err
    node = node_of(own)
    assert (node.camera, node.tf.map_frame) == (CameraConfig(compressed=True, tolerance_s=0.02, upright=True), "r1/map")
    assert node_of(None).camera == CameraConfig(tolerance_s=0.02, upright=True)  # as launched on a robot
