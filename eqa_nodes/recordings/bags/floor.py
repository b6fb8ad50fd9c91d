"""Compares the floor plane in depth images with TF: finds a wrong depth scale and a wrong camera mount.

A plane is fitted by RANSAC (Fischler and Bolles 1981). All tolerances are relative to the range, so the fit does not
depend on the unit of the depths: heights scale with it, angles stay the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.camera.image_geometry import calibration_of, quarter_turns, scaled, turned_camera, turned_image
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.mapping.config import MapperConfig
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.bags.measure import DepthView, Measured
from eqa_nodes.wire import messages

_TRIALS = 300
_NEAR = 0.012  # tolerance of a floor point's distance to the plane, as a share of its range
_CONE = math.cos(math.radians(40.0))  # largest error of TF; a wall is 90 degrees away
_FEWEST, _SHARE = 100, 0.15  # minimum number of floor points, and their minimum share of the image's lower half


def _unit(metres: float) -> str:
    return f"set node.camera.depth_unit_m: {metres:g}, or --depth-unit {metres:g} for a recording"


_FACTORS = {
    1000.0: "millimetres are taken for metres: 32FC1 is in metres, 16UC1 in millimetres (REP 118)",
    0.001: "metres are taken for millimetres: 16UC1 is in millimetres, 32FC1 in metres (REP 118)",
    5.0: "raw values are 5000 a metre (as in TUM's recordings) and are taken for millimetres: " + _unit(0.0002),
    4.0: "a unit of depth is 0.25 mm and is taken for a millimetre: " + _unit(0.00025),
    10.0: "a unit of depth is 0.1 mm and is taken for a millimetre: " + _unit(0.0001),
    0.2: "raw values are millimetres and are divided by 5000 (TUM's scale): divide by 1000",
    2.0: "depth is doubled: correct the driver's depth scale or the stereo baseline; or TF says half the height",
    0.5: "depth is halved: correct the driver's depth scale or the stereo baseline; or TF says double the height",
}
_FACTOR_SLACK, _FACTOR_DEG = 0.12, 4.0
_STRAIGHT = 0.94  # vertical part of the optical axis: no navigation camera looks so steeply up or down
_REACH_M = 3.0  # distance ahead, within the mapped range, at which the error in height is computed
_STEP_M = MapperConfig().obstacle_min_m  # floor that appears higher by this is mapped as an obstacle
_LITTLE_M = 0.06
TURN = "turn the robot to where the camera sees the floor, and check again"


class Plane(NamedTuple):
    """A plane in a camera's optical frame: unit normal, upwards, and height of the camera above it, metres."""

    normal: tuple[float, float, float]
    height_m: float

    @property
    def tilt_deg(self) -> float:
        """Downward tilt of the camera, degrees."""
        return _asin_deg(-self.normal[2])

    @property
    def roll_deg(self) -> float:
        """Roll of the camera, degrees; positive if the image's right side is raised."""
        return _asin_deg(self.normal[0])


def _asin_deg(value: float) -> float:
    return math.degrees(math.asin(min(1.0, max(-1.0, value))))  # rounding errors may exceed 1


def expected_plane(mount: Transform) -> Plane:
    """Return the plane z = 0 of the base as the camera should see it by TF."""
    m = mount.matrix()
    return Plane((float(m[2, 0]), float(m[2, 1]), float(m[2, 2])), float(m[2, 3]))


def seen(view: DepthView, k: Intrinsics, seed: int = 0) -> Plane | None:
    """Return the floor in the lower half of a depth image; None if no plane near TF's horizontal has enough points."""
    points = _lower(view, k)
    if len(points) < _FEWEST:
        return None
    expected = np.array(expected_plane(view.base_from_camera).normal)
    best = _ransac(points, expected, np.random.default_rng(seed))
    for _ in range(3):  # least squares over the near points, which each round selects again
        if best is None:
            return None
        near = points[abs(_off(points, *best)) < _NEAR]
        if len(near) < max(_FEWEST, _SHARE * len(points)):
            return None
        best = _fitted(near, expected)
    return None if best is None else Plane((float(best[0][0]), float(best[0][1]), float(best[0][2])), best[1])


