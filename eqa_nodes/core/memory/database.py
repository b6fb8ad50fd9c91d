"""SQLite file with a single writing process: schema, lock, transactions and named errors.

Write-ahead log with synchronous=FULL: a commit returns only after the log is on the disk, so acknowledged data survive
kill -9 and power cuts; without FULL the last commits could be lost in a power cut.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
import stat
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.checks import check_tables

VERSION = 5  # version of the file format, `PRAGMA user_version`
APPLICATION_ID = 0x4551414D  # "EQAM" in the header of the file, as shown by `file` and sqlite3
WAIT_S = 10.0  # time to wait while another process has locked the file
TRIGGER = ("TRIGGER geometries_of_forgotten",
           "AFTER DELETE ON images BEGIN DELETE FROM geometries WHERE id = OLD.id; END")
_WORDS = re.compile(r"CREATE VIRTUAL TABLE \w+ USING fts5 ?\(", re.IGNORECASE)
_REMEDY = "name another file (file of the memory node)"
# Errors of decoding if the file's pages are intact but their contents are not.
_DAMAGED = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, MemoryError, RecursionError,
            struct.error)
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS maps (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, root INTEGER NOT NULL, root_from_map BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, map INTEGER NOT NULL, began_ns INTEGER);
CREATE TABLE IF NOT EXISTS keyframes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, root INTEGER NOT NULL, stamp_ns INTEGER NOT NULL,
    cell INTEGER NOT NULL, map_from_base BLOB NOT NULL, camera BLOB NOT NULL, thumb BLOB NOT NULL,
    caption TEXT NOT NULL, region TEXT NOT NULL, sightings TEXT NOT NULL, places TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS keyframes_by_cell ON keyframes (root, cell);
CREATE INDEX IF NOT EXISTS keyframes_by_session ON keyframes (session, id);
CREATE INDEX IF NOT EXISTS keyframes_by_region ON keyframes (root, region);
CREATE TABLE IF NOT EXISTS images (id INTEGER PRIMARY KEY, jpeg BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS geometries (id INTEGER PRIMARY KEY, camera BLOB NOT NULL, depth_png BLOB NOT NULL);
CREATE {TRIGGER[0].replace(" ", " IF NOT EXISTS ")} {TRIGGER[1]};
CREATE TABLE IF NOT EXISTS content (root INTEGER, item TEXT, PRIMARY KEY (root, item)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS briefs (id INTEGER PRIMARY KEY, vector BLOB NOT NULL, things TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS signatures (chunk INTEGER PRIMARY KEY, rows BLOB NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    kinds, attributes, rooms, caption, tokenize = 'porter unicode61');
CREATE VIRTUAL TABLE IF NOT EXISTS tiers USING fts5 (words, detail = none, columnsize = 0);
CREATE TABLE IF NOT EXISTS terms (term TEXT PRIMARY KEY, docs INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS regions (
    root INTEGER, name TEXT, views INTEGER NOT NULL, x REAL NOT NULL, y REAL NOT NULL, PRIMARY KEY (root, name)
    ) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
    id INTEGER PRIMARY KEY AUTOINCREMENT, root INTEGER NOT NULL, kind TEXT NOT NULL, room TEXT NOT NULL,
    attributes TEXT NOT NULL, box BLOB NOT NULL, times INTEGER NOT NULL, first_ns INTEGER NOT NULL,
    last_ns INTEGER NOT NULL, missed INTEGER NOT NULL, gone_ns INTEGER NOT NULL, colours TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS patrols (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, first_ns INTEGER NOT NULL,
    last_ns INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS looks (
    object INTEGER, patrol INTEGER, room TEXT, support TEXT, state TEXT, relation TEXT NOT NULL, box BLOB NOT NULL,
    first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, looks INTEGER NOT NULL, empty INTEGER NOT NULL,
    points INTEGER NOT NULL, gone_ns INTEGER NOT NULL, PRIMARY KEY (object, patrol, room, support, state)
    ) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS looks_by_patrol ON looks (patrol);
CREATE TABLE IF NOT EXISTS room_looks (
    patrol INTEGER, room TEXT, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, looks INTEGER NOT NULL,
    people INTEGER NOT NULL, PRIMARY KEY (patrol, room)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS watches (
    number INTEGER PRIMARY KEY AUTOINCREMENT, statement TEXT NOT NULL, since_ns INTEGER NOT NULL,
    reported INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS watched (
    watch INTEGER, object INTEGER, value INTEGER NOT NULL, PRIMARY KEY (watch, object)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS watch_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, watch INTEGER NOT NULL, stamp_ns INTEGER NOT NULL,
    since_ns INTEGER NOT NULL, text TEXT NOT NULL, object INTEGER NOT NULL, keyframe INTEGER NOT NULL,
    looks TEXT NOT NULL, published INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS watch_events_to_publish ON watch_events (id) WHERE published = 0;
CREATE TABLE IF NOT EXISTS seen (
    object INTEGER, keyframe INTEGER, pixels INTEGER NOT NULL, bbox TEXT NOT NULL, attributes TEXT NOT NULL,
    box BLOB NOT NULL, PRIMARY KEY (object, keyframe)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS seen_by_keyframe ON seen (keyframe);
"""
_TOGETHER = 64  # number of rows that one statement inserts; older versions of SQLite allow 999 values


