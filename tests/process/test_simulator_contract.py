"""What every Simulator must do, whatever world it shows."""

from __future__ import annotations

import atexit
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NamedTuple

import numpy as np
import pytest

from eqa_nodes.core.errors import BadPose, SimulatorError, UnknownScene
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.house.export import export_glb
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import HouseWorld
from sim_bridge.mesh.simulator import MeshSimulator
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import Driving, EpisodeSetup, Simulator, Viewing
from sim_bridge.toy import GridWorld
from tests.fixtures import habitat_tape
from tests.fixtures.houses import two_rooms

SMALL = RobotModel(camera=CameraModel(width=80, height=60))


class Bench(NamedTuple):
    """A simulator under test, a scene it knows, a start with 1.5 m of room ahead, and a start inside something."""

    open: Callable[[], Simulator]
    scene: str
    start: Pose2
    inside: Pose2


@cache
def scans() -> Path:
    """Return a folder with the two rooms as a scan, which is there until this process ends."""
    folder = Path(mkdtemp())
    atexit.register(rmtree, folder)
    export_glb(two_rooms(), folder / "rooms.glb")
    (folder / "rooms.stage_config.json").write_text(
        '{"render_asset": "rooms.glb", "up": [0, 1, 0], "front": [0, 0, -1]}')
    return folder


BENCHES = {"house": Bench(lambda: HouseSimulator({"test": HouseWorld(two_rooms())}), "test",
                          Pose2(1.6, 1.5, 0.0), Pose2(0.5, 2.6, 0.0)),
           "mesh": Bench(lambda: MeshSimulator(scans()), "mesh:rooms.glb",
                         Pose2(2.0, -2.5, 0.0), Pose2(2.6, -0.5, 0.0)),
           f"habitat-{habitat_tape.MODE}": Bench(habitat_tape.open_habitat, habitat_tape.SCENE,
                                                 Pose2(1.0, -2.6, 0.0), Pose2(2.6, -0.5, 0.0)),
           "toy": Bench(GridWorld, "toy:room", Pose2(1.25, 1.75, 0.0), Pose2(3.75, 2.25, 0.0))}


@pytest.fixture(params=sorted(BENCHES))
def bench(request: pytest.FixtureRequest) -> Bench:
    return BENCHES[request.param]


@pytest.fixture
def sim(bench: Bench) -> Iterator[Simulator]:
    sim = bench.open()
    yield sim
    sim.close()


def episode(bench: Bench, start: Pose2 | None = None) -> EpisodeSetup:
    return EpisodeSetup(bench.scene, start=start or bench.start, robot=SMALL)


def test_a_frame_is_complete(bench: Bench, sim: Simulator) -> None:
    step = sim.reset(episode(bench))
    frame = step.frame
    assert (step.steps, step.metres, step.collided) == (0, 0.0, False)
    assert (frame.rgb.shape, frame.rgb.dtype) == ((60, 80, 3), np.uint8)
    assert (frame.depth_m.shape, frame.depth_m.dtype) == ((60, 80), np.float32)
    assert np.isfinite(frame.depth_m).all()
    assert 0 <= frame.depth_m.min() <= frame.depth_m.max() <= SMALL.camera.max_range_m
    assert frame.labels is None or (frame.labels.shape == (60, 80) and frame.labels.dtype == np.uint16)
    assert frame.pose == pytest.approx(bench.start)
    assert frame.base_from_camera.xyz[2] == pytest.approx(SMALL.camera.height_m)
    assert frame.intrinsics.fx == pytest.approx(40.0)


@pytest.mark.parametrize("name", ["house", "mesh"])  # Habitat's is in test_habitat_faults.py: the tape has no such look
def test_a_view_from_the_robots_own_pose_is_its_view(name: str) -> None:
    sim = BENCHES[name].open()
    own = sim.reset(episode(BENCHES[name])).frame
    assert isinstance(sim, Viewing)
    seen = sim.view(own.map_from_base)
    assert (seen.rgb == own.rgb).all() and (seen.depth_m == own.depth_m).all() and seen.stamp_ns > own.stamp_ns
    x, y, z = own.map_from_base.xyz
    above = sim.view(own.map_from_base._replace(xyz=(x, y, z + 0.7)))
    assert above.map_from_camera()[2, 3] == pytest.approx(own.map_from_camera()[2, 3] + 0.7)
    assert (above.rgb != own.rgb).any()
    assert sim.act(Action.MOVE_FORWARD).frame.pose.distance(own.pose) == pytest.approx(SMALL.move_m)
    sim.close()


def test_every_label_has_a_meaning(bench: Bench, sim: Simulator) -> None:
    frame = sim.reset(episode(bench)).frame
    labels = sim.labels()
    seen = {int(i) for i in np.unique(frame.labels)} - {0} if frame.labels is not None else set()
    assert seen <= set(labels)
    assert all(labels[i].instance == i and labels[i].kind for i in labels)


