"""Drives keep to the limits and area of a question, a search that goes nowhere ends, and answers are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from eqa_nodes.core.agent.driving import BoundedNavigator, DriveExecutor
from eqa_nodes.core.agent.person import Dialogue, Permission
from eqa_nodes.core.agent.questions import Agent, as_meant
from eqa_nodes.core.errors import ErrorCode, NavigationError
from eqa_nodes.core.language.english import wish
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import FREE, Allowance, Decision, NavCode, NavResult, Travelled
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import CONFIRM, DRY, GO
from eqa_nodes.core.types.questions import Answer, Evidence, Limits, Question, Recalled, Receipt
from tests.fixtures.agent_world import World, context_of

HERE, ELSEWHERE = Pose2(0.0, 0.0, 0.0), Pose2(3.0, 0.0, 0.0)


class Stuck:
    """A robot that turns and does not get anywhere; odometry and legs at once."""

    def travelled(self) -> Travelled:
        return Travelled(0, 0.0)

    def last(self) -> tuple[int, Pose2]:
        return 0, HERE

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance) -> NavResult:
        return NavResult(NavCode.SUCCEEDED)

    def look_around(self, deadline_s: float, allowance: Allowance) -> NavResult:
        return NavResult(NavCode.SUCCEEDED)

    def spent(self) -> Receipt:
        return Receipt()


class Refused(Stuck):
    """A robot whose navigator takes no goal, after so many drives that moved it."""

    def __init__(self, moves: int = 0) -> None:
        self.moves, self.metres = moves, 0.0

    def travelled(self) -> Travelled:
        return Travelled(0, self.metres)

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance) -> NavResult:
        self.moves -= 1
        self.metres += self.moves >= 0
        if self.moves < 0:
            return NavResult(NavCode.BLOCKED, "Nav2 rejected the goal")
        return super().go_to(goal, deadline_s, allowance)


def driver_of(robot: Stuck, drive: str = GO) -> DriveExecutor:
    context = context_of(robot, max_failed_legs=3)
    return DriveExecutor(context, Dialogue(context), drive)


def driven(decisions: Sequence[Decision]) -> int:
    """Return how many decisions a stuck robot follows before it gives up."""
    driver = driver_of(Stuck())
    for n, decision in enumerate(decisions):
        try:
            driver.follow(decision)
        except NavigationError:
            return n
    return len(decisions)


ROUND, AWAY, AWAY_AND_ROUND = Decision(HERE, "", look_around=True), Decision(ELSEWHERE, ""), Decision(
    ELSEWHERE, "", look_around=True)


def test_looks_round_where_it_stands_are_no_failed_drives_and_forgive_none() -> None:
    assert driven([ROUND] * 9) == 9
    assert driven([AWAY, ROUND, AWAY, ROUND, AWAY, AWAY]) == 4
    assert driven([Decision(HERE._replace(yaw=0.5), "")] * 9) == 9  # a turn on the spot is none either
    assert driven([AWAY] * 9) == driven([AWAY_AND_ROUND] * 9) == 2


@pytest.mark.parametrize(("robot", "why"), [(Stuck(), "the navigator says that it arrived"),
                                            (Refused(), "Nav2 rejected the goal")])
def test_where_nothing_is_left_and_no_drive_moved_the_robot_that_is_the_error(robot: Stuck, why: str) -> None:
    driver = driver_of(robot)
    assert driver.ended_by("nothing is left") == "nothing is left", "nobody has driven yet"
    driver.follow(AWAY)
    with pytest.raises(NavigationError, match=f"no drive has moved the robot: {why}"):
        driver.ended_by("nothing is left")
    driver.follow(AWAY)
    with pytest.raises(NavigationError, match=f"3 drives in a row did not move the robot: {why}"):
        driver.follow(AWAY)


@pytest.mark.parametrize(("limits", "spent", "driven", "left"), [
    (Limits(), (40, 10.0), 2, -1), (Limits(steps=100), (40, 0.0), 0, -1),
    (Limits(steps=100), (40, 0.0), 2, 3), (Limits(steps=100, metres=12.0), (40, 10.0), 2, 0),
    (Limits(steps=100), (120, 0.0), 2, 0), (Limits(metres=50.0), (0, 5e-324), 1, 999)])
def test_how_many_drives_are_left_is_told_by_those_before(limits: Limits, spent: tuple[int, float], driven: int,
                                                          left: int) -> None:
    ledger = context_of(Stuck(), limits).ledger
    ledger.travelled = Travelled(*spent)
    assert ledger.drives_left(driven) == left


THERE = Decision(Pose2(1.0, 1.0, 0.0), "")
SQUARE = ((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0))


class Noting:
    """A navigator that notes what each drive was allowed; a robot that has driven; an answerer that was asked."""

    def __init__(self) -> None:
        self.allowed: list[Allowance] = []
        self.driven = Travelled(7, 3.5)

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance) -> NavResult:
        self.allowed.append(allowance)
        return NavResult(NavCode.SUCCEEDED)

    def look_around(self, deadline_s: float, allowance: Allowance) -> NavResult:
        return self.go_to(Pose2(0.0, 0.0, 0.0), deadline_s, allowance)

    def cancel(self) -> None:
        raise AssertionError("nobody calls this drive off")

    def travelled(self) -> Travelled:
        return self.driven

    def spent(self) -> Receipt:
        return Receipt()


def bounded(world: Noting, limits: Limits, drive: str = GO) -> BoundedNavigator:
    context = context_of(world, limits)
    context.ledger.begin()
    world.driven = Travelled(12, 4.75)
    return BoundedNavigator(context, Permission(drive, context, Dialogue(context)))


@pytest.mark.parametrize("drive", ["go_to", "look_around"])
def test_a_drive_is_allowed_what_is_left(drive: str) -> None:
    world = Noting()
    navigator = bounded(world, Limits(steps=30, metres=3.0, seconds=3600.0, area=SQUARE))
    if drive == "go_to":
        navigator.go_to(THERE)
    else:
        navigator.look_around(THERE)
    (allowed,) = world.allowed
    assert allowed.steps == 25 and allowed.metres == pytest.approx(1.75) and allowed.area == SQUARE
    assert 0 < allowed.seconds < 3600.0


def test_what_is_used_up_allows_nothing_and_no_limit_allows_all() -> None:
    world = Noting()
    bounded(world, Limits(steps=3, metres=1.0, seconds=1e-9)).look_around(THERE)
    bounded(world, Limits()).look_around(THERE)
    assert world.allowed[0][:3] == (0, 0, 0)
    assert world.allowed[1] == FREE


def test_no_goal_outside_the_area_is_sent() -> None:
    world = Noting()
    navigator = bounded(world, Limits(area=SQUARE))
    assert navigator.go_to(Decision(Pose2(3.0, 1.0, 0.0), "")).code is NavCode.UNREACHABLE and not world.allowed
    assert navigator.within_area(Decision(Pose2(3.0, 1.0, 0.0), "a frontier")).goal is None
    assert navigator.within_area(Decision(Pose2(1.0, 1.0, 0.0), "a frontier")).goal == Pose2(1.0, 1.0, 0.0)
    assert navigator.go_to(THERE).code is NavCode.SUCCEEDED and len(world.allowed) == 1


@pytest.mark.parametrize(("poses", "code"), [(2, NavCode.OUT_OF_POSES), (3, NavCode.OUT_OF_METRES),
                                             (0, NavCode.OUT_OF_METRES)])
def test_a_drive_that_uses_up_the_poses_says_so(poses: int, code: NavCode) -> None:
    """The start is a pose, and so is the end of the drive."""
    world = Noting()
    navigator = bounded(world, Limits(poses=poses))
    world.go_to = lambda *_: NavResult(NavCode.OUT_OF_METRES)  # type: ignore[method-assign]
    assert navigator.go_to(THERE).code is code


@pytest.mark.parametrize(("goal", "failures"), [
    (Pose2(0.09, 0.0, math.radians(6)), 9), (Pose2(0.09, 0.0, math.radians(4)), 2), (Pose2(0.11, 0.0, 1.0), 2)])
def test_a_turn_of_five_degrees_on_the_spot_is_no_failed_drive(goal: Pose2, failures: int) -> None:
    assert driven([Decision(goal, "")] * 9) == failures


@pytest.mark.parametrize("drive", [CONFIRM, DRY])
def test_what_nobody_was_asked_for_is_not_sent(drive: str) -> None:
    world = Noting()
    navigator = bounded(world, Limits(), drive)
    assert navigator.go_to(THERE).code is navigator.look_around(THERE).code is NavCode.NOT_ALLOWED and not world.allowed


SEEN_FROM = Pose2(3.0, 1.0, 0.5)


@pytest.mark.parametrize(("text", "asks"), [
    ("Show me the cayenne pepper", "Where is the cayenne pepper?"),
    ("take me to the kitchen.", "Where is the kitchen?"),
    ("Could you please show me where the mug is?", "Where is the mug?"),
    ("Please, bring me to my keys!", "Where are my keys?"),
    ("Lead us to it", ""), ("show us what is on the desk, please", "What is on the desk?"),
    ("Show me how to cook", ""), ("show me", ""), ("Show me?", ""), ("Where is the mug?", ""),
    ("What does the show me?", ""), ("Is there a note that says take me to the moon?", "")])
def test_wishes(text: str, asks: str) -> None:
    assert wish(text) == asks
    question = as_meant(Question(text))
    assert (question.text, question.show) == ((asks, True) if asks else (text, False))


def test_options_of_a_benchmark_are_no_wish() -> None:
    question = Question("Show me the mug", choices=("here", "there"))
    assert as_meant(question) == question


def test_directions_in_a_question_are_stated_apart() -> None:
    question = as_meant(Question("Go to the kitchen. Show me the mug", choices=()))
    assert (question.text, question.instruction, question.show) == ("Where is the mug?", "Go to the kitchen.", True)
    given = Question("Stop. Is it on?", instruction="Enter the study.")
    assert as_meant(given) == given


@dataclass
class Guide(World):
    """A robot that answers with evidence and then stands where it was sent, or not: `code`."""

    shows: dict[int, float] = field(default_factory=lambda: {1: 0.9})
    code: NavCode = NavCode.SUCCEEDED
    at: Pose2 = Pose2(0.0, 0.0, 0.0)
    texts: list[str] = field(default_factory=list)

    def last(self) -> tuple[int, Pose2]:
        return self.seen, self.at

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance, what: str = "drive") -> NavResult:
        result = super().go_to(goal, deadline_s, allowance, what)
        if what == "drive":
            self.at = goal if self.code is NavCode.SUCCEEDED else self.at
            return NavResult(self.code, "a door is closed")
        return result

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        self.texts.append(question.text)
        answer = super().answer(question, items)
        answer.evidence = (Evidence(1, 1, SEEN_FROM),)
        return answer

    def put(self, question: Question) -> Answer:
        return Agent(Ports(self, self, self, self, self)).ask(question)


def test_after_the_answer_it_drives_to_the_evidence_and_pays_for_that() -> None:
    guide = Guide()
    answer = guide.put(Question("Show me the kettle"))
    assert answer.shown and guide.at == SEEN_FROM and guide.texts == ["Where is the kettle?"]
    assert guide.calls[-2:] == ["answer", "drive"] and answer.receipt.metres == 2.0
    quiet = Guide()
    assert not quiet.put(Question("Where is the kettle?")).shown and quiet.calls[-1] == "answer"


def test_a_drive_that_ends_elsewhere_is_no_showing() -> None:
    for code in (NavCode.BLOCKED, NavCode.FAILED):
        answer = Guide(code=code).put(Question("Where is the kettle?", show=True))
        assert answer.text and not answer.shown and answer.error is ErrorCode.NONE
        assert "not shown: the drive ended 3.16 m from where it was seen: a door is closed" in answer.message


@pytest.mark.parametrize(("off_m", "turned_deg", "shown"), [
    (0.5, 30.0, True), (0.51, 0.0, False), (0.0, 31.0, False)])
def test_it_shows_within_half_a_metre_and_30_degrees(off_m: float, turned_deg: float, shown: bool) -> None:
    at = Pose2(SEEN_FROM.x - off_m, SEEN_FROM.y, SEEN_FROM.yaw + math.radians(turned_deg) - 1e-9)
    assert Guide(code=NavCode.BLOCKED, at=at).put(Question("Where is the kettle?", show=True)).shown is shown


@pytest.mark.parametrize(("question", "why"), [
    (Question("Where?", show=True, may_explore=False), "asked not to move"),
    (Question("Where?", show=True, limits=Limits(calls=3)), "limits are used up"),
    (Question("Where?", show=True, limits=Limits(area=((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)))), "outside")])
def test_what_keeps_it_from_showing_is_said(question: Question, why: str) -> None:
    guide = Guide()
    answer = guide.put(question)
    assert not answer.shown and "not shown: " in answer.message and why in answer.message
    assert guide.at == Pose2(0.0, 0.0, 0.0) and answer.error is ErrorCode.NONE


def test_there_is_nothing_to_show_for_an_answer_that_is_none() -> None:
    guide = Guide(shows={}, goals=0)
    guide.answer = lambda question, items: Answer(abstained=True)  # type: ignore[method-assign]
    answer = guide.put(Question("Show me the unicorn"))
    assert answer.abstained and "nothing to drive to" in answer.message and guide.calls.count("drive") == 0


def test_a_showing_that_is_called_off_leaves_the_answer() -> None:
    guide = Guide()
    agent = Agent(Ports(guide, guide, guide, guide, guide), listener=lambda p: agent.cancel() if p.phase == "showing"
                  else None)
    answer = agent.ask(Question("Show me the kettle"))
    assert answer.error is ErrorCode.CANCELED and answer.text == "in the kitchen" and not answer.shown
