"""Measures objects: fits an upright box to the outlines of an object in all views that show it.

A sighting has the outline of an object as a pixel box, accurate to a pixel, and a coarse box in the map. The outline of
one view leaves the distance open; outlines of several views from different sides determine one box. It is fitted by
least squares over all edges of all outlines, as QuadricSLAM (Nicholson et al. 2019) fits quadrics to detections.
Furniture is usually aligned with walls: the box has the yaw of the walls in the views.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.perception.projection import surface_grid
from eqa_nodes.core.types.measures import MeasuredLine, Point3
from eqa_nodes.core.types.views import Keyframe, Sighting, ViewGeometry

_CORNERS = np.array(list(product((-0.5, 0.5), repeat=3)))
_BORDER_PX = 2  # an outline that ends this close to the image's border may continue beyond it
_SCALE_M = 0.02  # above this, residuals of edges that may be hidden count less
_COARSE = 0.03  # weight of the coarse box relative to an edge
_STRAIGHT = 0.1  # below this sine of twice the yaw, coarse boxes count as aligned with the box's axes
_OUTWARD = np.array([-1.0, -1.0, 1.0, 1.0])  # sign from the middle of an outline outwards: left, top, right, bottom
_INWARD = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
_LEAST_M = 0.005
_FLOOR_M = 0.08  # objects that end this close to the floor stand on it
_MOST_VIEWS = 24  # maximum number of views per object, the largest ones
_STEEP = 0.3  # maximum vertical component of a wall's normal
_JUMP_M = 0.4  # points of neighbouring cells farther apart than this are on different surfaces
_NEARER_M, _COVERED = 0.03, 0.3  # an occluder is nearer by this distance, along this share of the edge
_NEAR_M = 0.25  # minimum depth of corners: nearer ones have no useful projection


class Length(NamedTuple):
    """A measured line in the map, and the standard deviation of its length, metres."""

    line: MeasuredLine
    doubt_m: float

    @property
    def metres(self) -> float:
        """The length."""
        return self.line.metres


class ObjectBox(NamedTuple):
    """An upright box around an object, map frame, metres, radians.

    centre: centre of the box; size: its lengths along its x and y axes, and its height; yaw: yaw of its x axis, in
    [-pi/4, pi/4]; covariance: (6, 6) of centre and size along its own axes, square metres, from the outlines: large
    along an axis that no view constrains.
    """

    centre: tuple[float, float, float]
    size: tuple[float, float, float]
    yaw: float = 0.0
    covariance: tuple[tuple[float, ...], ...] = ((0.0,) * 6,) * 6

    def doubt_m(self, axis: int) -> float:
        """Return the standard deviation of the size along one of the box's axes, metres."""
        return math.sqrt(self.covariance[3 + axis][3 + axis])

    def face_doubt_m(self, axis: int, far: bool) -> float:
        """Return the standard deviation of a face's position along an axis; far: of the face at the positive end."""
        c, sign = self.covariance, 1.0 if far else -1.0
        return math.sqrt(max(c[axis][axis] + c[3 + axis][3 + axis] / 4 + sign * c[axis][3 + axis], 0.0))

    @property
    def low(self) -> float:
        """Height of the bottom, map frame."""
        return self.centre[2] - self.size[2] / 2

    @property
    def high(self) -> float:
        """Height of the top, map frame."""
        return self.centre[2] + self.size[2] / 2

    def axes(self) -> np.ndarray:
        """Return the rotation (3, 3) from the map's axes to the box's axes."""
        return _turn(self.yaw)

    def side(self, axis: int, eye: Point3) -> Length:
        """Return a side as a line that a camera at eye sees, along the box's own axis 0, 1 or 2.

        On the edge of its top that is nearest to the camera; half-way up a box that is taller than the camera, and of a
        height up the middle of the face that the camera looks at most squarely.
        """
        turn = self.axes()
        middle, half, seen_from = turn @ np.array(self.centre), np.array(self.size) / 2, turn @ np.array(eye)
        at = np.where(seen_from > middle, middle + half, middle - half)
        if axis == 2:
            across = int((np.abs(seen_from - middle)[:2] - half[:2]).argmin())
            at[across] = middle[across]
        elif at[2] < middle[2] or middle[2] + half[2] > seen_from[2]:
            at[2] = middle[2]
        start, end = at.copy(), at.copy()
        start[axis], end[axis] = middle[axis] - half[axis], middle[axis] + half[axis]
        return Length(_line(start, end, turn), self.doubt_m(axis))

    def distance(self, other: ObjectBox, level: bool) -> Length:
        """Return the shortest line to a box that is turned alike; level: within the floor plane.

        Its doubt is that of the two faces that look at each other.
        """
        turn = self.axes()
        a, b = (np.array(box.size) / 2 for box in (self, other))
        p, q = (turn @ np.array(box.centre) for box in (self, other))
        low, high = np.maximum(p - a, q - b), np.minimum(p + a, q + b)  # of what both share; low > high across a gap
        start = np.where(low <= high, (low + high) / 2, np.where(p < q, high, low))
        end = np.where(low <= high, (low + high) / 2, np.where(p < q, low, high))
        if level and start[2] != end[2]:
            start[2] = end[2] = min(start[2], end[2])
        axis = int((np.abs(q - p) - a - b)[:2].argmax())
        ahead = bool(q[axis] > p[axis])
        doubt_m = math.hypot(self.face_doubt_m(axis, ahead), other.face_doubt_m(axis, not ahead))
        return Length(_line(start, end, turn), doubt_m)

    def corners(self) -> np.ndarray:
        """Return the corners (8, 3), map frame."""
        return _corners(np.array([*self.centre, *self.size]), self.yaw)


