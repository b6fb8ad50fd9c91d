"""A house and its derived data: quads, light, free space, paths. HouseSimulator puts a robot into it.

Scenes are "house:<seed>"; with people "house:<seed>+<number of people>", with readable text "house:<seed>+text" (or
"house:<seed>+3+text"), with chores "house:<seed>+chores" (or "house:<seed>+3+chores", whose people live there), with
two storeys "house:<seed>@2".
"""

from __future__ import annotations

import math
import re
from dataclasses import fields, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadPose, UnknownScene
from eqa_nodes.core.types.geometry import Point as Place
from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Label
from sim_bridge.house import physics
from sim_bridge.house.chores import with_chores
from sim_bridge.house.generate import generate_house
from sim_bridge.house.lettering import lettered
from sim_bridge.house.lighting import BakedLight, bake
from sim_bridge.house.meshes import QuadMesh, mesh_of
from sim_bridge.house.physics import FreeSpace, Point, path_length
from sim_bridge.house.quads import LID
from sim_bridge.house.render import LightMap, Renderer, instances_seen, surfaces
from sim_bridge.house.scene import House, HouseObject
from sim_bridge.house.storeys import StoreyedHouse, generate_storeys
from sim_bridge.rays import Image, RayScene
from sim_bridge.simulator import height_of
from sim_bridge.walker import At

PREFIX, SEEDS, MOST_PEOPLE = "house:", 2000, 8
ROBOT, GLANCE = RobotModel(), CameraModel(width=160, height=120)
_ONE_FLOOR_M = 1.0  # heights within this distance of 0 count as the floor of the house


class HouseWorld:
    """A house and its derived data (mesh, rays, light, free space), each computed on first use."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._spaces: dict[float, FreeSpace] = {}
        self._mesh_before: tuple[House, QuadMesh] | None = None
        self._light_before: BakedLight | None = None

    def changed(self, house: House) -> HouseWorld:
        """Return the world of this house after some of its objects have changed; what has not changed is reused."""
        after = HouseWorld(house)
        mesh = self.__dict__.get("mesh")
        after._mesh_before = self._mesh_before if mesh is None else (self.house, mesh)
        after._light_before = self.__dict__.get("_baked", self._light_before)
        if _footprints(self.house, house) == _footprints(house, self.house):
            after._spaces = self._spaces
        return after

    @cached_property
    def mesh(self) -> QuadMesh:
        """Everything as quads."""
        mesh, self._mesh_before = mesh_of(self.house, self._mesh_before), None
        return mesh

    @cached_property
    def rays(self) -> RayScene:
        """The mesh, ready for ray casting."""
        return RayScene(self.mesh.triangles())

    @cached_property
    def renderer(self) -> Renderer:
        """The mesh with baked light."""
        return Renderer(self.mesh, self.rays, self.light)

    @cached_property
    def light(self) -> LightMap:
        """The light on the mesh."""
        return self._baked.map

    @cached_property
    def _baked(self) -> BakedLight:
        baked, self._light_before = bake(self.house, self.mesh, self._light_before), None
        return baked

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
        """Return whether the robot can stand at a point of the map."""
        return self.space(robot).free(x, y, robot.radius_m)

    def shortest_path(self, a: Point, b: Point, robot: RobotModel = ROBOT) -> list[Point]:
        """Return the corners of the shortest drivable path, both ends included; empty if there is none."""
        return self.space(robot).shortest_path(a, b, robot.radius_m)

    def geodesic(self, a: Point, b: Point, robot: RobotModel = ROBOT) -> float:
        """Return the shortest drivable distance in metres; inf if there is none."""
        return path_length(self.shortest_path(a, b, robot))

    def stand(self, pose: Pose2, height_m: float, robot: RobotModel) -> float:
        """Return the height of the floor nearest to a height. Raises BadPose, naming the nearest free pose."""
        check_start(self, pose, robot)
        return 0.0

    def hop(self, at: At, dx: float, dy: float, robot: RobotModel) -> At:
        """Return where a small step ends (see sim_bridge.walker.Hop)."""
        return self.space(robot).hop(at, dx, dy, robot)

    def path(self, a: Place, b: Place, robot: RobotModel = ROBOT) -> list[Point]:
        """Return shortest_path between points that may have a height; empty if a height is not this floor's."""
        if max(abs(height_of(a)), abs(height_of(b))) > _ONE_FLOOR_M:
            return []
        return self.shortest_path((a[0], a[1]), (b[0], b[1]), robot)

    def same_floor(self, a: Place, b: Place) -> bool:
        """Return whether two points are on one floor."""
        return True

    def storey_at(self, height_m: float) -> House:
        """Return the rooms and objects of the storey nearest to a height."""
        return self.house

    def side_by_side(self) -> House:
        """Return all rooms and objects with no storey above another, for questions about the whole home."""
        return self.house

    def steps_along(self, path: list[Point], start_yaw: float, final_yaw: float, robot: RobotModel = ROBOT) -> int:
        """Return the number of atomic actions that follow a path and end facing final_yaw."""
        return physics.steps_along(path, start_yaw, final_yaw, robot)

    def visible_pixels(self, pose: Pose2, camera: CameraModel = GLANCE, height_m: float = 0.0) -> dict[int, int]:
        """Return the number of pixels of each instance that a camera on a robot at `pose` sees within its range.

        height_m: height of the floor that the robot stands on.
        """
        mount = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg))
        return instances_seen(self.rays, self.mesh, camera, pose.transform(height_m).matrix() @ mount.matrix())

    @cached_property
    def labels(self) -> dict[int, Label]:
        """Return the label of each instance."""
        return {obj.id: label_of(self.house, obj) for obj in self.house.objects}


