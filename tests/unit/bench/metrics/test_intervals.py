"""Intervals: nothing is certain because a few questions said so, and the intervals of shares hold what they promise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from eqa_nodes.bench.metrics.formulas import MeanInterval, paired_difference, shown, summary
from eqa_nodes.bench.metrics.intervals import paired_shares, wilson
from eqa_nodes.bench.metrics.values import BOUNDED, METRICS, SHARES
from eqa_nodes.bench.running.trials import ratio_of_means

VALUES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30)
BINARY = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), min_size=1, max_size=40)


@given(st.integers(1, 200), st.data())
def test_wilson_is_scipys(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    expected = binomtest(right, n).proportion_ci(method="wilson")
    assert wilson(right / n, n) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_the_interval_of_a_share_has_a_width_where_all_are_right() -> None:
    assert wilson(1.0, 10) == pytest.approx((0.7225, 1.0), abs=1e-3)
    assert wilson(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-3)
    assert wilson(1.0, 5)[1] == 1.0 and wilson(0.0, 5)[0] == 0.0
    assert wilson(0.0, 0) == (0.0, 1.0)


def test_five_of_five_right_is_not_certain() -> None:
    five = summary([1.0] * 5, share=True)
    assert five.mean == five.high == 1.0
    assert five.low == pytest.approx(0.5655, abs=1e-3)
    assert shown(five, 100, 1) == "100.0 [56.6, 100.0]"
    assert summary([1.0, 0.0, 1.0, 1.0], share=True)[1:3] == pytest.approx(wilson(0.75, 4))
    half = summary([0.5] * 5, share=True)  # other values have a share of at most 1 - 0.5655 and lie within 0..1
    assert half[1:3] == pytest.approx((0.5 - 0.4345 / 2, 0.5 + 0.4345 / 2), abs=1e-3)
    assert shown(summary([0.5], share=True), 100, 1) == "50.0"  # one question has no interval


@given(VALUES)
@settings(max_examples=60)
def test_no_interval_of_a_share_is_a_point(values: list[float]) -> None:
    s = summary(values, resamples=100, share=True)
    assert s.mean is not None and s.low is not None and s.high is not None
    assert 0 <= s.low <= s.mean <= s.high <= 1
    assert s.low < s.high


@pytest.mark.parametrize("values", [[3.0], [3.0] * 9, [0.1 + 0.2, 0.3]])
def test_equal_values_without_limits_have_a_mean_and_no_interval(values: list[float]) -> None:
    s = summary(values)
    assert s[1:] == (None, None, len(values), 0)
    assert shown(s, 1, 1) in ("3.0", "0.3")


def test_of_no_value_there_is_neither() -> None:
    assert summary([None, None], share=True) == MeanInterval(None, None, None, 0, 2)
    assert summary([]) == paired_difference([], []) == MeanInterval(None, None, None, 0, 0)
    assert shown(summary([]), 100, 1) == "–"


def test_runs_that_are_alike_may_yet_differ() -> None:
    for a in ([1.0] * 5, [0.0] * 5, [1.0, 0.0, 1.0, 0.0, 1.0], [0.25, 0.5, 1.0, 0.75, 0.0]):
        d = paired_difference(a, a, share=True)
        assert d.mean == 0 and d.low is not None and d.high is not None
        assert d.low < 0 < d.high and d.low == pytest.approx(-d.high)
    assert paired_difference([1.0] * 5, [1.0] * 5, share=True).high == pytest.approx(1 - wilson(1.0, 5)[0])
    assert paired_difference([12.5] * 5, [12.5] * 5) == MeanInterval(0.0, None, None, 5, 0)
    apart = paired_difference([1.0] * 5, [0.0] * 5, share=True)
    assert apart.mean == apart.high == 1.0 and apart.low is not None and 0 < apart.low < 1


@given(BINARY)
@settings(max_examples=60)
def test_paired_shares_change_sides_with_the_runs(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    low, high = paired_shares(a, b)
    assert -1 <= low <= a.mean() - b.mean() <= high <= 1
    assert low < high
    assert paired_shares(b, a) == pytest.approx((-high, -low))


@pytest.mark.parametrize("chances", [(0.4, 0.3, 0.2, 0.1), (0.8, 0.1, 0.05, 0.05), (0.45, 0.05, 0.05, 0.45),
                                     (0.1, 0.7, 0.1, 0.1)])
def test_paired_shares_hold_the_difference_as_often_as_promised(chances: tuple[float, ...]) -> None:
    """All tables of 15 questions by their probability; chances: both right, only a, only b, neither."""
    n, held = 15, 0.0
    difference = chances[1] - chances[2]
    for counts in itertools.product(range(n + 1), repeat=3):
        table = (*counts, n - sum(counts))
        if table[3] >= 0:
            weight = math.factorial(n) * math.prod(p ** k / math.factorial(k)
                                                   for p, k in zip(chances, table, strict=True))
            a = np.repeat([1.0, 1.0, 0.0, 0.0], table)
            b = np.repeat([1.0, 0.0, 1.0, 0.0], table)
            low, high = paired_shares(a, b)
            held += weight * (low <= difference <= high)
    assert 0.93 <= held <= 1.0


def test_a_ratio_of_one_question_has_no_interval() -> None:
    assert ratio_of_means([0.5], [0.25]) == MeanInterval(2.0, None, None, 1, 0)
    assert ratio_of_means([0.5, 0.5], [0.25, 0.25])[:3] == (2.0, None, None)
    assert ratio_of_means([], []) == MeanInterval(None, None, None, 0, 0)


def test_money_is_no_share() -> None:
    assert not SHARES & {"money", "seconds", "metres"}
    assert BOUNDED - set(METRICS) == {"openeqa_c_failed_lowest"}
