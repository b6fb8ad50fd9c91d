"""The built-in house as a Simulator: scenes "house:<seed>", with people "house:<seed>+<number of people>"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cached_property, lru_cache

import numpy as np

from eqa_nodes.core.errors import BadPose, SimulatorError, UnknownScene, unknown
from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Label
from sim_bridge.house import handling, lighting, physics
from sim_bridge.house.meshes import QuadMesh, mesh_of
from sim_bridge.house.people.drawing import draw
from sim_bridge.house.people.inhabitants import MOST, Inhabitants
from sim_bridge.house.physics import FreeSpace, Point, path_length
from sim_bridge.house.render import Renderer, instances_seen, surfaces
from sim_bridge.house.scene import House, HouseObject
from sim_bridge.rays import Image, RayScene
from sim_bridge.simulator import VERBS, EpisodeSetup, HandlingResult, height_of
from sim_bridge.walker import At, Walker

PREFIX = "house:"
SEEDS = 2000
_SCENE = re.compile(PREFIX + r"([0-9]+)(?:\+([1-9][0-9]*))?", re.ASCII)
_ONE_FLOOR_M = 1.0  # heights within this distance of 0 count as the floor of the house
ROBOT, GLANCE = RobotModel(), CameraModel(width=160, height=120)


class HouseWorld:
    """A house and its derived data (mesh, rays, light, free space), each computed on first use."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._spaces: dict[float, FreeSpace] = {}

    @cached_property
    def mesh(self) -> QuadMesh:
        """Everything as quads."""
        return mesh_of(self.house)

    @cached_property
    def rays(self) -> RayScene:
        """The mesh, ready for ray casting."""
        return RayScene(self.mesh.triangles())

    @cached_property
    def renderer(self) -> Renderer:
        """The mesh with baked light."""
        return Renderer(self.mesh, self.rays, lighting.bake(self.house, self.mesh))

    def image(self, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
        """Return what a camera at `map_from_camera` (4, 4), optical axes, sees."""
        if camera.color:
            return self.renderer.image(camera, map_from_camera)
        return surfaces(self.rays, self.mesh, camera, map_from_camera)

    def space(self, robot: RobotModel) -> FreeSpace:
        """Return the free space for robots of this height."""
        if robot.height_m not in self._spaces:
            self._spaces[robot.height_m] = FreeSpace(self.house, robot.height_m)
        return self._spaces[robot.height_m]

    def free(self, x: float, y: float, robot: RobotModel = ROBOT) -> bool:
        """Whether the robot can stand at a point of the map."""
        return self.space(robot).free(x, y, robot.radius_m)

    def shortest_path(self, a: Point, b: Point, robot: RobotModel = ROBOT) -> list[Point]:
        """Return the corners of the shortest drivable path, both ends included; empty when there is none."""
        return self.space(robot).shortest_path(a, b, robot.radius_m)

    def geodesic(self, a: Point, b: Point, robot: RobotModel = ROBOT) -> float:
        """Return the shortest drivable distance in metres; inf when there is none."""
        return path_length(self.shortest_path(a, b, robot))

    def steps_along(self, path: list[Point], start_yaw: float, final_yaw: float, robot: RobotModel = ROBOT) -> int:
        """Return how many atomic actions follow a path and end facing final_yaw."""
        return physics.steps_along(path, start_yaw, final_yaw, robot)

    def visible_pixels(self, pose: Pose2, camera: CameraModel = GLANCE) -> dict[int, int]:
        """Return how many pixels of each instance a camera on a robot at `pose` sees within its range."""
        mount = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg))
        return instances_seen(self.rays, self.mesh, camera, pose.transform().matrix() @ mount.matrix())

    @cached_property
    def labels(self) -> dict[int, Label]:
        """Return the label of each instance."""
        return {obj.id: _label(self.house, obj) for obj in self.house.objects}


