"""The drives of a question end with its time, and never leave its area."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from eqa_nodes.core.geometry import Pose2
from eqa_nodes.core.legs import Legs
from eqa_nodes.core.types.floor import Decision, NavCode, NavResult
from eqa_nodes.core.types.questions import Limits, Receipt

SQUARE = ((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0))


class Waiting:
    """A navigator whose drives end only when they are called off."""

    def __init__(self) -> None:
        self.goals: list[Any] = []
        self.canceled = threading.Event()

    def go_to(self, goal: Pose2, deadline_s: float) -> NavResult:
        self.goals.append((goal, deadline_s))
        return NavResult(NavCode.CANCELED if self.canceled.wait(60.0) else NavCode.SUCCEEDED)

    def look_around(self, deadline_s: float) -> NavResult:
        return self.go_to(Pose2(0.0, 0.0, 0.0), deadline_s)

    def cancel(self) -> None:
        self.canceled.set()


class Spent:
    """An account that has used up so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def receipt(self) -> Receipt:
        return Receipt(seconds=self.seconds)


@pytest.mark.parametrize("spent_s", [9.9, 10.0, 11.0])
@pytest.mark.parametrize("drive", [lambda legs: legs.go_to(Pose2(1.0, 1.0, 0.0)), lambda legs: legs.look_around()])
def test_a_drive_is_called_off_when_the_time_is_over(spent_s: float, drive: Any) -> None:
    navigator = Waiting()
    assert drive(Legs(navigator, Limits(seconds=10.0), Spent(spent_s), 7.0)).code is NavCode.CANCELED
    assert [deadline for _, deadline in navigator.goals] == [7.0]


def test_a_drive_that_ends_in_time_is_not_called_off_later() -> None:
    navigator = Waiting()
    navigator.canceled.set()  # ends at once
    before = threading.active_count()
    Legs(navigator, Limits(seconds=3600.0), Spent(0.0), 7.0).go_to(Pose2(1.0, 1.0, 0.0))
    assert not [t for t in threading.enumerate() if isinstance(t, threading.Timer) and not t.finished.is_set()]
    assert threading.active_count() <= before + 1  # the timer's thread may still be ending


def test_no_goal_outside_the_area_is_sent() -> None:
    navigator = Waiting()
    navigator.canceled.set()
    legs = Legs(navigator, Limits(area=SQUARE), Spent(0.0), 7.0)
    assert legs.go_to(Pose2(3.0, 1.0, 0.0)).code is NavCode.UNREACHABLE and not navigator.goals
    assert legs.within(Decision(Pose2(3.0, 1.0, 0.0), "a frontier")).goal is None
    assert legs.within(Decision(Pose2(1.0, 1.0, 0.0), "a frontier")).goal == Pose2(1.0, 1.0, 0.0)
    assert legs.go_to(Pose2(1.0, 1.0, 0.0)).code is NavCode.CANCELED and len(navigator.goals) == 1
