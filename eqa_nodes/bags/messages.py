"""Recorded messages -> core values, for bags read without ROS. Fields as the bag's own definitions name them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.geometry import Transform
from eqa_nodes.core.types import Frontier, GridMap, Intrinsics, Keyframe, Label, Sighting

_FORMATS = {"rgb8": ("u1", 3), "bgr8": ("u1", 3), "32FC1": ("f4", 1), "16UC1": ("u2", 1), "mono16": ("u2", 1)}


def ns_of(stamp: Any) -> int:
    """Nanoseconds of a builtin_interfaces/Time."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def stamp_of(message: Any) -> int:
    """Stamp of a message with a header, in ns."""
    return ns_of(message.header.stamp)


def pixels_of(image: Any) -> np.ndarray:
    """Return (H, W) or (H, W, 3) pixels of a sensor_msgs/Image. Raises BadFrame when encoding or size does not fit."""
    if image.encoding not in _FORMATS:
        raise BadFrame(f"image encoding {image.encoding!r} is not one of {', '.join(sorted(_FORMATS))}")
    kind, channels = _FORMATS[image.encoding]
    dtype = np.dtype((">" if image.is_bigendian else "<") + kind)
    row = image.width * channels * dtype.itemsize
    if not 0 < row <= image.step or len(image.data) != image.step * image.height:
        raise BadFrame(f"{image.width}x{image.height} {image.encoding} image has {len(image.data)} bytes "
                       f"in steps of {image.step}")
    rows = np.frombuffer(image.data, np.uint8).reshape(image.height, image.step)[:, :row]
    pixels = np.ascontiguousarray(rows).view(dtype).astype(dtype.newbyteorder("="), copy=False)
    return pixels if channels == 1 else pixels.reshape(image.height, image.width, channels)


def rgb_of(image: Any) -> np.ndarray:
    """Return (H, W, 3) uint8 in RGB order."""
    pixels = pixels_of(image)
    if pixels.ndim != 3:
        raise BadFrame(f"colour image is {image.encoding}, wanted rgb8 or bgr8")
    return pixels if image.encoding == "rgb8" else np.ascontiguousarray(pixels[..., ::-1])


def depth_of(image: Any) -> np.ndarray:
    """Return (H, W) float32 metres (REP 118: 32FC1 in metres, 16UC1 in millimetres)."""
    pixels = pixels_of(image)
    if pixels.ndim != 2:
        raise BadFrame(f"depth image is {image.encoding}, wanted 32FC1 or 16UC1")
    return pixels if pixels.dtype == np.float32 else pixels.astype(np.float32) * np.float32(0.001)


def intrinsics_of(info: Any) -> Intrinsics:
    """Return the intrinsics of a sensor_msgs/CameraInfo; messages count pixel centres from 0, the core from 0.5."""
    k = [float(v) for v in info.k]
    if not (k[0] > 0 and k[4] > 0 and all(map(math.isfinite, k))):
        raise BadFrame(f"camera_info has focal lengths {k[0]}, {k[4]}: the camera is not calibrated")
    return Intrinsics(int(info.width), int(info.height), k[0], k[4], k[2] + 0.5, k[5] + 0.5)


def transform_of(translation: Any, rotation: Any) -> Transform:
    """Return a transform (or a pose's position and orientation)."""
    return Transform((float(translation.x), float(translation.y), float(translation.z)),
                     (float(rotation.x), float(rotation.y), float(rotation.z), float(rotation.w)))


def grid_of(occupancy: Any, explored: Any | None) -> GridMap:
    """Return a map of nav_msgs/OccupancyGrid messages; an explored grid of another size belongs to another map."""
    shape = (int(occupancy.info.height), int(occupancy.info.width))
    seen = np.zeros(shape, bool)
    if explored is not None and (explored.info.height, explored.info.width) == shape:
        seen = np.asarray(explored.data, np.int8).reshape(shape) > 0
    cells = np.asarray(occupancy.data, np.int8).reshape(shape)
    origin = (float(occupancy.info.origin.position.x), float(occupancy.info.origin.position.y))
    return GridMap(stamp_of(occupancy), round(float(occupancy.info.resolution), 6), origin, cells, seen)


def frontiers_of(message: Any) -> tuple[Frontier, ...]:
    """Return the frontiers of an eqa_interfaces/FrontierArray."""
    return tuple(Frontier(float(f.position.x), float(f.position.y), float(f.heading), float(f.length))
                 for f in message.frontiers)



def labels_of(message: Any) -> dict[int, Label]:
    """Return the table of an eqa_interfaces/LabelArray."""
    return {int(label.instance_id): _label(label) for label in message.labels}


def keyframe_of(message: Any) -> Keyframe:
    """Return the keyframe of an eqa_interfaces/Keyframe."""
    pose = transform_of(message.pose.position, message.pose.orientation)
    return Keyframe(int(message.keyframe_id), stamp_of(message), pose, bytes(message.image.data),
                    tuple(map(_sighting, message.sightings)), str(message.caption), str(message.region))


def _sighting(s: Any) -> Sighting:
    left, top, right, bottom = (int(edge) for edge in s.bbox)
    return Sighting(_label(s.label), int(s.pixels), (left, top, right, bottom),
                    (float(s.center.x), float(s.center.y), float(s.center.z)),
                    (float(s.size.x), float(s.size.y), float(s.size.z)))


def _label(label: Any) -> Label:
    return Label(int(label.instance_id), str(label.kind), str(label.room),
                 dict(str(pair).split("=", 1) for pair in label.attributes))
