"""Questions over two rooms of the built-in houses as samples of a benchmark."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.samples import Sample
from sim_bridge.house.questions.dataset import SPLITS
from sim_bridge.house.questions.multi_target import MultiTargetQuestion, multi_target_questions


def house_multi(split: str, n: int, seed: int = 0) -> list[Sample]:
    """Return n questions (fewer where the split runs out), at most four about a house. Raises ConfigError.

    Houses come in an order that `seed` decides.
    """
    if split not in SPLITS:
        raise ConfigError(unknown("split", split, SPLITS))
    seeds = np.random.default_rng(seed).permutation(SPLITS[split])
    return [_sample(question, split) for question in multi_target_questions(map(int, seeds), max(n, 0))]


def _sample(q: MultiTargetQuestion, split: str) -> Sample:
    """Return the sample; distances count to the nearest view, and the last view is to prove one of the targets."""
    views = tuple((view.x, view.y) for view in q.views)
    return Sample(q.id, q.question, q.answer, (), q.category, q.scene, q.start, views[0], q.l_steps, q.l_metres,
                  viewpoints=views,
                  metadata={"split": split, "targets": [list(target.objects) for target in q.targets]})
