"""Selects the views of an episode history for an answerer: K evenly spaced, or recalled by a memory of the history.

A history is read for its first question; the result is cached in a folder whose name identifies the history and all
settings, so that later questions and runs need not read it again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from eqa_nodes.core.answerers.common import answer_of
from eqa_nodes.core.camera.privacy import PrivacyConfig, hidden_shares, masked
from eqa_nodes.core.errors import BadFrame, ConfigError, StorageError, unknown
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.memory.database import VERSION as MEMORY_FORMAT
from eqa_nodes.core.memory.diversity import recall_diverse
from eqa_nodes.core.memory.keyframes import evenly, jpeg_of, jpeg_of_pixels, spread
from eqa_nodes.core.observing import EpisodicMemory
from eqa_nodes.core.perception.instances import caption_of, region_of, sightings
from eqa_nodes.core.perception.projection import geometry_of, places_of
from eqa_nodes.core.storage.codec import decode, dumps, read_json, write_json
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.questions import Answer, MemoryObject, Question, Recalled
from eqa_nodes.core.types.views import Frame, Keyframe, Label
from eqa_nodes.core.version import __version__
from eqa_nodes.recordings.detected_history import DetectedHistory
from eqa_nodes.recordings.episode_history import EpisodeHistory, RecordedFrame, no_frame
from eqa_nodes.recordings.formats.pictures import ColourHistory, StoredPicture

DEFAULT_K = 50  # number of frames in OpenEQA's baselines
_INDEX, _MEMORY = "views.json", "memory.sqlite"
_READING = 2  # version of the cache: increase it when other frames or views are read from the same recording
_MAX_POSES = 1000  # of the path, for drawing

Tick = Callable[[int, int], None]  # number of frames read, total number


class ViewSelection(NamedTuple):
    """How views are selected. labels: whether to use a simulator's labels (privileged).

    k: number of views; 0: for random ones the number of the question's data set. seed: for random ones.
    """

    frames: str
    k: int = DEFAULT_K
    labels: bool = False
    memory: MemoryConfig = MemoryConfig()
    seed: int = 0


class HistoryViews(Protocol):
    """The views of a history for questions about it."""

    kept: HistoryIndex

    def items(self, question: Question) -> list[Recalled]:
        """Return at most K views for a question."""

    def close(self) -> None:
        """Release everything; a second call does nothing."""


class UniformViews:
    """The same K frames for every question: evenly spaced, including the first and the last."""

    def __init__(self, kept: HistoryIndex, folder: Path, selection: ViewSelection) -> None:
        self.kept = kept

    how = "evenly spaced"

    def items(self, question: Question) -> list[Recalled]:
        """Return all views, oldest first."""
        why = f"1 of {len(self.kept.views)} of {self.kept.frames} frames, {self.how}"
        return [Recalled(view, 0.0, why) for view in self.kept.views]

    def close(self) -> None:
        """Do nothing: nothing is open."""

    @staticmethod
    def choose(count: int, selection: ViewSelection) -> list[int]:
        """Return the indices of the selected frames out of `count`, in order."""
        return evenly(count, selection.k)

    @classmethod
    def read(cls, history: EpisodeHistory, folder: Path, selection: ViewSelection, tick: Tick) -> HistoryIndex:
        """Read the history twice: first to find the usable frames, then to read the selected ones."""
        choose = partial(cls.choose, selection=selection)
        if isinstance(history, ColourHistory):
            return picked(history, choose, selection.memory)
        along = _Along(history, tick)
        usable = [recorded.index for recorded in along]
        indices = {usable[i] for i in choose(len(usable))}
        views, spots = list[Keyframe](), dict[str, FramePosition]()
        for recorded in _Along(history, tick):
            if recorded.index in indices:
                labels = _labels(history, recorded, selection)
                views.append(keyframe_of(recorded.frame, recorded.index + 1, labels, selection))
                spots[str(recorded.index + 1)] = FramePosition(recorded.index, recorded.offset_ns)
        return replace(along.kept(), spots=spots, views=tuple(views))


class RandomViews(UniformViews):
    """K random frames without replacement, the same for every question about a history (EXPRESS-Bench)."""

    how = "at random"

    @staticmethod
    def choose(count: int, selection: ViewSelection) -> list[int]:
        """Return K random indices in order; the draw depends on the seed and the number of frames."""
        drawn = np.random.default_rng((selection.seed, count)).permutation(count)[:selection.k]
        return sorted(drawn.tolist())


class NoViews(UniformViews):
    """No views, for blind agents. The history is not read."""

    @classmethod
    def read(cls, history: EpisodeHistory, folder: Path, selection: ViewSelection, tick: Tick) -> HistoryIndex:
        """Read nothing."""
        return HistoryIndex(history.name, 0, {}, (), {})


class _Remembered:
    """A memory of the whole history."""

    def __init__(self, kept: HistoryIndex, folder: Path, selection: ViewSelection) -> None:
        self.kept, self.k = kept, selection.k
        self.store = MemoryStore(folder / _MEMORY, selection.memory, write=False)

    def recollect(self, question: Question) -> tuple[Answer, list[Keyframe]] | None:
        """Return memory's own answer to a question about the past, with the views that support it."""
        recollection = self.store.recollect(question.text)
        if recollection is None:
            return None
        proof = [view for e in recollection.evidence if (view := self.store.keyframe(e.keyframe_id)) is not None]
        return answer_of(recollection, proof), proof

    def items(self, question: Question) -> list[Recalled]:
        """Return at most K views for a question."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the memory."""
        self.store.close()

    @staticmethod
    def read(history: EpisodeHistory, folder: Path, selection: ViewSelection, tick: Tick) -> HistoryIndex:
        """Store every frame in a memory."""
        along, spots, refused = _Along(history, tick), {}, Counter[str]()
        store = MemoryStore(folder / _MEMORY, selection.memory)
        memory = EpisodicMemory(store, selection.labels)
        try:
            memory.begin(history.name)
            for recorded in along:
                try:
                    keyframe = memory.take(recorded.frame, _labels(history, recorded, selection))
                except BadFrame as error:
                    refused[str(error)] += 1
                    continue
                if keyframe is not None:
                    spots[str(keyframe.id)] = FramePosition(recorded.index, recorded.offset_ns)
        finally:
            store.close()
        kept = along.kept()
        return replace(kept, spots=spots, dropped={**kept.dropped, **refused})


