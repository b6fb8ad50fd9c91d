"""What holds for every policy on any map: goals that can be reached, none twice where driving fails, and an end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.cli.bench.trials import label_chain
from eqa_nodes.config.graph import merged
from eqa_nodes.config.policies import make_policy
from eqa_nodes.core.components import POLICIES
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.mapping.frontiers import find_frontiers
from eqa_nodes.core.policies.floor_policy import FloorPolicy
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Limits, Question, Situation
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.core.types.views import Label
from eqa_nodes.runners.in_process import InProcessRunner
from sim_bridge import registry
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.simulator import EpisodeSetup, Simulator, Step
from sim_bridge.toy import GridWorld
from tests.fixtures.grids import grid_of
from tests.fixtures.policy_worlds import REGIONS, check_goal, judged, world
from tests.fixtures.repetition import examples

SEARCHING = [name for name in list(POLICIES) if name not in ("random", "express")]  # a random walk has no end by itself
ENDING = [*SEARCHING, "express"]  # only a limit of decisions ends the last one, as published
IN_HOUSES = [name if name in ("best", "express") else pytest.param(name, marks=pytest.mark.thorough)
             for name in POLICIES]  # whole episodes take seconds each
HOUSE = "house:35"  # 4 rooms
TURN = math.radians(5)


@pytest.mark.parametrize("name", list(POLICIES))
@examples(15)
@given(seed=st.integers(0, 10**6), loose=st.booleans())
def test_a_goal_can_be_reached_and_is_free_floor(name: str, seed: int, loose: bool) -> None:
    situation = world(seed, loose)
    policy = make_policy(name)
    policy.reset(seed)
    for decision in (policy.decide(situation), policy.confirm(situation)):
        assert decision.reason
        if decision.goal is not None and decision.goal[:2] != situation.pose[:2]:
            check_goal(situation, decision.goal)


@pytest.mark.parametrize("name", SEARCHING)
@examples(8)
@given(seed=st.integers(0, 10**6))
def test_where_the_robot_cannot_move_no_goal_comes_twice_and_there_is_an_end(name: str, seed: int) -> None:
    situation = world(seed)
    policy = make_policy(name)
    policy.reset(seed)
    goals: list[Pose2] = []
    for _ in range(400):
        goal = policy.decide(situation).goal
        if goal is None:
            break
        assert not any(goal.distance(old) < 0.05 and abs(wrap(goal.yaw - old.yaw)) < TURN for old in goals), goal
        goals.append(goal)
    else:
        raise AssertionError(f"{name} proposed 400 goals, the last one {goals[-1]}")


@pytest.mark.parametrize("name", ENDING)
@examples(8)
@given(seed=st.integers(0, 10**6))
def test_driving_to_every_goal_on_a_map_that_does_not_change_ends(name: str, seed: int) -> None:
    situation = world(seed)
    policy = make_policy(name)
    policy.reset(seed)
    for _ in range(600):
        goal = policy.decide(situation).goal
        if goal is None:
            return
        situation = situation._replace(pose=goal)
    raise AssertionError(f"{name} drives for ever")


@pytest.mark.parametrize("name", list(POLICIES))
def test_a_closed_room_is_left_alone_when_it_is_known(name: str) -> None:
    grid = grid_of("########", "#......#", "#......#", "#......#", "########")
    policy = make_policy(name)
    policy.reset(0)
    situation = Situation(Question("where is the kettle?"), Pose2(1.25, 1.25, 0.0), grid, find_frontiers(grid))
    for _ in range(60):
        decision = policy.decide(situation)
        if decision.goal is None:
            break
        check_goal(situation, decision.goal)
        situation = situation._replace(pose=decision.goal)
    assert name == "random" or decision.goal is None
    assert name == "random" or situation.pose[:2] == (1.25, 1.25)  # nothing to see, nowhere to go


@pytest.mark.parametrize("name", list(POLICIES))
@pytest.mark.parametrize("inside", [".", "?", "#"])
def test_a_robot_that_is_walled_in_has_nowhere_to_go(name: str, inside: str) -> None:
    ring = "###", f"#{inside}#", "###"
    grid = grid_of("???????", *("??" + row + "??" for row in ring), "???????", scale=4)
    policy = make_policy(name)
    policy.reset(0)
    situation = Situation(Question("where is the kettle?"), Pose2(1.4, 1.0, 0.0), grid, find_frontiers(grid),
                          [judged(np.random.default_rng(1), 1)], REGIONS)
    for _ in range(20):
        decision = policy.decide(situation)
        assert decision.reason
        if decision.goal is None:
            return
        check_goal(situation, decision.goal)
        situation = situation._replace(pose=decision.goal)
    raise AssertionError("it drives for ever in 0.4 m")


@pytest.mark.parametrize("name", list(POLICIES))
def test_a_robot_off_the_map_says_so(name: str) -> None:
    policy = FloorPolicy(make_policy(name), 0)
    for confirm in (False, True):
        decision = policy.decide(world(1)._replace(pose=Pose2(99.0, 99.0, 0.0)), (), confirm)
        assert decision.goal is None and (confirm or "not on the map" in decision.reason)


class Spoilt:
    """A simulator whose steps are not what they were."""

    def __init__(self, inner: Simulator) -> None:
        self.inner = inner

    def reset(self, episode: EpisodeSetup) -> Step:
        return self.inner.reset(episode)

    def act(self, action: Action) -> Step:
        return self.inner.act(action)

    def close(self) -> None:
        self.inner.close()

    def labels(self) -> Mapping[int, Label]:
        return self.inner.labels()


class Unsteady(Spoilt):
    """Depth has 2 % noise, and poses drift by 1 % of the way driven."""

    def reset(self, episode: EpisodeSetup) -> Step:
        self._random = np.random.default_rng(3)
        self._last: Pose2 | None = None
        self._drift = np.zeros(3)
        return self._spoilt(super().reset(episode))

    def act(self, action: Action) -> Step:
        return self._spoilt(super().act(action))

    def _spoilt(self, step: Step) -> Step:
        frame = step.frame
        noise = 1.0 + 0.02 * self._random.standard_normal(frame.depth_m.shape)
        pose = frame.pose
        moved = pose.distance(self._last) if self._last is not None else 0.0
        self._last = pose
        self._drift += 0.01 * moved * np.array([1.0, 0.5, 0.1])
        x, y, yaw = np.array(pose) + self._drift
        seen = Pose2(float(x), float(y), wrap(float(yaw))).transform(frame.map_from_base.xyz[2])
        return replace(step, frame=replace(frame, map_from_base=seen,
                                           depth_m=(frame.depth_m * noise).astype(np.float32)))


class Stuck(Spoilt):
    """The wheels turn the robot, but bring it nowhere."""

    def act(self, action: Action) -> Step:
        if action is not Action.MOVE_FORWARD:
            return super().act(action)
        super().act(Action.TURN_LEFT)
        return replace(super().act(Action.TURN_RIGHT), collided=True)


def explored(name: str, scene: str, folder: Path, limits: Limits = Limits()) -> EpisodeResult:
    """Explore a scene for an answer that is never sure enough."""
    parameters = merged(None, label_chain("moderate"), {"explorer": {"policy": name}, "memory": {"folder": str(folder)},
                                                        "agent": {"agent.enough": 2.0, "agent.calibration": ""}})
    with closing(InProcessRunner(parameters, limits)) as runner:
        return runner.run(Sample("q", "where is the unicorn?", "nowhere", scene=scene))


@pytest.mark.parametrize("scene", ["toy:flat", pytest.param(HOUSE, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", SEARCHING)
def test_exploring_a_place_ends_by_itself(name: str, scene: str, tmp_path: Path) -> None:
    result = explored(name, scene, tmp_path)
    assert result.answer.error is ErrorCode.NONE and result.answer.receipt.steps < 3000
    assert "; " in result.answer.message  # the policy said why it ended


@pytest.mark.parametrize(("name", "steps"), [
    ("best", 80), ("express", 80), *[pytest.param(name, 250, marks=pytest.mark.thorough) for name in POLICIES]])
def test_noisy_depth_and_a_drifting_pose_end_in_an_answer_or_a_named_error(
        name: str, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.SIMULATORS, "house", lambda: Unsteady(HouseSimulator()))
    result = explored(name, HOUSE, tmp_path, Limits(steps=steps))
    assert result.answer.receipt.metres > 2.0
    assert result.answer.message if result.answer.error is not ErrorCode.NONE else True
    assert result.answer.error in (ErrorCode.NONE, ErrorCode.NAVIGATION)
    assert result.trace is not None and result.trace.grid is not None
    assert result.trace.grid.explored_share() > 0.2


@pytest.mark.parametrize("name", IN_HOUSES)
def test_a_robot_that_cannot_move_is_sent_to_few_places_none_of_them_twice(
        name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.SIMULATORS, "house", lambda: Stuck(HouseSimulator()))
    result = explored(name, HOUSE, tmp_path)
    assert result.trace is not None
    goals = [d.goal for d in result.trace.decisions if d.goal is not None and d.goal.distance(d.pose) >= 0.1]
    assert 1 <= len(goals) <= 5
    assert name == "express" or not any(a.distance(b) < 0.05 and abs(wrap(a.yaw - b.yaw)) < TURN
                   for i, a in enumerate(goals) for b in goals[:i])
    assert result.answer.abstained and result.answer.message
    assert result.answer.error is (ErrorCode.NAVIGATION if len(goals) == 5 else ErrorCode.NONE)


@pytest.mark.parametrize("name", list(POLICIES))
@pytest.mark.parametrize("cell", [
    ("#####", "#.>.#", "#####"), pytest.param(("###", "#>#", "###"), marks=pytest.mark.thorough)])
def test_a_robot_that_starts_enclosed_says_that_nothing_is_left(
        name: str, cell: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.SIMULATORS, "toy", lambda: GridWorld({"cell": cell}))
    result = explored(name, "toy:cell", tmp_path, Limits(steps=300))
    assert result.answer.error in (ErrorCode.NONE, ErrorCode.NAVIGATION) and result.answer.abstained
    assert result.answer.message and result.answer.receipt.steps < 300
