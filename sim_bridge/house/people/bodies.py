"""The bodies of people: their capsules, their obstacle discs, and how they are drawn into an image of a house.

A body is drawn as capsules; rays that hit them before the house replace colour, depth and labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.house.meshes import linear_rgb
from sim_bridge.rays import BAND_ROWS, Image, for_bands

STAND, WALK, SIT, LIE = "standing", "walking", "sitting", "lying"
RADIUS_M, HEIGHT_M = 0.24, 1.75  # size of a standing person: the space that must be free along their path
FEET_M = 0.42  # distance of a sitting person's feet in front of the seat's centre
_SHIRTS = ("red", "blue", "green", "yellow", "purple", "turquoise", "orange", "white")
_TROUSERS = ("black", "gray", "#2c3c5c", "brown", "beige")
_HAIR = ("#2a1c14", "#5a3a20", "#c8a050", "#777777", "#1a1a1a")
_SKIN = ("#e8b898", "#c68c64", "#8a5a3c", "#f0c8a8")
_SHIRT, _LEGS, _BARE, _TOP, _SHOE = range(5)


class Looks(NamedTuple):
    """Colours of a person, linear RGB 0..1, by part: shirt, trousers, skin, hair, shoes; (5, 3)."""

    colours: np.ndarray
    shirt: str  # colour word of the shirt


class Limb(NamedTuple):
    """A capsule in the person's own frame (x ahead, y left, floor at z 0), metres."""

    a: tuple[float, float, float]
    b: tuple[float, float, float]
    radius_m: float
    part: int


def looks_of(rng: np.random.Generator) -> Looks:
    """Draw random clothes."""
    shirt, trousers, hair, skin = (str(rng.choice(words)) for words in (_SHIRTS, _TROUSERS, _HAIR, _SKIN))
    return Looks(np.array([linear_rgb(c) for c in (shirt, trousers, skin, hair, "#202020")]), shirt)


def capsules(pose: Pose2, posture: str, stride_rad: float, seat_m: float, looks: Looks,
             points_rad: float | None = None) -> np.ndarray:
    """Return (k, 10) float32: both ends of each limb in the map frame, its radius, its colour (linear RGB).

    stride_rad: phase of the steps of a walking person; seat_m: height of the seat of a sitting person, or of the bed
    of a lying one, metres; points_rad: direction in which an arm points, from straight ahead, None = neither does.
    """
    limbs = _lying(seat_m) if posture == LIE else _sitting(seat_m) if posture == SIT else \
        _upright(stride_rad if posture == WALK else None)
    if points_rad is not None:
        limbs += _arm(points_rad, (seat_m + 0.56 if posture == SIT else 1.40))
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)

    def placed(p: tuple[float, float, float]) -> tuple[float, float, float]:
        return pose.x + c * p[0] - s * p[1], pose.y + s * p[0] + c * p[1], p[2]

    return np.array([(*placed(limb.a), *placed(limb.b), limb.radius_m, *looks.colours[limb.part]) for limb in limbs],
                    np.float32)


def carried(pose: Pose2, posture: str, seat_m: float, size: tuple[float, float, float], colour: str) -> np.ndarray:
    """Return (1, 10) float32: an object of this size in a person's hand, as one capsule."""
    height = seat_m + 0.22 if posture == SIT else 0.95
    x, y = pose.x + 0.3 * math.cos(pose.yaw), pose.y + 0.3 * math.sin(pose.yaw)
    radius, half = max(0.02, sorted(size)[1] / 2), max(size) / 2
    ends = (x, y, height + radius - half / 2, x, y, height + radius + half / 2)
    return np.array([(*ends, radius, *linear_rgb(colour or "gray"))], np.float32)


def discs(pose: Pose2, posture: str) -> list[tuple[float, float, float]]:
    """Return the obstacle discs of a person: x, y and radius on the floor, metres, map frame."""
    if posture == LIE:
        return []
    if posture != SIT:
        return [(pose.x, pose.y, RADIUS_M)]
    feet = pose.x + FEET_M * math.cos(pose.yaw), pose.y + FEET_M * math.sin(pose.yaw)
    return [(pose.x, pose.y, RADIUS_M), (*feet, 0.18)]


