"""Published results of other projects as a run of this one: their answers, marks and path lengths, to be scored again.

Forms: OpenEQA's predictions, [{question_id, answer}], and metrics, {question_id: mark}; a result folder of 3D-Mem (also
Pred-EQA's): gpt_answer.json and path_length_list.pkl, or their parts gpt_answer_0.0_0.5.json ..., with Pred-EQA's
express_bench_info_*.json of EXPRESS-Bench; lengths of reference paths, {question_id: metres} (gt_path_length.json);
those of published_forms.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqa_nodes.bench.published_forms import (
    MOST_BYTES,
    PublishedRun,
    is_trajectories,
    read_evaluated,
    read_express,
    read_steps,
    read_trajectories,
)
from eqa_nodes.bench.running.manifest import begin_manifest, finish_manifest, utc_now
from eqa_nodes.bench.running.predictions import Prediction, PredictionWriter
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import check_samples, write_samples
from eqa_nodes.core.errors import ConfigError, EqaError
from eqa_nodes.core.storage.codec import loads
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.recordings.formats.plain_pickle import load_plain

_ANSWERS, _PATHS = "gpt_answer", "path_length_list"  # names of 3D-Mem's files, less their parts and endings
_RESULTS = "results.pkl"  # EXPRESS-Bench's
_INFO = "express_bench_info"  # Pred-EQA's of EXPRESS-Bench: the distance to the target, and that from the start


def read_published(path: Path, samples: Sequence[Sample] = ()) -> PublishedRun:
    """Read a file of predictions, or a result folder. samples: that were asked, which EXPRESS-Bench's file counts.

    Raises ConfigError naming the file and what is wrong.
    """
    if path.suffix == ".pkl":
        return read_express(path, samples)
    if not path.is_dir():
        return read_evaluated(path, samples) if _is_evaluated(path) else PublishedRun(_answers(path))
    if (path / _RESULTS).is_file():
        return read_express(path / _RESULTS, samples)
    if is_trajectories(path):
        return read_trajectories(path)
    found: dict[str, str | None] = {}
    for file in _parts(path, _ANSWERS, ".json"):
        found |= _answers(file)
    if not found:
        raise ConfigError(f"{path} has no {_ANSWERS}.json and no {_ANSWERS}_*.json: name a result folder of 3D-Mem, "
                          f"EXPRESS-Bench ({_RESULTS}) or EmbodiedEval (trajNNNN folders), or a file of predictions")
    metres: dict[str, float] = {}
    for file in _parts(path, _PATHS, ".pkl"):
        metres |= read_numbers(file)
    return PublishedRun(found, metres, target_m=_distances(path, "goal_dis"),
                     reference_m=_distances(path, "geodesic_distance"))


def read_lengths(path: Path) -> dict[str, float]:
    """Read reference lengths by question id: metres from a file, steps from a folder of trajectories.

    Raises ConfigError.
    """
    return {name: float(steps) for name, steps in read_steps(path).items()} if path.is_dir() else read_numbers(path)


def read_numbers(path: Path) -> dict[str, float]:
    """Read {question id: number} from JSON or a pickle, which is read as data. Raises ConfigError."""
    data = _parsed(path, lambda raw: load_plain(raw, path)) if path.suffix == ".pkl" else _parsed(path, loads)
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold {{question id: number}}, not {data!r:.60}")
    for name, value in data.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ConfigError(f"{path}: question {name!r} must have a finite number, not {value!r:.60}")
    return {str(name): float(value) for name, value in data.items()}


def write_run(out: Path, dataset: str, samples: Sequence[Sample], published: PublishedRun,
              lengths: Mapping[str, float], source: str) -> list[str]:
    """Write a run directory that holds what was published; return the ids of questions without an answer.

    lengths: of the reference paths, metres, in place of the data set's. source: names where the answers come from.
    Steps are published of tasks alone, and without path lengths no metres: what would need them has no value. An answer
    whose length alone is missing has an infinite path: Pred-EQA writes no lengths of episodes that ended without a
    choice. Raises ConfigError for ids that the data set does not have, or a directory that holds another run.
    """
    samples = [_with_lengths(sample, published, lengths) for sample in samples]
    check_samples(samples)
    if strange := sorted(set(published.answers) - {s.id for s in samples}):
        raise ConfigError(f"{len(strange)} answers are of questions that {dataset} does not have, such as "
                          f"{strange[0]!r}: choose the data set and --split that they were asked from")
    out.mkdir(parents=True, exist_ok=True)
    with PredictionWriter(out) as writer:
        begin_manifest(out, dataset, samples, model=source, config={"published": source})
        write_samples(out / SAMPLES, samples)
        for sample in samples:
            if sample.id in published.answers and sample.id not in writer.before.predictions:
                writer.append(_prediction(sample.id, published))
    finish_manifest(out, finished=utc_now())
    return [s.id for s in samples if s.id not in published.answers]


def _with_lengths(sample: Sample, published: PublishedRun, lengths: Mapping[str, float]) -> Sample:
    """Return the sample with the reference lengths that paths of the published kind are compared with."""
    length = lengths.get(sample.id)
    if published.steps:
        return replace(sample, reference_metres=None,
                       reference_steps=sample.reference_steps if length is None else int(length))
    metres = published.reference_m.get(sample.id, sample.reference_metres) if length is None else length
    return replace(sample, reference_steps=None, reference_metres=metres if published.metres else None)


def _prediction(name: str, published: PublishedRun) -> Prediction:
    text = published.answers[name]
    receipt = Receipt(published.steps.get(name, 0), published.metres.get(name, 0.0))
    return Prediction(name, Answer(text or "", abstained=text is None, receipt=receipt),
                      predicates=published.predicates.get(name, ()), target_m=published.target_m.get(name),
                      succeeded=published.succeeded.get(name), endless=published.endless(name))


def _parts(folder: Path, name: str, ending: str) -> list[Path]:
    """Return the file of a name, or its parts where it was never put together."""
    whole = folder / f"{name}{ending}"
    return [whole] if whole.is_file() else sorted(folder.glob(f"{name}_*{ending}"))


def _distances(folder: Path, named: str) -> dict[str, float]:
    """Return a distance of Pred-EQA's by question id; an infinite one is that of no path, and null is not known."""
    found: dict[str, float] = {}
    for file in _parts(folder, _INFO, ".json"):
        data = _parsed(file, loads)
        if not isinstance(data, dict) or not all(isinstance(each, dict) for each in data.values()):
            raise ConfigError(f"{file} must hold {{question id: {{{named}: metres}}}}")
        for name, each in data.items():
            value = each.get(named)
            if value is not None and not (type(value) in (int, float) and value >= 0):
                raise ConfigError(f"{file}: {named} of question {name!r} must be a length, not {value!r:.40}")
            if value is not None and math.isfinite(value):
                found[name] = float(value)
    return found


def _is_evaluated(path: Path) -> bool:
    """Say whether a file holds Pred-EQA's marked results of EXPRESS-Bench instead of answers."""
    data = _parsed(path, loads)
    return isinstance(data, list) and bool(data) and all(isinstance(r, dict) and "gen_answer" in r for r in data)


def _answers(path: Path) -> dict[str, str | None]:
    data = _parsed(path, loads)
    if not isinstance(data, list):
        raise ConfigError(f"{path} must hold a list of {{question_id, answer}}, not {data!r:.60}")
    found: dict[str, str | None] = {}
    for index, record in enumerate(data):
        if not isinstance(record, dict) or "question_id" not in record or "answer" not in record:
            raise ConfigError(f"{path}: entry {index} must have the fields question_id and answer, not {record!r:.80}")
        name, text = str(record["question_id"]), record["answer"]
        if not (text is None or isinstance(text, str)):
            raise ConfigError(f"{path}: the answer of question {name!r} must be a text or null, not {text!r:.60}")
        found[name] = text or None  # 3D-Mem's scorer takes no empty texts either
    return found


def _parsed(path: Path, parse: Callable[[bytes], Any]) -> Any:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        return parse(path.read_bytes())
    except (OSError, ValueError, EqaError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
