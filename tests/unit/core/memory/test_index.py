"""The array that recall filters by: what it finds against exact search, and that it is the same when read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.memory.embedding import DIMENSIONS
from eqa_nodes.core.memory.forgetting import ForgetSelection
from eqa_nodes.core.memory.hamming import nearest
from eqa_nodes.core.memory.index import row_of
from eqa_nodes.core.memory.keyframes import NoveltyView
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Keyframe

CONFIG = MemoryConfig(embedder="none")


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _filled(path: Path, vectors: np.ndarray) -> MemoryStore:
    store = MemoryStore(path, CONFIG)
    first = len(store) + 1
    store.add_many((Keyframe(first + i, first + i, Pose2(float(i), 0.0, 0.0).transform(), b"", caption="cup"),
                    NoveltyView((float(i), 0.0, 1.0), (1.0, 0.0, 0.0), b"", (), first + i), vector)
                   for i, vector in enumerate(vectors))
    return store


def _vectors(n: int) -> np.ndarray:
    """Return unit vectors that have much in common, as captions of one home have."""
    rng = np.random.default_rng(0)
    return _unit(rng.normal(size=DIMENSIONS) * 1.5 + rng.normal(size=(n, 12)) @ rng.normal(size=(12, DIMENSIONS)) / 3)


def test_the_nearest_are_those_of_exact_search(tmp_path: Path) -> None:
    vectors = _vectors(1510)
    store = _filled(tmp_path / "memory.db", vectors[:1500])
    store.close()
    store = MemoryStore(tmp_path / "memory.db", CONFIG)  # as it is read again
    shares = []
    for wanted in vectors[1500:]:
        cosine = vectors[:1500] @ wanted
        near = np.array(store.recaller.nearest(wanted, 10)) - 1
        shares.append(np.mean(cosine[near] >= np.sort(cosine)[-10] - 0.005))
    assert np.mean(shares) >= 0.95
    store.close()


def test_one_at_a_time_is_as_all_at_once(tmp_path: Path) -> None:
    vectors = _vectors(400)
    whole = _filled(tmp_path / "whole.db", vectors)
    parts = _filled(tmp_path / "parts.db", vectors[:100])
    parts.close()
    for begin, end in ((100, 255), (255, 256), (256, 300), (300, 400)):
        parts = _filled(tmp_path / "parts.db", vectors[begin:end])
        assert len(parts) == end
        parts.close()
    parts = MemoryStore(tmp_path / "parts.db", CONFIG)
    for wanted in vectors[::40]:
        assert set(whole.recaller.nearest(wanted, 10)) == set(parts.recaller.nearest(wanted, 10))
    whole.close()
    parts.close()


def test_what_was_deleted_is_found_no_more_and_chunks_stay_sorted(tmp_path: Path) -> None:
    vectors = _vectors(300)
    store = _filled(tmp_path / "memory.db", vectors)
    store.forget(ForgetSelection(after_ns=60, before_ns=200))
    expected = [*range(1, 60), *range(201, 301)]
    assert store.recaller.nearest(vectors[100], 400) and set(store.recaller.nearest(vectors[100], 400)) <= set(expected)
    store.close()
    again = MemoryStore(tmp_path / "memory.db", CONFIG)
    assert [k.id for k in again.since(0)] == expected
    assert len(again) == len(expected)
    again.close()


def bits(*counts: int) -> np.ndarray:
    """Return signatures (n, 4) with this number of set bits, the highest ones of each word first."""
    rows = [[min(64, max(0, count - 64 * word)) for word in range(4)] for count in counts]
    return np.array([[((1 << n) - 1) << (64 - n) for n in row] for row in rows], np.uint64)


@pytest.mark.parametrize(("count", "found"), [
    (1, [3]), (2, [4, 3, 1]),  # 1 bit; the two with 3 bits count both
    (5, [5, 4, 3, 1, 0]), (9, [6, 5, 4, 3, 1, 0])])
def test_the_nearest_signatures_have_the_fewest_other_bits(count: int, found: list[int]) -> None:
    stored = bits(200, 3, 0, 1, 3, 64, 256)
    allowed = np.arange(7) != 2  # the equal one is of another map
    assert nearest(stored, bits(0)[0], allowed, count).tolist() == found


def test_of_many_equal_signatures_the_newest_twice_the_number_are_found() -> None:
    assert nearest(bits(*[5] * 10, 1), bits(0)[0], np.ones(11, bool), 3).tolist() == [10, 9, 8, 7, 6, 5]


@pytest.mark.parametrize("yaw", [0.0, 4.0, -9.0])
def test_a_row_keeps_its_values(yaw: float) -> None:
    row = row_of(7, 8, (1.0, 2.0, 3.0), yaw, 4, True, np.array([1, 2, 3, 2**64 - 1], np.uint64))
    assert (int(row["id"]), int(row["stamp_ns"]), float(row["x"]), int(row["root"])) == (7, 8, 1.0, 4)
    assert int(row["signature"][3]) == 2**64 - 1
    assert abs(float(row["yaw"])) <= np.pi + 1e-6
