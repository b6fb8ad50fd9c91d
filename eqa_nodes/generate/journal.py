"""Files of one JSON line an entry, each durable before the next step is paid for."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

from eqa_nodes.core.codec import decode, dumps, encode
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.model import Usage

T = TypeVar("T")


class Lines(Generic[T]):
    """Entries of one type. What a kill left of a half-written last line is dropped; one process at a time may write.

    Raises StorageError for a broken line, or when another process has the file.
    """

    def __init__(self, path: Path, kind: type[T]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise StorageError(f"another run is writing {path}: wait for it, or choose another --out") from error
        try:
            self.entries = self._read(path, kind)
        except StorageError:
            self._file.close()
            raise

    def append(self, entry: T) -> None:
        """Write an entry and wait until it is on the disk."""
        self._file.write(dumps(entry).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.entries.append(entry)

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        self._file.close()

    def _read(self, path: Path, kind: type[T]) -> list[T]:
        self._file.seek(0)
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        self._file.truncate(whole)
        entries = []
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                entries.append(decode(kind, json.loads(line)))
            except (ValueError, StorageError) as error:
                raise StorageError(f"{path}, line {number} is broken: {error}. Remove the line to do it again") \
                    from error
        return entries


class Step(NamedTuple):
    """Something that was paid for: what came of it, as plain JSON, and what it cost."""

    key: str
    value: Any
    usage: Usage


class Paid:
    """Does each step once, in this process or an earlier one, and sums what all of them cost."""

    def __init__(self, lines: Lines[Step], usage: Callable[[], Usage]) -> None:
        """usage: what all models together have used in this process so far."""
        self._lines, self._usage = lines, usage
        self._known = {step.key: step for step in lines.entries}

    def once(self, key: str, kind: Any, ask: Callable[[], T]) -> T:
        """Return what `ask` returned under this key, a value of type `kind`; what it raises is not kept."""
        if key not in self._known:
            before = self._usage()
            step = Step(key, encode(ask()), self._usage() - before)
            self._lines.append(step)
            self._known[key] = step
        return cast(T, decode(kind, self._known[key].value))

    def spent(self) -> Usage:
        """Return what all kept steps cost, those of earlier processes included."""
        return sum((step.usage for step in self._lines.entries), Usage())