class RecalledViews(_Remembered):
    """At most K diverse views of those that memory recalls for the words of the question, best first."""

    def items(self, question: Question) -> list[Recalled]:
        """Return diverse views that match the question."""
        return recall_diverse(self.store.recall, question.text, self.k)


class MemoryViews(_Remembered):
    """The views that memory stored: they cover the history with little repetition."""

    def items(self, question: Question) -> list[Recalled]:
        """Return K evenly spaced views, oldest first."""
        return spread(self.store.since(0), self.k)


class ObjectViews(_Remembered):
    """The K objects that match the words best, described in the captions of their best views."""

    def items(self, question: Question) -> list[Recalled]:
        """Return each best view once, starting with the best matching object."""
        captions: dict[int, list[str]] = {}
        for obj in self.store.objects(question.text, self.k):
            captions.setdefault(obj.keyframe_id, []).append(_described(obj))
        views = [(self.store.keyframe(number), lines) for number, lines in captions.items()]
        return [Recalled(replace(view, caption="; ".join(lines)), 0.0, f"the best view of {len(lines)} things")
                for view, lines in views if view is not None]


class RetrievedViews(_Remembered):
    """The K views whose captions, with time and place, are nearest to the question (ReMEmbR, Anwar et al. 2024)."""

    @cached_property
    def views(self) -> list[Keyframe]:
        """All views, oldest first."""
        return self.store.since(0)

    def items(self, question: Question) -> list[Recalled]:
        """Return the nearest views, oldest first."""
        near = self._near([_with_time(view) for view in self.views], question.text)
        best = sorted(np.argsort(-near, kind="stable")[:self.k].tolist())
        return [Recalled(self.views[i], float(near[i]), "nearest caption") for i in best]

    def _near(self, texts: Sequence[str], question: str) -> np.ndarray:
        """Return how near each text (n,) is to a question, 0 for all without an embedder."""
        embedder = self.store.recaller.embedder
        if embedder is None or not texts:
            return np.zeros(len(texts))
        return np.asarray(embedder.embed(texts) @ embedder.embed([question])[0])


