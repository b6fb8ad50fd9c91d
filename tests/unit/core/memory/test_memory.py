"""The episodic memory: what it keeps, what it recalls, and what it survives."""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import RecallQuery
from tests.fixtures.disk import room_for
from tests.fixtures.frames import LABELS, frame


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    store = MemoryStore(tmp_path / "memory.db")
    yield store
    store.close()


def _visit(store: MemoryStore) -> None:
    """Four views, a metre apart, a second apart: kitchen, study with a far lamp, study with a near lamp, bedroom."""
    views = [{1: (0, 0, 12, 12), 2: (12, 0, 50, 30)}, {3: (30, 0, 36, 6), 4: (0, 10, 60, 40)},
             {3: (20, 0, 44, 30), 4: (0, 32, 60, 44)}, {5: (10, 0, 40, 30)}]
    for i, boxes in enumerate(views):
        assert store.take(frame((i + 1) * 10**9, Pose2(float(i), 0.0, 0.0), boxes), LABELS) is not None


def _ids(store: MemoryStore, *query: object, **conditions: object) -> list[int]:
    return [item.keyframe.id for item in store.recall(RecallQuery(*query, **conditions))]  # type: ignore[arg-type]


def test_what_was_taken_comes_back_as_it_was(store: MemoryStore) -> None:
    stored = store.take(frame(5, Pose2(1.0, 2.0, 0.3), {1: (0, 0, 12, 12), 2: (12, 0, 50, 30)}), LABELS)
    assert stored is not None
    assert (stored.id, stored.stamp_ns, stored.region) == (1, 5, "kitchen")
    assert stored.caption == "kitchen: white stone counter, red kettle on counter (on)"
    assert stored.jpeg.startswith(b"\xff\xd8")
    assert store.since(0) == [stored]
    store.close()
    again = MemoryStore(store.path)
    assert again.since(0) == [stored]
    again.close()


def test_a_view_is_written_by_one_statement_for_each_table(store: MemoryStore) -> None:
    """However many objects it shows, and however many words describe them."""
    _visit(store)
    written: list[str] = []
    store._db._db.set_trace_callback(written.append)
    assert store.take(frame(9 * 10**9, Pose2(9.0, 0.0, 0.0), {1: (0, 0, 12, 12), 2: (12, 0, 50, 30), 3: (50, 0, 60, 30),
                                                           4: (0, 32, 60, 44)}), LABELS) is not None
    store._db._db.set_trace_callback(None)
    own = [" ".join(sql.split()[:3]) for sql in written if not sql.startswith("--")]  # the rest: FTS5's own
    assert len(own) == len(set(own)) <= 20, own
    assert own.count("INSERT INTO objects") == own.count("INSERT INTO looks") == own.count("INSERT INTO terms") == 1


def test_only_new_views_are_kept_and_ids_count_up(store: MemoryStore) -> None:
    stored = [store.take(frame(i, Pose2(0.2 * i, 0.0, 0.0)), {}) for i in range(11)]
    assert [k.id for k in stored if k] == [1, 2, 3, 4]
    assert [k.id for k in store.since(2)] == [3, 4]
    assert len(store) == 4


def test_a_view_that_is_asked_for_is_kept_once_though_it_is_not_new(store: MemoryStore) -> None:
    assert store.keep() is None, "nothing was seen yet"
    assert store.take(frame(1, Pose2(0.0, 0.0, 0.0), {1: (0, 0, 12, 12)}), LABELS) is not None
    assert store.keep() is None, "it is kept already"
    for stamp, x, kept in ((2, 0.05, None), (3, 0.3, 2)):  # the same image, and another one from near
        assert store.take(frame(stamp, Pose2(x, 0.0, 0.0), {1: (0, 0, 12, 12)}), LABELS) is None
        assert (keyframe := store.keep()) is None or keyframe == store.since(0)[-1]
        assert kept == (keyframe and keyframe.id) and store.keep() is None
    assert [k.stamp_ns for k in store.since(0)] == [1, 3]


