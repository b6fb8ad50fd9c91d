"""`eqa memory`: what each verb prints, and the one clear line where it cannot."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types.geometry import Pose2
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
NOON = 1_794_830_400 * SECOND  # a stamp of 2026
DAY = 86_400 * SECOND
YESTERDAY = " to ".join(f"{datetime.fromtimestamp(s // SECOND):%Y-%m-%d} 00:00" for s in (NOON, NOON + DAY))
VERBS = {"info": [], "objects": [], "recall": ["kettle"], "ask": ["When did you last see the kettle?"],
         "digest": [], "watch": ["the stove is on"], "forget": ["--everything"], "align": ["a", "b", "0", "0", "0"]}


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("eqa_nodes.cli.memory.time.time_ns", lambda: NOON + DAY + 3600 * SECOND)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A kettle yesterday, a desk today, and a lamp in a place of its own."""
    path = tmp_path / "home.sqlite"
    store = MemoryStore(path)
    store.reset("elsewhere", map_name="cellar")
    store.take(frame(NOON - DAY, boxes={5: (10, 10, 40, 30)}), LABELS)
    store.reset("first", keep=True, map_name="home")
    store.take(frame(NOON, boxes={1: (20, 16, 32, 30), 2: (0, 30, 60, 46)}), LABELS)
    store.reset("second", keep=True, map_name="home")
    store.take(frame(NOON + DAY, Pose2(9.0, 0.0, 0.0), {4: (0, 10, 60, 40)}), LABELS)
    store.close()
    return path


