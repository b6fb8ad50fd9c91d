"""Observations are put together by stamp; what is late waits, what is broken or never complete is counted."""

from __future__ import annotations

from tests.ros import need_ros

need_ros()

import math
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.geometry import Pose2, Transform, camera_mount
from eqa_nodes.core.types import Frame, Intrinsics, Label
from eqa_nodes.ros import convert
from eqa_nodes.ros.frames import PENDING, FrameAssembler
from eqa_nodes.ros.tf_buffer import TfBuffer

K = Intrinsics(8, 6, 4.0, 4.0, 4.0, 3.0)
SECOND = 1_000_000_000


class Bench:
    """An assembler with its transforms, and what it delivered."""

    def __init__(self, *parts: str) -> None:
        self.tf, self.frames, self.refused = TfBuffer(), [], []
        self.assembler = FrameAssembler(parts, self.tf, lambda frame, labels: self.frames.append((frame, labels)))
        self.assembler.rejected = lambda stamp, reason: self.refused.append((stamp, reason))
        self.tf.put(convert.BASE, convert.CAMERA, 0, camera_mount(1.0), static=True)

    def move(self, stamp: int, t: Transform = Pose2(1.0, 2.0, 0.3).transform()) -> None:
        self.tf.put(convert.MAP, convert.BASE, stamp, t)
        self.assembler.retry()

    def images(self, stamp: int, *leave_out: str, **changes: Any) -> None:
        messages = {"color": convert.image_msg(np.zeros((6, 8, 3), np.uint8), "rgb8", stamp),
                    "depth": convert.image_msg(np.ones((6, 8), np.float32), "32FC1", stamp),
                    "labels": convert.image_msg(np.ones((6, 8), np.uint16), "16UC1", stamp),
                    "camera_info": convert.camera_info_msg(K, stamp)}
        for part, message in messages.items():
            if part in self.assembler._parts and part not in leave_out:
                for name, value in changes.items():
                    if part == "depth":
                        setattr(message, name, value)
                self.assembler.put(part, message)


def test_a_complete_observation_is_delivered_with_its_poses() -> None:
    bench = Bench("color", "depth", "camera_info")
    bench.move(SECOND)
    bench.images(SECOND)
    (frame, labels), = bench.frames
    assert isinstance(frame, Frame) and labels == {} and frame.stamp_ns == SECOND and frame.intrinsics == K
    assert frame.map_from_base == Pose2(1.0, 2.0, 0.3).transform() and frame.base_from_camera == camera_mount(1.0)


def test_a_part_not_asked_for_costs_nothing() -> None:
    bench = Bench("depth", "camera_info")
    bench.move(SECOND)
    bench.images(SECOND)
    assert bench.frames[0][0].rgb.shape == (6, 8, 3) and bench.frames[0][0].rgb.strides == (0, 0, 0)


def test_a_late_transform_is_waited_for_and_order_is_kept() -> None:
    bench = Bench("depth", "camera_info")
    bench.images(SECOND)
    bench.images(2 * SECOND)
    bench.move(2 * SECOND)
    assert not bench.frames  # the first one's transform is still missing
    bench.move(SECOND)
    assert [frame.stamp_ns for frame, _ in bench.frames] == [SECOND, 2 * SECOND]


def test_labels_wait_for_their_table() -> None:
    bench = Bench("depth", "camera_info", "labels")
    bench.move(SECOND)
    bench.images(SECOND)
    assert not bench.frames
    table = {1: Label(1, "sofa", "living room", {"colour": "red"})}
    bench.assembler.put_table(convert.label_table_msg(table, SECOND))
    assert bench.frames[0][1] == table


@pytest.mark.parametrize(("missing", "reason"), [("camera_info", "no camera_info"), ("depth", "no depth")])
def test_what_never_becomes_complete_is_dropped_and_counted(missing: str, reason: str) -> None:
    bench = Bench("depth", "camera_info")
    for k in range(1, PENDING + 4):
        bench.move(k * SECOND // 10)
        bench.images(k * SECOND // 10, missing)
    assert bench.assembler.dropped == {reason: 3} and len(bench.refused) == 3 and not bench.frames


def test_without_transforms_observations_are_dropped_and_counted() -> None:
    bench = Bench("depth", "camera_info")
    for k in range(1, PENDING + 2):
        bench.images(k * SECOND)
    assert bench.assembler.dropped == {"no transform": 1} and not bench.frames


@pytest.mark.parametrize("change", [{"encoding": "mono8"}, {"step": 3}, {"height": 99}])
def test_broken_images_are_counted_and_later_ones_get_through(change: dict[str, Any]) -> None:
    bench = Bench("depth", "camera_info")
    bench.move(SECOND)
    bench.images(SECOND, **change)
    bench.move(2 * SECOND)
    bench.images(2 * SECOND)
    assert sum(bench.assembler.dropped.values()) == 1 and [f.stamp_ns for f, _ in bench.frames] == [2 * SECOND]


def test_an_uncalibrated_camera_is_counted() -> None:
    bench = Bench("depth", "camera_info")
    bench.move(SECOND)
    info = convert.camera_info_msg(K, SECOND)
    info.k[0] = math.nan
    bench.assembler.put("camera_info", info)
    bench.images(SECOND, "camera_info")
    assert "not calibrated" in next(iter(bench.assembler.dropped))