Sightings = Sequence[tuple[Keyframe, Sighting]]


def box_of_sightings(seen: Sightings, yaw: float = 0.0) -> ObjectBox:
    """Return the box of one object from its sightings. Raises ValueError if there are none.

    yaw: yaw of the walls, from `wall_yaw`. Views without geometry contribute only their coarse boxes.
    """
    if not seen:
        raise ValueError("no sighting: an object that was not seen has no size")
    best = sorted(seen, key=lambda one: (-one[1].pixels, one[0].id))[:_MOST_VIEWS]
    start = _coarse([s for _, s in best], yaw)
    fitted, covariance = _fitted(start, _outlines(best), yaw)
    stands = any(s.label.attributes.get("relation") == "floor" for _, s in best)
    x, y, z, length, width, height = _on_floor(fitted, min(view.map_from_base.xyz[2] for view, _ in best), stands)
    return ObjectBox((x, y, z), (length, width, height), yaw, tuple(map(tuple, covariance.tolist())))


def _coarse(seen: Sequence[Sighting], yaw: float) -> np.ndarray:
    """Return centre and size (6,) of the bounding box of all coarse boxes, in axes turned by yaw."""
    centres, sizes = np.array([s.centre for s in seen]), np.array([s.size for s in seen])
    turn = _turn(yaw)
    middles = centres @ turn.T
    low, high = (middles - sizes / 2).min(axis=0), (middles + sizes / 2).max(axis=0)
    return np.concatenate(((low + high) / 2 @ turn, np.maximum(high - low, _LEAST_M)))


class _Outlines(NamedTuple):
    """Outlines of an object in n views: cameras (n, 3, 4), map to pixels; edges (n, 4) in pixels, and their focal
    lengths (n, 4); whole (n, 4): whether the object ends at the edge, and is not cut by the image or an occluder.
    """

    cameras: np.ndarray
    edges: np.ndarray
    focal_px: np.ndarray
    whole: np.ndarray


def _outlines(seen: Sightings) -> _Outlines:
    known = [(view, view.geometry, s) for view, s in seen if view.geometry is not None]
    cameras = [_camera(view, geometry) for view, geometry, _ in known]
    n = len(known)
    focal = [(g.intrinsics.fx, g.intrinsics.fy) * 2 for _, g, _ in known]
    return _Outlines(np.array(cameras).reshape(n, 3, 4), np.array([s.bbox for *_, s in known], float).reshape(n, 4),
                     np.array(focal, float).reshape(n, 4),
                     np.array([whole_edges(view, s) for view, _, s in known], bool).reshape(n, 4))


