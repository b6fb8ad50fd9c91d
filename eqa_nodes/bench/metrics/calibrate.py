"""Fits the probability that an answer is right to its support, and computes the risk of each threshold.

The fit is a logistic regression with a small L2 penalty over `Support.features`, every episode weighted equally,
however many answers were weighed in it. The risk of a threshold follows conformal risk control (Angelopoulos et al.
2022, "Conformal Risk Control", eq. 4, with B = 1): the loss of a question at a threshold is 1 when the first weighed
answer that reaches it is wrong, made monotone by its running maximum over stricter thresholds, so that

    threshold(risk) = min{threshold: (wrong(threshold) + 1) / (episodes + 1) <= risk}

bounds the expected share of wrong answers. What that assumes:

- The questions asked are exchangeable with those of the calibration: same houses' kind, policy, camera, answerer. The
  questions of one house resemble each other, so what counts is closer to the number of houses than of questions.
- Runs that never stop, replayed up to a threshold, behave as runs with it: a stricter threshold only drives on. What a
  policy does to confirm an answer is not replayed; it costs steps and can only take wrong answers back.
- The probabilities of the curve come from fits that did not see the question's house (cross-fitting); the weights in
  use are fitted on all houses. With five weights the two are close, but exchangeability is then approximate.

The noise of perception is not known beforehand: the curve is that of the preset with most wrong answers at each
threshold, so that the bound holds under each of them.
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
_PENALTY = 2.0  # also of the bias: episodes without a wrong answer would have no finite fit
_SIGNS = (0, 1, 1, 1, -1)  # of the weights, by FEATURES: what speaks for an answer never makes it less likely
_MOST_STEPS = 100  # of Newton's method; it takes about 10


class Scored(NamedTuple):
    """Weighed answers of one episode, in order, with a probability each."""

    trial: Trial
    probabilities: tuple[float, ...]


class Bin(NamedTuple):
    """Considered answers in one tenth of probability; share of right ones with its 95 % Wilson interval.

    questions: how many episodes have such an answer: the interval takes them for independent, the answers not.
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
    """How far probabilities are from shares. ece: expected calibration error over the bins; brier: mean squared error.

    Both weigh every episode equally. base_brier: of always saying the share that is right.
    """

    bins: tuple[Bin, ...]
    ece: float
    brier: float
    base_brier: float
    answers: int
    questions: int


class FittedCalibration(NamedTuple):
    """A calibration, and how reliable such fits are on houses that they have not seen."""

    calibration: Calibration
    reliability: Reliability


def calibrate(trials: Sequence[Trial], source: str) -> FittedCalibration:
    """Fit on trials of runs that did not stop. Raises ConfigError for fewer houses than folds, or no weighed answer."""
    houses = list(dict.fromkeys(t.house for t in trials))
    if len(houses) < FOLDS:
        raise ConfigError(f"a calibration needs questions of at least {FOLDS} houses, got {len(houses)}: ask for more")
    fold = {house: k % FOLDS for k, house in enumerate(houses)}
    fits = [_fit([t for t in trials if fold[t.house] != k], source) for k in range(FOLDS)]
    scored = [_score(t, fits[fold[t.house]]) for t in trials]
    wrong, episodes = risk_curve(scored, THRESHOLDS)
    steps = [i for i, count in enumerate(wrong) if i == 0 or count < wrong[i - 1]]  # no threshold between matters
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
    """Return the fit without features whose weight would have the wrong sign (their weight: 0), the worst first."""
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
    """Return all weighed answers, those of one episode with a weight of 1 together."""
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
    """Return how many questions would be answered wrongly at each threshold or at a stricter one, and of how many.

    thresholds: ascending. The counts are those of the noise with most, for a risk that holds under each. Raises
    ConfigError unless every noise has as many questions.
    """
    by_noise: dict[str, list[list[bool]]] = {}
    for s in scored:
        by_noise.setdefault(s.trial.noise, []).append(losses(s, thresholds))
    if len({len(rows) for rows in by_noise.values()}) != 1:
        raise ConfigError("the risk of a threshold is compared over noises: ask the same questions under each of them")
    counts = [np.sum(rows, axis=0) for rows in by_noise.values()]
    return tuple(int(c) for c in np.max(counts, axis=0)), len(next(iter(by_noise.values())))


def losses(scored: Scored, thresholds: Sequence[float]) -> list[bool]:
    """Return for each threshold (ascending) whether a run that stops there, or at a stricter one, answers wrongly."""
    result: list[bool] = []
    for threshold in reversed(thresholds):
        first = next((k for k, p in enumerate(scored.probabilities) if p >= threshold), None)
        wrong = first is not None and not scored.trial.weighed[first].right
        result.append(wrong or (bool(result) and result[-1]))
    return result[::-1]


def reliability(scored: Sequence[Scored], bins: int = BINS) -> Reliability:
    """Return how probabilities and shares compare in `bins` bins of equal width; empty bins are left out.

    Raises ConfigError where nothing was weighed.
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
    """What came of an accepted risk in runs that used it; shares of all questions."""

    risk: float  # 0: none was set
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
    """Return the share of questions that were answered wrongly, with its 95 % Wilson interval, and what it cost."""
    n = len(trials)
    wrong = sum(t.answered and not t.right for t in trials) / n
    return Realised(risk, threshold, n, wrong, *wilson(wrong, n), sum(t.answered for t in trials) / n,
                    math.fsum(t.correctness for t in trials) / n, sum(t.score.steps for t in trials) / n,
                    sum(bool(t.score.error) for t in trials))
