"""Bags of ROS 1 are episode histories, and everything else that reads bags reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.recordings.histories import format_of, open_history
from tests.fixtures.foreign_bags import BENT, DEPTH, Scene, depth_png, jpeg
from tests.fixtures.frames import MOUNT, F, H, W
from tests.fixtures.ros1_bags import write_ros1


@pytest.mark.parametrize("compression", ["", "bz2", "lz4"])
def test_a_bag_of_ros_1_is_read_as_it_is(scene: Scene, tmp_path: Path, compression: str) -> None:
    path = write_ros1(tmp_path / "tour.bag", scene.rows(), compression)
    assert format_of(path) == "bag"
    history = open_history(path)
    frames = list(history)
    assert (history.name, len(history), len(frames)) == ("tour", scene.count, scene.count) and not history.dropped
    for i, frame in enumerate(frames):
        assert frame.stamp_ns == scene.stamp(i)
        assert np.array_equal(frame.rgb, scene.rgb(i)) and np.array_equal(frame.depth_m, scene.depth_m(i))
        assert frame.intrinsics == (W, H, F, F, W / 2, H / 2)
        assert frame.map_from_base.xyz == pytest.approx((scene.x(frame.stamp_ns), 0, 0), abs=1e-6)
        assert frame.base_from_camera == Transform((0.0, 0.0, 1.2), MOUNT.xyzw)


def test_compressed_images_and_lens_distortion(scene: Scene, tmp_path: Path) -> None:
    scene.color, scene.pack_color = scene.color + "/compressed", scene.compressed("rgb8; jpeg compressed bgr8", jpeg)
    scene.depth, scene.pack_depth = DEPTH + "/compressedDepth", scene.compressed("16UC1; compressedDepth", depth_png)
    scene.info_fields = {"d": np.array(BENT)}
    frames = list(open_history(write_ros1(tmp_path / "tour.bag", scene.rows())))
    assert len(frames) == scene.count
    assert np.abs(frames[0].rgb[H // 2, W // 2].astype(int) - scene.rgb(0)[H // 2, W // 2]).max() < 12
    assert frames[0].rgb[0, 0].tolist() != scene.rgb(0)[0, 0].tolist()  # the lens bends the corners


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_a_bag_that_was_cut_off_is_named(scene: Scene, tmp_path: Path, keep: float) -> None:
    path = write_ros1(tmp_path / "tour.bag", scene.rows())
    data = path.read_bytes()
    path.write_bytes(data[:int(keep * len(data))])
    with pytest.raises(StorageError, match=r"tour.bag cannot be read: .*rosbag reindex .*tour.bag"):
        open_history(path)


def test_a_file_that_is_no_bag_is_named(tmp_path: Path) -> None:
    (tmp_path / "tour.bag").write_text("hello")
    with pytest.raises(StorageError, match=r"tour.bag cannot be read: .*magic"):
        open_history(tmp_path / "tour.bag")


def test_a_chunk_that_unpacks_to_too_much_is_refused(scene: Scene, tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqa_nodes.recordings.bags.bag_files.MAX_BYTES", 1000)
    with pytest.raises(StorageError, match="unpacks to more than 1000 bytes"):
        list(open_history(write_ros1(tmp_path / "tour.bag", scene.rows(), "lz4")))