def judge_measured(measured: Measured, upright: bool) -> Iterator[Finding]:
    """Judge the floor in measurements of a robot or a bag; yield nothing if its camera or its base is unknown."""
    if measured.where is None or not measured.where.base:
        return
    for info, (width, height) in zip(measured.cameras.values(), measured.samples["depth"].sizes):
        try:
            k = messages.intrinsics_of(calibration_of(info, (height, width)))
        except BadFrame:
            return  # the finding "intrinsics" reports it
        yield from judge_floor(measured.views, scaled(k, (height, width)), upright)
        return


def judge_floor(views: Sequence[DepthView], k: Intrinsics, upright: bool = False) -> Iterator[Finding]:
    """Compare the floor in a camera's depth images with TF; report a wrong scale, mount or optical frame.

    upright: whether images of a camera that is mounted on its side are rotated, as the bag reader does.
    """
    if not views:
        return
    axes = _axes(expected_plane(views[0].base_from_camera))
    turns = quarter_turns(views[0].base_from_camera) if axes.state != "ok" else 0
    if turns:
        k, views = _turned(views, k, turns)
    pairs = [(expected_plane(view.base_from_camera), plane) for view in views if (plane := seen(view, k))]
    floor = _judged(pairs, len(views)) if pairs else Finding(
        "floor", "warning", f"no floor in the lower half of {len(views)} depth images", TURN)
    if axes.state != "ok" and (not turns or not pairs or floor.state == "error"):
        yield axes
        return
    if turns:
        said = f"{axes.found}, and so does the floor that it sees: the camera is mounted so"
        axes = Finding("optical frame", "warning", said, "set node.camera.upright: true to turn pictures upright")
        if upright:
            axes = Finding("optical frame", "ok", f"{said}, and its images are turned upright")
    yield axes
    yield floor


def _turned(views: Sequence[DepthView], k: Intrinsics, turns: int) -> tuple[Intrinsics, list[DepthView]]:
    """Return intrinsics and views after quarter turns; the first and last pixels of thinned images are kept ones."""
    (height, width), stride = views[0].depth_m.shape, views[0].stride
    k = k._replace(width=(width - 1) * stride + 1, height=(height - 1) * stride + 1)
    return turned_camera(k, views[0].base_from_camera, turns)[0], [
        view._replace(depth_m=turned_image(view.depth_m, turns),
                      base_from_camera=turned_camera(k, view.base_from_camera, turns)[1]) for view in views]


def _axes(tf: Plane) -> Finding:
    """Judge the axes of the camera's frame by TF: z forward, y down (REP 103)."""
    down = -tf.normal[1]
    found = f"by TF the camera looks {round(tf.tilt_deg)} deg down, its right side is {round(tf.roll_deg)} deg up"
    if abs(tf.normal[2]) > _STRAIGHT:
        return Finding("optical frame", "error", found, "images name a body frame (x forward), or the camera looks "
                       "straight up or down: name the optical frame (z forward, y down) in their headers, and publish "
                       "it turned by roll -90, pitch 0, yaw -90 deg from the camera's body")
    if down < 0.3:
        how = "is upside down" if down < -0.3 else "lies on its side"
        return Finding("optical frame", "error", f"{found}: the picture {how}",
                       "correct the rotation of the optical frame (z forward, x right, y down), or turn the images")
    return Finding("optical frame", "ok", found)