def _upright(stride_rad: float | None) -> list[Limb]:
    swing = 0.0 if stride_rad is None else math.sin(stride_rad)
    limbs = []
    for side in (1, -1):
        leg, arm = 0.42 * swing * side, -0.35 * swing * side
        hip, knee = (0.0, 0.09 * side, 0.92), (0.44 * math.sin(leg), 0.09 * side, 0.92 - 0.44 * math.cos(leg))
        bend = leg - (0.5 * max(0.0, -swing * side) if stride_rad is not None else 0.0)
        foot = (knee[0] + 0.40 * math.sin(bend), 0.09 * side, max(0.06, knee[2] - 0.42 * math.cos(bend)))
        shoulder = (0.0, 0.20 * side, 1.40)
        elbow = (0.28 * math.sin(arm), 0.24 * side, 1.40 - 0.28 * math.cos(arm))
        hand = (elbow[0] + 0.26 * math.sin(arm + 0.25), 0.24 * side, elbow[2] - 0.26 * math.cos(arm + 0.25))
        limbs += [Limb(hip, knee, 0.085, _LEGS), Limb(knee, foot, 0.062, _LEGS),
                  Limb((foot[0] - 0.04, foot[1], 0.045), (foot[0] + 0.13, foot[1], 0.045), 0.045, _SHOE),
                  Limb(shoulder, elbow, 0.052, _SHIRT), Limb(elbow, hand, 0.04, _BARE)]
    return limbs + _trunk(0.0, 0.95)


def _sitting(seat_m: float) -> list[Limb]:
    limbs, up = [], seat_m + 0.09
    for side in (1, -1):
        hip, knee = (-0.02, 0.10 * side, up), (FEET_M, 0.12 * side, up)
        shoulder, elbow = (-0.06, 0.20 * side, up + 0.47), (0.02, 0.25 * side, up + 0.22)
        limbs += [Limb(hip, knee, 0.085, _LEGS), Limb(knee, (FEET_M, 0.12 * side, 0.09), 0.062, _LEGS),
                  Limb((FEET_M - 0.04, 0.12 * side, 0.045), (FEET_M + 0.13, 0.12 * side, 0.045), 0.045, _SHOE),
                  Limb(shoulder, elbow, 0.052, _SHIRT), Limb(elbow, (0.24, 0.14 * side, up + 0.13), 0.04, _BARE)]
    return limbs + _trunk(-0.06, up + 0.03)


def _lying(bed_m: float) -> list[Limb]:
    """Return the limbs of a person on their back, the head behind their own origin."""
    def laid(p: tuple[float, float, float]) -> tuple[float, float, float]:
        return 0.85 - p[2], p[1], bed_m + 0.14 + p[0]
    return [limb._replace(a=laid(limb.a), b=laid(limb.b)) for limb in _upright(None)]


def _arm(direction_rad: float, shoulder_m: float) -> list[Limb]:
    """Return an arm that points, slightly downwards, in a direction from straight ahead."""
    c, s = math.cos(direction_rad), math.sin(direction_rad)

    def along(metres: float) -> tuple[float, float, float]:
        return metres * c, -0.2 + metres * s, shoulder_m - 0.1 * metres
    return [Limb(along(0.0), along(0.3), 0.052, _SHIRT), Limb(along(0.3), along(0.6), 0.04, _BARE)]


def _trunk(x: float, hips_m: float) -> list[Limb]:
    """Return torso, neck and head above hips at this height."""
    chest, chin = hips_m + 0.40, hips_m + 0.52
    face, eyes = x + 0.105, chin + 0.105
    return [*(Limb((x, 0.06 * side, hips_m + 0.02), (x, 0.085 * side, chest), 0.12, _SHIRT) for side in (1, -1)),
            *(Limb((face, 0.033 * side, eyes), (face, 0.036 * side, eyes), 0.013, _SHOE) for side in (1, -1)),
            Limb((x, 0.0, hips_m + 0.02), (x, 0.0, chest), 0.126, _SHIRT),
            Limb((x, -0.16, chest + 0.06), (x, 0.16, chest + 0.06), 0.062, _SHIRT),
            Limb((x, 0.0, chest + 0.06), (x, 0.0, chin), 0.052, _BARE),
            Limb((x + 0.025, 0.0, chin + 0.06), (x + 0.01, 0.0, chin + 0.15), 0.088, _BARE),
            Limb((x - 0.02, 0.0, chin + 0.10), (x - 0.01, 0.0, chin + 0.175), 0.094, _TOP)]


_SAMPLES = np.array([[0.0, 0.0], [-0.33, 0.17], [0.33, -0.17]])  # samples of a pixel, offsets in pixels
_LIGHT = np.array([0.35, 0.25, 0.9])  # towards a lamp of the room, in the map frame
_MARGIN_PX = 2
_ROUNDING_M = 1e-6  # a capsule may be hit this much nearer than its nearest point


