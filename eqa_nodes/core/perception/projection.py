"""Projection between map points and pixels of a stored view, by its camera and its coarse depth image."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive
from eqa_nodes.core.settings import setting
from eqa_nodes.core.types.geometry import Transform, wrap
from eqa_nodes.core.types.views import FloorPixel, Frame, Intrinsics, Keyframe, ViewGeometry

_COLUMNS = 64  # columns of the coarse depth image
_FARTHEST_MM = 65_000
_AROUND = 2.5  # cells: maximum distance of a depth that is used for a pixel without depth in its own cell
_VIEWS = 512  # maximum number of decoded depth images in the cache, 12 kB each
_APART_M = 2.0  # views farther apart than this show different things, whatever their direction
_TURNED_RAD = math.radians(72)  # default for a view with unknown camera: that of a field of view of 90 degrees
_OVERLAP = 0.8  # share of the field of view by which two views must differ
_OPEN_M = 1.5  # a view with a smaller median depth, usually of a wall, is worth less


def geometry_of(frame: Frame) -> ViewGeometry:
    """Return the camera of a frame and its coarse depth, sampled at regular pixels without averaging across edges."""
    k = frame.intrinsics
    columns = min(_COLUMNS, k.width)
    rows = min(k.height, max(1, round(k.height * columns / k.width)))
    depth_m = frame.depth_m[np.ix_(_middles(k.height, rows), _middles(k.width, columns))].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        millimetres = np.rint(depth_m * 1000)
        good = (millimetres > 0) & (millimetres <= _FARTHEST_MM)  # false for NaN
    out = io.BytesIO()
    Image.fromarray(np.where(good, millimetres, 0).astype(np.uint16)).save(out, "PNG")
    return ViewGeometry(k, frame.base_from_camera, out.getvalue())


def pixel_of(view: Keyframe, x: float, y: float, z: float) -> tuple[float, float, float] | None:
    """Return the pixel (u, v) of a map point in the view's stored image, and its depth in metres.

    Pixel centres are at +0.5. Return None behind the camera, outside the image, and for a view without geometry.
    """
    if view.geometry is None:
        return None
    m, k = _map_from_camera(view.map_from_base, view.geometry.base_from_camera), view.geometry.intrinsics
    dx, dy, dz = x - m[0][3], y - m[1][3], z - m[2][3]
    right, down, depth_m = (m[0][i] * dx + m[1][i] * dy + m[2][i] * dz for i in range(3))
    if not depth_m > 0.0:
        return None
    u, v = k.fx * right / depth_m + k.cx, k.fy * down / depth_m + k.cy
    return (u, v, depth_m) if _inside(k, u, v) else None


def visible_pixel(view: Keyframe, x: float, y: float, z: float,
                  tolerance_m: float = 0.3) -> tuple[float, float, float] | None:
    """Return what `pixel_of` returns, or None also if the point is hidden according to the coarse depth.

    A point is hidden if it lies more than `tolerance_m` behind all of the (up to four) adjacent depths; the farthest
    one counts because a floor seen at a flat angle varies between them. Without a return there the point is visible.
    Raises BadFrame for a broken depth image.
    """
    found = pixel_of(view, x, y, z)
    if found is None or view.geometry is None:
        return None
    u, v, depth_m = found
    cells, k = _depth(view.id, view.geometry), view.geometry.intrinsics
    rows, columns = cells.shape
    i, j = math.floor(v * rows / k.height - 0.5), math.floor(u * columns / k.width - 0.5)
    farthest_m = float(cells[max(i, 0):i + 2, max(j, 0):j + 2].max())
    return None if 0.0 < farthest_m < depth_m - tolerance_m else found


def point_at(view: Keyframe, u: float, v: float) -> tuple[float, float, float] | None:
    """Return the map point at a pixel of the view's stored image, by the nearest depth around the pixel; metres.

    Return None outside the image, for a view without geometry, and without a return. Raises BadFrame for a broken
    depth image.
    """
    if view.geometry is None or not _inside(view.geometry.intrinsics, u, v):
        return None
    k = view.geometry.intrinsics
    depth_m = _nearest(_depth(view.id, view.geometry), k, u, v)
    if not depth_m:
        return None
    m = _map_from_camera(view.map_from_base, view.geometry.base_from_camera)
    right, down = (u - k.cx) / k.fx * depth_m, (v - k.cy) / k.fy * depth_m
    x, y, z = (row[0] * right + row[1] * down + row[2] * depth_m + row[3] for row in m)
    return x, y, z


def surface_of(view: Keyframe) -> tuple[np.ndarray, np.ndarray]:
    """Return the points (n, 3) of a view, metres, map frame, and their depths (n,); none without geometry.

    Raises BadFrame for a broken depth image.
    """
    if view.geometry is None:
        return np.zeros((0, 3)), np.zeros(0)
    cells, k = _depth(view.id, view.geometry), view.geometry.intrinsics
    rows, columns = cells.shape
    v, u = np.nonzero(cells)
    depth_m = cells[v, u].astype(np.float64)
    right = (_middles(k.width, columns)[u] + 0.5 - k.cx) / k.fx * depth_m
    down = (_middles(k.height, rows)[v] + 0.5 - k.cy) / k.fy * depth_m
    m = np.array(_map_from_camera(view.map_from_base, view.geometry.base_from_camera))
    return np.stack((right, down, depth_m), axis=1) @ m[:, :3].T + m[:, 3], depth_m


def coarse_depth(view: Keyframe) -> np.ndarray:
    """Return the (rows, columns) float32 coarse depth of a view, metres, 0 = no return, read-only.

    Raises BadFrame for a broken depth image, and for a view without geometry.
    """
    if view.geometry is None:
        raise BadFrame(f"keyframe {view.id} has no depth image: it was stored without depth")
    return _depth(view.id, view.geometry)


def coarse_rays(view: Keyframe) -> np.ndarray:
    """Return (rows, columns, 3) float32 rays of the cells of the coarse depth, optical axes, 1 along the optical axis.

    Raises BadFrame like `coarse_depth`.
    """
    rows, columns = coarse_depth(view).shape
    assert view.geometry is not None
    k = view.geometry.intrinsics
    right = (_middles(k.width, columns) + 0.5 - k.cx) / k.fx
    down = (_middles(k.height, rows) + 0.5 - k.cy) / k.fy
    return np.stack((*np.meshgrid(right, down), np.ones((rows, columns))), axis=-1).astype(np.float32)


def surface_grid(view: Keyframe) -> np.ndarray:
    """Return the points of `surface_of` in the layout of the coarse depth image, (rows, columns, 3); NaN = no return.

    (0, 0, 3) without geometry. Raises BadFrame for a broken depth image.
    """
    if view.geometry is None:
        return np.zeros((0, 0, 3))
    cells = _depth(view.id, view.geometry)
    grid = np.full((*cells.shape, 3), np.nan)
    grid[cells > 0] = surface_of(view)[0]
    return grid


def floor_at(view: Keyframe, u: float, v: float, most_m: float) -> tuple[float, float] | None:
    """Return the map position x, y, metres, of what a pixel of the view's stored image shows.

    It is computed from the depth there or, without a return, as the intersection of the ray with the floor at the
    height of the view's base, at most `most_m` away. Return None outside the image, for a view without geometry, and
    for a ray that does not point down. Raises BadFrame for a broken depth image.
    """
    point = point_at(view, u, v)
    if point is not None or view.geometry is None or not _inside(view.geometry.intrinsics, u, v):
        return point[:2] if point is not None else None
    m, k = _map_from_camera(view.map_from_base, view.geometry.base_from_camera), view.geometry.intrinsics
    right, down = (u - k.cx) / k.fx, (v - k.cy) / k.fy
    dx, dy, dz = (row[0] * right + row[1] * down + row[2] for row in m)
    if dz >= 0.0:
        return None
    far = min((view.map_from_base.xyz[2] - m[2][3]) / dz, most_m / max(math.hypot(dx, dy), 1e-9))
    return m[0][3] + far * dx, m[1][3] + far * dy


def median_depth(view: Keyframe) -> float:
    """Return the median of the coarse depth of a view, metres; inf without any return or without geometry.

    Raises BadFrame for a broken depth image.
    """
    cells = _depth(view.id, view.geometry) if view.geometry is not None else np.zeros(0)
    seen = cells[cells > 0]
    return float(np.median(seen)) if len(seen) else math.inf


def _nearest(cells: np.ndarray, k: Intrinsics, u: float, v: float) -> float:
    """Return the depth in metres of the nearest cell with a return, 0 if there is none nearby."""
    rows, columns = cells.shape
    down, right = v * rows / k.height - 0.5, u * columns / k.width - 0.5  # in cells, from the middle of the first
    top, left = max(0, math.ceil(down - _AROUND)), max(0, math.ceil(right - _AROUND))
    window = cells[top:math.floor(down + _AROUND) + 1, left:math.floor(right + _AROUND) + 1]
    i, j = np.indices(window.shape)
    far = np.where(window > 0, np.hypot(i + (top - down), j + (left - right)), np.inf)
    at = int(far.argmin())
    return float(window.flat[at]) if far.flat[at] <= _AROUND else 0.0


def _middles(pixels: int, cells: int) -> np.ndarray:
    """Return the pixel in the middle of each of `cells` equal parts of a row or column."""
    return (2 * np.arange(cells) + 1) * pixels // (2 * cells)


def _inside(k: Intrinsics, u: float, v: float) -> bool:
    return 0 <= u < k.width and 0 <= v < k.height


def _depth(keyframe_id: int, geometry: ViewGeometry) -> np.ndarray:
    """Return the coarse depth image, metres. Raises BadFrame for a broken image or invalid intrinsics."""
    k = geometry.intrinsics
    if not (k.fx > 0 and k.fy > 0):
        raise BadFrame(f"the camera of keyframe {keyframe_id} is {k}: focal lengths must be positive")
    try:
        return _decoded(geometry.depth_png, k.width, k.height)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:  # Pillow's errors for damage
        raise BadFrame(f"the depth image of keyframe {keyframe_id} cannot be decoded: {error}") from error


@lru_cache(_VIEWS)
def _decoded(depth_png: bytes, width: int, height: int) -> np.ndarray:
    """Return (rows, columns) float32 metres, 0 = no return, read-only. Raises ValueError and Pillow's errors."""
    with Image.open(io.BytesIO(depth_png), formats=("PNG",)) as image:
        if not image.mode.startswith("I") or image.width > width or image.height > height:
            raise ValueError(f"it is {image.width}x{image.height} of mode {image.mode}, not 16-bit grey within the "
                             f"image's {width}x{height}")
        depth_m = np.asarray(image, np.float32) / np.float32(1000)
    depth_m.flags.writeable = False
    return depth_m


