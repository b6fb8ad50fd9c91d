"""Backs up a memory file while a robot writes it, and restores it completely or not at all.

SQLite's online backup copies a consistent state of a database inside one transaction of the target. An interrupted
copy (kill -9, full disk) therefore leaves the target unchanged.
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
    """A backup that was written and checked."""

    path: Path
    keyframes: int
    bytes: int


def back_up(path: Path, backup: Path) -> Backup:
    """Copy the current state of a memory file, even while it is being written, and check the copy.

    The backup's name appears only once the copy is complete. Raises StorageError, also if the backup file exists.
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
    """Return the contents of a backup. Raises StorageError if it is missing, damaged or has another format."""
    with named(backup, "read"):
        _check_memory(backup)
        return Backup(backup, checked(backup), backup.stat().st_size)


def restore(backup: Path, path: Path, before: Path | None = None) -> Backup:
    """Replace a memory file by a backup, completely or not at all. before: file for a backup of the old contents.

    Raises StorageError if the backup is refused (see check_backup) or a robot has the memory open.
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
        copied.execute("PRAGMA journal_mode = WAL").fetchall()  # an interrupted copy is only in the log, and ignored
        copied.execute("PRAGMA synchronous = FULL")
        held.backup(copied)
        copied.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # removes replaced data from the log


def checked(path: Path) -> int:
    """Return the number of keyframes in a file after reading every page. Raises StorageError if it is damaged."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT_S)) as db:
        (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise StorageError(f"memory {path} is damaged ({verdict}): restore a backup of it")
        return int(db.execute("SELECT count(*) FROM keyframes").fetchone()[0])


@contextmanager
def named(path: Path, what: str) -> Iterator[None]:
    """Convert file and database errors to StorageError with the remedy."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StorageError(f"memory {path} could not be {what} ({error}): free space there, check the permissions, or "
                           "name another file") from error


def free_name(path: Path) -> Path:
    """Return this path, or the first numbered variant that does not exist."""
    names = (path, *(path.with_name(f"{path.name}.{n}") for n in range(2, 10_000)))
    return next(name for name in names if not name.exists())


def _alone(path: Path) -> None:
    """Convert a database to a single file without a log, also if others are reading it."""
    with closing(sqlite3.connect(path, timeout=WAIT_S)) as db:
        db.execute("PRAGMA journal_mode = DELETE").fetchall()


def _check_memory(path: Path) -> None:
    """Check that a file is a memory of this format; hard links are allowed, because copies of backups often have them.

    Raises StorageError.
    """
    path = Path(os.path.realpath(path))
    if not path.is_file():
        raise StorageError(f"no memory file {path}: name the file that the memory node wrote, or a backup of it")
    check_ours(path)
    if not format_of(path):
        raise StorageError(f"memory {path} is empty: name the file that the memory node wrote")


def _sync(folder: Path) -> None:
    """Make renamed files survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
