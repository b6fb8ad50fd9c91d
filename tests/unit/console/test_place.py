"""What the console sends of a reconstruction: bounded, at a bounded rate, refused in words where it is none."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import json
import urllib.error
import urllib.request
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eqa_nodes.console.pictures import POINTS, cloud_bytes, shown_place
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Cloud
from eqa_nodes.wire.messages import cloud_of
from tests.fixtures.console_server import STORY, FakeRobot, serving


def cloud(n: int) -> Cloud:
    rng = np.random.default_rng(2)
    return Cloud(rng.uniform(-5, 5, (n, 3)).astype(np.float32), rng.integers(0, 255, (n, 3)).astype(np.uint8))


def message(points: Cloud, **changes: Any) -> Any:
    rows = np.zeros(len(points.points), [("xyz", "<f4", 3), ("bgr", "u1", 3), ("unused", "u1")])
    rows["xyz"], rows["bgr"] = points.points, points.colours[:, ::-1]
    fields = [SimpleNamespace(name=name, offset=4 * k, datatype=7) for k, name in enumerate(("x", "y", "z", "rgb"))]
    whole = {"fields": fields, "point_step": 16, "row_step": rows.nbytes, "width": len(rows), "height": 1,
             "is_bigendian": False, "data": rows.tobytes()}
    return SimpleNamespace(**{**whole, **changes})


def head_of(data: bytes) -> dict[str, Any]:
    whole = zlib.decompress(data)
    return dict(json.loads(whole[4:4 + int.from_bytes(whole[:4], "little")]))


def test_a_message_becomes_points() -> None:
    sent = cloud(50)
    found = cloud_of(message(sent))
    assert (found.points == sent.points).all() and (found.colours == sent.colours).all()
    assert len(cloud_of(message(cloud(0))).points) == 0


@pytest.mark.parametrize("changes", [
    {"is_bigendian": True}, {"width": 51}, {"data": b""}, {"point_step": 8, "row_step": 800, "width": 100},
    {"fields": [SimpleNamespace(name="x", offset=0, datatype=7)]}, {"row_step": 900},
    {"fields": [SimpleNamespace(name=n, offset=9000, datatype=7) for n in ("x", "y", "z", "rgb")]},
    {"fields": [SimpleNamespace(name=n, offset=-4, datatype=7) for n in ("x", "y", "z", "rgb")]}])
def test_a_message_of_another_kind_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadFrame, match="expected are x, y, z and rgb"):
        cloud_of(message(cloud(50), **changes))


def test_a_page_gets_a_bounded_number_of_finite_points() -> None:
    many = cloud(3 * POINTS)
    many.points[::2] = np.nan
    assert head_of(cloud_bytes(many))["points"] == POINTS
    assert head_of(cloud_bytes(cloud(0)))["points"] == 0
    few = head_of(cloud_bytes(cloud(3)))
    assert few["points"] == 3 and len(few["eye"]) == 3
    with pytest.raises(RequestRefused, match="no reconstruction"):
        cloud_bytes(None)


def test_what_moves_is_plain_numbers() -> None:
    robot = FakeRobot(lambda: None)
    assert shown_place(robot) == {"floor": 0.0, "path": [], "boxes": [], "robot": None}
    robot.live.began("Where is the desk?")
    for stamp, pose in STORY.poses:
        robot.live.moved(stamp, pose)
    robot.live.saw(STORY.keyframes[6])
    shown = shown_place(robot)
    last = STORY.poses[-1][1]
    assert shown["path"][-3:] == pytest.approx([last.x, last.y, 0.0], abs=1e-3) and shown["robot"] is not None
    assert [box["name"] for box in shown["boxes"]] == ["desk"] and shown["boxes"][0]["privileged"]
    json.dumps(shown, allow_nan=False)


@pytest.mark.parametrize(("poses", "shown"), [(1000, 1000), (1001, 501), (2001, 668)])
def test_a_path_has_about_1000_points(poses: int, shown: int) -> None:
    """Every second of 1001 poses, every third of 2001, and always the last one."""
    robot = FakeRobot(lambda: None)
    for i in range(poses):
        robot.live.moved(i, Pose2(0.1 * i, 0.0, 0.0))
    path = shown_place(robot)["path"]
    assert len(path) == 3 * shown and path[-3] == pytest.approx(0.1 * (poses - 1))


def test_addresses_answer_and_refuse_in_words(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, robot):
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            urllib.request.urlopen(f"{server.url}live/cloud")
        assert json.loads(refused.value.read()) == {"error": "there is no reconstruction"}
        robot.cloud, robot.clouds = cloud(100), 1
        with urllib.request.urlopen(f"{server.url}live/cloud") as reply:
            assert head_of(reply.read())["points"] == 100
        with urllib.request.urlopen(f"{server.url}viewer/viewer.js") as reply:
            assert reply.headers["content-type"].startswith("text/javascript")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{server.url}viewer/LICENSE")
