"""Rectifies images: removes lens distortion and keeps the camera matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.views import Intrinsics

Matrix = tuple[float, float, float, float]
_BROWN = ("plumb_bob", "rational_polynomial")
_FISHEYE = ("equidistant", "fisheye")  # four coefficients of the angle (Kannala and Brandt 2006), as OpenCV has them


class ImageCalibration(NamedTuple):
    """What a sensor_msgs/CameraInfo says of images of one size; its fields are named as the message's."""

    width: int
    height: int
    distortion_model: str
    d: Sequence[float]
    k: Sequence[float]
    p: Sequence[float]


def calibration_of(info: Any, shape: tuple[int, ...]) -> Any:
    """Return what a sensor_msgs/CameraInfo says of an image of this shape (height and width first).

    By its definition it describes the whole sensor, and the image is a region of interest in it, binned. It is returned
    as it is for an image of its own size (some drivers adapt the matrices to region and binning), or of none of both.
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
    """Lens distortion of a sensor_msgs/CameraInfo; no coefficients: none.

    bent, straight: matrix of the image as it is, and of the pinhole image wanted: fx, fy, cx, cy, pixel centres at 0.
    """

    coefficients: tuple[float, ...]
    bent: Matrix
    straight: Matrix
    width: int
    height: int
    fisheye: bool = False

    @property
    def nothing(self) -> bool:
        """Whether the image is a pinhole camera's already."""
        return not self.coefficients and self.bent == self.straight


def distortion_of(info: Any, rectified: Sequence[bool]) -> Distortion:
    """Return the distortion of a camera_info. Raises BadFrame when its model is unknown.

    rectified: of each image, whether it is straight already: such an image has the matrix P, and so get the others.
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
    """Rectification maps of one camera, computed once: source position of each pixel of the rectified image."""

    def __init__(self, distortion: Distortion) -> None:
        u, v = _bent(distortion)
        shape = (distortion.height, distortion.width)
        self._inside = (u > -0.5) & (v > -0.5) & (u < shape[1] - 0.5) & (v < shape[0] - 0.5)  # false for NaN
        u = np.where(self._inside, u, 0.0).clip(0, shape[1] - 1)
        v = np.where(self._inside, v, 0.0).clip(0, shape[0] - 1)
        self._nearest = np.rint(v).astype(np.int64) * shape[1] + np.rint(u).astype(np.int64)
        left, top = np.minimum(u.astype(np.int64), shape[1] - 2), np.minimum(v.astype(np.int64), shape[0] - 2)
        # Sixteenths of a pixel: the four weights are whole and sum to 256, so that 16 bits hold every product.
        across, down = (np.rint((part - whole) * 16).astype(np.uint16) for part, whole in ((u, left), (v, top)))
        corner = top * shape[1] + left
        corners = [(corner, (16 - across) * (16 - down)), (corner + 1, across * (16 - down)),
                   (corner + shape[1], (16 - across) * down), (corner + shape[1] + 1, across * down)]
        self._corners = [(index, (weight * self._inside)[..., None].repeat(4, axis=-1)) for index, weight in corners]

    def rgb(self, image: np.ndarray) -> np.ndarray:
        """Return the (H, W, 3) uint8 image with lines straight, bilinear; black where the lens did not see."""
        pixels = np.zeros((*image.shape[:2], 4), np.uint8)
        pixels[..., :3] = image
        packed = pixels.view(np.uint32).reshape(-1)  # one number a pixel: fetched at once
        total = np.full(pixels.shape, 128, np.uint16)
        for index, weight in self._corners:
            total += packed[index][..., None].view(np.uint8) * weight
        return np.ascontiguousarray((total >> 8).astype(np.uint8)[..., :3])

    def nearest(self, image: np.ndarray) -> np.ndarray:
        """Return the (H, W) image of depths or labels: no value is made up at an edge; 0 where nothing was seen."""
        return np.where(self._inside, image.reshape(-1)[self._nearest], image.dtype.type(0))


class Lens:
    """Straightens the images of one camera. rectified: of each image, whether it is straight already."""

    def __init__(self, rectified: Sequence[bool]) -> None:
        self._rectified = rectified
        self._maps: tuple[Distortion, Rectifier] | None = None

    def straightened(self, info: Any, k: Intrinsics) -> tuple[Intrinsics, Rectifier | None]:
        """Return the intrinsics of rectified images, and what rectifies those that are not yet, None where all are.

        info: as of `distortion_of`, which raises BadFrame; k: what it says of images as they are.
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
    """Return u and v, (H, W) float64, in the bent image for each pixel of the straight one."""
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
