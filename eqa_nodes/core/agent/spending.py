"""What a model may still be paid for one question, held around every single call of its backend."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

from eqa_nodes.core.errors import LimitReached
from eqa_nodes.core.model import Backend, Choice, Completion, Message, Schema, Usage, generate_with

T = TypeVar("T")
_NO_CALLS = "calls: the question may make no more of them"
_LEAST_REPLY = 32  # tokens: a shorter reply says nothing
_CHARS_PER_TOKEN, _IMAGE_TOKENS = 4, 255  # what a call reads, before the server has counted it


class CallBudget(NamedTuple):
    """What may be spent; inf = no limit."""

    calls: float = math.inf
    tokens: float = math.inf
    money: float = math.inf


BOTTOMLESS = CallBudget()


class _Open:
    """A purse that is being spent. kept: calls of it that are for something else.

    running: what the call that is being made has cost so far; a backend may send several requests for one.
    """

    def __init__(self, purse: CallBudget) -> None:
        self.purse, self.spent, self.kept = purse, Usage(), 0
        self.running: Callable[[], Usage] = Usage

    def left(self) -> CallBudget:
        spent = self.spent + self.running()
        return CallBudget(self.purse.calls - self.kept - spent.calls,
                          self.purse.tokens - spent.tokens_in - spent.tokens_out, self.purse.money - spent.money)


_OPEN: ContextVar[_Open | None] = ContextVar("_OPEN", default=None)


@contextmanager
def spending(purse: CallBudget) -> Iterator[None]:
    """Hold the calls that are made inside, by this thread, to a purse. They raise LimitReached when it is empty."""
    token = _OPEN.set(_Open(purse) if purse != BOTTOMLESS else None)
    try:
        yield
    finally:
        _OPEN.reset(token)


@contextmanager
def keeping(calls: int) -> Iterator[None]:
    """Keep so many calls of the purse for what comes after."""
    purse = _OPEN.get()
    if purse is None:
        yield
        return
    purse.kept += calls
    try:
        yield
    finally:
        purse.kept -= calls


def affordable(asks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """Yield what each returns, up to the one that the purse does not allow; a call is kept for the answer itself."""
    for ask in asks:
        try:
            with keeping(1):
                said = ask()
        except LimitReached:
            return
        yield said


def left() -> CallBudget:
    """Return what may be spent now."""
    purse = _OPEN.get()
    return BOTTOMLESS if purse is None else purse.left()


def repeats(most: int) -> int:
    """Return how often a request may be sent again when it fails. Raises LimitReached where it may not be sent at all.

    Each time counts as a call of the question. most: what the backend's settings allow.
    """
    calls = left().calls
    if calls < 1:
        raise LimitReached(_NO_CALLS)
    return int(min(most, calls - 1))


def spare_tokens(usage: Usage, messages: Sequence[Message], max_tokens: int, most: int) -> int:
    """Return how many tokens a reply may have beyond max_tokens by what is left, at most `most`.

    usage: of the model so far.
    """
    purse = _OPEN.get()
    if purse is None:
        return most
    try:
        return max(0, _reply_within(purse.left(), usage, messages, max_tokens + most) - max_tokens)
    except LimitReached:
        return 0


class BudgetedBackend:
    """A backend whose calls are held to the purse around them. Implements Backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self.model = backend, backend.model

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far."""
        return self._backend.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None) -> Completion:
        """Return the model's next turn, no longer than is left. Raises LimitReached, and what the backend raises."""
        return self._paid(messages, max_tokens,
                          lambda most: generate_with(self._backend, messages, most, seed, schema))

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0) -> Choice:
        """Return how probable the model holds each option. Raises as `generate`."""
        return self._paid(messages, _LEAST_REPLY, lambda _: self._backend.choose(messages, options, seed))

    def close(self) -> None:
        """Release connections."""
        self._backend.close()

    def _paid(self, messages: Sequence[Message], max_tokens: int, call: Callable[[int], T]) -> T:
        purse = _OPEN.get()
        if purse is None:
            return call(max_tokens)
        before = self._backend.usage
        most = _reply_within(purse.left(), before, messages, max_tokens)
        purse.running = lambda: self._backend.usage - before
        try:
            return call(most)
        finally:  # failed calls cost too
            purse.spent, purse.running = purse.spent + purse.running(), Usage


def _reply_within(purse: CallBudget, usage: Usage, messages: Sequence[Message], max_tokens: int) -> int:
    """Return how long a reply may be, tokens. Raises LimitReached where no call may be made.

    usage: of the model so far, which tells what a token costs on average.
    """
    if purse.calls < 1:
        raise LimitReached(_NO_CALLS)
    tokens = usage.tokens_in + usage.tokens_out
    payable = purse.money * tokens / usage.money if usage.money else math.inf
    reply = min(purse.tokens, payable) - tokens_read(messages)
    if purse.money <= 0 or reply < min(_LEAST_REPLY, max_tokens):
        name = "tokens" if purse.tokens <= payable and purse.money > 0 else "money"
        raise LimitReached(f"{name}: what is left does not do for another call")
    return int(min(max_tokens, reply))


def tokens_read(messages: Sequence[Message]) -> float:
    """Return about how many tokens a model reads, before it has counted them."""
    parts = [part for message in messages for part in message.parts]
    return sum(len(part) / _CHARS_PER_TOKEN if isinstance(part, str) else _IMAGE_TOKENS for part in parts)
