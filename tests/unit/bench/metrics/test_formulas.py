"""Formulas against numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from eqa_nodes.bench.metrics import formulas as metrics


@pytest.mark.parametrize(("sigma", "c"), [(1, 0.0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1.0), (0, 0.0), (9, 1.0)])
def test_openeqa_c_clips_marks(sigma: float, c: float) -> None:
    assert metrics.openeqa_c(sigma) == c


@pytest.mark.parametrize(("l", "p", "ratio"), [
    (10, 10, 1), (10, 20, 0.5), (10, 5, 1), (0, 0, 1), (0, 3, 0), (8, 32, 0.25)])
def test_path_ratio(l: float, p: float, ratio: float) -> None:  # noqa: E741
    assert metrics.path_ratio(l, p) == ratio


def test_formulas_by_hand() -> None:
    assert metrics.openeqa_e(4, 30, 40) == pytest.approx(0.75 * 0.75)
    assert metrics.express_c_star(4) == pytest.approx(0.8)
    assert metrics.express_c(4, 0.5) == pytest.approx(0.4)
    assert metrics.express_c(1, 1) == pytest.approx(0.2)  # /5, so that even the lowest mark is not 0
    assert metrics.express_e_path(5, 0.5, 6, 24) == pytest.approx(0.125)
    assert metrics.weighted_confidence(0.6, 5, 10) == pytest.approx(0.3)
    assert metrics.spl(True, 4, 5) == pytest.approx(0.8)
    assert metrics.spl(False, 4, 5) == 0
    assert metrics.choice_accuracy(5) == 1
    assert metrics.choice_accuracy(4) == 0
    assert metrics.normalised_steps(12, 48) == 0.25
    assert metrics.normalised_steps(60, 48) == 1.0  # the cap ends an episode of HM-EQA
    assert [metrics.poses_of(legs) for legs in ([], [0.0], [2.9, 3.0], [3.1], [9.0, 0.5])] == [1, 2, 3, 3, 5]
    assert metrics.goal_condition_success([True, False, True, True]) == 0.75
    assert metrics.task_success([True, True])
    assert not metrics.task_success([True, False])
    assert metrics.arrived(3.0)
    assert not metrics.arrived(3.01)
    assert metrics.reachable(2.5) == 2.5
    assert metrics.reachable(math.inf) is None


@pytest.mark.parametrize(("call", "why"), [
    (lambda: metrics.openeqa_c(math.nan), "unscored"), (lambda: metrics.path_ratio(-1, 2), "-1"),
    (lambda: metrics.path_ratio(1, math.nan), "nan"), (lambda: metrics.express_c(3, math.nan), "finite"),
    (lambda: metrics.normalised_steps(1, 0), "> 0"), (lambda: metrics.task_success([]), "predicates"),
    (lambda: metrics.goal_condition_success([]), "predicates"),
    (lambda: metrics.paired_difference([1.0], []), "same questions")])
def test_what_makes_no_sense_is_refused(call: Callable[[], object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        call()


def test_interval_has_the_width_that_theory_gives() -> None:
    values = [0.0, 1.0] * 200  # standard error 0.5 / sqrt(400) = 0.025
    s = metrics.summary(values, seed=3)
    assert s.mean == 0.5
    assert s[1:3] == pytest.approx(metrics.summary(values, share=True)[1:3], abs=0.006)
    assert s[1:3] == pytest.approx((0.5 - 1.96 * 0.025, 0.5 + 1.96 * 0.025), abs=0.006)
    assert metrics.summary(values, seed=3) == s != metrics.summary([v + 0.1 for v in values], seed=3)


def test_a_paired_difference_cancels_what_is_common_and_uses_what_both_have() -> None:
    hard = [i / 50 for i in range(50)]
    better = [min(1.0, h + 0.1) for h in hard]
    d, alone = metrics.paired_difference(better, hard), metrics.summary(better)
    assert d.mean == pytest.approx((46 * 0.1 + 0.08 + 0.06 + 0.04 + 0.02) / 50)  # the last four reach 1
    assert d.low is not None and d.high is not None and alone.low is not None and alone.high is not None
    assert 0.08 < d.low < d.high < 0.1 and d.high - d.low < (alone.high - alone.low) / 5
    some = metrics.paired_difference([1.0, None, 0.5], [0.5, 1.0, None])
    assert (some.mean, some.n, some.excluded) == (0.5, 1, 2)