def _label(house: House, obj: HouseObject) -> Label:
    """Return an object as a Label, without empty attributes."""
    room = next((r for r in house.rooms if r.id == obj.room), None)
    support = house.object_by_id(obj.support).kind if obj.support else ""
    facts = {"colour": obj.colour, "material": obj.material, "state": obj.state, "relation": obj.relation,
             "support": support}
    return Label(obj.id, obj.kind, (room.name or room.kind) if room else "", {k: v for k, v in facts.items() if v})


@lru_cache(maxsize=4)
def world(seed: int) -> HouseWorld:
    """Return the house of a seed, kept for the next episode. Raises UnknownScene."""
    from sim_bridge.house.generate import generate_house

    return HouseWorld(generate_house(seed))


def seed_of(scene: str) -> int:
    """Return the seed of a scene name. Raises UnknownScene for anything but house:0 to house:1999, or with people."""
    return _parsed(scene)[0]


def _parsed(scene: str) -> tuple[int, int]:
    """Return the seed of a scene name and the number of its people. Raises UnknownScene."""
    found = _SCENE.fullmatch(scene)
    if found is None or int(found[1]) >= SEEDS or int(found[2] or 0) > MOST:
        raise UnknownScene(f"unknown scene {scene!r}: known are {PREFIX}0 to {PREFIX}{SEEDS - 1}, and with people in "
                           f"them {PREFIX}0+1 to {PREFIX}{SEEDS - 1}+{MOST}")
    return int(found[1]), int(found[2] or 0)