def said(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a verb that must succeed; return what it printed, in single spaces."""
    assert main(["memory", *map(str, words)]) == 0
    return " ".join(capsys.readouterr().out.split())


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a verb that must not; return its line."""
    assert main(["memory", *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("eqa: ") and err.count("\n") == 1
    return str(err)


def test_info_counts_and_lists_the_sessions(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = said(capsys, "info", home)
    assert "keyframes: 3" in printed and "objects: 4" in printed and "sessions: 3" in printed
    assert "places that are not known to be one: 2" in printed
    assert "elsewhere │ cellar │ 1" in printed and "second │ home │ 2" in printed


def test_objects_are_listed_with_their_place(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = said(capsys, "objects", home, "--about", "red kettles")
    assert "red kettle │ in the kitchen, on the counter │ 2.00, " in printed and "once │ yesterday at " in printed
    assert "desk" not in printed
    everything = said(capsys, "objects", home)
    assert "desk" in everything and "in another map" in everything
    assert "desk" not in said(capsys, "objects", home, "--limit", 1)


def test_recall_shows_why_and_saves_pictures(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = said(capsys, "recall", home, "the kettle yesterday", "--save", tmp_path / "views")
    assert "kettle in view" in printed and "yesterday at" in printed and "0.00, 0.00 kitchen" in printed
    picture, = (tmp_path / "views").iterdir()
    assert picture.name == "view-2.jpg" and picture.read_bytes().startswith(b"\xff\xd8")
    assert "view-" not in said(capsys, "recall", home, "kettle", "--near", 9, 0, 1)
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert str(blocked) in refused(capsys, "recall", home, "kettle", "--save", blocked)


def test_memory_is_asked_about_the_past(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = said(capsys, "ask", home, "When did you last see the kettle?")
    assert printed.startswith("yesterday at ") and "in the kitchen, on the counter (80% sure)" in printed
    assert "view 2, yesterday at " in printed and "at (0.00, 0.00): red kettle, last seen yesterday" in printed
    assert "when I looked last, yesterday at" in said(capsys, "ask", home, "Where is the kettle?")
    assert "eqa ask asks the robot" in refused(capsys, "ask", home, "What colour is the kettle?")
    assert "nothing in this memory fits" in refused(capsys, "ask", home, "Where is the unicorn?")


def test_a_digest_of_a_day_has_its_pictures(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(MemoryStore(home)) as store:
        store.reset("third", keep=True, map_name="home")
        store.take(frame(NOON + DAY + 60 * SECOND, boxes={}, depth=4.0), LABELS)
    printed = said(capsys, "digest", home, "--day", "today", "--save", tmp_path / "day")
    assert "the red kettle: on the counter in the kitchen, now gone (as it was yesterday at" in printed
    assert [picture.name for picture in (tmp_path / "day").iterdir()] == ["view-2.jpg"]
    assert "nothing that I have seen" in said(capsys, "digest", home, "--day", "last month")
    assert "'31 February' is not in the calendar" in refused(capsys, "digest", home, "--day", "31 February")
    assert "is not understood as a time" in refused(capsys, "digest", home, "--day", "kettle")


def test_statements_are_watched(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing is watched" in said(capsys, "watch", home)
    assert said(capsys, "watch", home, "The kettle is off.") == "watch 1: The kettle is off"
    assert said(capsys, "watch", home, "the kettle is on") == (
        "watch 2: the kettle is on it was so when I looked last, yesterday at "
        f"{datetime.fromtimestamp(NOON // SECOND):%H:%M}")
    assert said(capsys, "watch", home, "the mug is gone for 2 h").endswith("memory has not seen such a thing yet")
    kettle = {1: LABELS[1]._replace(attributes={"colour": "red", "state": "off", "support": "counter"})}
    with closing(MemoryStore(home)) as store:
        store.reset("third", keep=True, map_name="home")
        store.take(frame(NOON + DAY + 60 * SECOND, boxes={1: (20, 16, 32, 30)}), kettle)
        printed = said(capsys, "watch", home)  # also while a robot writes the file
        assert "│ The kettle is off │ 1 │ today at" in printed
        assert "│ the red kettle is off, on the counter in the kitchen" in printed
        assert "the mug is gone for 2 h" in printed
        assert said(capsys, "watch", home, "--remove", 1) == "removed watch 1: The kettle is off"
        assert "no watch has the number 1: there are 2, 3" in refused(capsys, "watch", home, "--remove", 1)
    assert "The kettle is off" not in said(capsys, "watch", home)


@pytest.mark.parametrize("since", ["yesterday", "this morning", "Monday", "last week"])
def test_a_memory_of_a_simulator_is_asked_about_days(since: str, tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    """Its clock begins at 0: every day that can be named is before that."""
    path = tmp_path / "simulated.sqlite"
    store = MemoryStore(path)
    store.reset("first", map_name="home")
    for second in (1, 2, 3):
        store.take(frame(second * SECOND, Pose2(second, 0.0, 0.0), {1: (20, 16, 32, 30)}), LABELS)
    store.close()
    assert said(capsys, "ask", path, f"What changed since {since}?").startswith(
        "nothing that I have seen since 0.0 s after the start, 3 s ago")


def test_what_memory_has_not_seen_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "ask", home, "When did you last see the elephant?")
    assert "nothing in this memory fits" in line and "eqa memory objects" in line


def test_a_memory_without_objects_says_where_they_come_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "views.sqlite"
    store = MemoryStore(path)
    store.reset("first", map_name="home")
    store.take(frame(NOON), {})
    store.close()
    line = refused(capsys, "ask", path, "When did you last see the mug?")
    assert "holds views but no objects" in line and "--detector" in line


def test_forgetting_deletes_and_says_what(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = said(capsys, "forget", home, "--when", "yesterday")
    assert printed.startswith(f"forgot 1 views and 2 objects from {YESTERDAY}. Bags")
    assert "keyframes: 2" in said(capsys, "info", home)
    assert said(capsys, "forget", home, "--kind", "desks").startswith("forgot 1 views and 1 objects")
    assert said(capsys, "forget", home, "--region", "attic").startswith("forgot 0 views and 0 objects")
    assert said(capsys, "forget", home, "--everything").startswith("forgot 1 views and 1 objects")


def test_times_in_words_count_from_the_clock_and_not_from_the_newest_view(
        home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is two years old: its newest view was not taken in the last hour, nor today."""
    monkeypatch.setattr("time.time_ns", lambda: NOON + 731 * DAY)
    assert said(capsys, "forget", home, "--when", "in the last hour").startswith("forgot 0 views and 0 objects from")
    assert "keyframes: 3" in said(capsys, "info", home)
    assert said(capsys, "ask", home, "When did you last see the kettle?").startswith("on Monday 16 November 2026 at")
    assert "kettle" in said(capsys, "recall", home, "kettle") and "today" not in said(capsys, "objects", home)
    assert "kettle" not in said(capsys, "recall", home, "kettle yesterday")
    assert said(capsys, "ask", home, "What changed since yesterday?").startswith("nothing that I have seen since yest")
    assert said(capsys, "forget", home, "--when", "more than a year ago").startswith("forgot 3 views and 4 objects up")


def test_a_time_that_is_not_understood_is_said(home: Path, capsys: pytest.CaptureFixture[str],
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    printed = said(capsys, "recall", home, "kettle at half past three")
    assert printed.startswith("'at half past three' may be in the morning or in the evening: say 3:30 or 15:30")
    assert "kettle in view" in printed and "at any time: the time was not understood" in printed
    assert "'tomorrow' lies in the future" in said(capsys, "recall", home, "kettle tomorrow")
    assert "'31 February' is not in the calendar" in refused(capsys, "ask", home, "What changed since 31 February?")


def test_aligned_maps_are_one_place(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cellar lies in home at (0, -5) m, turned by 90 degrees" in said(capsys, "align", home, "cellar", "home", 0,
                                                                            -5, 90)
    assert "places that are not known to be one: 1" in said(capsys, "info", home)
    assert "in another map" not in said(capsys, "objects", home)


@pytest.mark.parametrize("verb", VERBS)
def test_an_absent_file_is_named_and_not_made(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tmp_path / "absent.sqlite"
    assert f"no memory file {absent}" in refused(capsys, verb, absent, *VERBS[verb])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_is_something_else_is_named(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = tmp_path / "notes.sqlite"
    notes.write_bytes(b"These are notes. " * 100)
    assert "notes.sqlite could not be opened" in refused(capsys, verb, notes, *VERBS[verb])


@pytest.mark.parametrize(("words", "complaint"), [
    (["watch", "the elephant"], "'the elephant' is not understood as a statement about a thing: say"),
    (["watch", "the stove is on for ages"], "'ages' is not understood as a duration: say for 30 min"),
    (["watch", "the zorgle is on"], "neither memory nor the vocabulary knows 'zorgle'"),
    (["watch", "the stove is on", "--remove", "1"], "give a statement to watch, or --remove N, not both"),
    (["watch", "--remove", "1"], "no watch has the number 1: none is set"),
    (["forget"], "select what to forget"), (["forget", "--when", "the elephant"], "'the elephant' is not a time"),
    (["forget", "--when", "last time"], "is not a time"),
    (["forget", "--when", "at 9"], "'at 9' may be in the morning or in the evening: say 9:00 or 21:00"),
    (["forget", "--when", "since the party"], "'since the party' is not understood"),
    (["forget", "--when", "yesterday after dinner"], "'yesterday after dinner' is not understood as a time"),
    (["forget", "--when", "every morning"], "'every morning' is a repeated time"),
    (["forget", "--when", "tomorrow"], "'tomorrow' lies in the future"),
    (["forget", "--when", "31 February"], "'31 February' is not in the calendar"),
    (["forget", "--when", "next Monday"], "'next Monday' lies in the future"),
    (["forget", "--when", "5 May 2031"], "'5 May 2031' lies in the future"),
    (["forget", "--when", "yesterday and Monday"], "'yesterday and Monday' is not understood"),
    (["forget", "--when", "Monday and Thursday"], "'Monday and Thursday' is not understood"),
    (["forget", "--when", "yesterday evening in Paris"], "is not a time"),
    (["align", "attic", "home", 0, 0, 0], "has no map 'attic'"),
    (["align", "home", "home", 1, 0, 0], "cannot lie in itself")])
def test_a_refusal_changes_nothing(words: list[Any], complaint: str, home: Path,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    verb, *rest = words
    assert complaint in refused(capsys, verb, home, *rest)
    assert "keyframes: 3" in said(capsys, "info", home)


def test_now_may_be_given_for_a_simulated_clock(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = "Where was the kettle yesterday?"
    assert "yesterday at" in said(capsys, "ask", home, question)
    date = f"{datetime.fromtimestamp(NOON // SECOND + 3 * 86_400):%Y-%m-%dT%H:%M}"
    assert "I have not seen it yesterday" in said(capsys, "ask", home, question, "--now", date)
    assert "--now is '2026-02-31', which is no date" in refused(capsys, "ask", home, question, "--now", "2026-02-31")
