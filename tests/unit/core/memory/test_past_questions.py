"""Whole questions about the past: which thing, room and time memory looks for on Friday 20 November 2026 at 15:30."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.recollect import past_question
from eqa_nodes.core.types.geometry import Pose2
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
NOW = "2026-11-20T15:30"
KETTLE = (20, 16, 32, 30)

# question | thing | room | first moment | end (not included), "now", or "" for no time
QUESTIONS = """
When did you last see my keys in the kitchen? | keys | kitchen | |
When did you last see the mug? | mug | | |
When did you last see the red mug in the living room? | red mug | living room | |
When was the last time you saw my glasses in the study? | glasses | study | |
When was the laptop last seen in the main bedroom? | laptop | main bedroom | |
When did you last see the mug in the kitchen yesterday? | mug | kitchen | 11-19 | 11-20
When did you last see the spoon in the box? | spoon in the box | | |
Where did I leave my keys? | keys | | |
Where did I leave my keys last night? | keys | | 11-19T21 | 11-20T06
Where did I last put the phone on Monday? | phone | | 11-16 | 11-17
Where did you last see the ball in the hallway this week? | ball | hallway | 11-16 | 11-23
Where was the laptop between Monday and Wednesday? | laptop | | 11-16 | 11-19
Where was the mug on Monday? | mug | | 11-16 | 11-17
Where was the mug yesterday at 3 pm? | mug | | 11-19T14:30 | 11-19T15:30
Where were my keys on Tuesday morning? | keys | | 11-17T05 | 11-17T12
Yesterday evening, where was the vase? | vase | | 11-19T17 | 11-19T23
Where was the blue bag last weekend? | blue bag | | 11-14 | 11-16
Where was the cup from the 16th to the 18th? | cup | | 11-16 | 11-19
Where was the mug in the kitchen on 18 November? | mug | kitchen | 11-18 | 11-19
What changed since 18 November? | | | 11-18 | now
What changed since yesterday? | | | 11-19 | now
What has changed since Monday morning? | | | 11-16T05 | now
What is new since the weekend? | | | 11-14 | now
What is missing since the 18th? | | | 11-18 | now
Has anything moved since 9:00? | | | 11-20T09 | now
Did anything change in the last hour? | | | 11-20T14:30 | now
What changed between Monday and Wednesday? | | | 11-16 | 11-19
What changed? | | | |
What changed in the kitchen since Monday? | | kitchen | 11-16 | now
Did anyone leave the window open last night? | window, open | | 11-19T21 | 11-20T06
Was the lamp in the study on yesterday evening? | lamp, on, study | | 11-19T17 | 11-19T23
What was on the table on Tuesday evening? | table | | 11-17T17 | 11-17T23
Was the bed made this morning? | bed, made | | 11-20T05 | 11-20T12
Were there any cups in the sink at noon? | cup, sink | | 11-20T11:30 | 11-20T12:30
How many chairs were in the kitchen last week? | chair, kitchen | | 11-09 | 11-16
What colour was the mug on the desk on Monday? | mug, desk | | 11-16 | 11-17
Was the fridge open at half past three in the afternoon? | fridge, open | | 11-20T15 | 11-20T16
Last night, was the front door closed? | front door, closed | | 11-19T21 | 11-20T06
Was there a box in the entryway before Wednesday? | box, entryway | | 0 | 11-18
Which lamps were on two hours ago? | lamp, on | | 11-20T13 | 11-20T14
Did you see my glasses at the weekend? | glasses | | 11-14 | 11-16
Where was the mug on 18/11? | mug | | 11-18 | 11-19
Is the lamp on? It was off last night. | lamp, on | | |
Where is the blanket that I used last night? | blanket | | |
There was a storm last night. Is the window closed? | window, closed | | |
"""

FAULTS = """
What changed since 31 February? | 31 february
Where was the mug tomorrow? | tomorrow
Was the lamp on at 9? | at 9
When did you last see the mug on 5 December 2027? | on 5 december 2027
Where were my keys since the day before the party? | since the day before the party
What is new since next week? | next week
Where was the mug every morning? | every morning
Is the lamp on every evening? | every evening
Where is the laptop on weekdays? | on weekdays
Where is the mug usually? | usually
"""


def _rows(table: str) -> list[tuple[str, ...]]:
    return [tuple(cell.strip() for cell in line.split("|")) for line in table.strip().splitlines()]


def _ns(moment: str) -> int:
    if moment == "0":
        return 0
    moment = moment if moment.startswith("2026") else f"2026-{moment}"
    return round(datetime.fromisoformat(moment if "T" in moment else f"{moment}T00").timestamp()) * SECOND


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process is in Berlin."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("question", "thing", "room", "begin", "end"), _rows(QUESTIONS))
def test_what_is_looked_for(question: str, thing: str, room: str, begin: str, end: str) -> None:
    asked = past_question(question, _ns(NOW))
    if asked.form:
        assert (asked.thing, asked.room) == (thing, room)
    else:
        query = understand(question).query
        assert query is not None and sorted(query.names) == sorted(filter(None, thing.split(", ")))
    if not begin:
        assert asked.times.window is None and not asked.times.fault
        return
    until = _ns(NOW) if end == "now" else _ns(end) - 1
    assert asked.times.window is not None and asked.times.window[:2] == (_ns(begin), until)


@pytest.mark.parametrize(("question", "named"), _rows(FAULTS))
def test_a_time_that_is_not_understood_is_named(question: str, named: str) -> None:
    fault = past_question(question, _ns(NOW)).times.fault
    assert f"'{named}'" in fault.lower() and ": " in fault


def test_the_room_and_the_time_choose_among_the_looks(store: MemoryStore) -> None:
    """A kettle stands in the kitchen on Monday and in the study on Wednesday."""
    study = {1: LABELS[1]._replace(room="study", attributes={"colour": "red", "support": "desk"})}
    store.take(frame(_ns("11-16T09"), Pose2(0, 0, 0), {1: KETTLE}), LABELS)
    store.reset("later", keep=True, map_name="home")
    store.take(frame(_ns("11-18T09"), Pose2(0, 0, 0), {1: KETTLE}), study)
    store.reset("now", keep=True, map_name="home")
    now = _ns(NOW)
    store.set_now(now)

    def said(question: str) -> str:
        told = store.recollect(question)
        return told.text if told is not None else ""

    assert said("When did you last see the kettle?").startswith("on Wednesday 18 November 2026 at 09:00")
    assert said("When did you last see the kettle in the kitchen?").startswith("on Monday 16 November 2026 at 09:00")
    assert said("When did you last see the kettle on Monday?").startswith("on Monday 16 November 2026 at 09:00")
    assert said("Where was the kettle on Monday?").startswith("in the kitchen")
    assert said("Where was the kettle between Monday and Wednesday?").count("at 09:00") == 2
    assert said("Where did I leave the kettle this week?").startswith("in the study, on the desk")
    assert said("When did you last see the kettle in the garage?").startswith("I have not seen it in the garage; I")
    assert said("Where was the kettle on Tuesday?").startswith("I have not seen it on Tuesday; I last saw it on Wed")
    assert said("What changed between Monday and Wednesday?").startswith("the red kettle: on the counter in")
    assert said("What changed on Tuesday?") == "I did not look then"
    assert said("What changed in the bedroom on Wednesday?") == "nothing that I have seen on Wednesday"
    assert said("What changed in the bedroom since Sunday?").startswith("nothing that I have seen since Sunday")
    assert store.recollect("When did you last see the kettle on 31 February?") is None
    assert store.recollect("Where was the kettle?") is None
