"""Selects the recalled views to show to a model: few, relevant to the question and different from each other.

A tour contains many similar pictures. The coarse depth of a view shows which pieces of surface it contains; near ones
count more. The next view is the one that shows most of what the chosen ones do not (greedy maximum coverage), weighted
by its score for the question. Without depth, the pose decides.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from PIL import Image

from eqa_nodes.core.memory.keyframes import SAME_TURN_DEG, KeyframeConfig, difference, thumbnail
from eqa_nodes.core.perception.projection import novelty, surface_of
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.questions import Recalled, RecallQuery
from eqa_nodes.core.types.views import Keyframe

_CANDIDATES = 10  # recalled views per view to choose
_CELL_M = 0.25  # edge of a piece of surface
_NEAR_M = 2.0  # surfaces up to this distance have full quality; farther ones in proportion to their solid angle
_TURNED = 2.0  # limit of the value a view adds, as a multiple of its novelty by pose: depth and poses have errors
_LEAST = 0.05  # minimum value that a view adds, as a share of the fullest view or, for relevant views, of itself
_ELSEWHERE, _FAR_M = 0.25, 5.0  # bonus of a view taken this far from all chosen ones
_UNKNOWN = 0.1  # fit of a view with unknown content, relative to the best one
_CHANGED = 0.5  # value added by a view that looks different from earlier ones of the same pose
_SAME = KeyframeConfig()


def recall_diverse(recall: Callable[[RecallQuery], Sequence[Recalled]], text: str, most: int) -> list[Recalled]:
    """Return at most `most` different views for a question from those that memory recalls, the best first."""
    return diverse(recall(RecallQuery(text, _CANDIDATES * most)), most)


def diverse(items: Sequence[Recalled], most: int) -> list[Recalled]:
    """Return at most `most` items, the one that adds most first; items that add almost nothing are omitted.

    items: best first. If scores are 0, the content of views is unknown, and only what a view adds counts.
    Raises BadFrame if an image is broken.
    """
    shown = _Shown([item.keyframe for item in items])
    top = max((item.score for item in items), default=0.0)
    fit = [item.score / top if item.score > 0 else _UNKNOWN for item in items]
    chosen: list[int] = []
    rest = list(range(len(items)))
    while len(chosen) < most:
        added = {i: shown.added(i, items[i].score > 0) for i in rest}
        rest = [i for i in rest if added[i] >= _LEAST or not chosen]
        if not rest:
            break
        best = max(rest, key=lambda i: (added[i] * fit[i] * (1.0 + _ELSEWHERE * shown.elsewhere(i)), -i))
        chosen.append(best)
        rest.remove(best)
        shown.choose(best)
    return [items[i] for i in chosen]


class _Shown:
    """Surfaces visible in the views, and how well the chosen views show them."""

    def __init__(self, views: Sequence[Keyframe]) -> None:
        self._views = views
        self._chosen: list[Keyframe] = []
        surfaces = [surface_of(view) for view in views]
        every = np.floor(np.concatenate([np.zeros((0, 3)), *(points for points, _ in surfaces)]) / _CELL_M)
        _, cells = np.unique(every, axis=0, return_inverse=True)
        ends = np.cumsum([len(depths) for _, depths in surfaces])
        parts = np.split(cells.ravel(), ends[:-1]) if len(views) else []
        self._quality = [_best_of(part, depths) for part, (_, depths) in zip(parts, surfaces, strict=True)]
        self._best = np.zeros(int(cells.max(initial=-1)) + 1)
        self._fullest = max((float(quality.sum()) for _, quality in self._quality), default=0.0)

    def added(self, i: int, of_itself: bool) -> float:
        """Return the value that view i would add, 0..1, as a share of what it, or else the fullest view, shows."""
        cells, quality = self._quality[i]
        apart = novelty(self._views[i], self._chosen)
        if not len(cells):
            return apart
        new = float(np.maximum(quality - self._best[cells], 0.0).sum())
        share = min(new / (float(quality.sum()) if of_itself else self._fullest), _TURNED * apart)
        return max(share, _CHANGED if _changed(self._views[i], self._chosen) else 0.0)

    def elsewhere(self, i: int) -> float:
        """Return how far view i was taken from all chosen ones, 0..1; favours distant views among equal ones."""
        far = (self._views[i].pose.distance(view.pose) / _FAR_M for view in self._chosen)
        return min(1.0, min(far, default=1.0))

    def choose(self, i: int) -> None:
        """Mark view i as chosen."""
        cells, quality = self._quality[i]
        self._best[cells] = np.maximum(self._best[cells], quality)
        self._chosen.append(self._views[i])


def _best_of(cells: np.ndarray, depths_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the unique cells, and their quality: 1 up to _NEAR_M, then falling with the square of the distance."""
    once, where = np.unique(cells, return_inverse=True)
    quality = np.zeros(len(once))
    np.maximum.at(quality, where, np.minimum(1.0, (_NEAR_M / depths_m) ** 2))
    return once, quality


def _changed(view: Keyframe, chosen: Sequence[Keyframe]) -> bool:
    """Return whether views of the same pose were chosen, and all of them looked different."""
    same = [other for other in chosen if view.pose.distance(other.pose) <= _SAME.same_move_m
            and abs(wrap(view.pose.yaw - other.pose.yaw)) <= math.radians(SAME_TURN_DEG)]
    return bool(same) and min(difference(_small(v.jpeg), _small(view.jpeg)) for v in same) > _SAME.min_change


@lru_cache(256)
def _small(jpeg: bytes) -> bytes:
    with Image.open(io.BytesIO(jpeg)) as image:
        return thumbnail(np.asarray(image.convert("RGB")))