def test_the_shortest_way_is_as_long_as_the_distance(bench: Bench, sim: Simulator) -> None:
    sim.reset(episode(bench))
    a = bench.start[:2]
    ways = [(b, sim.shortest_path(a, b)) for b in ((a[0] + dx, a[1] + dy) for dx in (-1, 0, 2) for dy in (-1, 0, 1))]
    assert sum(bool(way) for _, way in ways) > 3
    for b, way in ways:
        if way:
            assert (way[0], way[-1]) == (pytest.approx(a), pytest.approx(b))
            length = sum(math.dist(p, q) for p, q in pairwise(way))
            assert length == pytest.approx(sim.geodesic(a, b), abs=0.25)
        assert bool(way) == math.isfinite(sim.geodesic(a, b))
    for off in ((1e4, 0.0), (math.nan, 0.0), (*a, 5.6)):
        assert sim.shortest_path(a, off) == []


def test_actions_move_as_the_robot_says(bench: Bench, sim: Simulator) -> None:
    sim.reset(episode(bench))
    forward = sim.act(Action.MOVE_FORWARD)
    assert forward.frame.pose == pytest.approx((bench.start.x + 0.25, bench.start.y, 0.0), abs=1e-6)
    assert (forward.steps, forward.metres, forward.collided) == (1, pytest.approx(0.25), False)
    left = sim.act(Action.TURN_LEFT)
    assert left.frame.pose.yaw == pytest.approx(math.radians(30))
    right = sim.act(Action.TURN_RIGHT)
    assert right.frame.pose == pytest.approx(forward.frame.pose)
    assert (right.steps, right.metres) == (3, forward.metres)


def test_look_tilts_the_camera_within_limits(bench: Bench, sim: Simulator) -> None:
    level = sim.reset(episode(bench)).frame.base_from_camera
    up = sim.act(Action.LOOK_UP).frame.base_from_camera
    assert up.matrix()[2, 2] > level.matrix()[2, 2]  # the optical axis rises
    steps = [sim.act(Action.LOOK_UP) for _ in range(8)]
    assert steps[-1].frame.base_from_camera == steps[-2].frame.base_from_camera
    assert steps[-1].frame.base_from_camera.matrix()[2, 2] == pytest.approx(math.sin(math.radians(50)), abs=1e-6)


def test_observe_is_free(bench: Bench, sim: Simulator) -> None:
    sim.reset(episode(bench))
    moved = sim.act(Action.MOVE_FORWARD)
    again = sim.act(Action.OBSERVE)
    assert (again.steps, again.metres, again.frame.stamp_ns) == (moved.steps, moved.metres, moved.frame.stamp_ns)
    assert np.array_equal(again.frame.rgb, moved.frame.rgb)
    assert np.array_equal(again.frame.depth_m, moved.frame.depth_m)


def test_stamps_rise_by_the_step_time_also_over_resets(bench: Bench, sim: Simulator) -> None:
    frames = [sim.reset(episode(bench)).frame]
    frames += [sim.act(a).frame for a in (Action.TURN_LEFT, Action.LOOK_DOWN, Action.MOVE_FORWARD)]
    assert [b.stamp_ns - a.stamp_ns for a, b in pairwise(frames)] == [500_000_000] * 3
    assert sim.reset(episode(bench)).frame.stamp_ns > frames[-1].stamp_ns


def test_same_episode_same_images(bench: Bench) -> None:
    runs = []
    for _ in range(2):
        sim = bench.open()
        sim.reset(episode(bench))
        runs.append([sim.act(a).frame for a in (Action.MOVE_FORWARD, Action.TURN_RIGHT, Action.MOVE_FORWARD)])
        sim.close()
    for a, b in zip(*runs, strict=True):
        assert (a.rgb.tobytes(), a.depth_m.tobytes()) == (b.rgb.tobytes(), b.depth_m.tobytes())
        assert (a.map_from_base, a.stamp_ns) == (b.map_from_base, b.stamp_ns)


def test_something_in_the_way_is_reported(bench: Bench, sim: Simulator) -> None:
    sim.reset(episode(bench))
    steps = [sim.act(Action.MOVE_FORWARD) for _ in range(60)]
    assert steps[-1].collided
    assert steps[-1].metres < 60 * 0.25
    assert steps[-1].steps == 60


@pytest.mark.parametrize("pose", [Pose2(math.nan, 0, 0), Pose2(0, math.inf, 0), Pose2(1, 1, math.nan),
                                  Pose2(500.0, 0.0, 0.0), None])
def test_a_bad_start_is_refused(bench: Bench, sim: Simulator, pose: Pose2 | None) -> None:
    with pytest.raises(BadPose, match=r"\d"):
        sim.reset(episode(bench, pose or bench.inside))
    assert sim.reset(episode(bench)).steps == 0  # and the next episode is not harmed


def test_the_pose_named_in_a_refusal_is_free(bench: Bench, sim: Simulator) -> None:
    with pytest.raises(BadPose) as refusal:
        sim.reset(episode(bench, bench.inside))
    x, y, yaw = map(float, re.findall(r"[-\d.]+\d", str(refusal.value))[-3:])
    assert math.dist((x, y), bench.inside[:2]) < 1.5
    assert sim.reset(episode(bench, Pose2(x, y, yaw))).steps == 0


