"""What each patrol knows of objects and rooms: seen, seen empty or not looked at, and how it is deleted."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.camera.privacy import PrivacyConfig
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.memory.backup import back_up, restore
from eqa_nodes.core.memory.forgetting import ForgetSelection
from eqa_nodes.core.memory.keyframes import KeyframeConfig
from eqa_nodes.core.memory.ledger import EMPTY, LONGEST_NS, NOT_LOOKED, PAUSE_NS, SEEN, PatrolSpan, patrol_at
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.views import Label
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
NOON = 1_794_830_400 * SECOND  # a stamp of 2026
DAY = 86_400 * SECOND
HERE, THERE = Pose2(0.0, 0.0, 0.0), Pose2(20.0, 0.0, 0.0)
KETTLE = {1: (20, 16, 32, 30)}
PERSON = Label(8, "person", "kitchen", {})


def patrol(store: MemoryStore, day: int, *looks: tuple[Pose2, dict[int, tuple[int, int, int, int]]],
           labels: dict[int, Label] = LABELS) -> None:
    """Let a store see a view of each place, one second apart; behind an empty place it sees 4 m far."""
    store.reset(f"day {day}", keep=True, map_name="home")
    for second, (pose, boxes) in enumerate(looks):
        store.take(frame(NOON + day * DAY + second * SECOND, pose, boxes, 2.0 if boxes else 4.0), labels)


def outcomes(store: MemoryStore, number: int) -> list[str]:
    return [one.outcome for one in store.history(number)]


def kettle_in(state: str, colour: str = "red", room: str = "kitchen") -> dict[int, Label]:
    attributes = {"colour": colour, "state": state, "support": "counter", "relation": "on"}
    return {**LABELS, 1: LABELS[1]._replace(room=room, attributes=attributes)}


def test_one_thing_that_alternates_between_two_places_stands_in_one(store: MemoryStore) -> None:
    for day in range(6):
        there = ((HERE, KETTLE), (THERE, {})) if day % 2 else ((HERE, {}), (THERE, KETTLE))
        patrol(store, day, *there)
        assert [o.gone_ns > 0 for o in store.objects()].count(False) == 1
    first, second = store.objects()
    assert outcomes(store, first.id) == [SEEN, EMPTY] * 3
    assert outcomes(store, second.id) == [NOT_LOOKED, SEEN, EMPTY, SEEN, EMPTY, SEEN]


def test_a_patrol_that_did_not_look_says_nothing(store: MemoryStore) -> None:
    patrol(store, 0, (HERE, KETTLE))
    patrol(store, 1, (THERE, {4: (0, 10, 60, 40)}))
    patrol(store, 2, (HERE, {}))
    kettle = next(o for o in store.objects() if o.kind == "kettle")
    seen, unknown, empty = store.history(kettle.id)
    assert (seen.outcome, unknown.outcome, empty.outcome) == (SEEN, NOT_LOOKED, EMPTY)
    assert seen.now is not None and (seen.now.room, seen.now.relation, seen.now.support, seen.now.state) == (
        "kitchen", "on", "counter", "on")
    assert unknown.now is None and empty.empty_ns == NOON + 2 * DAY == kettle.gone_ns
    assert seen.now.low == pytest.approx(kettle.low) and seen.now.high == pytest.approx(kettle.high)


def test_looks_of_which_no_view_is_stored_are_facts_too(store: MemoryStore) -> None:
    patrol(store, 0, *[(HERE, KETTLE)] * 10)
    assert len(store) == 1
    one, = store.history(store.objects()[0].id)
    assert one.now is not None
    assert (one.now.looks, one.now.last_ns - one.now.first_ns) == (10, 9 * SECOND)
    store.close()
    with closing(MemoryStore(store.path)) as again:
        assert again.history(1) == [one]


@pytest.mark.parametrize(("states", "counts"), [("off on on", "on"), ("on on off", "off"), ("on off on on", "on"),
                                                ("on on on off on", "on")])
def test_the_state_of_a_patrol_is_the_newest_or_the_usual_one_of_a_detector_that_wavers(
        store: MemoryStore, states: str, counts: str) -> None:
    for second, state in enumerate(states.split()):
        store.take(frame(NOON + second * SECOND, boxes=KETTLE), kettle_in(state))
    one, = store.history(store.objects()[0].id)
    assert one.now is not None and one.now.state == counts
    assert sum(spell.looks for spell in one.spells) == len(states.split())


def test_another_colour_is_another_thing(store: MemoryStore) -> None:
    patrol(store, 0, (HERE, KETTLE), labels=kettle_in("on", "green"))
    patrol(store, 1, *[(HERE, KETTLE)] * 2, labels=kettle_in("on", "pink"))
    green, pink = store.objects()
    assert (green.attributes["colour"], pink.attributes["colour"]) == ("green", "pink")
    assert green.gone_ns and not pink.gone_ns  # another one stands in its place
    patrol(store, 2, *[(HERE, KETTLE)] * 2, labels=kettle_in("on", "green"))
    green, pink = store.objects()
    assert pink.gone_ns and not green.gone_ns


def test_a_colour_about_which_a_detector_wavers_splits_nothing(store: MemoryStore) -> None:
    for day in range(3):
        store.reset(f"day {day}", keep=True, map_name="home")
        for second, colour in enumerate(("gray", "silver", "gray", "gray")):
            store.take(frame(NOON + day * DAY + second * SECOND, boxes=KETTLE), kettle_in("on", colour))
    assert len(store.objects()) == 1


def test_a_patrol_that_begins_with_a_wrong_colour_splits_nothing(store: MemoryStore) -> None:
    patrol(store, 0, *[(HERE, KETTLE)] * 10, labels=kettle_in("on", "gray"))
    patrol(store, 1, (HERE, KETTLE), labels=kettle_in("on", "silver"))
    store.take(frame(NOON + DAY + 5 * SECOND, boxes=KETTLE), kettle_in("on", "gray"))
    kettle, = store.objects()
    assert kettle.times == 12 and not kettle.gone_ns
    assert [one.now.looks for one in store.history(kettle.id) if one.now is not None] == [10, 2]


def test_people_are_counted_for_each_room(store: MemoryStore) -> None:
    labels = {**LABELS, 8: PERSON, 9: PERSON._replace(instance=9)}
    patrol(store, 0, (HERE, {**KETTLE, 8: (2, 5, 18, 45)}), (HERE, {**KETTLE, 8: (2, 5, 18, 45), 9: (40, 5, 60, 45)}),
           labels=labels)
    patrol(store, 1, (THERE, {4: (0, 10, 60, 40)}))
    patrol(store, 2, (HERE, KETTLE))
    full, unknown, without = store.room_history("Kitchen")
    assert not isinstance(full, PatrolSpan) and (full.looks, full.people) == (2, 2)
    assert isinstance(unknown, PatrolSpan)
    assert not isinstance(without, PatrolSpan) and without.people == 0


def test_a_hidden_kind_never_enters_the_ledger(tmp_path: Path) -> None:
    hidden = MemoryConfig(privacy=PrivacyConfig(kinds=("kettle", "person")))
    with closing(MemoryStore(tmp_path / "memory.db", hidden)) as store:
        patrol(store, 0, (HERE, {**KETTLE, 8: (2, 5, 18, 45), 2: (0, 30, 60, 46)}), labels={**LABELS, 8: PERSON})
        assert [o.kind for o in store.objects()] == ["counter"]
        looked, = store.room_history("kitchen")
        assert not isinstance(looked, PatrolSpan) and looked.people == 0


def test_a_patrol_ends_with_a_pause_or_after_hours() -> None:
    first = patrol_at(None, NOON)
    assert first == PatrolSpan(0, NOON, NOON)
    running = PatrolSpan(3, NOON, NOON + SECOND)
    assert patrol_at(running, NOON + PAUSE_NS) == PatrolSpan(3, NOON, NOON + PAUSE_NS)
    for stamp in (NOON + 2 * SECOND + PAUSE_NS, NOON - 1):  # a pause, and a clock that was set back
        assert patrol_at(running, stamp) == PatrolSpan(0, stamp, stamp)
    busy = PatrolSpan(3, NOON, NOON + LONGEST_NS)
    assert patrol_at(busy, NOON + LONGEST_NS + 1).number == 0


def test_questions_asked_one_after_the_other_are_one_patrol(store: MemoryStore) -> None:
    for minute in range(3):
        store.reset(f"question {minute}", keep=True, map_name="home")
        store.take(frame(NOON + minute * 60 * SECOND, boxes=KETTLE), LABELS)
    assert len(store.history(store.objects()[0].id)) == 1


FORGOTTEN = {"region": ForgetSelection(region="kitchen"), "kind": ForgetSelection(kind="kettles"),
             "time": ForgetSelection(after_ns=NOON - 1, before_ns=NOON + 3 * DAY),
             "place": ForgetSelection(near=(0.0, 0.0, 5.0)), "everything": ForgetSelection(everything=True)}


@pytest.mark.parametrize("selection", FORGOTTEN.values(), ids=FORGOTTEN)
def test_facts_are_forgotten_with_the_views(store: MemoryStore, selection: ForgetSelection) -> None:
    secret = {1: LABELS[1]._replace(kind="kettle", attributes={"state": "xylophonic", "support": "mauvine"})}
    for day in range(3):
        patrol(store, day, (HERE, KETTLE), (HERE, {}), labels=secret)
    store.forget(selection)
    assert store._db.execute("SELECT * FROM looks").fetchall() == []
    files = b"".join(p.read_bytes() for p in store.path.parent.glob(store.path.name + "*"))
    assert b"xylophonic" not in files and b"mauvine" not in files


def test_a_day_is_forgotten_and_the_others_stay(store: MemoryStore) -> None:
    for day in range(3):
        patrol(store, day, (HERE, KETTLE))
    store.forget(ForgetSelection(after_ns=NOON + DAY, before_ns=NOON + DAY + 60 * SECOND))
    kettle, = store.objects()
    assert [one.patrol.first_ns for one in store.history(kettle.id)] == [NOON, NOON + 2 * DAY]


def test_where_and_how_a_thing_was_at_a_forgotten_time_is_in_no_file(store: MemoryStore) -> None:
    then = {1: LABELS[1]._replace(room="study", attributes={"state": "xylophonic", "support": "mauvine"})}
    patrol(store, 0, (HERE, KETTLE))
    patrol(store, 1, (HERE, KETTLE), labels=then)
    assert store.objects()[0].attributes["state"] == "xylophonic"
    store.forget(ForgetSelection(after_ns=NOON + DAY, before_ns=NOON + DAY + 60 * SECOND))
    kettle, = store.objects()
    assert kettle.room == "kitchen" and kettle.last_ns == store.history(kettle.id)[-1].patrol.last_ns < NOON + DAY
    files = b"".join(p.read_bytes() for p in store.path.parent.glob(store.path.name + "*"))
    assert b"xylophonic" not in files and b"mauvine" not in files


def test_a_look_without_a_view_outlives_a_forgotten_time(store: MemoryStore) -> None:
    for day in range(2):
        patrol(store, day, (HERE, KETTLE))
    with store._db.transaction():
        store._db.execute("DELETE FROM seen WHERE keyframe > 1")
    store.forget(ForgetSelection(after_ns=NOON, before_ns=NOON + 60 * SECOND))
    kettle, = store.objects()
    assert NOON + DAY <= kettle.first_ns <= kettle.last_ns


def test_forgetting_people_keeps_the_looks_at_their_room(store: MemoryStore) -> None:
    patrol(store, 0, (HERE, {**KETTLE, 8: (2, 5, 18, 45)}), labels={**LABELS, 8: PERSON})
    store.forget(ForgetSelection(kind="person"))
    assert [getattr(looked, "people", None) for looked in store.room_history("kitchen")] == [0]


def test_a_budget_takes_pictures_and_keeps_facts(tmp_path: Path) -> None:
    quick = KeyframeConfig(min_move_m=0.2, min_turn_deg=5.0)
    rng = np.random.default_rng(0)
    with closing(MemoryStore(tmp_path / "memory.db", MemoryConfig(keyframes=quick, budget_mb=0.35))) as store:
        patrol(store, 0, (Pose2(-9.0, 0.0, 0.0), KETTLE))
        store.reset("later", keep=True, map_name="home")
        for i in range(200):
            f = frame(NOON + DAY + i * SECOND, Pose2(0.25 * i, 0.0, math.radians(20 * i)), {6: (10, 10, 40, 40)})
            f.rgb[:] = rng.integers(0, 255, (48, 64, 3)).astype(np.uint8)
            store.take(f, LABELS)
        assert store._db.used_bytes() <= 0.37e6
        kettle = next(o for o in store.objects() if o.kind == "kettle")
        assert store.history(kettle.id)[0].outcome == SEEN


def test_a_backup_holds_the_facts(store: MemoryStore, tmp_path: Path) -> None:
    patrol(store, 0, (HERE, KETTLE))
    patrol(store, 1, (HERE, {}))
    back_up(store.path, tmp_path / "copy.sqlite")
    restore(tmp_path / "copy.sqlite", tmp_path / "new.sqlite")
    with closing(MemoryStore(tmp_path / "new.sqlite", write=False)) as restored:
        assert restored.history(1) == store.history(1)
        assert outcomes(restored, 1) == [SEEN, EMPTY]


def test_places_move_with_their_map(store: MemoryStore) -> None:
    patrol(store, 0, (HERE, KETTLE))
    store.reset("second", keep=True)
    store.take(frame(NOON + DAY, boxes={4: (0, 10, 60, 40)}), LABELS)
    store.align("second", "home", Transform((0.0, 5.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
    store.reset("third", keep=True, map_name="home")
    for o in store.objects():
        spell = next(one.now for one in store.history(o.id) if one.now is not None)
        assert spell.low == pytest.approx(o.low, abs=1e-5)


def test_what_was_misnamed_on_one_patrol_stands_there_no_longer(store: MemoryStore) -> None:
    patrol(store, 0, (HERE, KETTLE), labels={1: LABELS[1]._replace(kind="lawn mower")})
    store.take(frame(NOON + SECOND, Pose2(0.0, 0.625, 0.0), {1: (30, 16, 42, 30)}), LABELS)
    patrol(store, 1, *[(HERE, KETTLE)] * 3)
    assert {o.kind: o.gone_ns > 0 for o in store.objects()} == {"kettle": False, "lawn mower": True}


@pytest.mark.parametrize("depth", [0.8, 0.0])  # something stands before it, and no return
def test_what_was_seen_once_and_is_hidden_now_is_not_gone(store: MemoryStore, depth: float) -> None:
    patrol(store, 0, (HERE, KETTLE))
    store.reset("day 1", keep=True, map_name="home")
    for second in range(5):
        store.take(frame(NOON + DAY + second * SECOND, boxes={}, depth=depth), LABELS)
    assert [o.gone_ns for o in store.objects()] == [0]
    assert outcomes(store, store.objects()[0].id) == [SEEN, NOT_LOOKED]
