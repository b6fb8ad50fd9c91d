"""Detections of other nodes' messages: 2D and 3D boxes, yolo_ros, label images."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import BadPose, ModelError
from eqa_nodes.core.perception.detection import sound
from eqa_nodes.core.types.views import Frame
from eqa_nodes.wire.detection_messages import DETECTION_TYPES, label_names, named
from eqa_nodes.wire.graph import RECEIVED
from tests.fixtures.detection_messages import array, box_2d, box_3d, label_image, yolo
from tests.fixtures.frames import H, W, frame

NAN, NAMES = math.nan, {0: "cup", 7: "bed"}
IN_IMAGE, IN_SPACE, YOLO, LABELS = RECEIVED


def seen() -> Frame:
    """Return a wall 2 m ahead with a block 1.5 m ahead before it."""
    shown = frame(1)
    depth = shown.depth_m.copy()
    depth[10:20, 20:30] = 1.5
    return replace(shown, depth_m=depth)


def read(kind: str, message: Any, names: dict[int, str] = NAMES, source: np.ndarray = np.eye(4)) -> list[Any]:
    return DETECTION_TYPES[kind].read(message, seen(), names, source)


def test_every_type_of_the_graph_is_read_and_no_other() -> None:
    assert tuple(DETECTION_TYPES) == RECEIVED and [t for t in RECEIVED if DETECTION_TYPES[t].placed] == [IN_SPACE]


def test_boxes_in_the_image_have_their_best_hypothesis_and_come_in_order() -> None:
    found = read(IN_IMAGE, array(box_2d((1, 2, 11, 22), ("cup", 0.25), ("mug", 0.75)),
                                 box_2d((3, 4, 9, 9), ("7", 0.9))))
    assert [(d.name, d.score, d.box, d.mask) for d in found] == [
        ("bed", 0.9, (3, 4, 9, 9), None), ("mug", 0.75, (1, 2, 11, 22), None)]
    (turned,) = read(IN_IMAGE, array(box_2d((10, 10, 30, 14), ("cup", 0.5), theta=math.pi / 2)))
    assert turned.box == (18, 2, 22, 22)


@pytest.mark.parametrize("broken", [
    box_2d((0, 0, 9, 9)), box_2d((NAN, 0, 9, 9), ("cup", 0.5)), box_2d((0, 0, 9, math.inf), ("cup", 0.5)),
    box_2d((0, 0, 9, 9), ("cup", 0.5), theta=NAN), box_2d((0, 0, 9, 9), ("cup", NAN)),
    box_2d((0, 0, 9, 9), ("cup", 3.0)), box_2d((W + 1, 0, W + 9, 9), ("cup", 0.5)), box_2d((5, 5, 5, 9), ("cup", 0.5))])
def test_what_is_no_detection_is_left_to_the_check_that_counts_it(broken: Any) -> None:
    found = read(IN_IMAGE, array(broken, box_2d((-5, -5, 900, 9), ("cup", 0.5))))
    assert len(found) == 2 and [d.box for d in sound(found, (H, W))] == [(0, 0, W, 9)]


def test_detections_of_yolo_ros_have_masks_from_polygons() -> None:
    square = [(10.0, 10.0), (19.0, 10.0), (19.0, 19.0), (10.0, 19.0)]
    doubled = [(2 * x, 2 * y) for x, y in square]
    for polygon, size in ((square, (W, H)), (square, (0, 0)), (doubled, (2 * W, 2 * H))):
        box, none = read(YOLO, array(yolo((10, 10, 20, 20), "cup", 0.5, polygon=polygon, size=size),
                                     yolo((30, 10, 40, 20), "", 0.25, number=7)))
        assert (box.name, box.box, none.name, none.mask) == ("cup", (10, 10, 20, 20), "bed", None)
        assert 81 <= box.mask.sum() <= 100 and box.mask[11:18, 11:18].all()
    (odd,) = read(YOLO, array(yolo((10, 10, 20, 20), "cup", 0.5, polygon=[(NAN, 1.0), (2.0, 2.0), (3.0, 9.0)])))
    assert not odd.mask.any()


def test_boxes_in_space_are_the_pixels_whose_points_lie_in_them() -> None:
    """The block has its centre 1.5 m before the camera, which is 1.2 m above the floor and looks along x."""
    block = box_3d((1.5, 0.33, 1.62), (0.1, 0.6, 0.6), ("cup", 0.5))
    behind = box_3d((-3.0, 0.0, 1.0), (0.5, 0.5, 0.5), ("bed", 0.9))
    (found,) = read(IN_SPACE, array(block, behind, frame_id="map"))
    assert (found.name, found.box) == ("cup", (20, 10, 30, 20)) and found.mask.sum() == 100
    in_camera = box_3d((-0.33, -0.42, 1.5), (0.6, 0.6, 0.1), ("cup", 0.5))  # x to the right, y down
    (same,) = read(IN_SPACE, array(in_camera), source=seen().map_from_camera())
    assert same.box == found.box and np.array_equal(same.mask, found.mask)
    with pytest.raises(BadPose):
        read(IN_SPACE, array(box_3d((1, 0, 1), (1, 1, 1), ("cup", 0.5), turn=(0.0, 0.0, 0.0, 0.0))))


@pytest.mark.parametrize(("encoding", "times"), [("mono8", 1), ("16UC1", 2), ("32SC1", 1)])
def test_label_images_become_instances(encoding: str, times: int) -> None:
    kinds = np.full((H, W), 3)
    kinds[10:20, 20:30] = 7
    image = label_image(np.repeat(np.repeat(kinds, times, axis=0), times, axis=1), encoding)
    (found,) = read(LABELS, image)
    assert (found.name, found.box, found.score) == ("bed", (20, 10, 30, 20), 1.0) and found.mask.sum() == 100


@pytest.mark.parametrize(("image", "names", "said"), [
    (label_image(np.zeros((H, W))), {}, "give detector.names a file"),
    (label_image(np.zeros((H, H))), NAMES, "the proportions of the picture"),
    (label_image(np.zeros((H, W, 3)), "rgb8"), NAMES, "one whole number a pixel")])
def test_label_images_that_do_not_fit_are_named(image: Any, names: dict[int, str], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        read(LABELS, image, names)
    image.encoding = "yuv422"
    with pytest.raises(ModelError, match="cannot be read: image encoding 'yuv422'" if names else said):
        read(LABELS, image, names)


def test_numbers_need_names_and_a_table_gives_them() -> None:
    assert named("mug", {}) == "mug" and named("7", NAMES) == "bed"
    with pytest.raises(ModelError, match="class number 8, which has no name: give detector.names"):
        read(IN_IMAGE, array(box_2d((1, 2, 3, 4), ("8", 0.5))))
    classes = [SimpleNamespace(class_id=n, class_name=name) for n, name in ((0, "cup"), (7, " "), (9, "big bed"))]
    assert label_names(SimpleNamespace(class_map=classes)) == {0: "cup", 9: "big bed"}
