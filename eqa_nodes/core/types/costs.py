"""What calls of a model cost, and what they may still cost."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class Usage:
    """Requests sent and tokens counted so far, those of failed calls included (as far as the server says).

    money: what the tokens cost, in the currency of the prices; 0.0 where no prices are known. images: in the messages
    of calls that were answered. tokens_cached: those of tokens_in that the server had read before, where it says so.
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
    """What calls of a model may cost; inf = no limit."""

    calls: float = math.inf
    tokens: float = math.inf
    money: float = math.inf


UNLIMITED = CallBudget()


class CallAccount:
    """What calls of a model have cost, by role and model, and what they may still cost. Any thread may charge it.

    It travels with a question (Question.account) to whatever asks a model for it.
    """

    def __init__(self, budget: CallBudget = UNLIMITED) -> None:
        self.budget = budget
        self._paid: dict[tuple[str, str], Usage] = {}
        self._kept, self._lock = 0, threading.Lock()

    @property
    def by_role(self) -> dict[tuple[str, str], Usage]:
        """What each role and model has cost."""
        with self._lock:
            return dict(self._paid)

    @property
    def total(self) -> Usage:
        """What all calls have cost, those that failed too."""
        return sum(self.by_role.values(), Usage())

    def charge(self, usage: Usage, role: str = "", model: str = "") -> None:
        """Add what a request has cost."""
        with self._lock:
            self._paid[role, model] = self._paid.get((role, model), Usage()) + usage

    def left(self) -> CallBudget:
        """Return what may still be spent."""
        if self.budget == UNLIMITED:
            return UNLIMITED
        spent, budget = self.total, self.budget
        return CallBudget(budget.calls - self._kept - spent.calls,
                          budget.tokens - spent.tokens_in - spent.tokens_out, budget.money - spent.money)

    @contextmanager
    def keeping(self, calls: int) -> Iterator[None]:
        """Keep so many calls for what comes after."""
        self._kept += calls
        try:
            yield
        finally:
            self._kept -= calls


class RoleAccount(CallAccount):
    """Charges several accounts for what one model does in one role; the first of them says what may be spent."""

    def __init__(self, role: str, model: str, first: CallAccount, *others: CallAccount) -> None:
        super().__init__()
        self._role, self._model, self._accounts = role, model, (first, *others)

    def charge(self, usage: Usage, role: str = "", model: str = "") -> None:
        """Add what a request has cost to each account."""
        for account in self._accounts:
            account.charge(usage, self._role, self._model)

    def left(self) -> CallBudget:
        """Return what may still be spent."""
        return self._accounts[0].left()