def test_geodesic_is_a_distance(bench: Bench, sim: Simulator) -> None:
    sim.reset(episode(bench))
    a, b = bench.start[:2], (bench.start.x + 1.5, bench.start.y)
    assert sim.geodesic(a, b) == pytest.approx(1.5, abs=0.02)
    assert sim.geodesic(a, b) == sim.geodesic(b, a)
    assert sim.geodesic(a, (1e4, 1e4)) == math.inf


def test_acting_before_reset_and_after_close_fails_clearly(bench: Bench, sim: Simulator) -> None:
    with pytest.raises(SimulatorError, match="reset"):
        sim.act(Action.MOVE_FORWARD)
    if isinstance(sim, Driving):
        with pytest.raises(SimulatorError, match="reset"):
            sim.drive(0.1, 0.0, 0.1)
    sim.reset(episode(bench))
    sim.close()
    sim.close()
    with pytest.raises(SimulatorError, match="reset"):
        sim.act(Action.MOVE_FORWARD)


@pytest.mark.parametrize("scene", ["house:2000", "house:-1", "house:", "house:x", "house:1.5", "house:²", "attic:3"])
def test_an_unknown_scene_names_the_known(scene: str) -> None:
    with pytest.raises(UnknownScene, match="house:") as refusal:
        open_simulator(scene).reset(EpisodeSetup(scene))
    assert repr(scene) in str(refusal.value)


def test_a_generated_house_opens_by_name() -> None:
    sim = open_simulator("house:202")
    step = sim.reset(EpisodeSetup("house:202", robot=SMALL))
    assert step.frame.labels is not None
    assert len(set(step.frame.labels.ravel().tolist())) > 2
    assert sim.reset(EpisodeSetup("house:202", robot=SMALL)).frame.rgb.tobytes() == step.frame.rgb.tobytes()
    sim.close()


@pytest.fixture
def driving(bench: Bench, sim: Simulator) -> Driving:
    if not isinstance(sim, Driving):
        pytest.skip(f"{bench.scene} takes no velocities")
    sim.reset(episode(bench))
    return sim


@pytest.mark.parametrize(("forward", "turn"), [(0.3, 0.4), (-0.2, 0.3)])
def test_a_drive_is_the_same_in_pieces(bench: Bench, driving: Driving, forward: float, turn: float) -> None:
    whole = driving.drive(forward, turn, 1.0)
    driving.reset(episode(bench))
    pieces = [driving.drive(forward, turn, 0.05) for _ in range(20)]
    assert pieces[-1].map_from_base.xyz == pytest.approx(whole.map_from_base.xyz, abs=1e-3)
    assert pieces[-1].map_from_base.xyzw == pytest.approx(whole.map_from_base.xyzw, abs=1e-6)
    assert (pieces[-1].metres, whole.metres) == (pytest.approx(abs(forward), abs=1e-3),) * 2
    assert not whole.collided and not any(piece.collided for piece in pieces)
    angle, length = turn, forward  # of one second along a circle
    x, y, _ = whole.map_from_base.xyz
    assert x == pytest.approx(bench.start.x + length / angle * math.sin(angle), abs=1e-3)
    assert y == pytest.approx(bench.start.y + length / angle * (1 - math.cos(angle)), abs=1e-3)


def test_a_drive_takes_its_time_and_shows_when_observed(driving: Driving) -> None:
    before = driving.act(Action.OBSERVE)
    driven = driving.drive(0.2, 0.0, 0.35)
    after = driving.act(Action.OBSERVE)
    assert driven.stamp_ns - before.frame.stamp_ns == 350_000_000
    assert (after.frame.stamp_ns, after.frame.map_from_base) == (driven.stamp_ns, driven.map_from_base)
    assert (after.steps, after.metres, driven.metres) == (before.steps, driven.metres, pytest.approx(0.07, abs=1e-3))
    assert not np.array_equal(after.frame.depth_m, before.frame.depth_m)
    assert driving.act(Action.TURN_LEFT).steps == 1


@pytest.mark.parametrize("slide", [True, False])
def test_a_drive_into_something_stops_or_slides(bench: Bench, sim: Simulator, slide: bool) -> None:
    if not isinstance(sim, Driving):
        pytest.skip(f"{bench.scene} takes no velocities")
    sim.reset(replace(episode(bench), robot=replace(SMALL, slide=slide)))
    drives = [sim.drive(0.5, 0.0, 0.1) for _ in range(400)]
    assert not drives[0].collided and drives[-1].collided
    assert drives[-1].metres < 0.5 * 40
    assert drives[-1].stamp_ns - drives[0].stamp_ns == 399 * 100_000_000
    if not slide:
        assert drives[-1].map_from_base.xyz[1] == pytest.approx(bench.start.y, abs=1e-6)
        assert sim.drive(0.0, 1.0, 0.5).map_from_base.xyzw != drives[-1].map_from_base.xyzw  # it can still turn
