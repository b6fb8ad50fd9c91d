"""Stamps after now are of a wrong clock: what they show is not believed, proves nothing, and is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.memory.times import FOR_EVER, times_in
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import RecallQuery
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
DAY = 86400 * SECOND
NOW = 1_794_830_400 * SECOND
IN_2038 = 2_150_000_000 * SECOND
KETTLE, ELSEWHERE = {1: (20, 16, 32, 30), 2: (0, 30, 60, 46)}, {4: (0, 10, 60, 40)}
OFF = {**LABELS, 1: LABELS[1]._replace(attributes={"colour": "red", "state": "off", "support": "counter"})}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    """Yesterday the kettle was on; then, by a clock that was wrong, it was off and a desk was seen."""
    store = MemoryStore(tmp_path / "home.sqlite")
    store.reset("yesterday", map_name="home")
    assert store.take(frame(NOW - DAY, boxes=KETTLE), LABELS) is not None
    store.reset("wrong clock", keep=True, map_name="home")
    assert store.take(frame(IN_2038, boxes=KETTLE), OFF) is not None
    assert store.take(frame(IN_2038 + SECOND, Pose2(9.0, 0.0, 0.0), ELSEWHERE), LABELS) is not None
    yield store
    store.close()


def test_without_a_clock_every_stamp_is_believed(store: MemoryStore) -> None:
    assert store.set_now(0) == 0
    assert store.newest_ns == IN_2038 + SECOND and len(store.recall(RecallQuery())) == 3
    assert store.objects("kettle")[0].attributes["state"] == "off"


def test_what_lies_after_now_is_not_recalled(store: MemoryStore) -> None:
    assert store.set_now(NOW) == 2
    assert [item.keyframe.stamp_ns for item in store.recall(RecallQuery())] == [NOW - DAY]
    assert [item.keyframe.stamp_ns for item in store.recall(RecallQuery("red kettle"))] == [NOW - DAY]
    assert store.recall(RecallQuery("desk")) == [] and store.since(0) == []
    assert [i.keyframe.stamp_ns for i in store.recall(RecallQuery("kettle in the last two days"))] == [NOW - DAY]
    assert store.newest_ns == NOW - DAY
    assert store.set_now(IN_2038 + DAY) == 0 and len(store.recall(RecallQuery())) == 3  # its time has come


def test_things_are_as_the_views_show_them_that_are_believed(store: MemoryStore) -> None:
    store.set_now(NOW)
    kettle, = store.objects("kettle")
    assert (kettle.last_ns, kettle.attributes["state"], kettle.gone_ns) == (NOW - DAY, "on", 0)
    assert store.keyframe(kettle.keyframe_id).stamp_ns == NOW - DAY  # type: ignore[union-attr]
    assert not [o for o in store.objects() if o.kind == "desk"] and store.last_view(kettle.id) == 1
    said = store.recollect("When did you last see the kettle?")
    assert said is not None and said.text.startswith("yesterday")
    assert {proof.stamp_ns for proof in said.evidence} == {NOW - DAY}


def test_what_was_found_gone_by_a_wrong_clock_is_not_known_to_be_gone(store: MemoryStore) -> None:
    for i in range(2, 8):
        store.take(frame(IN_2038 + i * SECOND, boxes={}, depth=5.0), LABELS)
    assert store.objects("kettle")[0].gone_ns > IN_2038
    store.set_now(NOW)
    assert store.objects("kettle")[0].gone_ns == 0


def test_a_place_that_only_a_wrong_clock_knows_is_seen_anew(store: MemoryStore) -> None:
    store.reset("today", keep=True, map_name="home")
    store.set_now(NOW)
    assert store.take(frame(NOW, Pose2(9.0, 0.0, 0.0), ELSEWHERE), LABELS) is not None
    assert store.newest_ns == NOW
    assert [o.last_ns for o in store.objects() if o.kind == "desk"] == [NOW]
    assert store.take(frame(NOW + SECOND, Pose2(9.0, 0.0, 0.0), ELSEWHERE), LABELS) is None  # known by now


def test_a_session_goes_on_after_its_clock_was_mended(store: MemoryStore) -> None:
    """Also where the node was started again in it: the last believed stamp is what time goes on from."""
    with pytest.raises(BadFrame, match="goes back in time"):
        store.take(frame(NOW), LABELS)
    store.set_now(NOW)
    assert store.take(frame(NOW, Pose2(3.0, 0.0, 0.0)), LABELS) is not None


def test_a_view_from_the_future_is_refused_and_counted(store: MemoryStore) -> None:
    store.reset("today", keep=True, map_name="home")
    store.set_now(NOW)
    for ahead, words in ((11, "a second"), (400, "a minute"), (2 * 86400, "a day"), (10**9, "a year")):
        with pytest.raises(BadFrame, match=f"from the future.*over {words} after now; synchronise the clocks"):
            store.take(frame(NOW + ahead * SECOND), LABELS)
    assert store.refused == 4
    assert store.take(frame(NOW + 9 * SECOND, Pose2(3.0, 0.0, 0.0)), LABELS) is not None  # clocks differ a little


def test_no_limit_is_no_limit(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "home.sqlite", MemoryConfig(ahead_s=0.0))
    assert store.set_now(NOW) == 0 and store.take(frame(IN_2038), LABELS) is not None
    assert store.set_now(NOW) == 0 and len(store.recall(RecallQuery())) == 1
    store.close()


def test_the_commands_say_it_and_let_go_of_it(store: MemoryStore, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    store.close()
    monkeypatch.setattr("eqa_nodes.cli.memory.time.time_ns", lambda: NOW)
    monkeypatch.setenv("COLUMNS", "200")
    for verb in (["info"], ["objects"], ["recall"], ["ask"]):
        words = {"recall": ["kettle"], "ask": ["When did you last see the kettle?"]}.get(verb[0], [])
        assert main(["memory", *verb, str(store.path), *words]) == 0
        assert "2 views have stamps in the future and are ignored" in " ".join(capsys.readouterr().out.split())
    assert main(["memory", "forget", str(store.path), "--when", "the future"]) == 0
    assert "forgot 2 views and 1 objects" in capsys.readouterr().out
    assert main(["memory", "info", str(store.path)]) == 0
    assert "in the future" not in capsys.readouterr().out


@pytest.mark.parametrize(("stamp_ns", "clock_ns", "now_ns"), [
    (NOW - DAY, NOW, NOW),  # a calendar's stamps: the clock, though the newest view is of yesterday
    (NOW - DAY, 0, NOW - DAY),  # a recording, whose clock nobody told
    (90 * SECOND, NOW, 90 * SECOND)])  # a simulator's
def test_now_is_the_clock_of_the_stamps(stamp_ns: int, clock_ns: int, now_ns: int, tmp_path: Path) -> None:
    fresh = MemoryStore(tmp_path / "fresh.sqlite")
    fresh.reset("first")
    fresh.take(frame(stamp_ns), LABELS)
    fresh.set_now(clock_ns)
    assert fresh.now_ns == now_ns
    assert len(fresh.recall(RecallQuery("kettle in the last hour"))) == int(now_ns == stamp_ns)
    fresh.close()


def test_the_future_is_a_time_in_words() -> None:
    window, _, rest, _ = times_in("all views from the future", NOW)
    assert window is not None and (window.after_ns, window.before_ns, rest) == (NOW + 1, FOR_EVER, "all views")
