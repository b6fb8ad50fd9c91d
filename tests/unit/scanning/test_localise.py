"""`eqa history localise`: real images, folders and bags without poses, and the files that are written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import BadFrame, ConfigError, StorageError
from eqa_nodes.recordings.formats.rgbd_folder import read_trajectory
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.scanning.unposed import FolderOptions, open_unposed
from tests.fixtures.data import shared_data
from tests.fixtures.foreign_bags import Scene, StandardCdr


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """The real images without their trajectory."""
    for kind in ("color", "depth"):
        shutil.copytree(shared_data("rgbd-real") / kind, tmp_path / "real" / kind)
    return tmp_path / "real"


def test_real_neighbours_are_within_5_mm_and_a_third_of_a_degree(real: Path, capsys: pytest.CaptureFixture[str]
                                                                 ) -> None:
    pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")
    from eqa_nodes.core.reconstruction.odometry import moved

    out = real.with_name("out")
    assert main(["history", "localise", str(real), "--out", str(out)]) == 0
    truth = read_trajectory(shared_data("rgbd-real") / "trajectory.log")
    found = [frame.map_from_camera() for frame in open_history(out)]
    assert len(found) == len(truth) == 5
    for a, b in zip(range(4), range(1, 5), strict=True):
        metres, degrees = moved(np.linalg.inv(np.linalg.inv(truth[a]) @ truth[b]) @ np.linalg.inv(found[a]) @ found[b])
        assert metres <= 0.005 and degrees <= 0.3
    told, report = capsys.readouterr().out, json.loads((out / "localisation.json").read_text())
    assert "5 of 5 frames localised" in told and "the drift is not known" in told and "levelled by the floor" in told
    assert report["localised"] == 5 and report["refused"] == [] and report["odometry_drift"]["median_m"] is None
    assert main(["history", "localise", str(real), "--out", str(out)]) == 2
    assert "not empty" in capsys.readouterr().err


def test_a_folder_says_what_it_lacks(real: Path) -> None:
    assert len(list(open_unposed(real))) == 5
    with pytest.raises(ConfigError, match="unknown depth format 'cm'"):
        open_unposed(real, FolderOptions(depth_format="cm"))
    with pytest.raises(ConfigError, match="wanted fx,fy,cx,cy"):
        open_unposed(real, FolderOptions(camera=(525.0,)))
    wrong = open_unposed(real, FolderOptions(camera=(525.0, 525.0, 900.0, 240.0)))
    assert not list(wrong) and "does not belong to an image of 640x480" in next(iter(wrong.dropped))
    (real / "color" / "00004.jpg").unlink()
    with pytest.raises(StorageError, match="4 colour and 5 depth images"):
        open_unposed(real)
    shutil.rmtree(real / "color")
    (real / "color").mkdir()
    with pytest.raises(StorageError, match="0 colour and 5 depth images"):
        open_unposed(real)
    with pytest.raises(StorageError, match="there is no"):
        open_unposed(real / "nowhere")


def test_stamps_in_names_pair_the_images(real: Path) -> None:
    for i, late in enumerate((0.004, 0.006, 0.3)):
        (real / "color" / f"{i:05d}.jpg").rename(real / "color" / f"{100 + i / 10:.6f}.jpg")
        (real / "depth" / f"{i:05d}.png").rename(real / "depth" / f"{100 + i / 10 + late:.6f}.png")
    for kind in ("color", "depth"):
        for path in (real / kind).glob("0*"):
            path.unlink()
    assert [image.stamp_ns for image in open_unposed(real)] == [100_000_000_000, 100_100_000_000]


def test_the_camera_of_other_sizes_comes_from_a_file(real: Path) -> None:
    (real / "intrinsic.json").write_text(json.dumps({"intrinsic_matrix": [600, 0, 0, 0, 601, 0, 319.5, 239.5, 1]}))
    k = next(iter(open_unposed(real))).intrinsics
    assert (k.fx, k.fy, k.cx, k.cy) == (600, 601, 320, 240)
    (real / "intrinsic.json").write_text("{}")
    with pytest.raises(StorageError, match="not the camera file"):
        open_unposed(real)


def test_a_bag_needs_no_transforms(tmp_path: Path) -> None:
    scene = Scene(StandardCdr())
    rows = [row for row in scene.rows() if "tf" not in row.topic and "odom" not in row.topic]
    bag = scene.cdr.write(tmp_path / "bag", rows)
    with pytest.raises(StorageError, match="does not say where the robot was"):
        open_history(bag)
    images = list(open_unposed(bag))
    assert len(images) == scene.count
    assert np.array_equal(images[2].rgb, scene.rgb(2)) and np.allclose(images[2].depth_m, scene.depth_m(2), atol=1e-3)


def test_images_that_no_pose_can_come_from_end_in_a_named_error(real: Path) -> None:
    pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")
    from eqa_nodes.scanning.localise import localise

    for path in sorted((real / "depth").iterdir())[1:]:
        path.unlink()
    for path in sorted((real / "color").iterdir())[1:]:
        path.unlink()
    with pytest.raises(BadFrame, match="at least two are needed"):
        localise(open_unposed(real), real.with_name("out"))
    assert not real.with_name("out").exists()
