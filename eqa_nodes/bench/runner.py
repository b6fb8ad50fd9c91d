"""Pass 1: ask every question once, and lose nothing of what was answered."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from eqa_nodes.bench.manifest import begin_manifest, finish_manifest, utc_now
from eqa_nodes.bench.predictions import Prediction, PredictionWriter
from eqa_nodes.bench.samples import ACTIVE, Sample, check_runnable, check_samples, write_samples
from eqa_nodes.bench.traces import save_trace
from eqa_nodes.core.codec import dumps
from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.geometry import Pose2
from eqa_nodes.core.trace import EpisodeTrace
from eqa_nodes.core.types import Answer

SAMPLES = "samples.jsonl"
EPISODES = "episodes"


@dataclass(frozen=True)
class EpisodeResult:
    """What an episode gave. bag: where it was recorded, None = nowhere. predicates: as in Prediction."""

    sample_id: str
    answer: Answer
    final_pose: Pose2 | None = None
    trace: EpisodeTrace | None = None
    bag: Path | None = None
    predicates: tuple[bool, ...] = ()


class EpisodeRunner(Protocol):
    """Asks questions of the chain, in process or through the graph. Raises EqaError for what can go wrong."""

    def run(self, sample: Sample) -> EpisodeResult:
        """Carry out one episode."""

    def blind(self, sample: Sample) -> Answer:
        """Answer without having seen anything."""

    def close(self) -> None:
        """Release everything; a second call does nothing."""


class Progress(NamedTuple):
    """After each question: how far the run is; note: what a person should know (one line, may be empty)."""

    done: int
    total: int
    failed: int
    prediction: Prediction | None
    note: str = ""


class RunSummary(NamedTuple):
    """How pass 1 ended. unexpected: errors that nobody raised on purpose (faults of the program)."""

    total: int
    asked: int
    resumed: int
    failed: int
    unexpected: int
    dropped: str

    @property
    def exit_code(self) -> int:
        """0, or 1 when the program itself failed somewhere."""
        return 1 if self.unexpected else 0


def run_benchmark(samples: Sequence[Sample], runner: EpisodeRunner, out: Path,
                  progress: Callable[[Progress], None] = lambda progress: None, *, dataset: str = "", seed: int = 0,
                  model: str = "", config: Mapping[str, object] | None = None, blind: bool = True,
                  retry_failed: bool = False, task: str = ACTIVE,
                  preflight: Callable[[Sample], object] = lambda sample: None) -> RunSummary:
    """Ask every sample that has no prediction yet; call it again on the same directory to go on after a kill.

    An EqaError fails its question with code and message; any other exception fails it as INTERNAL with its traceback;
    the run goes on either way. retry_failed: ask failed questions again. preflight: raises EqaError for a question
    that cannot be answered, such as one whose history is missing: it has failed before any question is asked.
    Raises ConfigError for samples that cannot be run or a directory that holds another run, StorageError when the
    directory cannot be written.
    """
    check_samples(samples)
    if task == ACTIVE:
        check_runnable(samples)
    with PredictionWriter(out) as writer:
        begin_manifest(out, dataset, samples, seed=seed, model=model, config=config, task=task)
        write_samples(out / SAMPLES, samples)
        have = {i: p for i, p in writer.before.predictions.items() if not (retry_failed and p.failed)}
        predictions = [have[s.id] for s in samples if s.id in have]
        resumed, dropped = len(predictions), writer.before.dropped
        if resumed or dropped:
            progress(Progress(resumed, len(samples), _count_failed(predictions), None, _resume_note(resumed, dropped)))

        def ended(prediction: Prediction) -> None:
            predictions.append(prediction)
            writer.append(prediction)
            progress(Progress(len(predictions), len(samples), _count_failed(predictions), prediction, prediction.note))

        left = [(index, sample) for index, sample in enumerate(samples) if sample.id not in have]
        impossible = {sample.id: error for _, sample in left if (error := _refusal(sample, preflight)) is not None}
        for _, sample in left:
            if sample.id in impossible:
                ended(_failed(sample, impossible[sample.id], runner, blind))
        for index, sample in left:
            if sample.id not in impossible:
                ended(_ask(sample, index, runner, out, blind))
    finish_manifest(out, finished=utc_now())
    return RunSummary(len(samples), len(samples) - resumed, resumed, _count_failed(predictions),
                      sum(bool(p.traceback) for p in predictions), dropped)


def episode_folder(index: int, sample_id: str) -> str:
    """Return the folder of an episode inside the run directory: unique by its number, readable by its id."""
    return f"{EPISODES}/{index:04d}-{re.sub(r'[^A-Za-z0-9._-]+', '_', sample_id)[:60]}"


def _ask(sample: Sample, index: int, runner: EpisodeRunner, out: Path, blind: bool) -> Prediction:
    """Run one episode; whatever goes wrong ends in the prediction."""
    try:
        result = runner.run(sample)
        guess = _blind(sample, runner) if blind else None
        prediction = _prediction(sample, index, result, guess, out)
        dumps(prediction)  # what cannot be written must fail here, as this question's error
        return prediction
    except EqaError as error:
        return _failed(sample, error, runner, blind)
    except Exception as error:
        return Prediction(sample.id, _internal(error), traceback=traceback.format_exc())


def _refusal(sample: Sample, preflight: Callable[[Sample], object]) -> EqaError | None:
    try:
        preflight(sample)
    except EqaError as error:
        return error
    return None


def _failed(sample: Sample, error: EqaError, runner: EpisodeRunner, blind: bool) -> Prediction:
    return Prediction(sample.id, Answer(abstained=True, error=error.code, message=_message(error)),
                      blind=_blind(sample, runner) if blind else None)


def _prediction(sample: Sample, index: int, result: EpisodeResult, blind: Answer | None, out: Path) -> Prediction:
    if result.sample_id != sample.id:
        raise ValueError(f"asked question {sample.id!r}, got the answer to {result.sample_id!r}")
    trace, note = "", ""
    if result.trace is not None:
        note = ", ".join(f"{count} frames refused by the {who}" for who, count in sorted(result.trace.refused.items()))
        trace = f"{episode_folder(index, sample.id)}/trace.zip"
        save_trace(out / trace, result.trace)
    bag = "" if result.bag is None else _relative(result.bag, out)
    return Prediction(sample.id, result.answer, result.final_pose, trace, bag, blind=blind, note=note,
                      predicates=result.predicates)


def _blind(sample: Sample, runner: EpisodeRunner) -> Answer:
    """Ask blind; its failure is its own and leaves the episode's answer alone."""
    try:
        return runner.blind(sample)
    except EqaError as error:
        return Answer(abstained=True, error=error.code, message=_message(error))


def _internal(error: Exception) -> Answer:
    return Answer(abstained=True, error=ErrorCode.INTERNAL, message=_message(error))


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _relative(path: Path, out: Path) -> str:
    path, out = path.resolve(), out.resolve()
    return str(path.relative_to(out) if path.is_relative_to(out) else path)


def _count_failed(predictions: Sequence[Prediction]) -> int:
    return sum(p.failed for p in predictions)


def _resume_note(resumed: int, dropped: str) -> str:
    note = f"resumed: {resumed} questions were answered before"
    return note + (f"; dropped a half-written last line ({len(dropped)} characters)" if dropped else "")
