"""Converts images to the form that the core expects: rectified, upright, with depth in metres.

Depth: units and sizes (its viewpoint: depth_registration.py). Lenses: distortion is removed, the camera matrix is kept.
Cameras on their side or upside down: images are rotated by quarter turns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.geometry import Transform, compose
from eqa_nodes.core.types.views import Frame, Intrinsics

Matrix = tuple[float, float, float, float]
_BROWN = ("plumb_bob", "rational_polynomial")
_FISHEYE = ("equidistant", "fisheye")  # four coefficients of the angle (Kannala and Brandt 2006), as in OpenCV


class ImageCalibration(NamedTuple):
    """The calibration in a sensor_msgs/CameraInfo for images of one size; the fields are named as in the message."""

    width: int
    height: int
    distortion_model: str
    d: Sequence[float]
    k: Sequence[float]
    p: Sequence[float]


def calibration_of(info: Any, shape: tuple[int, ...]) -> Any:
    """Return the calibration of a sensor_msgs/CameraInfo for an image of this shape (height and width first).

    By definition the message describes the whole sensor, and the image is a binned region of interest of it. The
    message is returned unchanged if the image has the size of the sensor (some drivers adapt the matrices to region and
    binning), or matches neither size.
    """
    across, down = max(1, int(info.binning_x)), max(1, int(info.binning_y))
    width, height = int(info.roi.width) or int(info.width), int(info.roi.height) or int(info.height)
    if shape[:2] == (int(info.height), int(info.width)) or shape[:2] != (height // down, width // across):
        return info
    k, p = [float(value) for value in info.k], [float(value) for value in info.p]
    for matrix, fx, cx, fy, cy in ((k, 0, 2, 4, 5), (p, 0, 2, 5, 6)):
        for f, c, bins, begin in ((fx, cx, across, int(info.roi.x_offset)), (fy, cy, down, int(info.roi.y_offset))):
            matrix[f], matrix[c] = matrix[f] / bins, (matrix[c] + 0.5 - begin) / bins - 0.5  # pixel centres lie at 0
    return ImageCalibration(shape[1], shape[0], info.distortion_model, info.d, k, p)


class Distortion(NamedTuple):
    """Lens distortion of a sensor_msgs/CameraInfo; without coefficients there is none.

    bent, straight: matrix of the distorted image, and of the pinhole image: fx, fy, cx, cy, pixel centres at 0.
    """

    coefficients: tuple[float, ...]
    bent: Matrix
    straight: Matrix
    width: int
    height: int
    fisheye: bool = False

    @property
    def nothing(self) -> bool:
        """Whether the image already is that of a pinhole camera."""
        return not self.coefficients and self.bent == self.straight


def distortion_of(info: Any, rectified: Sequence[bool]) -> Distortion:
    """Return the distortion of a camera_info. Raises BadFrame if its model is unknown.

    rectified: whether each image is already rectified. Such an image has the matrix P, and the others are mapped to it.
    """
    straight = _matrix(info.p, (0, 5, 2, 6)) if any(rectified) and info.p[0] > 0 else _matrix(info.k, (0, 4, 2, 5))
    if all(rectified):
        return Distortion((), straight, straight, int(info.width), int(info.height))
    coefficients = tuple(map(float, info.d)) if any(info.d) else ()
    fisheye = info.distortion_model in _FISHEYE
    known = len(coefficients) == 4 if fisheye else info.distortion_model in _BROWN and 4 <= len(coefficients) <= 8
    if coefficients and not (known and np.all(np.isfinite(coefficients)) and min(info.width, info.height) > 1):
        raise BadFrame(f"distortion {info.distortion_model!r} with {len(coefficients)} coefficients cannot be taken "
                       f"out (known: {', '.join(_BROWN + _FISHEYE)}): rectify the images and name their topics")
    return Distortion(coefficients, _matrix(info.k, (0, 4, 2, 5)), straight, int(info.width), int(info.height),
                      fisheye)


def _matrix(values: Any, places: tuple[int, int, int, int]) -> Matrix:
    fx, fy, cx, cy = (float(values[i]) for i in places)
    return fx, fy, cx, cy


class Rectifier:
    """Rectification maps of one camera, computed once: the source position of each pixel of the rectified image."""

    def __init__(self, distortion: Distortion) -> None:
        u, v = _bent(distortion)
        shape = (distortion.height, distortion.width)
        self._inside = (u > -0.5) & (v > -0.5) & (u < shape[1] - 0.5) & (v < shape[0] - 0.5)  # false for NaN
        u = np.where(self._inside, u, 0.0).clip(0, shape[1] - 1)
        v = np.where(self._inside, v, 0.0).clip(0, shape[0] - 1)
        self._nearest = np.rint(v).astype(np.int64) * shape[1] + np.rint(u).astype(np.int64)
        left, top = np.minimum(u.astype(np.int64), shape[1] - 2), np.minimum(v.astype(np.int64), shape[0] - 2)
        # Sixteenths of a pixel: the four weights are integers with sum 256, so that products fit into 16 bits.
        across, down = (np.rint((part - whole) * 16).astype(np.uint16) for part, whole in ((u, left), (v, top)))
        corner = top * shape[1] + left
        corners = [(corner, (16 - across) * (16 - down)), (corner + 1, across * (16 - down)),
                   (corner + shape[1], (16 - across) * down), (corner + shape[1] + 1, across * down)]
        self._corners = [(index, (weight * self._inside)[..., None].repeat(4, axis=-1)) for index, weight in corners]

    def rgb(self, image: np.ndarray) -> np.ndarray:
        """Return the rectified (H, W, 3) uint8 image, bilinear; black outside the lens's field of view."""
        pixels = np.zeros((*image.shape[:2], 4), np.uint8)
        pixels[..., :3] = image
        packed = pixels.view(np.uint32).reshape(-1)  # one number per pixel, for a single fetch
        total = np.full(pixels.shape, 128, np.uint16)
        for index, weight in self._corners:
            total += packed[index][..., None].view(np.uint8) * weight
        return np.ascontiguousarray((total >> 8).astype(np.uint8)[..., :3])

    def nearest(self, image: np.ndarray) -> np.ndarray:
        """Return the rectified (H, W) image of depths or labels by nearest neighbour; 0 outside the field of view."""
        return np.where(self._inside, image.reshape(-1)[self._nearest], image.dtype.type(0))


