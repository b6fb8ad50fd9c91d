"""Counts the usage of a backend, enforces its budget, and limits its rate."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from eqa_nodes.core.errors import BudgetSpent, ModelError
from eqa_nodes.core.model import Budget
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.models.config import ModelConfig

_MINUTE_S = 60.0


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


class RateLimit:
    """Limits the calls, and the tokens used before a call may start, in any 60 s; 0 = no limit.

    The tokens of running calls are unknown, so they count from the end of the call.
    """

    def __init__(self, calls: int = 0, tokens: int = 0, now: Callable[[], float] = time.monotonic) -> None:
        self._calls, self._tokens, self._now = calls, tokens, now
        self._starts: deque[float] = deque(maxlen=calls or None)
        self._used: deque[tuple[float, int]] = deque()
        self._lock = threading.Lock()

    def reserve(self, longest_s: float) -> float:
        """Book the next free start and return the seconds until then.

        Raises ModelError, and books nothing, if that is more than `longest_s` from now.
        """
        with self._lock:
            now = self._now()
            start = max(now, self._after_calls(), self._after_tokens(now))
            if start - now > longest_s:
                limits = [f"{n} {what}/min" for n, what in ((self._calls, "calls"), (self._tokens, "tokens")) if n]
                raise ModelError(f"rate limit ({', '.join(limits)}): the next call could start in {start - now:.0f} s, "
                                 f"after its deadline of {longest_s:g} s: raise model.rate_calls, model.rate_tokens or "
                                 "model.deadline_s")
            if self._calls:
                self._starts.append(start)
            return start - now

    def used(self, tokens: int) -> None:
        """Count the tokens of a finished call."""
        if self._tokens and tokens:
            with self._lock:
                self._used.append((self._now(), tokens))

    def retried(self) -> None:
        """Count one more request of a call that has started."""
        if self._calls:
            with self._lock:
                self._starts.append(max(self._now(), self._starts[-1] if self._starts else 0.0))

    def _after_calls(self) -> float:
        return self._starts[0] + _MINUTE_S if self._calls and len(self._starts) == self._calls else 0.0

    def _after_tokens(self, now: float) -> float:
        while self._used and self._used[0][0] <= now - _MINUTE_S:
            self._used.popleft()
        left, start = sum(tokens for _, tokens in self._used), 0.0
        for when, tokens in self._used:
            if left < self._tokens:
                break
            left, start = left - tokens, when + _MINUTE_S
        return start
