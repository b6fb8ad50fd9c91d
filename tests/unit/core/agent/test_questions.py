"""Several questions and one body: order, places, cancelling one, and views that are used for those that wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent, QuestionQueue, QueuedQuestion
from eqa_nodes.core.errors import ErrorCode, ModelError, QueueFull, StaleData
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Allowance, NavCode, NavResult
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Limits, Question, Recalled, ViewAssessment
from eqa_nodes.core.types.views import Keyframe
from tests.fixtures.agent_world import World

WAIT_S = 60.0
KETTLE, LAMP, MUG = (Question(f"Where is the {what}?", what) for what in ("kettle", "lamp", "mug"))


class House(World):
    """A world of several questions: `shows` of each by its id; each drive lasts until `go` lets it."""

    def __init__(self, shows: dict[str, dict[int, float]]) -> None:
        super().__init__({})
        self.of, self.driving, self.go = shows, threading.Event(), threading.Semaphore(0)
        self.paid: list[tuple[str, str]] = []
        self.broken = ""

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance, what: str = "drive") -> NavResult:
        if what == "drive":
            self.canceled.clear()
            self.seen += 1  # on the way
            self.driving.set()
            while not self.go.acquire(timeout=0.01):
                if self.canceled.is_set():
                    return NavResult(NavCode.CANCELED)
            self.seen -= 1
        return super().go_to(goal, deadline_s, allowance, what)

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        self.paid.append((question.id, "assess"))
        super().assess(question, views)
        if self.broken == question.id:
            raise ModelError("the model is gone")
        return [ViewAssessment(v.id, v.stamp_ns, 0.9, self.of.get(question.id, {}).get(v.id, 0.0)) for v in views]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        self.paid.append((question.id, "answer"))
        super().answer(question, items)
        return Answer(f"there: {question.id}", 0.9)

    def regions(self, question: Question) -> list:  # type: ignore[type-arg]
        self.paid.append((question.id, "regions"))
        return super().regions(question)


class Ear:
    """Hears what becomes of one question; `refuses` is raised when its turn comes."""

    def __init__(self, refuses: Exception | None = None) -> None:
        self.places: list[int] = []
        self.phases: list[str] = []
        self.ended = threading.Event()
        self.answers: list[Answer] = []
        self.begun = False
        self._refuses = refuses

    def progress(self, progress: Progress) -> None:
        self.phases.append(progress.phase)
        if progress.phase == "queued":
            self.places.append(progress.place)

    def begins(self) -> None:
        self.begun = True
        if self._refuses is not None:
            raise self._refuses

    def ends(self, answer: Answer) -> None:
        self.answers.append(answer)
        self.ended.set()

    def answer(self) -> Answer:
        assert self.ended.wait(WAIT_S)
        (answer,) = self.answers
        return answer


@contextmanager
def queue(house: House, limit: int = 32, **config: object) -> Iterator[QuestionQueue]:
    agent = Agent(Ports(house, house, house, house, house), AgentConfig(**config))  # type: ignore[arg-type]
    made = QuestionQueue(agent, limit)
    try:
        yield made
    finally:
        made.close()


def put(line: QuestionQueue, *questions: Question) -> list[tuple[QueuedQuestion, Ear]]:
    ears = [Ear() for _ in questions]
    return [(line.put(q, ear), ear) for q, ear in zip(questions, ears, strict=True)]


def test_questions_are_answered_in_order_and_those_that_wait_hear_their_place() -> None:
    house = House({q.id: dict.fromkeys(range(3, 20, 2), 0.8) for q in (KETTLE, LAMP, MUG)})
    with queue(house) as line:
        (_, first), *_ = put(line, KETTLE)
        assert house.driving.wait(WAIT_S)
        (_, second), (_, third) = put(line, LAMP, MUG)
        house.go.release(50)
        answers = [ear.answer() for ear in (first, second, third)]
    assert [a.text for a in answers] == ["there: kettle", "there: lamp", "there: mug"]
    assert second.places[0] == 1 and third.places[0] == 2 and third.places[-1] == 1
    work = [phase for phase in third.phases if phase != "queued"]
    assert third.phases[-len(work):] == work  # never queued again after its turn has come


def test_one_of_three_is_canceled_and_the_others_are_answered() -> None:
    house = House({q.id: {3: 0.8, 5: 0.8} for q in (KETTLE, LAMP, MUG)})
    with queue(house) as line:
        (_, first), (lamp, second), (_, third) = put(line, KETTLE, LAMP, MUG)
        assert house.driving.wait(WAIT_S)
        line.cancel(lamp)
        assert second.answer().error is ErrorCode.CANCELED and not second.begun and not first.ended.is_set()
        line.cancel(lamp)  # it has ended: nothing more comes of it
        house.go.release(50)
        assert first.answer().text == "there: kettle" and third.answer().text == "there: mug"
    assert ("lamp", "assess") not in house.paid


def test_the_running_one_is_canceled_alone() -> None:
    house = House({"lamp": {2: 0.8}})
    with queue(house) as line:
        (kettle, first), (_, second) = put(line, KETTLE, LAMP)
        assert house.driving.wait(WAIT_S)
        line.cancel(kettle)
        assert first.answer().error is ErrorCode.CANCELED
        assert second.answer().text == "there: lamp"


def test_all_are_called_off_at_the_end() -> None:
    house = House({})
    with queue(house) as line:
        ears = [ear for _, ear in put(line, KETTLE, LAMP, MUG)]
        assert house.driving.wait(WAIT_S)
    assert [ear.answer().error for ear in ears] == 3 * [ErrorCode.CANCELED]


def test_the_queue_is_bounded() -> None:
    house = House({})
    with queue(house, limit=2) as line:
        put(line, KETTLE)
        assert house.driving.wait(WAIT_S)
        put(line, LAMP, MUG)
        with pytest.raises(QueueFull, match="2 questions wait already"):
            line.put(KETTLE, Ear())


def test_what_is_seen_for_one_answers_another_which_is_not_driven_for() -> None:
    """Each pays for its own calls; metres are the driven one's."""
    house = House({"kettle": {3: 0.8}, "lamp": {2: 0.9}})
    with queue(house, answer_waiting=True, look_s=0.01) as line:
        (_, first), (_, second) = put(line, KETTLE, LAMP)
        lamp = second.answer()
        assert not second.begun and not first.ended.is_set()
        house.go.release(50)
        kettle = first.answer()
    assert lamp.text == "there: lamp" and lamp.receipt.metres == 0.0 and lamp.receipt.steps == 0
    assert kettle.text == "there: kettle" and kettle.receipt.metres == house.drives > 1
    for answer, who in ((kettle, "kettle"), (lamp, "lamp")):
        assert answer.receipt.calls == sum(by == who for by, _ in house.paid) > 0
    assert set(second.phases) == {"queued"}


