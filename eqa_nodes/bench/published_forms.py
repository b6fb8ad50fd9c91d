"""Result files of EXPRESS-Bench (results.pkl; Pred-EQA's, too) and EmbodiedEval (trajectories), read as data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eqa_nodes.bench.judges.base import JudgeMark
from eqa_nodes.bench.judges.official import read_official_eac
from eqa_nodes.bench.readers.records import JsonRecord, load
from eqa_nodes.core.errors import ConfigError, EqaError
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.recordings.formats.agent_state import pickled_number
from eqa_nodes.recordings.formats.plain_pickle import load_plain

MOST_BYTES = 200_000_000
_EXPRESS_FIELDS = ("question", "gen_answer", "EAC", "path_len", "goal_dis", "geodesic_distance")
_TRAJECTORY = re.compile(r"traj(\d+)", re.ASCII)
_STEP = re.compile(r"(\d+)a\.json", re.ASCII)


@dataclass(frozen=True)
class PublishedRun:
    """What was published, by question id. answers: None = no answer. Empty mappings: it was not published.

    metres: path lengths; marks: given by the results themselves; target_m: distance from the last position to the
    target in metres, where a path leads there; reference_m: lengths of reference paths; steps: of a task, with its
    predicates and whether it was done, as Prediction has them.
    """

    answers: Mapping[str, str | None] = field(default_factory=dict)
    metres: Mapping[str, float] = field(default_factory=dict)
    marks: Mapping[str, JudgeMark] = field(default_factory=dict)
    target_m: Mapping[str, float] = field(default_factory=dict)
    reference_m: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)
    predicates: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    succeeded: Mapping[str, bool] = field(default_factory=dict)

    def endless(self, name: str) -> bool:
        """Return whether an answer alone has no path length: its path is infinite, as 3D-Mem's scorer counts it."""
        return bool(self.metres) and name not in self.metres


def read_express(path: Path, samples: Sequence[Sample]) -> PublishedRun:
    """Read EXPRESS-Bench's results.pkl: question_ind counts the questions of its data file.

    As in its scorer an infinite path takes the question out of C, C* and E_path (its mark is unscored here), and an
    infinite distance out of d_T. Raises ConfigError for a file of another form, or one of other questions.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        data = load_plain(path.read_bytes(), path)
        if not isinstance(data, list) or not all(isinstance(result, dict) for result in data):
            raise ValueError("it must hold a list of results")
        return _of_rows([_express_row(result, _counted(result, samples)) for result in data])
    except (OSError, ValueError, TypeError, EqaError) as error:
        raise ConfigError(f"{path} cannot be read as results of EXPRESS-Bench: {error}") from error


def read_evaluated(path: Path, samples: Sequence[Sample]) -> PublishedRun:
    """Read what Pred-EQA writes of EXPRESS-Bench, express_bench_evaluation_results.json: results by question id.

    As in its scorer results without an `accuracy_score` count nowhere. Raises ConfigError as read_express.
    """
    known = {sample.id: sample for sample in samples}
    try:
        return _of_rows([_express_row(result, _named(result, known)) for result in load(path)
                         if "accuracy_score" in result])
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path} cannot be read as results of Pred-EQA on EXPRESS-Bench: {error}") from error


def _of_rows(rows: Sequence[_ExpressRow]) -> PublishedRun:
    if len({row.id for row in rows}) != len(rows):
        raise ValueError("it holds a question twice")
    return PublishedRun({r.id: r.answer for r in rows}, {r.id: r.metres for r in rows if math.isfinite(r.metres)},
                     {r.id: r.mark for r in rows}, {r.id: r.target_m for r in rows if math.isfinite(r.target_m)},
                     {r.id: r.reference_m for r in rows})


@dataclass(frozen=True)
class _ExpressRow:
    id: str
    answer: str
    mark: JudgeMark
    metres: float
    target_m: float
    reference_m: float


def _counted(result: Mapping[str, Any], samples: Sequence[Sample]) -> Sample:
    index = _field(result, "question_ind")
    if type(index) is not int or not 0 <= index < len(samples):
        raise ValueError(f"question_ind {index!r:.40} is none of the data set's {len(samples)} questions")
    return samples[index]


def _named(result: Mapping[str, Any], samples: Mapping[str, Sample]) -> Sample:
    name = str(_field(result, "question_id"))
    if name not in samples:
        raise ValueError(f"question_id {name!r:.40} is none of the data set's {len(samples)} questions")
    return samples[name]


def _field(result: Mapping[str, Any], name: str) -> Any:
    if name not in result:
        raise ValueError(f"a result has no {name!r}")
    return result[name]


def _express_row(result: Mapping[str, Any], sample: Sample) -> _ExpressRow:
    asked, answer, eac, *lengths = (_field(result, name) for name in _EXPRESS_FIELDS)
    if asked != sample.question:
        raise ValueError(f"question {sample.id} is {asked!r:.60} there and {sample.question!r:.60} in the data set: "
                         "name the data file that was asked")
    if not isinstance(answer, str) or not isinstance(eac, str):
        raise ValueError(f"gen_answer and EAC of question {sample.id} must be texts")
    metres, target_m, reference_m = map(pickled_number, lengths)
    if not (metres >= 0 and target_m >= 0 and reference_m >= 0):
        raise ValueError(f"a length of question {sample.id} is negative or no number")
    try:
        mark = (JudgeMark(*read_official_eac(eac)) if math.isfinite(metres) else
                JudgeMark(None, None, "its path is infinite"))
    except ValueError as error:
        mark = JudgeMark(None, None, f"the official parser refuses {eac[:60]!r}: {error}")
    return _ExpressRow(sample.id, answer, mark, metres, target_m, reference_m)


def is_trajectories(folder: Path) -> bool:
    """Say whether a folder holds results of EmbodiedEval: trajNNNN folders."""
    return any(_TRAJECTORY.fullmatch(each.name) and each.is_dir() for each in folder.iterdir())


def read_trajectories(folder: Path) -> PublishedRun:
    """Read EmbodiedEval's trajNNNN/ with task.json and NNNNa.json a step, or traj.json. Raises ConfigError.

    The state after the last step counts. `done_after_action` says whether the task is done, also where the predicates
    say otherwise (an episode that an error ends keeps an older list), and is the state of a single predicate; that of
    several is `predicates_done`.
    """
    answers: dict[str, str | None] = {}
    steps: dict[str, int] = {}
    predicates: dict[str, tuple[bool, ...]] = {}
    succeeded: dict[str, bool] = {}
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
        succeeded[name] = last.get("done_after_action") == 1
    return PublishedRun(answers, steps=steps, predicates=predicates, succeeded=succeeded)


def read_steps(folder: Path) -> dict[str, int]:
    """Read how many steps each trajectory of a folder has, such as those of people: L of SPL. Raises ConfigError."""
    return {f"{int(named[1]):04d}": len(_logs(each)) for each in sorted(folder.iterdir())
            if (named := _TRAJECTORY.fullmatch(each.name)) and each.is_dir()}


def _logs(folder: Path) -> list[JsonRecord]:
    """Return the steps of a trajectory in their order."""
    whole = folder / "traj.json"
    if whole.is_file():
        data = load(whole)
    else:
        files = sorted((int(named[1]), each) for each in folder.iterdir() if (named := _STEP.fullmatch(each.name)))
        data = [load(file) for _, file in files]
    if not isinstance(data, list) or not data:
        raise ConfigError(f"{folder} has no steps: it must hold traj.json, or NNNNa.json for each step")
    return [JsonRecord(step, f"{folder}: step {number}") for number, step in enumerate(data)]
