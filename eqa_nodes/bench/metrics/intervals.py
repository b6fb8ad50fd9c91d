"""Intervals: bootstrap of the mean over questions, and Wilson's and Newcombe's intervals for shares."""

from __future__ import annotations

import itertools
import math

import numpy as np

_EVERY = 14  # maximum number of differences for which all sign patterns are enumerated
_BLOCK = 1 << 22  # number of signs held at once
_ROUNDING = 1e-9  # relative to the sum of sizes: far above rounding errors, far below differences of marks
_SHARE = 16  # values per distinct value from which on counts are drawn


def resampled_means(values: np.ndarray, seed: int, resamples: int) -> np.ndarray:
    """Return (resamples,) float64 means of samples drawn with replacement from `values` (n,), n >= 1."""
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size * _SHARE <= values.size:
        drawn = np.random.default_rng(seed).multinomial(values.size, counts / values.size, resamples)
        return np.asarray((drawn * distinct).sum(axis=1) / values.size)
    from eqa_nodes.bench.metrics.resampling_kernel import drawn_means  # loads the compiler only when needed

    return drawn_means(np.ascontiguousarray(values, np.float64), seed, resamples)


def sign_flip_p(differences: np.ndarray, seed: int = 0, draws: int = 10_000) -> float:
    """Return the two-sided p of paired differences (n,): how often random signs give a sum at least as far from 0.

    The permutation test of paired values (Fisher 1935). For up to 14 non-zero differences all sign patterns are
    enumerated and p is exact. Above, `draws` patterns are drawn and p = (1 + as far) / (1 + draws).
    """
    sizes = np.abs(differences[differences != 0]).astype(np.float64)
    if not sizes.size:
        return 1.0
    # Sums that differ only by rounding count as equal: 0.2 + 0.4 - 0.2 - 0.2 - 0.3 - 0.2 + 0.3 is 0, not 5.6e-17.
    seen = abs(float(differences.sum())) - _ROUNDING * float(sizes.sum())
    if sizes.size <= _EVERY:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=sizes.size)))
        return float(np.mean(np.abs((signs * sizes).sum(axis=1)) >= seen))
    return (1 + int(np.count_nonzero(np.abs(_signed_sums(sizes, seed, draws)) >= seen))) / (1 + draws)


def _signed_sums(sizes: np.ndarray, seed: int, draws: int) -> np.ndarray:
    """Return (draws,) sums of the sizes with random signs; of c equal sizes, Binomial(c, 1/2) keep their sign."""
    rng = np.random.default_rng(seed)
    distinct, counts = np.unique(sizes, return_counts=True)
    if distinct.size * _SHARE <= sizes.size:
        kept = rng.binomial(counts, 0.5, (draws, distinct.size))
        return np.asarray(((2 * kept - counts) * distinct).sum(axis=1))
    rows = max(1, _BLOCK // sizes.size)
    blocks = [np.where(rng.random((min(rows, draws - at), sizes.size), np.float32) < 0.5, sizes, -sizes).sum(axis=1)
              for at in range(0, draws, rows)]
    return np.concatenate(blocks)


def holm(ps: list[float]) -> list[float]:
    """Return p values adjusted for multiple tests (Holm 1979), in their order; family-wise error rate 5 % at 0.05."""
    adjusted, worst = [0.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda i: (ps[i], i))):
        worst = max(worst, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = worst
    return adjusted


_Z = 1.959964  # two-sided 95 % quantile of the normal distribution
Interval = tuple[float, float] | tuple[None, None]
SHARE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)  # range of shares and of differences of shares


def mean_interval(values: np.ndarray, limits: tuple[float, float] | None, seed: int, resamples: int) -> Interval:
    """Return the interval of the mean of values (n,), n >= 1; limits: range of a value, None = unknown.

    (None, None), i.e. no interval, if all values are equal (or there is only one) and the metric has no limits.
    """
    if limits == SHARE and np.isin(values, SHARE).all():
        return wilson(float(values.mean()), values.size)
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        return _of_equals(float(values.mean()), values.size, limits)
    low, high = np.percentile(resampled_means(values, seed, resamples), [2.5, 97.5])
    return float(low), float(high)


def _of_equals(value: float, n: int, limits: tuple[float, float] | None) -> Interval:
    """Return the interval if all n values are equal.

    Other values, unseen in n questions, may still have a share u of all (Wilson's upper limit of 0 in n), and lie
    anywhere within the limits.
    """
    if limits is None or not limits[0] <= value <= limits[1]:
        return None, None
    u = wilson(0.0, n)[1]
    return value - u * (value - limits[0]), value + u * (limits[1] - value)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return the interval of a share observed in n independent cases (Wilson 1927); (0, 1) for n = 0."""
    if n == 0:
        return 0.0, 1.0
    middle = (share + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
    half = _Z / (1 + _Z * _Z / n) * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    return (0.0 if share <= 0 else max(0.0, middle - half)), (1.0 if share >= 1 else min(1.0, middle + half))


def paired_shares(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return the interval of mean(a) - mean(b); a and b (n,), n >= 1, are 0 or 1 for the same questions.

    Newcombe (1998), "Improved confidence intervals for the difference between binomial proportions based on paired
    data", method 10: Wilson's intervals of both shares, combined with the correlation of the pairs.
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
