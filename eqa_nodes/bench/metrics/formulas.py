"""The metrics of the field. Marks are sigma in 1..5, grounding is delta in {0, 0.5, 1}; results are shares in 0..1.

l is the reference length, p the travelled length: both in atomic actions or both in metres, chosen by the caller.
Tables show means over questions times 100; a question without a value is left out of the mean and counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.bench.metrics.intervals import DIFFERENCE, SHARE, mean_interval, paired_shares
from eqa_nodes.core import ledger

SUCCESS_RADIUS_M = 3.0  # ExploraQA: the robot has arrived within 3 m of the target


class MeanInterval(NamedTuple):
    """A mean of n values with its 95 % interval; `excluded` questions had no value. The mean is None if n = 0.

    low, high: also None if all values are equal (or there is only one) and the metric has no limits.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    excluded: int


def clip_mark(sigma: float) -> float:
    """Return the mark clipped to 1..5, as OpenEQA's scorer does. Raises ValueError for NaN."""
    if math.isnan(sigma):
        raise ValueError("a mark is NaN: a question that cannot be marked is unscored (None), not NaN")
    return min(5.0, max(1.0, sigma))


def path_ratio(reference: float, travelled: float) -> float:
    """Return l / max(p, l) in 0..1; 1 if both lengths are 0. Raises ValueError for a negative length.

    Anderson et al., On Evaluation of Embodied Navigation Agents (2018), the factor of SPL.
    """
    if not (reference >= 0 and travelled >= 0):
        raise ValueError(f"path lengths must be >= 0, got reference {reference} and taken {travelled}")
    longer = max(reference, travelled)
    return 1.0 if longer == 0 else reference / longer


def openeqa_c(sigma: float) -> float:
    """LLM-Match (sigma - 1) / 4. OpenEQA (Majumdar et al. 2024), eq. 1; ExploraQA's C_score, eq. 4."""
    return (clip_mark(sigma) - 1) / 4


def openeqa_e(sigma: float, reference: float, travelled: float) -> float:
    """(sigma - 1) / 4 * l / max(p, l). OpenEQA, eq. 2, in atomic actions; ExploraQA's E_score, eq. 5, in metres."""
    return openeqa_c(sigma) * path_ratio(reference, travelled)


def express_c_star(sigma: float) -> float:
    """sigma / 5, the answer alone (delta = 1). EXPRESS-Bench (Jiang et al. 2025). Raises ValueError for NaN."""
    return express_c(sigma, 1.0)


def express_c(sigma: float, delta: float) -> float:
    """sigma * delta / 5: the answer counts as far as the final view supports it (EAC). EXPRESS-Bench.

    As in its scorer, the product is clipped to 0..5, so a mark of 0 or a grounding of 0.75 counts unchanged. Raises
    ValueError for NaN and for infinite marks.
    """
    if not math.isfinite(product := sigma * delta):
        raise ValueError(f"a mark must be finite, got sigma {sigma} and delta {delta}")
    return min(5.0, max(0.0, product)) / 5


def express_e_path(sigma: float, delta: float, reference_m: float, travelled_m: float) -> float:
    """sigma * delta / 5 * l / max(p, l) in metres. EXPRESS-Bench."""
    return express_c(sigma, delta) * path_ratio(reference_m, travelled_m)


def reachable(distance_m: float) -> float | None:
    """Return the distance for d_T (EXPRESS-Bench) and NE (ExploraQA), or None if no path leads to the target."""
    return distance_m if math.isfinite(distance_m) else None


def weighted_confidence(confidence: float, reference_m: float, travelled_m: float) -> float:
    """Confidence at the end * l / max(p, l); its mean is WCE. Fine-EQA (Jiang et al. 2025), table 4.

    ACE is the mean of the confidence, NPL the mean of `path_ratio`.
    """
    return confidence * path_ratio(reference_m, travelled_m)


def arrived(distance_m: float, radius_m: float = SUCCESS_RADIUS_M) -> bool:
    """SR: the robot ended within radius_m of the target; OSR: its path came that close. ExploraQA, table 5."""
    return distance_m <= radius_m