def _footprints(house: House, other: House) -> list[tuple[object, ...]]:
    """Return the space that the objects of a house take up which the other one does not have."""
    same = {id(t) for t in other.objects}
    return [(t.position, t.yaw, t.size, t.relation, *((p.shape, p.centre, p.size, p.yaw) for p in t.parts))
            for t in house.objects if t.solid and id(t) not in same]


def label_of(house: House, obj: HouseObject) -> Label:
    """Return an object as a Label, without empty attributes."""
    room = next((r for r in house.rooms if r.id == obj.room), None)
    support = house.object_by_id(obj.support).kind if obj.support else ""
    facts = {"colour": obj.colour, "material": obj.material, "state": obj.state, "relation": obj.relation,
             "support": support, "text": obj.text}
    return Label(obj.id, obj.kind, (room.name or room.kind) if room else "", {k: v for k, v in facts.items() if v})


def check_start(place: HouseWorld, pose: Pose2, robot: RobotModel) -> None:
    """Raise BadPose, naming the nearest free pose, if the robot cannot stand at `pose`."""
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


class StoreyedWorld(HouseWorld):
    """Both storeys. `house` has all rooms and objects at their heights; `storeys` are separate worlds at z = 0."""

    def __init__(self, home: StoreyedHouse) -> None:
        super().__init__(_stacked(home))
        self.home, self.stairs = home, home.stairs
        self.storeys = tuple(HouseWorld(storey) for storey in home.storeys)

    @cached_property
    def mesh(self) -> QuadMesh:
        """Everything as quads, without the lids that separate the storeys."""
        return _joined([_raised(storey.mesh, self._heights[k]) for k, storey in enumerate(self.storeys)],
                       [storey.mesh.see != LID for storey in self.storeys])

    @cached_property
    def light(self) -> LightMap:
        """The light on the mesh, computed for each storey separately: none passes through the stairwell."""
        first, values, grids = 0, [], []
        for storey in self.storeys:
            light = storey.light
            grids.append((light.grid + np.array([first, 0, 0], np.int32))[storey.mesh.see != LID])
            values.append(light.values)
            first += len(light.values)
        return LightMap(np.concatenate(values), np.concatenate(grids).astype(np.int32))

    @property
    def _heights(self) -> tuple[float, float]:
        return 0.0, self.stairs.rise_m

    def stand(self, pose: Pose2, height_m: float, robot: RobotModel) -> float:
        """Return the height of the floor nearest to a height; on stairs, of the step. Raises BadPose."""
        storey = self._storey((pose.x, pose.y, height_m))
        check_start(self.storeys[storey], pose, robot)
        return self._height(pose.x, pose.y, storey)

    def hop(self, at: At, dx: float, dy: float, robot: RobotModel) -> At:
        """Return where a small step ends; the storey changes half-way up the stairs."""
        storey = self._storey(at)
        x, y, _ = self.storeys[storey].hop(at, dx, dy, robot)
        return at if (x, y) == at[:2] else (x, y, self._height(x, y, storey))

    def free(self, x: float, y: float, robot: RobotModel = ROBOT) -> bool:
        """Return whether the robot can stand at a point of the lower storey."""
        return self.storeys[0].free(x, y, robot)

    def path(self, a: Place, b: Place, robot: RobotModel = ROBOT) -> list[Point]:
        """Return the corners of the shortest drivable path, over the stairs if the ends lie on two storeys."""
        ends = ((a[0], a[1]), (b[0], b[1]))
        storeys = [self._storey((*end, height_of(place))) for end, place in zip(ends, (a, b), strict=True)]
        if storeys[0] == storeys[1]:
            return self.storeys[storeys[0]].shortest_path(*ends, robot)
        middle = self.stairs.middle
        first = self.storeys[storeys[0]].shortest_path(ends[0], middle, robot)
        then = self.storeys[storeys[1]].shortest_path(middle, ends[1], robot)
        return [*first, *then[1:]] if first and then else []

    def same_floor(self, a: Place, b: Place) -> bool:
        """Return whether two points are on one storey."""
        return self._storey((a[0], a[1], height_of(a))) == self._storey((b[0], b[1], height_of(b)))

    def storey_at(self, height_m: float) -> House:
        """Return the rooms and objects of the storey nearest to a height, at their places on the plan."""
        return self.storeys[int(height_m >= self.stairs.rise_m / 2)].house

    def side_by_side(self) -> House:
        """Return all rooms and objects with no storey above another."""
        return self.home.whole()

    def _storey(self, at: At) -> int:
        """Return the storey of a point; on the stairs, that of the nearer landing."""
        x, y, z = at
        if self.stairs.holds(x, y):
            return int(y >= self.stairs.middle[1])
        return int(z >= self.stairs.rise_m / 2)

    def _height(self, x: float, y: float, storey: int) -> float:
        return self.stairs.height_m(y) if self.stairs.holds(x, y) else self._heights[storey]


