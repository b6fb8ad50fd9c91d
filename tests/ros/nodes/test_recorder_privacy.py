"""What must not be kept never reaches the bag: it is blacked out first, and what cannot be masked is not recorded."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.ros import convert
from eqa_nodes.wire import cdr, messages
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.recorder_rig import DEPTH, RGB, SECOND, SECRET, Camera, Labelled, no_room_once, on_disk

SHARES = [0.25, 1 / 6, 0.75, 0.5]
MARK, MARK_DEPTH = RGB[10, 20:40].tobytes(), DEPTH[10, 20:40].tobytes()
PACKED = {"bag__color": "png", "bag__depth": "png"}
PLAIN = {"bag__compression": "none"}  # so that the bytes of images can be looked for in the files


def _files(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


@pytest.mark.parametrize(("masks", "stored"), [
    ({}, {}), ({"memory__privacy__image": SHARES}, {}), ({"memory__privacy__kinds": ["person"]}, PACKED),
    ({"memory__privacy__kinds": ["person"], "labels_from": "detector"}, {})],
    ids=["nothing", "image", "kinds, compressed", "detected kinds"])
def test_what_is_hidden_is_black_in_the_bag(ros: Any, tmp_path: Path, masks: dict[str, Any],
                                            stored: dict[str, str]) -> None:
    camera = Labelled(ros, tmp_path, **PLAIN, **stored, **masks)
    assert camera.show(SECOND) and camera.show(2 * SECOND) and camera.show(2 * SECOND)
    assert len(on_disk(tmp_path / "e")[2 * SECOND] & {"/odom", "/camera/color/camera_info"}) == 2
    camera.begin("")
    frames = list(BagHistory(tmp_path / "e"))
    assert [f.stamp_ns for f in frames] == [SECOND, 2 * SECOND] and not camera.recorder.counts
    rgb, depth = RGB.copy(), DEPTH.copy()
    if masks:
        rgb[SECRET], depth[SECRET] = 0, 0.0
    for f in frames:
        assert np.array_equal(f.rgb, rgb) and np.abs(f.depth_m - depth).max() <= 0.00051
        assert not masks or not f.depth_m[SECRET].any()
    if not stored:
        found = _files(tmp_path)
        assert (MARK in found, MARK_DEPTH in found) == (not masks, not masks)


def test_zones_of_the_map(ros: Any, tmp_path: Path) -> None:
    """All that lies to the left of the robot's way, which leads along x."""
    camera = Camera(ros, tmp_path, memory__privacy__zones=[-99.0, 0.0, 99.0, 99.0])
    assert camera.show(SECOND) and camera.show(2 * SECOND)
    camera.begin("")
    for f in BagHistory(tmp_path / "e"):
        assert not f.rgb[:, :32].any() and not f.depth_m[:, :32].any()
        assert np.array_equal(f.rgb[:, 32:], RGB[:, 32:]) and np.array_equal(f.depth_m[:, 32:], DEPTH[:, 32:])


@pytest.mark.parametrize(("masks", "lack", "reason"), [
    ({"memory__privacy__zones": [9.0, 9.0, 10.0, 10.0]}, "tf", "no transform"),
    ({"memory__privacy__kinds": ["person"]}, "labels", "no labels"),
    ({"memory__privacy__kinds": ["person"]}, "label_table", "no label_table")])
def test_what_cannot_be_masked_is_refused_and_acknowledged(ros: Any, tmp_path: Path, masks: dict[str, Any], lack: str,
                                                           reason: str) -> None:
    camera = Labelled(ros, tmp_path, **PLAIN, **masks)
    assert camera.show(SECOND)
    assert camera.show(2 * SECOND, lack)
    found = on_disk(tmp_path / "e")[2 * SECOND] - {"/tf"}  # transforms have the log time of whatever came last
    assert found == {"/odom", "/camera/color/camera_info"}
    camera.taken.clear()
    assert camera.show(2 * SECOND, within_s=3.0)  # asked for again: it stays refused
    assert camera.show(3 * SECOND)
    camera.begin("")
    assert [f.stamp_ns for f in BagHistory(tmp_path / "e")] == [SECOND, 3 * SECOND]
    assert camera.recorder.counts == {f"images not recorded: {reason}": 1}


def test_a_part_that_comes_late_is_waited_for(ros: Any, tmp_path: Path) -> None:
    camera = Labelled(ros, tmp_path, memory__privacy__kinds=["person"])
    assert camera.show(SECOND)
    assert not camera.show(2 * SECOND, "camera_info", within_s=2.5)  # as without privacy
    assert camera.show(2 * SECOND)
    camera.begin("")
    assert not camera.recorder.counts
    assert [f.stamp_ns for f in BagHistory(tmp_path / "e")] == [SECOND, 2 * SECOND]


def test_what_still_waits_at_the_end_is_counted(ros: Any, tmp_path: Path) -> None:
    camera = Camera(ros, tmp_path, memory__privacy__image=SHARES)
    assert camera.show(SECOND)
    assert not camera.show(2 * SECOND, "color", within_s=1.0)
    camera.begin("")
    assert camera.recorder.counts == {"images not recorded: no color": 1}
    assert "/camera/depth/image_raw" not in on_disk(tmp_path / "e")[2 * SECOND]


def test_an_image_that_found_no_room_is_masked_again(ros: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    camera = Camera(ros, tmp_path, **PLAIN, memory__privacy__image=SHARES)
    refused = no_room_once(monkeypatch)
    assert camera.show(SECOND) and refused == [SECOND]
    camera.begin("")
    frame, = BagHistory(tmp_path / "e")
    assert not frame.rgb[SECRET].any() and frame.rgb.any() and MARK not in _files(tmp_path)


def test_without_privacy_no_image_is_decoded(ros: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(*_: Any) -> Any:
        raise AssertionError("an image was decoded")

    monkeypatch.setattr(cdr, "decoded", decode)
    monkeypatch.setattr("eqa_nodes.recordings.bags.compress.decoded", decode)
    monkeypatch.setattr("eqa_nodes.ros.recorded.decoded", decode)
    camera = Camera(ros, tmp_path)
    raw = [s for s in camera.recorder.subscriptions if s.topic_name in ("/camera/color/image_raw",
                                                                        "/camera/depth/image_raw")]
    assert [s.raw for s in raw] == [True, True]
    assert camera.show(SECOND)
    assert not camera.recorder.counts
    heard = {s.topic_name for s in camera.recorder.subscriptions}
    assert "/" + TOPICS["labels"].name not in heard
    monkeypatch.undo()
    camera.begin("")
    assert np.array_equal(next(iter(BagHistory(tmp_path / "e"))).rgb, RGB)


def test_stamps_and_encodings_stay(ros: Any, tmp_path: Path) -> None:
    from mcap.reader import make_reader

    camera = Camera(ros, tmp_path, memory__privacy__image=SHARES)
    assert camera.show(SECOND)
    camera.begin("")
    encodings = {}
    for file in (tmp_path / "e").glob("*.mcap"):
        with file.open("rb") as stream:
            for schema, channel, message in make_reader(stream).iter_messages():
                if schema.name == cdr.IMAGE:
                    image = cdr.decoded(message.data, cdr.IMAGE)
                    assert messages.stamp_of(image) == message.log_time == SECOND
                    assert image.header.frame_id == convert.CAMERA
                    encodings[channel.topic] = image.encoding
    assert encodings == {"/camera/color/image_raw": "rgb8", "/camera/depth/image_raw": "32FC1"}