class HouseSimulator(Walker):
    """One robot in one house at a time. Implements sim_bridge.simulator.Handling and Driving."""

    @staticmethod
    def check_scene(scene: str) -> None:
        """Raise UnknownScene for anything but house:0 to house:1999, or with people house:0+1 to house:1999+8."""
        seed_of(scene)

    def __init__(self, worlds: Mapping[str, HouseWorld] | None = None) -> None:
        """worlds: ready-made houses by scene name, beside the generated ones (tests)."""
        super().__init__()
        self._worlds = dict(worlds or {})
        self._world: HouseWorld | None = None
        self._held: HouseObject | None = None
        self._people: Inhabitants | None = None

    def labels(self) -> Mapping[int, Label]:
        """Return the labels of the ids in Frame.labels (privileged); a held object has the relation "held"."""
        if self._world is None:
            return {}
        held = {} if self._held is None else {self._held.id: _label(self._world.house, self._held)}
        return {**self._world.labels, **held, **(self._people.labels() if self._people is not None else {})}

    def handle(self, verb: str, instance: int) -> HandlingResult:
        """Pick, place, open, close or switch an object in view and within reach. Raises SimulatorError."""
        step = self._now()
        assert self._world is not None
        if verb not in VERBS:
            raise SimulatorError(unknown("action on an object", verb, VERBS))
        self._known(instance)
        seen = step.frame.labels is not None and bool((step.frame.labels == instance).any())
        hands = handling.Manipulator(self._world.house, self._pose, self._robot, self._held)
        result = hands.handle(verb, instance) if seen else handling.HandlingRefused("it is not in view")
        refused = result.why if isinstance(result, handling.HandlingRefused) else ""
        if isinstance(result, handling.Changed):
            world = HouseWorld(result.house)
            if not world.free(self._pose.x, self._pose.y, self._robot):
                refused = "the robot is in its way"
            elif self._people is not None and not self._people.fit(world):
                refused = "somebody is in its way"
            else:
                self._world, self._held = world, result.held
                if self._people is not None:
                    self._people.live_in(world)
        return HandlingResult(not refused, refused, self._shown(False, step.steps + 1, step.metres))

    def held(self) -> int:
        """Return the instance that the robot holds, 0 = none."""
        return self._held.id if self._held is not None else 0

    def position_of(self, instance: int) -> tuple[float, float, float]:
        """Privileged: return the middle of an object; of what is held, where the robot is. Raises SimulatorError."""
        obj = self._known(instance)
        x, y, z = obj.position
        if self._held is obj:
            x, y, z = self._pose.x, self._pose.y, self._robot.height_m / 2
        return x, y, z + obj.size[2] / 2

    def support_of(self, instance: int) -> int:
        """Privileged: return what an object stands on or lies in, 0 = nothing. Raises SimulatorError."""
        return self._known(instance).support

    def _known(self, instance: int) -> HouseObject:
        self._now()
        assert self._world is not None
        if self._held is not None and self._held.id == instance:
            return self._held
        try:
            return self._world.house.object_by_id(instance)
        except KeyError:
            raise SimulatorError(f"there is no object {instance} in this house") from None

    def geodesic(self, a: tuple[float, ...], b: tuple[float, ...]) -> float:
        """Privileged, scorer only: shortest drivable distance in metres; inf when there is none (and to other floors:
        a house has one, at height 0)."""
        return path_length(self.shortest_path(a, b))

    def shortest_path(self, a: tuple[float, ...], b: tuple[float, ...]) -> list[Point]:
        """Privileged, scorer and generator only: the corners of the shortest drivable path, empty if there is none."""
        if self._world is None:
            raise SimulatorError("the simulator has no episode: call reset first")
        if max(abs(height_of(a)), abs(height_of(b))) > _ONE_FLOOR_M:
            return []
        return self._world.shortest_path((a[0], a[1]), (b[0], b[1]), self._robot)

    def close(self) -> None:
        """Forget the world; a second call does nothing."""
        super().close()
        self._world = self._held = self._people = None

    def _enter(self, episode: EpisodeSetup) -> tuple[Pose2, float]:
        known = self._worlds.get(episode.scene)
        seed, people = (0, 0) if known is not None else _parsed(episode.scene)
        place = known or world(seed)
        pose = episode.start or place.house.start
        _check_start(place, pose, episode.robot)
        self._world, self._held = place, None
        self._people = Inhabitants(place, people, episode.seed, pose, episode.robot.radius_m) if people else None
        return pose, 0.0

    def _stand(self, pose: Pose2) -> float:
        assert self._world is not None
        _check_start(self._world, pose, self._robot)
        if self._people is not None and self._people.at(pose.x, pose.y, self._robot.radius_m):
            raise BadPose(f"somebody is at ({pose.x:.2f}, {pose.y:.2f}): wait until they have left, or choose another "
                          "place")
        return 0.0

    def _hop(self, at: At, dx: float, dy: float) -> At:
        assert self._world is not None
        there = self._world.space(self._robot).hop(at, dx, dy, self._robot)
        blocked = self._people is not None and self._people.blocks(*at[:2], *there[:2], self._robot.radius_m)
        return at if blocked else there

    def _time_passes(self, seconds: float) -> None:
        if self._people is not None:
            self._people.advance(seconds, self._pose)

    def _image(self, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
        assert self._world is not None
        image = self._world.image(camera, map_from_camera)
        if self._people is not None:
            draw(image, camera, map_from_camera, self._people.bodies())
        return image


def _check_start(place: HouseWorld, pose: Pose2, robot: RobotModel) -> None:
    """Raise BadPose, naming the nearest free pose, where the robot cannot stand."""
    if not np.isfinite(np.asarray(pose, float)).all():
        near = place.house.start
        raise BadPose(f"start pose {tuple(pose)} is not finite: this scene starts at "
                      f"({near.x:.2f}, {near.y:.2f}, {near.yaw:.2f})")
    if place.free(pose.x, pose.y, robot):
        return
    what = "inside something solid" if place.house.room_at(pose.x, pose.y) else "off the floor"
    near_xy = place.space(robot).nearest_free(pose.x, pose.y, robot.radius_m)
    remedy = (f"the nearest free pose is ({near_xy[0]:.2f}, {near_xy[1]:.2f}, {pose.yaw:.2f})" if near_xy
              else f"a robot of radius {robot.radius_m} m fits nowhere")
    raise BadPose(f"start pose ({pose.x:.2f}, {pose.y:.2f}, {pose.yaw:.2f}) is {what}: {remedy}")
