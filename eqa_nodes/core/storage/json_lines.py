"""Files with one JSON value per line: each line is durable, and an incomplete last line is dropped."""

from __future__ import annotations

import fcntl
import io
import itertools
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Generic, TypeVar

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.codec import begins, decode, dumps, loads

T = TypeVar("T")
_LONGEST = 1 << 26  # maximum length of a line, bytes; the longest ones written have a few kB


@dataclass(frozen=True)
class Lines(Generic[T]):
    """Content of a file. dropped: its incomplete last line, "" = none."""

    values: list[T] = field(default_factory=list)
    dropped: str = ""


def read_lines(path: Path, kind: type[T], again: str) -> Lines[T]:
    """Read all lines; a missing file has none. again: what is redone if a broken line is removed, for the message.

    Raises StorageError for an unreadable file, for a broken line before the last one, and for an incomplete last line
    that is not the beginning of a valid one: a writer would cut it off, although the file is not one of ours.
    """
    if path.exists() and not path.is_file():
        raise StorageError(f"cannot read {path}: it is not a file")
    found = Lines[T]()
    try:
        with path.open("rb") if path.exists() else io.BytesIO() as file:
            for number in itertools.count(1):
                line = file.readline(_LONGEST)
                if not line.endswith(b"\n") and len(line) < _LONGEST:
                    return replace(found, dropped=_torn(kind, line.decode(errors="replace"), path))
                found.values.append(_value(kind, line, path, number, again))
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error}") from error
    raise AssertionError("a file ends")


def _value(kind: type[T], line: bytes, path: Path, number: int, again: str) -> T:
    try:
        if len(line) >= _LONGEST:
            raise ValueError(f"it is longer than {_LONGEST} bytes")
        return decode(kind, loads(line))
    except (ValueError, StorageError) as error:
        raise StorageError(f"{path}, line {number} is broken: {error}. Remove it to {again} again") from error


def _torn(kind: type[T], line: str, path: Path) -> str:
    begin = begins(kind)
    if line.strip("\0")[:len(begin)] not in (begin[:len(line)], ""):  # a power cut may leave zeros
        raise StorageError(f"{path} was not written by this project: it ends with {line[-80:]!r}, which is "
                           "not the beginning of a valid line. Choose another file")
    return line


class LineWriter:
    """Appends lines; use with `with`. Locked for one process: another one waits or gets a StorageError.

    An incomplete last line is cut off. Raises StorageError if the file cannot be written.
    """

    def __init__(self, path: Path, wait: bool = False) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise StorageError(f"another process is writing to {path} (another run?): wait for it, or choose another "
                               "directory") from error
        self.dropped = self._cut()

    def append(self, *values: object) -> None:
        """Write a line for each value and wait until they are on disk; all of them or none.

        Raises StorageError, and ValueError for a value that JSON cannot represent.
        """
        left = memoryview("".join(dumps(value) + "\n" for value in values).encode())
        before = self._file.seek(0, os.SEEK_END)
        try:
            while left:
                left = left[self._file.write(left):]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(before)  # otherwise the next line would continue an incomplete one
            raise StorageError(f"{self._path} cannot be written: {error}") from error

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        self._file.close()

    def __enter__(self) -> LineWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _cut(self) -> str:
        """Remove an incomplete last line and return it."""
        end = self._file.seek(0, os.SEEK_END)
        self._file.seek(max(end - 1, 0))
        if self._file.read(1) in (b"\n", b""):
            return ""
        self._file.seek(0)
        data = self._file.read()
        self._file.truncate(data.rfind(b"\n") + 1)
        return data[data.rfind(b"\n") + 1:].decode(errors="replace")
