"""The data sets of the built-in house. They are generated, so they need no files."""

from __future__ import annotations

from dataclasses import replace

from eqa_nodes.bench.embodied.tasks import sample_of
from eqa_nodes.bench.house.navqa import house_navqa
from eqa_nodes.bench.house.questions import house_floors, house_measure, house_multi, house_samples, house_text
from eqa_nodes.bench.house.tasks import house_tasks
from eqa_nodes.bench.readers.options import QUESTIONS, ReaderOptions
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.samples import ACTIVE, EM, TASKS, Sample

PEOPLE = 3  # number in each house of `house-people`


class HouseReader:
    """Questions about the built-in houses; splits: train and test."""

    traits = ReaderTraits(files=False)

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return house_samples(options.split or "test", options.limit or QUESTIONS, options.seed, options.task == EM)


class HousePeopleReader:
    """The questions of `house`, with three people in each house who sit, stand and walk about."""

    traits = ReaderTraits(files=False, task=ACTIVE, command="eqa bench run --dataset house-people")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        samples = house_samples(options.split or "test", options.limit or QUESTIONS, options.seed, False)
        return [replace(sample, scene=f"{sample.scene}+{PEOPLE}") for sample in samples]


class HouseMultiReader:
    """Questions over two rooms of the built-in houses."""

    traits = ReaderTraits(files=False, task=ACTIVE, command="eqa bench run --dataset house-multi")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return house_multi(options.split or "test", options.limit or QUESTIONS, options.seed)


class HouseFloorsReader:
    """Questions about built-in homes of two storeys, each from its own floor and from the other one."""

    traits = ReaderTraits(robot="climber", files=False, task=ACTIVE, command="eqa bench run --dataset house-floors")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return house_floors(options.split or "test", options.limit or QUESTIONS, options.seed)


class HouseMeasureReader:
    """Questions about sizes, distances, gaps and fits in the built-in houses."""

    traits = ReaderTraits(files=False, task=ACTIVE, command="eqa bench run --dataset house-measure")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return house_measure(options.split or "test", options.limit or QUESTIONS, options.seed)


class HouseTextReader:
    """Questions about texts in the built-in houses: signs, labels, titles, clocks."""

    traits = ReaderTraits(files=False, task=ACTIVE, command="eqa bench run --dataset house-text")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return list(house_text(options.split or "test", options.limit or QUESTIONS, options.seed))


class HouseNavqaReader:
    """Questions about tours of the built-in houses: times and paths."""

    traits = ReaderTraits(files=False, task=EM, command="eqa bench run --task em --dataset house-navqa")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return house_navqa(options.split or "test", options.limit or QUESTIONS, options.seed)


class HouseTasksReader:
    """Tasks to be done in the built-in houses."""

    traits = ReaderTraits(files=False, task=TASKS, command="eqa bench tasks")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        tasks = house_tasks(options.split or "test", options.limit or QUESTIONS, options.seed)
        return [sample_of(task) for task in tasks]
