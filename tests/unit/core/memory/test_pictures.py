"""Which views of a known place are stored again: those in which something differs, and one of each object a day."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.memory.keyframes import KeyframeConfig, jpeg_of
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Label
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
NOON = 1_794_830_400 * SECOND  # a stamp of 2026
HOUR, DAY = 3600 * SECOND, 86_400 * SECOND
LAMP, DESK = {3: (24, 10, 40, 30)}, {4: (0, 32, 62, 46)}
LIT = {**LABELS, 3: LABELS[3]._replace(attributes={**LABELS[3].attributes, "state": "on"})}
LEFT, LAMP_FROM_LEFT, DESK_FROM_LEFT = Pose2(0.0, 0.625, 0.0), {3: (34, 10, 50, 30)}, {4: (10, 32, 64, 46)}


def see(store: MemoryStore, at_ns: int, boxes: dict[int, tuple[int, int, int, int]], pose: Pose2 = Pose2(0, 0, 0),
        labels: dict[int, Label] = LABELS, depth: float = 2.0) -> bool:
    """Return whether a store keeps a view."""
    return store.take(frame(NOON + at_ns, pose, boxes, depth), labels) is not None


def test_two_views_of_the_same_objects_are_stored_once_a_day(store: MemoryStore) -> None:
    assert see(store, 0, {**LAMP, **DESK})
    assert see(store, SECOND, {**LAMP_FROM_LEFT, **DESK_FROM_LEFT}, LEFT)
    assert see(store, DAY, {**LAMP, **DESK})
    assert not see(store, DAY + SECOND, {**LAMP_FROM_LEFT, **DESK_FROM_LEFT}, LEFT)
    assert [o.times for o in store.objects()] == [4, 4]


@pytest.mark.parametrize("hours", [1, 3])
def test_what_was_moved_an_hour_ago_has_a_picture(store: MemoryStore, hours: int) -> None:
    """Its instance was known before, so that the view has no new content."""
    see(store, 0, {**LAMP, **DESK})
    see(store, SECOND, DESK, Pose2(9.0, 0.0, 0.0))
    assert see(store, hours * HOUR, {3: (2, 10, 16, 30), **DESK}, Pose2(9.0, 0.0, 0.0))
    assert [o.kind for o in store.objects()].count("table lamp") == 2


def test_each_change_of_state_has_a_picture_and_the_state_that_stays_has_no_more(store: MemoryStore) -> None:
    see(store, 0, LAMP)
    assert see(store, HOUR, LAMP, labels=LIT)
    assert not see(store, 2 * HOUR, LAMP, labels=LIT)
    assert see(store, 3 * HOUR, LAMP)  # off, as in the first view
    assert not see(store, 3 * HOUR + 2 * SECOND, LAMP)


def test_a_better_picture_of_a_change_follows_a_poor_one(store: MemoryStore) -> None:
    see(store, 0, LAMP)
    see(store, SECOND, LAMP_FROM_LEFT, LEFT)
    part = {3: (24, 10, 28, 30)}
    assert see(store, HOUR, part, labels=LIT)
    assert not see(store, HOUR + 2 * SECOND, part, labels=LIT)
    assert see(store, HOUR + 4 * SECOND, LAMP_FROM_LEFT, LEFT, labels=LIT)


def test_what_has_come_back_has_a_picture(store: MemoryStore) -> None:
    see(store, 0, LAMP)
    assert see(store, HOUR, {}, depth=4.0)  # the proof that it is gone
    assert see(store, 2 * HOUR, LAMP)


def test_a_short_refresh_counts_within_a_patrol_too(tmp_path: Path) -> None:
    with closing(MemoryStore(tmp_path / "memory.db", MemoryConfig(keyframes=KeyframeConfig(refresh_s=5.0)))) as store:
        assert see(store, 0, LAMP)
        assert not see(store, 3 * SECOND, LAMP)
        assert see(store, 9 * SECOND, LAMP)


def test_a_view_without_labels_is_stored_again_after_hours(store: MemoryStore) -> None:
    for hours, stored in ((0, True), (1, False), (5, True)):
        assert (store.take(frame(NOON + hours * HOUR), {}) is not None) is stored


def test_a_view_that_an_earlier_patrol_has_stored_is_stored_smaller(store: MemoryStore) -> None:
    """The first picture of a place has the best quality, also on a later patrol."""
    best, again = KeyframeConfig().jpeg_quality, KeyframeConfig().again_quality
    for at_ns, x, quality in ((0, 0, best), (DAY, 0, again), (DAY + SECOND, 9, best)):
        seen = frame(NOON + at_ns, Pose2(x, 0, 0), LAMP)
        kept = store.take(seen, LABELS)
        assert kept is not None and kept.jpeg == jpeg_of(seen, quality)
