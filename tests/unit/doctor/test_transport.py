"""Images that a robot published are judged by the camera settings of the graph, of which a bag's reader needs none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.camera.config import DISTORTED, CameraConfig
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.doctor.transport import _sync, judge_images
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.bags.measure import measure
from eqa_nodes.recordings.bags.reader import open_bag
from tests.fixtures.foreign_bags import BENT, DEPTH, OPTICAL, Row, Scene, StandardCdr

TF = "tf2_msgs/msg/TFMessage"
WHOLE = {"intrinsics": "ok", "lens": "ok", "registered": "ok", "sync": "ok", "transforms": "ok"}


@pytest.fixture
def scene() -> Scene:
    return Scene(StandardCdr(), 20)


def lines(scene: Scene, folder: Path, rows: list[Row], **camera: Any) -> dict[str, tuple[str, str]]:
    with open_bag(scene.cdr.write(folder, rows)) as bag:
        found = judge_images(bag, measure(bag, BagOptions()), CameraConfig(**{"tolerance_s": 0.02, **camera}))
        return {line.name: (line.state, line.found + line.remedy) for line in found}


@pytest.mark.parametrize(("lost", "state"), [((0,), "ok"), ((11,), "ok"), ((0, 1), "warning"), ((6,), "warning")])
def test_the_partner_of_an_image_at_an_end_need_not_have_been_heard(scene: Scene, tmp_path: Path, lost: tuple[int, ...],
                                                                    state: str) -> None:
    """A robot is listened to from any moment on, and twelve images are all that come in a second."""
    missing = {scene.stamp(n) for n in lost}
    rows = [row for row in scene.rows() if row.log_ns < scene.stamp(12)
            and not (row.topic == DEPTH and row.log_ns in missing)]
    assert lines(scene, tmp_path / "bag", rows)["sync"][0] == state


@pytest.mark.parametrize(("lacking", "state"), [(1, "ok"), (2, "warning"), (10, "warning"), (11, "error")])
def test_one_image_of_twenty_may_lack_a_partner_and_half_of_them_must_have_one(lacking: int, state: str) -> None:
    color = [i * 100_000_000 for i in range(20)]
    depth = [stamp + (21_000_000 if 5 <= i < 5 + lacking else 20_000_000) for i, stamp in enumerate(color)]
    assert _sync(color, depth, 0.02).state == state


@pytest.mark.parametrize(("change", "camera", "name", "state", "words"), [
    ({}, {}, "intrinsics", "ok", "64x48, fx 32.0, fy 32.0, constant"),
    ({"info_fields": {"k": np.zeros(9)}}, {}, "intrinsics", "error", "not calibrated"),
    ({"info_fields": {"width": 128}}, {}, "intrinsics", "error", "128x48, fx 32.0, fy 32.0, but the images are 64x48"),
    ({"info_fields": {"d": np.array(BENT)}}, {}, "lens", "warning", "set node.camera.lens: distorted"),
    ({"info_fields": {"d": np.array(BENT)}}, {"lens": DISTORTED}, "lens", "ok", "plumb_bob is rectified"),
    ({"info_fields": {"d": np.ones(4), "distortion_model": "kannala"}}, {}, "lens", "error", "'kannala'"),
    ({"depth_frame": "depth_optical"}, {}, "registered", "error", "apart in 20 images"),
    ({"depth_frame": "depth_optical"}, {"align": True}, "registered", "ok", "the graph aligns it"),
    ({"depth_late_ns": 30_000_000}, {}, "sync", "error", "within 20 ms; median 30.0 ms"),
    ({"depth_late_ns": 30_000_000}, {"tolerance_s": 0.04}, "sync", "ok", "within 40 ms"),
])
def test_each_fault_is_found_and_no_other(scene: Scene, tmp_path: Path, change: dict[str, Any], camera: dict[str, Any],
                                          name: str, state: str, words: str) -> None:
    for field, value in change.items():
        setattr(scene, field, value)
    link = scene.cdr.tf(OPTICAL, "depth_optical", scene.stamp(0), Transform((0.05, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
    static = Row("/tf_static", TF, scene.stamp(-1), scene.cdr(TF, transforms=[link]))
    found = lines(scene, tmp_path / "bag", [*scene.rows(), static], **camera)
    assert found[name][0] == state and words in found[name][1]
    assert {n: s for n, (s, _) in found.items()} == {**WHOLE, name: state}
