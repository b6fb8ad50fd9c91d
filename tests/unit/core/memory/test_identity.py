"""A memory file is this project's own, has one writer whatever it is called, and nobody else's file is changed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.backup import back_up, check_backup
from eqa_nodes.core.memory.database import APPLICATION_ID, VERSION, Database
from tests.fixtures.frames import LABELS, frame


def _sql(path: Path, *statements: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return [row for statement in statements for row in db.execute(statement).fetchall()]


def _memory(path: Path) -> None:
    with closing(MemoryStore(path)) as store:
        store.reset("e", True)
        assert store.take(frame(10**9, boxes={1: (10, 10, 40, 40)}), LABELS) is not None


def _as_it_was(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _photos(path: Path) -> None:
    _sql(path, "CREATE TABLE images (id INTEGER PRIMARY KEY, jpeg BLOB)", "INSERT INTO images VALUES (1, 'mine')",
         "CREATE TABLE objects (id INTEGER)", "INSERT INTO objects VALUES (7)")


def _in_a_log(path: Path) -> None:
    _sql(path, "PRAGMA journal_mode = WAL", "CREATE TABLE mails (text)", "INSERT INTO mails VALUES ('keep me')")


def _of_another(path: Path) -> None:
    _sql(path, "PRAGMA application_id = 1196444487", f"PRAGMA user_version = {VERSION}", "CREATE TABLE facts (x)")


def _same_version(path: Path) -> None:
    _sql(path, f"PRAGMA user_version = {VERSION}", "CREATE TABLE facts (name, value)")


def _of_version(number: int, path: Path) -> None:
    _memory(path)
    _sql(path, f"PRAGMA user_version = {number}", "PRAGMA journal_mode = DELETE")


def _text(path: Path) -> None:
    path.write_text("dear diary\n" * 50)


def _short(path: Path) -> None:
    path.write_bytes(b"SQLite")


FOREIGN: dict[str, tuple[Callable[[Path], None], str]] = {
    "photos": (_photos, "is a database of another program, not a memory .its tables: images, objects"),
    "with a log": (_in_a_log, "is a database of another program"),
    "geopackage": (_of_another, "application id 0x47504b47"),
    "of the same version": (_same_version, "is a database of another program"),
    "newer": (partial(_of_version, VERSION + 1), f"format {VERSION + 1}, and this version reads {VERSION}"),
    "older": (partial(_of_version, VERSION - 1), f"format {VERSION - 1}, and this version reads {VERSION}"),
    "text": (_text, "it is not a memory file"), "short": (_short, "it is not a memory file"),
    "folder": (Path.mkdir, "is a folder"), "pipe": (os.mkfifo, "pipe, socket or device")}


@pytest.mark.parametrize("write", [True, False], ids=["written", "read"])
@pytest.mark.parametrize(("make", "says"), FOREIGN.values(), ids=FOREIGN.keys())
def test_what_is_not_ours_is_refused_and_stays_as_it_was(make: Callable[[Path], None], says: str, write: bool,
                                                         tmp_path: Path) -> None:
    path = tmp_path / "home.sqlite"
    make(path)
    before = _as_it_was(tmp_path)
    with pytest.raises(StorageError, match=says):
        MemoryStore(path, write=write)
    assert _as_it_was(tmp_path) == before  # and nothing lies beside it


def test_the_mark_is_in_the_file_before_anything_else(tmp_path: Path) -> None:
    """As `file` sees it, and as whoever finds the file finds it after kill -9: not only in the log beside it."""
    path = tmp_path / "home.sqlite"
    store = MemoryStore(path)
    header = path.read_bytes()[:100]
    assert int.from_bytes(header[68:72], "big") == APPLICATION_ID
    store.close()


@pytest.mark.parametrize("make", [Path.touch, lambda path: _sql(path, "VACUUM"),
                                  lambda path: path.symlink_to(path.parent / "disk" / "home.sqlite")],
                         ids=["empty file", "no tables", "link to nothing"])
def test_an_empty_file_becomes_a_memory(make: Callable[[Path], object], tmp_path: Path) -> None:
    make(tmp_path / "home.sqlite")
    _memory(tmp_path / "home.sqlite")


def test_one_file_has_one_writer_whatever_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, other = tmp_path / "a", tmp_path / "b"
    folder.mkdir(), other.mkdir()
    path = folder / "home.sqlite"
    (other / "link").symlink_to(path)
    (other / "link2").symlink_to("link")
    (tmp_path / "c").symlink_to(folder)
    monkeypatch.chdir(folder)
    names = (path, Path("home.sqlite"), Path("../a/./home.sqlite"), other / "link", other / "link2",
             tmp_path / "c" / "home.sqlite", Path("/proc/self/cwd/home.sqlite"))
    for first in names:
        with closing(Database(first)):
            for second in names:
                with pytest.raises(StorageError, match=f"is being written by process {os.getpid()}"):
                    Database(second)
    assert sorted(p.name for p in other.iterdir()) == ["link", "link2"]  # neither a lock nor a log beside the links


@pytest.mark.parametrize("write", [True, False], ids=["written", "read"])
def test_a_file_of_two_names_is_refused(tmp_path: Path, write: bool) -> None:
    path = tmp_path / "home.sqlite"
    _memory(path)
    (tmp_path / "same.sqlite").hardlink_to(path)
    for name in (path, tmp_path / "same.sqlite"):
        with pytest.raises(StorageError, match="2 names .hard links.*copy the file"):
            MemoryStore(name, write=write)
    (tmp_path / "same.sqlite").unlink()
    _memory(path)


def test_a_lock_that_is_somebodys_file_stays_as_it_was(tmp_path: Path) -> None:
    """A memory called `poetry` would have the lock `poetry.lock`."""
    (tmp_path / "poetry.lock").write_text("[[package]]\n")
    with pytest.raises(StorageError, match=r"poetry\.lock for its lock, but that file belongs to another program"):
        MemoryStore(tmp_path / "poetry")
    assert (tmp_path / "poetry.lock").read_text() == "[[package]]\n"
    (tmp_path / "home.sqlite.lock").symlink_to(tmp_path / "poetry.lock")
    with pytest.raises(StorageError, match="could not be opened"):
        MemoryStore(tmp_path / "home.sqlite")
    assert (tmp_path / "poetry.lock").read_text() == "[[package]]\n"


def test_a_memory_on_a_disk_that_nobody_can_write_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "home.sqlite"
    _memory(path)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    before = _as_it_was(tmp_path)
    with closing(MemoryStore(path, write=False)) as reader:
        assert len(reader) == 1 and _as_it_was(tmp_path) == before  # also while it is open: no log, no shared memory


def test_a_lock_that_was_removed_lets_no_second_writer_in(tmp_path: Path) -> None:
    path = tmp_path / "home.sqlite"
    with closing(Database(path)):
        for removed in (True, True, False):  # also where a try before has left a new lock
            if removed:
                (tmp_path / "home.sqlite.lock").unlink()
            with pytest.raises(StorageError, match="is being written by another process"):
                Database(path)
    _memory(path)


FORGED = {
    "a view": ("DROP TABLE images", "CREATE VIEW images AS SELECT 1 AS id, zeroblob(1000000000) AS jpeg"),
    "a view without end": ("ALTER TABLE keyframes RENAME TO kept", "CREATE VIEW keyframes AS WITH RECURSIVE n(id) AS "
                           "(SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT * FROM n"),
    "another view": ("CREATE VIEW more AS SELECT 1",),
    "a trigger": ("CREATE TRIGGER t AFTER INSERT ON keyframes BEGIN DELETE FROM images; END",),
    "our trigger with other deeds": ("DROP TRIGGER geometries_of_forgotten", "CREATE TRIGGER geometries_of_forgotten "
                                     "AFTER DELETE ON images BEGIN DELETE FROM keyframes; END"),
    "a computed column": ("ALTER TABLE facts ADD COLUMN x AS (zeroblob(1000000000))",),
    "a virtual table": ("CREATE VIRTUAL TABLE r USING rtree(id, a, b)",)}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_what_runs_when_it_is_read_or_written_is_refused(tmp_path: Path, forged: tuple[str, ...]) -> None:
    path = tmp_path / "home.sqlite"
    _memory(path)
    _sql(path, *forged)
    before = path.read_bytes()
    for act in (lambda: MemoryStore(path), lambda: MemoryStore(path, write=False), lambda: check_backup(path),
                lambda: back_up(path, tmp_path / "copy.sqlite")):
        with pytest.raises(StorageError, match="not a plain table|are computed"):
            act()
    assert path.read_bytes() == before and not (tmp_path / "copy.sqlite").exists()


@pytest.mark.parametrize("column", ["sightings", "places"])
def test_json_that_is_nested_deep_is_damage_with_a_name(tmp_path: Path, column: str) -> None:
    path = tmp_path / "home.sqlite"
    _memory(path)
    _sql(path, f"UPDATE keyframes SET {column} = '{'[' * 100_000}{']' * 100_000}'")
    with pytest.raises(StorageError, match="damaged .RecursionError"), closing(
            MemoryStore(path, write=False)) as memory:
        memory.since(0)
