"""Observations of the robot with their checks, labels of instances, and the views that memory stores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame, BadPose
from eqa_nodes.core.types.geometry import Pose2, Transform, pose2_of

MAX_DEPTH_M = 100.0  # an indoor camera gives no farther returns
Point = tuple[float, float, float]


class Intrinsics(NamedTuple):
    """Pinhole camera: image size in pixels, focal lengths and principal point in pixels (pixel centres at +0.5)."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float


@dataclass(frozen=True, eq=False)
class Frame:
    """One observation of the robot: images and the pose at which they were taken.

    rgb: (H, W, 3) uint8; depth_m: (H, W) float32, metres along the optical axis, 0 = no return;
    labels: (H, W) uint16 instance ids, 0 = nothing, or None without labels (privileged if they are a simulator's).
    """

    stamp_ns: int
    rgb: np.ndarray
    depth_m: np.ndarray
    intrinsics: Intrinsics
    map_from_base: Transform
    base_from_camera: Transform
    labels: np.ndarray | None = None

    @property
    def pose(self) -> Pose2:
        """Pose of the base on the floor, map frame."""
        return pose2_of(self.map_from_base)

    def map_from_camera(self) -> np.ndarray:
        """Return the (4, 4) pose of the optical frame in the map."""
        return self.map_from_base.matrix() @ self.base_from_camera.matrix()


class PlanarScan(NamedTuple):
    """One scan of a planar scanner: ranges in its frame (x forward, z up), one per direction, counter-clockwise.

    ranges_m: (n,) float32, metres; by REP 117 inf = nothing within range, -inf = closer than the minimum range.
    first_rad, step_rad: direction of the first range and angle between two ranges, radians.
    """

    ranges_m: np.ndarray
    first_rad: float
    step_rad: float
    min_range_m: float
    max_range_m: float


class Label(NamedTuple):
    """Description of one labelled instance, from a simulator (privileged) or from a detector (detected).

    score: how sure the detector is of its kind in this look, 0..1; 1 in a simulator's labels. vector: what it looks
    like, as text (core/perception/vectors.py), "" = unknown.
    """

    instance: int
    kind: str
    room: str
    attributes: dict[str, str]  # colour, material, state ("on"), support ("desk"), relation ("on", "in", "above")
    detected: bool = False
    score: float = 1.0
    vector: str = ""


class Sighting(NamedTuple):
    """One labelled instance as seen in one keyframe; position and size in metres, map frame, from depth."""

    label: Label
    pixels: int
    bbox: tuple[int, int, int, int]  # left, top, right, bottom in pixels
    centre: tuple[float, float, float]
    size: tuple[float, float, float]


class FloorPixel(NamedTuple):
    """A visible floor point where the robot could stand: pixel (u, v) of the image, and x, y in metres, map frame."""

    u: int
    v: int
    x: float
    y: float


class ViewGeometry(NamedTuple):
    """The camera and the coarse depth of a remembered view.

    intrinsics: those of the stored image; depth_png: coarse depth image of the whole view as a 16-bit PNG, millimetres
    along the optical axis, 0 = no return (the encoding 16UC1 of REP 118).
    """

    intrinsics: Intrinsics
    base_from_camera: Transform
    depth_png: bytes


UNSEEN = 65_535  # in a label image without a label of this number: no detector could look at these pixels
TEXT = "text"  # the kind of readable text, and the attribute of a label with its content
MOVING = ("person",)  # kinds that move on their own


@dataclass(frozen=True)
class Keyframe:
    """A remembered view. jpeg is the canonical image: encoded once, then stored and shown unchanged.

    geometry: None if it was not recorded (folders of plain images).
    """

    id: int
    stamp_ns: int
    map_from_base: Transform
    jpeg: bytes
    sightings: tuple[Sighting, ...] = ()
    caption: str = ""
    region: str = ""
    places: tuple[FloorPixel, ...] = ()
    geometry: ViewGeometry | None = None

    @property
    def pose(self) -> Pose2:
        """Pose of the base on the floor, map frame."""
        return pose2_of(self.map_from_base)

    @property
    def privileged(self) -> bool:
        """Return whether the content of the view is from a simulator's labels."""
        return any(not s.label.detected for s in self.sightings)


