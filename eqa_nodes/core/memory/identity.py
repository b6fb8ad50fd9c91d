"""Checks that a file belongs to this project before it is opened for writing, and that one process writes it."""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
import stat
from contextlib import ExitStack, closing
from pathlib import Path

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.sqlite_files import check_tables

VERSION = 4  # of the file, `PRAGMA user_version`
APPLICATION_ID = 0x4551414D  # "EQAM" in the header of the file, where `file` and sqlite3 read it
WAIT_S = 10.0  # for another process that has the file locked
TRIGGER = ("TRIGGER geometries_of_forgotten",
           "AFTER DELETE ON images BEGIN DELETE FROM geometries WHERE id = OLD.id; END")
_WORDS = re.compile(r"CREATE VIRTUAL TABLE \w+ USING fts5 ?\(", re.IGNORECASE)
_REMEDY = "name another file (file of the memory node)"


def true_path(path: Path) -> Path:
    """Return the one path of a file that has several: through symbolic links, and as seen from the root.

    Raises StorageError for what is not a plain file, and for a file of several names (hard links): its log and its lock
    go by its name, so that two processes could write it at the same time.
    """
    real = Path(os.path.realpath(path))
    try:
        status = real.stat()
    except FileNotFoundError:
        return real
    if not stat.S_ISREG(status.st_mode):
        kind = "folder" if stat.S_ISDIR(status.st_mode) else "pipe, socket or device"
        raise StorageError(f"memory {path} is a {kind}: name a file in it, or another one")
    if status.st_nlink > 1:
        raise StorageError(f"memory {path} has {status.st_nlink} names (hard links), and its log and lock go by one: "
                           "remove the others, or copy the file")
    return real


def roll_back(path: Path) -> None:
    """Undo the transaction that a killed process left half done in a rollback journal, as SQLite does for a writer.

    Who only reads cannot, and would see half of it or fail. Memory files have such a journal only while they change to
    or from a write-ahead log: when they are restored. Raises sqlite3.Error.
    """
    if path.is_file() and path.with_name(path.name + "-journal").exists():
        with closing(sqlite3.connect(path, timeout=WAIT_S)) as db:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()


def reading(path: Path, look: bool = False) -> str:
    """Return the URI that opens a file for reading alone.

    Without a log beside it nobody has a memory open. Then nothing is locked or laid beside it for a look, and where
    nobody can write, not even a lock.
    """
    fixed = (look or not os.access(path.parent, os.W_OK)) and not path.with_name(path.name + "-wal").exists()
    return f"{path.as_uri()}?mode=ro" + "&immutable=1" * fixed


def check_ours(path: Path) -> None:
    """Check a file that is there, without changing it. Raises StorageError unless it is of this project and VERSION.

    An empty file, and a database without any table, is nobody's: that may become a memory.
    """
    found = format_of(path)
    if found not in (0, VERSION):
        raise StorageError(f"memory {path} has format {found}, and this version reads {VERSION}: open it with the "
                           f"version of eqa_nodes that wrote it, or {_REMEDY}")


def format_of(path: Path) -> int:
    """Return the format of a memory file without changing it; 0 = nobody's, or not there.

    Raises StorageError when it is not of this project.
    """
    if not path.is_file() or not path.stat().st_size:
        return 0
    with closing(sqlite3.connect(reading(path, look=True), timeout=WAIT_S, uri=True)) as db:
        try:
            (owner,), (found,) = (db.execute(f"PRAGMA {what}").fetchone() for what in ("application_id",
                                                                                        "user_version"))
            tables = {name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            owner &= 0xFFFFFFFF
            if owner in (0, APPLICATION_ID):
                check_tables(path, db, known=_is_ours)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            raise StorageError(f"memory {path} could not be opened ({error}): it is not a memory file; "
                               f"{_REMEDY}") from error
    if owner not in (0, APPLICATION_ID):
        raise StorageError(f"memory {path} is the database of another application (application id {owner:#010x}): "
                           f"{_REMEDY}")
    if owner == 0 and (tables or found):
        raise StorageError(f"memory {path} is a database of another program, not a memory (its tables: "
                           f"{', '.join(sorted(tables)[:5]) or 'none'}; format {found}): {_REMEDY}")
    return int(found) if tables else 0


def _is_ours(sql: str) -> bool:
    """Return whether SQL beyond that of plain tables is a memory's: its trigger, and its tables of words."""
    return sql == f"CREATE {TRIGGER[0]} {TRIGGER[1]}" or _WORDS.match(sql) is not None


def locked(path: Path) -> ExitStack:
    """Return what holds the lock until it is closed; it goes with the process, however that ends. path: the true one.

    The file beside tells who writes. The database is locked too, so that nobody else writes where that was removed.
    """
    with ExitStack() as held:
        held.callback(os.close, _locked_beside(path))
        if path.exists():
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            held.callback(os.close, file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # SQLite's own locks are others (POSIX)
            except BlockingIOError as error:
                raise StorageError(f"memory {path} is being written by another process, although its file .lock was "
                                   "removed: stop that process, or name another file") from error
        return held.pop_all()


def _locked_beside(path: Path) -> int:
    beside = path.with_name(path.name + ".lock")
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        owner = os.read(descriptor, 21)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not (owner.isdigit() or not owner):
            raise StorageError(f"memory {path} needs {beside} for its lock, but that file belongs to another program: "
                               f"{_REMEDY}")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    except BlockingIOError as error:
        name = os.read(descriptor, 20).decode(errors="replace") or "unknown"
        os.close(descriptor)
        raise StorageError(f"memory {path} is being written by process {name}: stop that one, or name another "
                           "file") from error
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
