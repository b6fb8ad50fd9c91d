"""A run of `eqa learn perceiver`: draw views, train, validate, write the weights with a report of the training.

Everything is in one folder: views/, checkpoint.pt, curves.jsonl, and weights/ with the two models. Each part that is
there is kept, so that the same command continues an interrupted run.
"""

from __future__ import annotations

import json
import platform
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from eqa_nodes.core.errors import ConfigError, EqaError
from eqa_nodes.learn.export import HeadScales, scales_of, write_perceiver
from eqa_nodes.learn.pool import batches
from eqa_nodes.learn.start import begin_with, folder_of
from eqa_nodes.learn.training import Training, TrainingConfig, accuracy
from eqa_nodes.learn.views import FIELDS, ViewsConfig, write_views

VALIDATED_BATCHES = 8
VALIDATED, SAVED, SHOWN = 500, 100, 50  # steps between two validations, checkpoints, and points of a curve
_NORMALISED = 8  # batches that set the batch normalisations of a run that begins with other weights
_RANGE = re.compile(r"(house:)(\d+)-(\d+)")


@dataclass(frozen=True)
class PerceiverRun:
    """Settings of a run.

    scenes, validation: names of scenes, see `scenes_of`. start: weights that it begins with, as for start.begin_with;
    "" = random ones.
    """

    folder: Path
    scenes: tuple[str, ...]
    validation: tuple[str, ...]
    views: ViewsConfig = ViewsConfig()
    training: TrainingConfig = TrainingConfig()
    device: str = "cpu"
    workers: int = 2
    start: str = ""


class CurvePoint(NamedTuple):
    """Mean losses of the last steps, and now and then the accuracies on the validation views."""

    step: int
    seconds: float
    losses: dict[str, float]
    validation: dict[str, float]


def scenes_of(text: str) -> tuple[str, ...]:
    """Return the scenes in a comma-separated list: names, house:FIRST-LAST, or a folder of .glb files.

    Every third built-in house of a range has people in it. Raises ConfigError.
    """
    found: list[str] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        if houses := _RANGE.fullmatch(word):
            first, last = int(houses[2]), int(houses[3])
            found += [f"house:{k}" + (f"+{1 + k % 3}" if k % 3 == 0 else "") for k in range(first, last + 1)]
        elif ":" in word:
            found.append(word)
        else:
            files = sorted(Path(word).glob("**/*.glb"))
            if not files:
                raise ConfigError(f"{word!r} names no scenes: give house:0-899, names such as mesh:flat.glb, or a "
                                  "folder of .glb files with labels beside them")
            found += [f"mesh:{file}" for file in files]
    if not found:
        raise ConfigError(f"{text!r} names no scenes: give for instance house:0-899")
    return tuple(found)


def draw_all(run: PerceiverRun, show: Callable[[str, int, int], None]) -> dict[str, str]:
    """Draw the views of all scenes that have none yet; return the scenes that failed, with their reasons.

    show: called with the scene, the number of scenes done, and the number of all. Raises ConfigError if all failed.
    """
    scenes = (*run.scenes, *run.validation)
    left = [scene for scene in scenes if not _file(run, scene).exists()]
    done, failed = len(scenes) - len(left), dict[str, str]()
    (run.folder / "views").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(run.workers, get_context("spawn")) as workers:
        jobs = {workers.submit(write_views, scene, _file(run, scene), run.views): scene for scene in left}
        for job in as_completed(jobs):
            try:
                job.result()
            except (EqaError, OSError) as error:
                failed[jobs[job]] = str(error)
            done += 1
            show(jobs[job], done, len(scenes))
    if not files_of(run, run.scenes) or not files_of(run, run.validation):
        raise ConfigError("no views for training or for validation: " + "; ".join(f"{k}: {v}" for k, v in list(
            failed.items())[:3]))
    return failed


def files_of(run: PerceiverRun, scenes: Sequence[str]) -> list[Path]:
    """Return the files of views that exist for some scenes."""
    return [file for file in (_file(run, scene) for scene in scenes) if file.exists()]


def _file(run: PerceiverRun, scene: str) -> Path:
    return run.folder / "views" / (re.sub(r"[^\w+@.-]+", "_", scene).strip("_") + ".npz")


