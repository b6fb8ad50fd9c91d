"""Backups of a memory file, made while a robot writes it, and put back whole or not at all.

SQLite's online backup copies one moment of a database inside one transaction of the target. So a copy that is cut off
(kill -9, a full disk) leaves the target as it was.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory.database import WAIT_S, check_ours, format_of, locked, reading, roll_back, true_path


class Backup(NamedTuple):
    """A backup as it was written and checked."""

    path: Path
    keyframes: int
    bytes: int


def back_up(path: Path, backup: Path) -> Backup:
    """Copy a memory file as it is at this moment, also while it is being written, and check the copy.

    Nothing is under the backup's name before it is whole. Raises StorageError; an existing backup is not overwritten.
    """
    with named(path, "backed up"):
        source = true_path(path)
        roll_back(source)
        _check_memory(source)
        if backup.exists():
            raise StorageError(f"{backup} exists: name another file for the backup")
        backup.parent.mkdir(parents=True, exist_ok=True)
        part = backup.with_name(f"{backup.name}.part")
        try:
            part.unlink(missing_ok=True)
            copy(source, part)
            _alone(part)
            keyframes = checked(part)
            os.replace(part, backup)
            _sync(backup.parent)
        finally:
            part.unlink(missing_ok=True)
        return Backup(backup, keyframes, backup.stat().st_size)


def check_backup(backup: Path) -> Backup:
    """Return what a backup holds. Raises StorageError for one that is missing, damaged, or of another format."""
    with named(backup, "read"):
        _check_memory(backup)
        return Backup(backup, checked(backup), backup.stat().st_size)


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


def _check_memory(path: Path) -> None:
    """Check that a file is a memory of this format; it may have several names, as copies of a backup often have.

    Raises StorageError.
    """
    path = Path(os.path.realpath(path))
    if not path.is_file():
        raise StorageError(f"no memory file {path}: name the file that the memory node wrote, or a backup of it")
    check_ours(path)
    if not format_of(path):
        raise StorageError(f"memory {path} is empty: name the file that the memory node wrote")


def _sync(folder: Path) -> None:
    """Let renamed files survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
