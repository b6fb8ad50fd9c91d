"""Parts of observations come late, twice, damaged or never: no image leaves unmasked, each refusal is told once."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from typing import Any

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage

from eqa_nodes.core.camera.privacy import PrivacyConfig
from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.ros import convert
from eqa_nodes.ros.recorded import Masking
from eqa_nodes.wire import cdr
from eqa_nodes.wire.frame_assembler import PENDING

K = Intrinsics(8, 6, 4.0, 4.0, 4.0, 3.0)
SECOND = 1_000_000_000


class Bench:
    """A masking of the left half, and what came out of it."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, int, bytes]] = []
        self.refused: list[tuple[int, str]] = []
        self.masking = Masking(PrivacyConfig(image=(0.0, 0.0, 0.5, 1.0)), lambda *kept: self.kept.append(kept),
                               lambda *refused: self.refused.append(refused))
        mount = convert.transform_msg(convert.BASE, convert.CAMERA, 0, camera_mount(1.0))
        assert self.masking.put_transforms(serialize_message(TFMessage(transforms=[mount])), static=True) == []

    def move(self, stamp: int) -> None:
        moved = convert.transform_msg(convert.MAP, convert.BASE, stamp, Pose2(1.0, 2.0, 0.3).transform())
        assert self.masking.put_transforms(serialize_message(TFMessage(transforms=[moved])), static=False) == []

    def show(self, stamp: int, *without: str, **instead: Any) -> None:
        parts = {"color": convert.image_msg(np.full((6, 8, 3), 9, np.uint8), "bgr8", stamp),
                 "depth": convert.image_msg(np.ones((6, 8), np.uint16), "16UC1", stamp),
                 "camera_info": convert.camera_info_msg(K, stamp)}
        for key, message in parts.items():
            if key not in without:
                self.masking.put(key, stamp, instead.get(key) or serialize_message(message))

    def masked(self, stamp: int) -> list[str]:
        found = [key for key, at, _ in self.kept if at == stamp]
        for _, _, data in (kept for kept in self.kept if kept[1] == stamp):
            image = cdr.decoded(data, cdr.IMAGE)
            rows = image.data.reshape(6, -1)
            assert not rows[:, :image.step // 2].any() and rows[:, image.step // 2::image.step // 8].all()
        return found


def test_both_images_leave_masked_when_all_is_there() -> None:
    bench = Bench()
    bench.show(SECOND)
    assert not bench.kept
    bench.move(SECOND)
    assert bench.masked(SECOND) == ["color", "depth"] and not bench.refused


def test_what_comes_twice_leaves_once_and_holds_nothing_up() -> None:
    bench = Bench()
    bench.move(SECOND)
    bench.show(SECOND, "color")
    bench.show(SECOND)  # whole with its colour: the rest of it comes after that
    bench.move(2 * SECOND)
    bench.show(2 * SECOND)
    assert bench.masked(SECOND) == bench.masked(2 * SECOND) == ["color", "depth"]
    bench.masking.ask_again(2 * SECOND)
    bench.show(2 * SECOND)
    assert bench.masked(2 * SECOND) == 2 * ["color", "depth"] and not bench.refused


@pytest.mark.parametrize("broken", ["color", "depth", "camera_info"])
def test_a_damaged_message_refuses_its_observation_alone(broken: str) -> None:
    bench = Bench()
    for stamp in (SECOND, 2 * SECOND):
        bench.move(stamp)
    bench.show(SECOND, **{broken: b"\0\1\0\0" + b"\xff" * 30})
    bench.show(2 * SECOND)
    assert [stamp for stamp, _ in bench.refused] == [SECOND] and "cannot be read" in bench.refused[0][1]
    assert not bench.masked(SECOND) and bench.masked(2 * SECOND) == ["color", "depth"]


def test_an_image_of_an_unknown_encoding_or_another_size_is_refused() -> None:
    bench = Bench()
    for k in range(1, 4):
        bench.move(k * SECOND)
    bayer = convert.image_msg(np.ones((6, 8), np.uint8)[..., None].repeat(3, 2), "rgb8", SECOND)
    bayer.encoding = "bayer_rggb8"
    bench.show(SECOND, color=serialize_message(bayer))
    small = convert.image_msg(np.ones((3, 4), np.uint16), "16UC1", 2 * SECOND)
    bench.show(2 * SECOND, depth=serialize_message(small))
    bench.show(3 * SECOND)
    assert [stamp for stamp, _ in bench.refused] == [SECOND, 2 * SECOND]
    assert "bayer_rggb8" in bench.refused[0][1] and "4x3 image" in bench.refused[1][1]
    assert {stamp for _, stamp, _ in bench.kept} == {3 * SECOND}


def test_without_a_transform_it_is_refused_when_shown_three_times_or_when_others_wait() -> None:
    bench = Bench()
    for _ in range(2):
        bench.show(SECOND)
    assert not bench.refused
    bench.show(SECOND)
    bench.show(SECOND)
    assert bench.refused == [(SECOND, "no transform")] and not bench.kept
    for k in range(2, PENDING + 3):
        bench.show(k * SECOND)
    assert bench.refused[1:] == [(2 * SECOND, "no transform")]
    bench.move(3 * SECOND)
    assert bench.masked(3 * SECOND) == ["color", "depth"]
    bench.move(6 * SECOND)  # and all between, interpolated
    assert {stamp for _, stamp, _ in bench.kept} == {k * SECOND for k in range(3, 7)}
    bench.masking.end()
    refused = [stamp for stamp, _ in bench.refused]
    assert len(refused) == len(set(refused)) == PENDING + 2 - 4
