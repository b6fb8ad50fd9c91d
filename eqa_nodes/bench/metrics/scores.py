"""Pass 2: marks every prediction, applies the formulas, and writes score files, without the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.bench.judges.base import GivenMarks, Judge
from eqa_nodes.bench.metrics import formulas as metrics
from eqa_nodes.bench.metrics.formulas import MeanInterval
from eqa_nodes.bench.metrics.question_score import QuestionScore, SceneFacts, question_score
from eqa_nodes.bench.metrics.values import BOUNDED, FAILED, LEAVE_OUT, METRICS, value_of
from eqa_nodes.bench.running.manifest import finish_manifest
from eqa_nodes.bench.running.predictions import Prediction, read_predictions
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.core.errors import ConfigError, ErrorCode, StorageError, unknown
from eqa_nodes.core.storage.codec import decode, read_json, write_json
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import Sample

SCORES = "scores.json"
RESAMPLES = 2000


@dataclass(frozen=True)
class Row:
    """All questions, or those of a category. Counts: answered + abstained + failed + missing = questions.

    unreachable: questions with a target that no path leads to; unreachable_abstained: those of them that abstained.
    """

    name: str
    questions: int
    answered: int
    abstained: int
    failed: int
    missing: int
    unscored: int
    metrics: Mapping[str, MeanInterval]
    unreachable: int = 0
    unreachable_abstained: int = 0


@dataclass(frozen=True)
class Scores:
    """Content of scores.json: metrics are means over questions. seed: of the bootstrap; failed: as in score_run."""

    dataset: str
    judge: str
    judge_sha256: str
    seed: int
    privileged: tuple[str, ...]
    rows: tuple[Row, ...]
    questions: tuple[QuestionScore, ...]
    failed: str = LEAVE_OUT
    confidence: str = ""


def score_run(out: Path, judge: Judge, facts: SceneFacts | None = None, *, seed: int = 0, failed: str = LEAVE_OUT,
              blind: Judge | None = None, confidence: Judge | None = None) -> Scores:
    """Score a run directory and write scores.json, predictions.json and openeqa_scores.json into it.

    failed: one of values.FAILED; unless they are left out, questions without a prediction count as failed, too, and so
    do those that GivenMarks lack, because published scorers do not mark absent answers. blind: judge of the blind
    answers, also if the run has none. confidence: judge that gives ACE and WCE from the final view (ViewConfidence);
    None = the agent's stated confidence. Raises ConfigError for another value of `failed`, StorageError if the
    directory contains no readable run. If a judge raises, its question is unscored.
    """
    if failed not in FAILED:
        raise ConfigError(unknown("way to count failed questions", failed, FAILED))
    samples, predictions = read_samples(out / SAMPLES), read_predictions(out).predictions
    known = {s.id for s in samples}
    strangers = sorted(predictions.keys() - known)
    if strangers:
        raise StorageError(f"{out} has predictions of questions that it did not ask: {', '.join(strangers[:3])}")
    if failed != LEAVE_OUT:
        counted = [name for name in predictions if not isinstance(judge, GivenMarks) or name in judge]
        predictions = {s.id: _absent(s.id) for s in samples} | {name: predictions[name] for name in counted}
    asked = [s for s in samples if s.id in predictions]
    scored = {s.id: question_score(s, predictions[s.id], judge, facts, out, blind, confidence)
              for s in sorted(asked, key=_scene)}
    questions = [scored[s.id] for s in asked]
    manifest = finish_manifest(out, judge=judge.name, judge_sha256=judge.version)
    scores = Scores(manifest.dataset, judge.name, judge.version, seed, _privileged(questions),
                    tuple(_rows(samples, questions, seed, failed)), tuple(questions), failed, "" if confidence is
                    None else confidence.name)
    write_json(out / SCORES, scores)
    _write_openeqa(out, predictions, questions)
    return scores


def _scene(sample: Sample) -> str:
    """Return the sort key that groups questions by scene, so that each scene is opened once."""
    return sample.scene


def read_scores(out: Path) -> Scores:
    """Read scores.json. Raises StorageError."""
    return decode(Scores, read_json(out / SCORES))


def _absent(name: str) -> Prediction:
    """Return a failed prediction for a question that has none."""
    return Prediction(name, Answer(abstained=True, error=ErrorCode.INTERNAL, message="there is no prediction or mark"))


def _rows(samples: Sequence[Sample], questions: Sequence[QuestionScore], seed: int, failed: str) -> list[Row]:
    categories = sorted({s.category for s in samples if s.category})
    rows = [_row("all", len(samples), questions, seed, failed)]
    for category in categories if len(categories) > 1 else []:
        asked = sum(s.category == category for s in samples)
        rows.append(_row(category, asked, [q for q in questions if q.category == category], seed, failed))
    return rows


def _row(name: str, asked: int, questions: Sequence[QuestionScore], seed: int, failed: str) -> Row:
    def count(status: str) -> int:
        return sum(q.status == status for q in questions)

    unreachable = [q for q in questions if q.reachable is False]
    unscored = sum(q.unscored for q in questions)
    values = {m: [value_of(q, m, failed) for q in questions] for m in (*METRICS, "openeqa_c_failed_lowest")}
    means = {m: metrics.summary(v, seed, RESAMPLES, share=m in BOUNDED) for m, v in values.items()}
    means["gain_over_blind"] = metrics.paired_difference(values["openeqa_c"], values["blind_c"], seed, RESAMPLES,
                                                         share=True)
    return Row(name, asked, count("answered"), count("abstained"), count("failed"), asked - len(questions), unscored,
               means, len(unreachable), sum(q.status == "abstained" for q in unreachable))


def _privileged(questions: Sequence[QuestionScore]) -> tuple[str, ...]:
    return tuple(sorted({component for q in questions for component in q.privileged}))


def _write_openeqa(out: Path, predictions: Mapping[str, Prediction], questions: Sequence[QuestionScore]) -> None:
    """Write OpenEQA's own two files: failed questions are absent from both; the answer of an abstention is null."""
    done = [q for q in questions if q.status != "failed"]
    texts = {q.id: None if q.status == "abstained" else predictions[q.id].answer.text for q in done}
    write_json(out / "predictions.json", [{"question_id": name, "answer": text} for name, text in texts.items()])
    write_json(out / "openeqa_scores.json", {q.id: q.sigma for q in done if q.sigma is not None})
