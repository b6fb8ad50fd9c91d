"""Floors apart: maps by the height of the base, staircases that join them, and honest endings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.question_score import question_score
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.config.policies import make_policy
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.driving.atomic import AtomicNavigator
from eqa_nodes.core.errors import BadFrame, ConfigError, StaleData
from eqa_nodes.core.mapping.config import MapperConfig
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.observing import EpisodicMemory
from eqa_nodes.core.policies.floor_policy import FloorPolicy
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Action, Candidate, Decision, GridMap, Staircase
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.questions import Question, Situation, ViewAssessment
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.views import Frame
from eqa_nodes.runners.in_process import InProcessRunner, LocalExplorer, SimulatedRobot
from sim_bridge.registry import Truth
from sim_bridge.simulator import EpisodeSetup
from sim_bridge.toy import RISE_M, GridWorld
from tests.fixtures.frames import frame

SMALL = RobotModel(camera=CameraModel(160, 120))
FOOT = Pose2(4.5, 1.75, math.pi / 2)  # on the lower floor, facing the stairs
UP = (Action.MOVE_FORWARD,) * 14
ROUND = (Action.TURN_LEFT,) * 12
BACK = (Action.TURN_LEFT,) * 6


def seen_at(stamp_ns: int, x: float, z: float) -> Frame:
    """Return a frame taken `x` metres along the way, the base at height z."""
    return replace(frame(stamp_ns), map_from_base=Pose2(x, 0.0, 0.0).transform(z))


def driven(heights: Sequence[float], config: MapperConfig | None = None, step_m: float = 0.25) -> MultiFloorMapper:
    """Return what a robot has mapped after a step of `step_m` to each of these heights."""
    storeys = MultiFloorMapper(config)
    for i, z in enumerate(heights):
        storeys.integrate(seen_at(i, i * step_m, z))
    return storeys


def same_map(a: GridMap, b: GridMap) -> bool:
    return (a.stamp_ns, a.origin, a.z) == (b.stamp_ns, b.origin, b.z) and np.array_equal(
        a.cells, b.cells) and np.array_equal(a.explored, b.explored)


def test_on_one_floor_the_map_is_the_mappers_bit_by_bit() -> None:
    world, one, many = GridWorld(), Mapper(), MultiFloorMapper()
    frames = [world.reset(EpisodeSetup("toy:flat", robot=SMALL)).frame]
    frames += [world.act(a).frame for a in (*ROUND, *(Action.MOVE_FORWARD,) * 6, *ROUND[:4], Action.MOVE_FORWARD)]
    for shown in frames:
        one.integrate(shown)
        many.integrate(shown)
        assert same_map(one.grid(), many.grid())
    assert one.frontiers() == many.frontiers() and np.array_equal(one.points(), many.points())
    assert one.bad_pixels == many.bad_pixels
    assert (many.between, many.staircases) == (0, ())


@pytest.mark.parametrize("ground", [0.0, -3.0, 12.5])
def test_a_floor_is_kept_within_its_band(ground: float) -> None:
    storeys = driven([ground, ground + 0.55, ground - 0.55, ground])
    assert storeys.grid().z == ground
    assert (storeys.between, storeys.staircases, storeys.grid().stamp_ns) == (0, (), 3)


def test_frames_on_the_stairs_are_in_no_map_but_the_stamp_goes_on() -> None:
    storeys = driven([0.0, 0.35])
    before = storeys.grid()
    for i, z in enumerate((0.7, 1.05, 1.4, 1.75, 2.1)):
        storeys.integrate(seen_at(2 + i, 0.5 + 0.25 * i, z))
        assert same_map(storeys.grid(), replace(before, stamp_ns=2 + i))
    assert storeys.between == 5


def test_level_ground_far_from_every_floor_is_a_new_one() -> None:
    flight = [0.0, 0.35, 0.7, 1.05, 1.4, 1.75, 2.1, 2.45, 2.8, 2.8]
    assert driven(flight).grid().z == 0.0  # level for a quarter of a metre only
    above = driven([*flight, 2.8])
    assert (above.grid().z, above.grid().stamp_ns) == (2.8, 10)
    assert above.staircases == (Staircase((0.25, 0.0, 0.0), (2.0, 0.0, 2.8)),)


def test_a_landing_is_no_floor_and_turning_on_the_spot_is_no_way() -> None:
    assert driven([0.0, 0.7, 1.4, 1.4, 1.4, 1.4, 1.4]).grid().z == 0.0
    assert driven([0.0, *[2.8] * 20], step_m=0.0).between == 20  # a lift, and nobody has left it


def test_back_on_a_known_floor_its_map_goes_on() -> None:
    up = [0.0, 0.7, 1.4, 2.1, 2.8, 2.8, 2.8]
    storeys = driven(up)
    lower = driven([0.0]).grid()
    for i, z in enumerate([2.1, 1.4, 0.7, 0.3]):
        storeys.integrate(seen_at(len(up) + i, 1.0 - 0.25 * i, z))
    grid = storeys.grid()
    assert (grid.z, grid.stamp_ns) == (0.0, 10)
    assert np.count_nonzero(grid.cells == 0) >= np.count_nonzero(lower.cells == 0)
    assert len(storeys.staircases) == 1  # the same stairs
    assert len(driven([*up, 2.1, 1.4, 0.7, 0.0]).staircases) == 2  # other stairs, farther on


def test_stamps_are_in_order_over_all_floors_and_bad_frames_change_nothing() -> None:
    storeys = driven([0.0, 1.4, 2.8, 2.8, 2.8])
    assert storeys.grid().z == 2.8
    state = storeys.grid()
    for stamp, z in ((4, 2.8), (3, 1.4), (2, 0.0), (9, math.nan), (9, math.inf)):
        with pytest.raises(BadFrame):
            storeys.integrate(seen_at(stamp, 1.0, z))
    assert storeys.rejected == 5 and same_map(storeys.grid(), state) and storeys.between == 3
    storeys.integrate(seen_at(5, 0.0, 0.0))  # the lower floor's last stamp is older, and this one newer than all
    assert (storeys.grid().z, storeys.grid().stamp_ns) == (0.0, 5)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(-4.0, 9.0), min_size=1, max_size=12))
def test_any_way_keeps_the_stamp_and_ends_on_a_floor_or_is_counted(heights: list[float]) -> None:
    storeys = MultiFloorMapper()
    for i, z in enumerate(h for height in heights for h in [height] * 3):
        before = storeys.between
        storeys.integrate(seen_at(i, 0.3 * i, z))
        assert storeys.grid().stamp_ns == i
        assert (abs(storeys.grid().z - z) <= 0.6) == (storeys.between == before)


def test_a_reset_forgets_all_floors() -> None:
    storeys = driven([0.0, 1.4, 2.8, 2.8, 2.8])
    storeys.reset()
    with pytest.raises(StaleData):
        storeys.grid()
    assert (storeys.staircases, storeys.between, storeys.bad_pixels) == ((), 0, 0)
    storeys.integrate(seen_at(0, 0.0, 2.8))
    assert storeys.grid().z == 2.8


def test_bands_that_overlap_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"storey_gap_m is 1\.0"):
        MapperConfig(storey_band_m=0.6, storey_gap_m=1.0)


class Listener:
    """A policy that keeps what it was asked, and has nowhere to go."""

    def __init__(self, goal: Pose2 | None = None) -> None:
        self.goal, self.asked = goal, list[Situation]()

    def reset(self, seed: int) -> None:
        self.asked.clear()

    def decide(self, situation: Situation) -> Decision:
        self.asked.append(situation)
        return Decision(self.goal, "none left", (Candidate(0.0, 0.0, 1.0, "frontier"),))

    def confirm(self, situation: Situation) -> Decision:
        return self.decide(situation)


def test_a_policy_hears_of_its_own_floor_only_and_an_end_names_the_stairs() -> None:
    grid = driven([2.8]).grid()
    views = [ViewAssessment(i, i, 0.0, 0.0, z=z) for i, z in enumerate((0.0, 2.8, 2.3, 5.6))]
    situation = Situation(Question("where?"), Pose2(0.0, 0.0, 0.0), grid, (), views)
    staircases = (Staircase((1.0, 2.0, 0.0), (3.0, 4.0, 2.8)), Staircase((5.0, 6.0, 2.8), (7.0, 8.0, 5.6)),
                  Staircase((9.0, 9.0, -2.8), (9.0, 9.0, 0.0)))
    policy = Listener()
    here = FloorPolicy(policy, seed=0)
    told = here.decide(situation, staircases, confirm=False)
    assert [a.keyframe_id for a in policy.asked[0].assessments] == [1, 2]
    assert told.reason.startswith("none left; ") and "does not take stairs" in told.reason
    assert "(3.0, 4.0) to the floor 2.8 m below, (5.0, 6.0) to the floor 2.8 m above" in told.reason
    assert "9.0" not in told.reason and told.candidates
    assert here.decide(situation, (), confirm=False).reason == "none left"
    assert here.decide(situation, staircases, confirm=True).reason == "none left"
    assert FloorPolicy(Listener(Pose2(1.0, 0.0, 0.0)), 0).decide(situation, staircases, False).reason == "none left"


class Visit:
    """A robot in a toy scene, with all that answers questions."""

    def __init__(self, folder: Path, scene: str, start: Pose2) -> None:
        self.memory = MemoryStore(folder / "m.sqlite")
        self.storeys = MultiFloorMapper()
        self.body = SimulatedRobot(GridWorld(), self.storeys, EpisodicMemory(self.memory))
        self.body.begin(EpisodeSetup(scene, "e", start, robot=SMALL))

    def act(self, *actions: Action) -> GridMap:
        for action in actions:
            self.body.act(action)
        return self.storeys.grid()

    def ask(self, text: str) -> tuple[str, bool, str]:
        navigator = AtomicNavigator(self.body.act, self.storeys.grid, now=self.body.now,
                                    pose=lambda: self.body.last()[1], travelled=self.body.travelled)
        explorer = LocalExplorer(make_policy("frontier"), self.body)
        answer = Agent(Ports(navigator, explorer, self.body.memory, LabelAnswerer(), self.body)).ask(Question(text))
        return answer.text, answer.abstained, answer.message


def wall_cells(grid: GridMap, low: Pose2, high: Pose2) -> np.ndarray:
    """Return the cells between two corners, as (rows, columns) of their states."""
    iy0, ix0, iy1, ix1 = (round(edge / grid.resolution_m) for edge in (
        low.y - grid.origin[1], low.x - grid.origin[0], high.y - grid.origin[1], high.x - grid.origin[0]))
    return grid.cells[iy0:iy1, ix0:ix1]


def test_up_the_stairs_and_down_again_the_two_maps_stay_apart(tmp_path: Path) -> None:
    visit = Visit(tmp_path, "toy:storeys", FOOT)
    lower = visit.act(*ROUND)
    upper = visit.act(*UP, *ROUND)
    assert (lower.z, upper.z) == (0.0, pytest.approx(RISE_M))
    below, above = Pose2(4.0, 4.6, 0.0), Pose2(5.0, 5.4, 0.0)  # over the top of the stairs: a wall, and a landing
    assert not (wall_cells(lower, below, above) == 0).any() and (wall_cells(upper, below, above) == 0).all()
    hall = Pose2(4.0, 1.6, 0.0), Pose2(5.0, 2.4, 0.0)  # at their foot: floor, and unseen from the landing
    assert (wall_cells(lower, *hall) == 0).all() and not (wall_cells(upper, *hall) == 0).any()
    again = visit.act(*BACK, *UP)
    assert again.z == 0.0
    south = Pose2(0.6, 0.4, 0.0), Pose2(5.4, 0.5, 0.0)
    assert (wall_cells(lower, *south) == 100).all() and (wall_cells(again, *south) == 100).all()
    assert not (wall_cells(upper, *south) == 100).any()  # hidden from the landing
    north = Pose2(3.8, 5.5, 0.0), Pose2(5.2, 5.6, 0.0)
    assert (wall_cells(upper, *north) == 100).all() and not (wall_cells(again, *north) == 100).any()
    assert len(visit.storeys.staircases) == 1
    visit.memory.close()


def test_what_is_upstairs_ends_with_an_honest_answer(tmp_path: Path) -> None:
    sample = Sample("q", "Where is the plant?", "upstairs", scene="toy:upstairs", start=Pose2(1.25, 1.75, 0.0),
                    target=(2.75, 1.75, RISE_M))
    own = {"memory": {"labels": True, "folder": str(tmp_path)}, "explorer": {"policy": "frontier"},
           "bridge": {"robot.camera.width": 160, "robot.camera.height": 120}}
    with closing(InProcessRunner(own)) as runner, closing(Truth()) as truth:
        result = runner.run(sample)
        score = question_score(sample, Prediction("q", result.answer, result.final_pose), OfflineJudge(), truth)
    assert (result.answer.text, result.answer.abstained) == ("", True)
    assert "no frontier is left" in result.answer.message and "stairs" not in result.answer.message  # it knows of none
    assert result.trace is not None and result.trace.refused == {}
    assert (score.status, score.reachable, score.final_m) == ("abstained", False, None)


def test_a_robot_that_knows_of_stairs_says_where_they_are(tmp_path: Path) -> None:
    visit = Visit(tmp_path, "toy:storeys", FOOT)
    visit.act(*UP, *BACK, *UP)
    assert visit.body.refused()["mapper, between floors"] > 0
    text, abstained, message = visit.ask("Where is the fridge?")
    assert (text, abstained) == ("", True)
    assert "does not take stairs automatically: stairs at (4.5, 2.7) to the floor 2.8 m above" in message
    assert visit.storeys.grid().z == 0.0
    visit.memory.close()


def test_distances_go_over_the_stairs_and_there_is_none_without() -> None:
    world = GridWorld()
    down, up = (1.25, 1.75), (2.75, 1.75, RISE_M)
    world.reset(EpisodeSetup("toy:storeys"))
    far = world.geodesic(down, up)
    assert math.isfinite(far) and far > math.dist(down, (4.5, 2.25)) + 2.0 + math.dist((4.5, 4.75), up[:2])
    assert world.geodesic(up, down) == far
    assert world.geodesic((*down, 0.0), (2.75, 1.75)) == world.geodesic(down, (2.75, 1.75)) < 2.0
    assert world.geodesic(down, (*down, 9 * RISE_M)) == math.inf
    world.reset(EpisodeSetup("toy:upstairs"))
    assert world.geodesic(down, up) == math.inf


def test_a_frame_carries_the_height_of_the_base() -> None:
    world = GridWorld()
    heights = [world.reset(EpisodeSetup("toy:storeys", start=FOOT, robot=SMALL)).frame.map_from_base]
    heights += [world.act(Action.MOVE_FORWARD).frame.map_from_base for _ in UP]
    z = [t.xyz[2] for t in heights]
    assert z == sorted(z) and (z[0], z[-1]) == (0.0, pytest.approx(RISE_M))
    assert isinstance(heights[0], Transform) and max(np.diff(z)) < 0.4
