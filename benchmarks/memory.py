"""Memory of 1,000 to 1,000,000 keyframes: inserting, recall, opening, bytes; EQA_BENCH_KEYFRAMES=100000 limits it.

The views are synthetic: eight objects each, of 240 kinds in 12 colours and 8 rooms, as uneven as in homes,
with a 1 kB picture, so that a million of them fit on a disk. Everything else is written as by the memory node.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.timing import Figure, times_ms
from eqa_nodes.core.language.english import content_words
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.embedding import make_embedder, packed
from eqa_nodes.core.memory.keyframes import NoveltyView
from eqa_nodes.core.perception.instances import caption_of
from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.questions import RecallQuery
from eqa_nodes.core.types.views import Frame, Intrinsics, Keyframe, Label, Sighting

SIZES = (1_000, 10_000, 100_000, 1_000_000)
PICTURE = bytes(range(256)) * 4
QUERIES, INSERTS, BATCH = 60, 60, 5_000
_COLOURS = ("red", "blue", "green", "white", "black", "grey", "yellow", "brown", "pink", "purple", "orange", "silver")
_ROOMS = ("kitchen", "bedroom", "bathroom", "living room", "hallway", "study", "laundry room", "dining room")
_STEMS = ("cup", "lamp", "chair", "table", "book", "vase", "box", "bottle", "plant", "clock", "towel", "radio", "bowl",
          "bag", "brush", "candle", "basket", "mirror", "stool", "tray")
_SORTS = ("", "tall ", "small ", "old ", "paper ", "glass ", "round ", "folding ", "wall ", "travel ", "toy ",
          "garden ")
KINDS = tuple(f"{sort}{stem}" for sort in _SORTS for stem in _STEMS)


def figures() -> list[Figure]:
    """Return the times of recall, opening and inserting for several sizes of memory."""
    most = int(os.environ.get("EQA_BENCH_KEYFRAMES", SIZES[-1]))
    sizes = [size for size in SIZES if size <= most]
    result: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.sqlite"
        maker, insert_ms = _Maker(), {}
        store = MemoryStore(path)
        for size in sizes:
            maker.fill(store, size)
            store.close()
            begin = time.perf_counter()
            store = MemoryStore(path)
            open_ms = (time.perf_counter() - begin) * 1e3
            insert_ms[size] = statistics.median(maker.take(store) for _ in range(INSERTS))
            if size >= 100_000:
                result += _recalls(store, maker, size, open_ms)
        store.close()
        for size in sizes[1:]:
            result.append(Figure(f"insert a keyframe among {size:,}", round(insert_ms[size], 2),
                                 f"among 1,000, {insert_ms[1_000]:.2f} ms",
                                 round(insert_ms[size] / insert_ms[1_000], 2), "durable, objects included"))
        used = sum(p.stat().st_size for p in path.parent.iterdir()) / maker.made - len(PICTURE)
        result[-1] = result[-1]._replace(note=f"{used:.0f} bytes a keyframe besides its picture")
    return result


def _recalls(store: MemoryStore, maker: _Maker, size: int, open_ms: float) -> Iterator[Figure]:
    questions = maker.questions(QUERIES)
    store.recall(RecallQuery(questions[0], 10))  # compiles
    asked = iter(questions)
    times = times_ms(lambda: store.recall(RecallQuery(next(asked), 10)), len(questions))
    exact_ms, share = _against_exact(store, maker, questions)
    yield Figure(f"recall 10 of {size:,} keyframes", round(statistics.median(times), 1),
                 f"exact cosines of all by numpy, {exact_ms:.0f} ms", round(statistics.median(times) / exact_ms, 3),
                 f"p99 {np.percentile(times, 99):.1f} ms; recall@10 of embeddings against exact search {share:.3f}")
    yield Figure(f"open a memory of {size:,} keyframes", round(open_ms, 1),
                 note=f"{len(store):,} rows of its index read")


def _against_exact(store: MemoryStore, maker: _Maker, questions: list[str]) -> tuple[float, float]:
    """Return the median time of an exact search over all embeddings, and the share of its ten best in our result.

    Our result may contain another view that is equally near.
    """
    vectors = np.concatenate([np.frombuffer(b, np.int8).reshape(-1, 256) for b in maker.vectors])
    ids = np.arange(1, len(vectors) + 1)
    recaller, times, shares = store.recaller, [], []
    for question in questions[:20]:
        wanted = maker.embedder.embed([" ".join(content_words(question))])[0]
        begin = time.perf_counter()
        cosine = np.concatenate([vectors[i:i + 50_000].astype(np.float32) @ wanted
                                 for i in range(0, len(vectors), 50_000)])
        tenth = np.partition(cosine, -10)[-10]
        times.append((time.perf_counter() - begin) * 1e3)
        near = recaller.nearest(wanted, 10)
        ours = cosine[np.searchsorted(ids, [i for i in near if i <= len(ids)])]
        shares.append(float(np.count_nonzero(ours >= tenth - 1.0)) / 10)  # here the vectors are scaled by 127
    return statistics.median(times), statistics.fmean(shares)


class _Maker:
    """Generates synthetic views, the same ones in every run."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        embedder = make_embedder("auto")
        if embedder is None:
            raise SystemExit("the benchmark memory needs embeddings: pip install 'eqa-nodes[embed]'")
        self.embedder, self.made, self.vectors = embedder, 0, list[bytes]()
        share = 1.0 / np.arange(3, 3 + len(KINDS))
        self._share = share / share.sum()

    def questions(self, n: int) -> list[str]:
        """Return questions about objects: common and rare ones, with colour, room or neither."""
        forms = ("Where is the {c} {k}?", "Is there a {k} in the {r}?", "What is next to the {k}?",
                 "How many {k}s are there?")
        kinds = self._rng.choice(KINDS, n, p=self._share)
        return [forms[i % len(forms)].format(k=kind, c=_COLOURS[i % 12], r=_ROOMS[i % 8])
                for i, kind in enumerate(kinds)]

    def fill(self, store: MemoryStore, size: int) -> None:
        """Fill the memory up to `size` keyframes, thousands per transaction."""
        while len(store) < size:
            store.add_many(self._batch(min(BATCH, size - len(store)), len(store)))

    def take(self, store: MemoryStore) -> float:
        """Return the milliseconds to insert one more view."""
        i = len(store) + 1
        frame, labels = _frame(i), dict(enumerate(self._labels(1)[0], start=1))
        begin = time.perf_counter()
        kept = store.take(frame, labels)
        assert kept is not None
        elapsed = (time.perf_counter() - begin) * 1e3
        self._note(self.embedder.embed([kept.caption]))
        return elapsed

    def _batch(self, n: int, known: int) -> Iterator[tuple[Keyframe, NoveltyView, np.ndarray]]:
        pixels = np.sort(self._rng.integers(200, 60_000, (n, 8)))[:, ::-1].tolist()
        keyframes = [_keyframe(known + i, *view) for i, view in enumerate(zip(self._labels(n), pixels), start=1)]
        vectors = self.embedder.embed([k.caption for k in keyframes])
        self._note(vectors)
        for k, vector in zip(keyframes, vectors, strict=True):
            x, y, _ = k.map_from_base.xyz
            yield k, NoveltyView((x, y, 1.2), (1.0, 0.0, 0.0), b"\x80" * 192, (), k.stamp_ns), vector

    def _note(self, vectors: np.ndarray) -> None:
        self.vectors.append(packed(vectors).tobytes())
        self.made += len(vectors)

    def _labels(self, n: int) -> list[list[Label]]:
        """Return the labels of n views: eight objects each."""
        kinds = self._rng.choice(len(KINDS), (n, 8), p=self._share).tolist()
        colours, rooms = (self._rng.integers(len(options), size=(n, 8)).tolist() for options in (_COLOURS, _ROOMS))
        return [[Label(1, KINDS[k], _ROOMS[r], {"colour": _COLOURS[c], "support": "shelf", "relation": "on"})
                 for k, c, r in zip(*view, strict=True)] for view in zip(kinds, colours, rooms, strict=True)]


def _keyframe(i: int, labels: list[Label], pixels: list[int]) -> Keyframe:
    seen = tuple(Sighting(label, p, (0, 0, 9, 9), (1.0, 2.0, 0.5), (0.2, 0.2, 0.3))
                 for label, p in zip(labels, pixels, strict=True))
    return Keyframe(i, i * 10**9, _pose(i).transform(), PICTURE, seen, caption_of(seen), seen[0].label.room)


def _pose(i: int) -> Pose2:
    return Pose2(1.1 * (i % 1000), 1.1 * (i // 1000), 0.0)


def _frame(i: int) -> Frame:
    """Return a small frame with eight objects in view, from a distinct place."""
    labels = np.zeros((48, 64), np.uint16)
    for j in range(8):
        labels[10:30, 8 * j:8 * j + 6] = j + 1
    return Frame((i + 1) * 10**9, np.full((48, 64, 3), 90, np.uint8), np.full((48, 64), 2.0, np.float32),
                 Intrinsics(64, 48, 32.0, 32.0, 32.0, 24.0), _pose(i).transform(), camera_mount(1.2), labels)
