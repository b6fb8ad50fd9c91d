"""Pass 2: mark every prediction, apply the formulas, and write score files. Asks nothing again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from eqa_nodes.bench import metrics
from eqa_nodes.bench.judges import Judge, Mark
from eqa_nodes.bench.manifest import finish_manifest
from eqa_nodes.bench.metrics import Summary
from eqa_nodes.bench.predictions import Prediction, read_predictions
from eqa_nodes.bench.runner import SAMPLES
from eqa_nodes.bench.samples import Sample, read_samples
from eqa_nodes.bench.traces import load_trace
from eqa_nodes.core.codec import decode, read_json, write_json
from eqa_nodes.core.errors import EqaError, StorageError
from eqa_nodes.core.geometry import Pose2
from eqa_nodes.core.types import Answer

SCORES = "scores.json"
RESAMPLES = 2000
Point = tuple[float, ...]  # x, y, and the height of the floor where a dataset names it; metres


class Facts(Protocol):
    """What only the scorer may know of a scene. Raises EqaError."""

    def geodesic(self, scene: str, a: Point, b: Point) -> float:
        """Return the shortest drivable distance in metres, inf = no way."""

    def grounding(self, scene: str, targets: Sequence[int], pose: Pose2) -> float | None:
        """Return the grounding mark of the view from a pose: 0, 0.5, 1, or None where it cannot be told."""


@dataclass(frozen=True)
class QuestionScore:
    """One question: its marks (None = unscored), what it cost, and the lengths that metrics need (metres, steps).

    status: answered | abstained | failed. final_m: geodesic distance from the last position to the target, None = not
    measured or unreachable. passed: whether the path came within 3 m of the target, None = not measured. reachable:
    whether a way leads to the target, None = not measured; without one nothing that needs a path has a value.
    """

    id: str
    category: str
    status: str
    sigma: float | None
    delta: float | None
    note: str
    blind_sigma: float | None
    confidence: float
    steps: int
    metres: float
    seconds: float
    calls: int
    tokens: int
    reference_steps: int | None
    reference_metres: float | None
    final_m: float | None
    passed: bool | None
    multiple_choice: bool
    privileged: tuple[str, ...]
    error: str = ""
    reachable: bool | None = None


class _Arrival(NamedTuple):
    """The lengths of QuestionScore, and why one is missing."""

    final_m: float | None
    passed: bool | None
    reachable: bool | None
    note: str


@dataclass(frozen=True)
class Row:
    """All questions, or those of a category. The counts add up: answered + abstained + failed + missing = questions.

    unreachable: those whose target no way leads to; unreachable_abstained: which of them ended with "I don't know".
    """

    name: str
    questions: int
    answered: int
    abstained: int
    failed: int
    missing: int
    unscored: int
    metrics: Mapping[str, Summary]
    unreachable: int = 0
    unreachable_abstained: int = 0


@dataclass(frozen=True)
class Scores:
    """What scores.json holds. seed: of the bootstrap; metrics are means over questions."""

    dataset: str
    judge: str
    judge_sha256: str
    seed: int
    privileged: tuple[str, ...]
    rows: tuple[Row, ...]
    questions: tuple[QuestionScore, ...]


def score_run(out: Path, judge: Judge, facts: Facts | None = None, *, seed: int = 0) -> Scores:
    """Score a run directory and write scores.json, predictions.json and openeqa_scores.json into it.

    Raises StorageError when the directory holds no readable run. A judge that raises leaves its question unscored.
    """
    samples, predictions = read_samples(out / SAMPLES), read_predictions(out).predictions
    known = {s.id for s in samples}
    strangers = sorted(predictions.keys() - known)
    if strangers:
        raise StorageError(f"{out} has predictions of questions that it did not ask: {', '.join(strangers[:3])}")
    asked = [s for s in samples if s.id in predictions]
    questions = [question_score(s, predictions[s.id], judge, facts, out) for s in asked]
    manifest = finish_manifest(out, judge=judge.name, judge_sha256=judge.version)
    scores = Scores(manifest.dataset, judge.name, judge.version, seed, _privileged(questions),
                    tuple(_rows(samples, questions, seed)), tuple(questions))
    write_json(out / SCORES, scores)
    _write_openeqa(out, predictions, questions)
    return scores


def read_scores(out: Path) -> Scores:
    """Read scores.json. Raises StorageError."""
    return decode(Scores, read_json(out / SCORES))


def question_score(sample: Sample, prediction: Prediction, judge: Judge, facts: Facts | None = None,
                   out: Path | None = None) -> QuestionScore:
    """Mark one prediction. out: the run directory that holds its trace, where it has one."""
    answer, receipt = prediction.answer, prediction.answer.receipt
    mark = Mark(None, None, "failed") if prediction.failed else mark_answer(judge, sample, answer)
    blind = prediction.blind
    blind_mark = Mark(None) if blind is None or blind.error else mark_answer(judge, sample, blind)
    arrival = _arrival(out, sample, prediction, facts)
    status = "failed" if prediction.failed else "abstained" if answer.abstained else "answered"
    return QuestionScore(
        sample.id, sample.category, status, mark.sigma, _delta(sample, prediction, mark, facts),
        mark.note + arrival.note, blind_mark.sigma, answer.confidence, receipt.steps, receipt.metres, receipt.seconds,
        receipt.calls, receipt.tokens_in + receipt.tokens_out,
        sample.reference_steps, sample.reference_metres, arrival.final_m,
        arrival.passed, bool(sample.choices), receipt.privileged,
        f"{answer.error.name}: {answer.message}" if prediction.failed else "", arrival.reachable)


def mark_answer(judge: Judge, sample: Sample, answer: Answer) -> Mark:
    """Mark an answer; an abstention is no answer (mark 1). A judge that raises, or a mark off 1..5, is unscored."""
    try:
        mark = judge.judge(sample, "" if answer.abstained else answer.text)
    except Exception as error:  # any fault of any judge: the question leaves the mean, visibly
        return Mark(None, None, f"the judge failed: {type(error).__name__}: {error}")
    if mark.sigma is not None and not 1 <= mark.sigma <= 5:
        return Mark(None, None, f"the judge gave {mark.sigma}, which is not in 1..5")
    return mark


def _delta(sample: Sample, prediction: Prediction, mark: Mark, facts: Facts | None) -> float | None:
    """Return the grounding mark: the judge's, else what the last view is known to show; 0 without an answer."""
    if mark.delta is not None or facts is None or prediction.final_pose is None or prediction.failed:
        return mark.delta
    targets = sample.metadata.get("targets")
    delta = facts.grounding(sample.scene, targets, prediction.final_pose) if isinstance(targets, Sequence) else None
    return delta if delta is None or not prediction.answer.abstained else 0.0


