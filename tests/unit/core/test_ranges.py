"""Dates as settings: what is a date and time, and what is refused with a remedy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.memory.times import WALL_NS
from eqa_nodes.core.ranges import date_ns


@pytest.fixture(autouse=True)
def paris(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Paris")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def stamp(*utc: int) -> int:
    return round(datetime(*utc, tzinfo=timezone.utc).timestamp()) * 10**9  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(("text", "ns"), [
    ("2026-11-12T08:30", stamp(2026, 11, 12, 7, 30)), ("2026-07-12 08:30:01", stamp(2026, 7, 12, 6, 30, 1)),
    ("2026-11-12T08:30+05:30", stamp(2026, 11, 12, 3, 0)), ("2026-11-12T08:30Z", stamp(2026, 11, 12, 8, 30)),
    ("2026-11-12", stamp(2026, 11, 11, 23, 0)), ("2026-10-25T02:30", stamp(2026, 10, 25, 0, 30))])
def test_a_date_is_local_unless_it_names_a_zone(text: str, ns: int) -> None:
    assert date_ns(text, "--start") == ns > WALL_NS


@pytest.mark.parametrize(("text", "why"), [
    ("2026-02-31T08:00", "no date and time of the calendar: write it as 2026-11-12T08:30"),
    ("tomorrow", "no date and time"), ("", "no date and time"), ("Z", "no date and time"),
    ("2001-12-31T08:00", "choose a year from 2002 to 2037"), ("2038-01-01", "choose a year from 2002 to 2037"),
    ("2026-03-29T02:30", "local clocks skip when summer time begins")])
def test_other_texts_are_refused_with_a_remedy(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=f"--start is '{text}'.*{why}"):
        date_ns(text, "--start")
