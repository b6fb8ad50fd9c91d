"""Poses from transforms and odometry of a bag, by numbers that were worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.recordings.bags.poses import Poses, all_poses
from eqa_nodes.recordings.bags.reader import BagMessage

SECOND = 10**9
LEVEL = (0.0, 0.0, 0.0, 1.0)
LOOKS_ALONG_Y = (-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  # of an optical frame: x stays right, z becomes y


def header(stamp_s: float, frame: str) -> Any:
    stamp_ns = round(stamp_s * SECOND)
    return SimpleNamespace(frame_id=frame, stamp=SimpleNamespace(sec=stamp_ns // SECOND, nanosec=stamp_ns % SECOND))


def posed(xyz: tuple[float, float, float], xyzw: tuple[float, float, float, float]) -> tuple[Any, Any]:
    return (SimpleNamespace(x=xyz[0], y=xyz[1], z=xyz[2]),
            SimpleNamespace(x=xyzw[0], y=xyzw[1], z=xyzw[2], w=xyzw[3]))


def link(stamp_s: float, parent: str, child: str, x: float = 0.0, y: float = 0.0, z: float = 0.0,
         xyzw: tuple[float, float, float, float] = LEVEL, key: str = "tf") -> BagMessage:
    translation, rotation = posed((x, y, z), xyzw)
    one = SimpleNamespace(header=header(stamp_s, parent), child_frame_id=child,
                          transform=SimpleNamespace(translation=translation, rotation=rotation))
    return BagMessage(key, round(stamp_s * SECOND), SimpleNamespace(transforms=[one]))


def odometry(stamp_s: float, x: float, child: str = "base_link") -> BagMessage:
    position, orientation = posed((x, 0.0, 0.0), LEVEL)
    pose = SimpleNamespace(pose=SimpleNamespace(position=position, orientation=orientation))
    return BagMessage("odom", round(stamp_s * SECOND), SimpleNamespace(
        header=header(stamp_s, "odom"), child_frame_id=child, pose=pose))


class Recorded:
    """Messages in memory in place of a bag's."""

    path = Path("memory")

    def __init__(self, *messages: BagMessage) -> None:
        self._messages = messages

    def count(self, key: str) -> int:
        return sum(m.key == key for m in self._messages)

    def read(self, keys: Sequence[str], from_ns: int | None = None) -> Iterator[BagMessage]:
        return (m for m in self._messages if m.key in keys)

    def last(self, key: str) -> Any | None:
        return None

    def missing(self, key: str) -> str:
        return ""


def test_the_base_moves_by_interpolated_transforms_and_odometry_is_left_alone() -> None:
    found = all_poses(Recorded(
        link(0.0, "base_link", "camera", z=1.2, key="tf_static"), link(0.0, "map", "odom", x=10.0, key="tf_static"),
        link(1.0, "odom", "base_link", x=0.0), odometry(1.5, 77.0), link(2.0, "odom", "/base_link", x=1.0),
        link(2.0, "odom", "base_link", x=1.0)))
    assert (found.fixed, found.base, found.stamps_ns) == ("map", "base_link", [1 * SECOND, 2 * SECOND])
    assert found.map_from_base(1_250_000_000, "camera").xyz == pytest.approx((10.25, 0.0, 0.0))
    assert found.base_from_camera(1_250_000_000, "/camera").xyz == (0.0, 0.0, 1.2)
    assert found.known(SECOND, "camera") and not found.known(3 * SECOND, "camera") and not found.known(SECOND, "lidar")
    assert found.between(SECOND, "base_link", "camera").xyz == pytest.approx((0.0, 0.0, 1.2))


def test_odometry_moves_a_base_that_no_transform_moves() -> None:
    found = all_poses(Recorded(link(0.0, "base_link", "camera", key="tf_static"), odometry(1.0, 2.0),
                               odometry(3.0, 4.0)))
    assert (found.fixed, found.base) == ("odom", "base_link")
    assert found.map_from_base(2 * SECOND, "camera").xyz == pytest.approx((3.0, 0.0, 0.0))
    alone = all_poses(Recorded(odometry(1.0, 2.0, child="platform")))
    assert (alone.base, alone.map_from_base(SECOND, "").xyz) == ("platform", (2.0, 0.0, 0.0))


def test_the_base_of_a_camera_alone_is_on_the_ground_below_it() -> None:
    found = all_poses(Recorded(link(1.0, "world", "camera", 1.0, 2.0, 1.5, LOOKS_ALONG_Y)))
    assert (found.fixed, found.base) == ("world", "")
    base, camera = found.map_from_base(SECOND, "camera"), found.base_from_camera(SECOND, "camera")
    assert base.xyz == (1.0, 2.0, 0.0) and base.xyzw == pytest.approx((0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
    assert camera.xyz == pytest.approx((0.0, 0.0, 1.5))
    # by the base's axes the camera looks ahead (x), its right is -y
    assert camera.matrix()[:3, :3] == pytest.approx(Transform((0.0, 0.0, 0.0), (-0.5, 0.5, -0.5, 0.5)).matrix()[:3, :3])


@pytest.mark.parametrize(("back_s", "mixed"), [(1.0, True), (1.001, False)])
def test_a_clock_set_back_by_more_than_a_second_forgets_the_poses_before(back_s: float, mixed: bool) -> None:
    messages = (link(0.0, "map", "base_link", x=0.0), link(10.0, "map", "base_link", x=10.0),
                link(10.0 - back_s, "map", "base_link", x=50.0))
    found = Poses(Recorded(*messages), keep_ns=30 * SECOND)
    for message in messages:
        found.take(message)
    assert found.known(5 * SECOND, "base_link") == mixed
    assert found.map_from_base(round((10.0 - back_s) * SECOND), "base_link").xyz[0] == 50.0


@pytest.mark.parametrize(("at_s", "known"), [(60.0, True), (60.1, False)])
def test_frames_are_learned_from_the_first_minute(at_s: float, known: bool) -> None:
    late = Recorded(link(0.0, "odom", "handle"), link(at_s, "odom", "base_footprint"))
    assert Poses(late).base == ("base_footprint" if known else "")


def test_the_map_is_the_first_of_map_odom_and_world_above_the_base() -> None:
    tree = (link(0.0, "world", "odom"), link(0.0, "odom", "base"))
    assert Poses(Recorded(*tree)).fixed == "odom"
    assert Poses(Recorded(*tree, link(0.0, "map", "door"))).fixed == "odom", "the base does not hang from that map"
    assert Poses(Recorded(*tree), fixed="world").fixed == "world"
    with pytest.raises(StorageError, match="no transforms from moon.*begin at world"):
        Poses(Recorded(*tree), fixed="moon")


def test_transforms_that_are_not_rigid_are_counted_and_named() -> None:
    bag = Recorded(link(0.0, "map", "base_link"), link(1.0, "base_link", "camera", xyzw=(0.0, 0.0, 0.0, 0.5)),
                   link(2.0, "base_link", "camera", x=math.nan))
    found = all_poses(bag)
    assert found.invalid == {"camera": 2}
    with pytest.raises(BadFrame, match="no valid transform of 'camera': "):
        found.base_from_camera(0, "camera")
