"""Counts, prices and rate limits hold for any order of calls."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.errors import BudgetSpent, ModelError
from eqa_nodes.core.types.costs import CallAccount
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.meter import RateLimit, UsageMeter

Spends = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**6), st.integers(0, 10**6)), max_size=9)


@given(Spends, st.floats(0, 100), st.floats(0, 100))
def test_money_is_that_of_all_tokens_in_any_order(spends: list[tuple[int, int, int]], price_in: float,
                                                  price_out: float) -> None:
    config = ModelConfig(price_in=price_in, price_out=price_out)
    meter, backwards = UsageMeter(config), UsageMeter(config)
    account = CallAccount()
    for spent in spends:
        meter.add(account, *spent)
    for spent in reversed(spends):
        backwards.add(None, *spent)
    assert meter.usage == backwards.usage
    assert meter.usage.money == pytest.approx(sum(i * price_in + o * price_out for _, i, o in spends) / 1e6)
    assert account.total.money == pytest.approx(meter.usage.money)
    assert account.total.tokens_in == meter.usage.tokens_in == sum(i for _, i, _ in spends)


@given(st.integers(1, 4), st.lists(st.floats(0, 50), min_size=1, max_size=30))
def test_no_minute_holds_more_calls_than_the_limit(limit: int, gaps: list[float]) -> None:
    now, starts = 0.0, []
    rate = RateLimit(limit, now=lambda: now)
    for gap in gaps:
        now += gap
        starts.append(now + rate.reserve(1e9))
    assert all(later >= first - 1e-9 for first, later in zip([0.0, *starts], starts)), "but for rounding"
    for first, later in zip(starts, starts[limit:]):
        assert later >= first + 60.0 - 1e-6


@given(st.integers(1, 500), st.lists(st.tuples(st.floats(0, 30), st.integers(0, 300)), min_size=1, max_size=20))
def test_no_call_begins_while_a_minutes_tokens_are_used(limit: int, calls: list[tuple[float, int]]) -> None:
    now = 0.0
    ended: list[tuple[float, int]] = []
    rate = RateLimit(0, limit, now=lambda: now)
    for lasts, tokens in calls:
        now += rate.reserve(1e9)
        assert sum(used for when, used in ended if when > now - 60.0 + 1e-6) < limit
        now += lasts
        rate.used(tokens)
        ended.append((now, tokens))


def test_calls_that_run_at_once_stay_within_the_budget_of_money() -> None:
    meter = UsageMeter(ModelConfig(price_in=1.0, price_out=1e6, budget_money=10.0))

    def ask() -> None:
        try:
            with meter.holding(0, 4):
                meter.add(None, 1, 0, 3)
        except BudgetSpent:
            pass  # the rest is not enough for a reply of four tokens

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert (meter.usage.calls, meter.usage.money) == (3, 9.0), "one at a time, or two, as far as both would fit"


def test_a_request_is_expected_to_be_as_long_as_the_server_counts() -> None:
    meter = UsageMeter(ModelConfig(price_in=1e6, budget_money=100.0))
    with meter.holding(30, 0):
        meter.add(None, 1, 60)
    meter.was_read(30, 60)
    with pytest.raises(BudgetSpent, match=r"may cost 42 \(60 is spent\)"), meter.holding(21, 0):
        pass
    with meter.holding(20, 0):
        assert meter.usage.money == 60.0


def test_a_call_that_would_wait_too_long_books_nothing() -> None:
    now = 0.0
    rate = RateLimit(1, now=lambda: now)
    assert rate.reserve(10.0) == 0.0
    for _ in range(3):
        with pytest.raises(ModelError, match="^rate limit.*start in 60 s, after its deadline of 10 s"):
            rate.reserve(10.0)
    now = 55.0
    assert rate.reserve(10.0) == pytest.approx(5.0)


def test_a_retry_takes_a_place() -> None:
    now = 0.0
    rate = RateLimit(2, now=lambda: now)
    rate.reserve(1.0)
    rate.retried()
    assert rate.reserve(100.0) == pytest.approx(60.0)


def test_without_limits_nothing_waits() -> None:
    rate = RateLimit()
    for _ in range(100):
        assert rate.reserve(0.0) == 0.0
        rate.used(10**9)
        rate.retried()
