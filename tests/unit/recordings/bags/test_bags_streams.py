"""Lenses, streams and damage in bags of other people's robots."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.camera.image_geometry import Distortion, Rectifier
from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.wire import images
from tests.fixtures.foreign_bags import (
    BEGIN,
    BENT,
    COMPRESSED,
    INFO,
    MUTATIONS,
    STEP,
    Row,
    Scene,
    StandardCdr,
    depth_png,
    frames_of,
    inverse_depth_png,
    jpeg,
    mutated,
)
from tests.fixtures.frames import F, H, W

# ---- lenses


def test_straight_lines_are_straight_again() -> None:
    """A grid seen through the lens: the model is applied here point by point, in the other direction than the maps."""
    matrix = (200.0, 210.0, 159.5, 119.5)
    maps = Rectifier(Distortion(BENT, matrix, matrix, 320, 240))
    bent = np.zeros((240, 320), np.float32)
    k1, k2, p1, p2, k3 = BENT
    for u, v in ((160, 120), (60, 50), (250, 200), (100, 180), (30, 120)):
        x, y = (u - 159.5) / 200, (v - 119.5) / 210
        r2 = x * x + y * y
        radial = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
        du = 200 * (x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)) + 159.5
        dv = 210 * (y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y) + 119.5
        bent[:] = 0
        bent[round(dv) - 1:round(dv) + 2, round(du) - 1:round(du) + 2] = 2.0
        straight = maps.nearest(bent)
        assert straight[v, u] == 2.0 and np.count_nonzero(straight) < 25
        gray = np.repeat((bent * 100).astype(np.uint8)[..., None], 3, axis=-1)
        assert (maps.rgb(gray)[v, u] == 200).all()


def test_a_lens_that_bends_nothing_changes_nothing() -> None:
    matrix = (32.0, 32.0, 31.5, 23.5)
    maps = Rectifier(Distortion((), matrix, matrix, W, H))
    rgb = np.random.default_rng(0).integers(0, 256, (H, W, 3)).astype(np.uint8)
    assert np.array_equal(maps.rgb(rgb), rgb) and np.array_equal(maps.nearest(rgb[..., 0]), rgb[..., 0])


def test_a_bent_bag_is_rectified_and_a_rectified_one_is_left_as_it_is(scene: Scene, tmp_path: Path) -> None:
    p = np.array([30.0, 0, 30.5, 0, 0, 30.0, 22.5, 0, 0, 0, 1, 0])
    scene.info_fields = {"d": np.array(BENT), "p": p}
    k = (F, F, W / 2 - 0.5, H / 2 - 0.5)
    maps = Rectifier(Distortion(BENT, k, k, W, H))
    for i, frame in enumerate(frames_of(scene, tmp_path / "raw")):
        assert np.array_equal(frame.rgb, maps.rgb(scene.rgb(i)))
        assert np.array_equal(frame.depth_m, maps.nearest(scene.depth_m(i)))
        assert frame.intrinsics == (W, H, F, F, W / 2, H / 2)
    scene.color, scene.depth = "/cam/color/image_rect_color", "/cam/depth_registered/image_rect"
    for i, frame in enumerate(frames_of(scene, tmp_path / "rectified")):
        assert np.array_equal(frame.rgb, scene.rgb(i)) and np.array_equal(frame.depth_m, scene.depth_m(i))
        assert frame.intrinsics == (W, H, 30.0, 30.0, 31.0, 23.0)


def test_an_unknown_lens_is_refused_unless_the_images_are_rectified(scene: Scene, tmp_path: Path) -> None:
    scene.info_fields = {"d": np.array(BENT[:4]), "distortion_model": "omnidirectional"}
    folder = scene.cdr.write(tmp_path / "bag", scene.rows())
    with pytest.raises(BadFrame, match="distortion 'omnidirectional' with 4 coefficients cannot be taken out"):
        BagHistory(folder)
    scene.color, scene.depth = "/cam/color/image_rect_color", "/cam/depth_registered/image_rect"
    assert len(frames_of(scene, tmp_path / "rectified")) == scene.count


# ---- streams

def test_camera_info_may_come_once_and_late(scene: Scene, tmp_path: Path) -> None:
    rows = [row for row in scene.rows() if row.topic != INFO]
    late = Row(INFO, "sensor_msgs/msg/CameraInfo", scene.stamp(4), scene.camera_info(scene.stamp(4)))
    assert len(list(BagHistory(scene.cdr.write(tmp_path / "bag", [*rows, late])))) == scene.count


def test_intrinsics_are_those_of_the_nearest_stamp(scene: Scene, tmp_path: Path) -> None:
    rows = [row for row in scene.rows() if row.topic != INFO]
    for i in range(scene.count):
        k = np.array([F + i, 0, 31.5, 0, F, 23.5, 0, 0, 1], np.float64)
        rows.append(Row(INFO, "sensor_msgs/msg/CameraInfo", scene.stamp(i) + 5, scene.camera_info(scene.stamp(i), k=k)))
    frames = list(BagHistory(scene.cdr.write(tmp_path / "bag", rows)))
    assert [f.intrinsics.fx for f in frames] == [F + i for i in range(scene.count)]


def test_transforms_may_be_recorded_later_than_the_images(scene: Scene, tmp_path: Path) -> None:
    rows = [row._replace(log_ns=row.log_ns + STEP * 15 // 2) if row.topic == "/tf" else row for row in scene.rows()]
    assert len(list(BagHistory(scene.cdr.write(tmp_path / "bag", rows)))) == scene.count


def test_a_long_bag_needs_no_more_memory_than_a_short_one(standard_cdr: StandardCdr, tmp_path: Path) -> None:
    peaks = []
    for count in (100, 400):
        scene = Scene(standard_cdr, count)
        folder = standard_cdr.write(tmp_path / str(count), scene.rows(), "sqlite3")
        history = BagHistory(folder)
        tracemalloc.start()
        assert sum(1 for _ in history) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0] < 400 * 2 * H * W, peaks  # half a minute of transforms is kept, and few images


def test_images_of_two_seconds_at_most_wait_for_a_pose(scene: Scene, tmp_path: Path) -> None:
    scene.count = 60
    rows = [row for row in scene.rows() if row.topic != "/tf" or row.log_ns < scene.stamp(5)]
    history = BagHistory(scene.cdr.write(tmp_path / "bag", rows))
    assert len(list(history)) == 5
    assert sum(history.dropped.values()) == 55 and "no transform" in next(iter(history.dropped))


def test_time_may_jump_back(standard_cdr: StandardCdr, tmp_path: Path) -> None:
    """A simulation that begins anew: the images after it have poses again, those before it keep theirs."""
    later = Scene(standard_cdr)
    later.stamp = lambda i: BEGIN + 100 * 10**9 + i * STEP  # type: ignore[method-assign]
    again = [row._replace(log_ns=row.log_ns + 200 * 10**9) for row in Scene(standard_cdr).rows()]
    history = BagHistory(standard_cdr.write(tmp_path / "bag", [*later.rows(), *again]))
    assert [f.stamp_ns for f in history] == [s.stamp(i) for s in (later, Scene(standard_cdr)) for i in range(6)]


@pytest.mark.parametrize("back_s", [2, 5, 29, 31])
def test_poses_from_before_and_after_a_clock_was_set_back_are_not_mixed(standard_cdr: StandardCdr, tmp_path: Path,
                                                                        back_s: int) -> None:
    """The recorder's own clock goes on: the same stamps come twice in one bag, from two places."""
    before, after = Scene(standard_cdr, 40), Scene(standard_cdr, 40)
    before.tf_late_ns = after.tf_late_ns = STEP // 3
    shift_ns = (5 - back_s) * 10**9 + STEP // 2
    after.stamp = lambda i: BEGIN + shift_ns + i * STEP  # type: ignore[method-assign]
    after.x = lambda stamp_ns: 100.0 + (stamp_ns - BEGIN - shift_ns) / 1e9  # type: ignore[method-assign]
    later = [row._replace(log_ns=row.log_ns + back_s * 10**9) for row in after.rows()]
    frames = list(BagHistory(standard_cdr.write(tmp_path / "bag", [*before.rows(), *later])))
    xs = [frame.map_from_base.xyz[0] for frame in frames]
    assert len(frames) >= 77 and sorted(xs) == xs
    assert all((before if x < 50 else after).x(frame.stamp_ns) == pytest.approx(x)
               for frame, x in zip(frames, xs, strict=True))


