"""What a page is sent of a reconstruction, the vendored library, and its picture."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest

from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Keyframe, Label, Sighting
from eqa_nodes.viewer.files import page_script, page_style, viewer_files
from eqa_nodes.viewer.packing import BOXES, boxes_of, differences, owners, packed, quantised
from eqa_nodes.viewer.scene import UNSEEN, glance_of, times_seen
from tests.fixtures.frames import frame

VENDORED = resources.files("eqa_nodes.viewer").joinpath("vendor/three")


def unpacked(data: bytes) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Read as page/data.js does."""
    whole = zlib.decompress(data)
    begin = 4 + int.from_bytes(whole[:4], "little")
    head = json.loads(whole[4:begin])
    kinds = {"Uint8Array": "<u1", "Uint16Array": "<u2", "Int32Array": "<i4", "Float32Array": "<f4"}
    return head, {name: np.frombuffer(whole, kinds[a["kind"]], a["count"], begin + a["offset"])
                  for name, a in head["arrays"].items()}


def seen(instance: int, x: float, kind: str = "cup", detected: bool = False, pixels: int = 100) -> Sighting:
    return Sighting(Label(instance, kind, "", {}, detected), pixels, (0, 0, 1, 1), (x, 0.0, 0.5), (0.4, 0.4, 0.4))


def view(number: int, *sightings: Sighting) -> Keyframe:
    return Keyframe(number, number, Transform.identity(), b"", sightings)


def test_the_library_is_the_published_one_with_its_licence_and_version() -> None:
    said = VENDORED.joinpath("VERSION.txt").read_text()
    sums = dict(line.split()[::-1] for line in said.splitlines() if re.match(r"[0-9a-f]{64} ", line))
    there = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in VENDORED.iterdir()}
    assert re.search(r"three\.js \d+\.\d+\.\d+, MIT", said)
    assert sums == {name: there[name] for name in there if name != "VERSION.txt"} and len(sums) == 4
    assert "The MIT License" in VENDORED.joinpath("LICENSE").read_text()
    release = said.partition("three.js 0.")[2].partition(".")[0]
    assert re.search(f"[\"'`]{release}[\"'`]", VENDORED.joinpath("three.core.min.js").read_text())


def test_no_file_of_the_viewer_refers_to_another_host() -> None:
    allowed = {"http://www.w3.org/1999/xhtml", "https://jcgt.org/published/0007/04/01/"}  # a namespace, a comment
    for name, data in viewer_files().items():
        found = set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}/[\w./-]*", data.decode()))
        assert found <= allowed | {"//www.w3.org/1999/xhtml"}, (name, found)
    assert "http" not in page_script().partition("data:")[0] and "url(" not in page_style()


def test_modules_import_files_for_a_server_and_names_for_a_page() -> None:
    controls = viewer_files()["OrbitControls.js"].decode()
    assert "from './three.module.min.js'" in controls and "from 'three'" not in controls
    names = set(re.findall(r'"(eqa/[\w.]+)": \\?"?', page_script()))
    assert {"eqa/report.js", "eqa/viewer.js", "eqa/three.core.min.js", "eqa/OrbitControls.js"} <= names
    assert "</script" not in page_script().lower()


def test_a_head_and_arrays_come_back() -> None:
    rng = np.random.default_rng(3)
    arrays = {"a": rng.integers(0, 255, 7).astype(np.uint8), "b": rng.random((3, 3)).astype(np.float32),
              "c": rng.integers(-9, 9, (5, 3)).astype(np.int32), "d": np.empty((0, 3), np.uint16)}
    head, found = unpacked(packed({"name": "<é>"}, arrays))
    assert head["name"] == "<é>"
    assert all((found[name] == array.reshape(-1)).all() for name, array in arrays.items())
    with pytest.raises(KeyError):
        packed({}, {"x": np.zeros(1)})


def test_points_and_triangles_come_back() -> None:
    rng = np.random.default_rng(4)
    points = rng.uniform(-20, 20, (500, 3)).astype(np.float32)
    whole, grid = quantised(points)
    assert np.abs(np.array(grid["low"]) + np.array(grid["step"]) * whole - points).max() < 5e-4
    triangles = rng.integers(0, 500, (90, 3)).astype(np.int32)
    rows = differences(triangles)
    first = np.cumsum(rows[:, 0])
    assert (np.column_stack([first, rows[:, 1] + first, rows[:, 2] + first]) == triangles).all()
    assert quantised(np.empty((0, 3), np.float32))[0].shape == (0, 3)


def test_an_object_that_was_moved_has_the_box_of_where_it_is() -> None:
    cup, = boxes_of([view(1, seen(1, 0.0)), view(2, seen(1, 5.0)), view(3, seen(1, 5.3))])
    assert cup.name == "cup" and cup.privileged
    assert (cup.low[0], cup.high[0]) == pytest.approx((4.8, 5.5))
    both = boxes_of([view(1, seen(1, 0.0), seen(1, 0.0, detected=True, pixels=50))])
    assert [box.privileged for box in both] == [True, False]
    assert len(boxes_of([view(1, *(seen(k, 0.0) for k in range(BOXES + 20)))])) == BOXES
    assert boxes_of([view(1, seen(1, float("nan")))]) == []


def test_a_point_is_of_the_smallest_box_around_it() -> None:
    table = seen(1, 0.0, "table")._replace(size=(2.0, 2.0, 1.0))
    boxes = boxes_of([view(1, table, seen(2, 0.0))])
    points = np.array([[0.0, 0.0, 0.5], [0.9, 0.0, 0.5], [3.0, 0.0, 0.5], [0.9, 0.0, 0.0]], np.float32)
    names = ["", *(box.name for box in boxes)]
    assert [names[k] for k in owners(points, boxes)] == ["cup", "table", "", ""]  # the last is floor


def test_times_are_those_of_the_frames_that_show_a_point() -> None:
    ahead = frame(0, depth=2.0)
    frames = [replace(ahead, stamp_ns=10 ** 9 * k) for k in (1, 3)]
    away = replace(ahead, stamp_ns=5 * 10 ** 9, depth_m=np.full_like(ahead.depth_m, 0.5))  # something is in the way
    camera = ahead.map_from_camera()
    points = (np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 3.5], [0.0, 0.0, -2.0]]) @ camera[:3, :3].T + camera[:3, 3])
    first, last = times_seen(points.astype(np.float32), [glance_of(f) for f in (*frames, away)])
    assert first.tolist() == [0, UNSEEN, UNSEEN] and last.tolist() == [127, UNSEEN, UNSEEN]
    assert (times_seen(points, [])[0] == UNSEEN).all()
