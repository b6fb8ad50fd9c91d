"""Means of resampled questions for bootstrap intervals, and sums under random signs for paired tests. Deterministic.

The percentile bootstrap of Efron (1979): each resample draws n of n values with replacement, and its mean is kept. How
often each *distinct* value is drawn follows a multinomial distribution, so where few values are distinct (marks) drawn
counts give the very same distribution as n single draws, in a time that does not depend on n.
"""

from __future__ import annotations

import itertools

import numpy as np

_EVERY = 14  # differences up to which all sign patterns are gone through
_BLOCK = 1 << 22  # signs held at once
_ROUNDING = 1e-9  # of the sum of all sizes: far above errors of rounding, far below what distinguishes marks
_SHARE = 16  # values a distinct one from which counts are drawn


def resampled_means(values: np.ndarray, seed: int, resamples: int) -> np.ndarray:
    """Return (resamples,) float64 means of samples drawn with replacement from `values` (n,), n >= 1."""
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size * _SHARE <= values.size:
        drawn = np.random.default_rng(seed).multinomial(values.size, counts / values.size, resamples)
        return np.asarray((drawn * distinct).sum(axis=1) / values.size)
    from eqa_nodes.bench.metrics.resampling_kernel import drawn_means  # the compiler is loaded where it is needed

    return drawn_means(np.ascontiguousarray(values, np.float64), seed, resamples)


def sign_flip_p(differences: np.ndarray, seed: int = 0, draws: int = 10_000) -> float:
    """Return the two-sided p of paired differences (n,): how often random signs give a sum as far from 0.

    The permutation test of paired values (Fisher 1935). Up to 14 differences that are not 0 all sign patterns are
    gone through: p is exact. Beyond, `draws` patterns are drawn and p = (1 + as far) / (1 + draws).
    """
    sizes = np.abs(differences[differences != 0]).astype(np.float64)
    if not sizes.size:
        return 1.0
    # Sums that are equal but for rounding are equal: 0.2 + 0.4 - 0.2 - 0.2 - 0.3 - 0.2 + 0.3 is 0, and no 5.6e-17.
    seen = abs(float(differences.sum())) - _ROUNDING * float(sizes.sum())
    if sizes.size <= _EVERY:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=sizes.size)))
        return float(np.mean(np.abs((signs * sizes).sum(axis=1)) >= seen))
    return (1 + int(np.count_nonzero(np.abs(_signed_sums(sizes, seed, draws)) >= seen))) / (1 + draws)


def _signed_sums(sizes: np.ndarray, seed: int, draws: int) -> np.ndarray:
    """Return (draws,) sums of the sizes under random signs; of c equal sizes, Binomial(c, 1/2) keep their sign."""
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
    """Return p values adjusted for their number (Holm 1979), in their order: those below 0.05 hold together at 5 %."""
    adjusted, worst = [0.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda i: (ps[i], i))):
        worst = max(worst, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = worst
    return adjusted