@lru_cache(_VIEWS)
def _map_from_camera(map_from_base: Transform, base_from_camera: Transform) -> tuple[tuple[float, ...], ...]:
    """Return the upper three rows of the pose of the optical frame in the map."""
    matrix = map_from_base.matrix() @ base_from_camera.matrix()
    return tuple(tuple(row) for row in matrix[:3].tolist())


def novelty(view: Keyframe, chosen: Sequence[Keyframe]) -> float:
    """Return the share of a view's content that none of the chosen views shows, estimated from the poses, 0..1."""
    pose, turned = view.pose, _field(view)
    shows = min(1.0, median_depth(view) / _OPEN_M)
    differs = (max(pose.distance(other.pose) / _APART_M, abs(wrap(pose.yaw - other.pose.yaw)) / turned)
               for other in chosen)
    return shows * min(1.0, min(differs, default=1.0))


def _field(view: Keyframe) -> float:
    """Return the angle by which a camera must turn to show something else, radians."""
    if view.geometry is None:
        return _TURNED_RAD
    camera = view.geometry.intrinsics
    return _OVERLAP * 2 * math.atan(camera.width / (2 * camera.fx))


@dataclass(frozen=True)
class PlacesConfig:
    """Settings of `places_of`: the published values, except for samples."""

    count: Count = setting(3, "Maximum number of spots per view.")
    nearest_m: NotNegative = setting(2.0, "Minimum horizontal distance of a spot in metres.")
    farthest_m: Positive = setting(10.0, "Maximum horizontal distance of a spot in metres.")
    apart_m: NotNegative = setting(1.0, "Distance in metres below which two spots are merged.")
    floor_m: NotNegative = setting(0.1, "Height in metres up to which a point belongs to the floor.")
    samples: Counted = setting(1200, "Number of depth pixels examined per view, which limits the cost.")


