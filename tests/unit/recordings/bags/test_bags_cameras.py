"""Bags of cameras on their side, in other units, binned, cut out or half as fine give the frames of a usual camera."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np
import pytest

from eqa_nodes.core.types.geometry import Pose2, Transform, compose
from eqa_nodes.recordings.bags.history import BagHistory, BagOptions
from tests.fixtures.foreign_bags import BEGIN, COLOR, DEPTH, IMAGE, INFO, OPTICAL, STEP, Row, StandardCdr
from tests.fixtures.frames import MOUNT, H, W
from tests.fixtures.odd_cameras import ODD_CAMERAS, OddCamera, assert_is_the_view, view

TF = "tf2_msgs/msg/TFMessage"
LABELS = "/labels/image_raw"
TOPICS = {"color": (COLOR, "sensor_msgs/msg/Image"), "depth": (DEPTH, "sensor_msgs/msg/Image"),
          "camera_info": (INFO, "sensor_msgs/msg/CameraInfo")}


def bag_of(cdr: StandardCdr, camera: OddCamera, folder: Path, count: int = 3, labels: np.ndarray | None = None,
           depth_mount: Transform | None = None) -> Path:
    """Write what a robot with this camera records on the spot; depth_mount: of a camera of its own, with its info."""
    mounted = [cdr.tf("base_link", OPTICAL, BEGIN, camera.mount)]
    mounted += [cdr.tf("base_link", "depth_optical", BEGIN, depth_mount)] if depth_mount is not None else []
    rows = [Row("/tf_static", TF, BEGIN - STEP, cdr(TF, transforms=mounted))]
    for stamp in range(BEGIN, BEGIN + count * STEP, STEP):
        rows.append(Row("/tf", TF, stamp, cdr(TF, transforms=[
            cdr.tf("map", "base_link", stamp, Pose2(-3.0, 7.0, 0.4).transform())])))
        for part, message in camera.messages(cdr, stamp).items():
            topic, kind = TOPICS[part]
            if part == "camera_info" and depth_mount is not None:
                own = replace(message, header=cdr.header(stamp, "depth_optical"))
                rows.append(Row(f"{PurePosixPath(DEPTH).parent}/camera_info", kind, stamp,
                                bytes(cdr._store.serialize_cdr(own, kind))))
            if part == "depth" and depth_mount is not None:
                message = replace(message, header=cdr.header(stamp, "depth_optical"))
            rows.append(Row(topic, kind, stamp, bytes(cdr._store.serialize_cdr(message, kind))))
        if labels is not None:
            rows.append(Row(LABELS, IMAGE, stamp, cdr(
                IMAGE, header=cdr.header(stamp, OPTICAL), height=labels.shape[0], width=labels.shape[1],
                encoding="16UC1", is_bigendian=0, step=labels.strides[0], data=labels.reshape(-1).view(np.uint8))))
    return cdr.write(folder, rows)


@pytest.mark.parametrize("made", ODD_CAMERAS.values(), ids=ODD_CAMERAS)
def test_frames_are_those_of_a_usual_camera(made: Callable[[np.ndarray, np.ndarray], OddCamera],
                                            standard_cdr: StandardCdr, tmp_path: Path) -> None:
    camera = made(*view())
    history = BagHistory(bag_of(standard_cdr, camera, tmp_path / "bag"),
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
    history = BagHistory(bag_of(standard_cdr, camera, tmp_path / "bag"))
    assert not list(history)
    (why, count), *_ = history.dropped.most_common()
    assert count == 3 and np.any([part in why for part in reason.split(" .* ")])


def test_labels_stay_as_they_are_when_images_are_rectified_and_turned(standard_cdr: StandardCdr,
                                                                      tmp_path: Path) -> None:
    """Whoever labelled the images looked at upright, rectified ones."""
    made = ODD_CAMERAS["turned by 90 degrees"](*view())
    camera = made._replace(info=made.info | {"d": np.array([-0.2, 0.05, 0.001, -0.001, 0.0])})
    names = np.arange(H * W, dtype=np.uint16).reshape(H, W)
    bag = bag_of(standard_cdr, camera, tmp_path / "bag", labels=names)
    frame, *_ = BagHistory(bag)
    assert frame.labels is not None and np.array_equal(frame.labels, names)
    straight, *_ = BagHistory(bag_of(standard_cdr, made, tmp_path / "straight"))
    assert frame.rgb.shape == straight.rgb.shape and not np.array_equal(frame.rgb, straight.rgb)
    assert frame.depth_m.shape == names.shape and frame.intrinsics == straight.intrinsics
    assert np.allclose(frame.base_from_camera.matrix(), MOUNT.matrix(), atol=1e-9)


def test_depth_of_a_camera_beside_colour_is_aligned(standard_cdr: StandardCdr, tmp_path: Path) -> None:
    """A wall 2 m ahead, seen from 0.1 m to the right: 0.1 / 2 * 32 = 1.6 pixels, and 2 columns without a return."""
    beside = compose(MOUNT, Transform((0.1, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
    camera = OddCamera(view()[0], np.full((H, W), 2.0, np.float32), "32FC1")
    frame, *_ = BagHistory(bag_of(standard_cdr, camera, tmp_path / "bag", depth_mount=beside))
    assert np.array_equal(frame.rgb, camera.rgb) and np.allclose(frame.base_from_camera.matrix(), MOUNT.matrix())
    assert np.allclose(frame.depth_m[:, 2:], 2.0) and not frame.depth_m[:, :2].any()
