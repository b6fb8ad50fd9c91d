"""The drives of a question get what its limits still allow, and never leave its area."""

from __future__ import annotations

import math

import pytest

from eqa_nodes.core.agent.cost import CostTracker
from eqa_nodes.core.agent.dialogue import NOBODY, Dialogue
from eqa_nodes.core.agent.legs import Legs
from eqa_nodes.core.agent.permission import Permission
from eqa_nodes.core.types.floor import FREE, Allowance, Decision, NavCode, NavResult, Travelled
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import CONFIRM, DRY, GO, Inquiry
from eqa_nodes.core.types.questions import Limits, Question, Receipt

HERE = Decision(Pose2(1.0, 1.0, 0.0), "")
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


def permission(drive: str) -> Permission:
    def nobody(inquiry: Inquiry, decision: Decision | None) -> None:
        raise AssertionError("nobody is asked here")

    dialogue = Dialogue(Question("Where?"), NOBODY, 1.0, lambda: math.inf, lambda: False, nobody)
    return Permission(drive, dialogue, lambda: Pose2(0.0, 0.0, 0.0), 5, lambda decision: None)


def legs_of(world: Noting, limits: Limits, drive: str = GO) -> Legs:
    account = CostTracker(world, world)  # type: ignore[arg-type]
    account.begin()
    world.driven = Travelled(12, 4.75)
    return Legs(world, limits, account, 7.0, permission(drive))


@pytest.mark.parametrize("drive", ["go_to", "look_around"])
def test_a_drive_is_allowed_what_is_left(drive: str) -> None:
    world = Noting()
    legs = legs_of(world, Limits(steps=30, metres=3.0, seconds=3600.0, area=SQUARE))
    if drive == "go_to":
        legs.go_to(HERE)
    else:
        legs.look_around(HERE)
    (allowed,) = world.allowed
    assert allowed.steps == 25 and allowed.metres == pytest.approx(1.75) and allowed.area == SQUARE
    assert 0 < allowed.seconds < 3600.0


def test_what_is_used_up_allows_nothing_and_no_limit_allows_all() -> None:
    world = Noting()
    legs_of(world, Limits(steps=3, metres=1.0, seconds=1e-9)).look_around(HERE)
    legs_of(world, Limits()).look_around(HERE)
    assert world.allowed[0][:3] == (0, 0, 0)
    assert world.allowed[1] == FREE


def test_no_goal_outside_the_area_is_sent() -> None:
    world = Noting()
    legs = legs_of(world, Limits(area=SQUARE))
    assert legs.go_to(Decision(Pose2(3.0, 1.0, 0.0), "")).code is NavCode.UNREACHABLE and not world.allowed
    assert legs.within(Decision(Pose2(3.0, 1.0, 0.0), "a frontier")).goal is None
    assert legs.within(Decision(Pose2(1.0, 1.0, 0.0), "a frontier")).goal == Pose2(1.0, 1.0, 0.0)
    assert legs.go_to(HERE).code is NavCode.SUCCEEDED and len(world.allowed) == 1


@pytest.mark.parametrize("drive", [CONFIRM, DRY])
def test_what_nobody_was_asked_for_is_not_sent(drive: str) -> None:
    world = Noting()
    legs = legs_of(world, Limits(), drive)
    assert legs.go_to(HERE).code is legs.look_around(HERE).code is NavCode.NOT_ALLOWED and not world.allowed
