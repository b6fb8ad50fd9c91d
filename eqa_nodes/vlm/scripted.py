"""A model that plays a list of replies: for tests, and to try a chain without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.model import Budget, Choice, Completion, Message, Usage

Scripted = str | Completion | Choice | Exception | Callable[[Sequence[Message]], str]


class ScriptedBackend:
    """Plays replies in order: a str or Completion for generate, a Choice for choose, an exception to be raised.

    A function makes its text from the messages, where a reply depends on what is shown.

    What was asked stands in `requests`. Raises ModelError when the script ends, or holds the other kind of reply.
    """

    def __init__(self, replies: Sequence[Scripted] = (), model: str = "scripted",
                 budget_calls: int = 0, budget_tokens: int = 0) -> None:
        self.model = model
        self.requests: list[tuple[Message, ...]] = []
        self._replies = list(replies)
        self._budget = Budget(budget_calls, budget_tokens)
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far."""
        return self._usage + Usage()

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0) -> Completion:
        """Return the next reply; a plain str counts its words as tokens."""
        reply = self._next(messages)
        if isinstance(reply, str):
            asked = sum(len(part.split()) for m in messages for part in m.parts if isinstance(part, str))
            reply = Completion(reply, asked, len(reply.split()))
        if not isinstance(reply, Completion):
            raise ModelError(f"script: reply {len(self.requests)} is {reply!r}, but text was asked for")
        self._usage += Usage(0, reply.tokens_in, reply.tokens_out)
        return reply

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0) -> Choice:
        """Return the next reply."""
        reply = self._next(messages)
        if not isinstance(reply, Choice) or len(reply.probabilities) != len(options):
            raise ModelError(f"script: reply {len(self.requests)} is {reply!r}, "
                             f"but a choice of {len(options)} options was asked for")
        return reply

    def close(self) -> None:
        """Nothing to release."""

    def _next(self, messages: Sequence[Message]) -> str | Completion | Choice:
        self._budget.check(self._usage)
        self._usage += Usage(calls=1)
        self.requests.append(tuple(messages))
        if len(self.requests) > len(self._replies):
            raise ModelError(f"script: it has ended after {len(self._replies)} replies")
        reply = self._replies[len(self.requests) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply(messages) if callable(reply) else reply
