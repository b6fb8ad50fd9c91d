"""Memory files of earlier formats are brought up to date whole, and what they were stays beside them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.backup import check_backup
from eqa_nodes.core.memory.database import VERSION
from eqa_nodes.core.memory.migration import MAP, migrate
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.remembered import RecallQuery
from eqa_nodes.core.types.views import Frame, Keyframe
from tests.fixtures.frames import LABELS, frame
from tests.fixtures.old_memories import make_format_3, write_format_2

SECOND = 10**9
FRAMES = [frame(SECOND, boxes={1: (20, 16, 32, 30)}), frame(2 * SECOND, Pose2(9.0, 0.0, 0.0), {4: (0, 10, 60, 40)}),
          frame(3 * SECOND, Pose2(5.0, 5.0, 1.0))]


def views(folder: Path) -> list[tuple[Frame, Keyframe]]:
    with closing(MemoryStore(folder / "views.sqlite")) as store:
        made = [(one, store.take(one, LABELS)) for one in FRAMES]
    return [(one, view) for one, view in made if view is not None]


def old(folder: Path, number: int) -> Path:
    path = folder / "home.sqlite"
    if number < 3:
        seen = views(folder)
        write_format_2(path, [("monday", seen[:2]), ("empty", []), ("tuesday", seen[2:])], number)
        return path
    with closing(MemoryStore(path)) as store:
        store.reset("monday", keep=True, map_name="home")
        assert all(store.take(one, LABELS) for one in FRAMES)
    make_format_3(path)
    return path


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_old_format_keeps_its_views(number: int, tmp_path: Path) -> None:
    path = old(tmp_path, number)
    with pytest.raises(StorageError, match=f"format {number}, this version reads {VERSION}: eqa memory migrate"):
        MemoryStore(path)
    done = migrate(path)
    assert (done.before, done.keyframes) == (number, 3)
    assert check_backup(done.kept).format == number
    with closing(MemoryStore(path)) as store:
        found = store.recall(RecallQuery("kettle", 5))
        assert found[0][0].stamp_ns == SECOND and found[0][0].jpeg.startswith(b"\xff\xd8")
        assert len(store) == 3 and store._db.value("PRAGMA user_version") == VERSION
        assert store._db.execute("SELECT min(began_ns) FROM sessions").fetchone() == (SECOND,)
        assert [bool(view.places) for view, _, _ in found] == [number != 1 for _ in found]
        assert (len(store.objects()) > 0) == (number == 3)
        names = [name for name, _, _ in store.sessions()]
        assert names == (["monday"] if number == 3 else ["monday", "empty", "tuesday"])
        store.reset("today", keep=True, map_name="home" if number == 3 else MAP)
        assert store.take(frame(9 * SECOND, boxes={1: (20, 16, 32, 30)}), LABELS) is None  # known from before
        assert store.take(frame(10 * SECOND, Pose2(0.0, 9.0, 0.0), {6: (0, 10, 60, 40)}), LABELS) is not None


def kill_in_a_transaction(path: Path) -> None:
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


@pytest.mark.parametrize("number", [2, 3])
def test_a_file_whose_migration_was_killed_is_migrated(number: int, tmp_path: Path) -> None:
    path = old(tmp_path, number)
    kill_in_a_transaction(path)
    done = migrate(path)
    assert (done.before, done.keyframes) == (number, 3)
    with closing(MemoryStore(path)) as store:
        assert len(store) == 3
        assert not store._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchone()


def test_what_cannot_be_migrated_stays_as_it_was(tmp_path: Path) -> None:
    path = old(tmp_path, 3)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 9").connection.commit()
    with pytest.raises(StorageError, match="format 9, of a newer version"):
        migrate(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 3")
        db.execute("ALTER TABLE sessions ADD COLUMN began_ns INTEGER")  # as no version wrote it
    before = path.read_bytes()
    with pytest.raises(StorageError, match="could not be migrated"):
        migrate(path)
    assert path.read_bytes() == before and not list(tmp_path.glob("*.migrating*"))
    with pytest.raises(StorageError, match="no memory file"):
        migrate(tmp_path / "nothing.sqlite")


def test_a_file_of_today_needs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "home.sqlite"
    with closing(MemoryStore(path)) as store:
        with pytest.raises(StorageError, match=f"format {VERSION} already"):
            migrate(path)
        assert len(store) == 0
