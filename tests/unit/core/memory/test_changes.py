"""What changed between two looks, with the stamps of both: the last that saw it so, the first that saw it otherwise."""

from __future__ import annotations

from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Label
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
NOON = 1_794_830_400 * SECOND  # a stamp of 2026
DAY = 86_400 * SECOND
HERE, THERE = Pose2(0.0, 0.0, 0.0), Pose2(20.0, 0.0, 0.0)
KETTLE = {1: (20, 16, 32, 30)}


def kettle(state: str = "on", room: str = "kitchen", support: str = "counter") -> dict[int, Label]:
    attributes = {"colour": "red", "state": state, "support": support, "relation": "on"}
    return {**LABELS, 1: Label(1, "kettle", room, attributes)}


IN_KITCHEN, IN_STUDY = kettle(), kettle(room="study", support="desk")


def patrol(store: MemoryStore, day: int, at_home: bool) -> None:
    """Look for three seconds at the counter in the kitchen, where the kettle is or not, and then at the desk."""
    store.reset(f"day {day}", keep=True, map_name="home")
    for second in range(3):
        _look(store, day, second, HERE, IN_KITCHEN if at_home else None)
    for second in range(3, 6):
        _look(store, day, second, THERE, None if at_home else IN_STUDY)


def _look(store: MemoryStore, day: int, second: int, pose: Pose2, labels: dict[int, Label] | None) -> None:
    boxes = {} if labels is None else KETTLE
    store.take(frame(NOON + day * DAY + second * SECOND, pose, boxes, 2.0 if boxes else 4.0), labels or LABELS)


def test_a_move_lies_between_the_last_look_there_and_the_first_here(store: MemoryStore) -> None:
    patrol(store, 0, True)
    patrol(store, 2, False)
    move, = store.changes(NOON + DAY)
    assert (move.what, move.was, move.now) == ("moved", "in the kitchen, on the counter", "in the study, on the desk")
    assert (move.last_ns, move.first_ns) == (NOON + 2 * SECOND, NOON + 2 * DAY + 3 * SECOND)


def test_a_move_back_to_an_old_place_is_a_move(store: MemoryStore) -> None:
    for day in range(4):
        patrol(store, day, day % 2 == 0)
    move, = store.changes(NOON + 2 * DAY + DAY // 2)
    assert (move.what, move.was, move.now) == ("moved", "in the kitchen, on the counter", "in the study, on the desk")
    assert (move.last_ns, move.first_ns) == (NOON + 2 * DAY + 2 * SECOND, NOON + 3 * DAY + 3 * SECOND)


def test_the_times_are_named(store: MemoryStore) -> None:
    patrol(store, 0, True)
    patrol(store, 2, False)
    reply = store.recollect("What has changed since yesterday?")
    assert reply is not None
    assert reply.text.startswith("the red kettle was moved: in the kitchen, on the counter, now in the study, "
                                 "on the desk (between ")
    assert " and today at " in reply.text


def test_what_is_gone_went_before_the_first_look_at_its_empty_place(store: MemoryStore) -> None:
    _look(store, 0, 0, HERE, IN_KITCHEN)
    store.reset("later", keep=True, map_name="home")
    for second in range(3):
        _look(store, 5, second, HERE, None)
    gone, = store.changes(NOON + DAY)
    assert (gone.what, gone.last_ns, gone.first_ns) == ("gone", NOON, NOON + 5 * DAY)


def test_what_is_back_is_not_new(store: MemoryStore) -> None:
    for day, labels in enumerate((IN_KITCHEN, None, IN_KITCHEN)):
        store.reset(f"day {day}", keep=True, map_name="home")
        _look(store, day, 0, HERE, labels)
    back, = store.changes(NOON + DAY + DAY // 2)
    assert (back.what, back.now, back.first_ns) == ("back", "in the kitchen, on the counter", NOON + 2 * DAY)


def test_a_change_of_state_lies_between_two_looks_of_which_no_view_is_stored(store: MemoryStore) -> None:
    for day, state in enumerate(("on", "on", "off", "off")):
        store.reset(f"day {day}", keep=True, map_name="home")
        for second in range(2):
            _look(store, day, second, HERE, kettle(state))
    change, = store.changes(NOON + DAY // 2)
    assert (change.what, change.was, change.now) == ("state", "on", "off")
    assert (change.last_ns, change.first_ns) == (NOON + DAY + SECOND, NOON + 2 * DAY)
