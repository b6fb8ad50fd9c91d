"""What may be asked of the episodic memory; nothing here writes."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.memory import rows
from eqa_nodes.core.memory.changes import Change, changes
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.index import Index
from eqa_nodes.core.memory.maps import Maps, moved, unpack
from eqa_nodes.core.memory.recall import Recaller
from eqa_nodes.core.memory.windows import FOR_EVER, WALL_NS
from eqa_nodes.core.types.geometry import compose, inverse
from eqa_nodes.core.types.questions import MemoryObject, Recalled, RecallQuery
from eqa_nodes.core.types.views import Keyframe

MOST_VIEWS = 240  # of a map that are compared: they bound the time
_CELL_M, _SECTORS = 0.5, 8


class MemoryReader:
    """Answers questions about a memory file and the running session. Calls may come from several threads.

    recaller: what finds keyframes (recall adds the views themselves).
    """

    recaller: Recaller
    _index: Index

    def __init__(self, path: Path, write: bool) -> None:
        """Open or create the file. Raises StorageError when it cannot be opened, is something else or is being written.

        write False: only look objects up, also in a file that another process writes (as it was when opened).
        """
        self.path = Path(path)
        self._trust, self._last_ns = Trust(), 0
        self._lock = threading.RLock()
        self._db = Database(self.path, write)
        with self._db.storage("read"):
            self._maps = Maps(self._db)

    def recall(self, query: RecallQuery) -> list[Recalled]:
        """Return the best matches of the running session's map, best first; equal scores: the older id first.

        The score is a sum that `why` itemises: words (BM25 over kinds, attributes, rooms and captions), how much of the
        view the matching objects fill, likeness of meaning (cosine of embeddings), nearness. Views that nothing
        describes cannot be ruled out: they follow, spread evenly in time, with score 0. Without text and place the
        views in the window are spread evenly in time.
        """
        if query.limit <= 0:
            return []
        with self._lock, self._db.storage("read"):
            return [Recalled(self._get(match.id), match.score, match.why)
                    for match in self.recaller.find(query, self.now_ns)]

    def since(self, keyframe_id: int) -> list[Keyframe]:
        """Return the keyframes of this session with a larger id, oldest first."""
        with self._lock, self._db.storage("read"):
            found = self._db.execute("SELECT id FROM keyframes WHERE session = ? AND id > ? AND stamp_ns <= ? "
                                     "ORDER BY id", (self._maps.session, keyframe_id, self._trust.until_ns))
            return [self._get(i) for i, in found.fetchall()]

    def keyframe(self, keyframe_id: int) -> Keyframe | None:
        """Return one keyframe, None when it is not remembered (any more); of an unknown place: in its own frame."""
        with self._lock, self._db.storage("read"):
            root = self._db.value("SELECT root FROM keyframes WHERE id = ?", (keyframe_id,))
            if root is None:
                return None
            return self._get(keyframe_id) if root == self._maps.root else rows.keyframe(self._db, keyframe_id)

    def objects(self, text: str = "", limit: int = 0) -> list[MemoryObject]:
        """Return remembered objects: all, or those that a text is about, the likest first. limit 0: all of them."""
        with self._lock, self._db.storage("read"):
            found = self._trust.objects(self._db, rows.objects(self._db, self._maps))
            if text:
                found = self.recaller.about(text, found)
            return found[:limit] if limit > 0 else found

    def last_view(self, object_id: int) -> int:
        """Return the id of the newest keyframe that shows an object, 0 without one."""
        with self._lock, self._db.storage("read"):
            return int(self._db.value("SELECT max(keyframe) FROM seen JOIN keyframes ON keyframes.id = keyframe "
                                      "WHERE object = ? AND stamp_ns <= ?",
                                      (object_id, self._trust.until_ns)) or 0)

    def changes(self, since_ns: int) -> list[Change]:
        """Return what has changed since a stamp in the running session's map, the surest first."""
        with self._lock, self._db.storage("read"):
            return changes(self._db, self._maps, self.objects(), since_ns)

    def known_before(self, object_id: int) -> bool:
        """Return whether an earlier session has seen an object."""
        with self._lock, self._db.storage("read"):
            first = self._db.value("SELECT min(session) FROM seen JOIN keyframes ON keyframes.id = keyframe "
                                   "WHERE object = ?", (object_id,))
            return first is not None and int(first) < self._maps.session

    @property
    def session_began_ns(self) -> int | None:
        """Return the stamp of the running session's first frame, None before it."""
        return self._maps.began_ns

    def views_of_map(self, name: str, whole_place: bool = False) -> list[Keyframe]:
        """Return views of a map to compare with another's: see relocalise. Raises StorageError for an unknown map."""
        with self._lock, self._db.storage("read"):
            return views_of_map(self._db, self._index.rows, self._maps, name, self._trust.until_ns, whole_place)

    def place_of(self, name: str) -> int:
        """Return the number of the place that a map belongs to. Raises StorageError for an unknown map."""
        with self._lock, self._db.storage("read"):
            return self._maps.place_of(name)[0]

    def running_map(self) -> str:
        """Return the name of the running session's map, or of the session where the map has none."""
        with self._lock, self._db.storage("read"):
            return self._maps.running()

    def unrelated_maps(self) -> list[str]:
        """Return one map of each other place, where nobody knows yet where the running session's map lies."""
        with self._lock, self._db.storage("read"):
            return self._maps.unrelated()

    def info(self) -> dict[str, int | str]:
        """Return facts for people, by name."""
        with self._lock, self._db.storage("read"):
            count = {name: int(self._db.value(f"SELECT count(*) FROM {name}"))
                     for name in ("keyframes", "objects", "sessions")}
            roots = int(self._db.value("SELECT count(DISTINCT root) FROM maps"))
            return {**count, "places that are not known to be one": roots, "bytes": self._db.used_bytes(),
                    "embeddings": self._embedder_name()}

    def sessions(self) -> list[tuple[str, str, int]]:
        """Return every session's id, the name of its map, and the number of the place that this map belongs to."""
        with self._lock, self._db.storage("read"):
            return self._maps.names()

    @property
    def newest_ns(self) -> int:
        """Return the newest stamp that is remembered and believed, of views or of looks at objects."""
        with self._lock, self._db.storage("read"):
            until = self._trust.until_ns
            looked = self._db.value("SELECT max(max(last_ns * (last_ns <= ?), gone_ns * (gone_ns <= ?))) FROM objects",
                                    (until, until)) or 0
            return self._index.newest_ns(until, max(self._last_ns, int(looked)))

    @property
    def now_ns(self) -> int:
        """Return the time that "yesterday" and "in the last hour" count from.

        It is the clock that `set_now` was given. Where stamps are a simulator's, or the clock is unknown as for a
        recording, it is the newest stamp: of this session, else of all.
        """
        newest = self._last_ns or self.newest_ns
        return newest if not self._trust.now_ns or 0 < newest < WALL_NS else self._trust.now_ns

    def __len__(self) -> int:
        return len(self._index.rows)

    def _embedder_name(self) -> str:
        return self.recaller.embedder.name if self.recaller.embedder is not None else "none"

    def _get(self, keyframe_id: int) -> Keyframe:
        return moved(rows.keyframe(self._db, keyframe_id), self._maps.outward())


