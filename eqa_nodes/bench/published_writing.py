"""Exports a scored run in the result formats of other projects, for their scorers.

3d-mem: gpt_answer.json and path_length_list.pkl, which Pred-EQA also writes for A-EQA. express: results.pkl of
EXPRESS-Bench with marks. Pickles contain only numbers and texts.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from eqa_nodes.bench.metrics.compare import ScoredRun
from eqa_nodes.bench.metrics.question_score import QuestionScore
from eqa_nodes.bench.running.predictions import Prediction, read_predictions
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.storage.codec import write_bytes, write_json
from eqa_nodes.core.types.geometry import position_to_habitat
from eqa_nodes.core.types.samples import ACTIVE, Sample


class Written(NamedTuple):
    """files: the written files; left_out: ids of questions that the format cannot represent."""

    files: tuple[Path, ...]
    left_out: tuple[str, ...]


class _Asked(NamedTuple):
    """A question of a run. place: index in the data set's file, from 0."""

    place: int
    sample: Sample
    score: QuestionScore
    prediction: Prediction

    @property
    def text(self) -> str | None:
        """Return the answer, None for "I don't know"."""
        return None if self.score.status == "abstained" else self.prediction.answer.text


def write_form(run: Path, folder: Path, form: str) -> Written:
    """Write a scored run in a format (FORMS). A failed question is absent, an abstention is null.

    Raises ConfigError for an unknown format, for a run without paths, or without questions that the format can
    represent; StorageError for a run that is not scored.
    """
    if form not in FORMS:
        raise ConfigError(unknown("form of results", form, FORMS))
    scored, predictions = ScoredRun(run), read_predictions(run).predictions
    if scored.manifest.task != ACTIVE:
        raise ConfigError(f"{run} is a run of the task {scored.manifest.task}, which has no paths: its "
                          "predictions.json and openeqa_scores.json are in OpenEQA's forms")
    asked = [_Asked(index, sample, scored.questions[name], predictions[name])
             for index, (name, sample) in enumerate(scored.samples.items()) if name in scored.questions]
    folder.mkdir(parents=True, exist_ok=True)
    held = FORMS[form](folder, asked)
    if not held:
        raise ConfigError(f"no question of {run} can be written in the form {form}: score it with a judge that gives "
                          "groundings, such as --judge eac")
    names = {question.sample.id for question in held}
    return Written(tuple(sorted(folder.iterdir())), tuple(q.sample.id for q in asked if q.sample.id not in names))


def _answers(folder: Path, asked: list[_Asked]) -> list[_Asked]:
    """Write answers and path lengths."""
    done = [q for q in asked if q.score.status != "failed"]
    write_json(folder / "gpt_answer.json", [{"question_id": q.sample.id, "answer": q.text} for q in done])
    _pickled(folder / "path_length_list.pkl", {q.sample.id: q.score.metres for q in done})
    return done


def _end(q: _Asked) -> list[float] | None:
    """Return the robot's last position in Habitat's axes."""
    end = q.prediction.final_pose
    return None if end is None else [float(value) for value in position_to_habitat(
        (end.x, end.y, q.sample.start_height_m or 0.0))]


def _express(folder: Path, asked: list[_Asked]) -> list[_Asked]:
    """Write the questions that have a mark and a grounding, and those that failed with an infinite path."""
    held = [q for q in asked if _eac(q.score)]
    if held:
        _pickled(folder / "results.pkl", [dict(_result(q)) for q in held])
    return held


def _eac(score: QuestionScore) -> str:
    """Return the equivalent reply of a judge of EXPRESS-Bench, "" if its format cannot represent the mark."""
    if score.status == "failed":
        return "Your mark: 0, 1"
    if score.sigma is None or score.delta is None or score.sigma != int(score.sigma):
        return ""
    return f"Your mark: {score.delta:g}, {int(score.sigma)}"


def _result(q: _Asked) -> Iterator[tuple[str, Any]]:
    failed = q.score.status == "failed"
    yield from (("question_ind", q.place), ("scene", q.sample.scene.rpartition("/")[2]), ("type", q.sample.category),
                ("question", q.sample.question), ("answer", q.sample.answer),
                ("geodesic_distance", q.sample.reference_metres or 0.0), ("cnt_step", q.score.steps),
                ("gen_answer", q.text or ""), ("EAC", _eac(q.score)), ("end_pts", _end(q)),
                ("goal_dis", math.inf if q.score.final_m is None else q.score.final_m),
                ("path_len", math.inf if failed else q.score.metres))


def _pickled(path: Path, value: object) -> None:
    write_bytes(path, pickle.dumps(value, protocol=4))


FORMS: dict[str, Callable[[Path, list[_Asked]], list[_Asked]]] = {"3d-mem": _answers, "express": _express}
