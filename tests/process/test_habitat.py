"""What only Habitat's simulator does, with the real habitat_sim or as recorded (the names of the tests say which)."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import BadPose, SimulatorError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.habitat.simulator import HabitatSimulator
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import HouseWorld, storeyed
from sim_bridge.simulator import Driving, EpisodeSetup
from tests.fixtures import habitat_tape
from tests.fixtures.habitat_scans import STOREYED, STOREYS_M, labelled_scans, scans, storeyed_scans
from tests.fixtures.houses import two_rooms
from tests.fixtures.logs import logged
from tests.fixtures.scans import to_scan

pytestmark = pytest.mark.parametrize("source", [f"habitat-{habitat_tape.MODE}"])
SMALL = RobotModel(camera=CameraModel(width=80, height=60))
START = Pose2(1.0, -2.6, 0.0)
CLIMBER = replace(SMALL, stairs=True, camera=replace(SMALL.camera, width=32, height=24))
WIDE = replace(SMALL, camera=CameraModel(width=96, height=64, hfov_deg=120.0, height_m=1.5, tilt_down_deg=30.0))


def in_house(pose: Pose2) -> Pose2:
    """Return a pose of the map in the house, whose file has its y along -z."""
    return Pose2(-pose.y, pose.x, wrap(pose.yaw + math.pi / 2))


@pytest.mark.parametrize(("robot", "pose"), [(SMALL, START), (WIDE, Pose2(1.4, -1.2, -2.0))])
def test_it_shows_what_the_house_itself_shows(source: str, robot: RobotModel, pose: Pose2) -> None:
    house = HouseSimulator({"test": HouseWorld(two_rooms())})
    wanted = house.reset(EpisodeSetup("test", start=in_house(pose), robot=robot)).frame
    sim = habitat_tape.open_habitat(labelled_scans())
    frame = sim.reset(EpisodeSetup(habitat_tape.SCENE, start=pose, robot=robot)).frame
    both = (frame.depth_m > 0) & (wanted.depth_m > 0)
    assert both.mean() > 0.9
    assert np.median(np.abs(frame.depth_m - wanted.depth_m)[both]) < 0.01
    assert frame.labels is not None and wanted.labels is not None
    kinds = {i: label.kind for i, label in sim.labels().items()}
    assert {kinds[int(i)] for i in np.unique(frame.labels[frame.labels > 0])} > {"wall", "rug"}
    assert (frame.labels == wanted.labels + 1)[both].mean() > 0.95  # instance i is number i + 1
    sim.close()


def test_labels_that_are_promised_and_missing_are_none(source: str) -> None:
    sim = habitat_tape.open_habitat(labelled_scans())
    with logged("sim_bridge.habitat.simulator") as heard:
        frame = sim.reset(EpisodeSetup("habitat:hm3d/00002-Bare", start=START, robot=SMALL)).frame
    assert frame.labels is None and sim.labels() == {}
    assert "00002-Bare" in heard.text and "semantic files" in heard.text
    sim.close()


def test_the_base_stands_on_the_floor_that_is_seen(source: str) -> None:
    sim = habitat_tape.open_habitat()
    step = sim.reset(EpisodeSetup(habitat_tape.SCENE, start=START, robot=SMALL))
    heights = [step.frame.map_from_base.xyz[2]]
    heights += [sim.act(Action.MOVE_FORWARD).frame.map_from_base.xyz[2] for _ in range(3)]
    assert max(map(abs, heights)) < 0.02  # there is a rug of 1 cm
    assert sim._nav[1] > 0.04  # where the mesh lies
    sim.close()


@pytest.mark.parametrize(("body", "source_of_mesh"), [((0.1, 1.5), "loaded"), ((0.18, 1.3), "computed")])
def test_a_mesh_for_another_robot_is_not_used(source: str, body: tuple[float, float], source_of_mesh: str,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    sim = habitat_tape.open_habitat()
    robot = replace(SMALL, radius_m=body[0], height_m=body[1])
    meshes, opened = list[str](), sim._session.open

    def noted(**request: Any) -> Any:
        reply = opened(**request)
        meshes.append(reply["navmesh"])
        return reply

    monkeypatch.setattr(sim._session, "open", noted)
    step = sim.reset(EpisodeSetup("habitat:hm3d/00003-Baked", start=START, robot=robot))
    assert meshes == [source_of_mesh]
    assert step.frame.map_from_base.xyz[2] == pytest.approx(0.0, abs=0.01)  # also where the mesh lies 0.2 m above
    sim.close()


def test_without_sliding_the_robot_stands_still(source: str) -> None:
    metres = {}
    for slide in (True, False):
        sim = habitat_tape.open_habitat()
        start = Pose2(3.3, -2.6, 1.1)  # towards a wall, at an angle
        sim.reset(EpisodeSetup(habitat_tape.SCENE, start=start, robot=replace(SMALL, slide=slide)))
        steps = [sim.act(Action.MOVE_FORWARD) for _ in range(9)]
        assert any(step.collided for step in steps)
        metres[slide] = steps[-1].metres
        sim.close()
    assert metres[True] > metres[False] + 0.2


def test_a_seed_is_a_start(source: str) -> None:
    sim = habitat_tape.open_habitat()
    starts = [sim.reset(EpisodeSetup(habitat_tape.SCENE, seed=seed, robot=SMALL)).frame.pose for seed in (1, 2, 1)]
    assert starts[0] == starts[2] != starts[1]
    sim.close()


def test_a_camera_without_colour_is_grey_and_sees_as_far(source: str) -> None:
    near = replace(SMALL, camera=replace(SMALL.camera, color=False, max_range_m=2.0))
    sim = habitat_tape.open_habitat()
    full = sim.reset(EpisodeSetup(habitat_tape.SCENE, start=START, robot=SMALL)).frame
    bare = sim.reset(EpisodeSetup(habitat_tape.SCENE, start=START, robot=near)).frame
    assert (bare.rgb == 128).all()
    assert np.array_equal(bare.depth_m, np.where(full.depth_m <= 2.0, full.depth_m, 0))
    sim.close()


def test_it_is_driven_by_velocities(source: str) -> None:
    sim = habitat_tape.open_habitat()
    assert isinstance(sim, Driving)
    with pytest.raises(SimulatorError, match="reset"):
        sim.drive(0.1, 0.0, 1.0)
    first = sim.reset(EpisodeSetup(habitat_tape.SCENE, start=START, robot=SMALL))
    driven = sim.drive(0.5, 0.0, 1.0)
    assert driven.map_from_base.xyz[:2] == pytest.approx((1.5, -2.6), abs=1e-5)
    assert (driven.stamp_ns - first.frame.stamp_ns, driven.collided) == (1_000_000_000, False)
    turned = sim.drive(0.0, -0.5, 1.0)
    seen = sim.act(Action.OBSERVE)
    assert seen.frame.map_from_base == turned.map_from_base and seen.frame.stamp_ns == turned.stamp_ns
    assert (seen.frame.pose.yaw, seen.steps, seen.metres) == (pytest.approx(-0.5), 0, pytest.approx(0.5))
    assert not np.array_equal(seen.frame.depth_m, first.frame.depth_m)
    back = sim.drive(-0.5, 0.0, 1.0)
    assert math.dist(back.map_from_base.xyz[:2], (1.5, -2.6)) == pytest.approx(0.5, abs=1e-5)
    assert sim.drive(1.0, 0.0, 20.0).collided
    for bad in ((math.nan, 0.0, 1.0), (0.0, math.inf, 1.0), (0.0, 0.0, -1.0)):
        with pytest.raises(SimulatorError, match="finite"):
            sim.drive(*bad)
    sim.close()


def stairs(sim: HabitatSimulator, start: Pose2, height_m: float = 0.0) -> float:
    scene = f"habitat:{scans() / 'stairs.glb'}"
    return sim.reset(EpisodeSetup(scene, start=start, robot=SMALL, start_height_m=height_m)).frame.map_from_base.xyz[2]


def test_floors_are_told_apart_by_their_height(source: str) -> None:
    sim = habitat_tape.open_habitat(scans())
    assert stairs(sim, Pose2(0.0, 0.0, 0.0)) == pytest.approx(0.0, abs=0.02)
    low, high = (1.0, 1.0, 0.0), (12.0, 1.0, STOREYS_M)
    assert 11.0 < sim.geodesic(low, high) < 16.0
    assert sim.geodesic(low, high) == sim.geodesic(high, low)
    assert sim.shortest_path(low, high) == []
    assert sim.geodesic(low, (*high[:2], 0.0)) == math.inf  # there is nothing below the upper floor
    assert stairs(sim, Pose2(12.0, 0.0, 0.0), 2.6) == pytest.approx(STOREYS_M, abs=0.02)
    assert sim.geodesic((11.0, 0.0), (12.0, 0.0)) == pytest.approx(1.0, abs=0.02)  # on the floor of the start
    with pytest.raises(BadPose, match="nearest free pose is"):
        stairs(sim, Pose2(6.0, 2.0, 0.0))  # beside the ramp
    sim.close()


def test_stairs_are_climbed(source: str) -> None:
    sim = habitat_tape.open_habitat(scans())
    stairs(sim, Pose2(2.0, 0.0, 0.0))
    heights = [sim.drive(1.0, 0.0, 1.0).map_from_base.xyz[2] for _ in range(9)]
    assert heights == sorted(heights)
    assert heights[3] == pytest.approx(1.5, abs=0.15) and heights[-1] == pytest.approx(STOREYS_M, abs=0.02)
    sim.close()


@pytest.mark.skipif(not habitat_tape.REAL, reason="a home of two storeys is not on the tape: it needs habitat_sim")
def test_steps_of_a_home_are_climbed_as_in_the_house_itself(source: str) -> None:
    stairs, sim, house = storeyed(7).stairs, habitat_tape.open_habitat(storeyed_scans()), HouseSimulator()
    foot = Pose2(stairs.middle[0], stairs.y0 - 0.65, math.pi / 2)
    begun = [sim.reset(EpisodeSetup("habitat:hm3d/00007-TwoStoreys", start=to_scan(foot), robot=CLIMBER)),
             house.reset(EpisodeSetup(STOREYED, start=foot, robot=CLIMBER))]
    for _ in range(20):
        begun = [one.act(Action.MOVE_FORWARD) for one in (sim, house)]
        (x, y, z), (_, along, high) = (step.frame.map_from_base.xyz for step in begun)
        assert (x, y) == pytest.approx((along, -foot.x), abs=0.01) and not begun[0].collided
        assert abs(z - high) < stairs.rise_m / stairs.steps + 0.02  # at an edge both steps are below
    assert z == pytest.approx(stairs.rise_m, abs=0.01)
    low, high_end = (*to_scan(foot)[:2], 0.0), (*begun[0].frame.pose[:2], stairs.rise_m)
    level = house.geodesic((*foot[:2], 0.0), (*begun[1].frame.pose[:2], stairs.rise_m))
    assert level - 0.05 < sim.geodesic(low, high_end) < 1.3 * level
    sim.close()


def test_the_house_lies_where_it_should(source: str, tmp_path: Path) -> None:
    sim = habitat_tape.open_habitat()
    sim.reset(EpisodeSetup(habitat_tape.SCENE, start=START, robot=SMALL))
    world = HouseWorld(two_rooms())
    for x, y in ((1.0, -2.6), (2.0, -6.0), (3.3, -1.0), (0.8, -7.2)):
        a, b = in_house(START)[:2], in_house(Pose2(x, y, 0.0))[:2]
        assert sim.geodesic(START[:2], (x, y)) == pytest.approx(world.geodesic(a, b, SMALL), rel=0.03, abs=0.03)
    sim.close()
