"""A base that keeps its limits, odometry that drifts and slips, localisation that jumps, and depth with noise."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.config.graph import driven_by, merged
from eqa_nodes.core.errors import ConfigError, SimulatorError
from eqa_nodes.core.types.geometry import LocalisedPose, Pose2, Transform, compose, pose2_of, wrap
from eqa_nodes.core.types.robot import CORRECTIONS, OTHERS, BaseLimits, LocalisationConfig, SensesConfig, WheelsConfig
from sim_bridge.senses import BaseController, Senses, Velocity, towards, with_noise

START, STEP_S, SCAN_EVERY = Pose2(2.0, 1.0, 0.5), 1 / 30, 6


def circle(senses: Senses, steps: int = 900, forward_m_s: float = 0.4, turn_rad_s: float = 0.3
           ) -> list[tuple[Pose2, LocalisedPose]]:
    """Drive along a circle; return the true pose and the place that the senses tell, step by step."""
    true, seen = START, []
    for i in range(1, steps + 1):
        heading = true.yaw + turn_rad_s * STEP_S / 2
        metres = forward_m_s * STEP_S
        then = Pose2(true.x + metres * math.cos(heading), true.y + metres * math.sin(heading),
                     true.yaw + turn_rad_s * STEP_S)
        senses.moved(true.transform(), then.transform(), STEP_S)
        if i % SCAN_EVERY == 0:
            senses.scanned()
        true = then
        seen.append((true, LocalisedPose(senses.localised or senses.place.map_from_odom, senses.place.odom_from_base)))
    return seen


def senses_of(seed: int = 0, **parts: object) -> Senses:
    return Senses(SensesConfig(**parts), seed, START.transform())  # type: ignore[arg-type]


def believed(place: LocalisedPose) -> Pose2:
    assert place.map_from_odom is not None
    return pose2_of(compose(place.map_from_odom, place.odom_from_base))


def test_without_errors_the_place_is_the_simulators_to_the_bit() -> None:
    for true, place in circle(senses_of()):
        assert place == LocalisedPose(Transform.identity(), true.transform())


@pytest.mark.parametrize("seed", range(4))
def test_odometry_is_wrong_by_the_drift_and_exact_localisation_makes_up_for_it(seed: int) -> None:
    straight = circle(senses_of(seed, wheels=WheelsConfig(drift=0.03)), turn_rad_s=0.0)
    driven = math.hypot(*straight[-1][1].odom_from_base.xyz[:2]) / START.distance(straight[-1][0])
    assert abs(driven - 1) == pytest.approx(0.03, abs=1e-6)
    for true, place in circle(senses_of(seed, wheels=WheelsConfig(drift=0.03))):
        assert believed(place).distance(true) < 1e-6


def test_corrections_jump_after_some_motion_and_odometry_does_not() -> None:
    seen = circle(senses_of(wheels=WheelsConfig(drift=0.03), localisation=LocalisationConfig(CORRECTIONS)))
    places = [place for _, place in seen]
    jumps = [i for i, (a, b) in enumerate(pairwise(places), 1) if a.map_from_odom != b.map_from_odom]
    assert all((i + 1) % SCAN_EVERY == 0 for i in jumps)  # with a scan only
    odom = [pose2_of(place.odom_from_base) for place in places]
    for before, after in pairwise(jumps):
        a, b = odom[before], odom[after]
        moved = max(abs(a.x - b.x), abs(a.y - b.y)) > 0.25 or abs(wrap(a.yaw - b.yaw)) > 0.2
        a = odom[after - SCAN_EVERY]
        enough = max(abs(a.x - odom[before].x), abs(a.y - odom[before].y)) > 0.25 or \
            abs(wrap(a.yaw - odom[before].yaw)) > 0.2
        assert moved and not enough
    hops = [a.distance(b) for a, b in pairwise(odom)]
    assert max(hops) < 1.1 * 0.4 * STEP_S
    off = [believed(place).distance(true) for true, place in seen]
    assert 0.0 < max(off) < 0.03 * 0.4 * 2.0 + 5 * 0.03


def test_a_robot_that_stands_is_not_corrected_again_and_odometry_does_not_tell_where_it_is() -> None:
    senses = senses_of(wheels=WheelsConfig(drift=0.03), localisation=LocalisationConfig(CORRECTIONS))
    begun = senses.localised
    assert begun is not None and pose2_of(begun) == pytest.approx(START)
    for _ in range(100):
        senses.moved(START.transform(), START.transform(), STEP_S)
        assert senses.scanned() == begun and senses.place.map_from_odom is None


def test_somebody_else_localises() -> None:
    seen = circle(senses_of(localisation=LocalisationConfig(OTHERS)))
    assert all(place.map_from_odom is None for _, place in seen)
    end = pose2_of(compose(START.transform(), seen[-1][1].odom_from_base))
    assert end.distance(seen[-1][0]) < 1e-3  # odometry begins where the robot begins


def test_wheels_slip_about_as_often_as_they_are_set_to() -> None:
    """120 m with a slip each 0.5 m: about 240 slips of 1.5 cm in the mean."""
    seen = circle(senses_of(wheels=WheelsConfig(slip_every_m=0.5)), 9000, turn_rad_s=0.0)
    odom = [pose2_of(place.odom_from_base) for _, place in seen]
    driven = sum(a.distance(b) for a, b in pairwise(odom))
    assert driven - START.distance(seen[-1][0]) == pytest.approx(240 * 0.015, rel=0.25)


def test_the_same_seed_gives_the_same_errors_and_another_gives_others() -> None:
    config = {"wheels": WheelsConfig(0.03, 1.0), "localisation": LocalisationConfig(CORRECTIONS)}
    first, again, other = (circle(senses_of(seed, **config))[-1][1] for seed in (1, 1, 2))
    assert first == again != other


def test_noise_of_depth_grows_with_distance_and_edges_have_none() -> None:
    depth = np.full((60, 80), 2.0, np.float32)
    depth[:, 40:] = 4.0
    depth[0, 0] = 0.0
    noisy = with_noise(depth, 0.01, np.random.default_rng(0))
    assert (noisy[:, 40] == 0).all() and noisy[0, 0] == 0 and noisy.dtype == np.float32
    near, far = noisy[1:, 1:40], noisy[1:, 41:]
    assert near.std() == pytest.approx(0.02, rel=0.1) and far.std() == pytest.approx(0.04, rel=0.1)
    assert near.mean() == pytest.approx(2.0, abs=0.002)


def test_lock_step_refuses_errors_by_name() -> None:
    wrong = {"bridge": {"senses.wheels.drift": 0.03}}
    with pytest.raises(ConfigError, match="senses with errors need drive velocities"):
        merged(None, wrong)
    assert merged(None, wrong, driven_by("nav2")).settings.bridge.senses.wheels.drift == 0.03


def test_the_noisy_robot_of_the_launch_files_has_all_senses_with_errors() -> None:
    file = Path(__file__).resolve().parents[3] / "launch" / "params" / "noisy.yaml"
    senses = merged(file, driven_by("nav2")).settings.bridge.senses
    assert senses.wheels.drift > 0 < senses.wheels.slip_every_m and senses.depth_noise > 0
    assert senses.localisation.by == CORRECTIONS


speeds = st.floats(-3.0, 3.0)
velocities = st.builds(Velocity, speeds, speeds)
commands = st.lists(st.tuples(st.integers(0, 30), velocities), max_size=20)  # steps until it comes, and what comes
TICK_S = 0.05
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
                base.command(round(i * TICK_S * 1e9), wanted)
        result.append(base.step(round(i * TICK_S * 1e9), TICK_S))
    return result


@given(commands)
def test_limits_hold_at_every_step(sent: list[tuple[int, Velocity]]) -> None:
    found = driven(sent)
    assert all(-CONFIG.backward_m_s <= v.forward_m_s <= CONFIG.forward_m_s for v in found)
    assert all(abs(v.turn_rad_s) <= CONFIG.turn_rad_s for v in found)
    for a, b in pairwise(found):
        assert abs(b.forward_m_s - a.forward_m_s) <= CONFIG.accelerate_m_s2 * TICK_S + 1e-12
        assert abs(b.turn_rad_s - a.turn_rad_s) <= CONFIG.accelerate_rad_s2 * TICK_S + 1e-12


@given(st.lists(velocities, max_size=5))
def test_it_stands_when_nobody_sends_any_more(sent: list[Velocity]) -> None:
    found = driven([(1, wanted) for wanted in sent])
    braking = max(CONFIG.forward_m_s / CONFIG.accelerate_m_s2, CONFIG.turn_rad_s / CONFIG.accelerate_rad_s2)
    late = math.ceil((CONFIG.timeout_s + braking) / TICK_S) + 8
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
    last = round(CONFIG.timeout_s / TICK_S)  # the step that begins when the command is exactly so old
    assert found[last + 1].forward_m_s == 0.3 > found[last + 2].forward_m_s


def test_after_an_obstacle_it_accelerates_from_what_was_left() -> None:
    base = BaseController(CONFIG)
    base.command(0, Velocity(0.5, 0.0))
    base.held_up(Velocity(0.1, 0.0))
    assert base.step(0, TICK_S).forward_m_s == pytest.approx(0.1 + CONFIG.accelerate_m_s2 * TICK_S)


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
