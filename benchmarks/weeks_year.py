"""How long memory takes to answer from a year: the fortnight of benchmarks/weeks.py again and again, in one file."""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.timing import Figure
from benchmarks.weeks_asked import LATER_NS, QUESTIONS
from eqa_nodes.core.memory import MemoryStore

_TIMES, _FORTNIGHT_NS = 52, 14 * 86_400 * 10 ** 9
_COPIES = (  # of what one fortnight holds, that many times later; n: patrols, m: views, d: ns
    "INSERT INTO patrols SELECT number + :k * :n, session, first_ns + :k * :d, last_ns + :k * :d FROM patrols "
    "WHERE number <= :n",
    "INSERT INTO looks SELECT object, patrol + :k * :n, room, support, state, relation, box, first_ns + :k * :d, "
    "last_ns + :k * :d, looks, empty, points, gone_ns + (gone_ns > 0) * :k * :d FROM looks WHERE patrol <= :n",
    "INSERT INTO room_looks SELECT patrol + :k * :n, room, first_ns + :k * :d, last_ns + :k * :d, looks, people "
    "FROM room_looks WHERE patrol <= :n",
    "INSERT INTO seen SELECT object, keyframe + :k * :m, pixels, bbox, attributes, box FROM seen WHERE keyframe <= :m")


def year_figures(fortnight: Path) -> list[Figure]:
    """Return the time of an answer from a year of patrols. fortnight: memory file, which stays as it is."""
    year = fortnight.with_name("year.sqlite")
    shutil.copy(fortnight, year)
    with closing(sqlite3.connect(year)) as db, db:
        patrols, = db.execute("SELECT max(number) FROM patrols").fetchone()
        views, = db.execute("SELECT max(id) FROM keyframes").fetchone()
        for k in range(1, _TIMES):
            for copy in _COPIES:
                db.execute(copy, {"k": k, "n": patrols, "m": views, "d": _FORTNIGHT_NS})
            for table in ("keyframes", "images", "briefs"):
                _copy_views(db, table, k, views)
        later = (_TIMES - 1) * _FORTNIGHT_NS
        db.execute("UPDATE objects SET last_ns = last_ns + :d, gone_ns = gone_ns + (gone_ns > 0) * :d", {"d": later})
    with closing(MemoryStore(year, write=False)) as store:
        count = len(store.patrols())
        store.set_now(store.patrols()[-1].last_ns + LATER_NS)
        seconds = [_timed(store, asked.question) for asked in QUESTIONS][1:]  # the first one reads the file
    return [Figure("answer from a year", note=f"{np.median(seconds):.2f} s, p95 {np.percentile(seconds, 95):.2f} s "
                                              f"({count} patrols)")]


def _copy_views(db: sqlite3.Connection, table: str, k: int, views: int) -> None:
    """Copy the rows of one table of views, with their stamps and without their pictures."""
    names = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
    new = {"id": "id + :k * :m", "stamp_ns": "stamp_ns + :k * :d", "jpeg": "zeroblob(1)"}
    db.execute(f"INSERT INTO {table} SELECT {', '.join(new.get(name, name) for name in names)} FROM {table} "
               "WHERE id <= :m", {"k": k, "m": views, "d": _FORTNIGHT_NS})


def _timed(store: MemoryStore, question: str) -> float:
    began = time.perf_counter()
    store.ask(question)
    return time.perf_counter() - began
