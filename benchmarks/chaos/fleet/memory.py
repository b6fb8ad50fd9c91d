"""Memory files: backup and restore are killed at any moment, on a memory that a robot writes meanwhile."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.chaos.fleet import Drilled
from eqa_nodes.core.errors import EqaError, StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.backup import back_up, check_backup, checked, checksum_file, restore
from eqa_nodes.core.memory.database import VERSION
from eqa_nodes.core.memory.embedding import DIMENSIONS
from eqa_nodes.core.memory.keyframes import NoveltyView
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Keyframe

VIEWS, JPEG_BYTES = 120, 200_000  # 24 MB: a copy takes long enough to be cut off
KILLS = 12  # of each of the two
_NO_TEXT = np.zeros(DIMENSIONS, np.float32)


def drill(drilled: Drilled, folder: Path, seed: int) -> None:
    """Kill, look, and break backups."""
    dice = random.Random(f"{seed}/memory")
    path = folder / "home.sqlite"
    with closing(MemoryStore(path)) as store:
        store.reset("first", keep=True, map_name="home")
        _add(store, VIEWS)
    cut = _backups(drilled, path, folder, dice), _restores(drilled, path, folder, dice)
    drilled.notes.append("cut off in the middle: {} of {n} backups, {} of {n} restorations".format(*cut, n=KILLS))
    drilled.check(min(cut) > 0, "no kill came in the middle: the drill shows nothing")
    _broken(drilled, path, folder)


def _add(store: MemoryStore, count: int) -> None:
    first = len(store) + 1
    for n in range(first, first + count):
        jpeg = b"\xff\xd8" + n.to_bytes(4, "big") * (JPEG_BYTES // 4)
        pose = Transform((float(n), 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
        view = NoveltyView(pose.xyz, (1.0, 0.0, 0.0), bytes(192), (), n * 10**9)
        store.add_many([(Keyframe(n, n * 10**9, pose, jpeg, (), f"view {n}"), view, _NO_TEXT)])


def _killed(act: Callable[[], object], after_s: float) -> bool:
    """Do something in a process of its own, and kill -9 that after a while; return whether it was still at it."""
    child = os.fork()
    if not child:
        code = 1
        try:
            act()
            code = 0
        except EqaError:
            code = 2
        finally:
            os._exit(code)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _backups(drilled: Drilled, path: Path, folder: Path, dice: random.Random) -> int:
    whole_s, cut = _seconds(lambda: back_up(path, folder / "whole.sqlite")), 0
    for number in range(KILLS):
        backup = folder / f"backup-{number}.sqlite"
        with closing(MemoryStore(path)) as store:  # as the robot's node has it open
            store.reset(f"session {number}", keep=True, map_name="home")
        with closing(MemoryStore(path)) as store:
            held = len(store)
            cut += _killed(lambda backup=backup: back_up(path, backup), dice.uniform(0.0, whole_s))  # type: ignore[misc]
            _add(store, 1)  # acknowledged whatever happens beside it
            drilled.check(len(store) == held + 1, f"backup {number}: a view was lost")
        if backup.exists():
            drilled.check(check_backup(backup).keyframes >= held, f"backup {number} lacks views")
        backup.unlink(missing_ok=True)
    return cut


def _restores(drilled: Drilled, path: Path, folder: Path, dice: random.Random) -> int:
    backup, cut = folder / "whole.sqlite", 0
    before, after = checked(path), check_backup(backup).keyframes
    copied = folder / "target.sqlite"
    whole_s = _seconds(lambda: restore(backup, copied))
    for number in range(KILLS):
        for suffix in ("", "-wal", "-shm"):
            copied.with_name(copied.name + suffix).unlink(missing_ok=True)
        shutil.copyfile(path, copied)
        cut += _killed(lambda: restore(backup, copied), dice.uniform(0.2, 1.0) * whole_s)
        with closing(MemoryStore(copied)) as store:
            held = len(store)
        drilled.check(held in (before, after) and checked(copied) == held,
                      f"restoration {number} was cut off and left {held} views, neither {before} nor {after}")
    return cut


def _broken(drilled: Drilled, path: Path, folder: Path) -> None:
    views, backup = checked(path), folder / "broken.sqlite"
    back_up(path, backup)
    with backup.open("r+b") as file:
        file.seek(backup.stat().st_size // 2)
        file.write(b"!")
    drilled.refused(StorageError, "is not what was backed up", lambda: restore(backup, path))
    checksum_file(backup).unlink()
    drilled.refused(StorageError, "has no checksum", lambda: restore(backup, path))
    with closing(MemoryStore(path)):
        drilled.refused(StorageError, "is being written by process", lambda: restore(folder / "whole.sqlite", path))
    newer = folder / "newer.sqlite"
    shutil.copyfile(path, newer)
    with closing(sqlite3.connect(newer, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    drilled.refused(StorageError, "and this version reads", lambda: MemoryStore(newer))
    drilled.check(checked(path) == views, "a refused restoration changed the memory")
