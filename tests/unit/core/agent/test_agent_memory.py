"""What the agent does with memory: it tells the past without driving, and looks again where that is long ago."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent, WaitingQuestion
from eqa_nodes.core.answerers.common import evidence_from
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Allowance, NavCode, NavResult
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Limits, Question, Recalled, RecallQuery, Receipt, Recollection
from eqa_nodes.core.types.views import Keyframe
from tests.fixtures.agent_world import World, view
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
HOUR = 3600 * SECOND
LEFT = Question("Where did I leave the kettle?", "left")
PROOF = evidence_from([view(1)], "red kettle")
OLD = Recollection("in the kitchen (yesterday)", 0.95, PROOF, verify=True)
WHEN = Recollection("yesterday at 12:00, in the kitchen", 0.95, PROOF)


@dataclass
class Home(World):
    """A robot that remembers: `told` is what memory says, call by call; `known` the views that it recalls."""

    shows: dict[int, float] = field(default_factory=dict)
    told: list[Recollection | None] = field(default_factory=list)
    known: list[Recalled] = field(default_factory=list)
    now_ns: int = 8 * HOUR
    code: NavCode = NavCode.SUCCEEDED
    goals_driven: list[Pose2] = field(default_factory=list)

    def last(self) -> tuple[int, Pose2]:
        return self.now_ns, Pose2(0.0, 0.0, 0.0)

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance, what: str = "drive") -> NavResult:
        if what == "drive":
            self.goals_driven.append(goal)
        result = super().go_to(goal, deadline_s, allowance, what)
        return result if self.code is NavCode.SUCCEEDED else NavResult(self.code, "the motors are off")

    def recollect(self, question: str) -> Recollection | None:  # type: ignore[override]
        self.calls.append("recollect")
        return self.told.pop(0) if self.told else None

    def recall(self, query: RecallQuery) -> list[Recalled]:
        return self.known

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        answer = super().answer(question, items)
        answer.evidence = evidence_from(item.keyframe for item in items)
        return answer

    def put(self, question: Question, **config: float) -> Answer:
        return Agent(Ports(self, self, self, self, self), AgentConfig(**config)).ask(question)  # type: ignore[arg-type]


def test_the_past_is_told_without_a_drive_or_a_model() -> None:
    home = Home(told=[WHEN])
    answer = home.put(Question("When did you last see the kettle?"))
    assert (answer.text, answer.confidence, answer.evidence) == (WHEN.text, 0.95, PROOF)
    assert home.calls == ["recollect"]
    assert (answer.receipt.steps, answer.receipt.metres, answer.receipt.calls) == (0, 0.0, 0)


def test_an_answer_of_memory_says_that_it_rests_on_labels() -> None:
    assert Home(told=[WHEN]).put(Question("When did you last see the kettle?")).receipt.privileged == ("labels",)
    assert Home(shows={1: 0.8}).put(LEFT).receipt.privileged == ()  # nothing came from memory's things
    told = _Labelled(told=[WHEN]).put(Question("When did you last see the kettle?"))
    assert told.receipt.privileged == ("labels",)  # the answerer was not asked
    assert _Labelled(shows={1: 0.8}).put(LEFT).receipt.privileged == ("LabelAnswerer",)


class _Labelled(Home):
    def spent(self) -> Receipt:
        return Receipt(privileged=("LabelAnswerer",))


@pytest.mark.parametrize("now", [
    OLD._replace(text="in the kitchen (today)", evidence=evidence_from([view(9)]), verify=True),
    OLD._replace(text="in the kitchen (yesterday); it was gone today", verify=False)])
def test_where_something_was_left_long_ago_is_looked_at_again(now: Recollection) -> None:
    """Still there, or gone: memory is asked once more after a look round at the place."""
    home = Home(told=[OLD, now])
    answer = home.put(LEFT)
    assert home.calls == ["recollect", "drive", "look", "recollect"]
    assert home.goals_driven == [PROOF[0].pose]
    assert (answer.text, answer.evidence, answer.error) == (now.text, now.evidence, ErrorCode.NONE)


def test_a_place_that_is_not_reached_leaves_what_was_remembered() -> None:
    home = Home(told=[OLD, OLD], code=NavCode.BLOCKED)
    answer = home.put(LEFT)
    assert (answer.text, answer.error) == (OLD.text, ErrorCode.NONE)


def test_a_drive_that_fails_is_named_beside_what_was_remembered() -> None:
    answer = Home(told=[OLD], code=NavCode.FAILED).put(LEFT)
    assert answer.error is ErrorCode.NAVIGATION and "motors" in answer.message
    assert (answer.text, answer.evidence) == (OLD.text, PROOF)
    assert answer.receipt.privileged == ("labels",)


def test_what_was_forgotten_meanwhile_is_told_as_it_was() -> None:
    assert Home(told=[OLD, None]).put(LEFT).text == OLD.text


@pytest.mark.parametrize(("question", "told", "now_ns"), [
    (LEFT._replace(may_explore=False), OLD, 8 * HOUR),
    (LEFT, OLD._replace(verify=False), 8 * HOUR),
    (LEFT, OLD, PROOF[0].stamp_ns + 4 * HOUR),  # as fresh as agent.stale_s asks for
    (LEFT._replace(limits=Limits(seconds=1e-9)), OLD, 8 * HOUR)])
def test_there_is_no_drive_where_none_is_wanted(question: Question, told: Recollection, now_ns: int) -> None:
    home = Home(told=[told], now_ns=now_ns)
    assert home.put(question).text == told.text
    assert home.calls == ["recollect"]


def test_an_accepted_risk_counts_for_memory_too() -> None:
    unsure = WHEN._replace(confidence=0.6)
    assert Home(told=[unsure]).put(Question("When did you last see it?")).text == WHEN.text
    question = Question("When did you last see it?")
    answer = _with_risk(Home(told=[unsure]), question)
    assert answer.abstained and "accepted risk" in answer.message
    assert _with_risk(Home(told=[unsure]), question._replace(force_guess=True)).text == WHEN.text


def _with_risk(home: Home, question: Question) -> Answer:
    return home.put(question, risk=0.1, calibration="label")  # type: ignore[arg-type]


def test_options_are_left_to_the_answerer() -> None:
    home = Home(told=[WHEN], shows={1: 0.8})
    answer = home.put(LEFT._replace(choices=("in the kitchen", "in the bath")))
    assert answer.text == "in the kitchen" and "recollect" not in home.calls


def _remembered(stamp_ns: int) -> list[Recalled]:
    old = view(1)
    return [Recalled(Keyframe(1, stamp_ns, old.map_from_base, b""), 1.0, "words")]


def test_a_fresh_memory_answers_at_once_and_a_stale_one_is_looked_at() -> None:
    asked = Question("What color is the kettle?")
    fresh = Home(known=_remembered(7 * HOUR))
    assert fresh.put(asked).text == "in the kitchen"
    assert fresh.calls == ["recollect", "answer"]
    stale = Home(known=_remembered(HOUR))
    assert stale.put(asked).text == "in the kitchen"
    assert stale.calls == ["recollect", "answer", "drive", "look", "answer"]
    assert stale.goals_driven == [view(1).pose]


def test_a_picture_of_a_clock_that_was_ahead_is_no_proof_for_ever() -> None:
    home = Home(known=_remembered(10**6 * HOUR))
    assert home.put(Question("What color is the kettle?")).text == "in the kitchen"
    assert home.calls == ["recollect", "answer", "drive", "look", "answer"]


def test_a_stale_memory_that_no_longer_holds_is_searched_for() -> None:
    home = Home(known=_remembered(HOUR), after_confirming=0.2, goals=2)
    assert home.put(Question("What color is the kettle?")).confidence == 0.2
    assert home.calls[:5] == ["recollect", "answer", "drive", "look", "answer"]
    assert home.calls.count("drive") > 1  # goes on


@pytest.mark.parametrize("question", [
    Question("What color is the kettle?", may_explore=False),
    Question("What color is the kettle?", limits=Limits(calls=1))])
def test_a_stale_memory_is_told_where_no_drive_is_allowed(question: Question) -> None:
    home = Home(known=_remembered(HOUR))
    assert home.put(question).text == "in the kitchen"
    assert "drive" not in home.calls


class _Pictured(Home):
    """Its answerer looks at pictures, and notes which."""

    advises = True

    def recall(self, query: RecallQuery) -> list[Recalled]:
        return self.known[:query.limit]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        self.items = items
        return super().answer(question, items)


def test_a_model_that_answers_from_memory_alone_is_shown_views_that_differ() -> None:
    waited = [replace(view(i), map_from_base=Pose2(0.002 * i, 0.0, 0.0).transform()) for i in range(1, 40)]
    passed = [replace(view(i), map_from_base=Pose2(3.0 * i, 0.0, 0.0).transform()) for i in range(40, 43)]
    known = [Recalled(one, 0.0, "not described") for one in [*waited, *passed]]
    for asked, told in (("What color is the kettle?", False), ("Was the kettle moved?", True)):
        home = _Pictured(known=known)
        home.put(Question(asked, may_explore=False), recall_limit=6)
        assert {item.keyframe.id for item in home.items} >= {40, 41, 42} and len(home.items) == 4
        assert all(("s after the start" in item.keyframe.caption) is told for item in home.items)
    reader = _Pictured(known=known)
    reader.advises = False  # who reads labels gets what fits, as ever
    reader.put(Question("What color is the kettle?", may_explore=False), recall_limit=6)
    assert [item.keyframe.id for item in reader.items] == [1, 2, 3, 4, 5, 6]


def test_with_a_real_memory_a_thing_that_was_moved_is_told_where_it_is_now(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memory.sqlite")
    store.reset("first", map_name="home")
    store.take(frame(SECOND, boxes={1: (20, 16, 32, 30), 2: (0, 30, 60, 46)}), LABELS)
    store.reset("second", keep=True, map_name="home")

    class Robot(Home):
        """Sees at the old place that it is empty, and the kettle elsewhere on the way."""

        def recollect(self, question: str) -> Recollection | None:  # type: ignore[override]
            self.calls.append("recollect")
            return store.recollect(question)

        def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance, what: str = "drive") -> NavResult:
            if what == "drive":
                moved = {1: LABELS[1]._replace(room="study", attributes={"colour": "red", "support": "desk"})}
                store.take(frame(self.now_ns, Pose2(9.0, 0.0, 0.0), {1: (20, 16, 40, 30)}), moved)
            else:
                for i in range(1, 6):
                    store.take(frame(self.now_ns + i * SECOND, boxes={}, depth=4.0), LABELS)
            self.now_ns += 6 * SECOND
            return super().go_to(goal, deadline_s, allowance, what)

    answer = Robot().put(LEFT)
    assert answer.text.startswith("in the study, on the desk (")
    assert [o.gone_ns > 0 for o in store.objects("kettle")] == [False, True]
    store.close()


@dataclass
class Diary(Home):
    """A robot on Friday 20 November 2026 at 15:30 UTC; `queries` are the queries to its memory."""

    now_ns: int = 1_795_188_600 * SECOND
    queries: list[RecallQuery] = field(default_factory=list)

    def recall(self, query: RecallQuery) -> list[Recalled]:
        self.queries.append(query)
        return self.known


def test_a_time_that_is_over_is_answered_from_its_views_and_without_a_drive() -> None:
    diary = Diary(known=[Recalled(view(1), 1.0, "words")])
    answer = diary.put(Question("Was the lamp in the study on yesterday evening?"))
    query, = diary.queries
    assert query.text == "Was the lamp in the study on ?"
    assert 0 < query.before_ns - query.after_ns < 6 * HOUR < diary.now_ns - query.before_ns
    assert not answer.abstained and not diary.goals_driven
    assert answer.understood == "is the lamp in the study on, yesterday evening"


def test_a_time_without_views_is_said() -> None:
    answer = Diary().put(Question("Was the lamp on yesterday evening?"))
    assert answer.abstained and answer.message.startswith("memory holds no view of that time: 'yesterday")


@pytest.mark.parametrize(("text", "why"), [
    ("Was the lamp on at 9?", "'at 9' may be in the morning or in the evening: say 9:00 or 21:00"),
    ("What was on the table on 31 February?", "'31 February' is not in the calendar: name another day"),
    ("Where is the mug every morning?", "'every morning' is a repeated time, and memory knows no habits that "
     "fit: name one time, such as yesterday morning or last Monday")])
def test_a_time_that_is_not_understood_is_named_before_anything_is_done(text: str, why: str) -> None:
    diary = Diary(shows={1: 0.9})
    answer = diary.put(Question(text))
    assert (answer.abstained, answer.message, diary.goals_driven) == (True, why, [])


def test_a_time_in_another_sentence_is_not_asked_about() -> None:
    diary = Diary(shows={1: 0.9})
    assert not diary.put(Question("I was out last night. Is the lamp on?")).abstained
    assert all(not query.after_ns for query in diary.queries)


def test_on_a_clock_without_a_date_only_other_days_are_refused() -> None:
    def said(text: str) -> str:
        return Home(shows={1: 0.9}).put(Question(text)).message

    assert said("Was the lamp on yesterday evening?").startswith("'yesterday evening' is not understood here")
    assert said("Was the bed made this morning?") == said("Did I clean the counters before dinner?") == ""


def test_what_is_seen_meanwhile_does_not_answer_a_question_about_yesterday() -> None:
    diary = Diary(shows={1: 0.9}, known=[Recalled(view(1), 1.0, "words")])
    agent = Agent(Ports(diary, diary, diary, diary, diary))
    for text, waits in (("Was the lamp on yesterday evening?", True), ("Is the lamp on?", False)):
        episode = agent.episode(Question(text), lambda progress: None, lambda: False)
        assert episode.memory.asks_of_then() is waits
        assert not waits or WaitingQuestion(episode).consider() is None
