"""Measures how often memory recalls a view of what a description means: "the white ceramic thing by the window".

The descriptions name colour, material and a neighbour of an object, and not its kind. A view shows it if at least
PIXELS of an object that fits are within NEAR_M (the simulator's labels). Each detector's memory is searched twice: by
names and captions alone, and with the vectors of its objects.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqa_nodes.bench.perception.views import LabelledView
from eqa_nodes.core.memory.config import MemoryConfig
from eqa_nodes.core.memory.store import MemoryStore
from eqa_nodes.core.perception.instances import PerceptionConfig, sightings
from eqa_nodes.core.perception.tracking import Perceived, Perceiver
from eqa_nodes.core.types.questions import RecallQuery
from eqa_nodes.core.types.views import Label

RECALLED = 5  # number of views that are recalled
PIXELS, NEAR_M, BESIDE_M = 150, 4.0, 1.5
_MOST = 0.3  # largest share of the views that may show what is asked
_TRIES = 500
_SECOND_NS = 10**9


class Described(NamedTuple):
    """A description, and the numbers of the views that show what it means."""

    text: str
    views: frozenset[int]


@dataclass
class RecallTally:
    """Counts of one detector. by_names, with_vectors: right and asked, by scene; chance: expected number of right ones
    with RECALLED views taken at random."""

    by_names: dict[str, tuple[int, int]] = field(default_factory=dict)
    with_vectors: dict[str, tuple[int, int]] = field(default_factory=dict)
    chance: float = 0.0

    @property
    def asked(self) -> int:
        """Return the number of descriptions."""
        return sum(of for _, of in self.by_names.values())


def descriptions(views: Sequence[LabelledView], count: int) -> list[Described]:
    """Return at most `count` descriptions of objects in the views of one scene; the same views give the same ones."""
    rng = np.random.default_rng(zlib.crc32(views[0].scene.encode()))
    labels = {i: label for view in views for i, label in view.labels.items()}
    places, shown = dict[int, tuple[float, float, float]](), list[set[int]]()
    for view in views:
        large = [s for s in sightings(view.frame, view.labels, PerceptionConfig()) if s.pixels >= PIXELS]
        for s in large:
            places.setdefault(s.label.instance, s.centre)
        shown.append({s.label.instance for s in large if math.dist(s.centre, view.frame.map_from_base.xyz) < NEAR_M})
    found = dict[str, Described]()
    plain = sorted(i for i in places if _looks(labels[i]))
    for _ in range(_TRIES if plain else 0):
        one = plain[int(rng.integers(len(plain)))]
        near = sorted({labels[i].kind for i in _beside(one, places) if labels[i].kind != labels[one].kind})
        if not near:
            continue
        kind, look = near[int(rng.integers(len(near)))], _looks(labels[one])
        alike = {i for i in plain if _looks(labels[i]) == look
                 and any(labels[j].kind == kind for j in _beside(i, places))}
        fitting = frozenset(n for n, ids in enumerate(shown) if ids & alike)
        text = f"the {look} thing by the {kind}"
        if fitting and len(fitting) <= _MOST * len(views):
            found.setdefault(text, Described(text, fitting))
        if len(found) == count:
            break
    return list(found.values())


def _looks(label: Label) -> str:
    """Return colour and material of an object, "" unless both are known."""
    named = [label.attributes.get(name, "") for name in ("colour", "material")]
    return " ".join(named) if all(named) else ""


def _beside(one: int, places: Mapping[int, tuple[float, float, float]]) -> list[int]:
    return [i for i, place in places.items() if i != one and math.dist(place, places[one]) < BESIDE_M]


def measure_recall(views: Sequence[LabelledView], asked: Sequence[Described], perceiver: Perceiver, folder: Path,
                   tally: RecallTally) -> None:
    """Add the recall of one scene to a tally. folder: an empty one, for the memories."""
    perceiver.reset()
    seen = [perceiver.take(replace(view.frame, stamp_ns=(n + 1) * _SECOND_NS), view.labels)
            for n, view in enumerate(views)]
    plain = [one._replace(table={i: label._replace(vector="") for i, label in one.table.items()}) for one in seen]
    for name, shown, counts in (("names", plain, tally.by_names), ("vectors", seen, tally.with_vectors)):
        store = MemoryStore(folder / f"{name}.sqlite", MemoryConfig())
        try:
            numbers = _remembered(store, shown)
            counts[views[0].scene] = (sum(any(numbers[match.id] in one.views for match in store.recaller.find(
                RecallQuery(one.text, RECALLED), len(views) * _SECOND_NS)) for one in asked), len(asked))
        finally:
            store.close()
    kept = set(numbers.values())
    for one in asked:
        others = len(kept - one.views)
        tally.chance += 1.0 - math.prod((others - k) / (len(kept) - k) for k in range(min(RECALLED, len(kept))))


def _remembered(store: MemoryStore, shown: Sequence[Perceived]) -> dict[int, int]:
    """Store every view; return the view's number by keyframe."""
    store.reset("recall")
    numbers = {}
    for n, one in enumerate(shown):
        keyframe = store.take(one.frame, one.table) or store.keep()
        if keyframe is not None:
            numbers[keyframe.id] = n
    return numbers
