"""Recorded model replies: recorded once, replayed bit for bit without the model.

A cassette holds one JSON line per call: the hash of the request, the request (texts, and images by their hash), the
reply or the error, and the cost.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from eqa_nodes.core.errors import BudgetSpent, ConfigError, ModelError
from eqa_nodes.core.ledger import tokens_read
from eqa_nodes.core.model import (
    MOST_TOKENS,
    Backend,
    Choice,
    Completion,
    Message,
    Schema,
    choose_with,
    generate_with,
)
from eqa_nodes.core.storage.codec import dumps
from eqa_nodes.core.storage.json_lines import LineWriter, read_lines
from eqa_nodes.core.storage.text import stored
from eqa_nodes.core.types.costs import UNLIMITED, CallAccount, Usage
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.meter import UsageMeter

_MOST = (1000, 1000 * MOST_TOKENS, 1000 * MOST_TOKENS)  # maximum of one call: requests, input tokens, output tokens


@dataclass(frozen=True)
class Call:
    """One call of a model. messages: role and parts (texts, images as "sha256:..."). options: () = text is wanted."""

    model: str
    temperature: float
    messages: tuple[tuple[str, tuple[str, ...]], ...]
    options: tuple[str, ...]
    max_tokens: int  # 0 for a choice
    seed: int

    def key(self) -> str:
        """Return the SHA-256 of the call's canonical JSON."""
        return hashlib.sha256(dumps(self).encode()).hexdigest()


@dataclass(frozen=True)
class CassetteEntry:
    """One call and its result: a completion, a choice or an error.

    place: index, among the recordings of its key, of the recorded error that it replaces; -1 = it is appended.
    """

    key: str
    call: Call
    usage: Usage
    completion: Completion | None = None
    choice: Choice | None = None
    error: str = ""
    place: int = -1

    def __post_init__(self) -> None:
        """Raise ValueError for a result that no call can have: cassette files are untrusted input."""
        if (self.completion is not None) + (self.choice is not None) + bool(self.error) != 1:
            raise ValueError("it is not one of a completion, a choice and an error")
        if not self.error and (self.choice is not None) != bool(self.call.options):
            raise ValueError("a choice is recorded for options, and a completion without")
        if self.choice is not None and not (len(self.choice.probabilities) == len(self.call.options)
                                            and all(0.0 <= p <= 1.0 for p in self.choice.probabilities)):
            raise ValueError(f"{len(self.call.options)} options need as many probabilities from 0 to 1")
        counts = self.usage.calls, self.usage.tokens_in, self.usage.tokens_out
        if not all(0 <= count <= most for count, most in zip(counts, _MOST, strict=True)):
            raise ValueError(f"no call can have cost {counts}: calls, tokens in and out")
        if not 0 <= self.usage.tokens_cached <= self.usage.tokens_in:
            raise ValueError(f"{self.usage.tokens_cached} cached tokens are not some of {self.usage.tokens_in}")


@dataclass
class _Tape:
    """The recordings of a file by key, in file order, and how often each key was played."""

    recordings: dict[str, list[CassetteEntry]] = field(default_factory=dict)
    played: Counter[str] = field(default_factory=Counter)

    def add(self, recording: CassetteEntry) -> None:
        same = self.recordings.setdefault(recording.key, [])
        if 0 <= recording.place < len(same):
            same[recording.place] = recording
        else:
            same.append(recording)

    def next(self, key: str) -> tuple[int, CassetteEntry | None]:
        """Return index and recording for the next call with this key (the last one repeats); (-1, None) if unknown."""
        same = self.recordings.get(key, [])
        self.played[key] += 1
        place = min(self.played[key], len(same)) - 1
        return place, same[place] if same else None

    def models(self) -> list[str]:
        return sorted({same[0].call.model for same in self.recordings.values()})


