"""Fits the probability that an answer is right from its support, and computes the risk of each threshold.

The fit is a logistic regression with a small L2 penalty over `Support.features`; all episodes have equal weight,
however many answers were weighed in them. The risk of a threshold follows conformal risk control (Angelopoulos et al.
2022, "Conformal Risk Control", eq. 4, with B = 1): the loss of a question at a threshold is 1 when the first weighed
answer that reaches it is wrong, made monotone by its running maximum over stricter thresholds, so that

    threshold(risk) = min{threshold: (wrong(threshold) + 1) / (episodes + 1) <= risk}

bounds the expected share of wrong answers. Assumptions:

- The questions asked are exchangeable with those of the calibration: same kind of houses, policy, camera, answerer. The
  questions of one house resemble each other, so the effective sample size is closer to the number of houses.
- Runs that never stop, replayed up to a threshold, behave like runs with it: a stricter threshold only drives longer.
  A policy's confirmation of an answer is not replayed; it costs steps and can only withdraw wrong answers.
- The probabilities of the curve come from fits that did not see the question's house (cross-fitting); the weights in
  use are fitted on all houses. With five weights the two are close, but exchangeability is then approximate.

The noise of perception is unknown beforehand: at each threshold the curve uses the preset with the most wrong answers,
so that the bound holds for every preset.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.bench.metrics.intervals import wilson
from eqa_nodes.bench.running.trials import GradedAnswer, Trial
from eqa_nodes.core.agent.stopping import Calibration
from eqa_nodes.core.errors import ConfigError

FOLDS = 5
BINS = 10
THRESHOLDS = (*(k / 200 for k in range(1, 200)), 0.999)
_PENALTY = 2.0  # also for the bias: without a wrong answer there would be no finite fit
_SIGNS = (0, 1, 1, 1, -1)  # signs of the weights, by FEATURES: evidence for an answer never makes it less likely
_MOST_STEPS = 100  # maximum of Newton's method, which needs about 10


class Scored(NamedTuple):
    """Weighed answers of one episode, in order, each with a probability."""

    trial: Trial
    probabilities: tuple[float, ...]


class Bin(NamedTuple):
    """Weighed answers in one bin of probability, and the share of right ones with its 95 % Wilson interval.

    questions: number of episodes with such an answer; the interval treats episodes, not answers, as independent.
    """

    low: float
    high: float
    answers: int
    questions: int
    probability: float
    right: float
    right_low: float
    right_high: float
    weight: float


class Reliability(NamedTuple):
    """Deviation of probabilities from shares. ece: expected calibration error over the bins; brier: Brier score.

    Both weigh every episode equally. base_brier: Brier score of always stating the share of right answers.
    """

    bins: tuple[Bin, ...]
    ece: float
    brier: float
    base_brier: float
    answers: int
    questions: int


class FittedCalibration(NamedTuple):
    """A calibration, and the reliability of such fits on unseen houses."""

    calibration: Calibration
    reliability: Reliability


def calibrate(trials: Sequence[Trial], source: str) -> FittedCalibration:
    """Fit on trials of runs that never stop. Raises ConfigError for fewer houses than folds, or no weighed answer."""
    houses = list(dict.fromkeys(t.house for t in trials))
    if len(houses) < FOLDS:
        raise ConfigError(f"a calibration needs questions of at least {FOLDS} houses, got {len(houses)}: ask for more")
    fold = {house: k % FOLDS for k, house in enumerate(houses)}
    fits = [_fit([t for t in trials if fold[t.house] != k], source) for k in range(FOLDS)]
    scored = [_score(t, fits[fold[t.house]]) for t in trials]
    wrong, episodes = risk_curve(scored, THRESHOLDS)
    steps = [i for i, count in enumerate(wrong) if i == 0 or count < wrong[i - 1]]  # equivalent in between
    return FittedCalibration(Calibration(_fit(trials, source).weights, tuple(THRESHOLDS[i] for i in steps),
                                         tuple(wrong[i] for i in steps), episodes, source), reliability(scored))


def score(trials: Sequence[Trial], calibration: Calibration) -> list[Scored]:
    """Return the trials with the probabilities of a calibration."""
    return [_score(t, calibration) for t in trials]


def _score(trial: Trial, calibration: Calibration) -> Scored:
    return Scored(trial, tuple(calibration.probability(w.support) for w in trial.weighed))


def _fit(trials: Sequence[Trial], source: str) -> Calibration:
    rows = _weighted(trials)
    if not rows:
        raise ConfigError("no answer was found in any episode: there is nothing to fit")
    features = np.array([judged.support.features() for judged, _ in rows])
    right = np.array([judged.right for judged, _ in rows], dtype=np.float64)
    weights = np.array([weight for _, weight in rows])
    return Calibration(tuple(round(float(w), 6) for w in _signed(features, right, weights)), source=source)


def _signed(features: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the fit with weight 0 for features whose weight has the wrong sign, removed one by one, worst first."""
    kept = list(range(len(_SIGNS)))
    while True:
        fitted = logistic(features[:, kept], right, weights)
        least, worst = min((_SIGNS[k] * float(w), k) for k, w in zip(kept, fitted, strict=True))
        if least >= 0:
            result = np.zeros(len(_SIGNS))
            result[kept] = fitted
            return result
        kept.remove(worst)


