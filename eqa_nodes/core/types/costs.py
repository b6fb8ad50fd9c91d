"""The costs of model calls, and the budget for them."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class Usage:
    """Requests sent and tokens counted so far, including failed calls (as far as the server reports them).

    money: cost of the tokens in the currency of the prices, 0.0 if no prices are known. images: number of images in
    answered calls. tokens_cached: the part of tokens_in that the server took from its cache, if it reports that.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    money: float = 0.0
    images: int = 0
    tokens_cached: int = 0

    def __sub__(self, before: Usage) -> Usage:
        return Usage(self.calls - before.calls, self.tokens_in - before.tokens_in, self.tokens_out - before.tokens_out,
                     self.money - before.money, self.images - before.images, self.tokens_cached - before.tokens_cached)

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out,
                     self.money + other.money, self.images + other.images, self.tokens_cached + other.tokens_cached)


class CallBudget(NamedTuple):
    """The budget for model calls; inf = no limit."""

    calls: float = math.inf
    tokens: float = math.inf
    money: float = math.inf


UNLIMITED = CallBudget()


class CallAccount:
    """The costs of model calls by role and model, and the budget left for them. Any thread may charge it.

    A question carries it (Question.account) to every component that asks a model for it.
    """

    def __init__(self, budget: CallBudget = UNLIMITED) -> None:
        self.budget = budget
        self._paid: dict[tuple[str, str], Usage] = {}
        self._kept, self._lock = 0, threading.Lock()

    @property
    def by_role(self) -> dict[tuple[str, str], Usage]:
        """Costs of each role and model."""
        with self._lock:
            return dict(self._paid)

    @property
    def total(self) -> Usage:
        """Costs of all calls, including failed ones."""
        return sum(self.by_role.values(), Usage())

    def charge(self, usage: Usage, role: str = "", model: str = "") -> None:
        """Add the cost of a request."""
        with self._lock:
            self._paid[role, model] = self._paid.get((role, model), Usage()) + usage

    def left(self) -> CallBudget:
        """Return the remaining budget."""
        if self.budget == UNLIMITED:
            return UNLIMITED
        spent, budget = self.total, self.budget
        return CallBudget(budget.calls - self._kept - spent.calls,
                          budget.tokens - spent.tokens_in - spent.tokens_out, budget.money - spent.money)

    @contextmanager
    def keeping(self, calls: int) -> Iterator[None]:
        """Reserve a number of calls for later."""
        self._kept += calls
        try:
            yield
        finally:
            self._kept -= calls


class RoleAccount(CallAccount):
    """Charges several accounts for the calls of one model in one role; the first account sets the budget."""

    def __init__(self, role: str, model: str, first: CallAccount, *others: CallAccount) -> None:
        super().__init__()
        self._role, self._model, self._accounts = role, model, (first, *others)

    def charge(self, usage: Usage, role: str = "", model: str = "") -> None:
        """Add the cost of a request to each account."""
        for account in self._accounts:
            account.charge(usage, self._role, self._model)

    def left(self) -> CallBudget:
        """Return the remaining budget."""
        return self._accounts[0].left()
