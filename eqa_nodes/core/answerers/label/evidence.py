"""How well a view shows an object, and which view proves most of it."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.perception.projection import pixel_of, visible_pixel
from eqa_nodes.core.pillow import RESAMPLING
from eqa_nodes.core.types.measures import MeasuredLine
from eqa_nodes.core.types.views import TEXT, Keyframe, Sighting

FAR_M = 6.0  # objects farther away are seen badly
_FULL_PIXELS = 150  # of 640 x 480: enough to name an object and its looks
_STRIP_PX, _STRIP = 24, 6  # a narrower (3 degrees) or relatively longer strip may be an edge of something wider
_LARGE_PIXELS = 3000  # 1 % of 640 x 480: a picture that shows more of an object proves no more
_WHOLE = 0.7  # share of an object's extents from which it is in view as a whole: from the front a box hides its depth
_CUT = 0.8  # factor for each border that cuts the object off: the picture does not show how much
_SLACK_M = 0.05  # noise of the extents of flat objects in depth images
_FRESH_NS = 4 * 3600 * 10 ** 9  # age of a view, relative to the newest one, from which it proves how it was
_NEAR_M = 4.0  # a look from farther away is doubtful
_SMALL, _FULL_VIEW_M = 20 / 320, 2.8  # a smaller share of the image's width is, where the robot can go closer than this
_AS_GOOD = 0.9  # share of the best proof from which the sharper picture is the better one
Sightings = Sequence[tuple[Keyframe, Sighting]]  # of one object


def clarity(view: Keyframe, sighting: Sighting) -> float:
    """Return how well an object is seen, 0..1: by its share of the image, its distance, and whether it is a strip.

    A door's edge leaves a strip of a refrigerator, which has pixels enough to name it and is no proof. What is thin
    itself is seen well from nearer.
    """
    left, top, right, bottom = sighting.bbox
    short, long = sorted((right - left, bottom - top))
    strip = max(_STRIP * short / max(long, 1), short * 640 / (_image_size(view.jpeg)[0] * _STRIP_PX))
    near = math.hypot(sighting.centre[0] - view.pose.x, sighting.centre[1] - view.pose.y) <= FAR_M
    return 0.95 * min(1.0, math.sqrt(_pixels(view, sighting) / _FULL_PIXELS)) * (1.0 if near else 0.7) * min(1.0, strip)


def trust(sightings: Sightings, kind: str) -> float:
    """Return how sure the name of an object is by all looks at it, 0..1; 1 for a simulator's labels.

    The score of a detector's label is that of all looks until then. What was only seen from afar, or small where the
    robot can go closer, is worth another look.
    """
    if not any(is_doubtful(s) for _, s in sightings):
        return 1.0
    return max((_sure(view, s) for view, s in sightings if s.label.kind == kind), default=0.0)


def is_doubtful(sighting: Sighting) -> bool:
    """Return whether a label may be wrong: it is a detector's."""
    return sighting.label.detected or sighting.label.score < 1.0


def _sure(view: Keyframe, s: Sighting) -> float:
    left, top, right, bottom = s.bbox
    off_m = math.hypot(s.centre[0] - view.pose.x, s.centre[1] - view.pose.y)
    small = max(right - left, bottom - top) / (_SMALL * _image_size(view.jpeg)[0]) if off_m > _FULL_VIEW_M else 1.0
    return s.label.score * min(1.0, _NEAR_M / max(off_m, 1e-6)) * math.sqrt(min(1.0, small))


def borders(view: Keyframe, sighting: Sighting) -> int:
    """Return how many borders of the image cut an object off."""
    width, height = _image_size(view.jpeg)
    left, top, right, bottom = sighting.bbox
    return (left <= 1) + (top <= 1) + (right >= width - 1) + (bottom >= height - 1)


