"""Backups of a memory file, made while a robot writes it, and put back whole or not at all.

SQLite's online backup copies one moment of a database inside one transaction of the target. So a copy that is cut off
(kill -9, a full disk) leaves the target as it was.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory.database import WAIT_S, check_ours, format_of, locked, reading, roll_back, true_path

_BLOCK = 1 << 20
_HEX = 64  # characters of a SHA-256


class Backup(NamedTuple):
    """A backup as it was written and checked. format: of the memory file."""

    path: Path
    format: int
    keyframes: int
    bytes: int
    sha256: str


def checksum_file(backup: Path) -> Path:
    """Return the file beside a backup that holds its checksum, as `sha256sum -c` reads it."""
    return backup.with_name(f"{backup.name}.sha256")


def back_up(path: Path, backup: Path) -> Backup:
    """Copy a memory file as it is at this moment, also while it is being written, and check the copy.

    Nothing is under the backup's name before it is whole. Raises StorageError; an existing backup is not overwritten.
    """
    with named(path, "backed up"):
        source = true_path(path)
        roll_back(source)
        found = _known_format(source)
        if backup.exists():
            raise StorageError(f"{backup} exists: name another file for the backup")
        backup.parent.mkdir(parents=True, exist_ok=True)
        part = backup.with_name(f"{backup.name}.part")
        try:
            part.unlink(missing_ok=True)
            copy(source, part)
            _alone(part)
            keyframes = checked(part)
            digest = _digest(part)
            _write_whole(checksum_file(backup), f"{digest}  {backup.name}\n")
            os.replace(part, backup)
            _sync(backup.parent)
        finally:
            part.unlink(missing_ok=True)
        return Backup(backup, found, keyframes, backup.stat().st_size, digest)


def check_backup(backup: Path) -> Backup:
    """Return what a backup holds. Raises StorageError for one that is missing, changed, damaged, or of another format.
    """
    with named(backup, "read"):
        if not backup.is_file():
            raise StorageError(f"no backup {backup}: name the file that eqa memory backup wrote")
        beside = checksum_file(backup)
        if not beside.is_file():
            raise StorageError(f"backup {backup} has no checksum: {beside} is missing; copy both files")
        expected, found = beside.read_text(errors="replace")[:_HEX], _digest(backup)
        if expected != found:
            raise StorageError(f"backup {backup} is not what was backed up: its SHA-256 is {found[:12]}..., "
                               f"{beside.name} says {expected[:12]!r}...; copy it again, or restore another backup")
        number = _known_format(backup)
        check_ours(Path(os.path.realpath(backup)))
        return Backup(backup, number, checked(backup), backup.stat().st_size, found)


def restore(backup: Path, path: Path, before: Path | None = None) -> Backup:
    """Put a backup back as a memory file, whole or not at all. before: what the file held is backed up to it first.

    Raises StorageError: the backup is refused (see check_backup), or a robot has the memory open.
    """
    held = check_backup(backup)
    with named(path, "restored"):
        target = true_path(path)
        roll_back(target)
        check_ours(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = locked(target)
        try:
            if before is not None and format_of(target):
                back_up(target, before)
            copy(backup, target)
            checked(target)
        finally:
            lock.close()
    return held


def copy(source: Path, target: Path) -> None:
    """Copy a database inside one transaction of the target. Raises sqlite3.Error, OSError."""
    with closing(sqlite3.connect(reading(source.absolute()), uri=True, timeout=WAIT_S)) as held, \
            closing(sqlite3.connect(target, timeout=WAIT_S)) as copied:
        copied.execute("PRAGMA journal_mode = WAL").fetchall()  # a copy that is cut off is only in the log, and ignored
        copied.execute("PRAGMA synchronous = FULL")
        held.backup(copied)
        copied.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # what it replaced is in no log any more


def checked(path: Path) -> int:
    """Return how many keyframes a file holds, after reading every page. Raises StorageError for a damaged one."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT_S)) as db:
        (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise StorageError(f"memory {path} is damaged ({verdict}): restore a backup of it")
        return int(db.execute("SELECT count(*) FROM keyframes").fetchone()[0])


@contextmanager
def named(path: Path, what: str) -> Iterator[None]:
    """Name what fails inside, with the remedy."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StorageError(f"memory {path} could not be {what} ({error}): free space there, check the permissions, or "
                           "name another file") from error


def free_name(path: Path) -> Path:
    """Return this name, or one with a number, that no file has."""
    names = (path, *(path.with_name(f"{path.name}.{n}") for n in range(2, 10_000)))
    return next(name for name in names if not name.exists())


def _alone(path: Path) -> None:
    """Make a database one file, without a log beside it, also when somebody reads it."""
    with closing(sqlite3.connect(path, timeout=WAIT_S)) as db:
        db.execute("PRAGMA journal_mode = DELETE").fetchall()


def _known_format(path: Path) -> int:
    """Return the format of a memory, which may have several names: copies of a backup often do. Raises StorageError."""
    path = Path(os.path.realpath(path))
    if not path.is_file():
        raise StorageError(f"no memory file {path}: name the file that the memory node wrote")
    if not (found := format_of(path)):
        raise StorageError(f"memory {path} is empty: name the file that the memory node wrote")
    return found


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _write_whole(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.part")
    with part.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def _sync(folder: Path) -> None:
    """Let renamed files survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