def test_a_frame_from_the_past_or_a_broken_one_is_refused_and_counted(store: MemoryStore) -> None:
    store.take(frame(100), {})
    store.take(frame(200), {})  # shows nothing new, and yet time has passed
    with pytest.raises(BadFrame, match="150 ns after 200 ns"):
        store.take(frame(150, Pose2(9.0, 0.0, 0.0)), {})
    with pytest.raises(BadFrame):
        store.take(frame(300, Pose2(math.nan, 0.0, 0.0)), {})
    assert store.refused == 2
    assert store.take(frame(200, Pose2(9.0, 0.0, 0.0)), {}) is not None


@pytest.mark.parametrize(("question", "first"), [
    ("Is the lamp in the study on or off?", 3),
    ("What colour is the kettle?", 1),
    ("Are there any kettles?", 1),
    ("What is in the bedroom?", 4),
    ("What is made of stone?", 1),
    ("Where did I leave the RED thing?", 1),
])
def test_questions_recall_the_view_that_shows_it_best(store: MemoryStore, question: str, first: int) -> None:
    _visit(store)
    found = store.recall(RecallQuery(question))
    assert found[0].keyframe.id == first
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    assert all(item.why for item in found)


def test_why_explains_the_score(store: MemoryStore) -> None:
    _visit(store)
    best = store.recall(RecallQuery("study lamp", near=(2.0, 1.0, 2.0)))[0]
    parts = [float(part.rsplit(" ", 1)[1]) for part in best.why.split(", ")]
    assert best.why.startswith("words ")
    assert "table lamp in view" in best.why
    assert "1.00 m away 0.50" in best.why
    assert sum(parts) == pytest.approx(best.score, abs=0.02)


def test_near_a_room_is_around_the_mean_position_of_its_views(store: MemoryStore) -> None:
    """Kitchen views at x = 0 and 2 m: their mean is 1 m, and nearness falls to 0 at 8 m from it."""
    kettle = {1: (0, 0, 12, 12)}
    for i, x in enumerate((0.0, 2.0)):
        store.take(frame(i, Pose2(x, 0.0, 0.0), kettle), LABELS)
    store.take(frame(2, Pose2(7.0, 0.0, 0.0), {3: (0, 0, 12, 12)}), LABELS)  # the study, 6 m from it
    store.take(frame(3, Pose2(20.0, 0.0, 0.0), {3: (0, 0, 12, 12)}), LABELS)
    for words in ("near the kitchen", "near the kitchen and its white counter"):
        why = {item.keyframe.id: item.why for item in store.recall(RecallQuery(f"lamp {words}"))}
        assert "near the kitchen 0.25" in why[3] and "near the kitchen 0.00" in why[4]
    long = frame(9, Pose2(40.0, 0.0, 0.0), {1: (0, 0, 12, 12)})
    store.take(long, {1: LABELS[1]._replace(room="very small back kitchen")})
    assert not any("near the" in item.why for item in store.recall(RecallQuery("kettle near very small back kitchen")))


def test_a_synonym_finds_it_too(store: MemoryStore) -> None:
    store.take(frame(1, boxes={6: (0, 0, 30, 30)}), LABELS)
    assert _ids(store, "Is the couch green?") == [1]


def test_what_was_never_seen_is_not_recalled(store: MemoryStore) -> None:
    _visit(store)
    assert _ids(store, "Is there a piano?") == []


def test_window_and_place_restrict_and_combine(store: MemoryStore) -> None:
    _visit(store)
    second = 10**9
    assert _ids(store, after_ns=2 * second) == [2, 3, 4]
    assert _ids(store, before_ns=2 * second) == [1, 2]
    assert _ids(store, near=(2.2, 0.0, 1.0)) == [3, 4]
    assert _ids(store, "lamp", before_ns=3 * second) == [3, 2]
    assert _ids(store, "lamp", near=(3.0, 0.0, 0.5)) == [4]
    assert _ids(store, "lamp", 2 * second, near=(3.0, 0.0, 0.5)) == [4]
    assert _ids(store, "lamp", 1, near=(9.0, 0.0, 0.5)) == []