def _weighted(trials: Sequence[Trial]) -> list[tuple[GradedAnswer, float]]:
    """Return all weighed answers with weights that sum to 1 in each episode."""
    return [(judged, 1 / len(t.weighed)) for t in trials for judged in t.weighed]


def logistic(features: np.ndarray, right: np.ndarray, weights: np.ndarray, penalty: float = _PENALTY) -> np.ndarray:
    """Return the (k,) weights that minimise the weighted log loss + `penalty / 2 * |w|^2`, by Newton's method.

    features: (n, k); right: (n,) 0 or 1; weights: (n,) >= 0. Steps that do not lower the loss are halved.
    """
    def loss(at: np.ndarray) -> float:
        z = features @ at
        return float(weights @ (np.logaddexp(0.0, z) - right * z) + penalty / 2 * at @ at)

    w = np.zeros(features.shape[1])
    for _ in range(_MOST_STEPS):
        p = 1 / (1 + np.exp(-features @ w))
        slope = features.T @ (weights * (p - right)) + penalty * w
        bend = (features * (weights * p * (1 - p))[:, None]).T @ features + penalty * np.eye(w.size)
        step = np.linalg.solve(bend, slope)
        while loss(w - step) > loss(w) and np.abs(step).max() > 1e-12:
            step = step / 2
        w = w - step
        if np.abs(step).max() < 1e-9:
            break
    return w


def risk_curve(scored: Sequence[Scored], thresholds: Sequence[float]) -> tuple[tuple[int, ...], int]:
    """Return the number of questions answered wrongly at each threshold or a stricter one, and the number of questions.

    thresholds: ascending. Each count is the maximum over the noise presets, so that the risk holds for all. Raises
    ConfigError unless all presets have the same number of questions.
    """
    by_noise: dict[str, list[list[bool]]] = {}
    for s in scored:
        by_noise.setdefault(s.trial.noise, []).append(losses(s, thresholds))
    if len({len(rows) for rows in by_noise.values()}) != 1:
        raise ConfigError("the risk of a threshold is compared over noises: ask the same questions under each of them")
    counts = [np.sum(rows, axis=0) for rows in by_noise.values()]
    return tuple(int(c) for c in np.max(counts, axis=0)), len(next(iter(by_noise.values())))


def losses(scored: Scored, thresholds: Sequence[float]) -> list[bool]:
    """Return for each threshold (ascending) whether a run that stops at it or at a stricter one answers wrongly."""
    result: list[bool] = []
    for threshold in reversed(thresholds):
        first = next((k for k, p in enumerate(scored.probabilities) if p >= threshold), None)
        wrong = first is not None and not scored.trial.weighed[first].right
        result.append(wrong or (bool(result) and result[-1]))
    return result[::-1]


def reliability(scored: Sequence[Scored], bins: int = BINS) -> Reliability:
    """Compare probabilities and shares in `bins` bins of equal width; empty bins are left out.

    Raises ConfigError if there are no weighed answers.
    """
    rows = [(k, p, float(w.right), 1 / len(s.probabilities)) for k, s in enumerate(scored)
            for p, w in zip(s.probabilities, s.trial.weighed, strict=True)]
    if not rows:
        raise ConfigError("no answer was found in any episode: there is nothing to compare")
    _, p, right, weight = (np.array(column) for column in zip(*rows, strict=True))
    number = np.minimum((p * bins).astype(int), bins - 1)
    found = tuple(_bin(b / bins, (b + 1) / bins, [row for row, n in zip(rows, number, strict=True) if n == b])
                  for b in range(bins) if (number == b).any())
    total, base = weight.sum(), np.average(right, weights=weight)
    return Reliability(found, sum(b.weight * abs(b.right - b.probability) for b in found) / float(total),
                       float(np.average((p - right) ** 2, weights=weight)), float(base * (1 - base)), len(rows),
                       len({row[0] for row in rows}))


def _bin(low: float, high: float, rows: Sequence[tuple[int, float, float, float]]) -> Bin:
    questions = len({row[0] for row in rows})
    weight = math.fsum(row[3] for row in rows)
    right = math.fsum(row[2] * row[3] for row in rows) / weight
    return Bin(low, high, len(rows), questions, math.fsum(row[1] * row[3] for row in rows) / weight, right,
               *wilson(right, questions), weight)


class Realised(NamedTuple):
    """The outcome of runs with an accepted risk; shares of all questions."""

    risk: float  # accepted risk, 0 = none was set
    threshold: float
    questions: int
    wrong: float
    wrong_low: float
    wrong_high: float
    answered: float
    correctness: float
    steps: float
    failed: int


def realised(risk: float, threshold: float, trials: Sequence[Trial]) -> Realised:
    """Return the share of questions answered wrongly, with its 95 % Wilson interval, and the costs."""
    n = len(trials)
    wrong = sum(t.answered and not t.right for t in trials) / n
    return Realised(risk, threshold, n, wrong, *wilson(wrong, n), sum(t.answered for t in trials) / n,
                    math.fsum(t.correctness for t in trials) / n, sum(t.score.steps for t in trials) / n,
                    sum(bool(t.score.error) for t in trials))
