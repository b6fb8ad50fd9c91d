"""Which of many views a model is shown: few, that differ from each other and show where the robot could go."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from eqa_nodes.core.perception.projection import median_depth, visible_pixel
from eqa_nodes.core.types.floor import Option
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.views import Keyframe

_APART_M = 2.0  # views so far from each other show different things, whatever their direction
_TURNED_RAD = math.radians(72)  # where the camera of a view is not known: of one that sees 90 degrees
_OVERLAP = 0.8  # of the field of view by which two views differ enough
_OPTION = 0.4  # what showing one more option is worth; a view that shares nothing with the others is worth 1
_NOW = 0.3  # and one from where the robot stands
_OPEN_M = 1.5  # a view of something nearer than that, most often a wall, is worth less
_LEAST = 0.55


def pick(views: Sequence[Keyframe], options: Sequence[Option], most: int, now: Collection[int] = (),
         kept: Sequence[Keyframe] = (), shown: Sequence[Keyframe] = ()) -> tuple[Keyframe, ...]:
    """Return at most `most` views, oldest first: the kept ones, and of the others those that add most.

    now: ids of those taken where the robot stands. A view adds what no chosen one shows: another direction or place,
    and options that can be seen in it. shown: views that were shown before, which add options only. Fewer are returned
    where the rest adds too little, but one of `views` at least: the newest, where they are alike.
    """
    chosen = list(kept)[:most - 1]
    ids = {view.id for view in chosen}
    new = [view for view in views if view.id not in ids]
    rest = [*(view for view in shown if view.id not in ids), *new]
    seen = {view.id: _options_in(view, options) for view in (*chosen, *rest)}
    stale = {view.id for view in shown}

    def gain(view: Keyframe) -> float:
        covered = set().union(*(seen[other.id] for other in chosen))
        novelty = 0.0 if view.id in stale else _novelty(view, chosen)
        return novelty + _OPTION * len(seen[view.id] - covered) + _NOW * (view.id in now)

    candidates = new or rest  # the first one is new, however little it adds: it shows where the robot is
    while candidates and len(chosen) < most:
        best = max(candidates, key=lambda view: (gain(view), view.id))
        if candidates is rest and chosen and gain(best) < _LEAST + _NOW * (best.id in now):
            break
        chosen.append(best)
        rest.remove(best)
        candidates = rest
    return tuple(sorted(chosen, key=lambda view: view.id))


def _options_in(view: Keyframe, options: Sequence[Option]) -> set[int]:
    z = view.map_from_base.xyz[2]
    return {i for i, o in enumerate(options) if visible_pixel(view, o.x, o.y, z) is not None}


def _novelty(view: Keyframe, chosen: Sequence[Keyframe]) -> float:
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