def spl(success: bool, reference: float, travelled: float) -> float:
    """success * l / max(l, p). Anderson et al. (2018), eq. 1; in metres for ExploraQA, in steps for EmbodiedEval."""
    return path_ratio(reference, travelled) if success else 0.0


def choice_accuracy(sigma: float) -> float:
    """HM-EQA (Ren et al. 2024): 1 for the right option, which judges mark 5, else 0."""
    return float(clip_mark(sigma) == 5)


def poses_of(legs_m: Iterable[float]) -> int:
    """Return how many poses HM-EQA would count for drives of these lengths, metres, including the start."""
    return 1 + sum(map(ledger.poses_of, legs_m))


def normalised_steps(poses: int, allowed: int) -> float:
    """Poses divided by those allowed in this scene, at most 1. HM-EQA (Ren et al. 2024)."""
    if allowed <= 0:
        raise ValueError(f"the number of steps allowed must be > 0, got {allowed}")
    return min(poses, allowed) / allowed


def task_success(predicates: Sequence[bool]) -> bool:
    """Succ.: all goal predicates are true. EmbodiedEval (Cheng et al. 2025), 4.2. Raises ValueError for none."""
    if not predicates:
        raise ValueError("a task without goal predicates can neither succeed nor fail")
    return all(predicates)


def goal_condition_success(predicates: Sequence[bool]) -> float:
    """GcS: share of the goal predicates that are true. EmbodiedEval, section 4.2. Raises ValueError for none.

    predicates: in the task's order up to the first that can no longer be true, as its evaluation keeps them.
    """
    if not predicates:
        raise ValueError("a task without goal predicates can neither succeed nor fail")
    return sum(predicates) / len(predicates)


def summary(values: Iterable[float | None], seed: int = 0, resamples: int = 10_000, *,
            share: bool = False) -> MeanInterval:
    """Return the mean over questions with its 95 % interval (intervals.py); None values are only counted.

    share: whether the metric lies in 0..1. Equal values, seed and resamples give the same interval.
    """
    return _summary(list(values), SHARE if share else None, seed, resamples)


def paired_difference(a: Sequence[float | None], b: Sequence[float | None], seed: int = 0,
                      resamples: int = 10_000, *, share: bool = False) -> MeanInterval:
    """Return mean(a - b) over the questions that both have a value for, with its 95 % interval.

    The same questions are drawn for both, so the difficulty of a question cancels. share: whether both lie in 0..1.
    Raises ValueError for unequal lengths.
    """
    if len(a) != len(b):
        raise ValueError(f"paired values must belong to the same questions, got {len(a)} and {len(b)}")
    pairs = [None if x is None or y is None else (x, y) for x, y in zip(a, b, strict=True)]
    found = _summary([None if pair is None else pair[0] - pair[1] for pair in pairs],
                     DIFFERENCE if share else None, seed, resamples)
    both = np.array([pair for pair in pairs if pair is not None])
    if share and both.size and np.isin(both, SHARE).all():
        low, high = paired_shares(both[:, 0], both[:, 1])
        return found._replace(low=low, high=high)
    return found


def _summary(given: Sequence[float | None], limits: tuple[float, float] | None, seed: int,
             resamples: int) -> MeanInterval:
    used = np.asarray([v for v in given if v is not None], dtype=np.float64)
    excluded = len(given) - used.size
    if used.size == 0:
        return MeanInterval(None, None, None, 0, excluded)
    low, high = mean_interval(used, limits, seed, resamples)
    return MeanInterval(float(used.mean()), low, high, int(used.size), excluded)


def scaled(mean: float, factor: float) -> float:
    """Return factor * mean without the rounding error of the product, so that ties print like a mean of percentages.

    Published scorers average percentages: 52.25, which prints as 52.2. But 100 * 0.5225 is 52.25000000000001.
    """
    return round(factor * mean, 9)


def shown(s: MeanInterval, factor: float, digits: int, sign: str = "") -> str:
    """Return "mean [low, high]", only the mean for one question or without interval, a dash without a mean."""
    if s.mean is None:
        return "–"
    mean = f"{scaled(s.mean, factor):{sign}.{digits}f}"
    if s.low is None or s.high is None or s.n == 1:
        return mean
    return f"{mean} [{factor * s.low:{sign}.{digits}f}, {factor * s.high:{sign}.{digits}f}]"
