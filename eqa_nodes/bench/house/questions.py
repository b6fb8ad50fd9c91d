"""The data sets of the built-in houses. They are generated, so they need no files; splits: train and test.

At most four questions are asked about a house (`house`: seven), fewer at the end of the split. The seed decides the
order of the houses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from eqa_nodes.bench.embodied.tasks import sample_of
from eqa_nodes.bench.house.tasks import house_tasks
from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.core.errors import ConfigError, SimulatorError, unknown
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.samples import ACTIVE, EM, TASKS, Sample
from eqa_nodes.tours.tours import house_tour, most_pixels
from sim_bridge.house.questions import measures, texts
from sim_bridge.house.questions.dataset import CATEGORIES, SPLITS, HouseQuestion, house_questions
from sim_bridge.house.questions.floors import FloorsQuestion, FloorStart, floors_questions
from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS
from sim_bridge.house.questions.multi_target import MultiTargetQuestion, multi_target_questions
from sim_bridge.house.world import PREFIX

QUESTIONS, MOST_TASKS = 500, 400  # default number of generated questions, and of tasks: 80 of each family
PEOPLE = 3  # number in each house of `house-people`
SAME, OTHER = "same", "other"  # metadata "floor": whether an episode begins on the floor of the answer
FEWEST_HOUSES = 3  # minimum number of houses, also for few questions
_EVERY = 1_000_000  # larger than the number of questions of a split


@dataclass(frozen=True)
class HouseReader:
    """A generated data set. draw: returns the samples of complete options, which have a split and a limit; whole: their
    number without a limit."""

    draw: Callable[[ReaderOptions], Iterable[Sample]]
    traits: ReaderTraits
    whole: int = QUESTIONS

    def from_options(self) -> HouseReader:
        """Return the reader itself: it has no state."""
        return self

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError for an unknown split."""
        if options.split not in ("", *SPLITS):
            raise ConfigError(unknown("split", options.split, SPLITS))
        return list(self.draw(options._replace(split=options.split or "test", limit=options.limit or self.whole)))


def house_scenes(count: int, seed: int = 0, split: str = "test") -> tuple[str, ...]:
    """Return the scenes of `count` houses of a split, in the order of its questions. Raises ConfigError."""
    houses = SPLITS[split]
    if not 1 <= count <= len(houses):
        raise ConfigError(f"{count} {split} houses cannot be drawn: choose 1 to {len(houses)} of {PREFIX}{houses[0]} "
                          f"to {PREFIX}{houses[-1]}, or name scenes")
    return tuple(f"{PREFIX}{number}" for number in islice(_houses(ReaderOptions(split=split, seed=seed)), count))


def _houses(options: ReaderOptions) -> Iterator[int]:
    """Yield the seeds of a split's houses in an order drawn by the seed."""
    return map(int, np.random.default_rng(options.seed).permutation(SPLITS[options.split]))


def house_samples(options: ReaderOptions) -> Iterator[Sample]:
    """Yield questions about one place; for EM-EQA only those whose targets the tour of their house shows."""
    on_tour, limit = options.task == EM, options.limit
    per_house = min(len(CATEGORIES), math.ceil(limit / FEWEST_HOUSES))
    every = house_questions(options.split, _EVERY if on_tour else limit, options.seed, include_seen=on_tour,
                            per_house=per_house)
    return (_sample(question, on_tour) for question in (islice(_on_tour(every), limit) if on_tour else every))


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


def _with_people(options: ReaderOptions) -> Iterator[Sample]:
    """Yield the questions of `house`, with people in each house who sit, stand and walk about."""
    return (replace(sample, scene=f"{sample.scene}+{PEOPLE}") for sample in house_samples(options))


def _of_floors(options: ReaderOptions) -> Iterator[Sample]:
    """Yield questions about homes of two storeys, each twice: starting on the other floor and on the same one."""
    found = floors_questions(_houses(options), (options.limit + 1) // 2)
    return islice((_of_floor(q, options.split, *side) for q in found for side in ((OTHER, q.far), (SAME, q.near))),
                  options.limit)


def _of_floor(q: FloorsQuestion, split: str, floor: str, start: FloorStart) -> Sample:
    return Sample(f"{q.id}-{floor}", q.question, q.answer, q.alternatives, q.category, q.scene, start.pose,
                  (q.view.x, q.view.y, q.view_m), start.l_steps, start.l_metres, start_height_m=start.height_m,
                  metadata={"split": split, "targets": list(q.targets), "floor": floor,
                            "multi_floor": floor == OTHER})


def _near_views(q: measures.MeasureQuestion | MultiTargetQuestion, category: str, **metadata: object) -> Sample:
    """Return a sample with several views of its targets; distances are to the nearest of them."""
    views = tuple((view.x, view.y) for view in q.views)
    return Sample(q.id, q.question, q.answer, (), category, q.scene, q.start, views[0], q.l_steps, q.l_metres,
                  viewpoints=views, metadata=metadata)


def _of_measures(options: ReaderOptions) -> Iterator[Sample]:
    """Yield questions about sizes, distances, gaps and fits."""
    return (_near_views(q, measures.CATEGORY, split=options.split, targets=list(q.targets), measure=q.kind,
                        metres=round(q.metres, 3))
            for q in measures.measure_questions(_houses(options), options.limit))


def _of_rooms(options: ReaderOptions) -> Iterator[Sample]:
    """Yield questions over two rooms; the last view must show the targets in one of them."""
    return (_near_views(q, q.category, split=options.split, targets=[list(target.objects) for target in q.targets])
            for q in multi_target_questions(_houses(options), options.limit))


def _of_texts(options: ReaderOptions) -> Iterator[Sample]:
    """Yield questions about texts: signs, labels, titles, clocks."""
    return (Sample(q.id, q.question, q.answer, (), texts.CATEGORY, q.scene, q.start, (q.view.x, q.view.y), q.l_steps,
                   q.l_metres, metadata={"split": options.split, "targets": [q.target], "bears": q.kind,
                                         "letter_px": q.letter_px, "view": list(q.view)})
            for q in texts.text_questions(_houses(options), options.limit))


def _of_tasks(options: ReaderOptions) -> Iterator[Sample]:
    """Yield tasks to be done in the houses."""
    return map(sample_of, house_tasks(_houses(options), options.limit))


def _only(task: str, command: str, robot: str = "default") -> ReaderTraits:
    return ReaderTraits(robot=robot, files=False, task=task, command=command)


HOUSE = HouseReader(house_samples, ReaderTraits(files=False))
HOUSE_PEOPLE = HouseReader(_with_people, _only(ACTIVE, "eqa bench run --dataset house-people"))
HOUSE_MULTI = HouseReader(_of_rooms, _only(ACTIVE, "eqa bench run --dataset house-multi"))
HOUSE_FLOORS = HouseReader(_of_floors, _only(ACTIVE, "eqa bench run --dataset house-floors", "climber"))
HOUSE_MEASURE = HouseReader(_of_measures, _only(ACTIVE, "eqa bench run --dataset house-measure"))
HOUSE_TEXT = HouseReader(_of_texts, _only(ACTIVE, "eqa bench run --dataset house-text"))
HOUSE_TASKS = HouseReader(_of_tasks, _only(TASKS, "eqa bench tasks"), whole=MOST_TASKS)
