"""What one look alone says against others ends no habit and no run, and is no thing of its own."""

from __future__ import annotations

from datetime import datetime

import pytest

from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.believed import thing_histories
from eqa_nodes.core.memory.ledger import EMPTY, SEEN, PatrolSpan
from eqa_nodes.core.memory.observations import Observation
from eqa_nodes.core.memory.recollect import recollect
from eqa_nodes.core.memory.sureness import MOST, error_share, mean_sureness, sureness
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Recollection
from eqa_nodes.core.types.views import Label
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
KITCHEN, STUDY = Pose2(0.0, 0.0, 0.0), Pose2(20.0, 0.0, 0.0)
BOX = {1: (20, 16, 32, 30)}


def stamp(day: int, hour: int = 9) -> int:
    """Return a stamp in November 2026, local time; the 2nd is a Monday."""
    return round(datetime(2026, 11, day, hour).timestamp()) * SECOND


def kettle(room: str, state: str) -> dict[int, Label]:
    attributes = {"colour": "red", "state": state, "support": "counter" if room == "kitchen" else "desk",
                  "relation": "on"}
    return {**LABELS, 1: LABELS[1]._replace(room=room, attributes=attributes)}


def patrol(store: MemoryStore, day: int, states: str, study: str = "") -> None:
    """Look into the kitchen and the study, once for each word: the state of the kettle, "none" where it is not seen."""
    store.reset(str(day), keep=True, map_name="home")
    second = 0
    for room, pose, said in (("kitchen", KITCHEN, states), ("study", STUDY, study)):
        for state in said.split():
            seen = state != "none"
            store.take(frame(stamp(day) + second * SECOND, pose, BOX if seen else {}, 2.0 if seen else 4.0),
                       kettle(room, state))
            second += 1


def patrols_of(count: int, agree: int, against: int) -> list[Observation]:
    """Return patrols on which as many looks agree, and as many do not."""
    return [Observation(PatrolSpan(n, n, n), "yes", n, agree, against) for n in range(count)]


def ask(store: MemoryStore, question: str, day: int = 9) -> Recollection:
    said = recollect(store, question, stamp(day, 20))
    assert said is not None, question
    return said


@pytest.fixture
def run(store: MemoryStore) -> MemoryStore:
    """Off on the first two days, then on for six; the last look of the fifth day misread it."""
    for day, states in enumerate(("off off off", "off off off", "on on on", "on on on", "on on off", "on on on",
                                  "on on on", "on on on"), 2):
        patrol(store, day, states)
    return store


def test_the_last_of_several_looks_does_not_end_a_run(run: MemoryStore) -> None:
    assert ask(run, "Since when is the kettle on?").text.startswith(
        "since between Tue 3 November at 09:00 and Wed 4 November at 09:00")
    assert ask(run, "How often was the kettle on?").text.startswith("on 6 of 8 patrols")
    assert ask(run, "Was the kettle on on Friday the 6th?").text.startswith("yes")


def test_the_last_look_of_the_newest_patrol_is_said_but_ends_no_run(run: MemoryStore) -> None:
    patrol(run, 10, "on on off")
    since, now = ask(run, "Since when is the kettle on?", 10), ask(run, "Is the kettle still on?", 10)
    assert since.text == ("since between Tue 3 November at 09:00 and Wed 4 November at 09:00; only my last look, today "
                          "at 09:00, says otherwise")
    assert now.text.startswith("no: ") and 0 < now.confidence <= 0.5 and since.confidence <= 0.5


def test_a_second_look_ends_a_run(run: MemoryStore) -> None:
    patrol(run, 10, "on off off")
    assert ask(run, "Since when is the kettle on?", 10).text.startswith("it was not so when I looked last")


def test_one_look_among_patrols_of_several_that_agree_ends_no_run(store: MemoryStore) -> None:
    for day, states in enumerate(("off off", "on on", "on on", "on on", "off", "on on", "on on", "on on"), 2):
        patrol(store, day, states)
    assert ask(store, "Since when is the kettle on?").text.startswith("since between Mon 2 November at 09:00 and Tue 3")


def test_a_patrol_of_several_looks_ends_a_run(store: MemoryStore) -> None:
    for day, states in enumerate(("off off", "on on", "on on", "on on", "off off", "on on", "on on", "on on"), 2):
        patrol(store, day, states)
    assert ask(store, "Since when is the kettle on?").text.startswith("since between Fri 6 November at 09:00 and Sat 7")


def test_a_thing_that_one_look_alone_saw_between_patrols_that_did_not_is_a_misnaming(store: MemoryStore) -> None:
    for day, states in enumerate(("on on", "on on", "on on", "none none", "none none", "on none", "none none",
                                  "none none"), 2):
        patrol(store, day, states)
    same, = thing_histories(store, store.objects())
    assert [one.outcome for one in same.patrols] == [SEEN] * 3 + [EMPTY] * 5
    assert ask(store, "When did you last see the kettle?").text.startswith("on Wednesday 4 November 2026 at 09:00")
    assert ask(store, "What is missing?").text.startswith(
        "the red kettle: in the kitchen, on the counter until Wed 4 November at 09:00, gone Thu 5 November at 09:00")
    assert "kettle is gone" in ask(store, "What has changed since Wednesday the 4th?").text


def test_a_thing_that_alternates_is_seen_also_in_one_look(store: MemoryStore) -> None:
    for day in range(2, 9):
        patrol(store, day, *(("on on", "none none") if day % 2 else ("none none", "on" if day == 4 else "on on")))
    assert ask(store, "How often was the kettle in the study?").text.startswith("on 4 of 7 patrols")


def test_a_thing_that_is_seen_better_elsewhere_is_not_in_two_places(store: MemoryStore) -> None:
    for day in (2, 3, 4):
        patrol(store, day, "on on", "none none")
    for day in (5, 6):
        patrol(store, day, "none none", "on on")
    patrol(store, 7, "on none", "on on")
    patrol(store, 8, "none none", "on on")
    assert ask(store, "Has the kettle moved since Friday the 6th?").text.startswith("no: it was on the desk")


def test_what_bore_a_name_in_one_look_before_the_thing_came_is_a_misnaming(store: MemoryStore) -> None:
    patrol(store, 2, "on none", "none none")
    for day in (3, 4):
        patrol(store, day, "none none", "none none")
    for day in (5, 6, 7):
        patrol(store, day, "none none", "on on")
    assert ask(store, "When did you first see the kettle?").text == "Thu 5 November at 09:00, on the desk in the study"


@pytest.mark.parametrize(("agree", "against", "least", "most"), [
    (3, 0, MOST, MOST), (1, 0, 0.9, MOST), (1, 1, 0.5, 0.5), (1, 2, 0.4, 0.4), (1, 8, 0.15, 0.25)])
def test_confidence_follows_the_looks_that_agree(agree: int, against: int, least: float, most: float) -> None:
    decisive = patrols_of(1, agree, against)
    assert least <= sureness([*patrols_of(20, 3, 0), *decisive], decisive) <= most


def test_confidence_falls_with_the_looks_that_err_and_with_the_patrols_that_decide() -> None:
    steady, erring = patrols_of(20, 3, 0), patrols_of(20, 3, 1)
    assert error_share(steady) < 0.01 and 0.2 < error_share(erring) < 0.3
    one = patrols_of(1, 1, 0)
    assert sureness(erring, one) < sureness(steady, one)
    assert sureness(erring, one * 2) == pytest.approx(sureness(erring, one) ** 2)
    assert mean_sureness(erring, one * 2) == pytest.approx(sureness(erring, one))
