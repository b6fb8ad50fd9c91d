"""Brings memory files of earlier formats up to date.

| format | what it lacked |
|---|---|
| 1 | visible floor of the views; else as 2 |
| 2 | objects, maps and sessions: one table of views, with their images, and one of episodes that share a map |
| 3 | when a session began; the geometry of views |

Views, captions, sightings, stamps and places are kept. What an earlier format did not store stays unknown: objects of
formats 1 and 2 are learnt when they are seen again.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory.backup import back_up, checked, copy, free_name, named
from eqa_nodes.core.memory.database import SCHEMA, VERSION
from eqa_nodes.core.memory.embedding import DIMENSIONS
from eqa_nodes.core.memory.identity import APPLICATION_ID, OLDEST, check_ours, format_of, locked, roll_back, true_path
from eqa_nodes.core.memory.keyframes import NoveltyView
from eqa_nodes.core.memory.maps import unpack
from eqa_nodes.core.memory.rows import load_sightings
from eqa_nodes.core.memory.store import MemoryStore
from eqa_nodes.core.types.views import FloorPixel, Keyframe

MAP = "migrated"  # name of the map that the episodes of formats 1 and 2 shared
_BATCH = 256  # views of one transaction


class Migrated(NamedTuple):
    """What was done. kept: the backup of the file as it was."""

    before: int
    keyframes: int
    kept: Path


def migrate(path: Path) -> Migrated:
    """Bring a memory file up to date, whole or not at all; a backup of it stays beside it.

    Raises StorageError for a file that is up to date, of a newer format, damaged, or open in a robot.
    """
    with named(path, "migrated"):
        target = true_path(path)
        roll_back(target)
        before = format_of(target)
        if before > VERSION:
            check_ours(target, VERSION)
        if not before:
            raise StorageError(f"no memory file {path}: name the file that the memory node wrote")
        if before == VERSION:
            raise StorageError(f"memory {path} has format {VERSION} already: nothing is to be done")
        if before < OLDEST:
            raise StorageError(f"memory {path} has format {before}, which no version wrote: name another file")
        lock, new = locked(target), target.with_name(f"{target.name}.migrating")
        try:
            kept = free_name(target.with_name(f"{target.name}.format-{before}"))
            views = back_up(target, kept).keyframes
            _remove(new)
            (_from_3 if before == 3 else _from_2)(kept, new)
            if (written := checked(new)) != views:
                raise StorageError(f"memory {path}: {written} of {views} views were migrated; nothing was changed")
            copy(new, target)
        finally:
            _remove(new)
            lock.close()
    return Migrated(before, views, kept)


def _from_3(old: Path, new: Path) -> None:
    """Add what format 4 has: when sessions began, as their oldest view says, and the table of geometries."""
    copy(old, new)
    with closing(sqlite3.connect(new, isolation_level=None)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'briefs'").fetchone():
            raise StorageError(f"memory {old} has the format 3 of a version that was never released: name another file")
        db.execute("BEGIN")
        db.execute("ALTER TABLE sessions ADD COLUMN began_ns INTEGER")
        db.execute("UPDATE sessions SET began_ns = (SELECT min(stamp_ns) FROM keyframes WHERE session = number)")
        db.execute("COMMIT")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.executescript(SCHEMA)
        db.execute(f"PRAGMA user_version = {VERSION}")


def _from_2(old: Path, new: Path) -> None:
    """Write every view of formats 1 and 2 anew, an episode a session; the episodes shared their map."""
    with closing(sqlite3.connect(f"{old.as_uri()}?mode=ro", uri=True)) as db, closing(MemoryStore(new)) as store:
        names = dict(db.execute("SELECT number, id FROM episodes").fetchall())
        seen = {number for number, in db.execute("SELECT DISTINCT episode FROM keyframes")}
        places = "places" if "places" in {row[1] for row in db.execute("PRAGMA table_info(keyframes)")} else "'[]'"
        for episode in sorted({*names, *seen}):
            store.reset(names.get(episode, ""), keep=True, map_name=MAP)
            rows = db.execute("SELECT id, stamp_ns, map_from_base, jpeg, sightings, caption, region, "
                              f"{places}, camera, thumb, content FROM keyframes WHERE episode = ? ORDER BY id",
                              (episode,))
            while batch := rows.fetchmany(_BATCH):
                store.add_many([_view(row, store) for row in batch])
    with closing(sqlite3.connect(new)) as db, db:
        db.execute("UPDATE sessions SET began_ns = (SELECT min(stamp_ns) FROM keyframes WHERE session = number)")


def _view(row: tuple[Any, ...], store: MemoryStore) -> tuple[Keyframe, NoveltyView, np.ndarray]:
    number, stamp_ns, pose, jpeg, seen, caption, region, places, camera, thumb, content = row
    at = struct.unpack("<6d", camera)
    keyframe = Keyframe(number, stamp_ns, unpack(pose), jpeg, load_sightings(seen), caption, region,
                        tuple(FloorPixel(*place) for place in json.loads(places)))
    embedder = store.recaller.embedder
    vector = embedder.embed([caption])[0] if embedder is not None else np.zeros(DIMENSIONS, np.float32)
    return keyframe, NoveltyView(at[:3], at[3:], thumb, tuple(json.loads(content)), stamp_ns), vector


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal", ".lock"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