def views_of_map(db: Database, index: np.ndarray, where: Maps, name: str, until_ns: float,
                 whole_place: bool = False) -> list[Keyframe]:
    """Return the views of a map that have depth, in its frame, without images: the newest of each place and direction.

    whole_place: those of all maps that share its root, too. At most MOST_VIEWS. Raises StorageError for an unknown map.
    """
    root, root_from_map = where.place_of(name)
    chosen = index[(index["root"] == root) & (index["stamp_ns"] <= until_ns)]
    if not whole_place:
        sessions = where.sessions_of(name)
        found = db.execute(f"SELECT id FROM keyframes WHERE session IN ({','.join('?' * len(sessions))})", sessions)
        chosen = chosen[np.isin(chosen["id"], [i for i, in found])]
    map_from_root = inverse(root_from_map)
    views = []
    for i in spread(chosen):
        geometry = rows.geometry(db, i)
        if geometry is not None:
            pose, = db.execute("SELECT map_from_base FROM keyframes WHERE id = ?", (i,)).fetchone()
            views.append(Keyframe(i, 0, compose(map_from_root, unpack(pose)), b"", geometry=geometry))
    return views


def spread(index: np.ndarray, most: int = MOST_VIEWS) -> list[int]:
    """Return the ids, rising, of at most so many rows of an index: the newest of each cell and direction."""
    edge_m = _CELL_M
    while len(index) > most:
        sector = np.floor((index["yaw"] + np.pi) / (2 * np.pi) * _SECTORS).astype(np.int64) % _SECTORS
        x, y, z = (np.floor(index[axis] / edge).astype(np.int64)
                   for axis, edge in (("x", edge_m), ("y", edge_m), ("z", max(edge_m, 2.0))))
        key = np.stack((x, y, z, sector))
        newest = np.lexsort((-index["id"], -index["stamp_ns"]))
        _, first = np.unique(key[:, newest], axis=1, return_index=True)
        index = index[np.sort(newest[first])]
        if edge_m > 1e4:
            index = index[np.sort(np.argsort(-index["stamp_ns"], kind="stable")[:most])]
        edge_m *= 1.3
    return [int(i) for i in np.sort(index["id"])]


