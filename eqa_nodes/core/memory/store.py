"""Episodic memory: keyframes and objects of a place in one SQLite file, over many sessions."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from eqa_nodes.core.answerers.places import PlacesConfig, places_of
from eqa_nodes.core.camera.privacy import PrivacyConfig, masked
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.memory import rows
from eqa_nodes.core.memory.changes import Change, changes
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.embedding import DIMENSIONS, make_embedder, packed
from eqa_nodes.core.memory.forgetting import ForgetSelection, Forgotten, forget, over_budget, realign
from eqa_nodes.core.memory.index import Index, row_of
from eqa_nodes.core.memory.keyframes import Cell, KeyframeCandidate, KeyframeConfig, Novelty, NoveltyView, jpeg_of
from eqa_nodes.core.memory.maps import Maps, moved
from eqa_nodes.core.memory.objects import Objects, ObjectsConfig, ObjectUpdate
from eqa_nodes.core.memory.recall import Recaller
from eqa_nodes.core.memory.recollect import recollect
from eqa_nodes.core.memory.relocalise import views_of_map
from eqa_nodes.core.memory.trust import Trust
from eqa_nodes.core.perception.instances import PerceptionConfig, caption_of, instances, region_of, sightings
from eqa_nodes.core.perception.projection import geometry_of
from eqa_nodes.core.ranges import NotNegative
from eqa_nodes.core.settings import NOW, setting
from eqa_nodes.core.types.geometry import Transform, compose
from eqa_nodes.core.types.remembered import MemoryObject, Recalled, RecallQuery, Recollection
from eqa_nodes.core.types.views import Frame, Keyframe, Label, Sighting, check_frame


@dataclass(frozen=True)
class MemoryConfig:
    """What is worth remembering."""

    keyframes: KeyframeConfig = setting(KeyframeConfig(), live=NOW)
    perception: PerceptionConfig = setting(PerceptionConfig(), live=NOW)
    places: PlacesConfig = setting(PlacesConfig(), live=NOW)
    objects: ObjectsConfig = setting(ObjectsConfig(), live=NOW)
    privacy: PrivacyConfig = PrivacyConfig()
    embedder: str = setting("auto",
        "Text embedder for recall by meaning: auto (wordllama where it is installed) | wordllama | none, or an "
        "embedder of another package.")
    budget_mb: NotNegative = setting(0.0,
        "Maximum size of the memory file in megabytes. Beyond it, views that other views cover are forgotten; 0 sets "
        "no limit.", live=NOW)
    relocalise: bool = setting(False,
        "Compare an unknown map with the known ones, by the depth of their views; what is known there is recalled once"
        " it is certain where the map lies.", live=NOW)
    ahead_s: NotNegative = setting(10.0,
        "Maximum time in seconds that a stamp may be ahead of the clock; views with later stamps are rejected; 0 sets"
        " no limit.")


class MemoryStore:
    """Keyframes and objects of a place. Calls may come from several threads; one process writes at a time.

    refused: number of frames that could not be used; recaller: what finds keyframes (recall adds the views themselves).
    """

    def __init__(self, path: Path, config: MemoryConfig | None = None, write: bool = True) -> None:
        """Open or create the file. Raises StorageError when it cannot be opened, is something else or is being written.

        write False: only look objects up, also in a file that another process writes (as it was when opened).
        """
        self.path = Path(path)
        self.refused = 0
        self._trust, self._last_ns = Trust(), 0
        self._config = config or MemoryConfig()
        self._lock = threading.RLock()
        self._embedder = make_embedder(self._config.embedder)
        self._db = Database(self.path, write)
        with self._db.storage("read"):
            self._maps = Maps(self._db)
        self._load()

    def configure(self, config: MemoryConfig) -> None:
        """Change the settings; the embedder stays the same."""
        with self._lock:
            self._config = config
            self._novelty.config, self._objects.config = config.keyframes, config.objects

    def set_now(self, now_ns: int) -> int:
        """Return what time it is by the clock of stamps, 0 = unknown; return how many views are stamped later.

        Those are not believed: they are not recalled, prove nothing and are seen anew, until that time has come.
        """
        with self._lock:
            self._trust.set_now(now_ns, self._config.ahead_s)
            until = self._trust.until_ns
            self.recaller.until_ns = self._novelty.until_ns = until
            if self._last_ns > until:
                self._last_ns = self._last_of_session()
            return int((self._index.column("stamp_ns") > until).sum())

    @property
    def config(self) -> MemoryConfig:
        """The settings as they are now."""
        return self._config

    def reset(self, episode_id: str = "", keep: bool = False, map_name: str = "") -> None:
        """Begin a session. keep False: forget everything, ids begin at 1 again; True: what was remembered stays.

        map_name: sessions of the same name share their map frame; empty: a frame of which nobody knows where it lies
        in those of before, so that what they hold is not recalled until `align` says so.
        """
        with self._lock:
            with self._db.transaction():
                if not keep:
                    rows.delete_all(self._db)
                self._maps.begin(episode_id, map_name)
            with self._db.storage("read"):
                self._maps.load()
                self._load()
            if not keep:
                self._db.shrink()

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> Keyframe | None:
        """Remember the frame if it is new, and its objects in any case; None when it shows nothing new.

        Raises BadFrame (counted) for a frame that is malformed or older than the last one of this session, StorageError
        when it could not be written: then it is not remembered, and the next call may try again.
        """
        with self._lock:
            frame, labels = self._checked(frame, labels)
            self._maps.saw(frame.stamp_ns)
            counts = instances(frame, labels, self._config.perception)
            seen = cache(lambda: sightings(frame, labels, self._config.perception, counts))
            look = KeyframeCandidate(frame, [labels[i] for i in counts], seen)
            self._last_ns = frame.stamp_ns
            new = bool(self._novelty.reason(look))
            if not new and not self._is_time(frame):
                return None
            looked = self._look(frame, seen())
            new = new or any(known.gone_ns == frame.stamp_ns for known in looked.missed)  # the image that proves it
            keyframe = self._keyframe(frame, seen()) if new else None
            self._write(frame, keyframe, look.view() if new else None, looked)
            return None if keyframe is None else moved(keyframe, self._maps.outward())

    def add_many(self, batch: Iterable[tuple[Keyframe, NoveltyView, np.ndarray]]) -> None:
        """Write keyframes with their views and embeddings (DIMENSIONS,) in one transaction, without their objects.

        Ids must go on from those that are there.
        """
        with self._lock:
            try:
                with self._db.transaction():
                    for keyframe, view, vector in batch:
                        self._index.add(self._insert(keyframe, view, vector[None], bool(keyframe.caption)))
                self._index.settle(self._db)
            finally:
                self._load()

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
            return [Recalled(self._get(match.id), match.score, match.why) for match in self.recaller.find(query)]

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

    def recollect(self, question: str, now_ns: int = 0) -> Recollection | None:
        """Return memory's own answer to a question about the past, None for other questions.

        now_ns: what "yesterday" counts from; 0 = the newest stamp.
        """
        with self._lock, self._db.storage("read"):
            return recollect(self, question, now_ns or self.newest_ns)

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

    def forget(self, selection: ForgetSelection) -> Forgotten:
        """Delete the selection and what is known from it alone, for good: no file contains its bytes afterwards."""
        with self._lock:
            selection = selection._replace(near=self._maps.circle(selection.near))
            with self._db.transaction():
                forgotten = forget(self._db, self._index, self._maps.root, selection)
            self._load()
            self._db.shrink()
            return forgotten

    def align(self, map_name: str, known: str, known_from_map: Transform) -> None:
        """Store the transform between two maps, so that their contents share one frame.

        Names are those of maps; a map without one goes by its session's id. Raises StorageError for an unknown one.
        """
        with self._lock:
            with self._db.transaction():
                realign(self._db, self._index, self._maps, map_name, known, known_from_map)
            with self._db.storage("read"):
                self._maps.load()
                self._load()

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

    def __len__(self) -> int:
        return len(self._index.rows)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            self._db.close()

    def _load(self) -> None:
        """Take from the file what recall and the next frame need."""
        with self._db.storage("read"):
            root = self._maps.root
            self._index = Index(self._db)
            self._novelty = Novelty(self._config.keyframes, self._views_of, self._knows)
            self._objects = Objects(rows.known_objects(self._db, root), self._config.objects, self._embedder)
            self.recaller = Recaller(self._db, self._index, self._maps, self._embedder)
            self._last_id = int(self._db.value("SELECT seq FROM sqlite_sequence WHERE name = 'keyframes'") or 0)
            self._last_ns = self._last_of_session()
            self.recaller.until_ns = self._novelty.until_ns = self._trust.until_ns
            self._looked_ns = -1 << 62

    def _last_of_session(self) -> int:
        return int(self._db.value("SELECT max(stamp_ns) FROM keyframes WHERE session = ? AND stamp_ns <= ?",
                                  (self._maps.session, self._trust.until_ns)) or 0)

    def _views_of(self, cell: Cell) -> list[NoveltyView]:
        with self._db.storage("read"):
            return rows.views(self._db, self._maps.root, cell)

    def _knows(self, item: str) -> bool:
        with self._db.storage("read"):
            return self._db.value("SELECT 1 FROM content WHERE root = ? AND item = ?",
                                  (self._maps.root, item)) is not None

    def _checked(self, frame: Frame, labels: Mapping[int, Label]) -> tuple[Frame, Mapping[int, Label]]:
        """Return what of a frame may be kept, in the frame of the root map, which privacy's zones are of too."""
        try:
            check_frame(frame)
            self._trust.check(frame.stamp_ns)
            if frame.stamp_ns < self._last_ns:
                raise BadFrame(f"camera frame goes back in time: {frame.stamp_ns} ns after {self._last_ns} ns; "
                               "begin a new episode when the clock restarts")
            inward = self._maps.inward()
            if inward is not None:
                frame = replace(frame, map_from_base=compose(inward, frame.map_from_base))
            return masked(frame, labels, self._config.privacy)
        except BadFrame:
            self.refused += 1
            raise

    def _is_time(self, frame: Frame) -> bool:
        """Return whether to look for objects in a view that is not kept."""
        due = frame.stamp_ns - self._looked_ns >= self._config.objects.look_s * 1e9
        return due and frame.labels is not None

    def _keyframe(self, frame: Frame, seen: tuple[Sighting, ...]) -> Keyframe:
        return Keyframe(self._last_id + 1, frame.stamp_ns, frame.map_from_base,
                        jpeg_of(frame, self._config.keyframes.jpeg_quality), seen,
                        caption_of(seen, self._config.perception.caption_items), region_of(seen),
                        places_of(frame, self._config.places), geometry_of(frame))

    def _look(self, frame: Frame, seen: tuple[Sighting, ...]) -> ObjectUpdate:
        """Return the visible objects; without labels there are none."""
        if frame.labels is None:
            return ObjectUpdate()
        return self._objects.look(frame, seen, self._config.perception.min_share * frame.depth_m.size)

    def _write(self, frame: Frame, keyframe: Keyframe | None, view: NoveltyView | None, looked: ObjectUpdate) -> None:
        """Write a look in one transaction; what is in RAM follows when that has ended."""
        row = None
        with self._db.transaction():
            if keyframe is not None and view is not None:
                row = self._insert(keyframe, view, self._vector(keyframe.caption), frame.labels is not None)
            looked = rows.write_look(self._db, looked, keyframe, self._maps.root)
        self._objects.apply(looked)
        self._looked_ns = frame.stamp_ns
        if row is not None and keyframe is not None and view is not None:
            self._index.add(row)
            self._novelty.add(view)
            self._index.settle(self._db)
            self._last_id = keyframe.id
            self._keep_budget()

    def _insert(self, keyframe: Keyframe, view: NoveltyView, vector: np.ndarray, described: bool = True) -> np.ndarray:
        """Write a keyframe, inside a transaction; return its row of the index."""
        row = row_of(keyframe.id, keyframe.stamp_ns, keyframe.map_from_base.xyz, math.atan2(view.axis[1], view.axis[0]),
                     self._maps.root, described, self._index.sign(vector)[0])
        rows.insert(self._db, keyframe, view, self._maps, packed(vector)[0], self._embedder_name())
        self._index.write(self._db, row)
        return row

    def _vector(self, caption: str) -> np.ndarray:
        """Return the embedding (1, DIMENSIONS) of a caption; zeros where there is nothing to embed."""
        embedder = self.recaller.embedder
        return embedder.embed([caption]) if embedder is not None else np.zeros((1, DIMENSIONS), np.float32)

    def _embedder_name(self) -> str:
        return self.recaller.embedder.name if self.recaller.embedder is not None else "none"

    def _keep_budget(self) -> None:
        limit = self._config.budget_mb * 1e6
        if not limit or self._db.used_bytes() <= limit:
            return
        with self._db.transaction():
            over_budget(self._db, self._index, limit)
        self._load()

    def _get(self, keyframe_id: int) -> Keyframe:
        return moved(rows.keyframe(self._db, keyframe_id), self._maps.outward())
