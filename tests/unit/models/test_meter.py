"""Counts and prices are the same for any order of calls."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.errors import BudgetSpent
from eqa_nodes.core.types.costs import CallAccount
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.meter import UsageMeter

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