def draw(image: Image, camera: CameraModel, map_from_camera: np.ndarray, bodies: Sequence[tuple[int, np.ndarray]]
         ) -> None:
    """Draw bodies (label, capsules as of `body.capsules`) into an image, in place, unless something is nearer.

    Every pixel that shows part of a person has their label, so hiding the label hides the whole person. People behind
    glass or in a mirror are not drawn, because that surface is nearer. Worker threads draw bands of rows; a pixel
    depends on itself only.
    """
    k = camera.intrinsics
    camera_from_map = np.linalg.inv(map_from_camera)
    light = camera_from_map[:3, :3] @ (_LIGHT / np.linalg.norm(_LIGHT))
    inside = []
    for label, limbs in bodies:
        ends = limbs[:, :6].reshape(-1, 2, 3) @ camera_from_map[:3, :3].T + camera_from_map[:3, 3]
        radius = limbs[:, 6].astype(np.float64)
        near = ends[..., 2].min(axis=1) - radius
        if (ends[..., 2].max(axis=1) + radius).max() <= 0.05 or near.min() > camera.max_range_m:
            continue
        boxes = _boxes(ends, radius, camera)
        local = np.concatenate([ends.reshape(-1, 6), limbs[:, 6:]], axis=1).astype(np.float64)
        inside.append((local, boxes, near.astype(np.float64) - _ROUNDING_M, label))

    def band(rows: slice) -> None:
        for local, boxes, near, label in inside:
            _draw(image.rgb, image.depth_m, image.labels, local, boxes, near, label, rows.start, rows.stop, k.fx, k.fy,
                  k.cx, k.cy, camera.max_range_m, light, _SAMPLES, camera.color)

    if inside:
        for_bands(band, k.height, BAND_ROWS)


def _boxes(ends: np.ndarray, radius: np.ndarray, camera: CameraModel) -> np.ndarray:
    """Return (k, 4) int64: the pixels that capsules can cover, first row and column, and the ends of both.

    ends: (k, 2, 3) ends of their axes in the camera's frame, metres. A capsule that reaches the lens can cover all
    pixels.
    """
    k = camera.intrinsics
    r = radius[:, None]
    ahead = (ends[..., 2] - r).min(axis=1) > 0.1
    z = np.where(ahead[:, None], ends[..., 2], 1.0)
    boxes = np.empty((len(ends), 4), np.int64)
    for axis, focal, centre, size in ((1, k.fy, k.cy, k.height), (0, k.fx, k.cx, k.width)):
        x = ends[..., axis]
        tangents = [(x * z + sign * r * np.sqrt(x * x + z * z - r * r)) / (z * z - r * r) for sign in (-1, 1)]
        sides = np.concatenate(tangents, axis=1) * focal + centre
        first = np.where(ahead, sides.min(axis=1) - _MARGIN_PX, 0)
        last = np.where(ahead, sides.max(axis=1) + _MARGIN_PX, size)
        boxes[:, 1 - axis], boxes[:, 3 - axis] = np.clip(first, 0, size), np.clip(last, 0, size)
    return boxes