class Lens:
    """Rectifies the images of one camera. rectified: whether each image is already rectified."""

    def __init__(self, rectified: Sequence[bool]) -> None:
        self._rectified = rectified
        self._maps: tuple[Distortion, Rectifier] | None = None

    def straightened(self, info: Any, k: Intrinsics) -> tuple[Intrinsics, Rectifier | None]:
        """Return the intrinsics of rectified images, and the rectifier of the others, None if all are rectified.

        info: camera_info as for `distortion_of`, which raises BadFrame; k: its intrinsics of the images as published.
        """
        distortion = distortion_of(info, self._rectified)
        fx, fy, cx, cy = distortion.straight
        k = k._replace(fx=fx, fy=fy, cx=cx + 0.5, cy=cy + 0.5)
        if distortion.nothing:
            return k, None
        if self._maps is None or self._maps[0] != distortion:
            self._maps = distortion, Rectifier(distortion)
        return k, self._maps[1]


def _bent(d: Distortion) -> tuple[np.ndarray, np.ndarray]:
    """Return u and v, (H, W) float64, in the distorted image for each pixel of the rectified one."""
    fx, fy, cx, cy = d.straight
    y, x = np.mgrid[:d.height, :d.width].astype(np.float64)
    x, y = (_fisheye if d.fisheye else _brown)((x - cx) / fx, (y - cy) / fy, d.coefficients)
    fx, fy, cx, cy = d.bent
    return fx * x + cx, fy * y + cy


def _brown(x: np.ndarray, y: np.ndarray, coefficients: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    k1, k2, p1, p2, k3, k4, k5, k6 = (*coefficients, *(0.0,) * (8 - len(coefficients)))
    r2 = x * x + y * y
    radial = (1 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1 + r2 * (k4 + r2 * (k5 + r2 * k6)))
    return (x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x), y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y)


