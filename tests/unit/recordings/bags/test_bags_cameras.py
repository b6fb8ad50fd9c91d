"""Bags of cameras on their side, in other units, binned, cut out or half as fine give the frames of a usual camera."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.recordings.bags.history import BagOptions, read_history
from tests.fixtures.foreign_bags import BEGIN, COLOR, DEPTH, INFO, OPTICAL, STEP, Row, StandardCdr
from tests.fixtures.odd_cameras import ODD_CAMERAS, OddCamera, assert_is_the_view, view

TF = "tf2_msgs/msg/TFMessage"
TOPICS = {"color": (COLOR, "sensor_msgs/msg/Image"), "depth": (DEPTH, "sensor_msgs/msg/Image"),
          "camera_info": (INFO, "sensor_msgs/msg/CameraInfo")}


def bag_of(cdr: StandardCdr, camera: OddCamera, folder: Path, count: int = 3) -> Path:
    """Write what a robot with this camera records on the spot."""
    mounted = cdr.tf("base_link", OPTICAL, BEGIN, camera.mount)
    rows = [Row("/tf_static", TF, BEGIN - STEP, cdr(TF, transforms=[mounted]))]
    for stamp in range(BEGIN, BEGIN + count * STEP, STEP):
        rows.append(Row("/tf", TF, stamp, cdr(TF, transforms=[
            cdr.tf("map", "base_link", stamp, Pose2(-3.0, 7.0, 0.4).transform())])))
        for part, message in camera.messages(cdr, stamp).items():
            topic, kind = TOPICS[part]
            rows.append(Row(topic, kind, stamp, bytes(cdr._store.serialize_cdr(message, kind))))
    return cdr.write(folder, rows)


@pytest.mark.parametrize("made", ODD_CAMERAS.values(), ids=ODD_CAMERAS)
def test_frames_are_those_of_a_usual_camera(made: Callable[[np.ndarray, np.ndarray], OddCamera],
                                            standard_cdr: StandardCdr, tmp_path: Path) -> None:
    camera = made(*view())
    history = read_history(bag_of(standard_cdr, camera, tmp_path / "bag"),
                           options=BagOptions(depth_unit_m=camera.unit_m))
    frames = list(history)
    assert len(frames) == 3 and not history.dropped
    for frame in frames:
        assert_is_the_view(frame)


@pytest.mark.parametrize(("camera", "reason"), [
    (OddCamera(view()[0], np.ones((40, 64), np.uint16)), "depth is 64x40, the camera_info of colour 64x48: one is no"),
    (OddCamera(view()[0], np.ones((1, 1), np.uint16)), "depth is 1x1, the camera_info of colour 64x48"),
    (OddCamera(*view(), "32FC1", {"binning_x": 3, "binning_y": 3, "width": 128, "height": 96}),
     "image has 64x48 pixels, its camera_info says 128x96"),
    (OddCamera(*view(), "32FC1", mount=OddCamera(*view()).mount._replace(xyzw=(-0.503, 0.503, -0.503, 0.503))),
     "no valid transform of 'cam_color_optical_frame': .* whose norm is 1.006")])
def test_what_fits_nothing_is_named_with_a_remedy(camera: OddCamera, reason: str, standard_cdr: StandardCdr,
                                                  tmp_path: Path) -> None:
    history = read_history(bag_of(standard_cdr, camera, tmp_path / "bag"))
    assert not list(history)
    (why, count), *_ = history.dropped.most_common()
    assert count == 3 and np.any([part in why for part in reason.split(" .* ")])
