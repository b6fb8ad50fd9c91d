"""Episodic memory: keyframes in one SQLite file, recalled by text, time and place.

Write-ahead log with synchronous=FULL: a commit returns only after the log is on the disk, so a keyframe that `take` has
returned survives kill -9 and a power cut alike; without FULL the last commits would be lost in a power cut.
"""

from __future__ import annotations

import json
import math
import sqlite3
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.frames import check_frame
from eqa_nodes.core.geometry import Transform
from eqa_nodes.core.keyframes import KeyframeConfig, Look, Novelty, View, jpeg_of
from eqa_nodes.core.language import canonical, content_words
from eqa_nodes.core.perception import PerceptionConfig, caption_of, instances, region_of, sightings
from eqa_nodes.core.places import PlacesConfig, places_of
from eqa_nodes.core.types import Frame, Keyframe, Label, Place, Recalled, RecallQuery, Sighting

_VERSION = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS keyframes (
    id INTEGER PRIMARY KEY, episode INTEGER NOT NULL, stamp_ns INTEGER NOT NULL, x REAL NOT NULL, y REAL NOT NULL,
    map_from_base BLOB NOT NULL, camera BLOB NOT NULL, thumb BLOB NOT NULL, content TEXT NOT NULL, jpeg BLOB NOT NULL,
    described INTEGER NOT NULL, sightings TEXT NOT NULL, caption TEXT NOT NULL, region TEXT NOT NULL,
    places TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS keyframes_by_time ON keyframes (stamp_ns);
CREATE TABLE IF NOT EXISTS episodes (number INTEGER PRIMARY KEY, id TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (kinds, attributes, rooms, caption, tokenize = 'porter unicode61');
"""
_WEIGHTS = "4.0, 2.0, 1.0, 1.0"  # of the columns of `words`: what is there says more than where
_RERANKED = 200  # best text matches whose sightings are looked at: bounds the cost of one query
_IN_VIEW = 4.0  # score of a match that fills the view; a word that few views hold scores 1 to 4
_COLUMNS = "id, stamp_ns, map_from_base, jpeg, sightings, caption, region, places"
# Canonical words that questions are full of and that tell no view from another.
_IDLE = frozenset(("in", "on", "off", "or", "next", "above", "below", "under", "color", "0", "no", "not", "open",
                   "closed"))


@dataclass(frozen=True)
class MemoryConfig:
    """What is worth remembering."""

    keyframes: KeyframeConfig = field(default_factory=KeyframeConfig)
    perception: PerceptionConfig = field(default_factory=PerceptionConfig)
    places: PlacesConfig = PlacesConfig()


class _Match(NamedTuple):
    id: int
    score: float
    why: str


class MemoryStore:
    """Keyframes of one place, over many episodes. Calls may come from several threads.

    refused: number of frames that could not be used.
    """

    def __init__(self, path: Path, config: MemoryConfig | None = None) -> None:
        """Open or create the file. Raises StorageError when it cannot be opened or is something else."""
        self.path = Path(path)
        self.refused = 0
        self._config = config or MemoryConfig()
        self._lock = threading.Lock()
        self._novelty = Novelty()
        self._last_id = self._last_ns = self._episode = 0
        with self._storage("opened"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=10.0)
            self._open()

    def reset(self, episode_id: str = "", keep: bool = False) -> None:
        """Begin an episode. keep False: forget everything, ids begin at 1 again; True: what was remembered stays."""
        with self._lock, self._transaction():
            if not keep:
                for table in ("keyframes", "episodes", "words"):
                    self._db.execute(f"DELETE FROM {table}")
            self._db.execute("INSERT INTO episodes (id) VALUES (?)", (episode_id,))
        with self._lock, self._storage("read"):
            self._load()

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> Keyframe | None:
        """Remember the frame when it is new; None when it shows nothing new.

        Raises BadFrame (counted) for a frame that is malformed or older than the last one of this episode, StorageError
        when it could not be written: then it is not remembered, and the next call may try again.
        """
        with self._lock:
            self._check(frame)
            perception = self._config.perception
            counts = instances(frame, labels, perception)
            seen = cache(lambda: sightings(frame, labels, perception, counts))
            look = Look(frame, [labels[i] for i in counts], seen)
            self._last_ns = frame.stamp_ns
            if not self._novelty.reason(look):
                return None
            view = look.view()
            keyframe = Keyframe(self._last_id + 1, frame.stamp_ns, frame.map_from_base,
                                jpeg_of(frame, self._config.keyframes.jpeg_quality), seen(),
                                caption_of(seen(), perception.caption_items), region_of(seen()),
                                places_of(frame, self._config.places))
            with self._transaction():
                self._insert(keyframe, view, frame.labels is not None)
            self._novelty.add(view)
            self._last_id = keyframe.id
            return keyframe

    def recall(self, query: RecallQuery) -> list[Recalled]:
        """Return the best matches, best first; equal scores: the older id first.

        text: BM25 over kinds, attributes, rooms and captions, plus how much of the view the matching things fill; the
        filler words of a question do not count. Views that nothing describes cannot be ruled out: they follow, spread
        evenly in time, with score 0. Without text and place the views in the window are spread evenly in time.
        """
        if query.limit <= 0:
            return []
        with self._lock, self._storage("read"):
            where, values = _conditions(query)
            terms = tuple(word for word in content_words(query.text) if word not in _IDLE)
            found = self._by_text(query, terms, where, values) if terms else self._by_place(query, where, values)
            found = found[:query.limit]
            rest = self._ids(f"{where} AND NOT described", values) if terms else []
            found += [_Match(i, 0.0, f"not described: 1 of {len(rest)} views, spread in time")
                      for i in _spread(rest, query.limit - len(found))]
            return [Recalled(self._get(match.id), match.score, match.why) for match in found]

    def since(self, keyframe_id: int) -> list[Keyframe]:
        """Return the keyframes of this episode with a larger id, oldest first."""
        with self._lock, self._storage("read"):
            return [self._get(i) for i in self._ids("episode = ? AND id > ?", (self._episode, keyframe_id))]

    def __len__(self) -> int:
        with self._lock, self._storage("read"):
            return int(self._db.execute("SELECT count(*) FROM keyframes").fetchone()[0])

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            self._db.close()

    def _open(self) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _VERSION):
            raise StorageError(f"memory {self.path} has format {version}, this version reads {_VERSION}: "
                               "name another file")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(_SCHEMA)
        self._db.execute(f"PRAGMA user_version = {_VERSION}")
        self._load()

    def _load(self) -> None:
        """Take from the file what the next frame is compared with."""
        self._novelty = Novelty(self._config.keyframes)
        for camera, thumb, content in self._db.execute("SELECT camera, thumb, content FROM keyframes ORDER BY id"):
            x = struct.unpack("<6d", camera)
            self._novelty.add(View(x[:3], x[3:], thumb, tuple(json.loads(content))))
        self._last_id = int(self._db.execute("SELECT coalesce(max(id), 0) FROM keyframes").fetchone()[0])
        self._episode = int(self._db.execute("SELECT coalesce(max(number), 0) FROM episodes").fetchone()[0])
        self._last_ns = int(self._db.execute("SELECT coalesce(max(stamp_ns), 0) FROM keyframes WHERE episode = ?",
                                             (self._episode,)).fetchone()[0])

    def _check(self, frame: Frame) -> None:
        try:
            check_frame(frame)
            if frame.stamp_ns < self._last_ns:
                raise BadFrame(f"camera frame goes back in time: {frame.stamp_ns} ns after {self._last_ns} ns; "
                               "begin a new episode when the clock starts anew")
        except BadFrame:
            self.refused += 1
            raise

    def _insert(self, keyframe: Keyframe, view: View, described: bool) -> None:
        pose = keyframe.map_from_base
        self._db.execute(
            "INSERT INTO keyframes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (keyframe.id, self._episode, keyframe.stamp_ns, pose.xyz[0], pose.xyz[1],
             struct.pack("<7d", *pose.xyz, *pose.xyzw), struct.pack("<6d", *view.position, *view.axis), view.thumb,
             json.dumps(view.content), keyframe.jpeg, described, _dump_sightings(keyframe.sightings), keyframe.caption,
             keyframe.region, json.dumps(keyframe.places)))
        labels = [s.label for s in keyframe.sightings]
        attributes = (value for label in labels for _, value in sorted(label.attributes.items()))
        columns = (" ".join(canonical(label.kind) for label in labels), " ".join(map(canonical, attributes)),
                   " ".join(dict.fromkeys(canonical(label.room) for label in labels)), canonical(keyframe.caption))
        self._db.execute("INSERT INTO words (rowid, kinds, attributes, rooms, caption) VALUES (?, ?, ?, ?, ?)",
                         (keyframe.id, *columns))

    def _by_text(self, query: RecallQuery, terms: tuple[str, ...], where: str,
                 values: tuple[float, ...]) -> list[_Match]:
        rows = self._db.execute(
            f"SELECT keyframes.id, x, y, sightings, -bm25(words, {_WEIGHTS}) AS score FROM words "
            f"JOIN keyframes ON keyframes.id = words.rowid WHERE words MATCH ? AND {where} "
            "ORDER BY score DESC, keyframes.id LIMIT ?",
            (" OR ".join(f'"{t}"' for t in terms), *values, max(_RERANKED, query.limit)))
        found = []
        for i, x, y, seen, score in rows:
            share, thing = max(_fits(_load_sightings(seen), frozenset(terms)), default=(0.0, ""))
            whys = [f"words {score:.2f}"] + [f"{thing} in view {_IN_VIEW * share:.2f}"] * (share > 0)
            found.append(_near(_Match(i, score + _IN_VIEW * share, ", ".join(whys)), x, y, query.near))
        return sorted(found, key=lambda match: (-match.score, match.id))

    def _by_place(self, query: RecallQuery, where: str, values: tuple[float, ...]) -> list[_Match]:
        if query.near is None:
            ids = self._ids(where, values)
            return [_Match(i, 0.0, f"1 of {len(ids)} views, spread in time") for i in _spread(ids, query.limit)]
        rows = self._db.execute(f"SELECT id, x, y FROM keyframes WHERE {where}", values)
        found = [_near(_Match(i, 0.0, ""), x, y, query.near) for i, x, y in rows]
        return sorted(found, key=lambda match: (-match.score, match.id))

    def _ids(self, where: str, values: tuple[float, ...]) -> list[int]:
        return [i for i, in self._db.execute(f"SELECT id FROM keyframes WHERE {where} ORDER BY id", values)]

    def _get(self, keyframe_id: int) -> Keyframe:
        return _keyframe(self._db.execute(f"SELECT {_COLUMNS} FROM keyframes WHERE id = ?", (keyframe_id,)).fetchone())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; a failed one leaves the store as it was."""
        with self._storage("written"):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _storage(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            remedy = ("use a Python whose sqlite3 has FTS5 (python.org, Debian and Ubuntu builds have it)"
                      if "fts5" in str(error) else "free space there, check the permissions, or name another file")
            raise StorageError(f"memory {self.path} could not be {what} ({error}): {remedy}") from error


def _conditions(query: RecallQuery) -> tuple[str, tuple[float, ...]]:
    """Return the WHERE clause of a query's window and place, with its values."""
    where, values = "stamp_ns >= ?", [query.after_ns]
    if query.before_ns:
        where, values = f"{where} AND stamp_ns <= ?", [*values, query.before_ns]
    if query.near is None:
        return where, tuple(values)
    x, y, radius = query.near
    return f"{where} AND (x - ?) * (x - ?) + (y - ?) * (y - ?) <= ?", (*values, x, x, y, y, radius * radius)


def _near(match: _Match, x: float, y: float, near: tuple[float, float, float] | None) -> _Match:
    """Add how near the view was taken: 1 on the spot, 0 at the radius."""
    if near is None:
        return match._replace(score=round(match.score, 6))
    distance = math.hypot(x - near[0], y - near[1])
    nearness = 1.0 - distance / near[2] if near[2] > 0 else 1.0
    why = f"{match.why}, {distance:.2f} m away {nearness:.2f}".lstrip(", ")
    return _Match(match.id, round(match.score + nearness, 6), why)


def _fits(seen: tuple[Sighting, ...], terms: frozenset[str]) -> Iterator[tuple[float, str]]:
    """Yield for each thing in view how well it fits the words times how much of the view it fills (0..1), and its kind.

    A thing fits by the share of its kind's words, half as well when its room is not named. It fills the root of its
    share of the labelled pixels, so that a thing twice as near counts twice.
    """
    labelled = sum(s.pixels for s in seen)
    for s in seen:
        kind, room = canonical(s.label.kind).split(), canonical(s.label.room).split()
        fit = sum(word in terms for word in kind) / max(1, len(kind))
        named = bool(room) and all(word in terms for word in room)
        yield fit * (1.0 if named else 0.5) * math.sqrt(s.pixels / labelled), s.label.kind


def _spread(ids: list[int], limit: int) -> list[int]:
    """Return at most `limit` ids, evenly spaced, the first and the last among them."""
    if len(ids) <= limit:
        return ids
    return [ids[i * (len(ids) - 1) // max(1, limit - 1)] for i in range(limit)]


def _dump_sightings(seen: tuple[Sighting, ...]) -> str:
    return json.dumps([[*s.label, *s[1:]] for s in seen], sort_keys=True)


def _load_sightings(text: str) -> tuple[Sighting, ...]:
    return tuple(Sighting(Label(i, kind, room, attributes), pixels, tuple(bbox), tuple(centre), tuple(size))
                 for i, kind, room, attributes, pixels, bbox, centre, size in json.loads(text))


def _keyframe(row: tuple[Any, ...]) -> Keyframe:
    number, stamp_ns, pose, jpeg, seen, caption, region, places = row
    p = struct.unpack("<7d", pose)
    return Keyframe(number, stamp_ns, Transform(p[:3], p[3:]), jpeg, _load_sightings(seen), caption, region,
                    tuple(Place(*place) for place in json.loads(places)))