def test_the_limit_spreads_a_window_in_time(store: MemoryStore) -> None:
    for i in range(10):
        store.take(frame(i, Pose2(float(i), 0.0, 0.0)), {})
    assert _ids(store, limit=4) == [1, 4, 7, 10]
    assert _ids(store, limit=1) == [1]
    assert _ids(store, limit=0) == []
    assert len(_ids(store, limit=99)) == 10


def test_views_that_nothing_describes_cannot_be_ruled_out(store: MemoryStore) -> None:
    store.take(frame(1, boxes={1: (0, 0, 12, 12)}), LABELS)
    bare = store.take(frame(2, Pose2(2.0, 0.0, 0.0)), LABELS)  # a real camera: no labels in the image
    assert bare is not None and (bare.sightings, bare.caption, bare.region) == ((), "", "")
    store.take(frame(3, Pose2(4.0, 0.0, 0.0), boxes={}), LABELS)  # labelled, and nothing there
    found = store.recall(RecallQuery("the kettle"))
    assert [(item.keyframe.id, item.score > 0) for item in found] == [(1, True), (2, False)]
    assert "not described" in found[1].why


def test_equal_scores_give_the_older_first(store: MemoryStore) -> None:
    for i in range(6):
        store.take(frame(i, Pose2(float(i), 0.0, 0.0), {1: (0, 0, 12, 12)}), LABELS)
    assert _ids(store, "kettle") == [1, 2, 3, 4, 5, 6]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(max_size=60))
def test_no_text_is_a_syntax_error(store: MemoryStore, text: str) -> None:
    if not len(store):
        _visit(store)
    found = store.recall(RecallQuery(text))
    assert found == store.recall(RecallQuery(text))


def test_reset_forgets_or_keeps(store: MemoryStore) -> None:
    store.reset("first", map_name="home")
    _visit(store)
    store.reset("second", keep=True, map_name="home")
    assert store.since(0) == []
    assert _ids(store, "kettle") == [1]
    assert store.take(frame(1, Pose2(0.0, 0.0, 0.0), {1: (0, 0, 12, 12), 2: (12, 0, 50, 30)}), LABELS) is None
    kept = store.take(frame(2, Pose2(0.0, 9.0, 0.0)), {})  # the clock of a new episode may start anew
    assert kept is not None
    assert [k.id for k in store.since(0)] == [kept.id] == [5]
    store.reset("third")
    assert len(store) == 0
    assert _ids(store, "kettle") == []
    first = store.take(frame(1), {})
    assert first is not None
    assert first.id == 1


def test_reopening_goes_on_where_it_stopped(store: MemoryStore) -> None:
    _visit(store)
    store.close()
    again = MemoryStore(store.path)
    assert again.take(frame(5 * 10**9, Pose2(1.0, 0.0, 0.0), {3: (30, 0, 36, 6), 4: (0, 10, 60, 40)}), LABELS) is None
    with pytest.raises(BadFrame):
        again.take(frame(1), {})
    again.close()


def test_a_full_disk_is_named_and_the_store_goes_on(store: MemoryStore) -> None:
    store.take(frame(1), {})
    room = max(os.path.getsize(f"{store.path}{suffix}") for suffix in ("", "-wal", "-shm"))
    with room_for(room), pytest.raises(StorageError, match=r"memory\.db could not be written .*free space"):
        store.take(frame(2, Pose2(5.0, 0.0, 0.0)), {})
    assert len(store) == 1
    again = store.take(frame(3, Pose2(5.0, 0.0, 0.0)), {})
    assert again is not None
    assert [k.id for k in store.since(0)] == [1, 2]


def test_a_python_without_full_text_search_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Database) -> None:
        raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(Database, "_open", fail)
    with pytest.raises(StorageError, match="FTS5"):
        MemoryStore(tmp_path / "memory.db")