def test_without_the_option_nothing_is_judged_for_who_waits() -> None:
    house = House({"kettle": {3: 0.8}, "lamp": {2: 0.9}})
    with queue(house, look_s=0.01) as line:
        (_, first), (_, second) = put(line, KETTLE, LAMP)
        assert house.driving.wait(WAIT_S)
        house.go.release(50)
        assert first.answer().text and second.answer().text
    assert second.begun


def test_a_question_that_waits_keeps_within_its_calls() -> None:
    house = House({"kettle": {9: 0.8}})
    with queue(house, answer_waiting=True, look_s=0.01) as line:
        put(line, KETTLE)
        (_, second), *_ = put(line, LAMP._replace(limits=Limits(calls=1)))
        house.go.release(50)
        second.answer()
    assert sum(by == "lamp" and what == "assess" for by, what in house.paid) <= 1


def test_what_fails_while_it_waits_is_told_in_its_turn() -> None:
    house = House({"kettle": {3: 0.8}})
    house.broken = "lamp"
    with queue(house, answer_waiting=True, look_s=0.01) as line:
        (_, first), (_, second) = put(line, KETTLE, LAMP)
        house.go.release(50)
        assert first.answer().text == "there: kettle"
        assert second.answer().error is ErrorCode.MODEL and second.begun


def test_a_turn_that_cannot_begin_is_a_named_end_and_the_next_one_has_its_turn() -> None:
    house = House({"lamp": {1: 0.8}})
    with queue(house) as line:
        refused, broken, fine = Ear(StaleData("no episode has begun: no odometry")), Ear(ZeroDivisionError("?")), Ear()
        for ear in (refused, broken, fine):
            line.put(LAMP, ear)
        assert refused.answer().error is ErrorCode.STALE and "no odometry" in refused.answer().message
        assert broken.answer().error is ErrorCode.INTERNAL and fine.answer().text == "there: lamp"


def test_a_pause_comes_between_two_questions() -> None:
    house = House({"kettle": {3: 0.8}, "lamp": {1: 0.8, 4: 0.8}})
    with queue(house) as line:
        (_, first), (_, second) = put(line, KETTLE, LAMP)
        assert house.driving.wait(WAIT_S)
        threading.Timer(0.05, house.go.release, (50,)).start()
        with line.paused():
            assert first.ended.is_set() and not second.begun
        assert second.answer().text == "there: lamp"
