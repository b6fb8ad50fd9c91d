"""Registers one view to another with Open3D's hybrid RGB-D odometry (Park, Zhou and Koltun 2017), then checks the fit.

Open3D returns a motion even if two images have nothing in common, so each motion is verified on the images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.reconstruction.config import PoseSearchConfig
from eqa_nodes.core.reconstruction.library import open3d
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics, check_frame, clean_depth

WIDTH = 320  # approximate width of images for registration, pixels
SMALL = 2  # factor by which the images are reduced further for comparison
_SAME_SURFACE = 1.03  # depths within this factor of the nearest one in a block belong to one surface
_BLACK = 8  # grey level, of 255: 99 % of the pixels of a black image are below it
_LEAST_SIDE = 64  # minimum side in pixels, needed for five levels of the image pyramid
_EVERY = 2  # every second small pixel is compared: the others are redundant
_LEAST_DEPTH = 0.05  # minimum share of the pixels with depth
_IDENTITY = Transform.identity()
NO_OVERLAP = "no overlap with the frames before it (the camera moved too fast, or the recording was cut)"
DISAGREE = "the images disagree with those before (something moved, or the exposure changed)"
BLANK = "nothing in view determines the motion, as before a blank wall"
TOO_FAST = "the camera moved too fast"
_FINE = ((10, 6, 4), 0.07)  # iterations from the coarsest level to the finest; depths that differ by more are outliers
_WIDE = ((30, 20, 10, 5, 3), 0.3)  # for a guess that may be off by 10 degrees or more
_SHIFT_M = 0.05  # shift of one view to test whether the motion is determined
_TONE = 0.03  # noise of the small images, as a share of full brightness
_SAME_TONE = 8.0  # maximum difference of brightness in sigmas; large, since edges fall on other pixels
_CLIP = 9.0  # maximum of a squared residual, in sigmas


class RgbdImage(NamedTuple):
    """One colour and depth image without a pose. number: index in the recording, from 0.

    rgb: (H, W, 3) uint8; depth_m: (H, W) float32, metres along the optical axis, 0 = no return.
    """

    number: int
    stamp_ns: int
    rgb: np.ndarray
    depth_m: np.ndarray
    intrinsics: Intrinsics


@dataclass(frozen=True, eq=False)
class RgbdView:
    """An image prepared for registration. index: its number in the recording; images: Open3D's RGBDImage.

    grey, depth_m: small images (h, w) float32, brightness 0 to 1 and metres;
    k: (3, 3) matrix of `images`, pixel centres at integers; small: intrinsics of the small images, centres at +0.5;
    points: (n, 3) float32, metres, optical frame, points of the small pixels with depth; tones: their brightness (n,).
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
    """Return an image prepared for registration. Raises BadFrame with the reason if it is unusable."""
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
    """Return the intrinsics of an image reduced by an integer factor."""
    return Intrinsics(k.width // factor, k.height // factor, k.fx / factor, k.fy / factor, k.cx / factor,
                      k.cy / factor)


def _blocks(image: np.ndarray, factor: int) -> np.ndarray:
    """Return the pixels of each block, (h, w, factor * factor, ...); incomplete blocks at the edges are cut off."""
    h, w = image.shape[0] // factor, image.shape[1] // factor
    cut = image[:h * factor, :w * factor].reshape(h, factor, w, factor, *image.shape[2:])
    return cut.swapaxes(1, 2).reshape(h, w, factor * factor, *image.shape[2:])


def _mean(image: np.ndarray, factor: int) -> np.ndarray:
    return image if factor == 1 else _blocks(image, factor).mean(axis=2, dtype=np.float32)


def shrunk_depth(depth_m: np.ndarray, factor: int) -> np.ndarray:
    """Return the mean depth of the nearest surface in each block; 0 if it covers less than half of the block."""
    if factor == 1:
        return np.ascontiguousarray(depth_m)
    blocks = _blocks(depth_m, factor)
    seen = blocks > 0
    nearest = np.where(seen, blocks, np.float32(np.inf)).min(axis=2, keepdims=True)
    same = seen & (blocks <= nearest * _SAME_SURFACE + 0.02)
    count = same.sum(axis=2)
    total = np.where(same, blocks, np.float32(0)).sum(axis=2)
    return np.where(2 * count >= factor * factor, total / np.maximum(count, 1), 0).astype(np.float32)


class MotionFit(NamedTuple):
    """The quality of a motion between two views.

    overlap: share of the source's pixels that the target shows too; agreement: share of those whose depth and
    brightness agree; response: factor by which the difference grows under the least noticeable shift of 5 cm.
    """

    overlap: float
    agreement: float
    response: float


class Motion(NamedTuple):
    """A motion between two views. target_from_source: (4, 4); refused: why it must not be used, "" if it may."""

    target_from_source: np.ndarray
    refused: str
    fit: MotionFit


def register(source: RgbdView, target: RgbdView, guess: np.ndarray, config: PoseSearchConfig,
             wide: bool = False) -> Motion:
    """Return the motion between two views. guess: initial target_from_source (4, 4); wide: it may be far off.
    """
    found: np.ndarray | None = guess
    for step in (_WIDE, _FINE) if wide else (_FINE,):
        found = found if found is None else _aligned(source, target, found, config.range_m, *step)
    if found is None:
        return Motion(guess, NO_OVERLAP, MotionFit(0.0, 0.0, 1.0))
    fit = compared(source, target, found)
    refused = ""
    if fit.overlap < config.min_overlap:
        refused = NO_OVERLAP
    elif fit.agreement < config.min_agreement:
        refused = DISAGREE
    elif fit.response < config.min_response:
        refused = BLANK
    return Motion(found, refused, fit)


