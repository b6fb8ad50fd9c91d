"""Data sets by name: `open_dataset("house", split="test", limit=20)`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.samples import about_history, check_samples
from eqa_nodes.core.components import READERS
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.samples import ACTIVE, EM, TASKS, Sample

GENERATED = 20  # default number of questions of a generated data set


class Selection(NamedTuple):
    """The questions that a run asks. whole: number of questions of the data set, 0 = unlimited."""

    samples: list[Sample]
    whole: int

    @property
    def words(self) -> str:
        """Return in words how many of a published data set's questions are asked, "" for all of them."""
        asked = len(self.samples)
        return f"{asked} of {self.whole} questions; --questions 0 asks all" if asked < self.whole else ""


def select(name: str, questions: int | None, *, folder: str | Path | None = None, split: str = "", seed: int = 0,
           task: str = ACTIVE) -> Selection:
    """Return the questions of a run. questions: their number, 0 = all; None = all published ones, or GENERATED.

    Other parameters and errors as in `open_dataset`.
    """
    published = READERS.traits(name).files
    limit = GENERATED if questions is None and not published else questions or 0
    samples = open_dataset(name, folder=folder, split=split, limit=min(limit, 0) if published else limit, seed=seed,
                           task=task)
    return Selection(samples[:limit] if limit else samples, len(samples) if published else 0)


def open_dataset(name: str, *, folder: str | Path | None = None, split: str = "", limit: int = 0,
                 seed: int = 0, task: str = ACTIVE) -> list[Sample]:
    """Return the samples of a data set, validated.

    folder: folder with the files of a published data set (default: the environment's EQA_DATA); split: 'train' or
    'test' of the house, the subset of OpenEQA; limit: maximum number of samples, 0 = all (500 of the house); seed:
    order of the houses. task: ACTIVE, EM for questions about episode histories (of the house only those whose targets
    its tour shows), TASKS for tasks. Raises ConfigError for an unknown name, split or task, or for a missing or broken
    file.
    """
    reader, options = READERS.make(name), ReaderOptions(name, folder, split, limit, seed, task)
    if limit < 0:
        raise ConfigError(f"the limit of questions must be >= 0, got {limit}")
    if task not in (ACTIVE, EM, TASKS):
        raise ConfigError(unknown("task", task, (ACTIVE, EM, TASKS)))
    _check(options)
    samples: list[Sample] = reader.read(options)
    if task == EM:
        samples = [about_history(sample) for sample in samples]
    check_samples(samples)
    return samples[:limit] if limit else samples


def _check(options: ReaderOptions) -> None:
    """Raise ConfigError for a task or a split that a data set does not have."""
    traits = READERS.traits(options.name)
    if options.split and not traits.splits:
        raise ConfigError(f"the data set {options.name!r} has no splits, got {options.split!r}: leave it out")
    if traits.task and options.task != traits.task:
        raise ConfigError(f"the data set {options.name!r} is for the task {traits.task!r}, not {options.task!r}: "
                          f"{traits.command}")
