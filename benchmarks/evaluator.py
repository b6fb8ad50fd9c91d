"""Overhead of the evaluator beside simulator and model (question, start, memory, scoring); gain by two workers."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.timing import Figure, median_ms, resident_mb
from eqa_nodes.bench.metrics.formulas import summary
from eqa_nodes.bench.readers.express import read_express
from eqa_nodes.bench.report.traces import save_trace
from eqa_nodes.bench.running.runner import RunProgress, SequentialEngine, run_with
from eqa_nodes.bench.running.workers import ProcessEngine
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.model import Message
from eqa_nodes.core.types.floor import Candidate, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Recalled, Receipt
from eqa_nodes.core.types.samples import EM, EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.models.scripted import ScriptedBackend

EPISODES, WARM = 1000, 100
MARKS, RESAMPLES = 100_000, 10_000
QUESTIONS, MODEL_S, ASKED = 2044, 0.5, 24
_REPLY = json.dumps({"answer": "a cup", "confidence": 0.9, "images": [1], "abstain": False})


def figures() -> list[Figure]:
    """Return the costs of a question, the start and the scores, and the gain of a second worker."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_harness(Path(folder)), _start(Path(folder)), *_scoring(), _workers(Path(folder))]


def _harness(folder: Path) -> list[Figure]:
    """Run a thousand instant episodes, which measures the evaluator alone: its time and memory."""
    trace = _trace()
    stamps, resident = [time.perf_counter()], []

    def heard(now: RunProgress) -> None:
        stamps.append(time.perf_counter())
        resident.append(resident_mb())

    run_with(SequentialEngine(_Instant(trace)), _samples(EPISODES), folder / "harness", heard)
    each = 1e3 * float(np.median(np.diff(stamps)))
    alone = median_ms(lambda: save_trace(folder / "alone.zip", trace), 25)
    last, early = max(resident[-WARM:]), max(resident[:WARM])
    return [Figure("evaluator, one question", round(each, 1), f"writing its trace alone, {alone:.1f} ms",
                   round(each / alone, 2), "outside simulator and model; trace and answer on the disk (wanted: 20 ms)"),
            Figure(f"evaluator's memory over {EPISODES} episodes", None, f"after {WARM}, {early:.0f} MB",
                   round(last / early, 3), f"{last - early:+.1f} MB (wanted: flat)")]


def _start(folder: Path) -> Figure:
    """Start a process on a file of 2,044 questions and wait until its first episode begins."""
    (folder / "express-bench-slim.json").write_text(json.dumps([{
        "question_id": f"e{n}", "question": f"What stands beside window {n}?", "answer": "a plant",
        "category": "object", "episode_history": f"hm3d/train/{n % 90:05d}-scene", "position": [0.1 * (n % 50), 0, 1],
        "rotation": [1, 0, 0, 0], "goal_position": [2.0, 0, n % 7], "geodesic_distance": 6.5,
        "episode_path": f"scene/{n}", "trajectory_id": n,
        "actions": {f"step_{k}": {} for k in range(40)}} for n in range(QUESTIONS)]))

    def whole(code: str) -> float:
        return median_ms(lambda: subprocess.run([sys.executable, "-c", code, str(folder)], check=True, timeout=120), 3)

    imports = whole("from benchmarks import evaluator")
    ours = whole("import sys; from benchmarks import evaluator; evaluator.first_episode(sys.argv[1])")
    return Figure(f"start of {QUESTIONS:,} questions to the first episode", round(ours),
                  f"starting Python and its imports, {imports:.0f} ms", round(ours / imports, 2),
                  "questions read, checked, hashed and written (wanted: 5 s)")


def first_episode(folder: str) -> None:
    """Begin a run of the questions in a folder and end with its first episode."""
    samples = read_express(Path(folder) / "express-bench-slim.json")
    with tempfile.TemporaryDirectory() as out, suppress(_Begun):
        run_with(SequentialEngine(_First(_trace())), samples, Path(out), task=EM)  # this task opens no scenes


def _scoring() -> list[Figure]:
    rng = np.random.default_rng(0)
    marks = rng.choice([0, 0.25, 0.5, 0.75, 1], MARKS)
    return [_bootstrap("marks (C)", marks), _bootstrap("marks times lengths (E)", marks * rng.random(MARKS))]