def _arrival(out: Path | None, sample: Sample, prediction: Prediction, facts: Facts | None) -> _Arrival:
    """Measure how near the robot ended, whether it came near on its way, and whether it could have."""
    start, end, target = sample.start, prediction.final_pose, sample.target
    if facts is None or target is None:
        return _Arrival(None, None, None, "")

    def away(x: float, y: float) -> float:  # the robot takes no stairs by itself: it is on the floor of its start
        return facts.geodesic(sample.scene, _on_floor(sample, "start", (x, y)), _on_floor(sample, "target", target))

    try:
        final = None if end is None else metrics.reachable(away(end.x, end.y))
        if final is not None and metrics.arrived(final):
            return _Arrival(final, True, True, "")
        begin = start or end
        reachable = final is not None or (None if begin is None else math.isfinite(away(begin.x, begin.y)))
        if end is None:
            return _Arrival(None, None, reachable, "")
        path = load_trace(out / prediction.trace).poses if out and prediction.trace else []
        near = sorted({(p.x, p.y) for _, p in path if math.dist((p.x, p.y), target) <= metrics.SUCCESS_RADIUS_M},
                      key=lambda xy: (math.dist(xy, target), xy))  # no way is shorter than the straight one
        return _Arrival(final, any(metrics.arrived(away(*xy)) for xy in near), reachable, "")
    except EqaError as error:
        return _Arrival(None, None, None, f"; no distance to the target: {error}")


def _on_floor(sample: Sample, which: str, xy: tuple[float, float]) -> Point:
    """Return the point with the height of its floor, where the dataset names that: of "start" or "target"."""
    height = sample.metadata.get(f"{which}_height_m")
    return (*xy, float(height)) if isinstance(height, (int, float)) else xy


def _reference(q: QuestionScore, unit: str) -> float | None:
    """Return l, None where there is none: no dataset has a length to where no way leads."""
    reference = q.reference_steps if unit == "steps" else q.reference_metres
    return None if q.reachable is False else reference


def _ratio(q: QuestionScore, unit: str) -> float | None:
    reference = _reference(q, unit)
    return None if reference is None else metrics.path_ratio(reference, q.steps if unit == "steps" else q.metres)


def _marked(of: Callable[[QuestionScore, float], float | None]) -> Callable[[QuestionScore], float | None]:
    return lambda q: None if q.sigma is None else of(q, q.sigma)


