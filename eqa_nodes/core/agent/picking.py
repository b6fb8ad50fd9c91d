"""Which of many views a model is shown: few, that differ from each other and show where the robot could go."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from eqa_nodes.core.perception.novelty import novelty
from eqa_nodes.core.perception.projection import visible_pixel
from eqa_nodes.core.types.floor import Option
from eqa_nodes.core.types.views import Keyframe

_OPTION = 0.4  # what showing one more option is worth; a view that shares nothing with the others is worth 1
_NOW = 0.3  # and one from where the robot stands
_LEAST = 0.55


def pick(views: Sequence[Keyframe], options: Sequence[Option], most: int, now: Collection[int] = (),
         kept: Sequence[Keyframe] = (), shown: Sequence[Keyframe] = ()) -> tuple[Keyframe, ...]:
    """Return at most `most` views, oldest first: the kept ones, and of the others those that add most.

    now: ids of those taken where the robot stands. A view adds what no chosen one shows: another direction or place,
    and options that can be seen in it. shown: views that were shown before, which add options only: one is shown again
    where it alone shows an option, if there is room. Fewer are returned where the rest adds too little, but one of
    `views` at least: the newest, where they are alike.
    """
    chosen = list(kept)[:most - 1]
    ids = {view.id for view in chosen}
    new = [view for view in views if view.id not in ids]
    rest = [*(view for view in shown if view.id not in ids), *new]
    seen = {view.id: _options_in(view, options) for view in (*chosen, *rest)}
    stale = {view.id for view in shown}

    def gain(view: Keyframe) -> float:
        covered = set().union(*(seen[other.id] for other in chosen))
        new = 0.0 if view.id in stale else novelty(view, chosen)
        return new + _OPTION * len(seen[view.id] - covered) + _NOW * (view.id in now)

    candidates = new or rest  # the first one is new, however little it adds: it shows where the robot is
    while candidates and len(chosen) < most:
        best = max(candidates, key=lambda view: (gain(view), view.id))
        enough = _OPTION if best.id in stale else _LEAST + _NOW * (best.id in now)
        if candidates is rest and chosen and gain(best) < enough:
            break
        chosen.append(best)
        rest.remove(best)
        candidates = rest
    return tuple(sorted(chosen, key=lambda view: view.id))


def _options_in(view: Keyframe, options: Sequence[Option]) -> set[int]:
    z = view.map_from_base.xyz[2]
    return {i for i, o in enumerate(options) if visible_pixel(view, o.x, o.y, z) is not None}
