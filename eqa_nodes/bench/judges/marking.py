"""Opens judges by their names, and marks all answers of a run; calls of a model run in parallel."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from eqa_nodes.bench.judges.base import Judge, JudgeOptions
from eqa_nodes.bench.judges.official import find_scorer, open_official
from eqa_nodes.bench.metrics.question_score import QuestionScore, question_score
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.core.components import JUDGES, READERS
from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.model import Backend
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig


def open_judge(name: str = "offline", options: JudgeOptions | None = None,
               open_backend: Callable[[ModelConfig], Backend] = open_model) -> Judge:
    """Return a judge by name. Raises ConfigError for an unknown one, or options that do not fit, and MissingExtra."""
    if options is not None and options.official is not None:
        scorer = find_scorer(options.official)
        if name != scorer.kind:
            raise ConfigError(f"{options.official} contains the official {scorer.kind}, not {name}")
        return open_official(scorer, open_backend(options.model))
    judge: Judge = JUDGES.make(name, options or JudgeOptions(), open_backend)
    return judge


def marks_at_once(name: str) -> bool:
    """Say whether this is the name of a judge that asks no model."""
    return name in JUDGES and not JUDGES.traits(name).asks_model


def usual_judge(out: Path) -> str:
    """Return the judge of a run's data set, "offline" if the data set is not known here."""
    name = read_manifest(out).dataset
    return READERS.traits(name).judge if name in READERS else "offline"


HOPELESS = 3  # answers, if the model fails at each of the first so many, nothing will be marked
_FAILED = f"the judge failed: {ModelError.__name__}: "

Said = Callable[[int, int], None]  # done, of how many


def mark_run(out: Path, judge: Judge, threads: int = 8, limit: int = 0,
             progress: Said = lambda done, total: None) -> list[QuestionScore]:
    """Return the marks of a run's answers in the order of its questions; limit: of the first so many, 0 = of all.

    Lengths to targets are not measured. Raises StorageError when the directory holds no readable run, ModelError when
    the judge's model has failed at every answer so far: at the first few, or at all.
    """
    predictions = read_predictions(out).predictions
    asked = [s for s in read_samples(out / SAMPLES) if s.id in predictions][:limit or None]
    pool = ThreadPoolExecutor(threads)
    marked: list[QuestionScore] = []
    try:
        for score in pool.map(lambda s: question_score(s, predictions[s.id], judge, None, out), asked):
            marked.append(score)
            progress(len(marked), len(asked))
            if len(marked) >= min(HOPELESS, len(asked)) and all(q.note.startswith(_FAILED) for q in marked):
                raise ModelError(f"{marked[-1].note.removeprefix(_FAILED)} (so at each of the first {len(marked)} "
                                 "answers; what was marked before is kept)")
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C what is under way is kept, what is not begun is not paid
    return marked
