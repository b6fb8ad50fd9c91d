"""Index of all keyframes in RAM for filtering in recall: 80 bytes each, read from the file in blocks.

With the columns that every query reads, a million keyframes take 136 MB, and a tenth of a second to open; a scan for
the nearest signatures takes milliseconds, so no search tree has to be kept up to date.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np

from eqa_nodes.core.gc_freeze import exempt_loaded
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.embedding import signature

ROW = np.dtype([("id", "<i8"), ("stamp_ns", "<i8"), ("x", "<f8"), ("y", "<f8"), ("z", "<f4"), ("yaw", "<f4"),
                ("root", "<i4"), ("described", "<i4"), ("signature", "<u8", (4,))])
_APART = ("id", "stamp_ns", "root", "described", "signature")  # columns read by every query
_CHUNK = 64  # keyframe ids per row of the table `signatures`, which an insert rewrites
_SAMPLE = 256  # number of embeddings in the common mean; what captions share does not distinguish them


SECTORS = 8  # directions of views


def cells_of(rows: np.ndarray, edge_m: float) -> np.ndarray:
    """Return the cell x, y, z and the direction (4, n) int64 of index rows; cells are at least 2 m high."""
    sector = np.floor((rows["yaw"] + np.pi) / (2 * np.pi) * SECTORS).astype(np.int64) % SECTORS
    edges = (("x", edge_m), ("y", edge_m), ("z", max(edge_m, 2.0)))
    return np.stack([*(np.floor(rows[axis] / edge).astype(np.int64) for axis, edge in edges), sector])


class Index:
    """The rows of all keyframes, in the order of their ids."""

    def __init__(self, db: Database) -> None:
        blocks = [block for block, in db.execute("SELECT rows FROM signatures ORDER BY chunk")]
        stored = np.frombuffer(b"".join(blocks), ROW)
        self._n = len(stored)
        self._rows = np.empty(max(1024, self._n + self._n // 4), ROW)
        self._rows[:self._n] = stored
        self._columns = _columns(self._rows)
        centre = db.value("SELECT value FROM facts WHERE name = 'centre'")
        self._centre = None if centre is None else np.frombuffer(bytes.fromhex(centre), np.float32)

    @property
    def rows(self) -> np.ndarray:
        """Return the rows (n,) of dtype ROW."""
        return self._rows[:self._n]

    @property
    def ids(self) -> np.ndarray:
        """Return the ids (n,) int64, ascending."""
        return self.column("id")

    def column(self, name: str) -> np.ndarray:
        """Return a column of _APART (n,) or (n, 4), stored separately so that reading it touches no other data."""
        return self._columns[name][:self._n]

    def sign(self, vectors: np.ndarray) -> np.ndarray:
        """Return signatures (n, 4) of embeddings (n, 256): the signs after subtracting the common mean."""
        return signature(vectors if self._centre is None else vectors - self._centre)

    def settle(self, db: Database) -> None:
        """Fix the common mean once there are enough embeddings, and recompute all signatures."""
        if self._centre is not None or self._n < _SAMPLE:
            return
        found = db.execute("SELECT id, vector FROM briefs WHERE vector != x'' ORDER BY id").fetchall()
        if len(found) < _SAMPLE:
            return
        vectors = np.frombuffer(b"".join(v for _, v in found), np.int8).reshape(len(found), -1).astype(np.float32)
        vectors /= np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
        self._centre = vectors[:_SAMPLE].mean(axis=0)
        ids, rows = np.array([i for i, _ in found], np.int64), self.rows.copy()
        rows["signature"][self.at(ids)] = self.sign(vectors)
        with db.transaction():
            db.execute("INSERT INTO facts VALUES ('centre', ?)", (self._centre.tobytes().hex(),))
            self.rewrite(db, rows, ids)
        self.replace(rows)

    def write(self, db: Database, row: np.ndarray) -> None:
        """Write a row () with a new highest id to the file, inside a transaction; call `add` after the transaction."""
        chunk = int(row["id"]) // _CHUNK
        before = self.rows[np.searchsorted(self.ids, chunk * _CHUNK):]
        db.execute("INSERT OR REPLACE INTO signatures VALUES (?, ?)", (chunk, before.tobytes() + row.tobytes()))

    def add(self, row: np.ndarray) -> None:
        """Add a row that was written to the file."""
        if self._n == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty(self._n, ROW)])
            self._columns = _columns(self._rows)
        self._rows[self._n] = row
        for name, column in self._columns.items():
            column[self._n] = row[name]
        self._n += 1

    def rewrite(self, db: Database, rows: np.ndarray, ids: np.ndarray) -> None:
        """Write the chunks of these ids from `rows`; call `replace` after the transaction."""
        all_ids = np.ascontiguousarray(rows["id"])  # searching a structured column would copy it each time
        for chunk in np.unique(ids // _CHUNK).tolist():
            first, last = np.searchsorted(all_ids, [chunk * _CHUNK, (chunk + 1) * _CHUNK])
            if first == last:
                db.execute("DELETE FROM signatures WHERE chunk = ?", (chunk,))
            else:
                db.execute("INSERT OR REPLACE INTO signatures VALUES (?, ?)", (chunk, rows[first:last].tobytes()))

    def replace(self, rows: np.ndarray) -> None:
        """Replace all rows after a rewrite."""
        self._rows, self._n, self._columns = rows, len(rows), _columns(rows)

    def allowed(self, root: int | None, after_ns: int = 0, before_ns: int = 0,
                near: tuple[float, float, float] | None = None) -> np.ndarray:
        """Return (n,) bool: rows that satisfy the conditions of a query; root None: of all maps."""
        rows, stamps = self.rows, self.column("stamp_ns")
        ok = np.ones(len(rows), bool) if root is None else self.column("root") == root
        if after_ns:
            ok &= stamps >= after_ns
        if before_ns:
            ok &= stamps <= before_ns
        if near is not None:
            x, y, radius = near
            ok &= (rows["x"] - x) ** 2 + (rows["y"] - y) ** 2 <= radius * radius
        return ok

    def newest_ns(self, until_ns: int, least_ns: int = 0) -> int:
        """Return the newest stamp up to `until_ns`, `least_ns` if there is none."""
        stamps = self.column("stamp_ns")
        return int(stamps[stamps <= until_ns].max(initial=least_ns))

    def at(self, ids: np.ndarray) -> np.ndarray:
        """Return the positions (m,) of existing ids."""
        return np.searchsorted(self.ids, ids)

    def nearest(self, vector: np.ndarray, allowed: np.ndarray, count: int) -> np.ndarray:
        """Return the ids of about `count` allowed rows whose signatures are nearest to that of an embedding (256,).

        Among equal distances, the newest rows are preferred.
        """
        allowed = allowed & self.column("described").astype(bool)
        found = _scan()(self.column("signature"), self.sign(vector[None])[0], allowed, count)
        return np.asarray(self.ids[found])


@cache
def _scan() -> Callable[..., np.ndarray]:
    """Return the compiled scan of signatures, imported at first use because the compiler takes a second."""
    from eqa_nodes.core.memory.hamming import nearest

    exempt_loaded()
    return cast(Callable[..., np.ndarray], nearest)


def _columns(rows: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.ascontiguousarray(rows[name]) for name in _APART}


def row_of(keyframe_id: int, stamp_ns: int, xyz: tuple[float, float, float], yaw: float, root: int,
           described: bool, signed: np.ndarray) -> np.ndarray:
    """Return one row () of dtype ROW. xyz: base in the root map, metres; yaw: yaw of the camera axis, radians."""
    values: tuple[Any, ...] = (keyframe_id, stamp_ns, *xyz, math.remainder(yaw, 2 * math.pi), root, described,
                               tuple(signed.tolist()))
    return np.array(values, ROW)
