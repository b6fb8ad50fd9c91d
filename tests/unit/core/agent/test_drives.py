"""Drives that do not move the robot end a search; looks round where it stands are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from eqa_nodes.core.agent.assessments import ViewAssessments
from eqa_nodes.core.agent.bounds import Bounds
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.cost import CostTracker
from eqa_nodes.core.agent.drives import Drives
from eqa_nodes.core.agent.legs import Legs
from eqa_nodes.core.errors import NavigationError
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Decision, NavCode, NavResult, Travelled
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Limits, Receipt

HERE, ELSEWHERE = Pose2(0.0, 0.0, 0.0), Pose2(3.0, 0.0, 0.0)


class Stuck:
    """A robot that turns and does not get anywhere; odometry and legs at once."""

    def travelled(self) -> Travelled:
        return Travelled(0, 0.0)

    def last(self) -> tuple[int, Pose2]:
        return 0, HERE

    def allowed(self, decision: Decision) -> bool:
        return True

    def go_to(self, decision: Decision) -> NavResult:
        return NavResult(NavCode.SUCCEEDED)

    def look_around(self, decision: Decision) -> NavResult:
        return NavResult(NavCode.SUCCEEDED)


class Refused(Stuck):
    """A robot whose navigator takes no goal, after so many drives that moved it."""

    def __init__(self, moves: int = 0) -> None:
        self.moves, self.metres = moves, 0.0

    def travelled(self) -> Travelled:
        return Travelled(0, self.metres)

    def go_to(self, decision: Decision) -> NavResult:
        self.moves -= 1
        self.metres += self.moves >= 0
        return super().go_to(decision) if self.moves >= 0 else NavResult(NavCode.BLOCKED, "Nav2 rejected the goal")


class Spent:
    """What was spent so far."""

    poses = 1

    def __init__(self, **spent: float) -> None:
        self._receipt = Receipt(**spent)  # type: ignore[arg-type]

    def receipt(self) -> Receipt:
        return self._receipt


def bounds(limits: Limits = Limits(), **spent: float) -> Bounds:
    return Bounds(limits, cast(CostTracker, Spent(**spent)), lambda: False)


def drives_of(robot: Stuck) -> Drives:
    ports = Ports(robot, robot, robot, robot, robot)  # type: ignore[arg-type]
    return Drives(ports, AgentConfig(max_failed_legs=3), cast(Legs, robot), cast(ViewAssessments, None), bounds(),
                  lambda *_: None)


def driven(decisions: Sequence[Decision]) -> int:
    """Return how many decisions a stuck robot follows before it gives up."""
    drives = drives_of(Stuck())
    for n, decision in enumerate(decisions):
        try:
            drives.follow(decision)
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
    drives = drives_of(robot)
    assert drives.ended("nothing is left") == "nothing is left", "nobody has driven yet"
    drives.follow(AWAY)
    with pytest.raises(NavigationError, match=f"no drive has moved the robot: {why}"):
        drives.ended("nothing is left")
    drives.follow(AWAY)
    with pytest.raises(NavigationError, match=f"3 drives in a row did not move the robot: {why}"):
        drives.follow(AWAY)


def test_the_drive_that_failed_last_is_named_where_others_did_not() -> None:
    drives = drives_of(Refused(moves=1))
    drives.follow(AWAY)
    assert drives.ended("nothing is left") == "nothing is left"
    drives.follow(AWAY)
    assert drives.ended("nothing is left") == ("nothing is left; the last drive did not move the robot: "
                                               "Nav2 rejected the goal")


@pytest.mark.parametrize(("limits", "spent", "drives", "left"), [
    (Limits(), {"steps": 40, "metres": 10.0}, 2, -1), (Limits(steps=100), {"steps": 40}, 0, -1),
    (Limits(steps=100), {"steps": 40}, 2, 3), (Limits(steps=100, metres=12.0), {"steps": 40, "metres": 10.0}, 2, 0),
    (Limits(steps=100), {"steps": 120}, 2, 0), (Limits(metres=50.0), {"metres": 5e-324}, 1, 999)])
def test_how_many_drives_are_left_is_told_by_those_before(limits: Limits, spent: dict[str, float], drives: int,
                                                          left: int) -> None:
    assert bounds(limits, **spent).legs_left(drives) == left