def _camera(view: Keyframe, geometry: ViewGeometry) -> np.ndarray:
    """Return the (3, 4) projection matrix from map points to pixels of a view, before the division by depth."""
    k = geometry.intrinsics
    matrix = np.array([[k.fx, 0.0, k.cx], [0.0, k.fy, k.cy], [0.0, 0.0, 1.0]])
    return np.asarray(matrix @ np.linalg.inv(view.map_from_base.matrix() @ geometry.base_from_camera.matrix())[:3])


def whole_edges(view: Keyframe, s: Sighting) -> tuple[bool, bool, bool, bool]:
    """Return which edges of an outline (left, top, right, bottom) are ends of the object, not cut by the image or by an
    occluder. All are False if the view has no geometry or a broken depth image.
    """
    if view.geometry is None:
        return (False,) * 4
    k, (left, top, right, bottom) = view.geometry.intrinsics, s.bbox
    inside = (left > _BORDER_PX, top > _BORDER_PX, right < k.width - _BORDER_PX, bottom < k.height - _BORDER_PX)
    try:
        hidden = _hidden(view, view.geometry, s)
    except BadFrame:
        return (False,) * 4
    first, second, third, fourth = (a and not b for a, b in zip(inside, hidden, strict=True))
    return first, second, third, fourth


def _hidden(view: Keyframe, geometry: ViewGeometry, s: Sighting) -> list[bool]:
    """Return for each edge of an outline whether something beyond it is nearer to the camera than the object.

    The floor does not count, because it is always nearer in front of an object.
    """
    points, k = surface_grid(view), geometry.intrinsics
    rows, columns = points.shape[:2]
    camera = _camera(view, geometry)
    corners = np.array(s.centre) + _CORNERS * np.array(s.size)
    nearest = float((corners @ camera[2, :3] + camera[2, 3]).min()) - _NEARER_M
    far = points @ camera[2, :3] + camera[2, 3]
    with np.errstate(invalid="ignore"):
        nearer = (far < nearest) & (points[..., 2] > view.map_from_base.xyz[2] + _FLOOR_M)
    left, top, right, bottom = s.bbox
    u0, u1 = left * columns / k.width, right * columns / k.width
    v0, v1 = top * rows / k.height, bottom * rows / k.height
    across = slice(int(u0), max(math.ceil(u1), int(u0) + 1))
    down = slice(int(v0), max(math.ceil(v1), int(v0) + 1))
    beyond = (nearer[down, max(int(u0) - 2, 0):int(u0)], nearer[max(int(v0) - 2, 0):int(v0), across],
              nearer[down, math.ceil(u1):math.ceil(u1) + 2], nearer[math.ceil(v1):math.ceil(v1) + 2, across])
    return [edge.size > 0 and bool(edge.mean() >= _COVERED) for edge in beyond]


def _fitted(start: np.ndarray, outlines: _Outlines, yaw: float) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and size (6,) by least squares from a start, and their covariance (6, 6) along the box's axes."""
    from scipy.optimize import least_squares  # takes half a second, which nodes that measure nothing save

    straight = abs(math.sin(2 * yaw)) < _STRAIGHT
    inner = np.concatenate((start[:3] - start[3:] / 2, start[:3] + start[3:] / 2))

    def residuals(box: np.ndarray) -> np.ndarray:
        short = _short(box, outlines, yaw) / _SCALE_M
        hidden = np.sqrt(np.log1p(short ** 2))  # the box may continue behind the occluder
        seen = np.where(outlines.whole, np.where(short < 0, hidden, short), np.maximum(short, 0.0))
        ends = np.concatenate((box[:3] - box[3:] / 2, box[:3] + box[3:] / 2))
        out = np.maximum((ends - inner) * _INWARD, 0.0) / _SCALE_M if straight else np.zeros(6)
        return np.concatenate((seen.ravel(), out, _COARSE * (box - start) / _SCALE_M))

    low = np.concatenate((start[:3] - 2.0, np.full(3, _LEAST_M / 2)))
    high = np.concatenate((start[:3] + 2.0, start[3:] + 3.0))
    found = least_squares(residuals, start, bounds=(low, high))
    turn = np.eye(6)
    turn[:3, :3] = _turn(yaw)
    two_sided = np.concatenate((outlines.whole.ravel(), np.zeros(6, bool), np.ones(6, bool)))  # no bounds
    jacobian = found.jac[two_sided] @ turn.T
    return found.x, np.linalg.inv(jacobian.T @ jacobian)


