"""Bootstrap means: counts of distinct values and single draws, each against plain loops."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.bench.metrics.intervals import resampled_means

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def mixed(z: int) -> int:
    """Return SplitMix64 of z, in Python's integers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def looped_means(values: list[float], seed: int, resamples: int) -> list[float]:
    """Return the resampled means, computed with plain loops like the compiled function."""
    n, means = len(values), []
    rejected = ((1 << 32) - n) % n
    for row in range(resamples):
        state, total, halves = mixed((mixed((seed + STEP) & MASK) + row * STEP) & MASK), 0.0, list[int]()
        for _ in range(n):
            if not halves:
                state = (state + STEP) & MASK
                halves = [mixed(state) & 0xFFFFFFFF, mixed(state) >> 32]
            product = halves.pop() * n
            while product & 0xFFFFFFFF < rejected:
                state = (state + STEP) & MASK
                product = (mixed(state) >> 32) * n
            total += values[product >> 32]
        means.append(total / n)
    return means


@given(st.lists(st.floats(0, 100), min_size=1, max_size=15, unique=True), st.integers(0, 99))
@settings(max_examples=25)
def test_single_draws_are_those_of_plain_loops(values: list[float], seed: int) -> None:
    drawn = resampled_means(np.array(values), seed, 20)
    assert drawn == pytest.approx(looped_means(values, seed, 20), rel=1e-12)


def test_drawn_counts_have_the_distribution_of_single_draws() -> None:
    """1,000 marks: quantiles of resampled means against those of a plain loop."""
    marks = [random.Random(4).choice((0.0, 0.0, 0.25, 0.75, 1.0)) for _ in range(1000)]
    loop = random.Random(7)
    looped = [sum(loop.choices(marks, k=len(marks))) / len(marks) for _ in range(2000)]
    drawn = resampled_means(np.array(marks), 0, 20_000)
    for share in (0.025, 0.16, 0.5, 0.84, 0.975):
        assert np.quantile(drawn, share) == pytest.approx(np.quantile(looped, share), abs=0.0035)
    assert drawn.std() == pytest.approx(np.std(marks) / len(marks) ** 0.5, rel=0.03)


@pytest.mark.parametrize("distinct", [5, 5000])
def test_the_same_seed_gives_the_same_bits(distinct: int) -> None:
    values = np.random.default_rng(1).integers(0, distinct, 5000) / distinct
    assert np.array_equal(resampled_means(values, 3, 500), resampled_means(values, 3, 500))
    assert not np.array_equal(resampled_means(values, 3, 500), resampled_means(values, 4, 500))