def information(source: RgbdView, target: RgbdView, motion: np.ndarray, range_m: float) -> np.ndarray:
    """Return the (6, 6) information matrix of a motion for the pose graph."""
    library = open3d()
    tensor = library.core.Tensor
    found: np.ndarray = library.t.pipelines.odometry.compute_odometry_information_matrix(
        source.images.depth, target.images.depth, tensor(source.k), tensor(motion), 0.07, 1.0, range_m).numpy()
    return found


def moved(motion: np.ndarray) -> tuple[float, float]:
    """Return the distance and the angle of a motion (4, 4), metres and degrees."""
    cosine = (np.trace(motion[:3, :3]) - 1) / 2
    return float(np.linalg.norm(motion[:3, 3])), math.degrees(math.acos(min(1.0, max(-1.0, cosine))))


def compared(source: RgbdView, target: RgbdView, motion: np.ndarray) -> MotionFit:
    """Return how well two views fit. motion: (4, 4), target_from_source."""
    depth, tone, seen = _residuals(source, target, motion)
    overlap = float(seen.mean()) if len(seen) else 0.0
    if not seen.any():
        return MotionFit(0.0, 0.0, 1.0)
    agreement = float(((abs(depth) < 3) & (abs(tone) < _SAME_TONE))[seen].mean())
    return MotionFit(overlap, agreement, _response(source, target, motion))


def _aligned(source: RgbdView, target: RgbdView, guess: np.ndarray, range_m: float, iterations: tuple[int, ...],
             outlier_m: float) -> np.ndarray | None:
    """Return Open3D's motion, None if the system is singular or the result is not a rigid motion."""
    library = open3d()
    odometry, tensor = library.t.pipelines.odometry, library.core.Tensor
    steps = [odometry.OdometryConvergenceCriteria(n, 1e-6, 1e-6) for n in iterations]
    try:
        found: np.ndarray = odometry.rgbd_odometry_multi_scale(
            source.images, target.images, tensor(source.k), tensor(guess), 1.0, range_m, steps,
            odometry.Method.Hybrid, odometry.OdometryLossParams(outlier_m, 0.05, 0.1)).transformation.numpy()
    except RuntimeError:  # a singular system: no pixel of one image projects into the other
        return None
    rigid = np.isfinite(found).all() and np.allclose(found[:3, :3] @ found[:3, :3].T, np.eye(3), atol=1e-3)
    return found if rigid else None


def _residuals(source: RgbdView, target: RgbdView, motion: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each point of the source (n,) its residuals in depth and brightness, in sigmas, and whether the
    target sees its position."""
    points = source.points @ motion[:3, :3].T.astype(np.float32) + motion[:3, 3].astype(np.float32)
    k, z = target.small, np.maximum(points[:, 2], 1e-3)
    u = np.floor(points[:, 0] / z * k.fx + k.cx).astype(np.int32)
    v = np.floor(points[:, 1] / z * k.fy + k.cy).astype(np.int32)
    inside = (points[:, 2] > 0.1) & (u >= 0) & (u < k.width) & (v >= 0) & (v < k.height)
    u, v = np.where(inside, u, 0), np.where(inside, v, 0)
    there = target.depth_m[v, u]
    seen = inside & (there > 0)
    depth = (points[:, 2] - there) / (0.015 + 0.005 * z * z)  # sensor noise, and slopes within a small pixel
    seen &= depth < 12.0  # a point farther behind is hidden, not different
    return depth, (source.tones - target.grey[v, u]) / _TONE, seen


def _cost(source: RgbdView, target: RgbdView, motion: np.ndarray) -> np.ndarray:
    """Return the clipped squared residuals (n,), nan for points that the target does not see."""
    depth, tone, seen = _residuals(source, target, motion)
    return np.where(seen, np.minimum(depth ** 2, _CLIP) + np.minimum(tone ** 2, _CLIP), np.nan)


def _response(source: RgbdView, target: RgbdView, motion: np.ndarray) -> float:
    """Return the factor by which the difference grows under the shift of 5 cm that changes it least.

    The least noticeable direction is that of the smallest eigenvalue of the matrix of the residuals' derivatives.
    """
    columns = []
    for axis in np.eye(3):
        ahead, behind = (_residuals(source, target, _shifted(motion, sign * axis * _SHIFT_M / 2)) for sign in (1, -1))
        both = ahead[2] & behind[2]
        columns.append(np.concatenate([np.where(both, np.clip(a - b, -3, 3), 0.0)
                                       for a, b in zip(ahead[:2], behind[:2], strict=True)]))
    jacobian = np.stack(columns, 1)
    direction = np.linalg.eigh(jacobian.T @ jacobian)[1][:, 0]
    here, ratios = _cost(source, target, motion), list[float]()
    for sign in (1, -1):
        there = _cost(source, target, _shifted(motion, sign * direction * _SHIFT_M))
        both = ~np.isnan(here) & ~np.isnan(there)
        ratios.append(float(there[both].mean() / max(here[both].mean(), 1e-6)) if both.any() else 1.0)
    return min(ratios)


def _shifted(motion: np.ndarray, by_m: np.ndarray) -> np.ndarray:
    shifted = motion.copy()
    shifted[:3, 3] += by_m
    return shifted
