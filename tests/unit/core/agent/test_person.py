"""Inquiries to a person: whether the robot may drive."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.person import Replies
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.errors import ConfigError, ErrorCode
from eqa_nodes.core.protocols import Nobody, Person, Ports
from eqa_nodes.core.types.floor import Allowance, Decision, NavCode, NavResult, WeighedOption, joined, parted
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import CONFIRM, DRY, GO, MAY_I_DRIVE, NO_REPLY, Inquiry
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Limits, Question, RankedRegion, ViewAssessment
from eqa_nodes.testing.waiting import WAIT_S
from tests.fixtures.agent_world import World

ROUND = "turn once on the spot (to see what is around)"
RUNNER_UP = "a door, 3.0 m away: it is farther away"
QUESTION = Question("Where is the kettle?", "q")


@dataclass
class Rooms(World):
    """A robot at the origin whose policy goes on to the next place whenever it did not get to the last one.

    enforces: what its navigator is set to; it refuses what that does not allow, as the real ones do.
    """

    shows: dict[int, float] = field(default_factory=dict)
    enforces: str = GO
    places: int = 9
    shown: list[Progress] = field(default_factory=list)
    permitted: list[bool] = field(default_factory=list)

    def last(self) -> tuple[int, Pose2]:
        return self.seen, Pose2(0.0, 0.0, 0.0)

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance, what: str = "drive") -> NavResult:
        self.permitted.append(allowance.permitted)
        if self.enforces == DRY or (self.enforces == CONFIRM and not allowance.permitted):
            return NavResult(NavCode.NOT_ALLOWED, f"node.drive is {self.enforces}")
        return super().go_to(goal, deadline_s, allowance, what)

    def decide(self, question: Question, assessments: Sequence[ViewAssessment], regions: Sequence[RankedRegion],
               advice: Sequence[WeighedOption] = ()) -> Decision:
        self.places -= 1
        n = 9 - self.places
        reason = f"goes to room {n}: 40 % to see the answer, {n}.2 m away, best of 2"
        return Decision(Pose2(float(n), 0.0, 0.0), joined(reason, RUNNER_UP))

    def asked_by(self, drive: str, person: Person, question: Question = QUESTION, **config: object) -> Answer:
        ports = Ports(self, self, self, self, self, person)
        return Agent(ports, AgentConfig(**config), self.shown.append, drive).ask(question)  # type: ignore[arg-type]

    def asked_for(self) -> list[str]:
        return [p.inquiry.text for p in self.shown if p.inquiry is not None and p.inquiry.open]


class Saying:
    """A person with a reply to each inquiry in turn; the last one also to what follows."""

    def __init__(self, *replies: int) -> None:
        self._replies = list(replies)

    def ask(self, inquiry: Inquiry, announce: Callable[[], None], canceled: Callable[[], bool]) -> int:
        assert inquiry.kind == MAY_I_DRIVE and inquiry.options[0] == "yes" and inquiry.question == QUESTION.text
        announce()
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


def test_a_dry_drive_moves_nothing_shows_its_goals_and_answers_from_what_is_in_view() -> None:
    world = Rooms({1: 0.8}, seen=1, enforces=DRY)
    answer = world.asked_by(DRY, Nobody())
    assert answer.text == "in the kitchen" and answer.error is ErrorCode.NONE and not world.permitted
    assert answer.message == "dry drive, nothing moved; the robot would 1. " + ROUND
    world = Rooms(enforces=DRY)
    answer = world.asked_by(DRY, Nobody())
    goals = [p.decision.goal for p in world.shown if p.decision is not None]
    assert goals == [Pose2(float(x), 0.0, 0.0) for x in range(4)] and not world.permitted and not world.asked_for()
    reasons = [parted(p.reason) for p in world.shown if p.decision is not None]
    assert all(own.startswith("dry drive: it would ") for own, _ in reasons)
    assert [second for _, second in reasons] == ["", *3 * [RUNNER_UP]]
    assert answer.abstained and answer.message.endswith(
        f"1. {ROUND}; 2. drive 1.0 m to room 1 (40 % to see the answer); "
        "3. drive 2.0 m to room 2 (40 % to see the answer); "
        "4. drive 3.0 m to room 3 (40 % to see the answer)")


def test_each_drive_is_asked_for_in_one_sentence_and_made_after_a_yes() -> None:
    world = Rooms({3: 0.8}, enforces=CONFIRM)
    answer = world.asked_by(CONFIRM, Saying(1))
    assert answer.text == "in the kitchen" and answer.message == "" and world.permitted == [True] * 3
    assert world.asked_for() == [
        "May I turn once on the spot (to see what is around)?",
        "May I drive 1.0 m to room 1 (40 % to see the answer)?",
        "May I drive 2.0 m to room 2 (40 % to see the answer)?"]
    replies = [p.inquiry.reply for p in world.shown if p.inquiry is not None and not p.inquiry.open]
    assert replies == [1, 1, 1]
    goal_shown_while_it_asks = [p.decision.goal for p in world.shown if p.inquiry and p.inquiry.open and p.decision]
    assert goal_shown_while_it_asks[1] == Pose2(1.0, 0.0, 0.0)


def test_a_refused_goal_is_followed_by_the_next_one_and_the_answer_names_it() -> None:
    world = Rooms({2: 0.8}, enforces=CONFIRM)
    answer = world.asked_by(CONFIRM, Saying(1, 2, 1))
    assert answer.text == "in the kitchen" and world.permitted == [True, True]
    assert answer.message == ("not allowed: 1. drive 1.0 m to room 1 (40 % to see the answer): "
                              "a person said no")


@pytest.mark.parametrize(("reply", "why"), [(3, "a person said no"), (NO_REPLY, "nobody replied in time")])
def test_the_last_no_and_no_reply_end_the_drives_with_what_is_known(reply: int, why: str) -> None:
    world = Rooms({9: 0.8}, enforces=CONFIRM)
    answer = world.asked_by(CONFIRM, Saying(1, reply))
    assert answer.text == "in the kitchen" and answer.error is ErrorCode.NONE and len(world.asked_for()) == 2
    assert world.permitted == [True] and answer.message.endswith(why)


def test_who_refuses_everything_is_not_asked_for_ever() -> None:
    world = Rooms(enforces=CONFIRM, places=9)
    world.asked_by(CONFIRM, Saying(2), max_failed_legs=3)
    assert len(world.asked_for()) == 3 and not world.permitted


@pytest.mark.parametrize("enforces", [DRY, CONFIRM])
def test_an_agent_that_was_set_otherwise_cannot_drive_either(enforces: str) -> None:
    world = Rooms(enforces=enforces)
    answer = world.asked_by(GO, Nobody())
    assert world.drives == 0 and answer.error is ErrorCode.NONE and f"node.drive is {enforces}" in answer.message


def test_the_drive_to_the_evidence_is_asked_for_too() -> None:
    world = Rooms({1: 0.8}, enforces=CONFIRM)
    evidence = Answer("in the kitchen", 0.9)
    assert not evidence.evidence  # nothing to drive to: nobody is asked
    answer = world.asked_by(CONFIRM, Saying(1), QUESTION._replace(show=True))
    assert "there is nothing to drive to" in answer.message and len(world.asked_for()) == 1


def test_a_question_that_may_not_explore_asks_for_no_drive() -> None:
    world = Rooms({1: 0.8}, enforces=CONFIRM)
    world.asked_by(CONFIRM, Saying(1), QUESTION._replace(may_explore=False))
    assert not world.shown or not world.asked_for()


def replied_by(replies: Replies, told: list[Inquiry], option: int) -> Callable[[Progress], None]:
    """Return a listener that replies from a thread of its own."""
    def listen(progress: Progress) -> None:
        if progress.inquiry is not None and progress.inquiry.open:
            told.append(progress.inquiry)
            threading.Thread(target=replies.reply, args=(progress.inquiry.id, option), daemon=True).start()

    return listen


def test_replies_come_from_other_threads_and_each_counts_for_its_inquiry_alone() -> None:
    world, replies, told = Rooms({3: 0.8}, enforces=CONFIRM), Replies(), list[Inquiry]()
    ports = Ports(world, world, world, world, world, replies)
    agent = Agent(ports, AgentConfig(reply_s=WAIT_S), replied_by(replies, told, 1), CONFIRM)
    assert agent.ask(QUESTION).text == "in the kitchen" and len({i.id for i in told}) == 3
    with pytest.raises(ConfigError, match="waits for a reply"):
        replies.reply(told[0].id, 1)  # a yes that comes late allows nothing


def test_a_reply_that_is_no_option_is_refused_and_the_inquiry_stays_open() -> None:
    replies, refused = Replies(), list[str]()
    inquiry = Inquiry("i", MAY_I_DRIVE, "May I?", ("yes", "no"), WAIT_S)

    def announce() -> None:
        for option in (0, 3, -1):
            with pytest.raises(ConfigError) as error:
                replies.reply("i", option)
            refused.append(str(error.value))
        replies.reply("i", 2)
        with pytest.raises(ConfigError):  # the first one counts
            replies.reply("i", 1)

    assert replies.ask(inquiry, announce, lambda: False) == 2 and "1 = yes, 2 = no" in refused[0]


def test_without_a_reply_the_deadline_or_the_limit_of_seconds_ends_the_wait() -> None:
    world = Rooms(enforces=CONFIRM)
    answer = world.asked_by(CONFIRM, Replies(), reply_s=0.05)
    assert not world.permitted and "nobody replied in time" in answer.message
    world = Rooms(enforces=CONFIRM)
    answer = world.asked_by(CONFIRM, Replies(), QUESTION._replace(limits=Limits(seconds=0.2)), reply_s=10 * WAIT_S)
    assert not world.permitted and "ended by the limit of 0.2 seconds" in answer.message


def test_a_question_that_is_called_off_waits_no_longer() -> None:
    world = Rooms(enforces=CONFIRM)

    def call_off(progress: Progress) -> None:
        if progress.inquiry is not None:
            agent.cancel()

    ports = Ports(world, world, world, world, world, Replies())
    agent = Agent(ports, AgentConfig(reply_s=10 * WAIT_S), call_off, CONFIRM)
    assert agent.ask(QUESTION).error is ErrorCode.CANCELED and not world.permitted
