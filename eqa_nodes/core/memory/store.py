"""Episodic memory: keyframes and objects of a place in one SQLite file, over many sessions."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from eqa_nodes.core.camera.privacy import masked
from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.time_words import asked_times
from eqa_nodes.core.memory import ledger, rows, watches
from eqa_nodes.core.memory.config import MemoryConfig
from eqa_nodes.core.memory.embedding import DIMENSIONS, make_embedder, packed
from eqa_nodes.core.memory.forgetting import ForgetSelection, Forgotten, forget, over_budget, realign
from eqa_nodes.core.memory.habit_questions import question_now
from eqa_nodes.core.memory.index import Index, row_of
from eqa_nodes.core.memory.keyframes import EARLIER, Cell, KeyframeCandidate, Novelty, NoveltyView, jpeg_of
from eqa_nodes.core.memory.ledger import PatrolSpan
from eqa_nodes.core.memory.maps import moved
from eqa_nodes.core.memory.objects import Objects, ObjectUpdate
from eqa_nodes.core.memory.over_weeks import over_weeks
from eqa_nodes.core.memory.pictures import ObjectPictures
from eqa_nodes.core.memory.reading import MemoryReader
from eqa_nodes.core.memory.recall import Recaller
from eqa_nodes.core.memory.recollect import recollect
from eqa_nodes.core.memory.scoring import NameIndex
from eqa_nodes.core.memory.texts import Texts, unread
from eqa_nodes.core.memory.watches import WatchedLook, WatchEvent
from eqa_nodes.core.perception.instances import caption_of, instances, region_of, sightings
from eqa_nodes.core.perception.projection import geometry_of, places_of
from eqa_nodes.core.types.geometry import Transform, compose
from eqa_nodes.core.types.questions import Recollection
from eqa_nodes.core.types.views import Frame, Keyframe, Label, Sighting, check_frame


class MemoryStore(MemoryReader):
    """Keyframes and objects of a place; only one process writes at a time.

    refused: number of frames that were rejected.
    """

    def __init__(self, path: Path, config: MemoryConfig | None = None, write: bool = True,
                 texts: Texts | None = None) -> None:
        """Open or create the file. Raises StorageError if it cannot be opened, is not a memory or is being written.

        write False: only look up objects, also in a file that another process writes (in its state at opening). texts:
        reads text in the views that are kept; if None, only labels provide text.
        """
        super().__init__(path, write)
        self.refused = 0
        self._passed: tuple[Frame, Mapping[int, Label]] | None = None  # the newest frame, if it was not new
        self._config, self._texts = config or MemoryConfig(), texts
        self._embedder = make_embedder(self._config.embedder)
        self._names = NameIndex(self._db, make_embedder(self._config.names) if self._config.names else self._embedder)
        self._load()

    def configure(self, config: MemoryConfig) -> None:
        """Change the settings; the embedder stays the same."""
        with self._lock:
            self._config = config
            self._novelty.config, self._objects.config = config.keyframes, config.objects
            self._pictures.refresh_ns = round(config.keyframes.refresh_s * 1e9)

    def set_now(self, now_ns: int) -> int:
        """Set the current time of the stamps' clock, 0 = unknown; return the number of views with later stamps.

        Those are not trusted: until that time, they are not recalled, prove nothing and do not prevent new views.
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
        """The current settings."""
        return self._config

    def reset(self, episode_id: str = "", keep: bool = False, map_name: str = "") -> None:
        """Begin a session. keep False: forget everything, ids begin at 1 again; True: keep what was remembered.

        map_name: sessions with the same name share their map frame; empty: a new frame, whose pose in the earlier maps
        is unknown, so that their contents are not recalled until `align` is called.
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
            if self._texts is not None and not keep:
                self._texts.reset()

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> Keyframe | None:
        """Remember a frame if it is new, and its objects in any case; None if it shows nothing new.

        Raises BadFrame (counted) for a frame that is malformed or older than the last one of this session. Raises
        StorageError if it could not be written; then it is not remembered, and the next call may try again. Raises
        ModelError if text in the view could not be read.
        """
        with self._lock:
            frame, labels = self._checked(frame, labels)
            self._maps.saw(frame.stamp_ns)
            self._last_ns = frame.stamp_ns
            self._passed = None
            keyframe = self._remember(frame, labels, self._novelty.reason)
            if keyframe is None:
                self._passed = frame, labels
            return keyframe

    def keep(self) -> Keyframe | None:
        """Remember the newest frame although it shows nothing new; None if it, or the same image, is already stored.

        Raises StorageError and ModelError as `take`.
        """
        with self._lock:
            if self._passed is None:
                return None
            keyframe = self._remember(*self._passed, lambda look: "" if self._novelty.known(look) else "asked for")
            self._passed = None
            return keyframe

    def _remember(self, frame: Frame, labels: Mapping[int, Label],
                  reason_of: Callable[[KeyframeCandidate], str]) -> Keyframe | None:
        """Write a frame if there is a reason or it shows that an object is gone, and its objects."""
        counts = instances(frame, labels, self._config.perception)
        seen = cache(lambda: sightings(frame, labels, self._config.perception, counts))
        look = KeyframeCandidate(frame, [labels[i] for i in counts], seen)
        patrol = ledger.patrol_at(self._patrol, frame.stamp_ns)
        self._objects.patrol_began_ns = self._novelty.patrol_began_ns = patrol.first_ns
        reason = reason_of(look)
        new = reason not in ("", EARLIER)
        if not new and not self._is_time(frame):
            return None
        sighted = self._texts.read(frame, seen()) if new and self._texts is not None else seen()
        looked = self._look(frame, sighted[:len(seen())])  # a text without an object cannot be gone
        new = new or any(known.gone_ns == frame.stamp_ns for known in looked.missed)  # the image is the proof
        wanted = self._pictures.wanted(looked, self._objects.known, frame.stamp_ns, patrol.first_ns)
        new = new or (reason == EARLIER and wanted)
        keyframe = self._keyframe(frame, sighted, reason == EARLIER) if new else None
        self._write(frame, keyframe, look.view() if new else None, looked, patrol, self._rooms(seen()))
        return None if keyframe is None else moved(_without_vectors(keyframe), self._maps.outward())

    def add_many(self, batch: Iterable[tuple[Keyframe, NoveltyView, np.ndarray]]) -> None:
        """Write keyframes with their views and embeddings (DIMENSIONS,) in one transaction, without their objects.

        Ids must continue the existing ones.
        """
        with self._lock:
            try:
                with self._db.transaction():
                    for keyframe, view, vector in batch:
                        self._index.add(self._insert(keyframe, view, vector[None], bool(keyframe.caption)))
                self._index.settle(self._db)
            finally:
                self._load()

    def recollect(self, question: str) -> Recollection | None:
        """Return memory's own answer to a question about the past, None for other questions."""
        with self._lock, self._db.storage("read"):
            return recollect(self, question, self.now_ns)

    def ask(self, question: str) -> Recollection | None:
        """Return memory's own answer to a question about the past, or about the present as the newest look saw it."""
        with self._lock, self._db.storage("read"):
            told = recollect(self, question, self.now_ns)
            now = question_now(question) if told is None and not asked_times(question) else None
            return over_weeks(self, now, self.now_ns) if now is not None else told

    def events_to_publish(self) -> list[WatchEvent]:
        """Return the events of watches that are not marked as published, oldest first."""
        with self._lock, self._db.storage("read"):
            return watches.unpublished(self._db)

    def mark_published(self, event_id: int) -> None:
        """Mark the events of watches up to an id as published."""
        with self._lock, self._db.transaction():
            watches.mark_published(self._db, event_id)

    def forget(self, selection: ForgetSelection) -> Forgotten:
        """Delete the selection and everything derived only from it; afterwards no file contains its bytes."""
        with self._lock:
            selection = selection._replace(near=self._maps.circle(selection.near))
            with self._db.transaction():
                forgotten = forget(self._db, self._index, self._maps.root, selection)
            self._load()
            self._db.shrink()
            return forgotten

    def align(self, map_name: str, known: str, known_from_map: Transform) -> None:
        """Store the transform between two maps, so that their contents share one frame.

        A map without a name has the id of its session. Raises StorageError for an unknown name.
        """
        with self._lock:
            with self._db.transaction():
                realign(self._db, self._index, self._maps, map_name, known, known_from_map)
            with self._db.storage("read"):
                self._maps.load()
                self._load()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            self._db.close()

    def _load(self) -> None:
        """Load from the file what recall and the next frame need."""
        with self._db.storage("read"):
            root = self._maps.root
            self._index = Index(self._db)
            self._novelty = Novelty(self._config.keyframes, self._views_of, self._knows)
            self._objects = Objects(rows.known_objects(self._db, root), self._config.objects, self._embedder)
            self.recaller = Recaller(self._db, self._index, self._maps, self._embedder, self._names)
            self._last_id, self._last_object = (int(self._db.value(
                "SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)) or 0) for table in ("keyframes", "objects"))
            self._last_ns = self._last_of_session()
            self.recaller.until_ns = self._novelty.until_ns = self._trust.until_ns
            self._patrol = ledger.running_patrol(self._db, self._maps.session)
            self._objects.patrol_began_ns = self._patrol.first_ns if self._patrol is not None else -1 << 62
            self._pictures = ObjectPictures(self._db, round(self._config.keyframes.refresh_s * 1e9))
            self._looked_ns = -1 << 62
            self._passed = None

    def _last_of_session(self) -> int:
        return int(self._db.value("SELECT max(stamp_ns) FROM keyframes WHERE session = ? AND stamp_ns <= ?",
                                  (self._maps.session, self._trust.until_ns)) or 0)

    def _views_of(self, cells: Iterable[Cell]) -> dict[Cell, list[NoveltyView]]:
        with self._db.storage("read"):
            return rows.views(self._db, self._maps.root, cells)

    def _knows(self, item: str) -> bool:
        with self._db.storage("read"):
            return self._db.value("SELECT 1 FROM content WHERE root = ? AND item = ?",
                                  (self._maps.root, item)) is not None

    def _checked(self, frame: Frame, labels: Mapping[int, Label]) -> tuple[Frame, Mapping[int, Label]]:
        """Return the permitted part of a frame, in the root map's frame, in which privacy zones are defined too."""
        try:
            check_frame(frame)
            self._trust.check(frame.stamp_ns)
            if frame.stamp_ns < self._last_ns:
                raise BadFrame(f"camera frame goes back in time: {frame.stamp_ns} ns after {self._last_ns} ns; "
                               "begin a new episode when the clock restarts")
            inward = self._maps.inward()
            if inward is not None:
                frame = replace(frame, map_from_base=compose(inward, frame.map_from_base))
            return masked(frame, labels if self._texts is None else unread(labels), self._config.privacy)
        except BadFrame:
            self.refused += 1
            raise

    def _is_time(self, frame: Frame) -> bool:
        """Return whether to search for objects in a view that is not stored."""
        due = frame.stamp_ns - self._looked_ns >= self._config.objects.look_s * 1e9
        return due and frame.labels is not None

    def _keyframe(self, frame: Frame, seen: tuple[Sighting, ...], again: bool) -> Keyframe:
        config = self._config.keyframes
        quality = min(config.jpeg_quality, config.again_quality) if again else config.jpeg_quality
        return Keyframe(self._last_id + 1, frame.stamp_ns, frame.map_from_base, jpeg_of(frame, quality), seen,
                        caption_of(seen, self._config.perception.caption_items), region_of(seen),
                        places_of(frame, self._config.places), geometry_of(frame))

    def _rooms(self, seen: Sequence[Sighting]) -> dict[str, int]:
        """Return the room in view and the rooms of people in view -> number of people."""
        people = [s.label.room for s in seen if canonical(s.label.kind) in ledger.PEOPLE]
        region = region_of(seen)
        counted = Counter(room or region for room in people)
        return {room: counted[room] for room in sorted({region, *counted}) if room}

    def _look(self, frame: Frame, seen: tuple[Sighting, ...]) -> ObjectUpdate:
        """Return the visible objects; none without labels. Objects missed in one frame count only once."""
        if frame.labels is None:
            return ObjectUpdate()
        looked = self._objects.look(frame, seen, self._config.perception.min_share * frame.depth_m.size)
        if frame.stamp_ns == self._looked_ns:
            looked.missed.clear()
            looked.empty.clear()
        return looked

    def _write(self, frame: Frame, keyframe: Keyframe | None, view: NoveltyView | None, looked: ObjectUpdate,
               patrol: PatrolSpan, rooms: Mapping[str, int]) -> None:
        """Write a look in one transaction, and then update the data in RAM."""
        row = None
        with self._db.transaction():
            if keyframe is not None and view is not None:
                row = self._insert(keyframe, view, self._vector(keyframe.caption), frame.labels is not None)
            looked = rows.write_look(self._db, looked, keyframe, self._maps.root, self._last_object)
            if frame.labels is not None:
                patrol = ledger.write(self._db, self._maps.session, patrol, frame.stamp_ns, looked, rooms)
                watches.check(self._db, WatchedLook(frame.stamp_ns, patrol.number, keyframe.id if keyframe else 0,
                                                    looked, self._objects.known, rooms))
        self._patrol = patrol if patrol.number else None
        self._objects.apply(looked)
        self._last_object = max((self._last_object, *(known.id for _, known in looked.associated)))
        self._pictures.add(looked, frame.stamp_ns, keyframe is not None)
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
        """Return the embedding (1, DIMENSIONS) of a caption; zeros if there is no embedder or text."""
        embedder = self.recaller.embedder
        return embedder.embed([caption]) if embedder is not None else np.zeros((1, DIMENSIONS), np.float32)

    def _keep_budget(self) -> None:
        limit = self._config.budget_mb * 1e6
        if not limit or self._db.used_bytes() <= limit:
            return
        with self._db.transaction():
            over_budget(self._db, self._index, limit)
        self._load()


def open_file(path: Path, write: bool = False) -> MemoryStore:
    """Open an existing memory file; times are relative to the computer's clock.

    Raises StorageError if the file is missing, is not a memory or is being written.
    """
    if not path.is_file():
        raise StorageError(f"no memory file {path}: name the file that the memory node wrote")
    store = MemoryStore(path, write=write)
    store.set_now(time.time_ns())
    return store


def _without_vectors(k: Keyframe) -> Keyframe:
    """Return a view as recall returns it: the vectors of its objects serve the search in the file only."""
    return replace(k, sightings=tuple(s._replace(label=s.label._replace(vector="")) for s in k.sightings))
