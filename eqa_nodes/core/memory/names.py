"""Which names of remembered objects mean what a text asks for: "where can I boil water" -> kettle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.embedding import Embedder

_LEAST = 0.2  # cosine from which a name may mean what is asked


class NameIndex:
    """The names of a memory's objects; they are few, and each is embedded once while the file is open."""

    def __init__(self, db: Database, embedder: Embedder | None) -> None:
        self._db, self._embedder = db, embedder
        self._vectors: dict[str, np.ndarray] = {}

    def likest(self, text: str, count: int) -> tuple[tuple[str, float], ...]:
        """Return canonical names with the cosine of their meaning to that of a text, the likest first."""
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
            seen: Mapping[int, Sequence[tuple[str, str, int]]], worth: Mapping[int, float],
            again: float) -> dict[int, tuple[float, str]]:
    """Return for views of the named objects how much their names mean what is asked (0..1), and which name it is.

    Each further view of a name counts `again` less, so that the best view of the second name comes before the tenth of
    the first: worth: what orders the views of one name; of equals the one that the object fills most.
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
