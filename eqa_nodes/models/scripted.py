"""A model that replays a list of replies, for tests and for trying the pipeline without a model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from eqa_nodes.core.errors import ConfigError, ModelError, StorageError
from eqa_nodes.core.ledger import tokens_read
from eqa_nodes.core.model import Choice, Completion, Message, Schema, fraction, images_in
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.meter import UsageMeter

Scripted = str | Completion | Choice | Exception | Callable[[Sequence[Message]], str]


def read_script(path: Path) -> list[Scripted]:
    """Read the replies of a file: a JSON list of texts (for generate) and lists of probabilities (for choose).

    Raises ConfigError.
    """
    try:
        replies = read_json(path)
    except StorageError as error:
        raise ConfigError(f"script of a model: {error}") from error
    if not isinstance(replies, list):
        raise ConfigError(f"{path} must hold a JSON list of replies")
    return [Choice(_probabilities(path, reply), "verbalised") if isinstance(reply, list) else str(reply)
            for reply in replies]


def _probabilities(path: Path, reply: list[object]) -> tuple[float, ...]:
    try:
        return tuple(fraction(p, "a probability") for p in reply)
    except ValueError as error:
        raise ConfigError(f"{path} contains a list that is not a choice: {error}") from error


class ScriptedBackend:
    """Replays replies in order: a str or Completion for generate, a Choice for choose, an exception to be raised.

    A reply that depends on the messages is given as a function of them.

    `requests` records all calls. Raises ModelError after the last reply, or if the next one is of the other kind.
    """

    def __init__(self, replies: Sequence[Scripted] = (), model: str = "scripted", budget_calls: int = 0,
                 budget_tokens: int = 0, config: ModelConfig | None = None) -> None:
        """config: prices and budgets; None = no prices, and the budgets of budget_calls and budget_tokens."""
        self.model = model
        self.requests: list[tuple[Message, ...]] = []
        self._replies = list(replies)
        self._meter = UsageMeter(config or ModelConfig(budget_calls=budget_calls, budget_tokens=budget_tokens))
        self._lock = threading.Lock()

    @classmethod
    def from_options(cls, config: ModelConfig, api_key: str = "") -> ScriptedBackend:
        """Create it from a configuration (used by the registry). config.model: file of replies. Raises ConfigError."""
        return cls(read_script(Path(config.model)) if config.model else (), config=config)

    @classmethod
    def check(cls, config: ModelConfig) -> None:
        """Raise ConfigError for a script that cannot be read."""
        cls.from_options(config).close()

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far."""
        return self._meter.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Return the next reply; a plain str counts its words as tokens. schema: not used."""
        reply = self._next(messages, max_tokens, account)
        if isinstance(reply, str):
            asked = sum(len(part.split()) for m in messages for part in m.parts if isinstance(part, str))
            reply = Completion(reply, asked, len(reply.split()))
        if not isinstance(reply, Completion):
            raise ModelError(f"script: reply {len(self.requests)} is {reply!r}, but text was asked for")
        self._meter.add(account, 0, reply.tokens_in, reply.tokens_out, images_in(messages))
        return reply

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
               account: CallAccount | None = None) -> Choice:
        """Return the next reply."""
        reply = self._next(messages, 1, account)
        if not isinstance(reply, Choice) or len(reply.probabilities) != len(options):
            raise ModelError(f"script: reply {len(self.requests)} is {reply!r}, "
                             f"but a choice of {len(options)} options was asked for")
        return reply

    def close(self) -> None:
        """Nothing to release."""

    def _next(self, messages: Sequence[Message], max_tokens: int,
              account: CallAccount | None) -> str | Completion | Choice:
        with self._lock, self._meter.holding(tokens_read(messages), max_tokens):
            self._meter.add(account, 1)
            self.requests.append(tuple(messages))
            number = len(self.requests)
        if number > len(self._replies):
            raise ModelError(f"script: it has ended after {len(self._replies)} replies")
        reply = self._replies[number - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply(messages) if callable(reply) else reply
