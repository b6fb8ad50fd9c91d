"""Pass 1: asks every question once without losing an answer; stores questions that people asked one by one."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from eqa_nodes.bench.report.traces import answer_since, begin_of, save_trace, trace_since
from eqa_nodes.bench.running.manifest import (
    MANIFEST,
    begin_manifest,
    finish_manifest,
    read_manifest,
    state_manifest,
    utc_now,
)
from eqa_nodes.bench.running.predictions import Count, Prediction, PredictionWriter, RunProgress, RunSummary
from eqa_nodes.bench.samples import check_runnable, check_samples, read_samples, write_samples
from eqa_nodes.core.errors import EqaError, ErrorCode, StorageError
from eqa_nodes.core.ledger import paid_until
from eqa_nodes.core.storage.codec import dumps
from eqa_nodes.core.storage.text import file_name
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import ACTIVE, EpisodeResult, EpisodeRunner, Sample

SAMPLES = "samples.jsonl"
EPISODES = "episodes"


class QuestionTask(NamedTuple):
    """A question to ask, with its index in the data set. refusal: answer from the preflight, None = it can be asked."""

    place: int
    sample: Sample
    refusal: Answer | None = None


class AskSettings(NamedTuple):
    """Settings of everyone who asks: the run directory, and whether each question is also asked blind.

    since_begin: True = stamps count from the beginning of each episode; False, for recorded histories = unchanged.
    """

    out: Path
    blind: bool = True
    since_begin: bool = True


class Engine(Protocol):
    """Asks questions in this process (SequentialEngine) or in several (workers.ProcessEngine)."""

    def ask_all(self, tasks: Sequence[QuestionTask], asking: AskSettings) -> Generator[Prediction, None, None]:
        """Run every task once and yield predictions as they are ready, in any order.

        If the model's budget is spent (`out_of_budget`), that prediction is the last one.
        """


class SequentialEngine:
    """Asks one question after the other in this process."""

    def __init__(self, runner: EpisodeRunner) -> None:
        self._runner = runner

    def ask_all(self, tasks: Sequence[QuestionTask], asking: AskSettings) -> Generator[Prediction, None, None]:
        """Ask in order."""
        for task in tasks:
            prediction = ask(task, self._runner, asking)
            yield prediction
            if out_of_budget(prediction):
                return


def run_benchmark(samples: Sequence[Sample], runner: EpisodeRunner, out: Path,
                  progress: Callable[[RunProgress], None] = lambda progress: None, **options: Any) -> RunSummary:
    """Ask in this process; options and errors are those of `run_with`."""
    return run_with(SequentialEngine(runner), samples, out, progress, **options)


def run_with(engine: Engine, samples: Sequence[Sample], out: Path,
             progress: Callable[[RunProgress], None] = lambda progress: None, *, dataset: str = "", seed: int = 0,
             model: str = "", config: Mapping[str, object] | None = None, run: Mapping[str, object] | None = None,
             blind: bool = True, retry_failed: bool = False, task: str = ACTIVE, asked: str = "", whole: int = 0,
             preflight: Callable[[Sample], object] = lambda sample: None) -> RunSummary:
    """Ask every sample that has no prediction yet; call it again on the same directory to resume after a kill.

    An EqaError fails its question with code and message; any other exception fails it as INTERNAL with its traceback.
    The run continues in both cases, but ends if the model's budget is spent, or if the first HOPELESS questions all
    fail for general reasons. retry_failed: ask failed questions again.
    config, run, asked, whole: as in RunManifest. preflight: raises EqaError for a question that cannot be answered,
    such as one with a missing history; it fails before any question is asked.
    Each prediction is on the disk before it is counted; at the end the file is sorted in the order of the questions,
    so it does not depend on the workers. Raises ConfigError for samples that cannot be run or a directory that contains
    another run, StorageError if the directory cannot be written.
    """
    check_samples(samples)
    if task == ACTIVE:
        check_runnable(samples)
    with PredictionWriter(out) as writer:
        begin_manifest(out, dataset, samples, seed=seed, model=model, config=config, task=task, run=run,
                       asked=asked, whole=whole)
        write_samples(out / SAMPLES, samples)
        have = {i: p for i, p in writer.before.predictions.items() if not (retry_failed and p.failed)}
        count = Count(len(samples), progress)
        count.resume([have[s.id] for s in samples if s.id in have], writer.before.dropped)
        left = [QuestionTask(place, sample) for place, sample in enumerate(samples) if sample.id not in have]
        checked = [task._replace(refusal=_refusal(task.sample, preflight)) for task in left]
        del have, left
        checked.sort(key=lambda task: task.refusal is None)
        count.refused = {task.sample.id for task in checked if task.refusal is not None}
        with closing(engine.ask_all(checked, AskSettings(out, blind, task == ACTIVE))) as predictions:
            spent = ""
            for prediction in predictions:
                if out_of_budget(prediction):  # it can be asked with a larger budget
                    spent = prediction.answer.message
                    continue
                writer.append(prediction)
                count.add(prediction)
                if count.hopeless and count.done < len(samples):
                    break
        writer.put_in_order([sample.id for sample in samples])
    hopeless = count.hopeless if count.done < len(samples) else ""
    if not spent and not hopeless:
        finish_manifest(out, finished=utc_now())
    resumed = len(samples) - len(checked)
    return RunSummary(len(samples), count.done - resumed, resumed, count.failed, count.unexpected,
                      writer.before.dropped, spent, hopeless, count.reason)


def out_of_budget(prediction: Prediction) -> bool:
    """Return whether a question has no answer because the model's budget is spent."""
    return prediction.answer.error is ErrorCode.BUDGET


