"""Imports published results of other projects as a run: their answers, marks and path lengths, to be scored again.

Formats: OpenEQA's predictions, [{question_id, answer}], and metrics, {question_id: mark}; a result folder of 3D-Mem:
gpt_answer.json and path_length_list.pkl, or their parts gpt_answer_0.0_0.5.json ...; lengths of reference paths,
{question_id: metres} (gt_path_length.json); results.pkl of EXPRESS-Bench and trajectories of EmbodiedEval. All are read
as data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from eqa_nodes.bench.judges.base import JudgeMark
from eqa_nodes.bench.judges.official import read_official_eac
from eqa_nodes.bench.metrics.task_totals import NO_MATCH, OUT_OF_RANGE
from eqa_nodes.bench.readers.records import JsonRecord, load
from eqa_nodes.bench.running.manifest import begin_manifest, finish_manifest, utc_now
from eqa_nodes.bench.running.predictions import Prediction, PredictionWriter
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import check_samples, write_samples
from eqa_nodes.core.errors import ConfigError, EqaError
from eqa_nodes.core.storage.codec import loads
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import Sample, TaskCounts
from eqa_nodes.recordings.formats.agent_state import load_plain, pickled_number

MOST_BYTES = 200_000_000
_EXPRESS_FIELDS = ("question_ind", "question", "gen_answer", "EAC", "path_len", "goal_dis", "geodesic_distance")
_TRAJECTORY = re.compile(r"traj(\d+)", re.ASCII)
_STEP = re.compile(r"(\d+)a\.json", re.ASCII)


@dataclass(frozen=True)
class PublishedRun:
    """Published results by question id. answers: None = no answer. Empty mappings: not published.

    metres: path lengths; marks: marks in the results; target_m: distance from the last position to the target, metres,
    if a path leads there; reference_m: lengths of reference paths; steps: number of steps of a task, with its
    predicates, whether it was done, and the counts of its interactions, as in Prediction.
    """

    answers: Mapping[str, str | None] = field(default_factory=dict)
    metres: Mapping[str, float] = field(default_factory=dict)
    marks: Mapping[str, JudgeMark] = field(default_factory=dict)
    target_m: Mapping[str, float] = field(default_factory=dict)
    reference_m: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)
    predicates: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    succeeded: Mapping[str, bool] = field(default_factory=dict)
    counts: Mapping[str, TaskCounts] = field(default_factory=dict)

    def endless(self, name: str) -> bool:
        """Return whether an answer has no path length while others have one: 3D-Mem's scorer counts it as infinite."""
        return bool(self.metres) and name not in self.metres


