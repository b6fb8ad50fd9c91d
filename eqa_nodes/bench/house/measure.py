"""Questions of sizes, distances, gaps and fits in the built-in houses as samples of a benchmark."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.samples import Sample
from sim_bridge.house.questions.dataset import SPLITS
from sim_bridge.house.questions.measures import CATEGORY, MeasureQuestion, measure_questions


def house_measure(split: str, n: int, seed: int = 0) -> list[Sample]:
    """Return n questions (fewer where the split runs out), at most four about a house. Raises ConfigError.

    Houses come in an order that `seed` decides.
    """
    if split not in SPLITS:
        raise ConfigError(unknown("split", split, SPLITS))
    seeds = np.random.default_rng(seed).permutation(SPLITS[split])
    return [_sample(question, split) for question in measure_questions(map(int, seeds), max(n, 0))]


def _sample(q: MeasureQuestion, split: str) -> Sample:
    """Return the sample; distances count to the nearest view of the targets."""
    views = tuple((view.x, view.y) for view in q.views)
    return Sample(q.id, q.question, q.answer, (), CATEGORY, q.scene, q.start, views[0], q.l_steps, q.l_metres,
                  viewpoints=views,
                  metadata={"split": split, "targets": list(q.targets), "measure": q.kind,
                            "metres": round(q.metres, 3)})
