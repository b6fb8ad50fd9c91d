"""Runs the pipeline path -> views -> proposal -> evaluator -> refinement -> filters -> record, each step once.

Every paid step is written to steps.jsonl before the next one begins, every record to records.jsonl: after a kill, the
same call on the same folder continues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqa_nodes.bench.readers.records import JsonRecord, load
from eqa_nodes.core.errors import BudgetSpent, ConfigError, ModelError, SimulatorError, UnknownScene
from eqa_nodes.core.memory.embedding import make_embedder
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.storage.codec import decode, read_json, write_json
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.generate.filters import FilterConfig, Filters
from eqa_nodes.generate.journal import Journal, JournalEntry, Paid
from eqa_nodes.generate.roles import Evaluator, Generator
from eqa_nodes.generate.scene_paths import make_path
from eqa_nodes.generate.values import (
    ACCEPTED,
    FAILED,
    REJECTED,
    Benchmark,
    Evaluation,
    QuestionAnswer,
    QuestionAttempt,
    Round,
    ScenePath,
)
from eqa_nodes.generate.vln_episodes import VlnEpisode

RECORDS, REVISED, STEPS, PATHS = "records.jsonl", "revised.jsonl", "steps.jsonl", "ways"
_FAILURES = 3  # consecutive model failures that end a run


@dataclass(frozen=True)
class Job:
    """What to generate. count: accepted questions; tries: attempts for each of them; per_way: attempts for each path.

    rounds: maximum proposals until the evaluator accepts one; elsewhere: views of other parts of the scene. examples:
    pairs shown to the generator instead of the benchmark's. episodes: paths with directions that are used in turn, in
    the order of `seed`, instead of made ones in `scenes`.
    """

    scenes: tuple[str, ...]
    count: int
    seed: int = 0
    per_way: int = 3
    tries: int = 12
    rounds: int = 3
    elsewhere: int = 3
    filters: FilterConfig = FilterConfig()
    examples: tuple[QuestionAnswer, ...] = ()
    episodes: tuple[VlnEpisode, ...] = ()


def read_examples(file: Path) -> tuple[QuestionAnswer, ...]:
    """Read pairs for the generator: a JSON list of objects with question and answer. Raises ConfigError."""
    found = [JsonRecord(item, f"example {i} of {file}") for i, item in enumerate(_listed(file))]
    return tuple(QuestionAnswer(record.text("question"), record.text("answer")) for record in found)


def _listed(file: Path) -> list[object]:
    data = load(file)
    if not isinstance(data, list) or not data:
        raise ConfigError(f"{file} must hold a JSON list of objects with question and answer")
    return data


class Cast(NamedTuple):
    """The roles of a run. usage: of all models together; labels: views have the simulator's labels (privileged)."""

    generator: Generator
    evaluator: Evaluator
    solver: Answerer
    usage: Callable[[], Usage]
    labels: bool = False


class GenerationProgress(NamedTuple):
    """Progress of the run, after each attempt and within one. ended: the record that was just finished."""

    accepted: int
    attempts: int
    spent: Usage
    doing: str = ""
    ended: QuestionAttempt | None = None


class GenerationResult(NamedTuple):
    """How a run ended. stopped: why it stopped early, "" = it did not."""

    records: tuple[QuestionAttempt, ...]
    spent: Usage
    stopped: str


def generate(kind: Benchmark, job: Job, cast: Cast, out: Path,
             progress: Callable[[GenerationProgress], None] = lambda progress: None) -> GenerationResult:
    """Attempt questions until enough are accepted or the tries are used up. A spent budget ends the run cleanly.

    Raises UnknownScene, ConfigError for a scene that the roles do not support, StorageError, and ModelError when the
    model fails repeatedly.
    """
    with closing(Journal(out / STEPS, JournalEntry)) as steps, closing(Journal(out / RECORDS,
                                                                               QuestionAttempt)) as records:
        line = _Line(kind, job, cast, out, Paid(steps, cast.usage), records, progress)
        stopped = line.run()
        return GenerationResult(tuple(line.records.values()), line.paid.spent(), stopped)


def revise(kind: Benchmark, job: Job, cast: Cast, out: Path, flagged: Sequence[QuestionAttempt],
           progress: Callable[[GenerationProgress], None] = lambda progress: None) -> GenerationResult:
    """Propose anew what people flagged: their opinions are the feedback to the generator; evaluator and checks judge as
    before. Records go to REVISED, each question once. Raises as generate.
    """
    with closing(Journal(out / STEPS, JournalEntry)) as steps, closing(Journal(out / REVISED,
                                                                               QuestionAttempt)) as records:
        line = _Line(kind, job, cast, out, Paid(steps, cast.usage), records, progress)
        stopped = line.revise(flagged)
        return GenerationResult(tuple({record.id: record for record in records.entries}.values()), line.paid.spent(),
                                stopped)


