"""Backups are of one moment, checked, and put back whole or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.backup import back_up, check_backup, restore
from eqa_nodes.core.memory.database import VERSION
from eqa_nodes.core.types.geometry import Pose2
from tests.fixtures.disk import room_for
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9


def remember(store: MemoryStore, number: int) -> None:
    assert store.take(frame(number * SECOND, Pose2(5.0 * number, 0.0, 0.0), {1: (20, 16, 32, 30)}), LABELS) is not None


def made(path: Path, count: int) -> Path:
    with closing(MemoryStore(path)) as store:
        for number in range(1, count + 1):
            remember(store, number)
    return path


def held(path: Path) -> int:
    with closing(MemoryStore(path, write=False)) as store:
        return len(store)


def test_a_memory_that_is_written_is_backed_up_as_it_is_now(tmp_path: Path) -> None:
    path, backup = tmp_path / "home.sqlite", tmp_path / "backups" / "monday.sqlite"
    with closing(MemoryStore(path)) as store:
        remember(store, 1)
        done = back_up(path, backup)
        remember(store, 2)
    assert done.keyframes == held(backup) == 1 and held(path) == 2
    assert [file.name for file in backup.parent.iterdir()] == ["monday.sqlite"]
    with pytest.raises(StorageError, match="exists: name another file"):
        back_up(path, backup)


def test_a_backup_is_put_back_and_what_was_there_is_kept(tmp_path: Path) -> None:
    path, backup, before = tmp_path / "home.sqlite", tmp_path / "monday.sqlite", tmp_path / "before.sqlite"
    back_up(made(path, 1), backup)
    with closing(MemoryStore(path)) as store:
        remember(store, 2)
        with pytest.raises(StorageError, match="is being written by process"):
            restore(backup, path, before)
    assert restore(backup, path, before).keyframes == 1
    assert held(path) == 1 and held(before) == 2
    with closing(MemoryStore(path)) as store:
        remember(store, 3)
    assert held(path) == 2 and restore(backup, tmp_path / "new" / "home.sqlite").keyframes == 1


def test_names_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    back_up(made(Path("home.sqlite"), 1), Path("monday.sqlite"))
    assert restore(Path("monday.sqlite"), Path("home.sqlite"), Path("before.sqlite")).keyframes == 1


def test_a_reader_of_the_memory_does_not_keep_it_from_being_restored(tmp_path: Path) -> None:
    path, backup = tmp_path / "home.sqlite", tmp_path / "monday.sqlite"
    back_up(made(path, 2), backup)
    with closing(MemoryStore(path)) as store:
        remember(store, 3)
    with closing(MemoryStore(path, write=False)) as reader:
        restore(backup, path)
        assert len(reader) == 3  # its moment
    assert held(path) == 2


def _cut(backup: Path) -> None:
    backup.write_bytes(backup.read_bytes()[:-4096])


def _newer(backup: Path) -> None:
    with closing(sqlite3.connect(backup, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")


def _damaged(backup: Path) -> None:
    data = bytearray(backup.read_bytes())
    data[4096 * 3:4096 * 6] = bytes(4096 * 3)
    backup.write_bytes(data)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (_cut, "damaged|could not be"), "damaged": (_damaged, "damaged|could not be"),
    "newer": (_newer, f"format {VERSION + 1}, and this version reads {VERSION}"),
    "missing": (Path.unlink, "no memory file"), "empty": (lambda backup: backup.write_bytes(b""), "is empty"),
    "another program's": (lambda backup: backup.write_text("diary"), "it is not a memory file")}


@pytest.mark.parametrize(("harm", "says"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_backup_is_refused_and_the_memory_stays(harm: Callable[[Path], object], says: str,
                                                         tmp_path: Path) -> None:
    path, backup = tmp_path / "home.sqlite", tmp_path / "monday.sqlite"
    back_up(made(path, 2), backup)
    harm(backup)
    with pytest.raises(StorageError, match=says):
        restore(backup, path)
    assert held(path) == 2
    if backup.exists():
        with pytest.raises(StorageError, match=says):
            check_backup(backup)


def test_a_full_disk_leaves_no_backup_and_no_half_memory(tmp_path: Path) -> None:
    path, backup = made(tmp_path / "home.sqlite", 3), tmp_path / "monday.sqlite"
    with room_for(4096), pytest.raises(StorageError, match="could not be backed up .*free space"):
        back_up(path, backup)
    assert not backup.exists() and not list(tmp_path.glob("*.part"))
    back_up(path, backup)
    with closing(MemoryStore(path)) as store:
        for number in range(4, 9):
            remember(store, number)
    with room_for(4096), pytest.raises(StorageError, match="could not be restored .*free space"):
        restore(backup, path)
    assert held(path) == 8


def _kill_in_a_transaction(path: Path) -> None:
    """Leave a file as a process does that is killed while it changes it by a rollback journal."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE").fetchall()
        db.execute("PRAGMA cache_size = 1")  # pages reach the file before the end of the transaction
        db.execute("BEGIN IMMEDIATE")
        db.execute("CREATE TABLE half (what)")
        db.executemany("INSERT INTO half VALUES (?)", [(b"half" * 1024,)] * 200)
        left = {name: name.read_bytes() for name in (path, path.with_name(path.name + "-journal"))}
        db.execute("ROLLBACK")
    for name, content in left.items():
        name.write_bytes(content)


def test_a_restoration_that_was_killed_is_undone_before_the_next_one(tmp_path: Path) -> None:
    path, backup = tmp_path / "home.sqlite", tmp_path / "monday.sqlite"
    back_up(made(path, 2), backup)
    _kill_in_a_transaction(path)
    assert back_up(path, tmp_path / "as-it-was.sqlite").keyframes == 2
    _kill_in_a_transaction(path)
    assert restore(backup, path).keyframes == held(path) == 2
