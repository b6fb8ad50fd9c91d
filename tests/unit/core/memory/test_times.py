"""Times in words, and words for times."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.memory.times import about_time, time_in_recording, time_phrase, window_of

SECOND = 10**9


def _ns(*when: int) -> int:
    return round(datetime(*when).timestamp()) * SECOND  # type: ignore[arg-type]


NOW = _ns(2026, 11, 18, 15, 30)  # a Wednesday


@pytest.mark.parametrize(("text", "begin", "end", "rest"), [
    ("What was on the table yesterday evening?", (2026, 11, 17, 17), (2026, 11, 17, 23), "What was on the table ?"),
    ("yesterday", (2026, 11, 17), (2026, 11, 18), ""),
    ("the day before yesterday in the morning", (2026, 11, 16), (2026, 11, 17), "in the morning"),
    ("this morning", (2026, 11, 18, 5), (2026, 11, 18, 12), ""),
    ("last night", (2026, 11, 17, 21), (2026, 11, 18, 6), ""),
    ("tonight", (2026, 11, 18, 21), (2026, 11, 19, 6), ""),
    ("keys on Monday afternoon", (2026, 11, 16, 12), (2026, 11, 16, 18), "keys"),
    ("last Wednesday", (2026, 11, 11), (2026, 11, 12), ""),
    ("two hours ago", (2026, 11, 18, 13), (2026, 11, 18, 14), ""),
    ("in the last 3 days", (2026, 11, 15, 15, 30), (2026, 11, 18, 15, 30), ""),
    ("within the past hour", (2026, 11, 18, 14, 30), (2026, 11, 18, 15, 30), ""),
    ("since yesterday", (2026, 11, 17), (2026, 11, 18, 15, 30), ""),
    ("since Monday morning", (2026, 11, 16, 5), (2026, 11, 18, 15, 30), ""),
    ("since 9:00", (2026, 11, 18, 9), (2026, 11, 18, 15, 30), ""),
    ("around 10 am", (2026, 11, 18, 9, 30), (2026, 11, 18, 10, 30), ""),
    ("at 6pm", (2026, 11, 17, 17, 30), (2026, 11, 17, 18, 30), ""),
    ("before 8:15", (2026, 11, 18), (2026, 11, 18, 8, 15), ""),
    ("last week", (2026, 11, 9), (2026, 11, 16), ""),
])
def test_a_time_in_words(text: str, begin: tuple[int, ...], end: tuple[int, ...], rest: str) -> None:
    window, left = window_of(text, NOW)
    assert window is not None
    assert window.after_ns == _ns(*begin)
    assert abs(window.before_ns - _ns(*end)) <= 1
    assert left == rest
    assert window.phrase and window.phrase in text.lower()


@pytest.mark.parametrize("text", ["Is the lamp on?", "What is at the door?", "How many days has May?", "a last supper",
                                  "at 25:00", ""])
def test_no_time(text: str) -> None:
    assert window_of(text, NOW) == (None, text)


def test_the_last_time_is_the_newest() -> None:
    window, rest = window_of("Where was the mug the last time?", NOW)
    assert window is not None and window.last
    assert rest == "Where was the mug ?"


def test_a_simulators_clock_knows_durations_only() -> None:
    assert window_of("yesterday", 90 * SECOND)[0] is None
    window, _ = window_of("30 seconds ago", 90 * SECOND)
    assert window is not None and window.after_ns < 60 * SECOND < window.before_ns


@given(st.text(max_size=40), st.integers(0, 4 * 10**18))
def test_any_text_is_read(text: str, now_ns: int) -> None:
    window, rest = window_of(text, now_ns)
    assert window is None or window.after_ns >= 0
    assert len(rest) <= len(text)


def test_times_are_told_as_people_tell_them() -> None:
    assert time_phrase(_ns(2026, 11, 18, 9, 5), NOW) == "today at 09:05"
    assert time_phrase(_ns(2026, 11, 17, 18, 32), NOW) == "yesterday at 18:32"
    assert time_phrase(_ns(2026, 11, 2, 8, 0), NOW) == "on Monday 2 November 2026 at 08:00"
    assert time_phrase(12_500_000_000, 60 * SECOND) == "12.5 s after the start, 48 s ago"


@pytest.mark.parametrize(("text", "told"), [
    ("When was the lamp on?", True), ("Has anything changed?", True), ("Is the cup still there?", True),
    ("What was on the table two hours ago?", True), ("How long was the robot in the kitchen?", True),
    ("What color is the sofa?", False), ("What is beside the bed?", False), ("What time does the clock show?", False)])
def test_questions_about_time_or_change(text: str, told: bool) -> None:
    assert about_time(text, NOW) is told


def test_a_moment_of_a_recording() -> None:
    assert time_in_recording(4 * SECOND, SECOND, 61 * SECOND) == "3.0 s after the start of 60.0 s"
    assert time_in_recording(NOW, NOW - SECOND, NOW) == "1.0 s after the start of 1.0 s, on 2026-11-18 at 15:30:00"