def read_records(out: Path, name: str = RECORDS) -> list[QuestionAttempt]:
    """Return the last record of each attempt in a folder. name: RECORDS or REVISED. Raises StorageError."""
    with closing(Journal(out / name, QuestionAttempt)) as lines:
        return list({record.id: record for record in lines.entries}.values())


def read_path(out: Path, number: int) -> ScenePath:
    """Return a stored path. Raises StorageError."""
    return decode(ScenePath, read_json(_path_file(out, number)))


def _path_file(out: Path, number: int) -> Path:
    return out / PATHS / f"{number:04d}.json"


class _Line:
    """One run over a folder."""

    def __init__(self, kind: Benchmark, job: Job, cast: Cast, out: Path, paid: Paid, lines: Journal[QuestionAttempt],
                 progress: Callable[[GenerationProgress], None]) -> None:
        self._kind, self._job, self._cast, self._out, self._lines = kind, job, cast, out, lines
        self.paid, self._progress = paid, progress
        self.records = {record.id: record for record in lines.entries}
        self._filters = Filters(kind, cast.solver, job.filters, make_embedder("auto"), paid, job.seed)
        self._paths: dict[int, ScenePath | str] = {}
        self._attempt = 0
        self._order = np.random.default_rng(job.seed).permutation(len(job.episodes)).tolist()

    def run(self) -> str:
        """Make questions until enough are accepted; return why the run stopped early, "" = it did not."""
        return self._each(takewhile(lambda _: self._accepted() < self._job.count,
                                    range(self._job.count * self._job.tries)), self._make)

    def revise(self, flagged: Sequence[QuestionAttempt]) -> str:
        """Propose anew what people flagged; return why the run stopped early, "" = it did not."""
        self.records = {record.id: record for record in read_records(self._out)} | self.records
        by_number = {int(record.id): record for record in flagged}
        return self._each(by_number, lambda: self._revised(by_number[self._attempt]))

    def _each(self, attempts: Iterable[int], make: Callable[[], QuestionAttempt]) -> str:
        done, failures = {record.id for record in self._lines.entries if record.status != FAILED}, 0
        for attempt in attempts:
            self._attempt = attempt
            if str(attempt) in done:
                continue
            try:
                self._keep(make())
                failures = 0
            except BudgetSpent as error:
                return str(error)
            except ModelError as error:
                self._keep(self._ended(FAILED, reason=str(error)))
                failures += 1
                if failures == _FAILURES:
                    raise
        return ""

    def _revised(self, flagged: QuestionAttempt) -> QuestionAttempt:
        said = "; ".join(f"{name}: {opinion}" for name, opinion in (flagged.reviews or {}).items())
        *before, (pair, verdict) = flagged.rounds
        rejected = Round(pair, verdict._replace(feedback=f"{flagged.reason}: {said}"))
        attempt = QuestionAttempt(flagged.id, flagged.scene, flagged.way, flagged.category, REJECTED,
                                  rounds=(*before, rejected), reason="nothing else to ask about")
        return self._in_categories(read_path(self._out, flagged.way), attempt)

    def _keep(self, record: QuestionAttempt) -> None:
        self.records[record.id] = record
        self._lines.append(record)
        self._say(ended=record)

    def _make(self) -> QuestionAttempt:
        path = self._path(self._attempt // self._job.per_way)
        if isinstance(path, str):
            return self._ended(REJECTED, reason=path)
        return self._in_categories(path, self._ended(REJECTED, reason="nothing to ask about"))

    def _in_categories(self, path: ScenePath, record: QuestionAttempt) -> QuestionAttempt:
        """Propose in the record's category, and in the next ones where it has nothing; return the last proposal."""
        names, most = list(self._kind.categories), len(record.rounds) + self._job.rounds
        first = names.index(record.category)
        for category in names[first:] + names[:first]:
            record = self._refined(path, replace(record, category=category), most - len(record.rounds)) or record
            if record.status == ACCEPTED:
                break
        return record

    def _refined(self, path: ScenePath, attempt: QuestionAttempt, rounds: int) -> QuestionAttempt | None:
        """Let the generator propose until evaluator and checks accept, at most `rounds` times; return the last proposal
        with its history, None if there was none. attempt: its rounds are proposals that were rejected before.
        """
        record = None
        for _ in range(rounds):
            pair = self._proposed(path, attempt)
            if pair is None:
                break
            verdict = self._evaluated(path, attempt, pair)
            record = self._judged(path, attempt, pair, verdict)
            if record.status == ACCEPTED:
                break
            attempt = replace(attempt, rounds=record.rounds)
        return record

    def _judged(self, path: ScenePath, attempt: QuestionAttempt, pair: QuestionAnswer,
                verdict: Evaluation) -> QuestionAttempt:
        """Return a proposal with its verdict and, if the evaluator is content, the checks. What a failed check found is
        the feedback to the generator.
        """
        if not verdict.accepts(self._job.filters.least):
            return replace(attempt, pair=pair, rounds=(*attempt.rounds, Round(pair, verdict)),
                           reason=f"the evaluator was not content: {_lowest(verdict)}")
        self._say("filters")
        others = [r.pair for r in self.records.values() if r.status == ACCEPTED and r.scene == path.scene and r.pair
                  and r.id != attempt.id]
        outcome = self._filters.check(_key(attempt), path, pair, others)
        reason = f"{failed.name}: {failed.note}" if (failed := outcome.failed) else ""
        if failed:
            verdict = verdict._replace(feedback=reason)
        return replace(attempt, status=REJECTED if failed else ACCEPTED, pair=pair, reason=reason,
                       rounds=(*attempt.rounds, Round(pair, verdict)), checks=outcome.checks,
                       viewpoints=outcome.viewpoints.views or (0,), further=outcome.viewpoints.further)

    def _proposed(self, path: ScenePath, attempt: QuestionAttempt) -> QuestionAnswer | None:
        self._say(f"{attempt.category}: proposal {len(attempt.rounds) + 1}")
        known = [done.pair.question for r in self.records.values() for done in r.rounds if r.scene == path.scene
                 and (r.status == ACCEPTED or r.way == path.number)]  # what failed on one path may do on another
        return self.paid.once(f"{_key(attempt)}/propose", QuestionAnswer | None, lambda: self._cast.generator.propose(
            path, attempt.category, attempt.rounds, known, self._job.seed))

    def _evaluated(self, path: ScenePath, attempt: QuestionAttempt, pair: QuestionAnswer) -> Evaluation:
        self._say(f"{attempt.category}: evaluation {len(attempt.rounds) + 1}")
        return self.paid.once(f"{_key(attempt)}/evaluate", Evaluation, lambda: self._cast.evaluator.evaluate(
            path, attempt.category, pair, self._job.seed))

    def _path(self, number: int) -> ScenePath | str:
        """Return a path, planned or read from the folder, or why there is none."""
        if number not in self._paths:
            self._paths = {number: self._made_path(number)}  # one at a time: paths contain images
        return self._paths[number]

    def _made_path(self, number: int) -> ScenePath | str:
        if _path_file(self._out, number).exists():
            return read_path(self._out, number)
        self._say(f"way {number}")
        try:
            path = make_path(self._kind, self._scene(number), self._job.seed + number, number, self._job.elsewhere,
                             self._cast.labels, self._episode(number))
        except UnknownScene:
            raise
        except SimulatorError as error:
            return f"no way: {error}"
        if self._kind.instructed and not path.instruction:
            path = replace(path, instruction=self.paid.once(f"way/{number}/instruct", str, lambda:
                                                            self._cast.generator.instruct(path, self._job.seed)))
        write_json(_path_file(self._out, number), path)
        return path

    def _scene(self, number: int) -> str:
        episode = self._episode(number)
        return self._job.scenes[number % len(self._job.scenes)] if episode is None else episode.scene

    def _episode(self, number: int) -> VlnEpisode | None:
        """Return the episode of a path, None if paths are made."""
        every = self._job.episodes
        return every[self._order[number % len(every)]] if every else None

    def _ended(self, status: str, reason: str = "") -> QuestionAttempt:
        number, names = self._attempt // self._job.per_way, list(self._kind.categories)
        return QuestionAttempt(str(self._attempt), self._scene(number), number, names[self._attempt % len(names)],
                               status, reason=reason)

    def _accepted(self) -> int:
        return Counter(record.status for record in self.records.values())[ACCEPTED]

    def _say(self, doing: str = "", ended: QuestionAttempt | None = None) -> None:
        self._progress(GenerationProgress(self._accepted(), self._attempt + bool(ended), self.paid.spent(), doing,
                                          ended))


def _key(attempt: QuestionAttempt) -> str:
    """Return the prefix of the journal's steps about the next proposal of an attempt."""
    return f"{attempt.id}/{attempt.category}/{len(attempt.rounds)}"


def _lowest(verdict: Evaluation) -> str:
    name = min(verdict.scores, key=lambda criterion: verdict.scores[criterion])
    return f"{name} {verdict.scores[name]:.2f}. {verdict.feedback}".strip()
