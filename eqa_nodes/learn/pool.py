"""Batches of training views: files of views are read in random order, a group of files at a time, and mixed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.learn.views import FIELDS, SceneViews, read_tables, read_views

_GROUP = 16  # number of files that are mixed with each other
_RARE = 5  # a name that is seen less often is left out; with fewer files, than there are files


@dataclass(frozen=True)
class Vocabulary:
    """Names of the classes of each field; number 0 is "" (surroundings, or nothing known).

    states_of: kind -> its states in the training views.
    """

    kinds: tuple[str, ...]
    colours: tuple[str, ...]
    materials: tuple[str, ...]
    states: tuple[str, ...]
    rooms: tuple[str, ...]
    states_of: dict[str, tuple[str, ...]]

    def names(self) -> tuple[tuple[str, ...], ...]:
        """Return the names by field, in the order of FIELDS."""
        return self.kinds, self.colours, self.materials, self.states, self.rooms

    def numbers(self, table: dict[int, tuple[str, ...]], ids: Sequence[int]) -> np.ndarray:
        """Return the class numbers (n, 5) int64 of instances; a name that is not known has 0."""
        index = [{name: i for i, name in enumerate(names)} for names in self.names()]
        empty = ("",) * len(FIELDS)
        rows = []
        for i in ids:
            values = list(table.get(i, empty))
            values[-1] = room_kind(values[-1], self.rooms)
            rows.append([known.get(value, 0) for known, value in zip(index, values, strict=True)])
        return np.array(rows, np.int64).reshape(-1, len(FIELDS))


def room_kind(room: str, rooms: Iterable[str]) -> str:
    """Return the kind of a room with a name of its own: "second bedroom" is a bedroom, if that is a known kind."""
    return min((r for r in rooms if r and (room == r or room.endswith(" " + r))), key=len, default=room)


def vocabulary_of(files: Sequence[Path]) -> Vocabulary:
    """Return the names in some files of views. Raises ConfigError if they name no object."""
    counts: list[Counter[str]] = [Counter() for _ in FIELDS]
    states: dict[str, Counter[str]] = {}
    for file in files:
        for table in read_tables(file):
            for values in table.values():
                for counter, value in zip(counts, values, strict=True):
                    counter[value] += 1
                if values[3]:
                    states.setdefault(values[0], Counter())[values[3]] += 1
    least = min(_RARE, len(files))
    known = [("", *sorted(name for name, n in counter.items() if name and n >= least)) for counter in counts]
    if len(known[0]) < 2:
        raise ConfigError("the training views name no objects: draw them in scenes with labels")
    rooms = ("", *sorted({room_kind(room, known[4]) for room in known[4] if room}))
    return Vocabulary(known[0], known[1], known[2], known[3], rooms,
                      {kind: tuple(sorted(s for s in found if s in known[3])) for kind, found in sorted(states.items())
                       if kind in known[0]})


class Batch(NamedTuple):
    """Some views, see SceneViews. segments: (n, 120, 160) int64, number of the instance over the whole batch.

    The first n numbers are the surroundings of the n views. classes: (m, 5) int64, class numbers by FIELDS.
    """

    rgb: np.ndarray
    depth_mm: np.ndarray
    camera: np.ndarray
    segments: np.ndarray
    classes: np.ndarray


class _Group(NamedTuple):
    views: list[SceneViews]
    classes: list[list[np.ndarray]]  # by file and view
    ids: list[list[np.ndarray]]


def batches(files: Sequence[Path], vocabulary: Vocabulary, size: int, seed: int, first: int = 0) -> Iterator[Batch]:
    """Yield random batches without end, from the one with number `first` on; they depend on the seed and it alone.

    Files are read ahead in a thread.
    """
    counts = {file: len(read_tables(file)) for file in files}
    queue: Queue[Any] = Queue(1)
    given = files, counts, vocabulary, size, seed, first, queue
    threading.Thread(target=_read_ahead, args=given, daemon=True).start()
    while True:
        found = queue.get()
        if isinstance(found, BaseException):
            raise found
        group, parts = found
        for part in parts:
            yield _batch(group, part)


def _read_ahead(files: Sequence[Path], counts: dict[Path, int], vocabulary: Vocabulary, size: int, seed: int,
                first: int, queue: Queue[Any]) -> None:
    number, epoch = 0, 0
    try:
        while True:
            rng = np.random.default_rng([seed, epoch])
            order = [files[i] for i in rng.permutation(len(files)).tolist()]
            for begin in range(0, len(order), _GROUP):
                names = order[begin:begin + _GROUP]
                pairs = [(f, v) for f, name in enumerate(names) for v in range(counts[name])]
                pairs = [pairs[i] for i in rng.permutation(len(pairs)).tolist()]
                parts = [pairs[i:i + size] for i in range(0, len(pairs) - size + 1, size)]
                skipped = min(len(parts), max(0, first - number))
                number += len(parts)
                if skipped < len(parts):
                    queue.put((_group(names, vocabulary), parts[skipped:]))
            if not number:
                raise ConfigError(f"{len(files)} files have too few views for one batch of {size}: draw more views")
            epoch += 1
    except BaseException as error:  # raised where the batches are used
        queue.put(error)


def _group(names: Sequence[Path], vocabulary: Vocabulary) -> _Group:
    views = [read_views(name) for name in names]
    ids = [[np.unique(image) for image in one.ids] for one in views]
    classes = [[vocabulary.numbers(table, known.tolist()) for table, known in zip(one.table, numbers, strict=True)]
               for one, numbers in zip(views, ids, strict=True)]
    return _Group(views, classes, ids)


def _batch(group: _Group, part: Sequence[tuple[int, int]]) -> Batch:
    rgb, depth, camera = (np.stack([getattr(group.views[f], name)[v] for f, v in part])
                          for name in ("rgb", "depth_mm", "camera"))
    segments, classes, total = [], [np.zeros((len(part), len(FIELDS)), np.int64)], len(part)
    for n, (f, v) in enumerate(part):
        image, known, rows = group.views[f].ids[v], group.ids[f][v], group.classes[f][v]
        objects = rows[:, 0] > 0
        number = np.full(len(known), n, np.int64)
        number[objects] = total + np.arange(np.count_nonzero(objects))
        total += int(np.count_nonzero(objects))
        segments.append(number[np.searchsorted(known, image)])
        classes.append(rows[objects])
    return Batch(rgb, depth, camera, np.stack(segments), np.concatenate(classes))