class DayViews(RetrievedViews):
    """K views by a hierarchy: the nearest days and parts of a day, in them the nearest areas, in these the nearest
    views (Mind Palace, Ginting et al. 2025).
    """

    def items(self, question: Question) -> list[Recalled]:
        """Return the views of the nearest areas of the nearest days, oldest first."""
        parts: dict[str, dict[str, list[Keyframe]]] = {}
        for view in self.views:
            when = datetime.fromtimestamp(view.stamp_ns / 1e9)
            part = f"{when:%A %-d %B} {'morning' if when.hour < 12 else 'afternoon' if when.hour < 17 else 'evening'}"
            parts.setdefault(part, {}).setdefault(view.region, []).append(view)
        said = [f"{part}: {_things(view for views in areas.values() for view in views)}"
                for part, areas in parts.items()]
        chosen = [list(parts.values())[i] for i in _best(self._near(said, question.text), -(-self.k // _EACH))]
        found: list[Keyframe] = []
        for areas in chosen:
            names = [f"{area}: {_things(views)}" for area, views in areas.items()]
            views = list(areas.values())[_best(self._near(names, question.text), 1)[0]]
            near = self._near([view.caption for view in views], question.text)
            found += [views[i] for i in _best(near, _EACH)]
        return [Recalled(view, 0.0, "nearest day and area") for view in sorted(found[:self.k], key=lambda v: v.id)]


_EACH = 3  # views of the area of a day


def _best(near: np.ndarray, count: int) -> list[int]:
    return [int(i) for i in np.argsort(-near, kind="stable")[:count]]


def _with_time(view: Keyframe) -> str:
    when = datetime.fromtimestamp(view.stamp_ns / 1e9)
    return f"{when:%A %-d %B %Y %H:%M}, at ({view.pose.x:.1f}, {view.pose.y:.1f}), {view.region}: {view.caption}"


def _things(views: Iterable[Keyframe]) -> str:
    return ", ".join(dict.fromkeys(s.label.kind for view in views for s in view.sightings))


POLICIES: dict[str, type[UniformViews] | type[_Remembered]] = {
    "uniform": UniformViews, "random": RandomViews, "recalled": RecalledViews, "objects": ObjectViews,
    "kept": MemoryViews, "retrieved": RetrievedViews, "days": DayViews, "none": NoViews}


def open_views(name: str, identity: Mapping[str, object], opened: Callable[[], EpisodeHistory],
               selection: ViewSelection, cache: Path, tick: Tick = lambda read, total: None) -> HistoryViews:
    """Return a history's views from the cache; read the history into the cache first if they are missing.

    identity: plain JSON that identifies the history's frames. Raises ConfigError as check_selection and check_history,
    StorageError if the history has no frame or cannot be read.
    """
    check_selection(selection)
    policy = POLICIES[selection.frames]
    one_for_all = not issubclass(policy, UniformViews)  # one memory serves all questions and selections
    made_by = selection._replace(k=0, frames=_MEMORY, seed=0) if one_for_all else selection
    key = {"history": identity, "selection": made_by, "version": [__version__, MEMORY_FORMAT, _READING]}
    folder = cache / f"{name}-{hashlib.sha256(dumps(key).encode()).hexdigest()[:16]}"
    if not (folder / _INDEX).exists():
        history = opened()
        check_history(history, selection)
        part = folder.with_name(f"{folder.name}.part-{os.getpid()}")
        shutil.rmtree(part, ignore_errors=True)  # left by a killed process with the same PID
        try:
            write_json(part / _INDEX, policy.read(history, part, selection, tick))
            part.rename(folder)
        except OSError as error:
            if folder.exists():  # another process has written it in the meantime
                return policy(decode(HistoryIndex, read_json(folder / _INDEX)), folder, selection)
            raise StorageError(f"{part} cannot be written: {error}") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return policy(decode(HistoryIndex, read_json(folder / _INDEX)), folder, selection)


def check_selection(selection: ViewSelection) -> None:
    """Raise ConfigError for an unknown selection, or one that could never return a view."""
    if selection.frames not in POLICIES:
        raise ConfigError(unknown("choice of frames", selection.frames, POLICIES))
    if selection.k < 1 and not (selection.k == 0 and POLICIES[selection.frames] is RandomViews):
        raise ConfigError(f"k is {selection.k}: an answer needs at least one frame")
    if POLICIES[selection.frames] is ObjectViews and not selection.labels:
        raise ConfigError(f"the frames {selection.frames!r} show things that memory puts together from labels, which "
                          "this answerer does without: choose recalled or uniform")


def check_history(history: EpisodeHistory, selection: ViewSelection) -> None:
    """Raise ConfigError if a history lacks what the selection needs: depth and poses, or labels (its own or a
    detector's)."""
    if isinstance(history, ColourHistory) and not issubclass(POLICIES[selection.frames], UniformViews):
        raise ConfigError(f"the frames {selection.frames!r} are chosen by a memory, which needs depth and poses, and "
                          f"{history.lacking}")
    if selection.labels and not (isinstance(history, DetectedHistory) or history.labels):
        raise ConfigError(f"the history {history.name} has no labels, and this answerer reads nothing else: "
                          "choose a model (--answerer vlm), or a detector that finds the objects (--detector)")


class _Along:
    """An iteration over a history that stores the path and reports progress."""

    def __init__(self, history: EpisodeHistory, tick: Tick) -> None:
        self._history, self._tick = history, tick
        self._poses: list[tuple[int, Pose2]] = []

    def __iter__(self) -> Iterator[RecordedFrame]:
        for recorded in self._history.recorded():
            self._poses.append((recorded.frame.stamp_ns, recorded.frame.pose))
            self._tick(recorded.index + 1, len(self._history))
            yield recorded

    def kept(self) -> HistoryIndex:
        """Return the index of the frames read so far. Raises StorageError if there are none."""
        way, dropped = self._poses, dict(self._history.dropped)
        if not way:
            raise no_frame(self._history)
        return HistoryIndex(self._history.name, len(way), dropped, tuple(way[::-(-len(way) // _MAX_POSES)]), {})


def _labels(history: EpisodeHistory, recorded: RecordedFrame, selection: ViewSelection) -> Mapping[int, Label]:
    """Return the labels of a frame's moment, as far as they are used."""
    if not selection.labels:
        return {}
    return recorded.labels if recorded.labels is not None else history.labels


def keyframe_of(frame: Frame, number: int, labels: Mapping[int, Label], selection: ViewSelection) -> Keyframe:
    """Return a frame as a keyframe, as a memory would store it."""
    config = selection.memory
    frame, labels = masked(frame, labels, config.privacy)
    seen = sightings(frame, labels, config.perception) if selection.labels else ()
    return Keyframe(number, frame.stamp_ns, frame.map_from_base, jpeg_of(frame, config.keyframes.jpeg_quality), seen,
                    caption_of(seen, config.perception.caption_items), region_of(seen),
                    places_of(frame, config.places), geometry_of(frame))


def _described(obj: MemoryObject) -> str:
    """Return a text such as "kettle (colour red, state on) in the kitchen at (1.2, 3.4, 0.9) m, seen 3 times"."""
    facts = ", ".join(f"{name} {value}" for name, value in sorted(obj.attributes.items()))
    x, y, z = obj.centre
    return (f"{obj.kind}{f' ({facts})' if facts else ''}{f' in the {obj.room}' if obj.room else ''} at "
            f"({x:.1f}, {y:.1f}, {z:.1f}) m, seen {obj.times} times")


class FramePosition(NamedTuple):
    """Position of a keyframe in its recording; fields as in RecordedFrame."""

    frame: int
    offset_ns: int


@dataclass(frozen=True)
class HistoryIndex:
    """Data of a history stored beside its memory. frames: number of usable frames; dropped: others, by reason.

    way: path as stamps and poses, empty if no pose is known; spots: keyframe id -> position; views: the selected
    keyframes, if the selection needs no memory.
    """

    name: str
    frames: int
    dropped: Mapping[str, int]
    way: tuple[tuple[int, Pose2], ...]
    spots: Mapping[str, FramePosition]
    views: tuple[Keyframe, ...] = ()


NOWHERE = "the recording has no poses: x, y and heading are unknown and stand as 0"


def picked(history: ColourHistory, choose: Callable[[int], list[int]], memory: MemoryConfig) -> HistoryIndex:
    """Return the images chosen by number; damaged ones are counted and replaced by others.

    Raises StorageError if none can be read, ConfigError if places or
    kinds of things have to be hidden in them.
    """
    check_privacy(history, memory.privacy)
    usable, dropped = list(history.pictures), Counter[str]()
    read: dict[int, bytes] = {}  # number -> JPEG
    while True:
        wanted = [usable[i] for i in choose(len(usable))]
        damaged = [p for p in wanted if p.number not in read and not _take(p, memory, read, dropped)]
        if not damaged:
            break
        usable = [p for p in usable if p not in damaged]
    if not wanted:
        raise StorageError(f"the history {history.name} has no usable image: {dict(dropped)}")
    views = tuple(Keyframe(p.number + 1, p.stamp_ns, Transform.identity(), read[p.number]) for p in wanted)
    spots = {str(p.number + 1): FramePosition(p.number, -1) for p in wanted}
    return HistoryIndex(history.name, len(usable), dropped, (), spots, views)


def check_privacy(history: ColourHistory, privacy: PrivacyConfig) -> None:
    """Raise ConfigError for masks that need the positions of things."""
    if privacy.kinds or privacy.zones:
        raise ConfigError("privacy.kinds and privacy.zones hide objects by their position, and "
                          f"{history.lacking}; privacy.image works without")


def _take(picture: StoredPicture, memory: MemoryConfig, read: dict[int, bytes], dropped: Counter[str]) -> bool:
    """Read one image; if it is damaged, count it and return False."""
    try:
        rgb = picture.rgb()
    except BadFrame as error:
        dropped[str(error)] += 1
        return False
    hidden = hidden_shares(rgb.shape[0], rgb.shape[1], memory.privacy.image)
    shown = np.where(hidden[..., None], np.uint8(0), rgb)
    read[picture.number] = jpeg_of_pixels(shown, memory.keyframes.jpeg_quality)
    return True