class Trust:
    """until_ns: the latest stamp that is believed, FOR_EVER while the time is unknown."""

    def __init__(self) -> None:
        self.now_ns, self.until_ns = 0, FOR_EVER

    def set_now(self, now_ns: int, ahead_s: float) -> None:
        """Return what time it is, 0 = unknown. ahead_s: by which clocks may differ, 0 = every stamp is believed."""
        self.now_ns = now_ns
        self.until_ns = now_ns + round(ahead_s * 1e9) if now_ns and ahead_s else FOR_EVER

    def check(self, stamp_ns: int) -> None:
        """Raise BadFrame for a stamp from the future."""
        if stamp_ns > self.until_ns:
            raise BadFrame("camera frame from the future, which is not remembered: it is stamped over "
                           f"{_rounded((stamp_ns - self.now_ns) / 1e9)} after now; synchronise the clocks of camera "
                           "and computer (chrony), or raise memory.ahead_s")

    def objects(self, db: Database, found: list[MemoryObject]) -> list[MemoryObject]:
        """Return the objects as known from trusted looks, in their order."""
        until = self.until_ns
        believed = (o if max(o.last_ns, o.gone_ns) <= until else _as_believed(db, o, until) for o in found)
        return [o for o in believed if o is not None]


def _as_believed(db: Database, o: MemoryObject, until: int) -> MemoryObject | None:
    """Return an object as its views up to a stamp show it, None where none of them does."""
    views = db.execute("SELECT stamp_ns, pixels, keyframe, bbox, attributes FROM seen JOIN keyframes "
                       "ON keyframes.id = keyframe WHERE object = ? AND stamp_ns <= ?", (o.id, until)).fetchall()
    if not views:
        return None
    newest, best = max(views), max(views, key=lambda view: view[1:3])
    return o._replace(attributes=json.loads(newest[4]), first_ns=min(o.first_ns, min(views)[0]),
                      last_ns=newest[0] if o.last_ns > until else o.last_ns,
                      gone_ns=o.gone_ns if o.gone_ns <= until else 0, keyframe_id=best[2],
                      bbox=tuple(json.loads(best[3])))


def _rounded(seconds: float) -> str:
    """Return a span in one of few words, so that counting by reason counts."""
    return next((words for least, words in ((365 * 86400, "a year"), (86400, "a day"), (3600, "an hour"),
                                            (60, "a minute")) if seconds >= least), "a second")
