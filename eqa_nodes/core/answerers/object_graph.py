"""Object graph of views: object instances with boxes, best crops and relations, described in words.

After the sparse voxel map of OpenEQA (supplement F) and ConceptGraphs (Gu et al. 2024). Perception provides the
sightings of a view (name, box, pixels); this module merges them into instances with memory's own association
(core/memory/objects.py).
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, count
from typing import NamedTuple, Protocol

import numpy as np
from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.language.english import canonical, content_words
from eqa_nodes.core.memory.embedding import Embedder
from eqa_nodes.core.memory.keyframes import crop_of
from eqa_nodes.core.memory.objects import Objects, ObjectsConfig
from eqa_nodes.core.types.views import Keyframe, Sighting

MAX_RANGE_M = 4.0  # maximum depth in OpenEQA's maps
MAX_OBJECTS = 75  # maximum number in a prompt
_TOUCH_M = 0.1  # an object whose bottom is within this distance of the top of another one stands on it
_BESIDE_M = 0.5  # objects farther apart have no relation
_MOSTLY = 0.7  # minimum share of an object's footprint for "on", and of its box for "in"

Point = tuple[float, float, float]
_KEPT = 20_000  # maximum number of cached vectors (512 to 1,152 numbers): questions about one place share its crops


class Crop(NamedTuple):
    """One view of an object. bbox: left, top, right, bottom in pixels; range_m: distance from the robot on the floor.
    """

    view: Keyframe
    bbox: tuple[int, int, int, int]
    pixels: int
    range_m: float

    def jpeg(self) -> bytes:
        """Return the JPEG image of the object with a margin. Raises BadFrame for a view without a usable image."""
        try:
            return crop_of(self.view.jpeg, self.bbox)
        except (OSError, ValueError) as error:
            raise BadFrame(f"nothing can be cut out of the image of keyframe {self.view.id}: {error}") from error


class GraphObject(NamedTuple):
    """An object instance. low, high: corners of its box, metres, map frame; crops: sorted by pixels, largest first."""

    kind: str
    low: Point
    high: Point
    crops: tuple[Crop, ...]


class Relation(NamedTuple):
    """A relation of two objects. a, b: their indices in a list; name: "on", "in" or "next to"."""

    a: int
    name: str
    b: int


def objects_in(views: Iterable[Keyframe], embedder: Embedder | None,
               max_range_m: float = MAX_RANGE_M) -> list[GraphObject]:
    """Return the object instances in the views within range, in the order in which they were first seen."""
    associations, crops, numbers = Objects((), ObjectsConfig(), embedder), dict[int, list[Crop]](), count(1)
    for view in sorted(views, key=lambda v: (v.stamp_ns, v.id)):
        near = [(s, off) for s in view.sightings if (off := _range(view, s)) <= max_range_m]
        looked, _ = associations.associate([s for s, _ in near], view.stamp_ns)
        looked.associated = [(s, known if known.id else replace(known, id=next(numbers)))
                             for s, known in looked.associated]
        associations.apply(looked)
        for (s, known), (_, off) in zip(looked.associated, near, strict=True):
            crops.setdefault(known.id, []).append(Crop(view, s.bbox, s.pixels, off))
        for part, whole in looked.merged.items():
            crops[whole] += crops.pop(part)
    return [GraphObject(o.kind, o.low, o.high, tuple(sorted(crops[i], key=lambda c: (-c.pixels, -c.view.id))))
            for i, o in associations.known.items()]


def likest(question: str, objects: Sequence[GraphObject], embedder: Embedder | None,
           limit: int = MAX_OBJECTS) -> list[GraphObject]:
    """Return the objects whose names are most similar to the question, best first; of equals the first seen.

    The score is the share of a name's words in the question plus, with an embedder, the cosine similarity of both
    texts. (OpenEQA ranks by the CLIP similarity of crop and question.)
    """
    words = content_words(question)
    names = [canonical(obj.kind) for obj in objects]
    score = {name: _share(name, words) for name in names}
    if embedder is not None and words and score:
        about, known = embedder.embed([" ".join(words)])[0], list(score)
        for name, vector in zip(known, embedder.embed(known), strict=True):
            score[name] += float(vector @ about)
    order = sorted(range(len(objects)), key=lambda i: (-score[names[i]], i))
    return [objects[i] for i in order[:limit]]


def relations(objects: Sequence[GraphObject]) -> list[Relation]:
    """Return the relations of objects along a spanning forest of the nearest pairs.

    ConceptGraphs asks a model for the relation of each edge of such a forest; here it follows from the boxes.
    """
    pairs = sorted((gap, i, j) for i, j in combinations(range(len(objects)), 2)
                   if (gap := _gap(objects[i], objects[j])) <= _BESIDE_M)
    tree = list(range(len(objects)))

    def root(i: int) -> int:
        while tree[i] != i:
            i = tree[i]
        return i

    found = []
    for _, i, j in pairs:
        if root(i) != root(j):
            tree[root(j)] = root(i)
            found.append(_relation(objects, i, j))
    return sorted(found)


def described(number: int, obj: GraphObject, caption: str, boxes: bool) -> str:
    """Return a line: "3. kettle: a silver kettle; box centre (1.2, 3.4, 0.9) m, size 0.2 x 0.2 x 0.3 m"."""
    line = f"{number}. {obj.kind}: {caption}"
    if not boxes:
        return line
    x, y, z = ((a + b) / 2 for a, b in zip(obj.low, obj.high, strict=True))
    u, v, w = (b - a for a, b in zip(obj.low, obj.high, strict=True))
    return f"{line}; box centre ({x:.1f}, {y:.1f}, {z:.1f}) m, size {u:.1f} x {v:.1f} x {w:.1f} m"


class Snapshot(NamedTuple):
    """A view that represents the objects seen together in it (3D-Mem)."""

    view: Keyframe
    objects: tuple[GraphObject, ...]


def snapshots(objects: Sequence[GraphObject], within_m: float) -> list[Snapshot]:
    """Return approximately the fewest views that show every object in range, each with its objects; oldest first.

    An object belongs to one snapshot. The greedy choice is the view that shows most of the remaining objects (of equals
    the one in which they fill most pixels, then the older). 3D-Mem uses hierarchical clustering for the same purpose.
    """
    shown: dict[int, dict[int, int]] = {}  # view -> object -> pixels
    views: dict[int, Keyframe] = {}
    for i, obj in enumerate(objects):
        for crop in obj.crops:
            if crop.range_m <= within_m:
                views[crop.view.id] = crop.view
                shown.setdefault(crop.view.id, {})[i] = crop.pixels
    chosen: dict[int, tuple[int, ...]] = {}
    while shown:
        best = max(shown, key=lambda v: (len(shown[v]), sum(shown[v].values()), -v))
        chosen[best] = tuple(shown.pop(best))
        shown = {v: left for v, inside in shown.items() if (left := _without(inside, chosen[best]))}
    return [Snapshot(views[v], tuple(objects[i] for i in chosen[v])) for v in sorted(chosen)]


def _without(inside: Mapping[int, int], chosen: Sequence[int]) -> dict[int, int]:
    return {i: pixels for i, pixels in inside.items() if i not in chosen}


def _range(view: Keyframe, s: Sighting) -> float:
    return math.dist(view.map_from_base.xyz[:2], s.centre[:2])


def _share(name: str, words: Sequence[str]) -> float:
    own = name.split()
    return sum(word in words for word in own) / max(1, len(own))


def _gap(a: GraphObject, b: GraphObject) -> float:
    """Return the distance between two boxes, metres; 0 if they touch."""
    return math.hypot(*(max(0.0, a.low[k] - b.high[k], b.low[k] - a.high[k]) for k in range(3)))


def _relation(objects: Sequence[GraphObject], i: int, j: int) -> Relation:
    """Return the relation of two objects; the smaller one is on, in or next to the other."""
    small, large = sorted((i, j), key=lambda k: (_volume(objects[k].low, objects[k].high), k))
    a, b = objects[small], objects[large]
    low, high = tuple(map(max, a.low, b.low)), tuple(map(min, a.high, b.high))
    if _volume(low, high) >= _MOSTLY * _volume(a.low, a.high):
        return Relation(small, "in", large)
    floor = _volume((*low[:2], 0.0), (*high[:2], 1.0)) / _volume((*a.low[:2], 0.0), (*a.high[:2], 1.0))
    on = floor >= _MOSTLY and abs(a.low[2] - b.high[2]) <= _TOUCH_M
    return Relation(small, "on" if on else "next to", large)


def _volume(low: Sequence[float], high: Sequence[float]) -> float:
    """Return the volume of a box; a flat one counts as a millimetre thick."""
    return math.prod(0.0 if v < u else max(v - u, 0.001) for u, v in zip(low, high, strict=True))


class CropEmbedder(Protocol):
    """Embeds pictures and texts into one space, with vectors of length 1 (perception/embedder.py)."""

    def pictures(self, crops: Sequence[np.ndarray]) -> np.ndarray:
        """Return (n, D) float32. crops: n of (H, W, 3) uint8, each of any size."""

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return (n, D) float32."""