@njit(nogil=True)
def _draw(rgb: np.ndarray, depth: np.ndarray, labels: np.ndarray, limbs: np.ndarray, boxes: np.ndarray,
          near: np.ndarray, label: int, first_row: int, last_row: int, fx: float, fy: float, cx: float, cy: float,
          max_range: float, light: np.ndarray, samples: np.ndarray, colour: bool) -> None:
    """Fill the pixels of some rows that a body can cover; limbs in the camera's frame, each not nearer than `near`."""
    axes = _axes(limbs)
    in_row, in_pixel = np.empty(len(limbs), np.int64), np.empty(len(limbs), np.int64)
    for row in range(max(first_row, boxes[:, 0].min()), min(last_row, boxes[:, 2].max())):
        c0, c1, crossing = rgb.shape[1], 0, 0
        for j in range(len(limbs)):
            if boxes[j, 0] <= row < boxes[j, 2]:
                c0, c1 = min(c0, boxes[j, 1]), max(c1, boxes[j, 3])
                in_row[crossing] = j
                crossing += 1
        for column in range(c0, c1):
            hits, red, green, blue, first = 0, 0.0, 0.0, 0.0, -1.0
            there = depth[row, column]
            possible = 0
            for j in in_row[:crossing]:
                if boxes[j, 1] <= column < boxes[j, 3] and not 0.0 < there <= near[j]:
                    in_pixel[possible] = j
                    possible += 1
            if not possible:
                continue
            for i in range(len(samples)):
                x = (column + 0.5 + samples[i, 0] - cx) / fx
                y = (row + 0.5 + samples[i, 1] - cy) / fy
                dd = x * x + y * y + 1.0
                best, limb = math.inf, -1
                for j in in_pixel[:possible]:
                    z = _hit(x, y, dd, limbs[j], axes[j])
                    if 0.02 < z < best:
                        best, limb = z, j
                if limb < 0 or best > max_range or 0.0 < there <= best:
                    continue
                if first < 0.0:
                    first = best
                if not colour:
                    break
                bright = _bright(x * best, y * best, best, limbs[limb], light)
                hits += 1
                red, green, blue = (red + bright * limbs[limb, 7], green + bright * limbs[limb, 8],
                                    blue + bright * limbs[limb, 9])
            if hits:
                share = hits / len(samples)
                for channel, value in ((0, red / hits), (1, green / hits), (2, blue / hits)):
                    own = 255.0 * min(1.0, value) ** (1 / 2.2)
                    rgb[row, column, channel] = np.uint8(own * share + rgb[row, column, channel] * (1 - share) + 0.5)
            if first > 0.0:
                depth[row, column] = first
                labels[row, column] = label


@njit(inline="always")
def _axes(limbs: np.ndarray) -> np.ndarray:
    """Return (k, 6) what every ray needs of a capsule: its axis, and three products of it and the camera."""
    axes = np.empty((len(limbs), 6))
    for j in range(len(limbs)):
        limb = limbs[j]
        bx, by, bz = limb[3] - limb[0], limb[4] - limb[1], limb[5] - limb[2]
        ox, oy, oz, r = -limb[0], -limb[1], -limb[2], limb[6]
        bb, bo, oo = bx * bx + by * by + bz * bz, bx * ox + by * oy + bz * oz, ox * ox + oy * oy + oz * oz
        axes[j, 0], axes[j, 1], axes[j, 2] = bx, by, bz
        axes[j, 3], axes[j, 4], axes[j, 5] = bb, bo, bb * oo - bo * bo - r * r * bb
    return axes


@njit(inline="always")
def _hit(x: float, y: float, dd: float, limb: np.ndarray, axis: np.ndarray) -> float:
    """Return the multiple of (x, y, 1) that first hits a capsule, inf if it misses (Quilez's closed form).

    dd: squared length of (x, y, 1); axis: of `_axes`.
    """
    bx, by, bz, bb, bo, c = axis[0], axis[1], axis[2], axis[3], axis[4], axis[5]
    ox, oy, oz, r = -limb[0], -limb[1], -limb[2], limb[6]
    bd, od = bx * x + by * y + bz, x * ox + y * oy + oz
    a, b = bb * dd - bd * bd, bb * od - bo * bd
    along = bo
    if a > 1e-12:
        h = b * b - a * c
        if h < 0.0:
            return math.inf
        t = (-b - math.sqrt(h)) / a
        along = bo + t * bd
        if 0.0 < along < bb:
            return t
    if along > 0.0:
        ox, oy, oz = ox - bx, oy - by, oz - bz
    b, c = x * ox + y * oy + oz, ox * ox + oy * oy + oz * oz - r * r
    h = b * b - dd * c
    return (-b - math.sqrt(h)) / dd if h > 0.0 else math.inf


@njit(inline="always")
def _bright(x: float, y: float, z: float, limb: np.ndarray, light: np.ndarray) -> float:
    """Return the brightness of a capsule's surface at a point: light of the room, and of a lamp above."""
    bx, by, bz = limb[3] - limb[0], limb[4] - limb[1], limb[5] - limb[2]
    px, py, pz = x - limb[0], y - limb[1], z - limb[2]
    bb = bx * bx + by * by + bz * bz
    s = min(1.0, max(0.0, (px * bx + py * by + pz * bz) / bb)) if bb > 0.0 else 0.0
    nx, ny, nz = (px - s * bx) / limb[6], (py - s * by) / limb[6], (pz - s * bz) / limb[6]
    towards = -(nx * x + ny * y + nz * z) / math.sqrt(x * x + y * y + z * z)
    return 0.36 + 0.24 * max(0.0, towards) + 0.42 * max(0.0, nx * light[0] + ny * light[1] + nz * light[2])