def _fisheye(x: np.ndarray, y: np.ndarray, coefficients: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    k1, k2, k3, k4 = coefficients or (0.0,) * 4
    r = np.maximum(np.hypot(x, y), 1e-12)
    t2 = np.square(np.arctan(r))
    scale = np.sqrt(t2) * (1 + t2 * (k1 + t2 * (k2 + t2 * (k3 + t2 * k4)))) / r
    return x * scale, y * scale


_NO_RETURN = 65535  # second 16-bit value for no return besides 0, written by Kinect, OAK and 7-Scenes
_MILLIMETRE = 0.001
_FINER = 16  # maximum ratio of the columns of two images of one view


def returned(raw: np.ndarray) -> np.ndarray:
    """Return raw 16-bit integers with 0 for every value that means no return."""
    return np.where(raw == _NO_RETURN, raw.dtype.type(0), raw)


def metres(raw: np.ndarray, unit_m: float = 0.0) -> np.ndarray:
    """Convert raw depth to (H, W) float32 metres, 0 = no return.

    unit_m: metres of one unit; 0: integers are millimetres and floats are metres (REP 118).
    """
    if raw.dtype.kind == "f":
        return raw.astype(np.float32, copy=False) * np.float32(unit_m) if unit_m else raw.astype(np.float32, copy=False)
    return returned(raw).astype(np.float32) * np.float32(unit_m or _MILLIMETRE)


def scaled(k: Intrinsics, shape: tuple[int, ...]) -> Intrinsics:
    """Return the intrinsics of the same camera for an image of another size; shape: height and width first."""
    height, width = shape[:2]
    x, y = width / k.width, height / k.height
    return Intrinsics(width, height, k.fx * x, k.fy * y, k.cx * x, k.cy * y)


def same_view(size: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether images of two sizes (width, height) may show the same view: equal aspect ratio up to rounding.

    The ratio of their sizes is limited too: no colour image is much finer than its depth, but a wrong camera_info may
    claim any size.
    """
    (width, height), (wide, high) = size, other
    return min(*size, *other) > 0 and abs(width - height * wide / high) < 1 and wide <= _FINER * width


def fitted(depth_m: np.ndarray, k: Intrinsics) -> np.ndarray:
    """Return registered depth resized to the colour image with these intrinsics, which shows the same view.

    Each pixel gets the nearest measurement, without interpolation. Raises BadFrame for another view.
    """
    height, width = depth_m.shape[:2]
    if (width, height) == (k.width, k.height):
        return depth_m
    if not same_view((width, height), (k.width, k.height)):
        raise BadFrame(f"depth is {width}x{height}, the camera_info of colour {k.width}x{k.height}: one is not a "
                       "scaled version of the other; publish depth that is registered to the whole colour image")
    rows, columns = ((2 * np.arange(n) + 1) * size // (2 * n) for n, size in ((k.height, height), (k.width, width)))
    return depth_m.take(rows, axis=0).take(columns, axis=1)


_LEVEL = 0.5  # minimum length of the vertical in the image plane: a camera looking steeper has no upright image
_QUARTER = Transform((0.0, 0.0, 0.0), (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))  # about the optical axis


def quarter_turns(base_from_camera: Transform) -> int:
    """Return the number of quarter turns counter-clockwise, 0..3, that make the image upright."""
    right, down, _ = (float(part) for part in base_from_camera.matrix()[2, :3])  # upwards, in the camera's axes
    if math.hypot(right, down) < _LEVEL:
        return 0
    return round(math.atan2(right, -down) / (math.pi / 2)) % 4


def turned_image(image: np.ndarray, turns: int) -> np.ndarray:
    """Return an (H, W, ...) image rotated by quarter turns counter-clockwise."""
    return np.ascontiguousarray(np.rot90(image, turns)) if turns else image


def turned_camera(k: Intrinsics, base_from_camera: Transform, turns: int) -> tuple[Intrinsics, Transform]:
    """Return intrinsics and base_from_camera of the rotated image."""
    for _ in range(turns):
        k = Intrinsics(k.height, k.width, k.fy, k.fx, k.cy, k.width - k.cx)
        base_from_camera = compose(base_from_camera, _QUARTER)
    return k, base_from_camera


def turned_frame(frame: Frame, turns: int) -> Frame:
    """Return a frame rotated by quarter turns counter-clockwise, except its labels, which must be rotated already."""
    if not turns:
        return frame
    k, mount = turned_camera(frame.intrinsics, frame.base_from_camera, turns)
    return replace(frame, rgb=turned_image(frame.rgb, turns), depth_m=turned_image(frame.depth_m, turns), intrinsics=k,
                   base_from_camera=mount)