def true_path(path: Path) -> Path:
    """Return the absolute path of a file with symbolic links resolved.

    Raises StorageError if it is not a regular file, or has several names (hard links): the log and the lock belong to
    one name, so two processes could write the file at the same time.
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
    """Roll back the unfinished transaction of a killed process from its rollback journal, as SQLite does for a writer.

    A reader cannot do this and would fail or see a part of the transaction. Memory files have such a journal only while
    they are restored, when they change to or from a write-ahead log. Raises sqlite3.Error.
    """
    if path.is_file() and path.with_name(path.name + "-journal").exists():
        with closing(sqlite3.connect(path, timeout=WAIT_S)) as db:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()


def reading(path: Path, look: bool = False) -> str:
    """Return the URI that opens a file read-only.

    Without a log next to it, no process has the memory open. Then no lock or other file is created for a mere look, nor
    in a folder that is not writable.
    """
    fixed = (look or not os.access(path.parent, os.W_OK)) and not path.with_name(path.name + "-wal").exists()
    return f"{path.as_uri()}?mode=ro" + "&immutable=1" * fixed


def check_ours(path: Path) -> None:
    """Check an existing file without changing it. Raises StorageError unless it is a memory of this VERSION.

    Empty files and databases without tables are accepted, because they may become a memory.
    """
    found = format_of(path)
    if found not in (0, VERSION):
        raise StorageError(f"memory {path} has format {found}, and this version reads {VERSION}: open it with the "
                           f"version of eqa_nodes that wrote it, or {_REMEDY}")


def format_of(path: Path) -> int:
    """Return the format of a memory file without changing it; 0 = missing, empty or without tables.

    Raises StorageError if the file belongs to another program.
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
    """Return whether SQL other than that of plain tables belongs to a memory: its trigger or its full-text tables."""
    return sql == f"CREATE {TRIGGER[0]} {TRIGGER[1]}" or _WORDS.match(sql) is not None