def _stacked(home: StoreyedHouse) -> House:
    low, high = home.storeys
    up = home.stairs.rise_m
    return replace(
        low, rooms=low.rooms + high.rooms,
        openings=low.openings + [o._replace(z0=o.z0 + up, z1=o.z1 + up) for o in high.openings],
        objects=low.objects + [replace(t, position=(*t.position[:2], t.position[2] + up)) for t in high.objects])


def _raised(mesh: QuadMesh, up_m: float) -> QuadMesh:
    return replace(mesh, corners=mesh.corners + np.array([0.0, 0.0, up_m], np.float32))


def _joined(meshes: list[QuadMesh], shown: list[np.ndarray]) -> QuadMesh:
    """Return one mesh with the shown quads of several; part numbers stay distinct."""
    first = np.cumsum([0, *(int(mesh.part.max()) + 1 for mesh in meshes)])
    meshes = [replace(mesh, part=mesh.part + np.int32(n)) for mesh, n in zip(meshes, first, strict=False)]
    pairs = list(zip(meshes, shown, strict=True))
    return QuadMesh(*(np.concatenate([getattr(mesh, field.name)[show] for mesh, show in pairs])
                      for field in fields(QuadMesh)))


_SCENE = re.compile(PREFIX + r"([0-9]+)(?:(?:\+([1-9][0-9]*))?(\+text|\+chores)?|@(2))", re.ASCII)


class HouseName(NamedTuple):
    """The parsed name of a scene."""

    seed: int
    people: int
    storeys: int
    text: bool = False
    chores: bool = False


@lru_cache(maxsize=4)
def world(seed: int) -> HouseWorld:
    """Return the house of a seed, cached for later episodes. Raises UnknownScene."""
    return HouseWorld(generate_house(seed))


@lru_cache(maxsize=2)
def with_text(seed: int) -> HouseWorld:
    """Return the house of a seed with text on its objects, cached for later episodes. Raises UnknownScene."""
    return HouseWorld(lettered(world(seed).house))


@lru_cache(maxsize=4)
def chores_world(seed: int) -> HouseWorld:
    """Return the house of a seed with tools and things to do, cached for later episodes. Raises UnknownScene."""
    return HouseWorld(with_chores(world(seed).house))


@lru_cache(maxsize=2)
def storeyed(seed: int) -> StoreyedWorld:
    """Return the home of two storeys of a seed, cached for later episodes."""
    return StoreyedWorld(generate_storeys(seed))


def world_of(scene: str) -> HouseWorld:
    """Return the house of a scene name. Raises UnknownScene."""
    name = parse_name(scene)
    if name.text:
        return with_text(name.seed)
    if name.chores:
        return chores_world(name.seed)
    return world(name.seed) if name.storeys == 1 else storeyed(name.seed)


def seed_of(scene: str) -> int:
    """Return the seed of a house with one storey, also with people or text. Raises UnknownScene for others."""
    name = parse_name(scene)
    if name.storeys != 1:
        raise UnknownScene(f"{scene!r} has two storeys, and what was asked for needs one: choose {PREFIX}{name.seed}")
    return name.seed


def parse_name(scene: str) -> HouseName:
    """Parse a scene name. Raises UnknownScene."""
    found = _SCENE.fullmatch(scene)
    if found is None or int(found[1]) >= SEEDS or int(found[2] or 0) > MOST_PEOPLE:
        raise UnknownScene(f"unknown scene {scene!r}: known are {PREFIX}0 to {PREFIX}{SEEDS - 1}, with people in "
                           f"them {PREFIX}0+1 to {PREFIX}{SEEDS - 1}+{MOST_PEOPLE}, with text to read "
                           f"{PREFIX}0+text, with chores {PREFIX}0+chores, and with two storeys {PREFIX}0@2 to "
                           f"{PREFIX}{SEEDS - 1}@2")
    return HouseName(int(found[1]), int(found[2] or 0), int(found[4] or 1), found[3] == "+text",
                     found[3] == "+chores")
