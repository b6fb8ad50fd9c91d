"""Observations are put together by stamp; what is late waits, what is broken or never complete is counted."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from eqa_nodes.core.camera.config import CameraConfig, TfConfig
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.types.geometry import Pose2, Transform, camera_mount
from eqa_nodes.core.types.views import Frame, Intrinsics, Label
from eqa_nodes.ros import convert
from eqa_nodes.wire.frame_assembler import EARLY, PENDING, FrameAssembler
from eqa_nodes.wire.transforms import TfBuffer

K = Intrinsics(8, 6, 4.0, 4.0, 4.0, 3.0)
SECOND = 1_000_000_000


class Bench:
    """An assembler with its transforms, and what it delivered."""

    def __init__(self, *parts: str, **options: Any) -> None:
        self.tf, self.frames, self.refused = TfBuffer(), [], []
        self.assembler = FrameAssembler(parts, self.tf, lambda frame, labels: self.frames.append((frame, labels)),
                                        **options)
        self.assembler.rejected = lambda stamp, reason: self.refused.append((stamp, reason))
        self.tf.put(convert.BASE, convert.CAMERA, 0, camera_mount(1.0), static=True)

    def move(self, stamp: int, t: Transform = Pose2(1.0, 2.0, 0.3).transform()) -> None:
        self.tf.put(convert.MAP, convert.BASE, stamp, t)
        self.assembler.retry()

    @staticmethod
    def whole(stamp: int, width: int = 8, height: int = 6, d: Sequence[float] = ()) -> dict[str, Any]:
        """Return all messages of an observation, with intrinsics of depth too."""
        k = Intrinsics(width, height, width / 2, width / 2, width / 2, height / 2)
        infos = {part: convert.camera_info_msg(k, stamp) for part in ("camera_info", "depth_camera_info")}
        infos["camera_info"].d = list(d)
        return {"color": convert.image_msg(np.zeros((height, width, 3), np.uint8), "rgb8", stamp),
                "depth": convert.image_msg(np.ones((height, width), np.float32), "32FC1", stamp), **infos}

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


def test_what_is_shown_again_no_longer_waits_behind_what_was_given_up() -> None:
    """Its publisher went on from the first, a part of which was lost: nothing of that comes any more."""
    bench = Bench("color", "depth", "camera_info")
    for stamp in (SECOND, 2 * SECOND):
        bench.move(stamp)
    bench.images(SECOND, "color")
    bench.images(2 * SECOND)
    assert not bench.frames
    bench.images(2 * SECOND)
    assert [frame.stamp_ns for frame, _ in bench.frames] == [2 * SECOND]
    assert bench.refused == [(SECOND, "no color")]


@pytest.mark.parametrize("table_first", [True, False])
def test_a_frame_gets_the_label_table_of_its_own_stamp(table_first: bool) -> None:
    """A person walks from room to room, and tables and images have topics of their own, in any order."""
    bench = Bench("depth", "camera_info", "labels", "label_table")
    rooms = {SECOND: "kitchen", 2 * SECOND: "hallway"}
    for stamp, room in rooms.items():
        bench.move(stamp)
        table = convert.label_table_msg({1: Label(1, "person", room, {})}, stamp)
        if table_first:
            bench.assembler.put("label_table", table)
        bench.images(stamp)
        if not table_first:
            assert bench.assembler.lacking(stamp) == "no label_table"
            bench.assembler.put("label_table", table)
    assert {frame.stamp_ns: labels[1].room for frame, labels in bench.frames} == rooms


def test_a_frame_whose_label_table_never_arrives_is_dropped_by_name() -> None:
    bench = Bench("depth", "camera_info", "labels", "label_table", pending=1)
    for stamp in (SECOND, 2 * SECOND):
        bench.move(stamp)
        bench.images(stamp)
    assert bench.refused == [(SECOND, "no label_table")]


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


def junk(draw: Any, kind: Any) -> Any:
    """An image message of which nothing need fit together."""
    size = draw(st.integers(0, 12)), draw(st.integers(0, 9))
    encoding = draw(st.sampled_from(["32FC1", "16UC1", "rgb8", "mono8", "bayer", "", "8UC3"]))
    data = draw(st.binary(max_size=200)) if draw(st.booleans()) else bytes(
        size[0] * size[1] * {"32FC1": 4, "rgb8": 3, "8UC3": 3, "16UC1": 2}.get(encoding, 1))
    if kind is CompressedImage:
        form = draw(st.sampled_from(["16UC1; compressedDepth png", "32FC1; compressedDepth png", "jpeg", "", "png"]))
        return CompressedImage(format=form, data=data)
    step = len(data) // size[1] if size[1] and draw(st.booleans()) else draw(st.integers(0, 99))
    return Image(width=size[0], height=size[1], encoding=encoding, step=step, data=data,
                 is_bigendian=draw(st.integers(0, 1)))


def odd_info(draw: Any) -> CameraInfo:
    number = st.one_of(st.floats(-5, 50), st.sampled_from([math.nan, math.inf, 0.0, 1e300]))
    info = CameraInfo(width=draw(st.sampled_from([0, 1, 8, 12, 4_000_000_000])), height=draw(st.integers(0, 9)),
                      distortion_model=draw(st.sampled_from(["plumb_bob", "equidistant", "", "x"])),
                      d=draw(st.lists(number, max_size=9)))
    info.k = [draw(number) if i in (0, 2, 4, 5) else 0.0 for i in range(9)]
    info.p = [draw(number) if i in (0, 2, 5, 6) else 0.0 for i in range(12)]
    return info


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_a_camera_sends_is_a_frame_or_is_counted(data: Any) -> None:
    draw = data.draw
    config = CameraConfig(lens=draw(st.sampled_from(["pinhole", "distorted", "rectified"])), align=draw(st.booleans()),
                          depth_unit_m=draw(st.sampled_from([0.0, 0.001])))
    bench = Bench("color", "depth", "camera_info", camera=config)
    bench.move(SECOND)
    for part in bench.assembler.camera.parts:
        message = odd_info(draw) if part.endswith("info") else junk(draw, draw(st.sampled_from([Image,
                                                                                               CompressedImage])))
        message.header = convert.header(SECOND, convert.CAMERA)
        bench.assembler.put(part, message)
    assert len(bench.frames) + len(bench.refused) == 1
    for frame, _ in bench.frames:
        with suppress(BadFrame):  # what does not fit together is refused by who takes it in
            MultiFloorMapper().integrate(frame)
    bench.move(2 * SECOND)
    for part, message in bench.whole(2 * SECOND).items():
        bench.assembler.put(part, message)
    assert bench.frames[-1][0].stamp_ns == 2 * SECOND


def test_resolution_and_intrinsics_may_change_on_the_way() -> None:
    bench = Bench("color", "depth", "camera_info", camera=CameraConfig(lens="distorted", align=True))
    sizes = [(8, 6), (8, 6), (16, 12), (8, 6)]
    for n, (w, h) in enumerate(sizes, 1):
        bench.move(n * SECOND)
        for part, message in bench.whole(n * SECOND, w, h, d=[-0.1, 0.0, 0.0, 0.0, 0.0] if n > 1 else []).items():
            bench.assembler.put(part, message)
    assert [f.depth_m.shape for f, _ in bench.frames] == [(h, w) for w, h in sizes] and not bench.refused
    assert all(np.median(f.depth_m) == 1.0 for f, _ in bench.frames)


def test_an_image_of_another_size_than_its_camera_info_is_named() -> None:
    bench = Bench("color", "depth", "camera_info", camera=CameraConfig(lens="rectified"))
    bench.move(SECOND)
    for part, message in (bench.whole(SECOND) | {"camera_info": bench.whole(SECOND, 16, 12)["camera_info"]}).items():
        bench.assembler.put(part, message)
    assert bench.refused == [(SECOND, "image has 8x6 pixels, its camera_info says 16x12")]


def test_what_lacks_something_for_too_long_is_dropped_in_the_time_of_stamps() -> None:
    bench = Bench("depth", "camera_info", frames=TfConfig(wait_s=1.0))
    bench.images(SECOND)
    bench.images(2 * SECOND)
    assert not bench.refused
    bench.move(2 * SECOND + 1)
    bench.images(2 * SECOND + 1)
    assert bench.refused == [(SECOND, "no transform within 1 s")]
    bench.move(2 * SECOND)
    assert [f.stamp_ns for f, _ in bench.frames] == [2 * SECOND, 2 * SECOND + 1]


def test_images_from_before_the_robot_was_localised_are_dropped_at_once_and_those_after_wait() -> None:
    """AMCL stamps its first transform ahead: nothing ever says where the images before that stamp were taken."""
    bench = Bench("depth", "camera_info")
    for seconds in (1, 2, 3, 4):
        bench.tf.put(convert.ODOM, convert.BASE, seconds * SECOND, Pose2(float(seconds), 0.0, 0.0).transform())
        bench.images(seconds * SECOND)
    assert not bench.refused and bench.assembler.waiting == 4  # it may still be said
    correction = Pose2(10.0, 0.0, 0.0).transform()
    bench.tf.put(convert.MAP, convert.ODOM, 3 * SECOND, correction)
    bench.assembler.retry()
    assert bench.refused == [(1 * SECOND, EARLY), (2 * SECOND, EARLY)]
    assert [frame.stamp_ns for frame, _ in bench.frames] == [3 * SECOND] and bench.assembler.waiting == 1
    bench.tf.put(convert.MAP, convert.ODOM, 5 * SECOND, correction)
    bench.assembler.retry()
    assert [frame.map_from_base.xyz[0] for frame, _ in bench.frames] == [13.0, 14.0]
    bench.images(2 * SECOND + 1)
    assert bench.refused[-1] == (2 * SECOND + 1, EARLY) and bench.assembler.dropped[EARLY] == 3


def test_an_image_from_before_the_first_odometry_still_waits_for_it() -> None:
    bench = Bench("depth", "camera_info")
    bench.tf.put(convert.MAP, convert.ODOM, 0, Transform.identity(), static=True)
    bench.tf.put(convert.ODOM, convert.BASE, 2 * SECOND, Transform.identity())
    bench.images(1 * SECOND)
    assert not bench.refused and bench.assembler.waiting == 1
    bench.tf.put(convert.ODOM, convert.BASE, 1 * SECOND, Transform.identity())  # published again
    bench.assembler.retry()
    assert len(bench.frames) == 1