def places_of(frame: Frame, config: PlacesConfig | None = None) -> tuple[FloorPixel, ...]:
    """Return visible floor points by farthest-point sampling, the farthest first; positions rounded to millimetres.

    There are fewer than `count` if the view shows less floor in that range, and none in front of a wall.
    """
    c = config or PlacesConfig()
    rows, columns, x, y = _floor(frame, c)
    if not len(x):
        return ()
    pose = frame.pose
    off = np.hypot(x - pose.x, y - pose.y)
    inside = (off >= c.nearest_m) & (off <= c.farthest_m)
    rows, columns, x, y, off = rows[inside], columns[inside], x[inside], y[inside], off[inside]
    chosen: list[int] = []
    gap = off  # the first is the farthest from the robot
    while len(chosen) < c.count and len(gap) and gap.max() >= c.apart_m:
        chosen.append(int(gap.argmax()))
        gap = np.minimum(gap if len(chosen) > 1 else np.inf, np.hypot(x - x[chosen[-1]], y - y[chosen[-1]]))
    return tuple(FloorPixel(int(columns[i]), int(rows[i]), round(float(x[i]), 3),
                            round(float(y[i]), 3)) for i in chosen)


def _floor(frame: Frame, c: PlacesConfig) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and map x, y (n,) of sampled pixels that show floor."""
    k, m = frame.intrinsics, frame.map_from_camera()
    stride = max(1, int((k.width * k.height / c.samples) ** 0.5))
    rows, columns = (i.ravel() for i in np.mgrid[stride // 2:k.height:stride, stride // 2:k.width:stride])
    z = frame.depth_m[rows, columns].astype(np.float64)
    z[~((z > 0) & (z < np.inf))] = 0.0
    u, v = (columns + 0.5 - k.cx) / k.fx * z, (rows + 0.5 - k.cy) / k.fy * z
    # written out, since the summation order of a matrix product depends on the processor
    x, y, height = (row[0] * u + row[1] * v + row[2] * z + row[3] for row in m[:3])
    floor = (z > 0) & (np.abs(height - frame.map_from_base.xyz[2]) <= c.floor_m)
    return rows[floor], columns[floor], x[floor], y[floor]
