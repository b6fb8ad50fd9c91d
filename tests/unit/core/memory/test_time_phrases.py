"""Times as people say them, with their true windows on Friday 20 November 2026 at 15:30 in Berlin."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from eqa_nodes.core.memory.times import times_in

SECOND = 10**9
NOW = "2026-11-20T15:30"

# phrase | first moment | end ("now", or a moment that is not included); "11-18" is midnight of 18 November 2026
WINDOWS = """
today | 11-20 | 11-21
yesterday | 11-19 | 11-20
the day before yesterday | 11-18 | 11-19
on Monday | 11-16 | 11-17
Tuesday | 11-17 | 11-18
on Friday | 11-13 | 11-14
last Monday | 11-16 | 11-17
last Friday | 11-13 | 11-14
this Monday | 11-16 | 11-17
this past Wednesday | 11-18 | 11-19
on Mon | 11-16 | 11-17
all day yesterday | 11-19 | 11-20
three days ago | 11-17 | 11-18
2 days ago | 11-18 | 11-19
a week ago | 11-12 | 11-15
two weeks ago | 11-05 | 11-08
a fortnight ago | 11-05 | 11-08
a month ago | 10-13 | 10-28
a week ago today | 11-13 | 11-14
Monday last week | 11-09 | 11-10
on Tuesday of last week | 11-10 | 11-11
on the Monday before last | 11-09 | 11-10
on 18 November | 11-18 | 11-19
18 November 2026 | 11-18 | 11-19
on the 18th of November | 11-18 | 11-19
November 18 | 11-18 | 11-19
on November 18th, 2025 | 2025-11-18 | 2025-11-19
on Nov 18 | 11-18 | 11-19
on the 3rd of November | 11-03 | 11-04
the 18th | 11-18 | 11-19
on the 25th | 10-25 | 10-26
on the 31st | 10-31 | 11-01
on Wednesday the 18th | 11-18 | 11-19
on Wednesday, 18 November | 11-18 | 11-19
on 18/11 | 11-18 | 11-19
18/11/2026 | 11-18 | 11-19
18.11. | 11-18 | 11-19
18.11.2026 | 11-18 | 11-19
2026-11-18 | 11-18 | 11-19
on 2 January | 01-02 | 01-03
on 29 February | 2024-02-29 | 2024-03-01
on 24 December 2025 | 2025-12-24 | 2025-12-25
yesterday morning | 11-19T05 | 11-19T12
yesterday afternoon | 11-19T12 | 11-19T18
yesterday evening | 11-19T17 | 11-19T23
yesterday in the evening | 11-19T17 | 11-19T23
this morning | 11-20T05 | 11-20T12
in the morning | 11-20T05 | 11-20T12
in the early morning | 11-20T05 | 11-20T12
in the evening | 11-19T17 | 11-19T23
this afternoon | 11-20T12 | 11-20T18
last night | 11-19T21 | 11-20T06
overnight | 11-19T21 | 11-20T06
during the night | 11-19T21 | 11-20T06
yesterday night | 11-19T21 | 11-20T06
on Tuesday evening | 11-17T17 | 11-17T23
Monday night | 11-16T21 | 11-17T06
on Sunday morning | 11-15T05 | 11-15T12
last Sunday afternoon | 11-15T12 | 11-15T18
in the evening of 18 November | 11-18T17 | 11-18T23
on the morning of the 18th | 11-18T05 | 11-18T12
on the evening before last | 11-18T17 | 11-18T23
the night before last | 11-18T21 | 11-19T06
three days ago in the evening | 11-17T17 | 11-17T23
18 November in the morning | 11-18T05 | 11-18T12
at 3 pm | 11-20T14:30 | 11-20T15:30
at 15:00 | 11-20T14:30 | 11-20T15:30
at 6 pm | 11-19T17:30 | 11-19T18:30
yesterday at 3 pm | 11-19T14:30 | 11-19T15:30
at 3 pm yesterday | 11-19T14:30 | 11-19T15:30
on Monday at 9:15 | 11-16T08:45 | 11-16T09:45
at 9 in the evening on Monday | 11-16T20:30 | 11-16T21:30
at 9 this morning | 11-20T08:30 | 11-20T09:30
this morning at nine | 11-20T08:30 | 11-20T09:30
at nine last night | 11-19T20:30 | 11-19T21:30
at half past three in the afternoon | 11-20T15 | 11-20T16
yesterday at a quarter to eight in the evening | 11-19T19:15 | 11-19T20:15
at noon | 11-20T11:30 | 11-20T12:30
at midnight | 11-19T23:30 | 11-20T00:30
on 18 November at 2 pm | 11-18T13:30 | 11-18T14:30
at lunchtime | 11-20T12 | 11-20T14
two hours ago | 11-20T13 | 11-20T14
half an hour ago | 11-20T14:30 | 11-20T15:30
ten minutes ago | 11-20T15:19:30 | 11-20T15:20:30
an hour and a half ago | 11-20T13:30 | 11-20T14:30
a few hours ago | 11-20T10:30 | 11-20T13:30
a couple of days ago | 11-17T15:30 | 11-19T15:30
in the last hour | 11-20T14:30 | now
in the last two hours | 11-20T13:30 | now
over the past 3 days | 11-17T15:30 | now
within the last week | 11-13T15:30 | now
in the last fortnight | 11-06T15:30 | now
last week | 11-09 | 11-16
this week | 11-16 | 11-23
the week before last | 11-02 | 11-09
this month | 11-01 | 12-01
last month | 10-01 | 11-01
last year | 2025-01-01 | 2026-01-01
in October | 10-01 | 11-01
in September 2025 | 2025-09-01 | 2025-10-01
in 2025 | 2025-01-01 | 2026-01-01
at the weekend | 11-14 | 11-16
on the weekend | 11-14 | 11-16
over the weekend | 11-14 | 11-16
last weekend | 11-14 | 11-16
the weekend before last | 11-07 | 11-09
on Saturday and Sunday | 11-14 | 11-16
since yesterday | 11-19 | now
since 18 November | 11-18 | now
since the 18th | 11-18 | now
since Monday | 11-16 | now
since Monday morning | 11-16T05 | now
since 9:00 | 11-20T09 | now
since noon | 11-20T12 | now
since this morning | 11-20T05 | now
since last week | 11-09 | now
since the weekend | 11-14 | now
since October | 10-01 | now
since a week ago | 11-13 | now
since two hours ago | 11-20T13:30 | now
since yesterday at 3 pm | 11-19T15 | now
after Monday | 11-17 | now
after 9:00 | 11-20T09 | now
after 18 November | 11-19 | now
before Monday | 0 | 11-16
before 18 November | 0 | 11-18
before 8:15 | 11-20 | 11-20T08:15
before yesterday evening | 0 | 11-19T17
until Monday | 0 | 11-17
up to 18 November | 0 | 11-19
until yesterday at 3 pm | 0 | 11-19T15
between Monday and Wednesday | 11-16 | 11-19
from Monday to Wednesday | 11-16 | 11-19
Monday to Wednesday | 11-16 | 11-19
from Monday until Wednesday evening | 11-16 | 11-18T23
between Saturday and Tuesday | 11-14 | 11-18
between Friday and Monday | 11-13 | 11-17
between the 16th and the 18th | 11-16 | 11-19
between 16 and 18 November | 11-16 | 11-19
from the 3rd to the 5th of November | 11-03 | 11-06
from 3 to 5 November | 11-03 | 11-06
between 28 October and 3 November | 10-28 | 11-04
from 2026-11-03 to 2026-11-05 | 11-03 | 11-06
between yesterday and today | 11-19 | 11-21
between 12 and 1 pm | 11-20T12 | 11-20T13
between 9:00 and 11:30 | 11-20T09 | 11-20T11:30
yesterday between 9 and 10:30 | 11-19T09 | 11-19T10:30
on Monday between 9 and 11 am | 11-16T09 | 11-16T11
between 9 and 11 am on Monday | 11-16T09 | 11-16T11
from 10 pm to 2 am | 11-19T22 | 11-20T02
between Monday morning and Tuesday evening | 11-16T05 | 11-17T23
since Monday until Wednesday | 11-16 | 11-19
between October and November | 10-01 | 12-01
older than two weeks | 0 | 11-06T15:30
more than 3 days ago | 0 | 11-17T15:30
"""

# phrase | part of the day | weekdays, 0 is Monday
REPEATED = """
every morning | morning | 0123456
each Monday | | 0
every Monday evening | evening | 0
on Mondays | | 0
on Mondays and Thursdays | | 03
on weekdays | | 01234
on weekends | | 56
at weekends | | 56
every weekend | | 56
every day | | 0123456
each night | night | 0123456
in the evenings | evening | 0123456
on weekday mornings | morning | 01234
on Friday evenings | evening | 4
at night | night | 0123456
usually | | 0123456
usually in the morning | morning | 0123456
most mornings | morning | 0123456
twice a day | | 0123456
"""

# phrase | what its message must name
FAULTS = """
on 31 February | 31 february
since 31 June | 31 june
30/02/2026 | 30/02/2026
on the 32nd | 32nd
tomorrow | tomorrow
tomorrow morning | tomorrow
next week | next week
next Monday | next monday
in two hours | in two hours
tonight | tonight
this evening | this evening
this weekend | this weekend
on 5 December 2027 | 5 december 2027
on 26 November | 26 november
since 2027-01-01 | 2027-01-01
at 9 | 9
at nine | nine
on Monday at 9 | 9
at half past three | half past three
at 9 o'clock | 9 o'clock
at 25:00 | 25:00
at 12:75 | 12:75
yesterday at 13 am | 13 am
on 3/11 | 3/11
11/3/2026 | 11/3/2026
on Tuesday 18 November | tuesday
since the day before the party | since the day before the party
since the party | since the party
the other day | the other day
at 3 pm UTC | utc
between Monday and the party | monday
yesterday or Monday | monday
between 11/3/2026 and Monday | 11/3/2026
since tomorrow | tomorrow
three sleeps ago | three sleeps ago
between 2 and 3 o'clock | 3 o'clock
31 June at 3 pm | 31 june
at the start of last week | at the start of last week
mid November | mid november
since Christmas | since christmas
two days before yesterday | two days before yesterday
an hour before noon | an hour before noon
before breakfast | before breakfast
last summer | last summer
all day | all day
the other evening | the other evening
"""

NO_TIME = ("Is the lamp on?", "What is at the door?", "a last supper", "in the second room", "cups around 2 tables",
           "between the bed and the table", "What is on the night stand?", "the morning paper", "an evening dress",
           "What day is it on the calendar?", "Is there a sun hat on the sofa?", "What time does the clock show?",
           "the 2nd door", "Are there 18 cups?", "Is the mug from the kitchen to the left?", "the May pole", "may I?",
           "How many days has May?", "Is the fan on 3?", "What is before the door?", "the last chair", "room 25.10")


def _rows(table: str) -> list[tuple[str, ...]]:
    return [tuple(cell.strip() for cell in line.split("|")) for line in table.strip().splitlines()]


def _ns(moment: str) -> int:
    """Return the stamp of a local time; the year is 2026 where none is given."""
    if moment == "0":
        return 0
    day, _, clock = moment.partition("T")
    day = day if day.count("-") == 2 else f"2026-{day}"
    return round(datetime.fromisoformat(f"{day}T{clock or '00'}").timestamp()) * SECOND


@pytest.fixture(autouse=True, params=["Europe/Berlin"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process is in a time zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def check_window(phrase: str, begin: str, end: str) -> None:
    """Check that a phrase is read as a window, alone and within a question."""
    until = _ns(NOW) if end == "now" else _ns(end) - 1
    for text, rest in ((phrase, ""), (f"What was on the table {phrase}?", "What was on the table ?")):
        found = times_in(text, _ns(NOW))
        assert found.fault == "" and found.recurring is None
        assert found.window is not None and found.window[:2] == (_ns(begin), until)
        assert found.rest == rest


@pytest.mark.parametrize(("phrase", "begin", "end"), _rows(WINDOWS))
def test_windows(phrase: str, begin: str, end: str) -> None:
    check_window(phrase, begin, end)


@pytest.mark.parametrize("zone", ["Asia/Kolkata"], indirect=True)
@pytest.mark.parametrize(("phrase", "begin", "end"), _rows(WINDOWS)[::8])
def test_windows_where_the_clock_never_changes(phrase: str, begin: str, end: str) -> None:
    check_window(phrase, begin, end)


@pytest.mark.parametrize(("phrase", "part", "weekdays"), _rows(REPEATED))
def test_repeated_times(phrase: str, part: str, weekdays: str) -> None:
    found = times_in(f"Where is the mug {phrase}?", _ns(NOW))
    assert found.recurring is not None and found.window is None
    assert found.recurring[:2] == (part, tuple(map(int, weekdays)))
    assert found.rest == "Where is the mug ?"
    assert "habits" in found.fault


@pytest.mark.parametrize(("phrase", "named"), _rows(FAULTS))
def test_what_is_not_understood_is_named_with_words_that_work(phrase: str, named: str) -> None:
    fault = times_in(f"What was on the table {phrase}?", _ns(NOW)).fault
    assert named in fault.lower()
    assert ": " in fault, "no remedy"


@pytest.mark.parametrize("text", NO_TIME)
def test_no_time(text: str) -> None:
    assert times_in(text, _ns(NOW)) == (None, None, text, "")
