"""Colour and depth images without a pose, and what registration needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.reconstruction.library import open3d
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics, check_frame, clean_depth

WIDTH = 320  # about; images are registered at this size
SMALL = 2  # how much smaller the images are that are compared
_SAME_SURFACE = 1.03  # depths within this factor of the nearest in a block are of one surface
_BLACK = 8  # grey level, of 255, that 99 % of a black image are below
_LEAST_SIDE = 64  # pixels; five levels of the image pyramid need them
_EVERY = 2  # small pixels that are compared: the others say the same
_LEAST_DEPTH = 0.05  # share of the pixels
_IDENTITY = Transform.identity()


class RgbdImage(NamedTuple):
    """What the camera saw at one moment, with no pose. number: which of the recorded images it is, from 0.

    rgb: (H, W, 3) uint8; depth_m: (H, W) float32, metres along the optical axis, 0 = no return.
    """

    number: int
    stamp_ns: int
    rgb: np.ndarray
    depth_m: np.ndarray
    intrinsics: Intrinsics


@dataclass(frozen=True, eq=False)
class RgbdView:
    """An image prepared for registration. index: its number; images: Open3D's RGBDImage.

    grey, depth_m: (h, w) float32, small, brightness 0 to 1 and metres;
    k: (3, 3) of `images`, pixel centres at whole numbers; small: intrinsics of the small images, centres at +0.5;
    points: (n, 3) float32, metres, optical frame, of the small pixels with depth, of brightness `tones` (n,).
    """

    index: int
    stamp_ns: int
    images: Any
    k: np.ndarray
    grey: np.ndarray
    depth_m: np.ndarray
    small: Intrinsics
    points: np.ndarray
    tones: np.ndarray


def prepared(image: RgbdImage, range_m: float) -> RgbdView:
    """Return an image prepared for registration. Raises BadFrame naming why it cannot be used."""
    _check(image)
    depth_m = clean_depth(image.depth_m, range_m)[0]
    seen = np.count_nonzero(depth_m) / depth_m.size
    if seen < _LEAST_DEPTH:
        raise BadFrame(f"depth within {range_m:g} m at fewer than {_LEAST_DEPTH:.0%} of the pixels")
    if np.percentile(image.rgb, 99) < _BLACK:
        raise BadFrame("the colour image is black")
    factor = max(1, round(image.intrinsics.width / WIDTH))
    k = shrunk_camera(image.intrinsics, factor)
    rgb, depth_m = _mean(image.rgb, factor).astype(np.uint8), shrunk_depth(depth_m, factor)
    grey = _mean(rgb.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32) / 255, SMALL)
    small, small_m = shrunk_camera(k, SMALL), shrunk_depth(depth_m, SMALL)
    points, tones = _points(small_m, grey, small)
    library = open3d()
    tensor, picture = library.core.Tensor, library.t.geometry.Image
    images = library.t.geometry.RGBDImage(picture(tensor(np.ascontiguousarray(rgb))), picture(tensor(depth_m)))
    matrix = np.array([[k.fx, 0.0, k.cx - 0.5], [0.0, k.fy, k.cy - 0.5], [0.0, 0.0, 1.0]])
    return RgbdView(image.number, image.stamp_ns, images, matrix, grey, small_m, small, points, tones)


def _check(image: RgbdImage) -> None:
    """Raise BadFrame naming the first fault."""
    if image.rgb is None or not image.rgb.size:
        raise BadFrame("the frame has no colour image: poses are found from colour and depth")
    check_frame(Frame(image.stamp_ns, image.rgb, image.depth_m, image.intrinsics, _IDENTITY, _IDENTITY))
    k = image.intrinsics
    if not (0 < k.cx < k.width and 0 < k.cy < k.height):
        raise BadFrame(f"{k}: the principal point lies outside the image; is camera_info that of another size?")
    if min(k.width, k.height) < _LEAST_SIDE:
        raise BadFrame(f"an image of {k.width}x{k.height} is too small: at least {_LEAST_SIDE} pixels a side")


def _points(depth_m: np.ndarray, grey: np.ndarray, k: Intrinsics) -> tuple[np.ndarray, np.ndarray]:
    v, u = (at[::_EVERY] for at in np.nonzero(depth_m))
    z = depth_m[v, u]
    return np.stack([(u + 0.5 - k.cx) / k.fx * z, (v + 0.5 - k.cy) / k.fy * z, z], 1).astype(np.float32), grey[v, u]


def shrunk_camera(k: Intrinsics, factor: int) -> Intrinsics:
    """Return the intrinsics of an image that is smaller by a whole factor."""
    return Intrinsics(k.width // factor, k.height // factor, k.fx / factor, k.fy / factor, k.cx / factor,
                      k.cy / factor)


def _blocks(image: np.ndarray, factor: int) -> np.ndarray:
    """Return (h, w, factor * factor, ...) the pixels of each block; what is left over at the edges is cut."""
    h, w = image.shape[0] // factor, image.shape[1] // factor
    cut = image[:h * factor, :w * factor].reshape(h, factor, w, factor, *image.shape[2:])
    return cut.swapaxes(1, 2).reshape(h, w, factor * factor, *image.shape[2:])


def _mean(image: np.ndarray, factor: int) -> np.ndarray:
    return image if factor == 1 else _blocks(image, factor).mean(axis=2, dtype=np.float32)


def shrunk_depth(depth_m: np.ndarray, factor: int) -> np.ndarray:
    """Return the mean of each block over the nearest surface in it; 0 where less than half of it has depth."""
    if factor == 1:
        return np.ascontiguousarray(depth_m)
    blocks = _blocks(depth_m, factor)
    seen = blocks > 0
    nearest = np.where(seen, blocks, np.float32(np.inf)).min(axis=2, keepdims=True)
    same = seen & (blocks <= nearest * _SAME_SURFACE + 0.02)
    count = same.sum(axis=2)
    total = np.where(same, blocks, np.float32(0)).sum(axis=2)
    return np.where(2 * count >= factor * factor, total / np.maximum(count, 1), 0).astype(np.float32)
