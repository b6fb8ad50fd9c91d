"""Times in words: what span is meant, in the local time of several places, and how times are written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.memory.times import (
    FOR_EVER,
    about_time,
    span_phrase,
    time_in_recording,
    time_phrase,
    times_in,
)

SECOND, HOUR = 10**9, 3600 * 10**9


def _ns(*when: int) -> int:
    return round(datetime(*when).timestamp()) * SECOND  # type: ignore[arg-type]


def _utc(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()) * SECOND


NOW = _ns(2026, 11, 18, 15, 30)  # a Wednesday


@pytest.mark.parametrize(("text", "begin", "end", "rest"), [
    ("What was on the table yesterday evening?", (2026, 11, 17, 17), (2026, 11, 17, 23), "What was on the table ?"),
    ("yesterday", (2026, 11, 17), (2026, 11, 18), ""),
    ("the day before yesterday in the morning", (2026, 11, 16, 5), (2026, 11, 16, 12), ""),
    ("this morning", (2026, 11, 18, 5), (2026, 11, 18, 12), ""),
    ("last night", (2026, 11, 17, 21), (2026, 11, 18, 6), ""),
    ("keys on Monday afternoon", (2026, 11, 16, 12), (2026, 11, 16, 18), "keys"),
    ("last Wednesday", (2026, 11, 11), (2026, 11, 12), ""),
    ("two hours ago", (2026, 11, 18, 13), (2026, 11, 18, 14), ""),
    ("in the last 3 days", (2026, 11, 15, 15, 30), (2026, 11, 18, 15, 30), ""),
    ("within the past hour", (2026, 11, 18, 14, 30), (2026, 11, 18, 15, 30), ""),
    ("the last two hours", (2026, 11, 18, 13, 30), (2026, 11, 18, 15, 30), ""),
    ("since yesterday", (2026, 11, 17), (2026, 11, 18, 15, 30), ""),
    ("since Monday morning", (2026, 11, 16, 5), (2026, 11, 18, 15, 30), ""),
    ("since 9:00", (2026, 11, 18, 9), (2026, 11, 18, 15, 30), ""),
    ("around 10 am", (2026, 11, 18, 9, 30), (2026, 11, 18, 10, 30), ""),
    ("at 6pm", (2026, 11, 17, 17, 30), (2026, 11, 17, 18, 30), ""),
    ("before 8:15", (2026, 11, 18), (2026, 11, 18, 8, 15), ""),
    ("last week", (2026, 11, 9), (2026, 11, 16), ""),
    # moments
    ("at 2 p.m.", (2026, 11, 18, 13, 30), (2026, 11, 18, 14, 30), ""),
    ("12 am", (2026, 11, 17, 23, 30), (2026, 11, 18, 0, 30), ""),
    ("at 12 p.m.", (2026, 11, 18, 11, 30), (2026, 11, 18, 12, 30), ""),
    ("yesterday at 3 pm", (2026, 11, 17, 14, 30), (2026, 11, 17, 15, 30), ""),
    ("keys at 3 pm yesterday", (2026, 11, 17, 14, 30), (2026, 11, 17, 15, 30), "keys"),
    ("at noon", (2026, 11, 18, 11, 30), (2026, 11, 18, 12, 30), ""),
    ("at midnight", (2026, 11, 17, 23, 30), (2026, 11, 18, 0, 30), ""),
    ("on Sunday at noon", (2026, 11, 15, 11, 30), (2026, 11, 15, 12, 30), ""),
    ("on 26 March", (2026, 3, 26), (2026, 3, 27), ""),
    ("on 26 December", (2025, 12, 26), (2025, 12, 27), ""),  # this year's lies ahead
    ("on the 3rd of November at 14:30", (2026, 11, 3, 14), (2026, 11, 3, 15), ""),
    ("Nov. 3, 2024", (2024, 11, 3), (2024, 11, 4), ""),
    ("2026-11-03T15:00", (2026, 11, 3, 14, 30), (2026, 11, 3, 15, 30), ""),
    ("3.11.2026", (2026, 11, 3), (2026, 11, 4), ""),
    ("29 February", (2024, 2, 29), (2024, 3, 1), ""),
    ("this morning at 8", (2026, 11, 18, 7, 30), (2026, 11, 18, 8, 30), ""),
    ("on Monday at 9 in the evening", (2026, 11, 16, 20, 30), (2026, 11, 16, 21, 30), ""),
    ("last night at 2 am", (2026, 11, 18, 1, 30), (2026, 11, 18, 2, 30), ""),
    ("two days ago at 5 pm", (2026, 11, 16, 16, 30), (2026, 11, 16, 17, 30), ""),
    # spans
    ("between 12 and 1 pm", (2026, 11, 18, 12), (2026, 11, 18, 13), ""),
    ("between 11 and 1 pm", (2026, 11, 18, 11), (2026, 11, 18, 13), ""),
    ("yesterday between 9 and 10:30", (2026, 11, 17, 9), (2026, 11, 17, 10, 30), ""),
    ("between 6 pm and 2 am", (2026, 11, 17, 18), (2026, 11, 18, 2), ""),
    ("between 10 and 20 minutes ago", (2026, 11, 18, 15, 10), (2026, 11, 18, 15, 20), ""),
    ("between Monday and Tuesday", (2026, 11, 16), (2026, 11, 18), ""),
    ("between Monday and Wednesday", (2026, 11, 9), (2026, 11, 12), ""),  # said on a Wednesday: of last week
    ("from Friday to Monday", (2026, 11, 13), (2026, 11, 17), ""),
    ("between 16 and 17 November", (2026, 11, 16), (2026, 11, 18), ""),
    ("between 2024-11-01 and 2024-11-05", (2024, 11, 1), (2024, 11, 6), ""),
    ("a few hours ago", (2026, 11, 18, 10, 30), (2026, 11, 18, 13, 30), ""),
    ("an hour and a half ago", (2026, 11, 18, 13, 30), (2026, 11, 18, 14, 30), ""),
    ("two hours and ten minutes ago", (2026, 11, 18, 13, 19, 30), (2026, 11, 18, 13, 20, 30), ""),
    ("three days ago", (2026, 11, 15), (2026, 11, 16), ""),
    ("a week ago", (2026, 11, 10), (2026, 11, 13), ""),
    ("since 18 November", (2026, 11, 18), (2026, 11, 18, 15, 30), ""),
    ("since yesterday at 3 pm", (2026, 11, 17, 15), (2026, 11, 18, 15, 30), ""),
    ("after Monday", (2026, 11, 17), (2026, 11, 18, 15, 30), ""),
    ("last weekend", (2026, 11, 14), (2026, 11, 16), ""),
    ("keys at the weekend", (2026, 11, 14), (2026, 11, 16), "keys"),
    ("in October", (2026, 10, 1), (2026, 11, 1), ""),
    ("in December", (2025, 12, 1), (2026, 1, 1), ""),
    ("in 2024", (2024, 1, 1), (2025, 1, 1), ""),
    ("this month", (2026, 11, 1), (2026, 12, 1), ""),
    ("last year", (2025, 1, 1), (2026, 1, 1), ""),
    ("on the evening of 3 May", (2026, 5, 3, 17), (2026, 5, 3, 23), ""),
    ("before yesterday", (1970, 1, 1), (2026, 11, 17), ""),
    ("older than 2 weeks", (1970, 1, 1), (2026, 11, 4, 15, 30), ""),
])
def test_a_time_in_words(text: str, begin: tuple[int, ...], end: tuple[int, ...], rest: str) -> None:
    window, _, left, fault = times_in(text, NOW)
    assert window is not None
    assert window.after_ns == max(0, _ns(*begin)) or (begin[0] == 1970 and window.after_ns == 0)
    assert abs(window.before_ns - _ns(*end)) <= 1
    assert left == rest
    assert window.phrase and window.phrase in text
    assert not fault


@pytest.mark.parametrize("text", ["Is the lamp on?", "What is at the door?", "How many days has May?", "a last supper",
                                  "in the second room", "between the bed and the table", "cups around 2 tables", ""])
def test_no_time(text: str) -> None:
    assert times_in(text, NOW) == (None, None, text, "")


def test_the_last_time_is_the_newest() -> None:
    window, _, rest, _ = times_in("Where was the mug the last time?", NOW)
    assert window is not None and window.last
    assert rest == "Where was the mug ?"


def test_a_simulators_clock_knows_durations_only() -> None:
    assert times_in("yesterday", 90 * SECOND).window is None
    assert times_in("yesterday", 90 * SECOND).fault.startswith("'yesterday' is not understood here, because a")
    window, *_ = times_in("30 seconds ago", 90 * SECOND)
    assert window is not None and window.after_ns < 60 * SECOND < window.before_ns


WORDS = [
    "0", "1", "3", "12", "31", "99999999999", ":", ".", "-", "am", "pm", "half", "a", "few", "and", "the", "last",
    "past", "this", "since", "before", "between", "at", "on", "ago", "days", "hour", "year", "noon", "may",
    "february", "monday", "week", "weekend", "2026-02-30", "3.13.2026", "older", "than"]


@given(st.text(max_size=40) | st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
    st.integers(0, 4 * 10**18))
def test_any_text_is_read(text: str, now_ns: int) -> None:
    window, _, rest, fault = times_in(text, now_ns)
    assert window is None or (window.after_ns >= 0 and window.before_ns > 0)  # 0 would be no bound
    assert len(rest) <= len(text)
    assert window is None or not fault


@pytest.fixture
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process is in a time zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("place", "now", "text", "begin", "hours"), [
    ("Europe/Berlin", "2026-10-26T09:00", "yesterday", "2026-10-24T22:00", 25),
    ("Europe/Berlin", "2026-10-26T09:00", "yesterday at 3 pm", "2026-10-25T13:30", 1),
    ("Europe/Berlin", "2026-10-26T09:00", "yesterday at 2:30 am", "2026-10-25T00:00", 2),  # the clock shows it twice
    ("Europe/Berlin", "2026-10-25T02:00", "two hours ago", "2026-10-24T23:30", 1),
    ("Europe/Berlin", "2026-10-25T12:00", "in the last 24 hours", "2026-10-24T12:00", 24),
    ("Europe/Berlin", "2026-03-30T09:00", "yesterday", "2026-03-28T23:00", 23),
    ("Europe/Berlin", "2026-03-30T09:00", "yesterday morning", "2026-03-29T03:00", 7),
    ("Europe/Berlin", "2026-03-30T09:00", "last weekend", "2026-03-27T23:00", 47),
    ("Europe/Berlin", "2026-10-28T09:00", "on the 25th", "2026-10-24T22:00", 25),
    ("Europe/Berlin", "2026-10-28T09:00", "from Saturday to Sunday", "2026-10-23T22:00", 49),
    ("Europe/Berlin", "2026-10-26T09:00", "on Saturday night", "2026-10-24T19:00", 10),
    ("Europe/Berlin", "2026-10-26T09:00", "between 1 am and 3 am yesterday", "2026-10-24T23:00", 3),
    ("America/New_York", "2026-11-02T15:00", "yesterday", "2026-11-01T04:00", 25),
    ("America/New_York", "2026-11-02T15:00", "on 1 November between 12 and 1 pm", "2026-11-01T17:00", 1),
    ("America/New_York", "2026-03-09T15:00", "yesterday", "2026-03-08T05:00", 23),
    ("America/New_York", "2026-11-02T03:00", "today", "2026-11-01T04:00", 25),  # in London it is the day after
    ("Asia/Kolkata", "2026-11-17T20:00", "today", "2026-11-17T18:30", 24),
    ("Asia/Kolkata", "2026-11-17T20:00", "yesterday at noon", "2026-11-17T06:00", 1),
    ("Asia/Kolkata", "2026-11-17T20:00", "since 16 November", "2026-11-15T18:30", 49.5)], indirect=["place"])
@pytest.mark.usefixtures("place")
def test_days_and_moments_are_those_of_the_place(now: str, text: str, begin: str, hours: float) -> None:
    """begin: in UTC; a day has 23 or 25 hours where the clock is changed."""
    window, *_ = times_in(text, _utc(now))
    assert window is not None
    assert window.after_ns == _utc(begin)
    assert abs(window.before_ns + 1 - window.after_ns - round(hours * HOUR)) <= 1


def test_times_are_told_as_people_tell_them() -> None:
    assert time_phrase(_ns(2026, 11, 18, 9, 5), NOW) == "today at 09:05"
    assert time_phrase(_ns(2026, 11, 17, 18, 32), NOW) == "yesterday at 18:32"
    assert time_phrase(_ns(2026, 11, 2, 8, 0), NOW) == "on Monday 2 November 2026 at 08:00"
    assert time_phrase(12_500_000_000, 60 * SECOND) == "12.5 s after the start, 48 s ago"
    assert span_phrase(NOW, NOW + 60 * SECOND - 1) == "from 2026-11-18 15:30 to 2026-11-18 15:31"
    assert span_phrase(NOW, FOR_EVER) == "from 2026-11-18 15:30 on"
    assert span_phrase(0, NOW - 1) == "up to 2026-11-18 15:30"
    assert span_phrase(SECOND, 2 * SECOND - 1) == "from 1.0 s to 2.0 s"


@pytest.mark.parametrize(("text", "told"), [
    ("When was the lamp on?", True), ("Has anything changed?", True), ("Is the cup still there?", True),
    ("What was on the table two hours ago?", True), ("How long was the robot in the kitchen?", True),
    ("What color is the sofa?", False), ("What is beside the bed?", False), ("What time does the clock show?", False)])
def test_questions_about_time_or_change(text: str, told: bool) -> None:
    assert about_time(text, NOW) is told


def test_a_moment_of_a_recording() -> None:
    assert time_in_recording(4 * SECOND, SECOND, 61 * SECOND) == "3.0 s after the start of 60.0 s"
    assert time_in_recording(NOW, NOW - SECOND, NOW) == "1.0 s after the start of 1.0 s, on 2026-11-18 at 15:30:00"