class CropRanker:
    """Ranks objects by their crops, and caches the vectors. Raises BadFrame for a view without a usable image."""

    def __init__(self, embedder: CropEmbedder) -> None:
        self._embedder = embedder
        self._vectors: dict[bytes, np.ndarray] = {}

    def likest(self, question: str, objects: Sequence[GraphObject], limit: int) -> list[GraphObject]:
        """Return the objects whose best crops are most similar to the question, best first; of equals the first seen.
        """
        if not objects:
            return []
        score = self._of(objects) @ self._embedder.texts([question])[0]
        order = sorted(range(len(objects)), key=lambda i: (-float(score[i]), i))
        return [objects[i] for i in order[:limit]]

    def _of(self, objects: Sequence[GraphObject]) -> np.ndarray:
        """Return (n, D) float32, the vectors of the objects' best crops."""
        crops = {_key(obj.crops[0]): obj.crops[0] for obj in objects}
        if len(self._vectors) + len(crops) > _KEPT:
            self._vectors.clear()
        new = [key for key in crops if key not in self._vectors]
        if new:
            found = self._embedder.pictures([_pixels(crops[key]) for key in new])
            self._vectors.update(zip(new, found, strict=True))
        return np.stack([self._vectors[_key(obj.crops[0])] for obj in objects])


def _key(crop: Crop) -> bytes:
    return hashlib.sha256(crop.view.jpeg + repr(crop.bbox).encode()).digest()


def _pixels(crop: Crop) -> np.ndarray:
    with Image.open(io.BytesIO(crop.jpeg())) as image:
        return np.asarray(image.convert("RGB"))
