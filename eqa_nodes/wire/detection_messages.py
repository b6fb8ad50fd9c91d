"""Messages of other nodes' detectors -> detections of an image. The messages are read by field name.

Fields are those of vision_msgs 4 (Humble and later) and of yolo_msgs of the package yolo_ros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.core.errors import BadFrame, ModelError
from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.core.perception.instances import points_of
from eqa_nodes.core.perception.kind_maps import instances_of_kinds
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame
from eqa_nodes.wire import messages

Names = Mapping[int, str]
_SLACK_M = 0.05  # a 3D box is enlarged by this on each side, since it seldom holds the whole surface of its object
_ALIKE = 0.02  # two images have the same proportions if these differ by less than this share
_MOST = 1000  # maximum number of detections of one message that are read


class DetectionType(NamedTuple):
    """How a type of message is read: (message, frame, names by class number, map_from_source as (4, 4)).

    placed: its boxes are in space, so that the transform from their frame into the map is needed.
    """

    read: Callable[[Any, Frame, Names, np.ndarray], list[Detection]]
    placed: bool = False


def boxes_in_image(message: Any, frame: Frame, names: Names, source: np.ndarray) -> list[Detection]:
    """Read a vision_msgs/Detection2DArray. Raises ModelError for a class that has a number and no name."""
    found = []
    for d in message.detections[:_MOST]:
        name, score = _best(d.results, names)
        box = d.bbox
        found.append(_detection(name, score, box.center.position, box.center.theta, box.size_x, box.size_y, frame))
    return _ordered(found)


def boxes_of_yolo(message: Any, frame: Frame, names: Names, source: np.ndarray) -> list[Detection]:
    """Read a yolo_msgs/DetectionArray. A polygon becomes a mask. Raises ModelError as boxes_in_image."""
    found = []
    for d in message.detections[:_MOST]:
        name, box = d.class_name or named(str(d.class_id), names), d.bbox
        one = _detection(name, d.score, box.center.position, box.center.theta, box.size.x, box.size.y, frame)
        found.append(one._replace(mask=_filled(d.mask, one.box, frame)) if len(d.mask.data) > 2 else one)
    return _ordered(found)


def boxes_in_space(message: Any, frame: Frame, names: Names, source: np.ndarray) -> list[Detection]:
    """Read a vision_msgs/Detection3DArray: the pixels of a detection are those whose points lie in its box.

    A box without any is not in view, and left out. Raises ModelError as boxes_in_image, BadPose for a bad orientation.
    """
    v, u = np.nonzero((frame.depth_m > 0) & (frame.depth_m < np.inf))
    points = points_of(frame, v, u)[1]  # (3, n)
    found = []
    for d in message.detections[:_MOST]:
        name, score = _best(d.results, names)
        at, turn, size = d.bbox.center.position, d.bbox.center.orientation, d.bbox.size
        box = source @ Transform((at.x, at.y, at.z), (turn.x, turn.y, turn.z, turn.w)).matrix()
        local = box[:3, :3].T @ (points - box[:3, 3:])
        inside = (np.abs(local) <= np.array([[size.x], [size.y], [size.z]]) / 2 + _SLACK_M).all(axis=0)
        if inside.any():
            mask = np.zeros(frame.depth_m.shape, bool)
            mask[v[inside], u[inside]] = True
            edges = (int(u[inside].min()), int(v[inside].min()), int(u[inside].max()) + 1, int(v[inside].max()) + 1)
            found.append(Detection(name, float(score), edges, mask))
    return _ordered(found)


def label_image(message: Any, frame: Frame, names: Names, source: np.ndarray) -> list[Detection]:
    """Read a sensor_msgs/Image whose pixels are numbers of classes. An image of the same proportions is resized.

    Raises ModelError without names, or if it does not fit the frame.
    """
    if not names:
        raise ModelError("label images have numbers of classes: give detector.names a file with their names, or set "
                         "detections_table to the topic of a vision_msgs/LabelInfo")
    try:
        kinds = messages.pixels_of(message)
    except BadFrame as error:
        raise ModelError(f"a label image cannot be read: {error}") from error
    (height, width), shape = frame.depth_m.shape, kinds.shape
    if kinds.ndim != 2 or kinds.dtype.kind not in "iu" or abs(shape[1] * height / (shape[0] * width) - 1) > _ALIKE:
        raise ModelError(f"a label image is {shape} {kinds.dtype}, and the picture is {width}x{height}: it must have "
                         "one whole number a pixel, and the proportions of the picture")
    rows, columns = (np.arange(side) * own // side for side, own in zip((height, width), shape, strict=True))
    return instances_of_kinds(frame, kinds[rows[:, None], columns[None, :]].astype(np.int64),
                              np.ones((height, width), np.float32), names)


def label_names(message: Any) -> dict[int, str]:
    """Return the names by class number of a vision_msgs/LabelInfo."""
    return {int(c.class_id): " ".join(str(c.class_name).split()) for c in message.class_map if c.class_name.strip()}


def named(class_id: str, names: Names) -> str:
    """Return the name of a class: the id itself, unless it is a number. Raises ModelError for a number without name."""
    if not class_id.isdecimal():
        return class_id
    if int(class_id) not in names:
        raise ModelError(f"detections have the class number {class_id}, which has no name: give detector.names a file "
                         "with the names of the detector's classes")
    return names[int(class_id)]


def _best(results: Iterable[Any], names: Names) -> tuple[str, float]:
    """Return name and score of the hypothesis with the highest score; the score is not a number if there is none."""
    best = max((r.hypothesis for r in results), key=lambda h: (h.score, h.class_id), default=None)
    return ("", math.nan) if best is None else (named(best.class_id, names), float(best.score))


def _detection(name: str, score: float, centre: Any, theta: float, wide: float, high: float,
               frame: Frame) -> Detection:
    """Return a detection with the upright box around one that may be turned; an unusable one has a score that is not a
    number, so that it is counted as invalid."""
    across = abs(wide * math.cos(theta)) + abs(high * math.sin(theta)) if math.isfinite(theta) else math.nan
    down = abs(wide * math.sin(theta)) + abs(high * math.cos(theta)) if math.isfinite(theta) else math.nan
    edges = (centre.x - across / 2, centre.y - down / 2, centre.x + across / 2, centre.y + down / 2)
    if not all(map(math.isfinite, edges)):
        return Detection(name, math.nan, (0, 0, 0, 0))
    height, width = frame.depth_m.shape
    left, top, right, bottom = (round(min(max(edge, 0), end)) for edge, end in
                                zip(edges, (width, height, width, height), strict=True))
    return Detection(name, float(score), (left, top, right, bottom))


def _filled(polygon: Any, box: tuple[int, int, int, int], frame: Frame) -> np.ndarray:
    """Return the mask (H, W) bool of a polygon within a box; its points are in pixels of an image of its own size."""
    height, width = frame.depth_m.shape
    across, down = width / (polygon.width or width), height / (polygon.height or height)
    image = Image.new("1", (width, height))
    corners = [(p.x * across, p.y * down) for p in polygon.data]
    if all(math.isfinite(x) and math.isfinite(y) for x, y in corners):
        ImageDraw.Draw(image).polygon(corners, fill=1)
    mask = np.zeros((height, width), bool)
    left, top, right, bottom = box
    mask[top:bottom, left:right] = np.asarray(image)[top:bottom, left:right]
    return mask


def _ordered(found: list[Detection]) -> list[Detection]:
    return sorted(found, key=lambda d: (-d.score if math.isfinite(d.score) else math.inf, d.name, d.box))


DETECTION_TYPES = {
    "vision_msgs/msg/Detection2DArray": DetectionType(boxes_in_image),
    "vision_msgs/msg/Detection3DArray": DetectionType(boxes_in_space, placed=True),
    "yolo_msgs/msg/DetectionArray": DetectionType(boxes_of_yolo),
    "sensor_msgs/msg/Image": DetectionType(label_image),
}