def _judged(pairs: Sequence[tuple[Plane, Plane]], images: int) -> Finding:
    """Compare planes by TF with the fitted ones; uses medians, as a single image may show another plane."""
    by_tf_m, height_m, by_tf_deg, tilt, roll = (float(np.median(values)) for values in zip(*(
        (tf.height_m, floor.height_m, tf.tilt_deg, floor.tilt_deg - tf.tilt_deg, floor.roll_deg - tf.roll_deg)
        for tf, floor in pairs), strict=True))
    turned = math.radians(math.hypot(tilt, roll))
    found = (f"TF says the camera is {by_tf_m:.2f} m up and {round(by_tf_deg, 1) + 0.0} deg down, the floor says "
             f"{height_m:.2f} m and {by_tf_deg + tilt:.1f} deg (rolled by {roll:+.1f} deg), in {len(pairs)} of "
             f"{images} images")
    if by_tf_m <= 0:
        return Finding("floor", "error", found, "by TF the camera is not above the base: correct its mount")
    ratio = height_m / by_tf_m
    for factor, remedy in _FACTORS.items():
        exact = abs(math.log(ratio / factor)) < _FACTOR_SLACK and math.degrees(turned) < _FACTOR_DEG
        if exact or (factor in (1000.0, 0.001) and abs(math.log10(ratio / factor)) < 0.5):
            times = f"{factor:g} times too large" if factor > 1 else f"{1 / factor:g} times too small"
            return Finding("floor", "error", f"{found}: depths are {times}", remedy)
    off_m = abs(height_m - by_tf_m) + _REACH_M * math.tan(turned)
    if off_m <= _LITTLE_M:
        return Finding("floor", "ok", found)
    return Finding("floor", "error" if off_m > _STEP_M else "warning",
                   f"{found}: {_REACH_M:g} m ahead it is off by {off_m:.2f} m",
                   "correct the camera's mount (the transform from base_link to the camera), or let base_link stand on "
                   "the floor")


def _lower(view: DepthView, k: Intrinsics) -> np.ndarray:
    """Return the points of the lower half of the image, (N, 3) float64, optical frame."""
    half = view.depth_m.shape[0] // 2
    z = view.depth_m[half:].astype(np.float64)
    v, u = np.nonzero(np.isfinite(z) & (z > 0))
    z = z[v, u]
    x = (u * view.stride + 0.5 - k.cx) / k.fx
    y = ((v + half) * view.stride + 0.5 - k.cy) / k.fy
    return np.stack([x * z, y * z, z], axis=1)


def _ransac(points: np.ndarray, up: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float] | None:
    """Return normal and height of the plane with the most points near it and the fewest below it."""
    a, b, c = (points[rng.integers(len(points), size=_TRIALS)] for _ in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)
    good = lengths > 1e-6 * np.linalg.norm(b - a, axis=1) * np.linalg.norm(c - a, axis=1)
    normals, a = normals[good] / lengths[good, None], a[good]
    normals *= np.where(normals @ up < 0, -1.0, 1.0)[:, None]
    heights = -np.einsum("ij,ij->i", normals, a)
    good = (normals @ up > _CONE) & (heights > 0)
    if not good.any():
        return None
    normals, heights = normals[good], heights[good]
    off = (points @ normals.T + heights) / np.linalg.norm(points, axis=1)[:, None]
    score = (abs(off) < _NEAR).sum(axis=0) - (off < -2 * _NEAR).sum(axis=0)  # nothing lies below a floor
    best = int(score.argmax())
    return normals[best], float(heights[best])


def _off(points: np.ndarray, normal: np.ndarray, height: float) -> np.ndarray:
    """Return the height of points above the plane, as a share of their range."""
    off: np.ndarray = (points @ normal + height) / np.linalg.norm(points, axis=1)
    return off


def _fitted(points: np.ndarray, up: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the least-squares plane; None if it is too far from the horizontal, or above the camera."""
    weight = 1 / np.linalg.norm(points, axis=1)[:, None]  # depth errors grow with the range
    centre = (weight**2 * points).sum(axis=0) / (weight**2).sum()
    normal = np.linalg.svd(weight * (points - centre), full_matrices=False)[2][2]
    normal = normal if normal @ up > 0 else -normal
    height = float(-normal @ centre)
    return (normal, height) if height > 0 and normal @ up > _CONE else None