def proving_views(objects: Sequence[Sightings], measure: MeasuredLine | None) -> list[Keyframe]:
    """Return the best view of each object, once; for a measure, first the view that shows both its ends best."""
    views = {view.id: view for view in map(_best_view, objects)}
    if measure is None:
        return list(views.values())
    seen: dict[int, tuple[Keyframe, list[float]]] = {}
    for view, sighting in chain.from_iterable(objects):
        seen.setdefault(view.id, (view, []))[1].append(clarity(view, sighting))
    whole = [(_uncovered(view, measure), min(clear), -view.id, view) for view, clear in seen.values()
             if len(clear) == len(objects) and all(pixel_of(view, *end) for end in measure)]
    first = [max(whole, key=lambda one: one[:3])[3]] if whole else []
    return list(({view.id: view for view in first} | views).values())


def _uncovered(view: Keyframe, measure: MeasuredLine) -> int:
    """Return how many ends of a measure are not hidden in a view; 0 with a broken depth image."""
    try:
        return sum(visible_pixel(view, *end) is not None for end in measure)
    except BadFrame:
        return 0


def _best_view(sightings: Sightings) -> Keyframe:
    """Return the view that shows an object whole, large and near; of several that do about as well the sharpest.

    Views much older than the newest one prove how it was, and not how it is.
    """
    newest = max(view.stamp_ns for view, _ in sightings)
    sightings = [pair for pair in sightings if newest - pair[0].stamp_ns <= _FRESH_NS]
    most = [max(extents) for extents in zip(*(_extents(s) for _, s in sightings), strict=True)]
    proofs = [_proof(view, s, most) for view, s in sightings]
    good = [pair for pair, proof in zip(sightings, proofs, strict=True) if proof >= _AS_GOOD * max(proofs)]
    return max(good, key=lambda pair: (_sharpness(pair[0].jpeg, pair[1].bbox), pair[1].pixels, pair[0].id))[0]


def clearest_text(sightings: Sightings) -> tuple[str, float] | None:
    """Return what is written on an object by most of the pixels of views that could be read, and the share of those.

    A view that shows some words of a text, "HANDS" of "WASH HANDS", counts for the whole: lines are missed more often
    than invented.
    """
    read = [(text, s.pixels) for _, s in sightings if (text := s.label.attributes.get(TEXT))]
    wholes = [text for text, _ in read if not any(set(text.split()) < set(other.split()) for other, _ in read)]
    votes = dict.fromkeys(wholes, 0)
    for text, pixels in read:
        votes[next(whole for whole in wholes if set(text.split()) <= set(whole.split()))] += pixels
    if not votes:
        return None
    best = max(votes, key=lambda text: votes[text])
    return best, votes[best] / sum(votes.values())


def _proof(view: Keyframe, sighting: Sighting, most: Sequence[float]) -> float:
    """Return how much a view proves of an object, 0..1. most: the largest extents that views show of it, metres."""
    share = math.prod((own + _SLACK_M) / (largest + _SLACK_M)
                      for own, largest in zip(_extents(sighting), most, strict=True))
    large = math.sqrt(_pixels(view, sighting) / _LARGE_PIXELS)
    return clarity(view, sighting) * min(1.0, share / _WHOLE) * min(1.0, large) * _CUT ** borders(view, sighting)


def _extents(sighting: Sighting) -> tuple[float, float]:
    """Return the height and the width (along the floor) of what is seen of an object, metres."""
    x, y, z = sighting.size
    return z, math.hypot(x, y)


def _pixels(view: Keyframe, sighting: Sighting) -> float:
    """Return the pixels of an object in an image of 640 x 480."""
    width, height = _image_size(view.jpeg)
    return sighting.pixels * (640 * 480) / (width * height)


@lru_cache(maxsize=256)
def _image_size(jpeg: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(jpeg)).size if jpeg else (640, 480)


@lru_cache(maxsize=256)
def _sharpness(jpeg: bytes, box: tuple[int, int, int, int]) -> float:
    """Return the mean step of brightness in a part of an image, which blur takes away; 0 without an image."""
    if not jpeg:
        return 0.0
    part = np.asarray(Image.open(io.BytesIO(jpeg)).convert("L").resize((64, 64), RESAMPLING.BILINEAR, box), np.int16)
    return float(sum(np.abs(np.diff(part, axis=axis)).mean() for axis in (0, 1)))
