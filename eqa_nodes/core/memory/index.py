"""What recall filters by, of every keyframe, as one array in RAM: 80 bytes each, read from the file in blocks.

A million keyframes are 80 MB and open in a tenth of a second; a scan of them for the nearest signatures takes
milliseconds, which no tree of vectors needs to be kept up to date for.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.embedding import signature

ROW = np.dtype([("id", "<i8"), ("stamp_ns", "<i8"), ("x", "<f8"), ("y", "<f8"), ("z", "<f4"), ("yaw", "<f4"),
                ("root", "<i4"), ("described", "<i4"), ("signature", "<u8", (4,))])
_CHUNK = 64  # keyframes, by id, of one row of the table `signatures`: what one insert rewrites
_BITS = 256
_SAMPLE = 256  # embeddings whose mean all are measured from: what captions have in common tells none from another
_FAR = _BITS + 1


class Index:
    """Rows in order of their ids."""

    def __init__(self, db: Database) -> None:
        blocks = [block for block, in db.execute("SELECT rows FROM signatures ORDER BY chunk")]
        stored = np.frombuffer(b"".join(blocks), ROW)
        self._n = len(stored)
        self._rows = np.empty(max(1024, self._n + self._n // 4), ROW)
        self._rows[:self._n] = stored
        self._ids = np.ascontiguousarray(self._rows["id"])  # searching a column of records would copy it
        centre = db.value("SELECT value FROM facts WHERE name = 'centre'")
        self._centre = None if centre is None else np.frombuffer(bytes.fromhex(centre), np.float32)

    @property
    def rows(self) -> np.ndarray:
        """Return the rows (n,) of dtype ROW."""
        return self._rows[:self._n]

    @property
    def ids(self) -> np.ndarray:
        """Return the ids (n,) int64, rising."""
        return self._ids[:self._n]

    def sign(self, vectors: np.ndarray) -> np.ndarray:
        """Return signatures (n, 4) of embeddings (n, 256), by their signs around what is common to all."""
        return signature(vectors if self._centre is None else vectors - self._centre)

    def settle(self, db: Database) -> None:
        """Once there are enough embeddings: choose what is common to all, for good, and sign anew what is there."""
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
        """Put a row () with a new highest id into the file, inside a transaction; call `add` when that has ended."""
        chunk = int(row["id"]) // _CHUNK
        before = self.rows[np.searchsorted(self.ids, chunk * _CHUNK):]
        db.execute("INSERT OR REPLACE INTO signatures VALUES (?, ?)", (chunk, before.tobytes() + row.tobytes()))

    def add(self, row: np.ndarray) -> None:
        """Take in a row that was written."""
        if self._n == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty(self._n, ROW)])
            self._ids = np.concatenate([self._ids, np.empty(self._n, np.int64)])
        self._rows[self._n], self._ids[self._n] = row, row["id"]
        self._n += 1

    def rewrite(self, db: Database, rows: np.ndarray, ids: np.ndarray) -> None:
        """Write the chunks that hold these ids as they are in `rows`; call `replace` when the transaction has ended."""
        for chunk in np.unique(ids // _CHUNK).tolist():
            first, last = np.searchsorted(rows["id"], [chunk * _CHUNK, (chunk + 1) * _CHUNK])
            if first == last:
                db.execute("DELETE FROM signatures WHERE chunk = ?", (chunk,))
            else:
                db.execute("INSERT OR REPLACE INTO signatures VALUES (?, ?)", (chunk, rows[first:last].tobytes()))

    def replace(self, rows: np.ndarray) -> None:
        """Take in rows that were rewritten."""
        self._rows, self._n, self._ids = rows, len(rows), np.ascontiguousarray(rows["id"])

    def allowed(self, root: int | None, after_ns: int = 0, before_ns: int = 0,
                near: tuple[float, float, float] | None = None) -> np.ndarray:
        """Return (n,) bool: which rows a query's conditions let through; root None: of every map."""
        rows = self.rows
        ok = np.ones(len(rows), bool) if root is None else rows["root"] == root
        if after_ns:
            ok &= rows["stamp_ns"] >= after_ns
        if before_ns:
            ok &= rows["stamp_ns"] <= before_ns
        if near is not None:
            x, y, radius = near
            ok &= (rows["x"] - x) ** 2 + (rows["y"] - y) ** 2 <= radius * radius
        return ok

    def at(self, ids: np.ndarray) -> np.ndarray:
        """Return the positions (m,) of ids that are there."""
        return np.searchsorted(self.ids, ids)

    def nearest(self, vector: np.ndarray, allowed: np.ndarray, count: int) -> np.ndarray:
        """Return the ids of about `count` allowed rows whose signatures differ least from that of an embedding (256,).

        Of equals the newest.
        """
        rows = self.rows
        found = _nearest(rows["signature"], self.sign(vector[None])[0], allowed & (rows["described"] > 0), count)
        return np.asarray(self.ids[found])


def row_of(keyframe_id: int, stamp_ns: int, xyz: tuple[float, float, float], yaw: float, root: int,
           described: bool, signed: np.ndarray) -> np.ndarray:
    """Return one row () of dtype ROW. xyz: base in the root map, metres; yaw: of the camera's axis, radians."""
    values: tuple[Any, ...] = (keyframe_id, stamp_ns, *xyz, math.remainder(yaw, 2 * math.pi), root, described,
                               tuple(signed.tolist()))
    return np.array(values, ROW)


@numba.njit(cache=True, nogil=True)
def _ones(x: np.uint64) -> np.uint64:
    """Return the number of bits that are set, by halving."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@numba.njit(cache=True, nogil=True)
def _nearest(signatures: np.ndarray, wanted: np.ndarray, allowed: np.ndarray, count: int) -> np.ndarray:
    n = len(signatures)
    far = np.empty(n, np.uint16)
    histogram = np.zeros(_FAR + 1, np.int64)
    for i in range(n):
        d = np.uint64(0)
        for k in range(4):
            d += _ones(signatures[i, k] ^ wanted[k])
        far[i] = d if allowed[i] else _FAR
        histogram[far[i]] += 1
    limit, total = 0, histogram[0]
    while limit < _BITS and total < count:
        limit += 1
        total += histogram[limit]
    out = np.empty(min(total, 2 * count), np.int64)
    m = 0
    for i in range(n - 1, -1, -1):
        if far[i] <= limit and m < len(out) and (far[i] < limit or total <= 2 * count):
            out[m] = i
            m += 1
    for i in range(n - 1, -1, -1):  # of many equally far ones the newest
        if total > 2 * count and far[i] == limit and m < len(out):
            out[m] = i
            m += 1
    return out[:m]
