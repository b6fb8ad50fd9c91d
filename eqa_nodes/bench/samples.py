"""Samples of a benchmark, and the hash that shows whether two runs asked the same questions."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from eqa_nodes.core.components import SIMULATORS
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.storage.codec import decode, dumps, loads, write_bytes
from eqa_nodes.core.storage.text import storable
from eqa_nodes.core.types.samples import PRESENT, Sample, history_of
from sim_bridge.registry import has_simulator, is_scan


def check_samples(samples: Sequence[Sample]) -> None:
    """Raise ConfigError for no samples, an empty or repeated id, or a sample that contradicts itself."""
    if not samples:
        raise ConfigError("there are no questions: the data set or the selection is empty")
    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            raise ConfigError(f"question id {sample.id!r} occurs twice in the data set: ids must be unique")
        seen.add(sample.id)
        if fault := _fault(sample):
            raise ConfigError(f"question {sample.id!r}{fault}")


def _fault(sample: Sample) -> str:
    """Return the problem of one sample, "" = none."""
    points = [p for p in (sample.start, sample.target, *sample.viewpoints) if p is not None]
    lengths = {"reference_steps": sample.reference_steps, "reference_metres": sample.reference_metres}
    bad = [f"{name} {v}" for name, v in lengths.items() if v is not None and not (math.isfinite(v) and v >= 0)]
    if not sample.id.strip():
        return ": its id is empty"
    if not all(map(storable, (sample.id, sample.question, sample.answer, sample.scene, *sample.choices))):
        return " contains an invalid character (NUL or a lone surrogate)"
    if not sample.question.strip():
        return " has no text"
    if sample.choices and sample.answer not in sample.choices:
        return f": the answer {sample.answer!r} is not one of {sample.choices}"
    if not (sample.answer.strip() or "predicates" in sample.metadata):
        return " has neither an answer nor predicates: nothing could be scored"
    if not all(math.isfinite(v) for p in points for v in p):
        return f": start, target and viewpoints must be finite, got {points}"
    if any(len(p) not in (2, 3) for p in (*sample.viewpoints, sample.target or (0.0, 0.0))):
        return f": target and viewpoints must be x, y and optionally a height: {sample.target}, {sample.viewpoints}"
    return f": a reference length must be finite and >= 0, got {', '.join(bad)}" if bad else ""


def check_runnable(samples: Iterable[Sample]) -> None:
    """Raise ConfigError if no simulator opens a scene."""
    for sample in samples:
        if sample.scene and not has_simulator(sample.scene):
            raise ConfigError(f"question {sample.id!r} is about the scene {sample.scene!r}, which no simulator opens: "
                              f"there are {', '.join(sorted(SIMULATORS))}")


def opened_by(simulator: str, samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples with their scans opened by another simulator, "habitat" or "mesh"; other scenes unchanged."""
    return [replace(s, scene=scene_in(simulator, s.scene)) for s in samples]


def scene_in(simulator: str, scene: str) -> str:
    """Return a scene as another simulator opens it, if it is a scan."""
    return f"{simulator}:{scene.partition(':')[2]}" if is_scan(scene) else scene


def about_history(sample: Sample) -> Sample:
    """Return the question for EM-EQA, without target places and paths, because nothing is driven.

    Only a question whose newest episode is the present keeps the length of its path: the present is seen by driving.
    Raises ConfigError if the data set names no episode history for it.
    """
    history_of(sample)
    metres = sample.reference_metres if PRESENT in sample.metadata else None
    return replace(sample, start=None, target=None, viewpoints=(), reference_steps=None, reference_metres=metres,
                   needs_exploration=False)


def source_of(sample: Sample) -> str:
    """Return the data set of a question's scan, such as "hm3d" or "scannet"; "" if its scene is not a scan."""
    history = sample.metadata.get("episode_history")
    place = history if isinstance(history, str) and "/" in history else sample.scene.rpartition(":")[2]
    folder, slash, _ = place.partition("/")
    return folder.removesuffix("-v0") if slash else ""


def dataset_hash(samples: Iterable[Sample]) -> str:
    """Return the SHA-256 of the canonical JSON of all samples, in order."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(dumps(sample).encode() + b"\n")
    return digest.hexdigest()


def write_samples(path: Path, samples: Iterable[Sample]) -> None:
    """Write one sample per line, so that scoring and report only need the run directory."""
    write_bytes(path, "".join(dumps(sample) + "\n" for sample in samples).encode())


def read_samples(path: Path) -> list[Sample]:
    """Read a file of `write_samples`. Raises StorageError that names the file and line."""
    samples = []
    try:
        lines = path.read_bytes().splitlines()  # for str, U+2028 would also end a line
    except OSError as error:
        raise StorageError(f"{path.parent} contains no run: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            samples.append(decode(Sample, loads(line)))
        except (ValueError, StorageError) as error:
            raise StorageError(f"{path}, line {number}: {error}") from error
    return samples
