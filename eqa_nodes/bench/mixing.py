"""Draws answers of several runs into one run directory, for a study of judges (OpenEQA, supplement L).

The marking is blind to the agents: ids are hashes, and sources.json maps them to runs and questions.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eqa_nodes.bench.running.manifest import MIXED, begin_manifest, finish_manifest, read_manifest, utc_now
from eqa_nodes.bench.running.predictions import Prediction, PredictionWriter, read_predictions
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import read_samples, write_samples
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import decode, read_json, write_json
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.types.samples import ACTIVE, Sample

SOURCES = "sources.json"
TRACE = "trace.zip"


@dataclass(frozen=True)
class Source:
    """The origin of an answer: the name of its run, and the id of its question there."""

    run: str
    question: str


@dataclass(frozen=True, eq=False)
class _Answered:
    """An answer that can be drawn."""

    source: Source
    folder: Path
    sample: Sample
    prediction: Prediction


def mix(runs: Mapping[str, Path], out: Path, count: int = 0, seed: int = 0) -> Counter[str]:
    """Write a run of `count` answers (0 = all), balanced over the runs; return the number of answers per run.

    Questions are drawn at random; a question is drawn for a second run only after every question has been drawn. Failed
    questions and abstentions are left out, because there is nothing to mark. Raises ConfigError, StorageError.
    """
    if len(runs) < 2:
        raise ConfigError("a mixture needs two runs or more: name their directories")
    if (out / SAMPLES).exists():
        raise ConfigError(f"{out} already contains a run: choose another folder")
    found = {name: _answered(name, folder) for name, folder in runs.items()}
    total = sum(map(len, found.values()))
    if not 0 <= count <= total:
        raise ConfigError(f"{count} answers are wanted, and the runs have {total} that can be marked")
    drawn = _drawn(found, count or total, seed)
    ids = {_id(a.source, seed): a for a in drawn}
    of = [read_manifest(folder) for folder in runs.values()]
    datasets, tasks = {m.dataset for m in of}, {m.task for m in of}
    out.mkdir(parents=True, exist_ok=True)
    samples = [replace(a.sample, id=name) for name, a in sorted(ids.items())]
    with PredictionWriter(out) as writer:
        begin_manifest(out, datasets.pop() if len(datasets) == 1 else "mixed", samples, seed=seed, model="several runs",
                       config={MIXED: {name: str(folder) for name, folder in runs.items()}, "count": count},
                       task=tasks.pop() if len(tasks) == 1 else ACTIVE)
        write_samples(out / SAMPLES, samples)
        write_json(out / SOURCES, {name: a.source for name, a in ids.items()})
        for name, answered in sorted(ids.items()):
            writer.append(_moved(name, answered, out))
    finish_manifest(out, finished=utc_now())
    return Counter(a.source.run for a in drawn)


def read_sources(run: Path) -> dict[str, Source]:
    """Return the origin of each id of a mixed run; empty for any other run. Raises StorageError."""
    path = run / SOURCES
    return decode(dict[str, Source], read_json(path)) if path.exists() else {}


def _answered(name: str, folder: Path) -> dict[str, _Answered]:
    """Return the answers of a run that can be marked, by question id."""
    predictions = read_predictions(folder).predictions
    found = {s.id: _Answered(Source(name, s.id), folder, s, p) for s in read_samples(folder / SAMPLES)
             if (p := predictions.get(s.id)) is not None and not p.failed and not p.answer.abstained}
    if not found:
        raise ConfigError(f"{folder} has no answer to mark")
    return found


def _drawn(found: Mapping[str, Mapping[str, _Answered]], count: int, seed: int) -> list[_Answered]:
    """Draw questions one by one, each for the run with the fewest answers so far among those that answered it."""
    rng = np.random.default_rng(seed)
    questions = sorted({name for answers in found.values() for name in answers})
    left = {name: dict(answers) for name, answers in found.items()}
    taken: Counter[str] = Counter()
    drawn: list[_Answered] = []
    while len(drawn) < count:
        for i in rng.permutation(len(questions)).tolist():
            having = [name for name in _shuffled(left, rng) if questions[i] in left[name]]
            if having and len(drawn) < count:
                run = min(having, key=lambda name: taken[name])
                taken[run] += 1
                drawn.append(left[run].pop(questions[i]))
    return drawn


def _shuffled(names: Mapping[str, object], rng: np.random.Generator) -> Sequence[str]:
    ordered = list(names)
    return [ordered[i] for i in rng.permutation(len(ordered)).tolist()]


def _id(source: Source, seed: int) -> str:
    return hashlib.sha256(f"{seed}\n{source.run}\n{source.question}".encode()).hexdigest()[:16]


def _moved(name: str, answered: _Answered, out: Path) -> Prediction:
    """Return a prediction under its new id, with its trace copied and without its origin."""
    trace = ""
    if answered.prediction.trace and (file := inside(answered.folder, answered.prediction.trace)).is_file():
        trace = f"episodes/{name}/{TRACE}"
        (out / trace).parent.mkdir(parents=True)
        shutil.copyfile(file, out / trace)
    return replace(answered.prediction, id=name, trace=trace, bag="", blind=None, note="")
