"""The recorder node acknowledges what is on the disk, in every form it can be stored in."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError, EqaError, ErrorCode
from eqa_nodes.nodes.recorder import RecorderNode
from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.recordings.bags.reader import open_bag
from eqa_nodes.testing.waiting import until
from tests.fixtures.recorder_rig import DEPTH, RGB, SECOND, Camera, no_room_once, on_disk


def test_a_bag_may_have_the_robots_own_names(ros: Any, tmp_path: Path) -> None:
    """It says which topic is which, so that it is read as the others are; `ros2 bag play` plays it for the robot."""
    names = {"color": "/front/pictures", "depth": "/front/ranges", "camera_info": "/front/info", "odom": "/wheels"}
    camera = Camera(ros, tmp_path, names, bag__names="robot", bag__depth="png")
    assert camera.show(SECOND)
    camera.begin("")
    with open_bag(tmp_path / "e") as bag:
        assert {"/front/pictures", "/front/ranges/compressedDepth", "/wheels", "/tf", "/answer"} <= bag.types.keys()
        assert bag.topics["color"] == "/front/pictures" and bag.topics["odom"] == "/wheels"
    (frame,) = BagHistory(tmp_path / "e")
    assert np.array_equal(frame.rgb, RGB)


@pytest.mark.parametrize("parameters", [
    {}, {"bag__compression": "zstd", "bag__color": "png", "bag__depth": "png", "bag__split_s": 2.0}])
def test_what_is_acknowledged_is_on_the_disk(ros: Any, tmp_path: Path, parameters: dict[str, Any]) -> None:
    camera = Camera(ros, tmp_path, **parameters)
    names = ("/camera/color/image_raw/compressed", "/camera/depth/image_raw/compressedDepth") if parameters else (
        "/camera/color/image_raw", "/camera/depth/image_raw")
    for k in range(1, 6):
        assert camera.show(k * SECOND)
        assert {*names, "/odom", "/camera/color/camera_info"} <= on_disk(tmp_path / "e")[k * SECOND]
    camera.begin("")  # ends the bag
    frames = list(BagHistory(tmp_path / "e"))
    assert [f.stamp_ns for f in frames] == [k * SECOND for k in range(1, 6)]
    assert all(np.array_equal(f.rgb, RGB) and np.abs(f.depth_m - DEPTH).max() <= 0.00051 for f in frames)
    assert len(list((tmp_path / "e").glob("*.mcap"))) == (3 if parameters else 1)
    assert not camera.recorder.counts


def test_between_episodes_nobody_waits_for_what_is_not_kept(ros: Any, tmp_path: Path) -> None:
    camera = Camera(ros, tmp_path)
    assert camera.show(SECOND)
    camera.begin("")
    assert camera.show(2 * SECOND, "odom")
    camera.begin("f")
    assert not camera.show(3 * SECOND, "odom", within_s=1.0) and camera.show(3 * SECOND)
    assert 2 * SECOND not in on_disk(tmp_path / "e") | on_disk(tmp_path / "f")


def test_a_missing_part_is_not_acknowledged_until_it_comes(ros: Any, tmp_path: Path) -> None:
    camera = Camera(ros, tmp_path)
    assert camera.show(SECOND)
    assert not camera.show(2 * SECOND, "depth", within_s=1.5)
    assert camera.show(2 * SECOND)
    camera.taken.clear()
    assert camera.show(2 * SECOND)  # asked for again: it is there already
    camera.begin("")
    assert [f.stamp_ns for f in BagHistory(tmp_path / "e")] == [SECOND, 2 * SECOND]


def test_an_image_for_which_there_was_no_room_is_taken_in_when_it_comes_again(
        ros: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first depth image finds no room; the bridge shows the observation again."""
    camera, refused = Camera(ros, tmp_path), no_room_once(monkeypatch)
    assert camera.show(SECOND) and refused == [SECOND]
    camera.begin("")
    assert len(list(BagHistory(tmp_path / "e"))) == 1


def test_a_robot_whose_topics_share_no_stamps_is_recorded_in_the_order_of_its_clock(ros: Any, tmp_path: Path) -> None:
    camera = Camera(ros, tmp_path)
    assert camera.show(SECOND)
    for k in range(2, 5):
        camera.send(k * SECOND, "depth", "camera_info", "odom")
        camera.send(k * SECOND + 10_000_000, "color", "tf", "camera_info")
        until(lambda at=k * SECOND + 10_000_000: camera.recorder.last_ns >= at)
    camera.begin("")
    found = on_disk(tmp_path / "e")
    assert {k * SECOND + 10_000_000 for k in (2, 3, 4)} <= found.keys()
    transforms = sorted(stamp for stamp, topics in found.items() if "/tf" in topics)
    assert len(transforms) > 1 and transforms[-1] > 3 * SECOND  # each with the newest stamp of an image or of odometry
    assert [f.stamp_ns for f in BagHistory(tmp_path / "e")] == [SECOND, 2 * SECOND, 3 * SECOND, 4 * SECOND]
    assert not camera.recorder.counts


def test_a_full_disk_is_counted_and_holds_nobody_up(ros: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    camera = Camera(ros, tmp_path)
    assert camera.show(SECOND)

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    bag = camera.recorder._recording.bag
    monkeypatch.setattr(bag._file._stream, "write", full)
    assert camera.show(2 * SECOND)  # refused for good, which is what the bridge waits for
    monkeypatch.undo()
    assert any("No space left on device" in reason for reason in camera.recorder.counts)
    with pytest.raises(EqaError, match="No space left on device") as told:  # acknowledged, and not in the bag
        camera.begin("")
    assert told.value.code == ErrorCode.STORAGE
    assert [f.stamp_ns for f in BagHistory(tmp_path / "e")] == [SECOND]


def test_a_wrong_option_is_named_at_the_start(ros: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="known are jpeg, png, raw"):
        ros.add(RecorderNode, folder=str(tmp_path), bag__color="gif")
