"""The pictures of a life show what its script says, and are the same each time."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest

from eqa_nodes.recordings.episode_history import RecordedFrame
from eqa_nodes.tours.weeks import (
    MEASURED_ERRORS,
    LookErrors,
    WeeksHistory,
    patrol_end,
    weeks_history,
    weeks_name,
)
from sim_bridge.house.life import ABSENT
from sim_bridge.house.life_places import CLEAR_PIXELS, HIDDEN_PIXELS

SEED, DAYS = 1206, 3


@pytest.fixture(scope="module")
def history() -> WeeksHistory:
    return WeeksHistory(SEED, DAYS)


@pytest.fixture(scope="module")
def recorded(history: WeeksHistory) -> list[RecordedFrame]:
    return list(history.recorded())


def ids(recorded: RecordedFrame) -> np.ndarray:
    assert recorded.frame.labels is not None
    return recorded.frame.labels


def pixels_of(frames: list[RecordedFrame], number: int) -> int:
    return max((int(np.count_nonzero(ids(r) == number)) for r in frames), default=0)


def test_what_a_patrol_sees_is_what_the_script_says(history: WeeksHistory, recorded: list[RecordedFrame]) -> None:
    life = history.life
    for patrol in life.patrols:
        begin, end = patrol.first.timestamp(), patrol_end(life, patrol.number).timestamp()
        frames = [r for r in recorded if begin <= r.frame.stamp_ns / 1e9 <= end]
        assert frames
        for o in life.objects:
            for k, form in enumerate(o.forms):
                rooms, seen = set(patrol.rooms), pixels_of(frames, form.id)
                if k != o.course[patrol.number]:
                    assert seen == 0, (o.name, patrol)
                elif rooms & o.seen[k].clear:
                    assert seen >= CLEAR_PIXELS, (o.name, patrol)
                elif not rooms & o.seen[k].faint:
                    assert seen <= HIDDEN_PIXELS, (o.name, patrol)


def test_some_object_is_absent_and_some_is_there(history: WeeksHistory) -> None:
    forms = {form for o in history.life.objects for form in o.course}
    assert ABSENT in forms and {0, 1} <= forms


def test_frames_are_numbered_timed_and_counted(history: WeeksHistory, recorded: list[RecordedFrame]) -> None:
    stamps = [r.frame.stamp_ns for r in recorded]
    assert len(recorded) == len(history) and [r.index for r in recorded] == list(range(len(history)))
    assert all(a < b for a, b in pairwise(stamps))
    last = patrol_end(history.life, len(history.life.patrols) - 1)
    assert datetime.fromtimestamp(stamps[-1] / 1e9) == last


def test_the_same_life_has_the_same_pictures(recorded: list[RecordedFrame]) -> None:
    for one, other in zip(recorded, WeeksHistory(SEED, DAYS).recorded(), strict=True):
        assert np.array_equal(one.frame.rgb, other.frame.rgb)
        assert np.array_equal(ids(one), ids(other))
        assert np.array_equal(one.frame.depth_m, other.frame.depth_m)


def test_errors_lose_and_misname_about_their_shares(history: WeeksHistory, recorded: list[RecordedFrame]) -> None:
    looks = lost = misnamed = 0
    for one, other in zip(recorded, WeeksHistory(SEED, DAYS, MEASURED_ERRORS).recorded(), strict=True):
        for number in set(np.unique(ids(one)).tolist()) & set(history.labels):
            named = np.unique(ids(other)[ids(one) == number])
            looks, lost, misnamed = looks + 1, lost + (named == 0).all(), misnamed + (named not in (0, number))
    assert 0.05 < lost / looks < 0.15 and 0.02 < misnamed / looks < 0.08


def test_a_history_is_found_by_its_name() -> None:
    assert weeks_history("house-v0/house-3") is None
    for noisy in (False, True):
        found = weeks_history(weeks_name(7, 4, noisy))
        assert found is not None and (found.seed, found.days, found.errors) == (
            7, 4, MEASURED_ERRORS if noisy else LookErrors())
    assert WeeksHistory(7).identity != WeeksHistory(7, errors=MEASURED_ERRORS).identity
