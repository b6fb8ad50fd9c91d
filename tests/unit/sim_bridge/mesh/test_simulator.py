"""A scan as a simulator: where episodes begin on several storeys, what is refused, and scenes that are kept."""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import BadPose, NoFloor, SimulatorError, UnknownScene
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.mesh.simulator import MeshSimulator, world
from sim_bridge.registry import open_simulator
from sim_bridge.scans import find_scan
from sim_bridge.simulator import Driving, EpisodeSetup, SceneEdit
from tests.fixtures.floors import box, ramp, slab, two_storeys
from tests.fixtures.logs import logged
from tests.fixtures.meshes import write_scan
from tests.fixtures.published_tasks import write_flat

SMALL = RobotModel(camera=CameraModel(width=32, height=24))
UP = 2.16


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scans")
    write_scan(folder / "storeys.glb", *two_storeys())
    write_scan(folder / "ceiling.glb", slab(0, 0, 5, 5, 2, up=False))
    write_scan(folder / "narrow.glb", slab(0, 0, 10, 0.4, 0))
    write_scan(folder / "far.glb", slab(0, 0, 3, 3, 0), slab(0, 0, 3, 3, 0) + 10_000)
    write_scan(folder / "slope.glb", ramp(0, 0, 10, 4, 0, 5))
    write_scan(folder / "wall.glb", slab(0, 0, 4, 4, 0), box(3, 0, 3.2, 4, 0, 2))
    write_scan(folder / "one.glb", np.array([[(0, 0, 0), (6, 0, 0), (0, 6, 0)]], float))
    return folder


@pytest.fixture
def sim(scans: Path) -> MeshSimulator:
    return MeshSimulator(scans)


def storeys(start: Pose2 | None, height_m: float = 0.0, seed: int = 0, robot: RobotModel = SMALL) -> EpisodeSetup:
    return EpisodeSetup("mesh:storeys.glb", start=start, seed=seed, robot=robot, start_height_m=height_m)


@pytest.mark.parametrize(("height_m", "floor_m"), [(0.0, 0.0), (UP, UP), (2.5, UP), (-0.7, 0.0), (1.9, UP)])
def test_a_start_lies_on_the_floor_that_is_nearest_to_its_height(sim: MeshSimulator, height_m: float,
                                                                  floor_m: float) -> None:
    frame = sim.reset(storeys(Pose2(6.0, 1.0, 0.5), height_m)).frame
    assert frame.map_from_base.xyz == pytest.approx((6.0, 1.0, floor_m), abs=1e-3)
    assert frame.pose.yaw == pytest.approx(0.5)


def test_starts_by_seed_lie_on_the_lowest_floor(sim: MeshSimulator) -> None:
    poses = [sim.reset(storeys(None, seed=seed)).frame.map_from_base for seed in range(6)]
    assert len({pose.xyz for pose in poses}) == 6 == len({pose.xyzw for pose in poses})
    assert all(pose.xyz[2] == pytest.approx(0.0, abs=0.21) for pose in poses)
    assert sim.reset(storeys(None, seed=3)).frame.map_from_base == poses[3]


def test_ways_lead_over_storeys_and_points_without_height_lie_where_the_episode_began(sim: MeshSimulator) -> None:
    sim.reset(storeys(Pose2(6.0, 1.0, 0.0), UP))
    above, below = (6.0, 1.0, UP), (6.0, 1.0, 0.0)
    assert 9.0 < sim.geodesic(above, below) < 14.0
    assert sim.shortest_path(above, below) == []
    assert sim.geodesic((6.0, 1.0), (7.0, 1.0)) == sim.geodesic(above, (7.0, 1.0, UP)) == pytest.approx(1.0)
    assert sim.geodesic((-2.0, 0.6), (6.0, 1.0)) == math.inf  # no floor there on the upper storey
    sim.reset(storeys(Pose2(6.0, 1.0, 0.0)))
    assert math.isfinite(sim.geodesic((-2.0, 0.6), (6.0, 1.0)))


def test_the_robot_drives_up_the_stairs(sim: MeshSimulator) -> None:
    assert isinstance(sim, Driving)
    sim.reset(storeys(Pose2(-1.0, 0.6, 0.0)))
    climbed = [sim.act(Action.MOVE_FORWARD) for _ in range(24)]
    assert not any(step.collided for step in climbed)
    assert climbed[-1].frame.map_from_base.xyz == pytest.approx((5.0, 0.6, UP), abs=1e-3)
    assert climbed[-1].metres == pytest.approx(6.0, abs=0.01)
    heights = [step.frame.map_from_base.xyz[2] for step in climbed]
    assert heights == sorted(heights)
    back = sim.drive(-0.5, 0.0, 12.0)
    assert back.map_from_base.xyz == pytest.approx((-1.0, 0.6, 0.0), abs=1e-2)


@pytest.mark.parametrize("pose", [Pose2(math.nan, 0, 0), Pose2(1.8, 0.6, 0), Pose2(60.0, 0.0, 0), Pose2(-2.9, 0, 1)])
def test_a_bad_start_names_a_free_pose_on_that_floor(sim: MeshSimulator, pose: Pose2) -> None:
    robot = replace(SMALL, climb_m=0.1)  # the stairs are in the way
    with pytest.raises(BadPose, match="the nearest free pose is") as refusal:
        sim.reset(storeys(pose, robot=robot))
    x, y, yaw = map(float, re.findall(r"-?\d+\.\d+", str(refusal.value))[-3:])
    assert sim.reset(storeys(Pose2(x, y, yaw), robot=robot)).steps == 0


