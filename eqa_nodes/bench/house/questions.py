"""Questions about the built-in houses as samples of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.tours.tours import house_tour, most_pixels
from sim_bridge.house.questions.dataset import CATEGORIES, HouseQuestion, house_questions
from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS

FEWEST_HOUSES = 3  # Even a few questions come from at least this many houses.
_EVERY = 1_000_000  # more questions than a split has


def house_samples(split: str, limit: int, seed: int, on_tour: bool) -> list[Sample]:
    """Return the first `limit` questions of a split, 'train' or 'test'. Raises ConfigError for another split.

    seed: decides which houses come first; on_tour: only questions whose targets the tour of their house shows (EM-EQA).
    """
    per_house = min(len(CATEGORIES), math.ceil(limit / FEWEST_HOUSES))
    every = house_questions(split, _EVERY if on_tour else limit, seed, include_seen=on_tour, per_house=per_house)
    return [_sample(question, on_tour) for question in (islice(_on_tour(every), limit) if on_tour else every)]


def _sample(q: HouseQuestion, on_tour: bool) -> Sample:
    history = {"episode_history": f"house-v0/{q.scene.replace(':', '-')}"} if on_tour else {}
    return Sample(q.id, q.question, q.answer, tuple(q.alternatives), q.category, q.scene, q.start,
                  (q.target_view.x, q.target_view.y), q.l_steps, q.l_metres, needs_exploration=q.needs_exploration,
                  metadata={"split": q.split, "targets": list(q.targets), **history})


def _on_tour(questions: Iterator[HouseQuestion]) -> Iterator[HouseQuestion]:
    """Yield the questions whose targets the tour of their house shows; houses too small for a tour have none."""
    for question in questions:
        try:
            seen = most_pixels(house_tour(question.scene))
        except SimulatorError:
            continue
        pixels = [seen.get(target, 0) for target in question.targets]
        if min(pixels, default=0) >= SEEN_PIXELS and max(pixels) >= VIEW_PIXELS:
            yield question
