"""Handling objects in a house: what changes, what is refused, and that nothing else changes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from eqa_nodes.core.errors import BadPose, SimulatorError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.house.generate import generate_house
from sim_bridge.house.handling import (
    LIFT_M,
    REACH_M,
    HandledHouse,
    HandlingRefused,
    Manipulator,
    liftable,
    opens,
    rebuilt,
    surfaces_of,
    switches,
)
from sim_bridge.house.scene import House, HouseObject
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import HouseWorld
from sim_bridge.simulator import EpisodeSetup, HandlingResult
from tests.fixtures.houses import two_rooms

SEEDS = range(8)  # of the train houses
ROBOT = RobotModel(camera=CameraModel(160, 120, color=False))


@cache
def world(seed: int) -> HouseWorld:
    """Return one of the houses, each made once for all tests."""
    return HouseWorld(generate_house(seed))


def objects(kind: str) -> Iterator[tuple[int, HouseObject]]:
    return ((seed, t) for seed in SEEDS for t in world(seed).house.objects if t.kind == kind)


class Robot(HouseSimulator):
    """A robot in one of the houses."""

    def __init__(self, seed: int) -> None:
        self.seed, self.scene = seed, f"house:{seed}"
        super().__init__({self.scene: world(seed)})


def stand_by(seed: int, obj: HouseObject, down: float = 20.0) -> Robot | None:
    """Return a robot that stands within reach of an object and sees it; None where there is no such place."""
    place, simulator = world(seed), Robot(seed)
    camera = CameraModel(160, 120, tilt_down_deg=down, color=False)
    simulator.reset(EpisodeSetup(simulator.scene, robot=replace(ROBOT, camera=camera)))
    for ring in (0.5, 0.7, 0.9, 1.1, 1.3):
        for k in range(16):
            angle = 2 * math.pi * k / 16
            pose = Pose2(obj.position[0] + ring * math.cos(angle), obj.position[1] + ring * math.sin(angle),
                         angle + math.pi)
            if not place.free(pose.x, pose.y, ROBOT):
                continue
            step = simulator.place_robot(pose)
            near = Manipulator(place.house, pose, ROBOT, None).distance(obj) < REACH_M
            if near and (step.frame.labels == obj.id).any():
                return simulator
    return None


def reached(kind: str, **wanted: str) -> tuple[Robot, HouseObject]:
    for seed, obj in objects(kind):
        if all(getattr(obj, name) == value for name, value in wanted.items()):
            simulator = stand_by(seed, obj)
            if simulator is not None:
                return simulator, obj
    raise AssertionError(f"no {kind} can be reached in the houses of this test")


def test_every_thing_comes_back_as_it_was() -> None:
    changed = 0
    for seed in SEEDS:
        for obj in world(seed).house.objects:
            on_off = switches(obj.kind) or (("open", "closed") if opens(obj.kind) else None)
            if on_off is None or obj.kind == "door":
                continue
            other = rebuilt(obj, on_off[obj.state == on_off[0]])
            back = rebuilt(other, obj.state)
            changed += 1
            assert other.parts != obj.parts, f"{obj.kind}: its state cannot be seen"
            assert back.position == pytest.approx(obj.position, abs=1e-3)
            assert back.size == pytest.approx(obj.size, abs=2e-3)
            if (obj.kind, obj.state) not in (("refrigerator", "open"), ("wardrobe", "open")):
                assert back.parts == obj.parts, obj.kind  # food and clothes are drawn anew
    assert changed > 100


def test_what_can_be_picked_up_is_small() -> None:
    light = [t for seed in SEEDS for t in world(seed).house.objects if liftable(t)]
    assert len(light) > 100
    assert all(max(t.size) <= LIFT_M and t.relation not in ("wall", "ceiling") for t in light)
    assert not {t.kind for t in light} & {"nightstand", "sofa", "painting", "rug"}


def test_pick_and_place() -> None:
    simulator, mug = reached("mug")
    support = world(simulator.seed).house.object_by_id(mug.support)
    before = simulator.act(Action.OBSERVE)
    picked = simulator.handle("pick", mug.id)
    assert picked == HandlingResult(True, "", picked.step) and picked.step.steps == before.steps + 1
    assert simulator.held() == mug.id and not (picked.step.frame.labels == mug.id).any()
    assert simulator.labels()[mug.id].attributes["relation"] == "held"
    assert simulator.position_of(mug.id)[:2] == pytest.approx(picked.step.frame.pose[:2])
    other = next(t for t in world(simulator.seed).house.objects if liftable(t) and t.id != mug.id)
    assert not simulator.handle("pick", other.id).done
    placed = simulator.handle("place", support.id)
    assert placed.done, placed.message
    assert simulator.held() == 0 and (placed.step.frame.labels == mug.id).any()
    assert simulator.labels()[mug.id].attributes["relation"] == "on"
    z = simulator.position_of(mug.id)[2]
    assert any(abs(z - mug.size[2] / 2 - support.position[2] - s.z) < 1e-3 for s in surfaces_of(support))
    assert not simulator.handle("place", support.id).done  # nothing is held any more


def test_a_lamp_is_switched_and_a_reset_forgets_it() -> None:
    simulator, lamp = reached("floor lamp", state="on")
    assert simulator.handle("switch_on", lamp.id).message == "it is on already"
    off = simulator.handle("switch_off", lamp.id)
    assert off.done and simulator.labels()[lamp.id].attributes["state"] == "off"
    simulator.reset(EpisodeSetup(simulator.scene, robot=ROBOT))
    assert simulator.labels()[lamp.id].attributes["state"] == "on"
    assert world(simulator.seed).house.object_by_id(lamp.id).state == "on"


def test_a_switched_lamp_changes_the_picture() -> None:
    house = two_rooms()
    lamp = next(rebuilt(rebuilt(t, "off"), "on") for t in house.objects if t.kind == "floor lamp")
    house.objects = [lamp if t.id == lamp.id else t for t in house.objects]
    simulator = HouseSimulator({"house:1": HouseWorld(house)})
    lit = RobotModel(camera=CameraModel(80, 60, tilt_down_deg=20.0))
    bright = simulator.reset(EpisodeSetup("house:1", start=Pose2(1.4, 0.5, math.pi), robot=lit)).frame
    dark = simulator.handle("switch_off", lamp.id).step.frame
    assert np.array_equal(bright.labels, dark.labels)
    assert not np.array_equal(bright.rgb, dark.rgb)
    shade = bright.labels == lamp.id
    assert dark.rgb[shade].mean() < bright.rgb[shade].mean()


def test_what_has_not_changed_is_not_computed_again_and_the_picture_is_the_same() -> None:
    place, held, done = HouseWorld(world(3).house), None, []
    assert place.light is not None
    for verb in ("switch_off", "pick", "place", "open"):
        for obj in place.house.objects:
            hands = Manipulator(place.house, Pose2(*obj.position[:2], 0.0), ROBOT, held)
            handled = hands.handle(verb, obj.id)
            if isinstance(handled, HandledHouse):
                place, held = place.changed(handled.house), handled.held
                whole = HouseWorld(handled.house)
                for field in fields(place.mesh):
                    assert np.array_equal(getattr(place.mesh, field.name), getattr(whole.mesh, field.name)), field.name
                assert np.array_equal(place.light.grid, whole.light.grid)
                assert np.array_equal(place.light.values, whole.light.values), (verb, obj.kind)
                done.append(verb)
                break
    assert done == ["switch_off", "pick", "place", "open"]


def test_a_refrigerator_opens_into_the_room_and_not_into_the_robot() -> None:
    opened = 0
    for seed, fridge in objects("refrigerator"):
        simulator = stand_by(seed, fridge) if fridge.state == "closed" else None
        if simulator is None:
            continue
        pose = simulator.act(Action.OBSERVE).frame.pose
        hands, done = Manipulator(world(seed).house, pose, ROBOT, None), simulator.handle("open", fridge.id)
        assert simulator.place_robot(pose).frame.pose == pose  # where it stood is free, which is checked
        if not done.done:
            assert done.message in ("the robot is in its way", "something is in its way")
            assert simulator.labels()[fridge.id].attributes["state"] == "closed"
            continue
        assert simulator.labels()[fridge.id].attributes["state"] == "open"
        now = hands.handle("open", fridge.id)
        assert isinstance(now, HandledHouse)
        before, during = clearance(world(seed).house), clearance(now.house)
        assert np.count_nonzero((during < 0) & (before > 0)) > 20  # cells of 2.5 cm that the leaf takes
        assert simulator.handle("close", fridge.id).done
        again = Manipulator(now.house, pose, ROBOT, None).handle("close", fridge.id)
        assert isinstance(again, HandledHouse) and clearance(again.house) == pytest.approx(before)
        opened += 1
        if opened == 2:
            return
    raise AssertionError(f"only {opened} refrigerators could be opened")


def clearance(house: House) -> np.ndarray:
    return HouseWorld(house).space(ROBOT).clearance_m


def test_a_closed_door_shuts_a_room_and_opens_again() -> None:
    shut = 0
    for seed, leaf in objects("door"):
        place = world(seed)
        opening = next(o for o in place.house.openings if o.object_id == leaf.id)
        if leaf.state != "open":
            continue
        middle = ((opening.x0 + opening.x1) / 2, (opening.y0 + opening.y1) / 2)
        along_x = opening.y0 == opening.y1
        sides = [Pose2(middle[0] + (0 if along_x else d), middle[1] + (d if along_x else 0), 0.0) for d in (-0.8, 0.8)]
        robot = next((p for p in sides if place.free(p.x, p.y, ROBOT)), None)
        if robot is None:
            continue
        closed = Manipulator(place.house, robot, ROBOT, None).handle("close", leaf.id)
        if isinstance(closed, HandlingRefused):
            continue
        now = HouseWorld(closed.house)
        assert not now.free(*middle, ROBOT) and place.free(*middle, ROBOT)
        opened = Manipulator(closed.house, robot, ROBOT, None).handle("open", leaf.id)
        assert not isinstance(opened, HandlingRefused), f"house {seed}, door {leaf.id}: {opened}"
        assert HouseWorld(opened.house).free(*middle, ROBOT)
        shut += 1
        if shut == 2:
            return
    raise AssertionError(f"only {shut} doors could be closed")


def test_what_cannot_be_done_says_why() -> None:
    simulator, lamp = reached("floor lamp")
    sofa = next((t for t in world(simulator.seed).house.objects if t.kind in ("sofa", "bed")), None)
    for verb, why in (("open", "cannot be opened"), ("pick", "cannot be picked up"), ("place", "holds nothing")):
        handled = simulator.handle(verb, lamp.id)
        assert (handled.done, why in handled.message) == (False, True), handled.message
    far = [t for t in world(simulator.seed).house.objects
           if math.dist(t.position[:2], lamp.position[:2]) > 4 and liftable(t)]
    assert simulator.handle("pick", far[0].id).message in ("it is not in view", "it is out of reach")
    with pytest.raises(SimulatorError, match="unknown action on an object 'zap': known are ask"):
        simulator.handle("zap", lamp.id)
    with pytest.raises(SimulatorError, match="no object 99999"):
        simulator.handle("pick", 99999)
    with pytest.raises(SimulatorError, match="call reset first"):
        HouseSimulator().handle("pick", 1)
    if sofa is not None:
        with pytest.raises(BadPose, match="inside something solid"):
            simulator.place_robot(Pose2(sofa.position[0], sofa.position[1], 0.0))