class Cassette:
    """A recording backend in front of another one. Modes: record calls the model each time; replay never does and
    raises ModelError for unknown calls; auto replays known calls, and records the others and those that had failed.

    Failed calls are recorded too, so that a run with failures replays identically. Replayed calls count with their
    calls, tokens and money, also against the budget. Safe for several threads, and several processes may record to
    one file. Raises ConfigError if the model name is ambiguous, StorageError for a bad file.
    """

    def __init__(self, config: ModelConfig, open_backend: Callable[[], Backend], default_model: str = "") -> None:
        """open_backend: called at the first call that is not replayed. default_model: used if config.model is empty."""
        self._path, self._mode = Path(config.cassette), config.cassette_mode
        self._config, self._open = config, open_backend
        self._meter, self._lock = UsageMeter(config), threading.Lock()
        self._backend: Backend | None = None
        self._tape = _Tape()
        for recording in _read(self._path, needed=self._mode == "replay"):
            self._tape.add(recording)
        self.model = self._name(config.model or default_model)

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far, including replayed calls."""
        return self._meter.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Return the model's next turn, or the recorded one. Raises ModelError, BudgetSpent, StorageError.

        The schema is not recorded: it restates what the prompt asks for, and not every server receives it.
        """
        call = self._call(messages, (), max_tokens, seed)
        expected = tokens_read(messages)
        with self._meter.holding(expected, max_tokens):
            done = self._ask(call, account,
                             lambda backend, own: generate_with(backend, messages, max_tokens, seed, schema, own))
        self._meter.was_read(expected, done.completion.tokens_in if done.completion else 0)
        if done.completion is None:
            raise ModelError(done.error)
        return done.completion._replace(text=stored(done.completion.text))

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
               account: CallAccount | None = None) -> Choice:
        """Return the options' probabilities, or the recorded ones. Raises the errors of generate."""
        call = self._call(messages, tuple(options), 0, seed)
        with self._meter.holding(tokens_read(messages), 1):
            done = self._ask(call, account, lambda backend, own: choose_with(backend, messages, options, seed, own))
        if done.choice is None:
            raise ModelError(done.error)
        return done.choice

    def close(self) -> None:
        """Close the wrapped backend."""
        if self._backend is not None:
            self._backend.close()

    def _name(self, given: str) -> str:
        recorded = self._tape.models()
        if given or len(recorded) == 1:
            return given or recorded[0]
        if self._mode == "replay" or recorded:
            raise ConfigError(f"{self._path} holds calls of {', '.join(recorded) or 'no model'}: say which with "
                              "--model or EQA_VLM_MODEL")
        self._backend = self._open()
        return self._backend.model

    def _call(self, messages: Sequence[Message], options: tuple[str, ...], max_tokens: int, seed: int) -> Call:
        return Call(self.model, self._config.temperature, tuple(
            (message.role, tuple(stored(part) if isinstance(part, str) else "sha256:" + hashlib.sha256(part).hexdigest()
                                 for part in message.parts)) for message in messages),
            options, max_tokens, self._config.seed + seed)

    def _ask(self, call: Call, account: CallAccount | None,
             ask: Callable[[Backend, CallAccount], Completion | Choice]) -> CassetteEntry:
        key = call.key()
        with self._lock:
            place, found = self._tape.next(key)
        if found is not None and (self._mode == "replay" or (self._mode == "auto" and not found.error)):
            self._count(found, account)
            return found
        if self._mode == "replay":
            raise ModelError(f"not recorded: {self._path} holds no {'choice' if call.options else 'reply'} of "
                             f"{call.model} to {_last_words(call)!r} (seed {call.seed}, at most {call.max_tokens} "
                             f"tokens, request {key[:12]}): record it with cassette_mode auto")
        return self._record(key, call, account, ask, place if self._mode == "auto" else -1)

    def _record(self, key: str, call: Call, account: CallAccount | None,
                ask: Callable[[Backend, CallAccount], Completion | Choice], place: int) -> CassetteEntry:
        with self._lock:
            if self._backend is None:
                self._backend = self._open()
        reply, error, own = None, "", CallAccount(UNLIMITED if account is None else account.left())
        try:
            reply = ask(self._backend, own)
        except BudgetSpent:
            raise  # not an error of the model, so it is not recorded
        except ModelError as failure:
            error = str(failure) or "failed"
        paid = replace(own.total, money=0.0)  # the price of a replayed call follows the prices of that run
        recording = CassetteEntry(key, call, paid, reply if isinstance(reply, Completion) else None,
                                  reply if isinstance(reply, Choice) else None, error, place)
        self._count(recording, account)
        with self._lock:
            with LineWriter(self._path, wait=True) as lines:  # other processes may write to the same file
                lines.append(recording)
            self._tape.add(recording)
        return recording

    def _count(self, recording: CassetteEntry, account: CallAccount | None) -> None:
        spent = recording.usage
        self._meter.add(account, spent.calls, spent.tokens_in, spent.tokens_out, spent.images, spent.tokens_cached)


def recorded_calls(path: Path) -> int:
    """Return the number of calls in a cassette, 0 if it does not exist. Raises StorageError for a bad file."""
    return len(_read(path, needed=False))


def _last_words(call: Call) -> str:
    texts = [part for _, parts in call.messages for part in parts if not part.startswith("sha256:")]
    return texts[-1][-120:] if texts else ""


def _read(path: Path, needed: bool) -> list[CassetteEntry]:
    """Return the entries of a file, without an incomplete last line (left by a process that was killed)."""
    if needed and not path.is_file():
        raise ConfigError(f"the cassette {path} does not exist. Record one with cassette_mode record")
    return read_lines(path, CassetteEntry, "ask").values