def _efficiency(q: QuestionScore, sigma: float, unit: str) -> float | None:
    reference = _reference(q, unit)
    return None if reference is None else metrics.openeqa_e(sigma, reference, q.steps if unit == "steps" else q.metres)


def _express_e(q: QuestionScore, sigma: float) -> float | None:
    reference = _reference(q, "metres")
    if q.delta is None or reference is None:
        return None
    return metrics.express_e_path(sigma, q.delta, reference, q.metres)


def _spl(q: QuestionScore) -> float | None:
    if q.final_m is None or q.reference_metres is None:
        return None
    return metrics.spl(metrics.arrived(q.final_m), q.reference_metres, q.metres)


def _wce(q: QuestionScore) -> float | None:
    reference = _reference(q, "metres")
    return None if reference is None else metrics.weighted_confidence(q.confidence, reference, q.metres)


# Name in scores.json -> value of one question, or None where it cannot be had. Shares of 1, metres, seconds or counts.
METRICS: dict[str, Callable[[QuestionScore], float | None]] = {
    "openeqa_c": _marked(lambda q, sigma: metrics.openeqa_c(sigma)),
    "openeqa_e_steps": _marked(lambda q, sigma: _efficiency(q, sigma, "steps")),
    "openeqa_e_metres": _marked(lambda q, sigma: _efficiency(q, sigma, "metres")),
    "blind_c": lambda q: None if q.blind_sigma is None else metrics.openeqa_c(q.blind_sigma),
    "express_c_star": _marked(lambda q, sigma: metrics.express_c_star(sigma)),
    "express_c": _marked(lambda q, sigma: None if q.delta is None else metrics.express_c(sigma, q.delta)),
    "express_e_path": _marked(_express_e),
    "express_d_t": lambda q: q.final_m,
    "ace": lambda q: q.confidence,
    "npl": lambda q: _ratio(q, "metres"),
    "wce": _wce,
    "sr": lambda q: None if q.final_m is None else float(metrics.arrived(q.final_m)),
    "osr": lambda q: None if q.passed is None else float(q.passed),
    "spl": _spl,
    "hm_eqa_accuracy": _marked(lambda q, sigma: metrics.choice_accuracy(sigma) if q.multiple_choice else None),
    "steps": lambda q: float(q.steps),
    "metres": lambda q: q.metres,
    "seconds": lambda q: q.seconds,
    "calls": lambda q: float(q.calls),
    "tokens": lambda q: float(q.tokens),
}


def value_of(q: QuestionScore, name: str) -> float | None:
    """A failed question has no value in any mean; OpenEQA's own scorer would give it the lowest mark."""
    if name == "openeqa_c_failed_lowest":
        return 0.0 if q.status == "failed" else METRICS["openeqa_c"](q)
    return None if q.status == "failed" else METRICS[name](q)


def _rows(samples: Sequence[Sample], questions: Sequence[QuestionScore], seed: int) -> list[Row]:
    categories = sorted({s.category for s in samples if s.category})
    rows = [_row("all", len(samples), questions, seed)]
    for category in categories if len(categories) > 1 else []:
        asked = sum(s.category == category for s in samples)
        rows.append(_row(category, asked, [q for q in questions if q.category == category], seed))
    return rows


def _row(name: str, asked: int, questions: Sequence[QuestionScore], seed: int) -> Row:
    def count(status: str) -> int:
        return sum(q.status == status for q in questions)

    no_way = [q for q in questions if q.reachable is False]
    unscored = sum(q.sigma is None and q.status != "failed" for q in questions)
    values = {m: [value_of(q, m) for q in questions] for m in (*METRICS, "openeqa_c_failed_lowest")}
    means = {m: metrics.bootstrap(v, seed, RESAMPLES) for m, v in values.items()}
    means["gain_over_blind"] = metrics.paired_difference(values["openeqa_c"], values["blind_c"], seed, RESAMPLES)
    return Row(name, asked, count("answered"), count("abstained"), count("failed"), asked - len(questions), unscored,
               means, len(no_way), sum(q.status == "abstained" for q in no_way))


def _privileged(questions: Sequence[QuestionScore]) -> tuple[str, ...]:
    return tuple(sorted({component for q in questions for component in q.privileged}))


def _write_openeqa(out: Path, predictions: Mapping[str, Prediction], questions: Sequence[QuestionScore]) -> None:
    """Write OpenEQA's own two files: failed questions are absent from both, as its scorer expects."""
    done = [q for q in questions if q.status != "failed"]
    write_json(out / "predictions.json", [{"question_id": q.id, "answer": predictions[q.id].answer.text} for q in done])
    write_json(out / "openeqa_scores.json", {q.id: q.sigma for q in done if q.sigma is not None})
