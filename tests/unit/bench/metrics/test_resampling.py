"""Bootstrap means: counts of distinct values and single draws, each against plain loops."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.bench.metrics.formulas import summary
from eqa_nodes.bench.metrics.intervals import resampled_means
from tests.fixtures.resampled import looped_means


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


def test_both_ways_of_drawing_give_the_same_interval() -> None:
    marks = np.random.default_rng(0).choice([0, 0.25, 0.5, 0.75, 1], 4000)
    spread = marks + np.linspace(0, 1e-9, 4000)  # the same values, and none of them twice
    few, many = summary(marks.tolist()), summary(spread.tolist())
    assert few[:3] == pytest.approx(many[:3], abs=0.001)


@pytest.mark.parametrize("distinct", [5, 5000])
def test_the_same_seed_gives_the_same_bits(distinct: int) -> None:
    values = np.random.default_rng(1).integers(0, distinct, 5000) / distinct
    assert np.array_equal(resampled_means(values, 3, 500), resampled_means(values, 3, 500))
    assert not np.array_equal(resampled_means(values, 3, 500), resampled_means(values, 4, 500))


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=200), st.floats(-5, 5), st.floats(0.1, 9))
@settings(max_examples=40)
def test_intervals_shift_and_stretch_with_the_values(values: list[float], shift: float, scale: float) -> None:
    plain, moved = summary(values, resamples=300), summary([scale * v + shift for v in values], resamples=300)
    assert (plain.low is None) == (len(set(values)) == 1)  # equal values say nothing of others
    for a, b in zip(plain[:3], moved[:3], strict=True):
        assert (a is None and b is None) or b == pytest.approx(scale * (a or 0.0) + shift, abs=1e-9)
