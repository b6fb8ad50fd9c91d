"""Watches: an event for each time that a statement becomes true, also over restarts, and deleted with its looks."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from eqa_nodes.core.errors import BadQuestion, StorageError
from eqa_nodes.core.memory import MemoryConfig, MemoryStore, watches
from eqa_nodes.core.memory.backup import back_up
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.forgetting import ForgetSelection
from eqa_nodes.core.memory.watches import MOST_WATCHES, WatchedLook, WatchEvent, remove_watch, set_watch
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Label
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NOON = 1_794_830_400 * SECOND  # a stamp of 2026
HERE, THERE, AWAY = Pose2(0.0, 0.0, 0.0), Pose2(20.0, 0.0, 0.0), Pose2(0.0, 0.0, math.pi)
BOX = (20, 16, 32, 30)


def look(store: MemoryStore, minute: float, state: str = "", pose: Pose2 = HERE, kind: str = "kettle",
         support: str = "counter", room: str = "kitchen", box: tuple[int, int, int, int] = BOX) -> None:
    """Let a store see a thing; without a state its place is empty, 4 m deep."""
    label = Label(1, kind, room, {"colour": "red", "state": state, "support": support, "relation": "on"})
    store.take(frame(NOON + round(minute * MINUTE), pose, {1: box} if state else {}, 2.0 if state else 4.0), {1: label})


def events(store: MemoryStore) -> list[WatchEvent]:
    return store.events_to_publish()


def minutes(store: MemoryStore) -> list[float]:
    return [(event.stamp_ns - NOON) / MINUTE for event in events(store)]


@pytest.fixture
def home(store: MemoryStore) -> MemoryStore:
    """A kettle that is off."""
    store.reset("home", map_name="home")
    look(store, -1, "off")
    return store


def test_an_event_happens_when_it_becomes_true_and_once(home: MemoryStore) -> None:
    set_watch(home.path, "the kettle is on")
    look(home, 0, "off")
    assert events(home) == []
    for minute in (1, 2, 3):
        look(home, minute, "on")
    event, = events(home)
    assert (event.watch, event.statement, event.object_id) == (1, "the kettle is on", 1)
    assert event.stamp_ns == event.since_ns == NOON + MINUTE
    assert event.text == "the red kettle is on, on the counter in the kitchen"
    look(home, 4, "off")
    look(home, 5, "on")
    assert minutes(home) == [1, 5]
    watch, = home.watches()
    assert (watch.events, watch.last, watch.since_ns) == (2, events(home)[1], NOON + 5 * MINUTE)


def test_what_memory_knew_counts_as_the_first_look(home: MemoryStore) -> None:
    assert set_watch(home.path, "the kettle is off")[2:] == (NOON - MINUTE, True)
    look(home, 0, "off")
    assert events(home) == []
    look(home, 1, "on")
    look(home, 2, "off")
    assert minutes(home) == [2]


def test_a_thing_that_memory_has_not_seen_can_be_watched(home: MemoryStore) -> None:
    assert set_watch(home.path, "there is a cardboard box in the entryway")[2:] == (0, False)
    look(home, 1, "closed", THERE, "cardboard box", room="entryway")
    assert minutes(home) == [1] and home.keyframe(events(home)[0].keyframe_id) is not None
    with pytest.raises(BadQuestion, match="knows 'zorgle'"):
        set_watch(home.path, "there is a zorgle in the entryway")
    assert len(home.watches()) == 1


def test_not_looked_is_neither_true_nor_false(home: MemoryStore) -> None:
    set_watch(home.path, "the kettle is on")
    look(home, 1, "on")
    for minute in (2, 3, 4):
        home.take(frame(NOON + minute * MINUTE, THERE, {4: (0, 10, 60, 40)}), LABELS)
        home.take(frame(NOON + minute * MINUTE + SECOND, AWAY), LABELS)  # a view without labels
    look(home, 300, "on")
    assert minutes(home) == [1]


@pytest.mark.parametrize(("looks", "event"), [
    ("0 on, 10 on, 29.9 on", None), ("0 on, 10 on, 30 on, 40 on", 30), ("0 on, 45 on", 45),
    ("0 on, 10 off, 20 on, 40 on", None), ("0 on, 10 off, 20 on, 50 on", 50), ("0 on, 20 on, 31 off", None)])
def test_a_duration_is_shown_by_looks_at_both_ends(home: MemoryStore, looks: str, event: int | None) -> None:
    set_watch(home.path, "the kettle is on for 30 min")
    for minute, state in (one.split() for one in looks.split(", ")):
        look(home, float(minute), state)
    assert minutes(home) == [event] * (event is not None)
    if event is not None:
        assert events(home)[0].stamp_ns - events(home)[0].since_ns >= 30 * MINUTE


def test_watches_survive_restarts(home: MemoryStore) -> None:
    set_watch(home.path, "the kettle is on for 30 min")
    look(home, 0, "on")
    home.close()
    with closing(MemoryStore(home.path)) as again:
        again.reset("second", keep=True, map_name="home")
        look(again, 31, "on")
        assert minutes(again) == [31]
    with closing(MemoryStore(home.path)) as again:
        look(again, 60, "on")
        assert minutes(again) == [31]
        again.mark_published(events(again)[0].id)
        assert events(again) == [] and again.watches()[0].events == 1
        again.reset("fresh")
        assert [(watch.statement, watch.events) for watch in again.watches()] == [("the kettle is on for 30 min", 0)]


def test_a_look_that_is_not_written_leaves_no_event(home: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    set_watch(home.path, "the kettle is on")

    def check(db: Database, seen: WatchedLook) -> None:
        watches.check(db, seen)
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr("eqa_nodes.core.memory.store.watches", SimpleNamespace(check=check))
        with pytest.raises(StorageError, match="disk I/O error"):
            look(home, 1, "on")
    assert events(home) == [] and home.watches()[0].since_ns == 0
    look(home, 2, "on")
    assert minutes(home) == [2]


def laptop(store: MemoryStore, day: int, place: Pose2) -> None:
    """A patrol that looks at the kitchen table and at the desk, where the laptop is on one of them."""
    store.reset(f"day {day}", keep=True, map_name="home")
    for second, (pose, support, room) in enumerate(((HERE, "kitchen table", "kitchen"), (THERE, "desk", "study"))):
        look(store, day * 1440 + second / 60, "closed" if pose == place else "", pose, "laptop", support, room)


def test_a_laptop_that_alternates_between_two_tables(store: MemoryStore) -> None:
    laptop(store, 0, HERE)
    for text in ("the laptop is on the kitchen table", "the laptop is moved", "the laptop is gone",
                 "the laptop is not on the kitchen table"):
        set_watch(store.path, text)
    for day, place in enumerate((THERE, HERE, HERE, THERE, HERE), 1):
        laptop(store, day, place)
    found = [(event.watch, (event.stamp_ns - NOON) // DAY, event.text) for event in events(store)]
    there, back = ("the red laptop was on the kitchen table in the kitchen and is on the desk in the study",
                   "the red laptop was on the desk in the study and is on the kitchen table in the kitchen")
    assert [(day, text) for watch, day, text in found if watch == 2] == [(1, there), (2, back), (4, there), (5, back)]
    assert [day for watch, day, _ in found if watch == 1] == [2, 5]
    assert [day for watch, day, _ in found if watch == 4] == [1, 4]


def test_a_thing_is_gone_when_it_is_seen_nowhere(home: MemoryStore) -> None:
    set_watch(home.path, "the kettle is gone")
    home.reset("later", keep=True, map_name="home")
    look(home, 60)
    event, = events(home)
    assert event.text == "the red kettle is gone; it was on the counter in the kitchen" and event.keyframe_id
    look(home, 61, "on")
    assert len(events(home)) == 1 and home.watches()[0].since_ns == 0


def test_a_thing_on_another_support_is_moved(home: MemoryStore) -> None:
    set_watch(home.path, "the kettle is moved")
    look(home, 1, "off", support="stove")
    look(home, 2, "off", support="stove")
    event, = events(home)
    assert event.text == "the red kettle was on the counter in the kitchen and is on the stove in the kitchen"


def test_people_are_watched_by_room(home: MemoryStore) -> None:
    set_watch(home.path, "someone is in the kitchen")
    set_watch(home.path, "nobody is in the kitchen")
    for minute, kind in enumerate(("person", "kettle", "person"), 1):
        look(home, minute, "on", kind=kind)
    assert [(event.watch, event.text) for event in events(home)] == [
        (1, "1 person in view in the kitchen"), (2, "nobody in view in the kitchen"),
        (1, "1 person in view in the kitchen")]
    home.forget(ForgetSelection(kind="person"))
    assert events(home) == []


def test_two_windows_are_one_statement(store: MemoryStore) -> None:
    set_watch(store.path, "a window is open")
    set_watch(store.path, "all windows are open")
    look(store, 0, "closed", kind="window")
    look(store, 1, "closed", THERE, "window")
    for minute, pose in ((2, HERE), (3, THERE)):
        look(store, minute, "open", pose, "window")
    assert [(event.watch, (event.stamp_ns - NOON) // MINUTE) for event in events(store)] == [(1, 2), (2, 3)]


@pytest.mark.parametrize(("selection", "left"), [
    (ForgetSelection(kind="kettle"), []), (ForgetSelection(everything=True), []),
    (ForgetSelection(region="kitchen"), []),
    (ForgetSelection(kind="desk"), [0, 60]), (ForgetSelection(region="study"), [0, 60]),
    (ForgetSelection(near=(2.0, 0.0, 3.0)), []), (ForgetSelection(near=(20.0, 0.0, 3.0)), [0, 60]),
    (ForgetSelection(before_ns=NOON + 2 * MINUTE), [60]), (ForgetSelection(after_ns=NOON + 50 * MINUTE), [0])])
def test_forgetting_deletes_the_events_of_its_looks(home: MemoryStore, selection: ForgetSelection,
                                                    left: list[float]) -> None:
    set_watch(home.path, "the kettle is on")
    look(home, 0, "on")
    look(home, 1, "off")
    home.reset("later", keep=True, map_name="home")
    look(home, 60, "on")
    home.forget(selection)
    assert minutes(home) == left
    assert [watch.statement for watch in home.watches()] == ["the kettle is on"]


def test_forgetting_where_a_thing_was_deletes_that_it_was_moved(store: MemoryStore) -> None:
    laptop(store, 0, HERE)
    set_watch(store.path, "the laptop is moved")
    laptop(store, 1, THERE)
    assert len(events(store)) == 1
    store.forget(ForgetSelection(region="kitchen"))
    assert events(store) == []
    store.close()
    assert b"was on the kitchen table" not in store.path.read_bytes()


def test_a_watch_goes_on_after_something_else_was_forgotten(home: MemoryStore) -> None:
    set_watch(home.path, "the kettle is on")
    look(home, 0, "on")
    home.forget(ForgetSelection(kind="desk"))
    look(home, 1, "on")
    look(home, 2, "off")
    look(home, 3, "on")
    assert minutes(home) == [0, 3]


def test_events_go_with_the_patrols_of_a_full_file(tmp_path: Path) -> None:
    with closing(MemoryStore(tmp_path / "small.sqlite", MemoryConfig(budget_mb=0.05))) as store:
        store.reset("home", map_name="home")
        set_watch(store.path, "the kettle is on")
        for hour in range(120):
            look(store, hour * 60, "off" if hour % 2 else "on")
        first = next(patrol for patrol in store.history(1) if patrol.spells)
        assert 1 < len(events(store)) < 60 and events(store)[0].stamp_ns >= first.patrol.first_ns


def test_a_backup_holds_watches_and_events(home: MemoryStore, tmp_path: Path) -> None:
    set_watch(home.path, "the kettle is on")
    look(home, 0, "on")
    back_up(home.path, tmp_path / "backup.sqlite")
    with closing(MemoryStore(tmp_path / "backup.sqlite", write=False)) as copied:
        assert copied.watches() == home.watches()


def test_watches_are_set_and_removed_while_a_robot_writes(home: MemoryStore) -> None:
    assert set_watch(home.path, "the kettle is on").number == 1
    assert set_watch(home.path, "the kettle is off").number == 2
    with pytest.raises(BadQuestion, match="is watched already"):
        set_watch(home.path, "The kettle is ON.")
    look(home, 1, "on")
    assert remove_watch(home.path, 1) == "the kettle is on"
    assert events(home) == [] and [watch.number for watch in home.watches()] == [2]
    with pytest.raises(BadQuestion, match="no watch has the number 1: there are 2"):
        remove_watch(home.path, 1)
    for number in range(MOST_WATCHES - 1):
        set_watch(home.path, f"the kettle is on for {number + 1} min")
    with pytest.raises(BadQuestion, match="which is the most"):
        set_watch(home.path, "the kettle is open")


def test_a_file_without_watches_is_read_and_gets_them(home: MemoryStore, tmp_path: Path) -> None:
    home.close()
    with closing(sqlite3.connect(home.path)) as db:
        for table in ("watches", "watched", "watch_events"):
            db.execute(f"DROP TABLE {table}")
    with closing(MemoryStore(home.path, write=False)) as store:
        assert store.watches() == []
    set_watch(home.path, "the kettle is on")
    with closing(MemoryStore(home.path)) as store:
        look(store, 1, "on")
        assert minutes(store) == [1]
    with pytest.raises(StorageError, match="no memory file"):
        set_watch(tmp_path / "nothing.sqlite", "the kettle is on")
    assert not (tmp_path / "nothing.sqlite").exists()
