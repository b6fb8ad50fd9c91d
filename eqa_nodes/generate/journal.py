"""Files with one JSON line per entry; each is on the disk before the next paid step begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.codec import decode, encode
from eqa_nodes.core.storage.json_lines import LineWriter, read_lines
from eqa_nodes.core.types.costs import Usage

T = TypeVar("T")


class Journal(Generic[T]):
    """Entries of one type. Raises StorageError for a broken line, or when another process uses the file."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        self._lines = LineWriter(path)
        try:
            self.entries = read_lines(path, kind, "do it").values
        except StorageError:
            self._lines.close()
            raise

    def append(self, entry: T) -> None:
        """Write an entry and wait until it is on the disk."""
        self._lines.append(entry)
        self.entries.append(entry)

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        self._lines.close()


class JournalEntry(NamedTuple):
    """A paid step: its result, as plain JSON, and its cost."""

    key: str
    value: Any
    usage: Usage


class Paid:
    """Runs each step once, in this process or an earlier one, and sums the costs."""

    def __init__(self, lines: Journal[JournalEntry], usage: Callable[[], Usage]) -> None:
        """usage: returns the usage of all models together in this process so far."""
        self._lines, self._usage = lines, usage
        self._known = {step.key: step for step in lines.entries}

    def once(self, key: str, kind: Any, ask: Callable[[], T]) -> T:
        """Return the stored result of `ask` for this key, of type `kind`; exceptions are not stored."""
        if key not in self._known:
            before = self._usage()
            step = JournalEntry(key, encode(ask()), self._usage() - before)
            self._lines.append(step)
            self._known[key] = step
        return cast(T, decode(kind, self._known[key].value))

    def spent(self) -> Usage:
        """Return the cost of all stored steps, including those of earlier processes."""
        return sum((step.usage for step in self._lines.entries), Usage())