def check_frame(frame: Frame) -> None:
    """Raise BadFrame naming the first fault of stamp, intrinsics, image shapes and types, or poses."""
    if not isinstance(frame.stamp_ns, int) or frame.stamp_ns < 0:
        raise BadFrame(f"stamp_ns is {frame.stamp_ns!r}: it must be a non-negative integer of nanoseconds")
    _check_intrinsics(frame.intrinsics)
    shape = (frame.intrinsics.height, frame.intrinsics.width)
    _check_image("rgb", frame.rgb, (*shape, 3), np.uint8)
    _check_image("depth_m", frame.depth_m, shape, np.float32)
    if frame.labels is not None:
        _check_image("labels", frame.labels, shape, np.uint16)
    for name, transform in (("map_from_base", frame.map_from_base), ("base_from_camera", frame.base_from_camera)):
        try:
            transform.matrix()
        except BadPose as error:
            raise BadFrame(f"{name}: {error}") from error


def clean_depth(depth_m: np.ndarray, max_m: float = MAX_DEPTH_M) -> tuple[np.ndarray, int]:
    """Return depth with NaN, inf, negative values and values above `max_m` set to 0 (no return), and their number.

    depth_m: (H, W) float32, metres; the same array is returned if it is clean, a copy otherwise.
    """
    good = (depth_m >= 0) & (depth_m <= max_m)  # false for NaN
    n_bad = depth_m.size - int(np.count_nonzero(good))
    return (depth_m, 0) if n_bad == 0 else (np.where(good, depth_m, np.float32(0)), n_bad)


def _check_intrinsics(k: Intrinsics) -> None:
    if k.width <= 0 or k.height <= 0:
        raise BadFrame(f"image size {k.width}x{k.height}: an image must have pixels")
    if not all(map(math.isfinite, k)) or k.fx <= 0 or k.fy <= 0:
        raise BadFrame(f"{k}: focal lengths must be positive and everything finite; is camera_info filled in?")


def _check_image(name: str, image: np.ndarray, shape: tuple[int, ...], dtype: type) -> None:
    if image.shape != shape or image.dtype != dtype:
        raise BadFrame(f"{name} is {image.shape} {image.dtype}, the intrinsics ask for {shape} {np.dtype(dtype)}")


def box_of(s: Sighting) -> tuple[Point, Point]:
    """Return the corners of a sighting's box, map frame, metres."""
    (x, y, z), (u, v, w) = s.centre, s.size
    return (x - u / 2, y - v / 2, z - w / 2), (x + u / 2, y + v / 2, z + w / 2)


def least(a: Point, b: Point) -> Point:
    """Return the lower corner of the box around two points."""
    return min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2])


def most(a: Point, b: Point) -> Point:
    """Return the upper corner of the box around two points."""
    return max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2])


def overlap(low: np.ndarray, high: np.ndarray, b_low: Point | np.ndarray, b_high: Point | np.ndarray,
            slack: float) -> np.ndarray:
    """Return the overlap (n,) of boxes (n, 3), (n, 3) with box b, as a share of the smaller of the two boxes.

    Of boxes b (m, 1, 3), (m, 1, 3) return (m, n).
    """
    low, high = low - slack, high + slack
    b0, b1 = np.asarray(b_low) - slack, np.asarray(b_high) + slack
    common = np.clip(np.minimum(high, b1) - np.maximum(low, b0), 0.0, None).prod(axis=-1)
    return np.asarray(common / np.minimum((high - low).prod(axis=-1), (b1 - b0).prod(axis=-1)))


def covered(of_low: Point, of_high: Point, low: Point, high: Point, slack_m: float) -> float:
    """Return the share of the first box that lies inside the second one, widened by the slack."""
    k_low, k_high = np.array(of_low), np.array(of_high)
    common = np.minimum(k_high, np.array(high) + slack_m) - np.maximum(k_low, np.array(low) - slack_m)
    shares = np.where(k_high - k_low > 1e-3, common / np.maximum(k_high - k_low, 1e-3), common >= 0)  # some are flat
    return float(shares.clip(0.0, 1.0).prod())


def srgb_of(linear: np.ndarray) -> np.ndarray:
    """Convert linear colours (as in glTF) to sRGB (as on screens and in cameras), both 0..1."""
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0) ** (1 / 2.4) - 0.055)


class Cloud(NamedTuple):
    """Points on surfaces. points: (n, 3) float32, metres, map frame; colours: (n, 3) uint8, sRGB as in the images."""

    points: np.ndarray
    colours: np.ndarray


class Mesh(NamedTuple):
    """Surfaces as triangles whose front is the observed side.

    vertices: (n, 3) float32, metres, map frame; triangles: (m, 3) int32, corners counter-clockwise seen from the front;
    colours: (n, 3) uint8 per vertex, sRGB as in the images; labels: (n,) uint16 instance ids per vertex as in
    Frame.labels, 0 = nothing, or None without labels.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    colours: np.ndarray
    labels: np.ndarray | None = None
