"""A clock that was set back is told from strays; a robot that was carried off from one that drives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.camera.jumps import (
    ClockJumpDetector,
    FutureStampFilter,
    RelocalisationDetector,
    SteadyClock,
    angle_between,
    rhythm_of,
)
from eqa_nodes.core.types.geometry import Pose2, compose, inverse

S = 1_000_000_000


def told(stamps: list[float], threshold_s: float = 1.0, newest_s: float = 100.0) -> list[bool]:
    watch = ClockJumpDetector(threshold_s)
    return [watch.set_back(round(stamp * S), round(newest_s * S)) for stamp in stamps]


def test_three_stamps_that_go_on_from_the_past_are_a_jump() -> None:
    assert told([10, 10.1, 10.2]) == [False, False, True]
    assert told([10, 10.1, 10.2, 10.3]) == [False, False, True, False]  # begins anew


@pytest.mark.parametrize("stamps", [[10, 10, 10, 10, 10], [10, 101, 11, 102, 12], [10.2, 10.1, 10], [99.5, 99.6, 99.7],
                                    [101, 102, 103]])
def test_what_is_no_jump(stamps: list[float]) -> None:
    assert not any(told(stamps))


def test_without_a_threshold_nothing_is_a_jump() -> None:
    assert not any(told([1, 2, 3, 4, 5], threshold_s=0.0))


POSES = st.builds(Pose2, st.floats(-50, 50), st.floats(-50, 50), st.floats(-3, 3))


@given(POSES, POSES, POSES)
def test_driving_is_no_jump_wherever_odometry_lies(map_from_odom: Pose2, a: Pose2, b: Pose2) -> None:
    watch, odom = RelocalisationDetector(0.5, 0.5), map_from_odom.transform()
    for base in (a, b):
        assert watch.moved(odom, compose(odom, base.transform())) is None


@given(POSES, POSES, st.floats(0.6, 20), st.floats(-3, 3))
def test_a_jump_is_what_the_base_jumps_by(first: Pose2, base: Pose2, metres: float, turn: float) -> None:
    watch, before = RelocalisationDetector(0.5, 0.0), compose(first.transform(), base.transform())
    assert watch.moved(first.transform(), before) is None
    here = Pose2(before.xyz[0] + metres, before.xyz[1], 2 * math.atan2(before.xyzw[2], before.xyzw[3]) + turn)
    from_odom = compose(here.transform(), inverse(base.transform()))
    jump = watch.moved(from_odom, here.transform())
    assert jump is not None and jump.metres == pytest.approx(metres) and jump.radians == pytest.approx(abs(turn),
                                                                                                       abs=1e-6)


def test_small_corrections_and_those_after_a_break_are_none() -> None:
    watch = RelocalisationDetector(1.0, 0.6)
    base = Pose2(20.0, 0.0, 0.0).transform()
    for k in range(10):
        odom = Pose2(0.1 * k, 0.0, 0.01 * k).transform()
        assert watch.moved(odom, compose(odom, base)) is None
    watch.clear()
    far = Pose2(9.0, 9.0, 2.0).transform()
    assert watch.moved(far, compose(far, base)) is None


def test_angles() -> None:
    assert angle_between(Pose2(0, 0, 3.0).transform(), Pose2(1, 1, -3.0).transform()) == pytest.approx(2 * math.pi - 6)


def strays(stamps: list[float], threshold_s: float = 1.0, now_s: float = 100.0) -> list[bool]:
    watch = FutureStampFilter(threshold_s)
    return [watch.stray(round(stamp * S), round(now_s * S)) for stamp in stamps]


@pytest.mark.parametrize("stamps", [[90, 91, 90.5], [100.9, 100.95], [0, 50, 100]])
def test_what_is_not_ahead_is_believed(stamps: list[float]) -> None:
    assert not any(strays(stamps))


def test_a_stray_from_the_future_is_not_believed_and_changes_nothing() -> None:
    assert strays([99, 3700, 99.1, 3700, 99.2, 3800]) == [False, True, False, True, False, True]
    assert strays([3700, 3700, 3700, 3700]) == [True] * 4  # one message that comes again and again is one
    assert strays([3700, 7300, 10900, 99]) == [True, True, True, False]  # these belong to no row


def test_a_sender_whose_clock_is_ahead_is_believed_from_its_third_message_on() -> None:
    assert strays([3700, 3700.1, 3700.2, 3700.3, 3701]) == [True, True, False, False, False]
    assert strays([3700, 3700.1, 3700.2, 99, 3700.3]) == [True, True, False, False, True]  # its clock was set right
    assert not any(strays([3700, 9000], threshold_s=0.0))


@pytest.mark.parametrize(("jumps", "breaks", "said"), [
    ({}, (), ""), ({10: 3600.0}, (3600.1,), "one pause or jump of the clock, of 3600.1 s"),
    ({10: 600.0, 20: 86400.0}, (600.1, 86400.1), "2 pauses or jumps of the clock, the longest of 86400.1 s"),
    ({10: -2.0}, (-1.9,), "a clock that was set back by 1.9 s"),
    ({10: -3600.0, 20: 3600.0}, (3600.1, -3599.9),
     "one pause or jump of the clock, of 3600.1 s, a clock that was set back by 3599.9 s"),
    ({10: -50.0, 20: -40.0}, (-49.9, -39.9), "a clock that was set back 2 times, by at most 49.9 s")])
def test_figures_are_those_of_the_frames_whatever_the_clock_does(jumps: dict[int, float], breaks: tuple[float, ...],
                                                                 said: str) -> None:
    stamps = np.cumsum([0.1 + jumps.get(i, 0.0) for i in range(30)]) + 1.7e9
    found = rhythm_of(np.rint(stamps * 1e3).astype(np.int64) * 1_000_000)
    assert (found.period_s, found.seconds, found.longest_s) == pytest.approx((0.1, 2.9, 0.1), abs=1e-6)
    assert found.missing == 0 and found.breaks_s == pytest.approx(breaks, abs=1e-6) and str(found) == said


@pytest.mark.parametrize(("stamps", "longest", "missing"), [
    ([0, 1, 2, 5, 6], 3, 2), ([0, 1, 3, 4, 2, 5], 1, 0), ([0, 1, 1, 2], 1, 0), ([0, 1, 2, 12], 10, 9)])
def test_lost_messages_are_missing_and_late_ones_are_not(stamps: list[int], longest: float, missing: int) -> None:
    found = rhythm_of([stamp * S for stamp in stamps])
    assert (found.period_s, found.longest_s, found.missing, found.breaks_s) == (1.0, longest, missing, ())


def test_one_second_more_than_lost_messages_explain_is_a_pause() -> None:
    assert rhythm_of([0, S, 2 * S, 13 * S]) == (1.0, 3.0, 1.0, 0, (11.0,))
    assert rhythm_of([0, 5 * S, 10 * S, 35 * S]).breaks_s == ()  # no more than five periods
    assert rhythm_of([7]) == rhythm_of([]) == (0.0, 0.0, 0.0, 0, ())


@pytest.mark.parametrize(("stamps", "times"), [
    ([5, 6, 7, 8], [0, 1, 2, 3]), ([5, 6, 3606, 3607], [0, 1, 2, 3]), ([5, 6, 2, 3], [0, 1, 2, 3]),
    ([5, 6, 6, 9, 10], [0, 1, 1, 4, 5]), ([0, 20, 40, 130, 900], [0, 20, 40, 130, 220]), ([7], [0])])
def test_a_video_shows_no_pauses(stamps: list[int], times: list[int]) -> None:
    clock = SteadyClock()
    assert [clock.at(stamp * S) for stamp in stamps] == [time * S for time in times]
