"""Questions about the built-in houses as samples of a benchmark.

The kinds besides `house` are drawn in the same way: at most four questions per house, fewer at the end of the split;
the seed decides the order of the houses. An unknown split raises ConfigError.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

import numpy as np

from eqa_nodes.core.errors import ConfigError, SimulatorError, unknown
from eqa_nodes.core.language.ambiguity import KnownPlaces, ambiguity, known_of
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.tours.tours import house_tour, most_pixels
from sim_bridge.house.questions import measures, texts
from sim_bridge.house.questions.dataset import CATEGORIES, SPLITS, HouseQuestion, house_questions
from sim_bridge.house.questions.floors import FloorsQuestion, FloorStart, floors_questions
from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS
from sim_bridge.house.questions.multi_target import MultiTargetQuestion, multi_target_questions
from sim_bridge.house.world import PREFIX, world_of

SAME, OTHER = "same", "other"  # metadata "floor": whether an episode begins on the floor of the answer
FEWEST_HOUSES = 3  # minimum number of houses, also for few questions
_EVERY = 1_000_000  # larger than the number of questions of a split


def house_samples(split: str, limit: int, seed: int, on_tour: bool) -> list[Sample]:
    """Return the first `limit` questions of a split, 'train' or 'test'. Raises ConfigError for another split.

    seed: order of the houses; on_tour: only questions whose targets the tour of their house shows (EM-EQA).
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


def _houses(split: str, seed: int) -> Iterator[int]:
    """Yield the seeds of a split's houses in an order drawn by `seed`."""
    if split not in SPLITS:
        raise ConfigError(unknown("split", split, SPLITS))
    return map(int, np.random.default_rng(seed).permutation(SPLITS[split]))


def house_floors(split: str, n: int, seed: int = 0) -> list[Sample]:
    """Return questions about homes with two storeys, each twice: starting on the other floor and on the same one."""
    found = floors_questions(_houses(split, seed), (max(n, 0) + 1) // 2)
    return [_of_floor(q, split, *side) for q in found for side in ((OTHER, q.far), (SAME, q.near))][:n]


def _of_floor(q: FloorsQuestion, split: str, floor: str, start: FloorStart) -> Sample:
    return Sample(f"{q.id}-{floor}", q.question, q.answer, q.alternatives, q.category, q.scene, start.pose,
                  (q.view.x, q.view.y, q.view_m), start.l_steps, start.l_metres, start_height_m=start.height_m,
                  metadata={"split": split, "targets": list(q.targets), "floor": floor,
                            "multi_floor": floor == OTHER})


def house_measure(split: str, n: int, seed: int = 0) -> list[Sample]:
    """Return questions about sizes, distances, gaps and fits."""
    return [_of_measure(q, split) for q in measures.measure_questions(_houses(split, seed), max(n, 0))]


def _of_measure(q: measures.MeasureQuestion, split: str) -> Sample:
    """Return the sample; distances are to the nearest view of the targets."""
    views = tuple((view.x, view.y) for view in q.views)
    return Sample(q.id, q.question, q.answer, (), measures.CATEGORY, q.scene, q.start, views[0], q.l_steps, q.l_metres,
                  viewpoints=views, metadata={"split": split, "targets": list(q.targets), "measure": q.kind,
                                              "metres": round(q.metres, 3)})


def house_multi(split: str, n: int, seed: int = 0) -> list[Sample]:
    """Return questions over two rooms."""
    return [_of_rooms(q, split) for q in multi_target_questions(_houses(split, seed), max(n, 0))]


def _of_rooms(q: MultiTargetQuestion, split: str) -> Sample:
    """Return the sample; distances are to the nearest view, and the last view must show one of the targets."""
    views = tuple((view.x, view.y) for view in q.views)
    return Sample(q.id, q.question, q.answer, (), q.category, q.scene, q.start, views[0], q.l_steps, q.l_metres,
                  viewpoints=views,
                  metadata={"split": split, "targets": [list(target.objects) for target in q.targets]})


def house_text(split: str, n: int, seed: int = 0) -> Iterator[Sample]:
    """Yield questions about texts: signs, labels, titles, clocks."""
    return (_of_text(q, split) for q in texts.text_questions(_houses(split, seed), max(n, 0)))


def _of_text(q: texts.TextQuestion, split: str) -> Sample:
    return Sample(q.id, q.question, q.answer, (), texts.CATEGORY, q.scene, q.start, (q.view.x, q.view.y), q.l_steps,
                  q.l_metres, metadata={"split": split, "targets": [q.target], "bears": q.kind,
                                        "letter_px": q.letter_px, "view": list(q.view)})


def house_marks(samples: Iterable[Sample]) -> list[bool]:
    """Return for each question about a built-in house whether its words match several rooms or objects there.

    Privileged: a robot knows only what it has seen. Samples of other scenes are left out. Raises UnknownScene.
    """
    return [ambiguity(s.question, _known(s.scene)) is not None for s in samples if s.scene.startswith(PREFIX)]


@lru_cache(maxsize=4)
def _known(scene: str) -> KnownPlaces:
    house = world_of(scene).side_by_side()
    rooms = {room.id: room.name for room in house.rooms}
    return known_of(rooms.values(), ((thing.kind, rooms.get(thing.room, "")) for thing in house.objects))
