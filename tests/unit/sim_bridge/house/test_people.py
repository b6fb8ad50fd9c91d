"""People in the houses: seen, solid, labelled, seeded, and gone from map and memory when they have left."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from eqa_nodes.core.camera.privacy import PrivacyConfig
from eqa_nodes.core.errors import BadPose, UnknownScene
from eqa_nodes.core.mapping.config import MapperConfig
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.house.people import bodies
from sim_bridge.house.people.bodies import RADIUS_M, SIT, STAND, WALK
from sim_bridge.house.people.inhabitants import TICK_S, Inhabitants, Passing
from sim_bridge.house.scene import HouseObject, ObjectPart
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import HouseWorld, world
from sim_bridge.simulator import EpisodeSetup
from tests.fixtures.houses import two_rooms

ROBOT = RobotModel(camera=CameraModel(160, 120))
AWAY = Pose2(-50.0, -50.0, 0.0)


@pytest.fixture
def simulator() -> HouseSimulator:
    sim = HouseSimulator()
    sim.reset(EpisodeSetup("house:7+3", robot=ROBOT))
    return sim


def only(simulator: HouseSimulator, pose: Pose2, posture: str = STAND) -> Inhabitants:
    """Let one person stand somewhere for good, and the others be away."""
    people = simulator._people
    assert people is not None
    del people.people[1:]
    people.people[0].pose, people.people[0].posture, people.people[0].until_s = pose, posture, math.inf
    return people


def before(pose: Pose2, metres: float) -> Pose2:
    return Pose2(pose.x + metres * math.cos(pose.yaw), pose.y + metres * math.sin(pose.yaw), pose.yaw + math.pi)


@pytest.mark.parametrize("scene", ["house:7+0", "house:7+9", "house:2000+1", "house:7+1+1"])
def test_scenes_that_are_none_are_refused(scene: str) -> None:
    with pytest.raises(UnknownScene, match=r"house:1999\+8"):
        HouseSimulator.check_scene(scene)


def test_a_house_with_people_is_the_house_itself_where_they_are_not() -> None:
    plain, lived_in = HouseSimulator(), HouseSimulator()
    plain.reset(EpisodeSetup("house:7", robot=ROBOT))
    lived_in.reset(EpisodeSetup("house:7+3", robot=ROBOT))
    seen = 0
    for _ in range(12):
        a, b = plain.act(Action.TURN_LEFT).frame, lived_in.act(Action.TURN_LEFT).frame
        ids = [i for i, label in lived_in.labels().items() if label.kind == "person"]
        there = np.isin(b.labels, ids)
        seen += int(there.sum())
        assert np.array_equal(a.rgb[~there], b.rgb[~there])  # smoothed edges too: a mask of the label hides all
        assert np.array_equal(a.depth_m[~there], b.depth_m[~there])
        assert np.array_equal(a.labels[~there], b.labels[~there])
        assert (b.depth_m[there] > 0).all() and ((a.depth_m >= b.depth_m) | (a.depth_m == 0))[there].all()
    assert len(ids) == 3 and seen > 0


def test_the_same_seed_gives_the_same_day_and_another_seed_another() -> None:
    def day(seed: int) -> list[tuple[Pose2, str]]:
        people = Inhabitants(world(7), 3, seed, AWAY, 0.18)
        found = []
        for _ in range(120):
            people.advance(0.5, AWAY)
            found += [(p.pose, p.posture) for p in people.people]
        return found

    assert day(1) == day(1) != day(2)


def test_nobody_walks_into_anything_and_in_ten_minutes_they_sit_stand_and_walk() -> None:
    place = world(7)
    robot = place.house.start
    people = Inhabitants(place, 3, 5, robot, ROBOT.radius_m)
    postures, rooms = set(), set()
    for _ in range(round(600 / TICK_S)):
        people.advance(TICK_S, robot)
        for p in people.people:
            postures.add(p.posture)
            room = place.house.room_at(p.pose.x, p.pose.y)
            rooms.add(room.id if room is not None else None)
            if p.posture != SIT:
                assert place.space(RobotModel(height_m=1.75)).clearance(p.pose.x, p.pose.y) >= RADIUS_M - 0.01
            for x, y, reach in p.solid():
                assert math.hypot(robot.x - x, robot.y - y) >= reach + ROBOT.radius_m
        standing = [p for p in people.people if p.posture != SIT]
        for i, a in enumerate(standing):
            assert all(math.hypot(a.pose.x - b.pose.x, a.pose.y - b.pose.y) >= 2 * RADIUS_M for b in standing[:i])
    assert postures == {SIT, STAND, WALK} and len(rooms - {None}) >= 3


def test_a_robot_stops_at_a_person_and_can_leave(simulator: HouseSimulator) -> None:
    start = simulator._pose
    people = only(simulator, before(start, 1.0))
    collided = [simulator.act(Action.MOVE_FORWARD).collided for _ in range(6)]
    x, y, reach = people.people[0].solid()[0]
    apart = math.hypot(simulator._pose.x - x, simulator._pose.y - y)
    assert collided[-1] and reach + ROBOT.radius_m <= apart < reach + ROBOT.radius_m + 0.02
    simulator.place_robot(simulator._pose._replace(yaw=start.yaw + math.pi))
    assert simulator.act(Action.MOVE_FORWARD).metres > 0.0 and not simulator.act(Action.MOVE_FORWARD).collided
    simulator.place_robot(start)
    ends = [simulator.drive(0.5, 0.0, 0.1) for _ in range(40)]
    apart = math.hypot(simulator._pose.x - x, simulator._pose.y - y)
    assert ends[-1].collided and reach + ROBOT.radius_m <= apart < reach + ROBOT.radius_m + 0.02
    assert not simulator.drive(-0.3, 0.0, 0.1).collided


def test_a_robot_is_not_put_where_somebody_is(simulator: HouseSimulator) -> None:
    there = before(simulator._pose, 1.0)
    only(simulator, there)
    with pytest.raises(BadPose, match="a person is at"):
        simulator.place_robot(there)


def with_door(state: str) -> HouseWorld:
    """Return the two rooms with the leaf of their door open against the wall, or shut."""
    shut = state == "closed"
    at, size = ((5.06, 2.0, 0.0), (0.06, 0.8, 2.0)) if shut else ((4.62, 1.56, 0.0), (0.8, 0.06, 2.0))
    leaf = HouseObject(20, "door", 0, at, 0.0, size, state=state,
                       parts=[ObjectPart("box", (0, 0, 1.0), size, "white", "plain")])
    house = two_rooms()
    return HouseWorld(replace(house, objects=[*house.objects, leaf]))


def test_nobody_walks_through_a_door_that_was_closed() -> None:
    people = Inhabitants(with_door("open"), 1, 0, AWAY, ROBOT.radius_m)
    person, shut = people.people[0], with_door("closed")
    person.pose, person.path, person.posture = Pose2(4.0, 2.0, 0.0), [(6.0, 1.0)], WALK
    assert people.fit(shut)
    people.live_in(shut)
    for _ in range(600):
        people.advance(TICK_S, AWAY)
        assert person.pose.x < 5.06


def test_a_door_is_not_closed_on_somebody() -> None:
    people = Inhabitants(with_door("open"), 1, 0, AWAY, ROBOT.radius_m)
    people.people[0].pose = Pose2(5.06, 2.0, 0.0)
    assert people.fit(with_door("open")) and not people.fit(with_door("closed"))


def test_nobody_stays_where_they_would_shut_a_room_off() -> None:
    passing = Passing(HouseWorld(two_rooms()).space(RobotModel(height_m=1.75)), ROBOT.radius_m)
    assert not passing.left_by([(5.06, 2.0, RADIUS_M)])
    assert passing.left_by([(2.6, 3.3, RADIUS_M)]) and passing.left_by([])


def test_the_rectangles_that_are_drawn_leave_nothing_out(simulator: HouseSimulator,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    start, images = simulator._pose, []
    for boxes in (bodies._boxes, lambda ends, radius, camera: np.tile((0, 0, 120, 160), (len(ends), 1))):
        monkeypatch.setattr(bodies, "_boxes", boxes)
        people = only(simulator, before(start, 0.6))
        for aside in (-0.8, -0.6, 0.0, 0.6, 0.8):
            people.people[0].pose = before(start._replace(yaw=start.yaw + aside), 0.6)
            images.append(simulator._image(ROBOT.camera, simulator._frame().map_from_camera()))
    for a, b in zip(images[:5], images[5:], strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_person_is_labelled_and_as_far_away_as_they_are(simulator: HouseSimulator) -> None:
    only(simulator, before(simulator._pose, 2.0))
    step = simulator.place_robot(simulator._pose)
    (person,) = [label for label in simulator.labels().values() if label.kind == "person"]
    room = world(7).house.room_at(*before(simulator._pose, 2.0)[:2])
    assert person.attributes["state"] == "standing" and room is not None and person.room == (room.name or room.kind)
    there = step.frame.labels == person.instance
    assert there.mean() > 0.02
    assert 1.7 < float(np.median(step.frame.depth_m[there])) < 2.0


@pytest.mark.parametrize(("config", "looks"), [(MapperConfig(), 15), (MapperConfig(hit=6, miss=3), 5)])
def test_the_map_clears_behind_a_person_who_leaves(simulator: HouseSimulator, config: MapperConfig, looks: int) -> None:
    start = simulator._pose
    people = only(simulator, before(start, 1.5))
    mapper = Mapper(config, robot=ROBOT)
    frames = [simulator.place_robot(start).frame for _ in range(8)]
    for frame in frames:
        mapper.integrate(frame)
    assert occupied(mapper, people.people[0].pose) > 5
    people.people[0].pose = AWAY
    for _ in range(looks):  # a cell that was seen occupied again and again is seen free as often
        mapper.integrate(simulator.place_robot(start).frame)
    assert occupied(mapper, before(start, 1.5)) == 0


def occupied(mapper: Mapper, pose: Pose2) -> int:
    """Return how many cells within a person's radius are occupied."""
    grid = mapper.grid()
    rows, columns = np.nonzero(grid.cells == 100)
    x = grid.origin[0] + (columns + 0.5) * grid.resolution_m
    y = grid.origin[1] + (rows + 0.5) * grid.resolution_m
    return int((np.hypot(x - pose.x, y - pose.y) <= RADIUS_M).sum())