def _short(box: np.ndarray, outlines: _Outlines, yaw: float) -> np.ndarray:
    """Return (n, 4) metres, at the object's distance, by which the outlines extend beyond those of a box."""
    points = np.concatenate((_corners(box, yaw), np.ones((8, 1))), axis=1)
    projected = np.einsum("nij,kj->nik", outlines.cameras, points)  # (n, 3, 8)
    z = np.maximum(projected[:, 2], _NEAR_M)
    u, v = projected[:, 0] / z, projected[:, 1] / z
    ends = np.stack((u, v, u, v), axis=1)  # (n, 4, 8)
    at = np.stack((u.argmin(1), v.argmin(1), u.argmax(1), v.argmax(1)), axis=1)
    of_box = np.take_along_axis(ends, at[:, :, None], axis=2)[:, :, 0]
    far = np.take_along_axis(z, at, axis=1)
    return np.asarray((outlines.edges - of_box) * _OUTWARD * far / outlines.focal_px)


def _on_floor(box: np.ndarray, floor: float, stands: bool) -> list[float]:
    """Return the box extended to the floor if it stands on it or ends close to it."""
    x, y, z, length, width, height = (float(value) for value in box)
    low, high = z - height / 2, z + height / 2
    if (abs(low - floor) <= _FLOOR_M or (stands and low > floor)) and high - floor > _FLOOR_M:
        z, height = (floor + high) / 2, high - floor
    return [x, y, z, length, width, height]


def _turn(yaw: float) -> np.ndarray:
    """Return the rotation (3, 3) from the map's axes to axes turned by yaw."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def _line(start: np.ndarray, end: np.ndarray, turn: np.ndarray) -> MeasuredLine:
    """Return a line in the map between two points in axes that are turned."""
    (a, b, c), (d, e, f) = (map(float, turn.T @ point) for point in (start, end))
    return MeasuredLine((a, b, c), (d, e, f))


def _corners(box: np.ndarray, yaw: float) -> np.ndarray:
    return np.asarray(box[:3] + (_CORNERS * box[3:]) @ _turn(yaw))


def wall_yaw(views: Iterable[Keyframe]) -> float:
    """Return the yaw of the walls and most furniture in the map, in [-pi/4, pi/4]; 0 if no view shows walls.

    It is a quarter of the circular mean of four times the normal directions of upright surfaces in the depth images.
    """
    total = sum((_directions(view) for view in views), complex(0.0))
    return math.atan2(total.imag, total.real) / 4 if abs(total) > 0 else 0.0


def _directions(view: Keyframe) -> complex:
    """Return the sum of exp(4 i a) over the directions a of normals of upright surfaces in a view."""
    try:
        points = surface_grid(view)
    except BadFrame:  # a damaged depth image shows no walls
        return complex(0.0)
    across, down = np.diff(points, axis=1)[:-1], np.diff(points, axis=0)[:, :-1]
    normal = np.cross(across, down)
    length = np.linalg.norm(normal, axis=2)
    near = (np.linalg.norm(across, axis=2) < _JUMP_M) & (np.linalg.norm(down, axis=2) < _JUMP_M)  # False for NaN
    upright = near & (length > 0) & (np.abs(normal[..., 2]) < _STEEP * length)
    angle = np.arctan2(normal[..., 1], normal[..., 0])[upright]
    return complex(np.exp(4j * angle).sum())
