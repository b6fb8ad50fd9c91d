"""95 % intervals of means: Wilson's for shares, bootstrap for other values, none where nothing can be said.

Resampled questions say nothing about what none of them showed: of 5 right answers out of 5 every resample is 5 of 5. So
shares (values that are 0 or 1) have Wilson's interval, and values that are all equal that of what was never seen.
"""

from __future__ import annotations

import math

import numpy as np

from eqa_nodes.bench.metrics.resampling import resampled_means

_Z = 1.959964  # of the normal distribution, 95 %
Interval = tuple[float, float] | tuple[None, None]
SHARE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)  # what shares, and differences of shares, can be


def mean_interval(values: np.ndarray, limits: tuple[float, float] | None, seed: int, resamples: int) -> Interval:
    """Return the interval of the mean of values (n,), n >= 1; limits: what a value can be, None = unknown.

    (None, None) where all values are equal, or there is only one, and the metric has no limits: there is no interval.
    """
    if limits == SHARE and np.isin(values, SHARE).all():
        return wilson(float(values.mean()), values.size)
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        return _of_equals(float(values.mean()), values.size, limits)
    low, high = np.percentile(resampled_means(values, seed, resamples), [2.5, 97.5])
    return float(low), float(high)


def _of_equals(value: float, n: int, limits: tuple[float, float] | None) -> Interval:
    """Return the interval where every one of n values was the same.

    What was in none of n questions may yet be so in a share u of all (Wilson's upper limit of 0 in n), and is then
    anything within the limits.
    """
    if limits is None or not limits[0] <= value <= limits[1]:
        return None, None
    u = wilson(0.0, n)[1]
    return value - u * (value - limits[0]), value + u * (limits[1] - value)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return the interval of a share seen in n independent cases (Wilson 1927); of no case it is 0 to 1."""
    if n == 0:
        return 0.0, 1.0
    middle = (share + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
    half = _Z / (1 + _Z * _Z / n) * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    return (0.0 if share <= 0 else max(0.0, middle - half)), (1.0 if share >= 1 else min(1.0, middle + half))


def paired_shares(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return the interval of mean(a) - mean(b), where a and b (n,), n >= 1, are 0 or 1 for the same questions.

    Newcombe (1998), "Improved confidence intervals for the difference between binomial proportions based on paired
    data", method 10: Wilson's intervals of both shares, joined by how far the questions agree.
    """
    n, p, q = a.size, float(a.mean()), float(b.mean())
    (low_p, high_p), (low_q, high_q) = wilson(p, n), wilson(q, n)
    both, neither = float((a * b).sum()), float(((1 - a) * (1 - b)).sum())
    agree = both * neither - float((a * (1 - b)).sum()) * float(((1 - a) * b).sum())
    spread = n * n * math.sqrt(p * (1 - p) * q * (1 - q))
    phi = 0.0 if spread == 0 else (max(agree - n / 2, 0.0) if agree > 0 else agree) / spread
    down = _joined(p - low_p, high_q - q, phi)
    up = _joined(high_p - p, q - low_q, phi)
    return max(-1.0, p - q - down), min(1.0, p - q + up)


def _joined(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))
