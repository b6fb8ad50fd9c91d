"""Read-only queries of the episodic memory."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory import ledger, rows, watches
from eqa_nodes.core.memory.changes import Change, changes
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.in_words import name_of
from eqa_nodes.core.memory.index import Index, cells_of
from eqa_nodes.core.memory.ledger import ObjectSpell, PatrolOfObject, PatrolSpan, RoomLooks
from eqa_nodes.core.memory.maps import Maps, moved, unpack
from eqa_nodes.core.memory.recall import Recaller
from eqa_nodes.core.memory.times import FOR_EVER, WALL_NS
from eqa_nodes.core.memory.watches import MemoryWatch
from eqa_nodes.core.types.geometry import compose, inverse
from eqa_nodes.core.types.questions import MemoryObject, Recalled, RecallQuery
from eqa_nodes.core.types.views import Keyframe

MOST_VIEWS = 240  # maximum number of views compared per map, which limits the time
_CELL_M = 0.5
_MISUSED = 2  # objects that bore a name wrongly, from which another one is not believed from one look


class MemoryReader:
    """Answers queries about a memory file and the running session. Thread-safe.

    recaller: finds matching keyframes (`recall` adds the views themselves).
    """

    recaller: Recaller
    _index: Index

    def __init__(self, path: Path, write: bool) -> None:
        """Open or create the file. Raises StorageError if it cannot be opened, is not a memory or is being written.

        write False: only look up objects, also in a file that another process writes (in its state at opening).
        """
        self.path = Path(path)
        self._trust, self._last_ns = Trust(), 0
        self._lock = threading.RLock()
        self._db = Database(self.path, write)
        with self._db.storage("read"):
            self._maps = Maps(self._db)

    def recall(self, query: RecallQuery) -> list[Recalled]:
        """Return the best matches in the running session's map, best first; at equal scores the older id first.

        The score is a sum that `why` itemises: words (BM25 over kinds, attributes, rooms and captions), share of the
        view filled by matching objects, semantic similarity (cosine of embeddings), and nearness. Views without
        descriptions cannot be excluded: they follow, evenly spread in time, with score 0. Without text and place, the
        views in the window are spread evenly in time. If the query names no time, views lack the sightings of objects
        that are gone since, of people whom an earlier patrol saw, and states that have changed; those that prove
        nothing else that is asked come last.
        """
        if query.limit <= 0:
            return []
        with self._lock, self._db.storage("read"):
            now_ns = self.now_ns
            found = [Recalled(self._get(match.id), match.score, match.why)
                     for match in self.recaller.find(query, now_ns)]
            present = self.recaller.present(query, now_ns)
            return [item if present is None else item._replace(keyframe=present.as_known(item.keyframe))
                    for item in found]

    def since(self, keyframe_id: int) -> list[Keyframe]:
        """Return the keyframes of this session with a larger id, oldest first."""
        with self._lock, self._db.storage("read"):
            found = self._db.execute("SELECT id FROM keyframes WHERE session = ? AND id > ? AND stamp_ns <= ? "
                                     "ORDER BY id", (self._maps.session, keyframe_id, self._trust.until_ns))
            return [self._get(i) for i, in found.fetchall()]

    def keyframe(self, keyframe_id: int) -> Keyframe | None:
        """Return a keyframe, None if it is not stored (any more); one of an unrelated place is in its own frame."""
        with self._lock, self._db.storage("read"):
            root = self._db.value("SELECT root FROM keyframes WHERE id = ?", (keyframe_id,))
            if root is None:
                return None
            return self._get(keyframe_id) if root == self._maps.root else rows.keyframe(self._db, keyframe_id)

    def objects(self, text: str = "", limit: int = 0) -> list[MemoryObject]:
        """Return remembered objects: all, or those that a text is about, best match first. limit: 0 = no limit."""
        with self._lock, self._db.storage("read"):
            found = self._trust.objects(self._db, rows.objects(self._db, self._maps))
            if text:
                found = self.recaller.about(text, found)
            return found[:limit] if limit > 0 else found

    def last_view(self, object_id: int) -> int:
        """Return the id of the newest keyframe that shows an object, 0 if there is none."""
        with self._lock, self._db.storage("read"):
            return int(self._db.value("SELECT max(keyframe) FROM seen JOIN keyframes ON keyframes.id = keyframe "
                                      "WHERE object = ? AND stamp_ns <= ?",
                                      (object_id, self._trust.until_ns)) or 0)

    def views_showing(self, objects: Sequence[MemoryObject]) -> list[tuple[int, int]]:
        """Return stamp (ns) and id of the keyframes that show one of the objects, oldest first."""
        with self._lock, self._db.storage("read"):
            return sorted({(stamp_ns, i) for o in objects for stamp_ns, i in self._db.execute(
                "SELECT stamp_ns, keyframe FROM seen JOIN keyframes ON keyframes.id = keyframe WHERE object = ? "
                "AND stamp_ns <= ?", (o.id, self._trust.until_ns))})

    def sightings(self, objects: Sequence[MemoryObject], after_ns: int = 0,
                  before_ns: int = FOR_EVER) -> list[MemoryObject]:
        """Return objects as they were seen within a time, oldest first: room, attributes, last_ns, keyframe_id.

        They come from the looks of each patrol, which need no stored view (keyframe_id 0), and from the views.
        """
        until = min(before_ns, self._trust.until_ns)
        found = list[MemoryObject]()
        with self._lock, self._db.storage("read"):
            for o in objects:
                views = self._sights(o, after_ns, until)
                spells = (spell for patrol in self.history(o.id) for spell in patrol.spells)
                found += views + [_as_seen(o, spell, views) for spell in spells if after_ns <= spell.last_ns <= until]
        return sorted(found, key=lambda o: (o.last_ns, o.id))

    def _sights(self, o: MemoryObject, after_ns: int, until_ns: float) -> list[MemoryObject]:
        """Return an object as the views of a time saw it."""
        found = list[MemoryObject]()
        for keyframe, bbox, attributes, stamp_ns, seen in self._db.execute(
                "SELECT keyframe, bbox, seen.attributes, stamp_ns, sightings FROM seen JOIN keyframes "
                "ON keyframes.id = keyframe WHERE object = ? AND stamp_ns BETWEEN ? AND ? ORDER BY stamp_ns",
                (o.id, after_ns, until_ns)).fetchall():
            box = tuple(json.loads(bbox))
            room = next((s.label.room for s in rows.load_sightings(seen) if s.bbox == box), o.room)
            found.append(o._replace(room=room, attributes=json.loads(attributes), last_ns=stamp_ns, bbox=box,
                                    keyframe_id=keyframe, gone_ns=o.gone_ns * (stamp_ns == o.last_ns)))
        return found

    def changes(self, since_ns: int) -> list[Change]:
        """Return the changes since a stamp in the running session's map, the most certain first."""
        with self._lock, self._db.storage("read"):
            return changes(self._db, self._maps, self.established(self.objects()), since_ns)

    def established(self, objects: Sequence[MemoryObject]) -> list[MemoryObject]:
        """Return the objects without those that a detector may have misnamed.

        No patrol has seen such an object in two looks, and another one of its name is known from two looks of one
        patrol: from an earlier one, unless the newest patrol saw the object and not the other, and the name has not
        been misused before; or from a later one, and more patrols than saw it found its place empty by then.
        """
        with self._lock, self._db.storage("read"):
            looks = {o.id: ledger.looks_by_patrol(self._db, o.id) for o in objects}
            patrols, known = self.patrols(), dict[str, set[int]]()  # name -> patrols that saw one in two looks
            newest = patrols[-1].number if patrols else 0
            for o in objects:
                known.setdefault(canonical(name_of(o)), set()).update(n for n in looks[o.id] if looks[o.id][n] > 1)
            doubted = {o.id for o in objects if self._is_misnamed(o, looks[o.id], known[canonical(name_of(o))])}
            misused = Counter(canonical(name_of(o)) for o in objects if o.id in doubted and newest not in looks[o.id])
        return [o for o in objects if o.id not in doubted or (
            newest in looks[o.id] and newest not in known[canonical(name_of(o))]
            and misused[canonical(name_of(o))] < _MISUSED)]

    def _is_misnamed(self, o: MemoryObject, looks: Mapping[int, int], known: Collection[int]) -> bool:
        if not known or max(looks.values(), default=2) > 1:
            return False
        if min(known) <= min(looks):
            return True
        until = max(min(known), max(looks))
        return sum(one.outcome == ledger.EMPTY and min(looks) < one.patrol.number < until
                   for one in self.history(o.id)) > len(looks) * (max(looks) > min(known))

    def history(self, object_id: int) -> list[PatrolOfObject]:
        """Return what each patrol knows of an object, oldest first, also that it was not looked at."""
        with self._lock, self._db.storage("read"):
            return ledger.history(self._db, object_id, self._trust.until_ns)

    def patrols(self) -> list[PatrolSpan]:
        """Return the patrols in the running session's map, oldest first."""
        with self._lock, self._db.storage("read"):
            return ledger.patrols(self._db, self._maps.root, self._trust.until_ns)

    def room_history(self, room: str) -> list[RoomLooks | PatrolSpan]:
        """Return each patrol's looks into a room, oldest first; the patrol alone if it did not look there."""
        with self._lock, self._db.storage("read"):
            return ledger.room_history(self._db, self._maps.root, room, self._trust.until_ns)

    def watches(self) -> list[MemoryWatch]:
        """Return the watches with the newest event of each, in the order in which they were set."""
        with self._lock, self._db.storage("read"):
            return watches.watches(self._db)

    def known_before(self, object_id: int) -> bool:
        """Return whether an earlier session has seen an object."""
        with self._lock, self._db.storage("read"):
            first = self._db.value("SELECT min(session) FROM seen JOIN keyframes ON keyframes.id = keyframe "
                                   "WHERE object = ?", (object_id,))
            return first is not None and int(first) < self._maps.session

    @property
    def session_began_ns(self) -> int | None:
        """Return the stamp of the running session's first frame, None before that."""
        return self._maps.began_ns

    def views_of_map(self, name: str, whole_place: bool = False) -> list[Keyframe]:
        """Return views of a map to compare with another (see relocalise). Raises StorageError for an unknown map."""
        with self._lock, self._db.storage("read"):
            return views_of_map(self._db, self._index.rows, self._maps, name, self._trust.until_ns, whole_place)

    def place_of(self, name: str) -> int:
        """Return the number of the place that a map belongs to. Raises StorageError for an unknown map."""
        with self._lock, self._db.storage("read"):
            return self._maps.place_of(name)[0]

    def running_map(self) -> str:
        """Return the name of the running session's map, or the session's id if the map has no name."""
        with self._lock, self._db.storage("read"):
            return self._maps.running()

    def unrelated_maps(self) -> list[str]:
        """Return one map of each other place; empty if the place of the running session's map is known."""
        with self._lock, self._db.storage("read"):
            return self._maps.unrelated()

    def info(self) -> dict[str, int | str]:
        """Return named facts about the memory for display."""
        with self._lock, self._db.storage("read"):
            count = {name: int(self._db.value(f"SELECT count(*) FROM {name}"))
                     for name in ("keyframes", "objects", "sessions")}
            roots = int(self._db.value("SELECT count(DISTINCT root) FROM maps"))
            return {**count, "places that are not known to be one": roots, "bytes": self._db.used_bytes(),
                    "embeddings": self._embedder_name()}

    def sessions(self) -> list[tuple[str, str, int]]:
        """Return for every session: its id, the name of its map, and the number of the map's place."""
        with self._lock, self._db.storage("read"):
            return self._maps.names()

    @property
    def newest_ns(self) -> int:
        """Return the newest trusted stamp of views and of looks at objects."""
        with self._lock, self._db.storage("read"):
            until = self._trust.until_ns
            looked = self._db.value("SELECT max(max(last_ns * (last_ns <= ?), gone_ns * (gone_ns <= ?))) FROM objects",
                                    (until, until)) or 0
            return self._index.newest_ns(until, max(self._last_ns, int(looked)))

    @property
    def now_ns(self) -> int:
        """Return the time to which "yesterday" and "in the last hour" refer.

        It is the clock passed to `set_now`. If stamps come from a simulator, or the clock is unknown as in a recording,
        it is the newest stamp of this session, or else of all.
        """
        newest = self._last_ns or self.newest_ns
        return newest if not self._trust.now_ns or 0 < newest < WALL_NS else self._trust.now_ns

    def __len__(self) -> int:
        return len(self._index.rows)

    def _embedder_name(self) -> str:
        return self.recaller.embedder.name if self.recaller.embedder is not None else "none"

    def _get(self, keyframe_id: int) -> Keyframe:
        return moved(rows.keyframe(self._db, keyframe_id), self._maps.outward())


