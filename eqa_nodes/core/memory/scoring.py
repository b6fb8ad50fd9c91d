"""The terms of a recall score, and the order of results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.embedding import DIMENSIONS, Embedder, cosines

WEIGHTS = (4.0, 2.0, 1.0, 1.0)  # weights of kinds, attributes, rooms and caption: objects say more than rooms
_K1, _B = 1.2, 0.75  # parameters of BM25, as in FTS5
_LEAST = 0.2  # minimum cosine for a name to mean what is asked


class Match(NamedTuple):
    """A keyframe that matches a query."""

    id: int
    score: float
    why: str


def likeness(vector: np.ndarray, briefs: Mapping[int, tuple[Any, ...]]) -> dict[int, float]:
    """Return the cosine with a unit vector of each keyframe with a vector (first of its brief), largest first."""
    described = [i for i, brief in briefs.items() if brief[0]]
    stored = np.frombuffer(b"".join(briefs[i][0] for i in described), np.int8).reshape(-1, DIMENSIONS)
    cosine = zip(described, cosines(stored, vector).round(6).tolist(), strict=True)
    return dict(sorted(cosine, key=lambda pair: (-pair[1], pair[0])))


def bm25(columns: Mapping[int, tuple[str, ...]], weight: Mapping[str, float]) -> dict[int, float]:
    """Return BM25 scores (Robertson and Zaragoza 2009, weighted columns) of keyframes. weight: idf by word."""
    split = {i: [column.split() for column in texts] for i, texts in columns.items()}
    length = {i: sum(map(len, lists)) for i, lists in split.items()}
    mean = max(1.0, sum(length.values()) / max(1, len(length)))
    scores = {}
    for i, lists in split.items():
        damping = _K1 * (1 - _B + _B * length[i] / mean)
        counts = {t: sum(w * words.count(t) for w, words in zip(WEIGHTS, lists, strict=True)) for t in weight}
        scores[i] = sum(weight[t] * n * (_K1 + 1) / (n + damping) for t, n in counts.items())
    return scores


class TermFit:
    """How well objects in view fit the terms of a query: the share of matching words in the kind, halved if the room is
    not named. Words are split once a kind and a room."""

    def __init__(self, terms: frozenset[str]) -> None:
        self._kind = cache(lambda kind: sum(word in terms for word in kind.split()) / max(1, len(kind.split())))
        self._room = cache(lambda room: 1.0 if room.strip() and terms.issuperset(room.split()) else 0.5)

    def best(self, objects: Sequence[Sequence[Any]]) -> tuple[float, str]:
        """Return the largest fit times the share of the view that the object fills (0..1), and its kind; 0 and "" if
        none fits.

        objects: kind, room and pixels of each. The fill is the square root of the share of the labelled pixels, so that
        an object at half the distance counts twice.
        """
        shares = [self._kind(kind) for kind, _, _ in objects]
        if not any(shares):
            return 0.0, ""
        labelled = sum([pixels for _, _, pixels in objects])
        return max([(share * self._room(room) * math.sqrt(pixels / labelled), kind)
                    for share, (kind, room, pixels) in zip(shares, objects, strict=True) if share])


def any_of(terms: Iterable[str]) -> str:
    """Return the full-text query that matches any of the words."""
    return " OR ".join(f'"{t}"' for t in terms)


def newest_first(found: list[Match]) -> list[Match]:
    """Return the matches at least half as good as the best, newest first, and then the rest."""
    good = [m for m in found if m.score >= found[0].score / 2]
    return [m._replace(why=f"{m.why}, newest first") for m in sorted(good, key=lambda m: -m.id)] + found[len(good):]


def spread(ids: np.ndarray, limit: int) -> list[int]:
    """Return at most `limit` ids, evenly spaced, including the first and the last."""
    n = len(ids)
    if n <= limit:
        return [int(i) for i in ids]
    return [int(ids[i * (n - 1) // max(1, limit - 1)]) for i in range(limit)]


class NameIndex:
    """Names of a memory's objects with their embeddings, each computed once while the file is open."""

    def __init__(self, db: Database, embedder: Embedder | None) -> None:
        self._db, self._embedder = db, embedder
        self._vectors: dict[str, np.ndarray] = {}

    def likest(self, text: str, count: int) -> tuple[tuple[str, float], ...]:
        """Return the canonical names most similar in meaning to a text, with their cosines, the most similar first."""
        if self._embedder is None or not text.strip():
            return ()
        kinds = [kind for kind, in self._db.execute("SELECT DISTINCT kind FROM objects ORDER BY kind")]
        if new := [kind for kind in kinds if kind not in self._vectors]:
            self._vectors.update(zip(new, self._embedder.embed(new), strict=True))
        if not kinds:
            return ()
        cosines = np.stack([self._vectors[kind] for kind in kinds]) @ self._embedder.embed([text])[0]
        best = sorted(zip(cosines.round(6).tolist(), kinds, strict=True), key=lambda pair: (-pair[0], pair[1]))[:count]
        return tuple((canonical(kind), cosine) for cosine, kind in best if cosine >= _LEAST)


def by_name(names: Sequence[tuple[str, float]], showing: Mapping[str, Iterable[int]],
            seen: Mapping[int, Sequence[Sequence[Any]]], worth: Mapping[int, float],
            again: float) -> dict[int, tuple[float, str]]:
    """Return for views of the named objects the similarity of the name to the query (0..1), and the name.

    Each further view of a name counts `again` less, so that the best view of the second name precedes the tenth of the
    first. worth: orders the views of one name; among equals, the one that the object fills most comes first.
    """
    found: dict[int, tuple[float, str]] = {}
    for name, cosine in names:
        share = {}
        for i in showing[name]:
            if pixels := sum(p for kind, _, p in seen[i] if kind == name):
                share[i] = pixels / sum(p for _, _, p in seen[i])
        for rank, i in enumerate(sorted(share, key=lambda i: (-worth[i], -share[i], i))):
            found[i] = max(found.get(i, (0.0, "")), (cosine - again * rank, name))
    return {i: value for i, value in found.items() if value[0] > 0}
