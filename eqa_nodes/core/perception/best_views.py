"""What stored views show of a place: the best view of it, whole, near and from the side that matters; its walls."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.perception.projection import surface_of, visible_pixel
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.views import Keyframe

_MARGIN = 0.08  # share of the image's width and height: what lies nearer to the border is cut off
_CUT_OFF = 1.0  # cost of that, as much as 2.7 times the distance
_ASIDE = 0.5  # cost of a point at the border, compared with one in the middle
_TURNED = 1.0  # cost of looking the other way
_THIS_FLOOR_M = 1.5
_NEARBY_M = 4.0  # views from farther away show walls in too few points
_TALL_M, _LINTEL_M = 1.4, 1.9  # what is between these heights beside an opening is a wall
_THICK_M, _JAMB_M = 0.2, (0.3, 0.8)  # how far from its line, and how far from its middle, the ends of walls are
_POINTS = 8


class Glimpse(NamedTuple):
    """A place in a stored view: its pixel in the stored image, its depth in metres, and how badly it is seen.

    worse: ln of the distance as a multiple of the ideal one, plus costs; 0 is the best.
    """

    view: Keyframe
    u: float
    v: float
    depth_m: float
    worse: float


def best_glimpse(views: Iterable[Keyframe], point: tuple[float, float, float], ideal_m: float,
                 looking: float | None = None) -> Glimpse | None:
    """Return the best view of a point of the map, metres; of equally good ones the newest. None if none shows it.

    ideal_m: the distance from which the point is seen best. looking: direction in which it should be looked at,
    radians; None = any. Views without a picture, such as forgotten ones, and damaged ones show nothing.
    """
    found = [one for view in views if (one := glimpse_of(view, point, ideal_m, looking)) is not None]
    return min(found, key=lambda one: (round(one.worse, 3), -one.view.id), default=None)


def glimpse_of(view: Keyframe, point: tuple[float, float, float], ideal_m: float,
               looking: float | None = None) -> Glimpse | None:
    """Return how a view shows a point, None if it does not."""
    if not view.jpeg or view.geometry is None or not all(map(math.isfinite, point)):
        return None
    if abs(point[2] - view.map_from_base.xyz[2]) > view.geometry.base_from_camera.xyz[2] + _THIS_FLOOR_M:
        return None
    try:
        pixel = visible_pixel(view, *point)
    except BadFrame:
        return None
    if pixel is None:
        return None
    u, v, depth_m = pixel
    k = view.geometry.intrinsics
    worse = abs(math.log(max(depth_m, 0.1) / ideal_m)) + _ASIDE * abs(2.0 * u / k.width - 1.0)
    if min(u / k.width, 1.0 - u / k.width, v / k.height, 1.0 - v / k.height) < _MARGIN:
        worse += _CUT_OFF
    if looking is not None:
        bearing = math.atan2(point[1] - view.pose.y, point[0] - view.pose.x)
        worse += _TURNED * abs(wrap(bearing - looking)) / math.pi
    return Glimpse(view, u, v, depth_m, worse)


def between_walls(views: Iterable[Keyframe], x: float, y: float, heading: float) -> bool:
    """Return whether an opening of the map lies between walls by the depth of views: what stands on both sides of it is
    as high as only walls are. False where no view from nearby shows its sides at that height.

    x, y: middle of the opening, map frame, metres; heading: direction through it, radians.
    """
    beside = [0, 0]
    dx, dy = math.cos(heading), math.sin(heading)
    for view in views:
        if math.dist(view.pose[:2], (x, y)) > _NEARBY_M:
            continue
        try:
            points, _ = surface_of(view)
        except BadFrame:
            continue
        up = points[:, 2] - view.map_from_base.xyz[2]
        east, north = points[:, 0] - x, points[:, 1] - y
        through, aside = east * dx + north * dy, north * dx - east * dy
        posts = (up > _TALL_M) & (up < _LINTEL_M) & (np.abs(through) < _THICK_M)
        beside[0] += int((posts & (aside > _JAMB_M[0]) & (aside < _JAMB_M[1])).sum())
        beside[1] += int((posts & (-aside > _JAMB_M[0]) & (-aside < _JAMB_M[1])).sum())
    return min(beside) >= _POINTS