def _as_seen(o: MemoryObject, spell: ObjectSpell, views: Sequence[MemoryObject]) -> MemoryObject:
    """Return an object as it was seen last in one place and state, with the newest view of that."""
    attributes = {**o.attributes, "relation": spell.relation, "support": spell.support, "state": spell.state}
    shown = [view.keyframe_id for view in views if spell.first_ns <= view.last_ns <= spell.last_ns]
    return o._replace(room=spell.room, attributes={k: v for k, v in attributes.items() if v}, last_ns=spell.last_ns,
                      keyframe_id=shown[-1] if shown else 0, gone_ns=o.gone_ns * (spell.last_ns == o.last_ns))


def views_of_map(db: Database, index: np.ndarray, where: Maps, name: str, until_ns: float,
                 whole_place: bool = False) -> list[Keyframe]:
    """Return the views of a map with depth, in its frame, without images: the newest of each position and direction.

    whole_place: include all maps that share its root. At most MOST_VIEWS. Raises StorageError for an unknown map.
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
    """Return at most this many ids of index rows, ascending: the newest of each cell and direction."""
    edge_m = _CELL_M
    while len(index) > most:
        key = cells_of(index, edge_m)
        newest = np.lexsort((-index["id"], -index["stamp_ns"]))
        _, first = np.unique(key[:, newest], axis=1, return_index=True)
        index = index[np.sort(newest[first])]
        if edge_m > 1e4:
            index = index[np.sort(np.argsort(-index["stamp_ns"], kind="stable")[:most])]
        edge_m *= 1.3
    return [int(i) for i in np.sort(index["id"])]


class Trust:
    """Which stamps are trusted. until_ns: the latest trusted stamp, FOR_EVER while the time is unknown."""

    def __init__(self) -> None:
        self.now_ns, self.until_ns = 0, FOR_EVER

    def set_now(self, now_ns: int, ahead_s: float) -> None:
        """Set the current time, 0 = unknown. ahead_s: allowed clock difference, seconds, 0 = all stamps are trusted."""
        self.now_ns = now_ns
        self.until_ns = now_ns + round(ahead_s * 1e9) if now_ns and ahead_s else FOR_EVER

    def check(self, stamp_ns: int) -> None:
        """Raise BadFrame if a stamp is in the future."""
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
    """Return an object as shown by its views up to a stamp, None if there are none."""
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
    """Return a duration as one of a few phrases, so that messages can be counted by their text."""
    return next((words for least, words in ((365 * 86400, "a year"), (86400, "a day"), (3600, "an hour"),
                                            (60, "a minute")) if seconds >= least), "a second")
