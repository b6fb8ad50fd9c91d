"""Counts the usage of a backend and enforces its budget."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from eqa_nodes.core.errors import BudgetSpent
from eqa_nodes.core.model import Budget
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.models.config import ModelConfig


class UsageMeter:
    """Counts calls and tokens, computes their price and checks the budget. Safe for threads."""

    def __init__(self, config: ModelConfig = ModelConfig()) -> None:
        self._budget = Budget(config.budget_calls, config.budget_tokens, config.budget_money)
        self._prices = config.price_in / 1e6, config.price_out / 1e6
        self._saved = (config.price_in - config.price_cached) / 1e6 if config.price_cached else 0.0
        self._usage = Usage()
        self._lock = threading.Condition()
        self._held, self._holders = 0.0, 0  # maximum cost of the running calls, and their number
        self._more = 1.0  # highest ratio so far of the input tokens that a server counted to those expected

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far; money is computed from the sums, so it does not depend on the order of calls."""
        with self._lock:
            return self._priced(self._usage)

    def check(self) -> None:
        """Raise BudgetSpent if nothing is left for another call."""
        self._budget.check(self.usage)

    @contextmanager
    def holding(self, tokens_in: float, tokens_out: int) -> Iterator[None]:
        """Reserve the maximum cost of a call while it runs. Raises BudgetSpent if the budget does not cover it.

        tokens_in: expected number; tokens_out: maximum. Waits for running calls, which may cost less than reserved.
        """
        with self._lock:
            while True:
                most = tokens_in * self._more * self._prices[0] + tokens_out * self._prices[1]
                over = self._budget.money and self._priced(self._usage).money + self._held + most > self._budget.money
                if not (over and self._holders):
                    break
                self._lock.wait()
            self._budget.check(self._priced(self._usage))
            if over:
                raise BudgetSpent(f"the budget of {self._budget.money:g} for the model does not cover another call, "
                                  f"which may cost {most:.2g} ({self._priced(self._usage).money:.4g} is spent): raise "
                                  "it, or ask less")
            self._held, self._holders = self._held + most, self._holders + 1
        try:
            yield
        finally:
            with self._lock:
                self._held, self._holders = self._held - most, self._holders - 1
                self._lock.notify_all()

    def was_read(self, expected: float, tokens_in: int) -> None:
        """Correct later estimates by the number of input tokens that a server counted for a request."""
        with self._lock:
            self._more = max(self._more, tokens_in / expected) if expected else self._more

    def add(self, account: CallAccount | None, calls: int = 0, tokens_in: int = 0, tokens_out: int = 0,
            images: int = 0, tokens_cached: int = 0) -> None:
        """Add to the counts, and charge an account. tokens_cached: the part of tokens_in that was cached."""
        spent = Usage(calls, tokens_in, tokens_out, images=images, tokens_cached=tokens_cached)
        with self._lock:
            self._usage += spent
        if account is not None:
            account.charge(self._priced(spent))

    def _priced(self, usage: Usage) -> Usage:
        return replace(usage, money=usage.tokens_in * self._prices[0] + usage.tokens_out * self._prices[1]
                       - usage.tokens_cached * self._saved)
