"""Which of the views that memory recalls a model is shown: few, that bear on the question and differ from each other.

A tour holds many pictures of nearly the same. What a view shows is known from its coarse depth: pieces of surface, the
nearer the better. Each next view is the one that shows most of what the chosen ones do not (greedy maximum coverage),
weighed by how well memory says that it fits the question. Without depth, place and direction decide.
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

_CANDIDATES = 10  # views that memory is asked for, for each one that is chosen
_CELL_M = 0.25  # edge of a piece of surface
_NEAR_M = 2.0  # a piece that is no farther away is seen as well as can be; others by the angle that they fill
_TURNED = 2.0  # times its novelty by pose is the most that a view adds: depth and poses err
_LEAST = 0.05  # what a view has to add, as a share of what the fullest one shows or, where it fits, of itself
_ELSEWHERE, _FAR_M = 0.25, 5.0  # what a view is worth more that was taken so far from all chosen ones
_UNKNOWN = 0.1  # what a view of unknown content is worth beside the one that fits best
_CHANGED = 0.5  # what a picture adds that looks different from an earlier one of the same view
_SAME = KeyframeConfig()


def recall_diverse(recall: Callable[[RecallQuery], Sequence[Recalled]], text: str, most: int) -> list[Recalled]:
    """Return at most `most` different views for a question out of those that memory recalls, the best first."""
    return diverse(recall(RecallQuery(text, _CANDIDATES * most)), most)


def diverse(items: Sequence[Recalled], most: int) -> list[Recalled]:
    """Return at most `most` items, the one that adds most first; those that add next to nothing are left out.

    items: best first. Where scores are 0, nothing is known of what is in view, and only what a view adds counts.
    Raises BadFrame for a broken image.
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
    """What some views show, and how well the chosen ones show it."""

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
        """Return what view i would add, 0..1: of what it shows itself, else of what the fullest view shows."""
        cells, quality = self._quality[i]
        apart = novelty(self._views[i], self._chosen)
        if not len(cells):
            return apart
        new = float(np.maximum(quality - self._best[cells], 0.0).sum())
        share = min(new / (float(quality.sum()) if of_itself else self._fullest), _TURNED * apart)
        return max(share, _CHANGED if _changed(self._views[i], self._chosen) else 0.0)

    def elsewhere(self, i: int) -> float:
        """Return how far view i was taken from all chosen ones, 0..1: what decides between views that add as much."""
        far = (self._views[i].pose.distance(view.pose) / _FAR_M for view in self._chosen)
        return min(1.0, min(far, default=1.0))

    def choose(self, i: int) -> None:
        """Count view i as chosen."""
        cells, quality = self._quality[i]
        self._best[cells] = np.maximum(self._best[cells], quality)
        self._chosen.append(self._views[i])


def _best_of(cells: np.ndarray, depths_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each cell once, and how well it is seen: 1 up to _NEAR_M, then as its pixels get fewer."""
    once, where = np.unique(cells, return_inverse=True)
    quality = np.zeros(len(once))
    np.maximum.at(quality, where, np.minimum(1.0, (_NEAR_M / depths_m) ** 2))
    return once, quality


def _changed(view: Keyframe, chosen: Sequence[Keyframe]) -> bool:
    """Return whether the same view was chosen, and looked different each time."""
    same = [other for other in chosen if view.pose.distance(other.pose) <= _SAME.same_move_m
            and abs(wrap(view.pose.yaw - other.pose.yaw)) <= math.radians(SAME_TURN_DEG)]
    return bool(same) and min(difference(_small(v.jpeg), _small(view.jpeg)) for v in same) > _SAME.min_change


@lru_cache(256)
def _small(jpeg: bytes) -> bytes:
    with Image.open(io.BytesIO(jpeg)) as image:
        return thumbnail(np.asarray(image.convert("RGB")))