@pytest.mark.parametrize(("scene", "error", "words"), [
    ("mesh:ceiling.glb", NoFloor, "2 face down"), ("mesh:narrow.glb", BadPose, "fits nowhere"),
    ("mesh:far.glb", Exception, r"1000\d m x 1000\d m|too far|10003"), ("mesh:none.glb", UnknownScene, "none.glb"),
    ("house:7", UnknownScene, "mesh:<data set>"),
])
def test_what_cannot_be_entered_is_named(sim: MeshSimulator, scene: str, error: type[Exception], words: str) -> None:
    sim.reset(storeys(Pose2(6.0, 1.0, 0.0)))
    with pytest.raises(error, match=words):
        sim.reset(EpisodeSetup(scene, robot=SMALL))
    assert sim.act(Action.OBSERVE).frame.pose.x == 6.0  # the episode before is not harmed
    with pytest.raises(BadPose, match="not finite"):
        sim.reset(storeys(Pose2(6.0, 1.0, 0.0), math.nan))


def test_the_base_stands_on_the_surface_and_not_on_the_highest_point_of_its_cell(sim: MeshSimulator) -> None:
    step = sim.reset(EpisodeSetup("mesh:slope.glb", start=Pose2(2.013, 2.007, 0.0), robot=SMALL))
    for _ in range(8):
        x, _, z = step.frame.map_from_base.xyz
        assert z == pytest.approx(x / 2, abs=1e-4)
        step = sim.act(Action.MOVE_FORWARD)


def test_a_drive_that_is_pushed_aside_by_two_millimetres_has_collided(sim: MeshSimulator, scans: Path) -> None:
    floor = world(find_scan("wall.glb", scans)).floor(SMALL)
    edge = max(x for x in np.arange(2.5, 3.0, 0.0005).tolist() if floor.free(x, 1.0, 0.0))
    flags = []
    for aside_m in (-0.003, 0.003):
        pose = Pose2(edge - 0.001, 1.0, math.pi / 2 - math.asin(aside_m / SMALL.move_m))
        sim.reset(EpisodeSetup("mesh:wall.glb", start=pose, robot=SMALL))
        step = sim.act(Action.MOVE_FORWARD)
        assert step.metres == pytest.approx(SMALL.move_m, abs=0.005)
        flags.append(step.collided)
    assert flags == [False, True]


def test_one_triangle_is_a_scene(sim: MeshSimulator, scans: Path) -> None:
    assert sim.reset(EpisodeSetup("mesh:one.glb", start=Pose2(1.5, 1.5, 0.0), robot=SMALL)).frame.depth_m.max() > 0
    assert sim.labels() == {}
    opened = open_simulator(f"mesh:{scans / 'one.glb'}")
    assert opened.reset(EpisodeSetup(f"mesh:{scans / 'one.glb'}", robot=SMALL)).steps == 0


def test_scenes_are_kept_until_their_file_changes(scans: Path) -> None:
    scan = find_scan("storeys.glb", scans)
    first = world(scan)
    assert world(scan) is first
    assert first.floor(SMALL) is first.floor(replace(SMALL, move_m=0.5))
    assert first.floor(SMALL) is not first.floor(replace(SMALL, radius_m=0.3))
    os.utime(scans / "storeys.glb", ns=(1, 1))
    assert world(scan) is not first


def test_a_scene_can_be_changed_before_an_episode(tmp_path: Path) -> None:
    path, sim = write_flat(tmp_path), MeshSimulator(tmp_path)
    shut = EpisodeSetup(f"mesh:HSSD/{path.name}", start=Pose2(1.0, 2.0, 0.0), robot=SMALL)
    ends = (1.0, 2.0, 0.0), (5.0, 2.0, 0.0)
    sim.reset(shut)
    assert not sim.straight(*ends) and sim.geodesic(*ends) == math.inf
    sim.reset(replace(shut, edit=SceneEdit(("flat/doors/door",))))
    assert sim.straight(*ends) and sim.geodesic(*ends) == pytest.approx(4.0)
    assert not sim.straight((1.0, 1.0, 0.0), (5.0, 1.0, 0.0))  # the wall is still there
    larger = SceneEdit(("flat/doors",), (2.0, 1.0, 1.0), (10.0, 0.0, 0.0))
    sim.reset(replace(shut, start=Pose2(12.0, 2.0, 0.0), edit=larger))
    assert sim.straight((12.0, 2.0, 0.0), (20.0, 2.0, 0.0)) and not sim.straight((12.0, 2.0, 0.0), (23.0, 2.0, 0.0))
    with logged("sim_bridge.mesh.gltf") as heard:
        sim.reset(replace(shut, edit=SceneEdit(("flat/windows/window",))))
    assert "has no nodes windows/window" in heard.text
    sim.close()


def test_only_scans_with_nodes_can_be_changed(tmp_path: Path) -> None:
    setup = EpisodeSetup("toy:room", edit=SceneEdit(("a/b",)))
    with pytest.raises(SimulatorError, match="the scene 'toy:room' cannot be changed, only mesh: scenes can"):
        open_simulator("toy:room").reset(setup)
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 3 2\n")
    with pytest.raises(SimulatorError, match="has no nodes that could be left out, such as 'a/b': use a .glb file"):
        MeshSimulator(tmp_path).reset(replace(setup, scene="mesh:a.obj"))
