"""Every metric of scores.json as a function of one scored question."""

from __future__ import annotations

import math
from collections.abc import Callable

from eqa_nodes.bench.metrics import formulas as metrics
from eqa_nodes.bench.metrics.question_score import QuestionScore


def _reference(q: QuestionScore, unit: str) -> float | None:
    """Return l, None if there is none, such as for unreachable targets."""
    reference = q.reference_steps if unit == "steps" else q.reference_metres
    return None if q.reachable is False else reference


def _travelled(q: QuestionScore, unit: str) -> float:
    """Return p: infinite if published results have path lengths but none for this answer."""
    return math.inf if q.endless else q.steps if unit == "steps" else q.metres


def _ratio(q: QuestionScore, unit: str) -> float | None:
    reference = _reference(q, unit)
    return None if reference is None else metrics.path_ratio(reference, _travelled(q, unit))


_Marked = Callable[[QuestionScore, float], float | None]  # a metric of a question and its mark


def _marked(of: _Marked, guess: bool = False) -> Callable[[QuestionScore], float | None]:
    """Return a metric of the judge's mark. guess: use the blind answer's mark for an abstention (force-a-guess)."""
    def value(q: QuestionScore) -> float | None:
        sigma = q.blind_sigma if guess and q.status == "abstained" else q.sigma
        return None if sigma is None else of(q, sigma)

    return value


def _efficiency(q: QuestionScore, sigma: float, unit: str) -> float | None:
    reference = _reference(q, unit)
    return None if reference is None else metrics.openeqa_e(sigma, reference, _travelled(q, unit))


def _express_e(q: QuestionScore, sigma: float) -> float | None:
    """Return E_path; as in EXPRESS-Bench's scorer, the final distance to the target does not matter."""
    if q.delta is None or q.reference_metres is None:
        return None
    return metrics.express_e_path(sigma, q.delta, q.reference_metres, _travelled(q, "metres"))


def _spl(q: QuestionScore) -> float | None:
    if q.final_m is None or q.reference_metres is None:
        return None
    return metrics.spl(metrics.arrived(q.final_m), q.reference_metres, _travelled(q, "metres"))


def _predicates(of: Callable[[QuestionScore], float]) -> Callable[[QuestionScore], float | None]:
    return lambda q: of(q) if q.predicates else None


def _task_spl(q: QuestionScore) -> float | None:
    if not q.predicates or q.reference_steps is None:
        return None
    return metrics.spl(_done(q), q.reference_steps, q.steps)


def _done(q: QuestionScore) -> bool:
    """Return whether a task is done: by its published result if there is one, else by its predicates."""
    return metrics.task_success(q.predicates) if q.succeeded is None else q.succeeded


def _normalised_steps(q: QuestionScore) -> float | None:
    known = q.allowed_steps and q.poses is not None
    return metrics.normalised_steps(q.poses or 0, q.allowed_steps or 0) if known else None


def _wce(q: QuestionScore) -> float | None:
    reference = _reference(q, "metres")
    if reference is None or q.confidence is None:
        return None
    return metrics.weighted_confidence(q.confidence, reference, _travelled(q, "metres"))


# C and E of OpenEQA, which also have a value with force-a-guess (supplement G).
_OPENEQA: dict[str, _Marked] = {
    "openeqa_c": lambda q, sigma: metrics.openeqa_c(sigma),
    "openeqa_e_steps": lambda q, sigma: _efficiency(q, sigma, "steps"),
    "openeqa_e_metres": lambda q, sigma: _efficiency(q, sigma, "metres"),
}
# Those metrics -> the same with a blind guess instead of an abstention.
FORCED = {name: f"{name}_forced" for name in _OPENEQA}

# Name in scores.json -> value of one question, or None if it has none. Shares of 1, metres, seconds or counts.
METRICS: dict[str, Callable[[QuestionScore], float | None]] = {
    **{name: _marked(of) for name, of in _OPENEQA.items()},
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
    "hm_eqa_normalised_steps": _normalised_steps,
    **{FORCED[name]: _marked(of, guess=True) for name, of in _OPENEQA.items()},
    "succ": _predicates(lambda q: float(_done(q))),
    "gcs": _predicates(lambda q: metrics.goal_condition_success(q.predicates)),
    "task_spl": _task_spl,
    "recalled": lambda q: None if q.recalled is None else float(q.recalled),
    "steps": lambda q: float(q.steps),
    "metres": lambda q: None if q.endless else q.metres,
    "seconds": lambda q: q.seconds,
    "calls": lambda q: float(q.calls),
    "tokens": lambda q: float(q.tokens),
    "money": lambda q: q.money,
}

# Metrics that are shares of 1: tables show them as percentages.
SHARES = frozenset(METRICS) - {"express_d_t", "recalled", "steps", "metres", "seconds", "calls",
                               "tokens", "money"}
# Those of them that never exceed 1.
BOUNDED = SHARES | {"openeqa_c_failed_lowest"}


LEAVE_OUT, LOWEST, BLIND = "leave-out", "lowest", "blind"
FAILED = (LEAVE_OUT, LOWEST, BLIND)  # how failed questions count in the means of marks
_C: dict[str, Callable[[float], float]] = {"openeqa_c": metrics.openeqa_c, "express_c_star": metrics.express_c_star}
_E = {"openeqa_e_steps": "steps", "openeqa_e_metres": "metres"}


def value_of(q: QuestionScore, name: str, failed: str = LEAVE_OUT) -> float | None:
    """Return a metric of a question. failed: how a failed question counts (its costs are in no mean).

    leave-out: not at all; lowest: with mark 1; blind: with the mark of the blind answer and an infinite path, as 3D-Mem
    and Pred-EQA count it, for abstentions, too.
    """
    if name == "openeqa_c_failed_lowest":
        return 0.0 if q.status == "failed" else METRICS["openeqa_c"](q)
    mark = name.removesuffix("_forced")
    no_answer = q.status == "failed" or (failed == BLIND and q.status == "abstained" and mark in (*_C, *_E))
    return _of_failed(q, mark, failed) if no_answer else METRICS[name](q)


def _of_failed(q: QuestionScore, name: str, failed: str) -> float | None:
    sigma = {LOWEST: 1.0, BLIND: q.blind_sigma}.get(failed)
    if sigma is None:
        return None
    if name in _E:
        return None if _reference(q, _E[name]) is None else 0.0
    return _C[name](sigma) if name in _C else None
