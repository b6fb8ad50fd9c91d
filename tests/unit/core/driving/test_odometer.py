"""What odometry says is driven: no more, no less, whatever stands between two places."""

from __future__ import annotations

import math

import pytest

from eqa_nodes.core.driving.drive_budget import Odometer
from eqa_nodes.core.errors import BadFrame

SECOND = 10**9
NOWHERE = ((math.nan, 0.0, 0.0), (0.0, math.inf, 0.0), (0.0, 0.0, -math.inf))


def test_a_way_is_the_sum_of_its_steps() -> None:
    odometer = Odometer(0.5)
    for i in range(11):
        odometer.take((i + 1) * SECOND, (0.1 * i, 0.0, 0.0))
    assert odometer.metres == pytest.approx(1.0) and odometer.newest_ns == 11 * SECOND


@pytest.mark.parametrize("nowhere", NOWHERE)
def test_places_that_are_no_numbers_between_the_others_take_nothing_away(nowhere: tuple[float, float, float]) -> None:
    odometer = Odometer(0.5)
    for i in range(11):
        odometer.take((2 * i + 1) * SECOND, (0.1 * i, 0.0, 0.0))
        with pytest.raises(BadFrame, match="not finite"):
            odometer.take((2 * i + 2) * SECOND, nowhere)
    assert odometer.metres == pytest.approx(1.0) and odometer.newest_ns == 21 * SECOND


def test_a_jump_is_not_driven_and_the_way_goes_on_from_there() -> None:
    odometer = Odometer(0.5)
    odometer.take(SECOND, (0.0, 0.0, 0.0))
    with pytest.raises(BadFrame, match=r"jumped by 9.0 m"):
        odometer.take(SECOND + SECOND // 10, (9.0, 0.0, 0.0))
    odometer.take(SECOND + SECOND // 5, (9.1, 0.0, 0.0))
    assert odometer.metres == pytest.approx(0.1)


def test_what_comes_again_or_late_changes_nothing() -> None:
    odometer = Odometer(0.5)
    for stamp, x in ((2, 0.0), (3, 0.2), (3, 0.2), (2, 0.0), (1, 5.0), (4, 0.4)):
        odometer.take(stamp * SECOND, (x, 0.0, 0.0))
    assert odometer.metres == pytest.approx(0.4)
    odometer.begin()
    odometer.take(5 * SECOND, (0.5, 0.0, 0.0))
    assert odometer.metres == 0.0
    odometer.set_back()
    odometer.take(SECOND, (0.5, 0.0, 0.0))
    odometer.take(2 * SECOND, (0.7, 0.0, 0.0))
    assert odometer.metres == pytest.approx(0.2)
