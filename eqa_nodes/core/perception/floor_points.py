"""Spots of visible floor that the robot could go to; an answerer assigns values to them (EXPRESS-Bench, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive
from eqa_nodes.core.settings import setting
from eqa_nodes.core.types.views import FloorPixel, Frame


@dataclass(frozen=True)
class PlacesConfig:
    """The published values, but for samples."""

    count: Count = setting(3, "Maximum number of spots per view.")
    nearest_m: NotNegative = setting(2.0, "Minimum horizontal distance of a spot in metres.")
    farthest_m: Positive = setting(10.0, "Maximum horizontal distance of a spot in metres.")
    apart_m: NotNegative = setting(1.0, "Distance in metres below which two spots are merged.")
    floor_m: NotNegative = setting(0.1, "Height in metres up to which a point belongs to the floor.")
    samples: Counted = setting(1200, "Number of depth pixels examined per view, which limits the cost.")


def places_of(frame: Frame, config: PlacesConfig | None = None) -> tuple[FloorPixel, ...]:
    """Return floor in view, spread by farthest-point sampling from the farthest on; positions rounded to millimetres.

    Fewer than `count` where the view shows less floor so far off, none in front of a wall.
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
    # written out: a matrix product may sum in another order on another processor
    x, y, height = (row[0] * u + row[1] * v + row[2] * z + row[3] for row in m[:3])
    floor = (z > 0) & (np.abs(height - frame.map_from_base.xyz[2]) <= c.floor_m)
    return rows[floor], columns[floor], x[floor], y[floor]
