"""Homes of two storeys: stairs that a robot climbs, free space, paths over the stairs, questions on both floors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.core.errors import BadPose, SimulatorError, UnknownScene
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.house.arrange import floor_of
from sim_bridge.house.export import export_glb
from sim_bridge.house.generate import shut_off
from sim_bridge.house.quads import LID
from sim_bridge.house.scene import STAIRWELL
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.storeys import RISE_M, StoreyedHouse, generate_storeys
from sim_bridge.house.world import seed_of, storeyed, world_of
from sim_bridge.mesh.simulator import MeshSimulator
from sim_bridge.registry import Truth
from sim_bridge.simulator import EpisodeSetup

SCENE, SEED = "house:1000@2", 1000
BLIND = RobotModel(camera=CameraModel(width=16, height=12, color=False))
DEPTH = RobotModel(camera=CameraModel(width=160, height=120, color=False))


@pytest.fixture(scope="module")
def homes() -> list[StoreyedHouse]:
    return [generate_storeys(seed) for seed in (*range(4), 280)]  # 280: few sets of rooms fit its lower storey


def test_ids_and_names_of_rooms_and_objects_are_unique_in_a_home(homes: list[StoreyedHouse]) -> None:
    assert generate_storeys(3) == homes[3]
    for home in homes:
        whole = home.whole()
        for found in ([t.id for t in whole.objects], [r.id for r in whole.rooms], [r.name for r in whole.rooms]):
            assert len(set(found)) == len(found)
        assert {t.room for t in whole.objects} <= {r.id for r in whole.rooms}


def test_every_room_is_within_reach_of_the_stairs_and_no_window_looks_into_them(homes: list[StoreyedHouse]) -> None:
    for home in homes:
        s = home.stairs
        for storey in home.storeys:
            assert shut_off(storey, floor_of(storey)) == []
            well = next(r for r in storey.rooms if r.kind == STAIRWELL)
            assert (well.x0, well.x1) == pytest.approx((s.x0, s.x1), abs=2e-3)
            assert (well.y0, well.y1) == pytest.approx((s.y0 - s.landing_m, s.y1 + s.landing_m), abs=2e-3)
            onto = [o for o in storey.openings if well.id in o.rooms]
            assert sorted(o.kind for o in onto) == ["passage", "window"]
            wall = next(o.x0 for o in onto if o.kind == "passage")
            assert not [o for o in storey.openings if o.kind == "window" and o.x0 == o.x1 == wall
                        and o.y1 > well.y0 and o.y0 < well.y1]
        front = [[o for o in storey.openings if o.kind == "door" and -1 in o.rooms] for storey in home.storeys]
        assert (len(front[0]), len(front[1])) == (1, 0)


def _foot() -> Pose2:
    stairs = storeyed(SEED).stairs
    return Pose2(stairs.middle[0], stairs.y0 - 0.65, math.pi / 2)


def test_the_robot_climbs_step_by_step_and_comes_down_again() -> None:
    simulator = HouseSimulator()
    simulator.reset(EpisodeSetup(SCENE, start=_foot(), robot=BLIND))
    steps = [simulator.act(Action.MOVE_FORWARD) for _ in range(20)]
    z = [step.frame.map_from_base.xyz[2] for step in steps]
    assert z == sorted(z) and (z[0], z[-1]) == (0.0, RISE_M)
    assert max(np.diff(z)) <= 0.2 + 1e-6 and not any(step.collided for step in steps)
    assert steps[-1].metres == pytest.approx(5.0)
    for _ in range(6):
        simulator.act(Action.TURN_LEFT)
    back = [simulator.act(Action.MOVE_FORWARD) for _ in range(20)][-1]
    assert back.frame.map_from_base.xyz[2] == 0.0 and back.frame.pose.y == pytest.approx(_foot().y)


def test_a_start_height_chooses_the_storey_and_the_view_is_of_it() -> None:
    simulator, home = HouseSimulator(), storeyed(SEED)
    up = home.home.storeys[1].start
    step = simulator.reset(EpisodeSetup(SCENE, start=up, start_height_m=RISE_M, robot=DEPTH))
    assert step.frame.map_from_base.xyz[2] == RISE_M
    assert step.frame.labels is not None
    seen = {simulator.labels()[int(i)].room for i in np.unique(step.frame.labels) if i}
    assert seen <= {r.name for r in home.home.storeys[1].rooms} and seen
    with pytest.raises(BadPose, match="the nearest free pose"):
        simulator.reset(EpisodeSetup(SCENE, start=Pose2(-50.0, 0.0, 0.0), robot=DEPTH))


def test_nothing_shuts_the_view_up_the_stairs() -> None:
    home = storeyed(SEED)
    assert not (home.mesh.see == LID).any()
    assert any((storey.mesh.see == LID).any() for storey in home.storeys)
    simulator = HouseSimulator()
    frame = simulator.reset(EpisodeSetup(SCENE, start=_foot(), robot=DEPTH)).frame
    ahead = frame.depth_m[0, 80]  # above the upper landing: its far wall
    assert ahead > home.stairs.y1 - home.stairs.y0


def test_paths_go_over_the_stairs() -> None:
    simulator, home = HouseSimulator(), storeyed(SEED)
    simulator.reset(EpisodeSetup(SCENE, robot=BLIND))
    low, high = (storey.start for storey in home.home.storeys)
    a, b, middle = (low.x, low.y, 0.0), (high.x, high.y, RISE_M), home.stairs.middle
    over = simulator.geodesic(a, b)
    assert math.isfinite(over) and over == pytest.approx(simulator.geodesic(b, a))
    assert over >= math.dist(a[:2], middle) + math.dist(middle, b[:2]) - 1e-6
    assert simulator.shortest_path(a, b) == [] and simulator.shortest_path(a, (_foot().x, _foot().y, 0.0))


def test_a_mesh_of_the_home_is_climbed_as_high(tmp_path: Path) -> None:
    home, foot = storeyed(SEED), _foot()
    export_glb(home.house, tmp_path / "two.glb", home.mesh)
    simulator = MeshSimulator()
    simulator.reset(EpisodeSetup(f"mesh:{tmp_path}/two.glb", start=Pose2(foot.y, -foot.x, 0.0), robot=BLIND))
    steps = [simulator.act(Action.MOVE_FORWARD) for _ in range(20)]
    assert steps[-1].frame.map_from_base.xyz[2] == pytest.approx(RISE_M, abs=1e-3)
    assert not any(step.collided for step in steps)


def test_questions_come_in_pairs_from_both_floors() -> None:
    samples = open_dataset("house-floors", limit=8)
    assert [s.metadata["floor"] for s in samples] == ["other", "same"] * 4
    for other, same in zip(samples[::2], samples[1::2], strict=True):
        assert (other.question, other.answer, other.target) == (same.question, same.answer, same.target)
        assert other.target is not None and other.start_height_m is not None and other.reference_metres is not None
        assert abs(other.start_height_m - other.target[2]) == RISE_M and same.start_height_m == same.target[2]
    assert {s.target[2] for s in samples if s.target} == {0.0, RISE_M}
    one = samples[0]
    assert one.start and one.target and one.start_height_m is not None
    truth = Truth()
    away = truth.geodesic(one.scene, (one.start.x, one.start.y, one.start_height_m), one.target)
    assert away == pytest.approx(one.reference_metres, abs=2e-3)
    truth.close()


def test_what_needs_one_storey_says_so() -> None:
    HouseSimulator.check_scene(SCENE)
    assert len(world_of(SCENE).house.rooms) > len(world_of(f"house:{SEED}").house.rooms)
    with pytest.raises(UnknownScene, match="has two storeys.*choose house:1000"):
        seed_of(SCENE)
    for scene in ("house:7@3", "house:7@2+1", "house:2000@2"):
        with pytest.raises(UnknownScene, match="with two storeys house:0@2"):
            HouseSimulator.check_scene(scene)
    simulator = HouseSimulator()
    simulator.reset(EpisodeSetup(SCENE, robot=BLIND))
    with pytest.raises(SimulatorError, match="two storeys cannot be handled"):
        simulator.handle("pick", 1)