def episode_folder(index: int, sample_id: str) -> str:
    """Return the folder of an episode in the run directory: number (unique) and id (readable)."""
    return f"{EPISODES}/{index:04d}-{file_name(sample_id)}"


def ask(task: QuestionTask, runner: EpisodeRunner, asking: AskSettings) -> Prediction:
    """Run one episode and write its trace; every error becomes part of the prediction."""
    sample = task.sample
    try:
        if task.refusal is not None:
            return Prediction(sample.id, task.refusal, blind=_blind(sample, runner) if asking.blind else None)
        result = runner.run(sample)
        guess = _blind(sample, runner) if asking.blind else None
        prediction = _prediction(task, result, guess, asking)
        dumps(prediction)  # values that cannot be written must fail here, as this question's error
        return prediction
    except EqaError as error:
        return Prediction(sample.id, failure(error), blind=_blind(sample, runner) if asking.blind else None)
    except Exception as error:
        return Prediction(sample.id, failure(error), traceback=traceback.format_exc())


def _refusal(sample: Sample, preflight: Callable[[Sample], object]) -> Answer | None:
    try:
        preflight(sample)
    except EqaError as error:
        return failure(error)
    return None


def _prediction(task: QuestionTask, result: EpisodeResult, blind: Answer | None, asking: AskSettings) -> Prediction:
    if result.sample_id != task.sample.id:
        raise ValueError(f"asked question {task.sample.id!r}, got the answer to {result.sample_id!r}")
    file, note, begin = "", "", begin_of(result.trace) if asking.since_begin else 0
    if result.trace is not None:
        trace = trace_since(result.trace, begin)
        note = ", ".join(f"{count} frames refused by the {who}" for who, count in sorted(trace.refused.items()))
        file = f"{episode_folder(task.place, task.sample.id)}/trace.zip"
        save_trace(asking.out / file, trace)
    bag = "" if result.bag is None else _relative(result.bag, asking.out)
    return Prediction(task.sample.id, answer_since(result.answer, begin), result.final_pose, file, bag, blind=blind,
                      note=note, predicates=result.predicates, counts=result.counts, recalled=result.recalled)


def _blind(sample: Sample, runner: EpisodeRunner) -> Answer:
    """Ask blind; a failure does not affect the episode's answer."""
    try:
        return runner.blind(sample)
    except EqaError as error:
        return failure(error)


def failure(error: Exception) -> Answer:
    """Return the answer of a question that ended in an error; an unexpected exception is INTERNAL."""
    code = error.code if isinstance(error, EqaError) else ErrorCode.INTERNAL
    return Answer(abstained=True, error=code, receipt=paid_until(error), message=f"{type(error).__name__}: {error}")


def _relative(path: Path, out: Path) -> str:
    path, out = path.resolve(), out.resolve()
    return str(path.relative_to(out) if path.is_relative_to(out) else path)


ASKED = "asked"  # name of the data set in the manifest


class KeptRun:
    """Appends episodes to a run directory. Use it with `with`, or call `close`.

    Raises StorageError if another process writes to it or if the directory contains a run of a benchmark.
    """

    def __init__(self, out: Path, model: str = "", detector: str = "") -> None:
        """model, detector: name of the model, and what finds the objects in images, for the manifest; "" = unknown."""
        self.out, self._model, self._detector = out, model, detector
        if (out / MANIFEST).exists() and (held := read_manifest(out).dataset) != ASKED:
            raise StorageError(f"{out} contains a run of {held or 'a benchmark'}: choose a new directory")
        out.mkdir(parents=True, exist_ok=True)
        self._writer = PredictionWriter(out)
        self._samples = read_samples(out / SAMPLES) if (out / SAMPLES).exists() else []
        self._asked = set(self._writer.before.predictions)  # ids that a listing counts

    def keep(self, question: str, place: str, result: EpisodeResult) -> int:
        """Write a finished episode durably, and return its index in a listing of the directory, from 0.

        An episode that cannot be written completely is not listed. Raises StorageError, OSError.
        """
        number = len(self._samples) + 1
        sample = Sample(f"{number:04d}", question, "", scene=place)
        file = f"{episode_folder(number, sample.id)}/trace.zip" if result.trace is not None else ""
        if result.trace is not None:
            save_trace(self.out / file, result.trace)
        samples = [*self._samples, sample]
        write_samples(self.out / SAMPLES, samples)
        state_manifest(self.out, ASKED, samples, self._model, self._detector)
        self._writer.append(Prediction(sample.id, result.answer, result.final_pose, file))
        self._samples = samples
        self._asked.add(sample.id)
        return sum(known.id in self._asked for known in samples) - 1

    def close(self) -> None:
        """Release the directory; a second call does nothing."""
        self._writer.__exit__(None, None, None)

    def __enter__(self) -> KeptRun:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
