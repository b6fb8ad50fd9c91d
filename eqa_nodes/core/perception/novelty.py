"""How much a view adds to others, by where it was taken and where it looks to."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eqa_nodes.core.perception.projection import median_depth
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.views import Keyframe

_APART_M = 2.0  # views so far from each other show different things, whatever their direction
_TURNED_RAD = math.radians(72)  # where the camera of a view is not known: of one that sees 90 degrees
_OVERLAP = 0.8  # of the field of view by which two views differ enough
_OPEN_M = 1.5  # a view of something nearer than that, most often a wall, is worth less


def novelty(view: Keyframe, chosen: Sequence[Keyframe]) -> float:
    """Return how much a view shows that none of the chosen ones does, 0..1."""
    pose, turned = view.pose, _field(view)
    shows = min(1.0, median_depth(view) / _OPEN_M)
    differs = (max(pose.distance(other.pose) / _APART_M, abs(wrap(pose.yaw - other.pose.yaw)) / turned)
               for other in chosen)
    return shows * min(1.0, min(differs, default=1.0))


def _field(view: Keyframe) -> float:
    """Return by how much a camera has to turn to show something else, radians."""
    if view.geometry is None:
        return _TURNED_RAD
    camera = view.geometry.intrinsics
    return _OVERLAP * 2 * math.atan(camera.width / (2 * camera.fx))
