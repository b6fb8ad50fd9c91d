"""Questions of what is written in the built-in houses as samples of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.samples import Sample
from sim_bridge.house.questions.dataset import SPLITS
from sim_bridge.house.questions.texts import CATEGORY, TextQuestion, text_questions


def house_text(split: str, n: int, seed: int = 0) -> list[Sample]:
    """Return text_samples as a list. Raises ConfigError."""
    return list(text_samples(split, n, seed))


def text_samples(split: str, n: int, seed: int = 0) -> Iterator[Sample]:
    """Yield n questions (fewer where the split runs out), at most four about a house. Raises ConfigError.

    Houses come in an order that `seed` decides.
    """
    if split not in SPLITS:
        raise ConfigError(unknown("split", split, SPLITS))
    seeds = np.random.default_rng(seed).permutation(SPLITS[split])
    return (_sample(question, split) for question in text_questions(map(int, seeds), max(n, 0)))


def _sample(q: TextQuestion, split: str) -> Sample:
    return Sample(q.id, q.question, q.answer, (), CATEGORY, q.scene, q.start, (q.view.x, q.view.y), q.l_steps,
                  q.l_metres, metadata={"split": split, "targets": [q.target], "bears": q.kind,
                                        "letter_px": q.letter_px, "view": list(q.view)})