def locked(path: Path) -> ExitStack:
    """Lock a memory file until the returned stack is closed or the process ends. path: result of true_path.

    The lock file beside it names the writer. The database is locked too, in case the lock file was removed.
    """
    with ExitStack() as held:
        held.callback(os.close, _locked_beside(path))
        if path.exists():
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            held.callback(os.close, file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # SQLite's own locks are different ones (POSIX)
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


class Database:
    """An open memory file. write False: read a file that another process may be writing."""

    def __init__(self, path: Path, write: bool = True, alone: bool = True) -> None:
        """Open or create. Raises StorageError if it cannot be opened, is not a memory, or already has a writer.

        alone False: write although another process may be the writer, for short transactions in tables that it does not
        keep in RAM.
        """
        self.path, self._write = Path(path), write
        self._lock: ExitStack | None = None
        with self.storage("opened"):
            self._file = true_path(self.path)
            if write and alone:
                self._file.parent.mkdir(parents=True, exist_ok=True)
            elif not self._file.is_file():
                raise StorageError(f"no memory file {self.path}: name the file that the memory node wrote")
            check_ours(self._file)
            if write and alone:
                self._file.touch()
                self._lock = locked(self._file)
            try:
                self._open()
            except BaseException:
                self._unlock()
                raise

    def execute(self, sql: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        """Run one statement."""
        return self._db.execute(sql, tuple(values))

    def many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Run one statement for each row of values."""
        self._db.executemany(sql, rows)

    def insert(self, into: str, rows: Sequence[tuple[Any, ...]], conflict: str = "") -> None:
        """Insert rows by one statement. into: a table, with its columns if it is not all; conflict: clause ON CONFLICT.
        """
        for first in range(0, len(rows), _TOGETHER):
            part = rows[first:first + _TOGETHER]
            places = ", ".join([f"({', '.join('?' * len(part[0]))})"] * len(part))
            self._db.execute(f"INSERT INTO {into} VALUES {places} {conflict}", [value for row in part for value in row])

    def value(self, sql: str, values: Iterable[Any] = ()) -> Any:
        """Return the first column of the first row, None if there is no row."""
        row = self.execute(sql, values).fetchone()
        return None if row is None else row[0]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block as one transaction, on the disk when it ends; a failed one leaves the file unchanged."""
        with self.storage("written"):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def storage(self, what: str) -> Iterator[None]:
        """Convert errors inside the block to StorageError with the remedy."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            remedy = ("use a Python whose sqlite3 has FTS5 (python.org, Debian and Ubuntu builds have it)"
                      if "fts5" in str(error) else "free space there, check the permissions, or name another file")
            raise StorageError(f"memory {self.path} could not be {what} ({error}): {remedy}") from error
        except _DAMAGED as error:
            raise StorageError(f"memory {self.path} is damaged ({type(error).__name__}: {error}): name another file, "
                               "or restore a copy of this one") from error

    def used_bytes(self) -> int:
        """Return the size of the file's contents in bytes, without free pages."""
        pages, free = self.value("PRAGMA page_count"), self.value("PRAGMA freelist_count")
        return int((pages - free) * self.value("PRAGMA page_size"))

    def shrink(self) -> None:
        """Release freed pages and empty the log, so that deleted data are in no file any more."""
        with self.storage("written"):
            for table in ("words", "tiers"):  # otherwise deleted words remain in their segments
                self.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
            self.execute("PRAGMA incremental_vacuum").fetchall()
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._db.close()
        self._unlock()

    def _open(self) -> None:
        target = str(self._file) if self._write else reading(self._file)
        self._db = sqlite3.connect(target, isolation_level=None, check_same_thread=False, timeout=WAIT_S,
                                   uri=not self._write, cached_statements=512)
        if not self._write:
            self.execute("BEGIN")  # until closed: all reads see the same state
            self.value("SELECT count(*) FROM facts")  # the first read of a table fixes that state
            return
        self.execute("PRAGMA auto_vacuum = INCREMENTAL")  # must precede the first table
        if self.value("PRAGMA application_id") != APPLICATION_ID:  # in the file itself, before a log exists
            self.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self.execute("PRAGMA journal_mode = WAL")
        self.execute("PRAGMA synchronous = FULL")
        self.execute("PRAGMA secure_delete = ON")
        self._db.executescript(SCHEMA)
        self.execute(f"PRAGMA user_version = {VERSION}")

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
