"""A base keeps its limits whatever it is sent, and stops when nobody sends anything."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.errors import ConfigError, SimulatorError
from eqa_nodes.core.types.robot import BaseLimits
from sim_bridge.senses import BaseController, Velocity, towards

speeds = st.floats(-3.0, 3.0)
velocities = st.builds(Velocity, speeds, speeds)
commands = st.lists(st.tuples(st.integers(0, 30), velocities), max_size=20)  # steps until it comes, and what comes
STEP_S = 0.05
CONFIG = BaseLimits()


def driven(sent: list[tuple[int, Velocity]], steps: int = 200) -> list[Velocity]:
    """Return the velocity at rest and after each step, with commands sent on the way."""
    base, result, due = BaseController(CONFIG), [Velocity()], []
    at = 0
    for wait, wanted in sent:
        at += wait
        due.append((at, wanted))
    for i in range(steps):
        for when, wanted in due:
            if when == i:
                base.command(round(i * STEP_S * 1e9), wanted)
        result.append(base.step(round(i * STEP_S * 1e9), STEP_S))
    return result


@given(commands)
def test_limits_hold_at_every_step(sent: list[tuple[int, Velocity]]) -> None:
    found = driven(sent)
    assert all(-CONFIG.backward_m_s <= v.forward_m_s <= CONFIG.forward_m_s for v in found)
    assert all(abs(v.turn_rad_s) <= CONFIG.turn_rad_s for v in found)
    for a, b in pairwise(found):
        assert abs(b.forward_m_s - a.forward_m_s) <= CONFIG.accelerate_m_s2 * STEP_S + 1e-12
        assert abs(b.turn_rad_s - a.turn_rad_s) <= CONFIG.accelerate_rad_s2 * STEP_S + 1e-12


@given(commands)
def test_the_same_commands_give_the_same_velocities(sent: list[tuple[int, Velocity]]) -> None:
    assert driven(sent) == driven(sent)


@given(st.lists(velocities, max_size=5))
def test_it_stands_when_nobody_sends_any_more(sent: list[Velocity]) -> None:
    found = driven([(1, wanted) for wanted in sent])
    braking = max(CONFIG.forward_m_s / CONFIG.accelerate_m_s2, CONFIG.turn_rad_s / CONFIG.accelerate_rad_s2)
    late = math.ceil((CONFIG.timeout_s + braking) / STEP_S) + 8
    assert all(v == Velocity() for v in found[late:])


@given(velocities, velocities, st.floats(0.001, 5.0))
def test_it_gets_there_without_going_beyond(present: Velocity, wanted: Velocity, seconds: float) -> None:
    """Also from outside the limits, where a collision may have left it."""
    for before, after, want, low, high in zip(present, towards(CONFIG, present, wanted, seconds), wanted,
                                              (-CONFIG.backward_m_s, -CONFIG.turn_rad_s),
                                              (CONFIG.forward_m_s, CONFIG.turn_rad_s), strict=True):
        aim = min(high, max(low, want))
        assert min(before, aim) <= after <= max(before, aim)
    at = present
    for _ in range(10):
        at = towards(CONFIG, at, wanted, 1.0)
    assert at == towards(CONFIG, at, wanted, 1.0)


def test_a_command_keeps_until_its_time_is_out() -> None:
    found = driven([(0, Velocity(0.3, 0.0))])
    last = round(CONFIG.timeout_s / STEP_S)  # the step that begins when the command is exactly so old
    assert found[last + 1].forward_m_s == 0.3 > found[last + 2].forward_m_s


def test_after_an_obstacle_it_accelerates_from_what_was_left() -> None:
    base = BaseController(CONFIG)
    base.command(0, Velocity(0.5, 0.0))
    base.held_up(Velocity(0.1, 0.0))
    assert base.step(0, STEP_S).forward_m_s == pytest.approx(0.1 + CONFIG.accelerate_m_s2 * STEP_S)


@pytest.mark.parametrize(("stamp", "wanted", "complaint"), [
    (5, Velocity(math.nan, 0.0), "finite"), (5, Velocity(0.0, math.inf), "finite"), (4, Velocity(), "older")])
def test_what_is_no_command_is_refused_and_changes_nothing(stamp: int, wanted: Velocity, complaint: str) -> None:
    base = BaseController(CONFIG)
    base.command(5, Velocity(0.2, 0.0))
    with pytest.raises(SimulatorError, match=complaint):
        base.command(stamp, wanted)
    assert base.step(5, 10.0).forward_m_s == 0.2


@pytest.mark.parametrize("wrong", [{"forward_m_s": 0.0}, {"timeout_s": -1.0}, {"turn_rad_s": math.inf},
                                   {"accelerate_m_s2": math.nan}])
def test_limits_that_are_none_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        BaseLimits(**wrong)
    assert BaseLimits(backward_m_s=0.0).backward_m_s == 0.0  # a base that does not drive backwards
