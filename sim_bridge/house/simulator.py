"""The built-in house as a Simulator: a robot, people and objects that can be handled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from eqa_nodes.core.errors import BadPose, SimulatorError, unknown
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Label
from sim_bridge.house import handling
from sim_bridge.house.actions import ACTIONS, WANTED
from sim_bridge.house.people.bodies import HEIGHT_M, draw
from sim_bridge.house.people.inhabitants import Inhabitants
from sim_bridge.house.people.residents import Resident, Residents
from sim_bridge.house.physics import Point, path_length
from sim_bridge.house.scene import HouseObject
from sim_bridge.house.world import HouseName, HouseWorld, StoreyedWorld, label_of, parse_name, world_of
from sim_bridge.rays import Image
from sim_bridge.simulator import EpisodeSetup, HandlingResult
from sim_bridge.walker import At, Walker


class HouseSimulator(Walker):
    """One robot in one house at a time. Implements sim_bridge.simulator.Handling and Driving."""

    @staticmethod
    def check_scene(scene: str) -> None:
        """Raise UnknownScene for anything but house:0 to house:1999, house:0+1 to house:1999+8, or house:0@2 ..."""
        parse_name(scene)

    @staticmethod
    def usual_detector(scene: str) -> str:
        """Return the detector that was trained on such houses, "" for those with text or chores. Raises UnknownScene.

        The words and tools in those are not among what it knows.
        """
        name = parse_name(scene)
        return "" if name.text or name.chores else "perceiver"

    @staticmethod
    def sample_questions(scene: str) -> tuple[str, ...]:
        """Return example questions about a house, none for one of two storeys. Raises UnknownScene."""
        from sim_bridge.house.questions.dataset import questions_to_try

        name = parse_name(scene)
        return questions_to_try(name.seed) if name.storeys == 1 else ()

    def __init__(self, worlds: Mapping[str, HouseWorld] | None = None) -> None:
        """worlds: prepared houses by scene name, in addition to the generated ones (tests)."""
        super().__init__()
        self._worlds = dict(worlds or {})
        self._world: HouseWorld | None = None
        self._held: HouseObject | None = None
        self._people: Inhabitants | None = None
        self._gone: dict[int, HouseObject] = {}  # what was eaten, thrown away or given to someone

    def labels(self) -> Mapping[int, Label]:
        """Return the labels of the ids in Frame.labels (privileged); a held object has the relation "held"."""
        if self._world is None:
            return {}
        held = {} if self._held is None else {self._held.id: label_of(self._world.house, self._held)}
        gone = {i: label_of(self._world.house, obj) for i, obj in self._gone.items()}
        return {**gone, **self._world.labels, **held, **(self._people.labels() if self._people is not None else {})}

    def handle(self, verb: str, instance: int) -> HandlingResult:
        """Carry out an action of actions.yaml on an object or a person in view and within reach. Raises SimulatorError.
        """
        step = self._now()
        assert self._world is not None
        if verb not in ACTIONS:
            raise SimulatorError(unknown("action on an object", verb, ACTIONS))
        if isinstance(self._world, StoreyedWorld):
            raise SimulatorError("objects of a house with two storeys cannot be handled: choose one without @2")
        person = self._people.by_id(instance) if isinstance(self._people, Residents) else None
        if person is None:
            self._known(instance)
        labels = step.frame.labels
        if instance in self._gone:
            done, message = False, "it is no longer there"
        elif (labels is None or not (labels == instance).any()) and self.held() != instance:
            done, message = False, "it is not in view"
        elif ACTIONS[verb].social != (person is not None):
            done, message = False, "it is a person" if person is not None else "it is not a person"
        else:
            done, message = self._handled(verb, instance) if person is None else self._approached(verb, person)
        return HandlingResult(done, message, self._shown(False, step.steps + 1, step.metres))

    def _handled(self, verb: str, instance: int) -> tuple[bool, str]:
        """Carry out an action on an object; return whether it was done, and the reply or the reason."""
        before = self._in_world()
        hands = handling.Manipulator(before.house, self._pose, self._robot, self._held)
        result = hands.handle(verb, instance)
        if isinstance(result, handling.HandlingRefused):
            return False, result.why
        if result.house is not before.house:
            world = before.changed(result.house)
            if not world.free(self._pose.x, self._pose.y, self._robot):
                return False, "the robot is in its way"
            if self._people is not None and not self._people.fit(world):
                return False, "a person is in its way"
            self._world = world
            if self._people is not None:
                self._people.live_in(world)
        left = {t.id for t in result.house.objects} | {result.held.id if result.held is not None else 0}
        lost = [t for t in (*before.house.objects, *filter(None, [self._held])) if t.id not in left]
        self._gone |= {t.id: replace(t, relation="gone", support=0) for t in lost}
        self._held = result.held
        return True, result.reply

    def _approached(self, verb: str, person: Resident) -> tuple[bool, str]:
        """Carry out an action on a person; return whether it was done, and what was said."""
        assert isinstance(self._people, Residents)
        hands = handling.Manipulator(self._in_world().house, self._pose, self._robot, self._held)
        rule = ACTIONS[verb]
        unmet = "the robot holds nothing" if rule.held == (WANTED,) and self._held is None else hands.hand_unmet(rule)
        before = self._held
        done, message, self._held = self._people.approach(rule, person, before, unmet)
        if before is not None and self._held is None:
            self._gone[before.id] = replace(before, relation="gone")
        return done, message

    def held(self) -> int:
        """Return the instance id of the held object, 0 = none."""
        return self._held.id if self._held is not None else 0

    def position_of(self, instance: int) -> tuple[float, float, float]:
        """Privileged: return the centre of an object, or the robot's position for a held one. Raises SimulatorError."""
        person = self._person_with(instance)
        if person is not None:
            return person.pose.x, person.pose.y, HEIGHT_M / 2
        obj = self._known(instance)
        x, y, z = obj.position
        if self._held is obj:
            x, y, z = self._pose.x, self._pose.y, self._robot.height_m / 2
        return x, y, z + obj.size[2] / 2

    def support_of(self, instance: int) -> int:
        """Privileged: return the instance that an object stands on or lies in, 0 = none. Raises SimulatorError.

        What a person holds has the person as its support.
        """
        person = self._person_with(instance)
        if person is not None:
            return person.id if person.id != instance else 0
        return self._known(instance).support

    def _person_with(self, instance: int) -> Resident | None:
        """Return the resident with this id, or the one who holds the object with this id."""
        people = self._people.people if isinstance(self._people, Residents) else []
        return next((p for p in people if instance in (p.id, p.holds.id if p.holds is not None else 0)), None)

    def _known(self, instance: int) -> HouseObject:
        self._now()
        assert self._world is not None
        if self._held is not None and self._held.id == instance:
            return self._held
        if instance in self._gone:
            return self._gone[instance]
        try:
            return self._world.house.object_by_id(instance)
        except KeyError:
            raise SimulatorError(f"there is no object {instance} in this house") from None

    def geodesic(self, a: tuple[float, ...], b: tuple[float, ...]) -> float:
        """Privileged, scorer only: return the shortest drivable distance, also over stairs, metres; inf if none.

        A point without a height is taken to lie on the lowest floor, at 0.
        """
        return path_length(self._in_world().path(a, b, self._robot))

    def shortest_path(self, a: tuple[float, ...], b: tuple[float, ...]) -> list[Point]:
        """Privileged, scorer and generator only: return the corners of the shortest drivable path on one floor."""
        place = self._in_world()
        return place.path(a, b, self._robot) if place.same_floor(a, b) else []

    def _in_world(self) -> HouseWorld:
        if self._world is None:
            raise SimulatorError("the simulator has no episode: call reset first")
        return self._world

    def close(self) -> None:
        """Forget the world; a second call does nothing."""
        super().close()
        self._world = self._held = self._people = None

    def _enter(self, episode: EpisodeSetup) -> tuple[Pose2, float]:
        known = self._worlds.get(episode.scene)
        name = HouseName(0, 0, 1) if known is not None else parse_name(episode.scene)
        place = known or world_of(episode.scene)
        pose = episode.start or place.house.start
        height_m = place.stand(pose, episode.start_height_m, episode.robot)
        self._world, self._held = place, None
        self._people, self._gone = None, {}
        if name.people:
            self._people = Residents(place, name.people, episode.robot.radius_m) if name.chores else \
                Inhabitants(place, name.people, episode.seed, pose, episode.robot.radius_m)
        return pose, height_m

    def _stand(self, pose: Pose2) -> float:
        height_m = self._in_world().stand(pose, self._height_m, self._robot)
        if self._people is not None and self._people.at(pose.x, pose.y, self._robot.radius_m):
            raise BadPose(f"a person is at ({pose.x:.2f}, {pose.y:.2f}): wait until they have left, or choose another "
                          "place")
        return height_m

    def _hop(self, at: At, dx: float, dy: float) -> At:
        there = self._in_world().hop(at, dx, dy, self._robot)
        blocked = self._people is not None and self._people.blocks(*at[:2], *there[:2], self._robot.radius_m)
        return at if blocked else there

    def _time_passes(self, seconds: float) -> None:
        if self._people is not None:
            self._people.advance(seconds, self._pose)

    def _image(self, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
        image = self._in_world().image(camera, map_from_camera)
        if self._people is not None:
            draw(image, camera, map_from_camera, self._people.bodies())
        return image
