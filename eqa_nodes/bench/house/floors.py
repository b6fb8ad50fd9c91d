"""Questions about built-in homes of two storeys as samples of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.samples import Sample
from sim_bridge.house.questions.dataset import SPLITS
from sim_bridge.house.questions.floors import FloorsQuestion, FloorStart, floors_questions

SAME, OTHER = "same", "other"  # metadata "floor": whether an episode begins on the floor of the answer


def house_floors(split: str, n: int, seed: int = 0) -> list[Sample]:
    """Return n samples: each question twice, from the other floor and from its own. Raises ConfigError.

    Four questions at most are about one home. Homes come in an order that `seed` decides.
    """
    if split not in SPLITS:
        raise ConfigError(unknown("split", split, SPLITS))
    seeds = np.random.default_rng(seed).permutation(SPLITS[split])
    found = floors_questions(map(int, seeds), (max(n, 0) + 1) // 2)
    return [sample for question in found for sample in _samples(question, split)][:n]


def _samples(q: FloorsQuestion, split: str) -> Iterator[Sample]:
    for floor, start in ((OTHER, q.far), (SAME, q.near)):
        yield _sample(q, split, floor, start)


def _sample(q: FloorsQuestion, split: str, floor: str, start: FloorStart) -> Sample:
    return Sample(f"{q.id}-{floor}", q.question, q.answer, q.alternatives, q.category, q.scene, start.pose,
                  (q.view.x, q.view.y, q.view_m), start.l_steps, start.l_metres, start_height_m=start.height_m,
                  metadata={"split": split, "targets": list(q.targets), "floor": floor,
                            "multi_floor": floor == OTHER})