def read_express(path: Path, samples: Sequence[Sample]) -> PublishedRun:
    """Read EXPRESS-Bench's results.pkl, in which question_ind is an index into its data file.

    As in its scorer, an infinite path excludes the question from C, C* and E_path (its mark is unscored here), and an
    infinite distance excludes it from d_T. Raises ConfigError for a file of another format or of other questions.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        data = load_plain(path.read_bytes(), path)
        if not isinstance(data, list) or not all(isinstance(result, dict) for result in data):
            raise ValueError("it must hold a list of results")
        rows = [_express_row(result, samples) for result in data]
        if len({row.id for row in rows}) != len(rows):
            raise ValueError("it contains a question twice")
    except (OSError, ValueError, TypeError, EqaError) as error:
        raise ConfigError(f"{path} cannot be read as results of EXPRESS-Bench: {error}") from error
    return PublishedRun({r.id: r.answer for r in rows}, {r.id: r.metres for r in rows if math.isfinite(r.metres)},
                        {r.id: r.mark for r in rows}, {r.id: r.target_m for r in rows if math.isfinite(r.target_m)},
                        {r.id: r.reference_m for r in rows})


class _ExpressRow(NamedTuple):
    id: str
    answer: str
    mark: JudgeMark
    metres: float
    target_m: float
    reference_m: float


def _express_row(result: Mapping[str, Any], samples: Sequence[Sample]) -> _ExpressRow:
    if missing := [name for name in _EXPRESS_FIELDS if name not in result]:
        raise ValueError(f"a result has no {missing[0]!r}")
    index, asked, answer, eac, *lengths = (result[name] for name in _EXPRESS_FIELDS)
    if type(index) is not int or not 0 <= index < len(samples):
        raise ValueError(f"question_ind {index!r:.40} is not one of the data set's {len(samples)} questions")
    sample = samples[index]
    if asked != sample.question:
        raise ValueError(f"question {sample.id} is {asked!r:.60} there and {sample.question!r:.60} in the data set: "
                         "name the data file that was asked")
    if not isinstance(answer, str) or not isinstance(eac, str):
        raise ValueError(f"gen_answer and EAC of question {sample.id} must be texts")
    metres, target_m, reference_m = map(pickled_number, lengths)
    if not (metres >= 0 and target_m >= 0 and reference_m >= 0):
        raise ValueError(f"a length of question {sample.id} is negative or not a number")
    try:
        mark = (JudgeMark(*read_official_eac(eac)) if math.isfinite(metres) else
                JudgeMark(None, None, "its path is infinite"))
    except ValueError as error:
        mark = JudgeMark(None, None, f"the official parser refuses {eac[:60]!r}: {error}")
    return _ExpressRow(sample.id, answer, mark, metres, target_m, reference_m)


def is_trajectories(folder: Path) -> bool:
    """Return whether a folder contains results of EmbodiedEval: trajNNNN folders."""
    return any(_TRAJECTORY.fullmatch(each.name) and each.is_dir() for each in folder.iterdir())


def read_trajectories(folder: Path) -> PublishedRun:
    """Read EmbodiedEval's trajNNNN/ with task.json and one NNNNa.json per step, or traj.json. Raises ConfigError.

    The state after the last step counts. `done_after_action` decides whether the task is done, even if it contradicts
    the predicates (an episode that ended in an error keeps an older list), and is the state of a single predicate;
    that of several is `predicates_done`.
    """
    answers: dict[str, str | None] = {}
    steps: dict[str, int] = {}
    predicates: dict[str, tuple[bool, ...]] = {}
    succeeded: dict[str, bool] = {}
    counts: dict[str, TaskCounts] = {}
    for each in sorted(folder.iterdir()):
        if not (named := _TRAJECTORY.fullmatch(each.name)) or not each.is_dir():
            continue
        name, logs = f"{int(named[1]):04d}", _logs(each)
        last = logs[-1]
        task = JsonRecord(load(each / "task.json"), f"{each}/task.json")
        of = JsonRecord(JsonRecord(task.get("scene"), f"{each}/task.json: scene").get("task_instance"),
                        f"{each}/task.json: task_instance").get("predicates")
        done = [last.get("done_after_action")] if len(of) == 1 else last.get("predicates_done")
        if not isinstance(done, list) or not done or any(value not in (-1, 0, 1) for value in done):
            last.refuse("predicates_done", f"must hold 1, 0 or -1 for each predicate, got {done!r:.60}")
        answers[name] = last.text("action") if "action" in last else ""
        steps[name], predicates[name] = len(logs), tuple(value == 1 for value in done)
        succeeded[name], counts[name] = last.get("done_after_action") == 1, _counts(logs)
    return PublishedRun(answers, steps=steps, predicates=predicates, succeeded=succeeded, counts=counts)


def _counts(logs: Sequence[JsonRecord]) -> TaskCounts:
    """Return the counts of a trajectory: steps with feedback are interactions, and all but "failed" succeeded."""
    feedback = [said for log in logs if (said := log.data.get("feedback"))]
    ended = [_unusable(log) for log in logs]
    return TaskCounts(len(feedback), sum(said != "failed" for said in feedback), sum(map(bool, ended)), ended[-1])


def _unusable(log: JsonRecord) -> str:
    """Return the error of a reply that named no option, "" if it named one."""
    choice, error = log.data.get("action_choice", 0), log.data.get("action_error")
    if choice == -1 or error == NO_MATCH:
        return NO_MATCH
    if choice == -2 or error == OUT_OF_RANGE:
        return OUT_OF_RANGE
    return "api_crash" if choice is None or error == "api_crash" else ""


def read_steps(folder: Path) -> dict[str, int]:
    """Read the number of steps of each trajectory in a folder, e.g. of people (L of SPL). Raises ConfigError."""
    return {f"{int(named[1]):04d}": len(_logs(each)) for each in sorted(folder.iterdir())
            if (named := _TRAJECTORY.fullmatch(each.name)) and each.is_dir()}


def _logs(folder: Path) -> list[JsonRecord]:
    """Return the steps of a trajectory in order."""
    whole = folder / "traj.json"
    if whole.is_file():
        data = load(whole)
    else:
        files = sorted((int(named[1]), each) for each in folder.iterdir() if (named := _STEP.fullmatch(each.name)))
        data = [load(file) for _, file in files]
    if not isinstance(data, list) or not data:
        raise ConfigError(f"{folder} has no steps: it must hold traj.json, or NNNNa.json for each step")
    return [JsonRecord(step, f"{folder}: step {number}") for number, step in enumerate(data)]


_ANSWERS, _PATHS = "gpt_answer", "path_length_list"  # names of 3D-Mem's files, without parts and endings
_RESULTS = "results.pkl"  # EXPRESS-Bench's


def read_published(path: Path, samples: Sequence[Sample] = ()) -> PublishedRun:
    """Read a file of predictions or a result folder. samples: all questions in order, for EXPRESS-Bench's indices.

    Raises ConfigError that names the file and the fault.
    """
    if path.suffix == ".pkl":
        return read_express(path, samples)
    if not path.is_dir():
        return PublishedRun(_answers(path))
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
    return PublishedRun(found, metres)


def read_lengths(path: Path) -> dict[str, float]:
    """Read reference lengths by question id: metres from a file, steps from a folder of trajectories.

    Raises ConfigError.
    """
    return {name: float(steps) for name, steps in read_steps(path).items()} if path.is_dir() else read_numbers(path)


def read_numbers(path: Path) -> dict[str, float]:
    """Read {question id: number} from JSON or a pickle, which is parsed as data only. Raises ConfigError."""
    data = _parsed(path, lambda raw: load_plain(raw, path)) if path.suffix == ".pkl" else _parsed(path, loads)
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold {{question id: number}}, not {data!r:.60}")
    for name, value in data.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ConfigError(f"{path}: question {name!r} must have a finite number, not {value!r:.60}")
    return {str(name): float(value) for name, value in data.items()}


def write_run(out: Path, dataset: str, samples: Sequence[Sample], published: PublishedRun,
              lengths: Mapping[str, float], source: str) -> list[str]:
    """Write a run directory with the published results; return the ids of questions without an answer.

    lengths: lengths of the reference paths, metres, instead of the data set's. source: origin of the answers.
    Steps are only published for tasks, and metres only with path lengths; metrics that need them have no value. If only
    some answers lack a length, their paths are infinite: Pred-EQA writes no lengths for episodes that ended without a
    choice. Raises ConfigError for ids that the data set lacks, or a directory that contains another run.
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
    """Return the sample with the reference lengths that the published paths are compared with."""
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
                      succeeded=published.succeeded.get(name), endless=published.endless(name),
                      counts=published.counts.get(name))


def _parts(folder: Path, name: str, ending: str) -> list[Path]:
    """Return the file of a name, or its parts if they were never merged."""
    whole = folder / f"{name}{ending}"
    return [whole] if whole.is_file() else sorted(folder.glob(f"{name}_*{ending}"))


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
        found[name] = text or None  # 3D-Mem's scorer ignores empty texts, too
    return found


def _parsed(path: Path, parse: Callable[[bytes], Any]) -> Any:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        return parse(path.read_bytes())
    except (OSError, ValueError, EqaError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