def _bootstrap(name: str, values: np.ndarray) -> Figure:
    """Time the interval against NumPy's own draws, of which only a hundredth is made."""
    given = values.tolist()
    summary(given, resamples=10)  # compiles before the timing
    ours = median_ms(lambda: summary(given, resamples=RESAMPLES), 3)
    rng, share = np.random.default_rng(0), 100
    plain = share * median_ms(lambda: [values[rng.integers(0, MARKS, MARKS)].mean() for _ in
                                        range(RESAMPLES // share)], 1)
    return Figure(f"scoring {MARKS:,} {name}, {RESAMPLES:,} resamples", round(ours),
                  f"drawn by NumPy, {plain / 1e3:.1f} s", round(ours / plain, 4),
                  "mean and 95 % interval (wanted: 2 s)")


def _workers(folder: Path) -> Figure:
    one, two = (_throughput(folder / f"workers-{n}", n) for n in (1, 2))
    return Figure(f"two workers, a model that takes {MODEL_S:g} s", round(1e3 / two),
                  f"one worker, {1e3 / one:.0f} ms a question", round(two / one, 2),
                  f"ratio of questions a second, from the first answer on, {ASKED} questions (wanted: 1.7)")


def _throughput(out: Path, workers: int) -> float:
    """Return questions per second, after the workers have started."""
    stamps: list[float] = []
    run_with(ProcessEngine(partial(open_slow, MODEL_S), workers), _samples(ASKED), out,
             lambda now: stamps.append(time.perf_counter()), blind=False)
    return (len(stamps) - workers) / (stamps[-1] - stamps[workers - 1])


class _Instant:
    """Returns the same episode for every question immediately."""

    def __init__(self, trace: EpisodeTrace) -> None:
        self._trace = trace

    def run(self, sample: Sample) -> EpisodeResult:
        answer = Answer("a cup", 0.9, receipt=Receipt(40, 9.0, 1.0, 5, 4000, 90))
        return EpisodeResult(sample.id, answer, Pose2(1, 2, 0), self._trace)

    def blind(self, sample: Sample) -> Answer:
        return Answer("a mug", 0.1)

    def close(self) -> None:
        """Nothing to release."""


class _Begun(BaseException):
    """Raised when the first episode begins."""


class _First(_Instant):
    def run(self, sample: Sample) -> EpisodeResult:
        raise _Begun


class _Slow(_Instant):
    """Answers from four views with the real answerer and a slow model."""

    def __init__(self, seconds: float) -> None:
        super().__init__(_trace())

        def reply(messages: Sequence[Message]) -> str:
            time.sleep(seconds)
            return _REPLY

        self._answerer = VlmAnswerer(ScriptedBackend([reply] * ASKED))

    def run(self, sample: Sample) -> EpisodeResult:
        items = [Recalled(keyframe, 1.0, "") for keyframe in self._trace.keyframes[:4]]
        answer = self._answerer.answer(sample.as_question(), items)
        return EpisodeResult(sample.id, answer, Pose2(1, 2, 0), self._trace)


def open_slow(seconds: float, number: int) -> _Slow:
    """Open the runner of a worker."""
    return _Slow(seconds)


def _samples(n: int) -> list[Sample]:
    return [Sample(f"q{k}", f"What is on table {k}?", "a cup", category="object", scene="house:1",
                   reference_steps=30, reference_metres=8.0) for k in range(n)]


def _trace() -> EpisodeTrace:
    """Return an episode of usual size: 90 poses, 14 decisions, 12 key images, a map of 12 m x 10 m."""
    rng = np.random.default_rng(0)
    poses = [(k * 500_000_000, Pose2(0.1 * k, 0.05 * k, 0.1)) for k in range(90)]
    candidates = tuple(Candidate(k, k, 0.1 * k, "frontier") for k in range(12))
    decisions = [TraceDecision(*poses[6 * k], Pose2(k, k, 0), "the largest frontier", candidates) for k in range(14)]
    views = [Keyframe(k, poses[7 * k][0], poses[7 * k][1].transform(), rng.bytes(60_000)) for k in range(12)]
    cells = rng.choice(np.array([-1, 0, 0, 0, 100], np.int8), (100, 120))
    return EpisodeTrace("?", poses, decisions, views, grid=GridMap(0, 0.1, (0.0, 0.0), cells, cells == 0))
