"""Somebody in the only doorway: the robot waits a while and goes on when they have left, and the question ends anyway.

The whole chain runs in process, in a house of two rooms with a door of 80 cm.
"""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from eqa_nodes.config.graph import merged
from eqa_nodes.core.agent.driving import WaitForPeople
from eqa_nodes.core.protocols import ViewMemory
from eqa_nodes.core.types.floor import Action, Decision
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import ErrorCode, Limits
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.runners.in_process import InProcessRunner
from sim_bridge.house.people.inhabitants import Inhabitants
from sim_bridge.house.scene import House, HouseObject, ObjectPart
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import HouseWorld
from sim_bridge.registry import SimulatorPool
from sim_bridge.simulator import EpisodeSetup, Step
from tests.fixtures.agent_world import GOAL, World
from tests.fixtures.houses import two_rooms
from tests.fixtures.rooms import sighted, view

SCENE, DOORWAY, AWAY = "house:two rooms", Pose2(5.06, 2.0, math.pi), Pose2(7.0, 3.4, 0.0)
QUESTION = Sample("q", "Where is the washing machine?", "in the kitchen", scene=SCENE, start=Pose2(3.0, 2.0, 0.0))
LIVELY = {"map.hit": 6, "map.miss": 3}  # a map that follows people faster than that of launch/params/robot.yaml


def laundry_behind_the_wall() -> House:
    """Return two rooms, with a washing machine beside the door of the kitchen, where nobody sees it from outside."""
    house = two_rooms()
    box = ObjectPart("box", (0, 0, 0.42), (0.4, 0.6, 0.84), "white", "metal")
    return replace(house, objects=[*house.objects, HouseObject(11, "washing machine", 1, (5.45, 3.6, 0.0), 0.0,
                                                               (0.4, 0.6, 0.84), "white", "metal", "off", parts=[box])])


class Doorway(HouseSimulator):
    """A house of two rooms with somebody in its only doorway, who goes away after some seconds."""

    def __init__(self, leaves_s: float) -> None:
        super().__init__({SCENE: HouseWorld(laundry_behind_the_wall())})
        self.leaves_s, self.nearest_m = leaves_s, math.inf

    def reset(self, episode: EpisodeSetup) -> Step:
        step = super().reset(episode)
        assert self._world is not None
        self._people = Inhabitants(self._world, 1, 0, self._pose, self._robot.radius_m)
        person = self._people.people[0]
        person.pose, person.until_s, self.left_ns = DOORWAY, math.inf, step.frame.stamp_ns + round(1e9 * self.leaves_s)
        return self.act(Action.TURN_LEFT)

    def act(self, action: Action) -> Step:
        step = super().act(action)
        assert self._people is not None
        person = self._people.people[0]
        if step.frame.stamp_ns >= self.left_ns:
            person.pose = AWAY
        (x, y, reach), = person.solid()
        self.nearest_m = min(self.nearest_m, math.hypot(self._pose.x - x, self._pose.y - y) - reach
                             - self._robot.radius_m)
        return step


class Only(SimulatorPool):
    """A pool that knows one simulator."""

    def __init__(self, simulator: HouseSimulator) -> None:
        super().__init__()
        self._open["house"] = simulator


def asked(folder: Path, simulator: Doorway, **agent: Any) -> EpisodeResult:
    """Ask where something in the other room is."""
    parameters = merged(None, {"memory": {"folder": str(folder), "labels": True}, "explorer": {"policy": "best"},
                               "agent": {f"agent.{name}": value for name, value in agent.items()},
                               "mapper": LIVELY, "bridge": {"robot.camera.width": 160, "robot.camera.height": 120}})
    with closing(InProcessRunner(parameters, Limits(steps=400), pool=Only(simulator))) as runner:
        return runner.run(QUESTION)


def test_the_robot_waits_for_somebody_who_leaves_the_doorway(tmp_path: Path) -> None:
    simulator = Doorway(leaves_s=15.0)
    answer = asked(tmp_path, simulator).answer
    assert not answer.abstained and "kitchen" in answer.text
    assert simulator.nearest_m >= 0.0


@pytest.mark.thorough
def test_without_waiting_the_search_is_over_before_they_leave(tmp_path: Path) -> None:
    answer = asked(tmp_path, Doorway(leaves_s=15.0), waits=0).answer
    assert answer.abstained and answer.receipt.steps < 50 and "waited" not in answer.message


@pytest.mark.thorough
def test_a_question_ends_with_somebody_in_the_doorway_for_minutes(tmp_path: Path) -> None:
    simulator = Doorway(leaves_s=600.0)
    answer = asked(tmp_path, simulator).answer
    assert answer.abstained and answer.error is ErrorCode.NONE
    assert "no frontier is left" in answer.message and answer.receipt.steps < 200
    assert "it waited for people who may stand in the way" in answer.message
    assert simulator.nearest_m >= 0.0


@pytest.mark.parametrize(("kinds", "waits", "looks"), [(("sofa", "person"), 3, 3), (("person",), 0, 0),
                                                        (("sofa",), 3, 0), ((), 3, 0)])
def test_it_waits_so_often_and_only_where_somebody_was_seen(kinds: tuple[str, ...], waits: int, looks: int) -> None:
    class Seen:
        def since(self, keyframe_id: int) -> list[Any]:
            seen = (sighted(i + 1, kind, "", (1.0, 0.0, 0.5), (0.5, 0.5, 1.0)) for i, kind in enumerate(kinds))
            return [view(1, Pose2(0.0, 0.0, 0.0), *seen)]

    people = WaitForPeople(cast(ViewMemory, Seen()), waits)
    waited = [people.worth_waiting() for _ in range(5)]
    assert sum(waited) == looks and waited == sorted(waited, reverse=True)


class Crowded(World):
    """All ports at once, with somebody in the way of each drive, who leaves while the robot looks round."""

    def since(self, keyframe_id: int) -> list[Any]:
        return [view(i, Pose2(0.0, 0.0, 0.0), sighted(i, "person", "", (1.0, 0.0, 0.5), (0.5, 0.5, 1.0)))
                for i in range(keyframe_id + 1, self.seen + 1)]

    def moves(self) -> list[str]:
        return [call for call in self.calls if call in ("look", "drive")]

    def decide(self, *_: object) -> Decision:  # type: ignore[override]
        free = self.moves()[-1] == "look" and self.calls.count("drive") < self.goals
        return Decision(GOAL if free else None, "on" if free else "nothing is left to look at")


def test_it_waits_as_often_again_after_a_drive() -> None:
    world = Crowded({}, goals=4)
    world.ask(waits=1)
    assert world.moves() == ["look", "drive"] * 4 + ["look"]
