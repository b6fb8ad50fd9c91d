"""Data sets by name: `open_dataset("house", split="test", limit=20)`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.bench.samples import ACTIVE, EM, TASKS, Sample, about_history, check_samples
from eqa_nodes.core.errors import ConfigError, unknown

DATA_VARIABLE = "EQA_DATA"
HOUSE_QUESTIONS = 500  # how many questions of the built-in houses are asked unless said otherwise


class _Options(NamedTuple):
    folder: str | Path | None
    split: str
    limit: int
    seed: int
    task: str


def open_dataset(name: str, *, folder: str | Path | None = None, split: str = "", limit: int = 0,
                 seed: int = 0, task: str = ACTIVE) -> list[Sample]:
    """Return the samples of a data set, validated.

    folder: where the files of a published data set lie (default: the environment's EQA_DATA); split: 'train' or
    'test' of the house, the subset of OpenEQA; limit: the first so many, 0 = all (500 of the house); seed: decides
    which houses come first. task: ACTIVE, EM for questions about episode histories (of the house only those whose
    targets its tour shows), TASKS for what is to be done. Raises ConfigError for an unknown name, split or task, a
    missing or broken file.
    """
    reader = DATASETS.get(name)
    if reader is None:
        raise ConfigError(unknown("data set", name, DATASETS))
    if limit < 0:
        raise ConfigError(f"the limit of questions must be >= 0, got {limit}")
    if task not in (ACTIVE, EM, TASKS):
        raise ConfigError(unknown("task", task, (ACTIVE, EM, TASKS)))
    samples = reader(_Options(folder, split, limit, seed, task))
    if task == EM:
        samples = [about_history(sample) for sample in samples]
    check_samples(samples)
    return samples[:limit] if limit else samples


def _house(options: _Options) -> list[Sample]:
    from eqa_nodes.bench.house.questions import house_samples

    return house_samples(options.split or "test", options.limit or HOUSE_QUESTIONS, options.seed, options.task == EM)


def _openeqa(options: _Options) -> list[Sample]:
    from eqa_nodes.bench.readers.openeqa import read_openeqa

    em = options.task == EM
    return read_openeqa(_folder(options, "openeqa"), options.split or ("all" if em else "aeqa-184"), starts=not em)


def _hm_eqa(options: _Options) -> list[Sample]:
    from eqa_nodes.bench.readers.hm_eqa import read_hm_eqa

    _no_split(options, "hm-eqa")
    return read_hm_eqa(_folder(options, "hm-eqa"))


def _express(options: _Options) -> list[Sample]:
    from eqa_nodes.bench.readers.express import read_express

    _no_split(options, "express")
    folder = _folder(options, "express")
    own = folder / "express-bench.json"
    return read_express(own if own.exists() else folder / "express-bench-slim.json")


def _explora(options: _Options) -> list[Sample]:
    from eqa_nodes.bench.readers.explora import SPLITS, explora_file, read_explora

    split = options.split or "test-unseen"
    if split not in SPLITS:
        raise ConfigError(unknown("ExploraQA split", split, SPLITS))
    return read_explora(explora_file(_folder(options, "exploraqa"), split))


def _embodied(options: _Options) -> list[Sample]:
    from eqa_nodes.embodied.tasks import read_tasks, sample_of

    _no_split(options, "embodied-eval")
    _only(options, "embodied-eval", TASKS, "eqa bench tasks --dataset embodied-eval")
    return [sample_of(task) for task in read_tasks(_folder(options, "embodied-eval"))]


def _house_tasks(options: _Options) -> list[Sample]:
    from eqa_nodes.bench.house.tasks import house_tasks
    from eqa_nodes.embodied.tasks import sample_of

    _only(options, "house-tasks", TASKS, "eqa bench tasks")
    tasks = house_tasks(options.split or "test", options.limit or HOUSE_QUESTIONS, options.seed)
    return [sample_of(task) for task in tasks]


def _house_navqa(options: _Options) -> list[Sample]:
    from eqa_nodes.bench.house.navqa import house_navqa

    _only(options, "house-navqa", EM, "eqa bench run --task em --dataset house-navqa")
    return house_navqa(options.split or "test", options.limit or HOUSE_QUESTIONS, options.seed)


def data_folder(folder: str | Path | None) -> Path | None:
    """Return the folder of published data sets: as named, else EQA_DATA; None where neither says."""
    chosen = folder or os.environ.get(DATA_VARIABLE)
    return Path(chosen) if chosen else None


def _folder(options: _Options, name: str) -> Path:
    chosen = data_folder(options.folder)
    if chosen is None:
        raise ConfigError(f"the data set {name!r} is read from files: name their folder, or set {DATA_VARIABLE}")
    return chosen


def _only(options: _Options, name: str, task: str, command: str) -> None:
    if options.task != task:
        raise ConfigError(f"the data set {name!r} is for the task {task!r}, not {options.task!r}: {command}")


def _no_split(options: _Options, name: str) -> None:
    if options.split:
        raise ConfigError(f"the data set {name!r} has no splits, got {options.split!r}: leave it out")


DATASETS: dict[str, Callable[[_Options], list[Sample]]] = {
    "embodied-eval": _embodied, "express": _express, "exploraqa": _explora, "hm-eqa": _hm_eqa, "house": _house,
    "house-navqa": _house_navqa, "house-tasks": _house_tasks, "openeqa": _openeqa}