def test_memory_keeps_the_sighting_and_takes_nobody_for_furniture(simulator: HouseSimulator, tmp_path: Path) -> None:
    only(simulator, before(simulator._pose, 2.0))
    frame = simulator.place_robot(simulator._pose).frame
    store = MemoryStore(tmp_path / "memory.sqlite")
    store.reset("one")
    keyframe = store.take(frame, simulator.labels())
    assert keyframe is not None and "person" in {s.label.kind for s in keyframe.sightings}
    kinds = {o.kind for o in store.objects()}
    assert kinds and "person" not in kinds
    store.close()


def test_what_memory_stores_under_a_mask_shows_nobody(simulator: HouseSimulator, tmp_path: Path) -> None:
    only(simulator, before(simulator._pose, 1.5))
    frame = simulator.place_robot(simulator._pose).frame
    (person,) = [i for i, label in simulator.labels().items() if label.kind == "person"]
    store = MemoryStore(tmp_path / "memory.sqlite", MemoryConfig(privacy=PrivacyConfig(kinds=("person",))))
    store.reset("one")
    keyframe = store.take(frame, simulator.labels())
    assert keyframe is not None and "person" not in {s.label.kind for s in keyframe.sightings}
    pixels = np.asarray(Image.open(io.BytesIO(keyframe.jpeg)))
    there = frame.labels == person
    inner = ndimage.binary_erosion(there, iterations=8)  # JPEG mixes blocks of 8 pixels, 16 for colour
    assert inner.sum() > 50 and pixels[inner].max() < 24 and frame.rgb[inner].max() > 60
    store.close()
