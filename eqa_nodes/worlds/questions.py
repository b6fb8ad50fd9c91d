"""The questions of the worlds: where they come from, and which one an episode asks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import gymnasium
import numpy as np

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.geometry import Point
from eqa_nodes.core.types.samples import Sample
from sim_bridge.registry import SimulatorPool

SLACK, STOPPED = 0.01, 2.5  # cost of a step, and factor of SPL
Observation: TypeAlias = dict[str, Any]


class QuestionsEnv(gymnasium.Env[Observation, np.int64]):
    """Base of worlds whose episodes are questions that need exploration, in any simulator that renders their scenes."""

    def __init__(self, questions: str | Path | Sequence[Sample], split: str, count: int, max_steps: int) -> None:
        """questions: name of a data set, `samples.jsonl` of a run, or samples; split, count: of a data set.

        Raises ConfigError for an unknown data set, an empty split, and numbers out of range.
        """
        if max_steps < 1 or count < 1:
            raise ConfigError(f"max_steps is {max_steps} and count {count}: both must be at least 1")
        self._samples = [s for s in samples_of(questions, split, count) if s.scene and viewpoints_of(s)]
        if not self._samples:
            raise ConfigError(f"{questions!r} ({split}) has no question with a scene and a place from which its answer "
                              "is seen: choose another data set or split")
        self._max_steps, self._pool = max_steps, SimulatorPool()

    def draw(self, options: dict[str, Any] | None) -> tuple[Sample, dict[str, Any]]:
        """Return a question drawn by the seed, or options["question"] (its number), and what info says of it.

        Raises ConfigError for a number that no question has.
        """
        number = (options or {}).get("question")
        number = int(self.np_random.integers(len(self._samples))) if number is None else int(number)
        if not 0 <= number < len(self._samples):
            raise ConfigError(f"there is no question {number}: choose one from 0 to {len(self._samples) - 1}")
        sample = self._samples[number]
        return sample, {"id": sample.id, "scene": sample.scene, "question": sample.question,
                        "instruction": sample.instruction, "number": number}

    def close(self) -> None:
        """Release the simulators; a second call does nothing."""
        self._pool.close()


def samples_of(questions: str | Path | Sequence[Sample], split: str, count: int) -> list[Sample]:
    """Return at most `count` samples of a data set, of a file of samples, or of these."""
    if not isinstance(questions, str | Path):
        return list(questions)[:count]
    file = Path(questions)
    if file.suffix == ".jsonl" or file.is_file():
        return read_samples(file)[:count]
    return open_dataset(str(questions), split=split, limit=count)


def viewpoints_of(sample: Sample) -> tuple[Point, ...]:
    """Return the places from which the answer of a sample can be seen."""
    return sample.viewpoints or ((sample.target,) if sample.target is not None else ())


def nearer(before_m: float, now_m: float) -> float:
    """Return by how many metres the way to go became shorter; 0 if one of both is no number."""
    return before_m - now_m if math.isfinite(before_m) and math.isfinite(now_m) else 0.0