def test_a_wild_stamp_among_the_transforms_spoils_little(standard_cdr: StandardCdr, tmp_path: Path) -> None:
    scene = Scene(standard_cdr, 40)
    wild = Row("/tf", "tf2_msgs/msg/TFMessage", scene.stamp(10) + 1, scene.moving(scene.stamp(10**6)))
    assert len(list(BagHistory(standard_cdr.write(tmp_path / "bag", [*scene.rows(), wild])))) >= 38


def test_images_wait_in_bounded_memory(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in scene.rows() if row.topic != "/tf" or row.log_ns > scene.stamp(3)]
    late = [Row("/tf", "tf2_msgs/msg/TFMessage", scene.stamp(4), scene.moving(scene.stamp(-1)))]
    folder = scene.cdr.write(tmp_path / "bag", [*rows, *late])
    assert len(list(BagHistory(folder))) == scene.count
    monkeypatch.setattr("eqa_nodes.wire.pairing._HOLD_BYTES", 2 * 7 * H * W)  # two images of each kind
    history = BagHistory(folder)
    assert 0 < len(list(history)) < scene.count and any("no transform" in why for why in history.dropped)


# ---- hostile bags

@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_bag_that_is_cut_short_is_named(scene: Scene, tmp_path: Path, storage: str) -> None:
    whole = next(scene.cdr.write(tmp_path / "bag", scene.rows(), storage).glob("bag.*")).read_bytes()
    file = tmp_path / f"cut.{'mcap' if storage == 'mcap' else 'db3'}"
    for share in np.linspace(0, 0.99, 25):
        file.write_bytes(whole[:int(share * len(whole))])
        with pytest.raises(StorageError, match="cannot be read|no topic"):
            list(BagHistory(file))


def test_mutated_images_give_pixels_or_a_named_error(standard_cdr: StandardCdr) -> None:
    rng = np.random.default_rng(7)
    scene = Scene(standard_cdr)
    packed = {"jpeg": jpeg(scene.rgb(0)), "16UC1; compressedDepth png": depth_png(scene.depth_m(0)),
              "32FC1; compressedDepth png": inverse_depth_png(scene.depth_m(0))}
    for text, data in packed.items():
        for _ in range(MUTATIONS):
            changed = mutated(np.frombuffer(data, np.uint8), rng)
            message = standard_cdr.make(COMPRESSED, format=text, data=np.frombuffer(changed, np.uint8))
            try:
                pixels = images.rgb_of(message) if text == "jpeg" else images.depth_of(message)
            except BadFrame:
                continue
            assert pixels.ndim == (3 if text == "jpeg" else 2) and np.isfinite(pixels).all()