def train(run: PerceiverRun) -> Iterator[CurvePoint]:
    """Train, yielding the points of the curves; a run that is continued begins at its last checkpoint.

    Raises ConfigError, MissingExtra, and ModelError if the loss is not finite.
    """
    files = files_of(run, run.scenes)
    training = Training(run.folder, files, run.training, run.device)
    if run.start and not training.step:
        first = islice(batches(files, training.vocabulary, run.training.batch, run.training.seed), _NORMALISED)
        begin_with(training.averaged.cpu(), training.vocabulary, run.start, first)
        training.network.load_state_dict(training.averaged.state_dict())
        training.averaged.to(run.device)
    shown = batches(files_of(run, run.validation), training.vocabulary, run.training.batch, 1)
    begun, losses = time.monotonic(), list[dict[str, float]]()
    for step, loss in training.steps():
        losses.append(loss.values())
        last = step == run.training.steps
        if step % SAVED == 0 or last:
            training.save()
        if step % SHOWN == 0 or last:
            means = {name: round(float(np.mean([row[name] for row in losses])), 4) for name in losses[0]}
            losses.clear()
            right = accuracy(training.averaged.cpu(), training.vocabulary, shown, VALIDATED_BATCHES) if (
                step % VALIDATED == 0 or last) else {}
            training.averaged.to(run.device)
            point = CurvePoint(step, round(time.monotonic() - begun, 1), means, dict(right))
            with (run.folder / "curves.jsonl").open("a") as lines:
                lines.write(json.dumps(point._asdict()) + "\n")
            yield point


def finish(run: PerceiverRun) -> Path:
    """Calibrate the heads on the validation views, write the weights and the report, and return their folder."""
    training = Training(run.folder, files_of(run, run.scenes), run.training)
    shown = batches(files_of(run, run.validation), training.vocabulary, run.training.batch, 2)
    scales = scales_of(training.averaged, training.vocabulary, shown, 2 * VALIDATED_BATCHES)
    measured = accuracy(training.averaged, training.vocabulary, shown, 2 * VALIDATED_BATCHES)
    trained = (f"{training.step} steps of {run.training.batch} views, {len(files_of(run, run.scenes))} scenes from "
               f"{run.scenes[0]} to {run.scenes[-1]}, seed {run.training.seed}"
               + (f", begun with the weights {run.start}" if run.start else ""))
    folder = run.folder / "weights"
    write_perceiver(training.averaged, training.vocabulary, scales, folder, trained)
    (folder / "report.md").write_text(_report(run, training, trained, scales, measured) + _before(run.start))
    return folder


def _before(start: str) -> str:
    """Return the report of the weights that a run began with as a section; "" without one."""
    file = folder_of(start) / "report.md" if start else None
    if file is None or not file.is_file():
        return ""
    return "\n" + file.read_text().replace("# How these weights were trained", f"## Before: the weights `{start}`", 1)


def _report(run: PerceiverRun, training: Training, trained: str, scales: HeadScales, measured: Any) -> str:
    weights = sum(p.numel() for p in training.network.parameters())
    names = training.vocabulary
    seconds = _seconds(run.folder / "curves.jsonl")
    rows = "\n".join(f"| {name} | {100 * share:.1f} % |" for name, share in measured.items())
    return f"""# How these weights were trained

{trained}. The network has {weights / 1e6:.2f} million weights and was trained with torch {torch.__version__} on
{platform.machine()}, device {run.device}, in {seconds / 60:.0f} minutes. It knows {len(names.kinds) - 1} kinds of
objects, {len(names.states) - 1} states, {len(names.colours) - 1} colours and {len(names.rooms) - 1} kinds of rooms.

Right on views of the {len(files_of(run, run.validation))} validation scenes ({run.validation[0]} to
{run.validation[-1]}), with the true outlines of the instances:

| | right |
| --- | --- |
{rows}

Temperatures of the heads ({', '.join(FIELDS)}): {', '.join(map(str, scales.temperatures))}. Mean length of the vectors:
{scales.length:.1f}.
"""


def _seconds(curves: Path) -> float:
    """Return the time spent in training, over all continuations."""
    total, last = 0.0, 0.0
    for line in curves.read_text().splitlines() if curves.exists() else ():
        now = float(json.loads(line)["seconds"])
        total, last = total + (now - last if now > last else now), now
    return total
