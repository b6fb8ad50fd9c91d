"""Formulas against numbers worked out by hand, and the properties that must hold for every input."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.bench.metrics import formulas as metrics

MARKS = st.floats(1, 5)
LENGTHS = st.floats(0, 1e4)
SHARES = st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=40)


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


@given(MARKS, LENGTHS, LENGTHS)
def test_efficiency_never_exceeds_correctness(sigma: float, reference: float, driven: float) -> None:
    assert 0 <= metrics.openeqa_e(sigma, reference, driven) <= metrics.openeqa_c(sigma) <= 1


@given(MARKS, LENGTHS, LENGTHS, LENGTHS)
def test_a_longer_path_is_never_worth_more(sigma: float, reference: float, a: float, b: float) -> None:
    assert metrics.openeqa_e(sigma, reference, max(a, b)) <= metrics.openeqa_e(sigma, reference, min(a, b))


@given(MARKS, MARKS)
def test_scores_follow_the_mark(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert metrics.openeqa_c(low) <= metrics.openeqa_c(high)
    assert metrics.express_c(low, 0.5) <= metrics.express_c(high, 0.5)


@given(SHARES)
@settings(max_examples=60)
def test_interval_holds_the_mean_and_stays_in_range(values: list[float | None]) -> None:
    s = metrics.summary(values, resamples=400, share=True)
    used = [v for v in values if v is not None]
    assert (s.n, s.excluded) == (len(used), len(values) - len(used))
    if not used:
        assert s == metrics.MeanInterval(None, None, None, 0, len(values))
        return
    assert s.mean is not None
    assert s.low is not None
    assert s.high is not None
    assert s.mean == pytest.approx(sum(used) / len(used))
    assert 0 <= s.low <= s.mean + 1e-9 and s.mean - 1e-9 <= s.high <= 1
    assert s.low < s.high


def test_interval_has_the_width_that_theory_gives() -> None:
    values = [0.0, 1.0] * 200  # standard error 0.5 / sqrt(400) = 0.025
    s = metrics.summary(values, seed=3)
    assert s.mean == 0.5
    assert s[1:3] == pytest.approx(metrics.summary(values, share=True)[1:3], abs=0.006)
    assert s[1:3] == pytest.approx((0.5 - 1.96 * 0.025, 0.5 + 1.96 * 0.025), abs=0.006)


def test_same_seed_same_interval() -> None:
    values = [i / 99 for i in range(100)]
    assert metrics.summary(values, seed=5) == metrics.summary(values, seed=5) != metrics.summary(values, seed=6)


@given(MARKS, st.sampled_from([0.0, 0.5, 1.0]), LENGTHS, LENGTHS, st.floats(0.01, 100))
def test_every_score_is_a_share_and_no_unit_of_length_matters(sigma: float, delta: float, reference: float,
                                                              driven: float, unit: float) -> None:
    whole = (metrics.openeqa_e(sigma, reference, driven), metrics.express_e_path(sigma, delta, reference, driven),
             metrics.weighted_confidence((sigma - 1) / 4, reference, driven), metrics.spl(True, reference, driven),
             metrics.path_ratio(reference, driven))
    scaled = (metrics.openeqa_e(sigma, unit * reference, unit * driven),
              metrics.express_e_path(sigma, delta, unit * reference, unit * driven),
              metrics.weighted_confidence((sigma - 1) / 4, unit * reference, unit * driven),
              metrics.spl(True, unit * reference, unit * driven), metrics.path_ratio(unit * reference, unit * driven))
    assert all(0 <= value <= 1 for value in whole)
    assert scaled == pytest.approx(whole, abs=1e-9)


@given(MARKS, LENGTHS, LENGTHS)
def test_grounding_orders_express_scores(sigma: float, reference: float, driven: float) -> None:
    none, half, full = (metrics.express_e_path(sigma, delta, reference, driven) for delta in (0.0, 0.5, 1.0))
    assert none == 0 and half == pytest.approx(full / 2) and full <= metrics.express_c_star(sigma)
    assert metrics.express_c(sigma, 1.0) == metrics.express_c_star(sigma) >= metrics.openeqa_c(sigma)


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_a_task_succeeds_exactly_when_all_of_its_goals_hold(predicates: list[bool]) -> None:
    share = metrics.goal_condition_success(predicates)
    assert 0 <= share <= 1 and metrics.task_success(predicates) == (share == 1)
    assert share == metrics.goal_condition_success(sorted(predicates))


@given(LENGTHS, LENGTHS)
def test_arriving_is_a_matter_of_distance_alone(a: float, b: float) -> None:
    assert metrics.arrived(min(a, b)) >= metrics.arrived(max(a, b))
    assert metrics.spl(False, a, b) == 0


def test_paired_difference_cancels_what_is_common() -> None:
    hard = [i / 50 for i in range(50)]
    better = [min(1.0, h + 0.1) for h in hard]
    d = metrics.paired_difference(better, hard)
    assert d.mean is not None
    assert d.low is not None
    assert 0.08 < d.low <= d.mean <= 0.1001
    unpaired = metrics.summary(better)
    assert unpaired.high is not None
    assert unpaired.low is not None
    assert d.high is not None
    assert d.high - d.low < (unpaired.high - unpaired.low) / 5


def test_paired_difference_uses_questions_that_both_have() -> None:
    assert metrics.paired_difference([1.0, None, 0.5], [0.5, 1.0, None])[:1] == (0.5,)
    assert metrics.paired_difference([1.0, None, 0.5], [0.5, 1.0, None])[3:] == (1, 2)
