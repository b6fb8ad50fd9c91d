"""Words for times."""

from __future__ import annotations

from datetime import datetime

import pytest

from eqa_nodes.core.memory.times import about_time, span_phrase, time_in_recording, time_phrase
from eqa_nodes.core.memory.windows import FOR_EVER

SECOND = 10**9


def _ns(*when: int) -> int:
    return round(datetime(*when).timestamp()) * SECOND  # type: ignore[arg-type]


NOW = _ns(2026, 11, 18, 15, 30)  # a Wednesday


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
