"""A home of two storeys as one world: both meshes on top of each other, and free space that stairs connect."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property

import numpy as np

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.meshes import QuadMesh
from sim_bridge.house.physics import Point
from sim_bridge.house.render import LightMap
from sim_bridge.house.scene import House
from sim_bridge.house.shell import LID
from sim_bridge.house.storeys import StoreyedHouse
from sim_bridge.house.world import ROBOT, HouseWorld, check_start
from sim_bridge.simulator import Point as Place
from sim_bridge.simulator import height_of
from sim_bridge.walker import At


class StoreyedWorld(HouseWorld):
    """Both storeys. `house` has all rooms and objects at their heights; `storeys` are worlds of their own, at z = 0."""

    def __init__(self, home: StoreyedHouse) -> None:
        super().__init__(_stacked(home))
        self.home, self.stairs = home, home.stairs
        self.storeys = tuple(HouseWorld(storey) for storey in home.storeys)

    @cached_property
    def mesh(self) -> QuadMesh:
        """Everything as quads, without the lids that shut the storeys off from each other."""
        return _joined([_raised(storey.mesh, self._heights[k]) for k, storey in enumerate(self.storeys)],
                       [storey.mesh.see != LID for storey in self.storeys])

    @cached_property
    def light(self) -> LightMap:
        """The light on the mesh: each storey has its own, and none passes through the stairwell."""
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
        """Return the height of the floor nearest to a height, on stairs of the step. Raises BadPose."""
        storey = self._storey((pose.x, pose.y, height_m))
        check_start(self.storeys[storey], pose, robot)
        return self._height(pose.x, pose.y, storey)

    def hop(self, at: At, dx: float, dy: float, robot: RobotModel) -> At:
        """Return where a small step ends; the storey changes half-way up the stairs."""
        storey = self._storey(at)
        x, y, _ = self.storeys[storey].hop(at, dx, dy, robot)
        return at if (x, y) == at[:2] else (x, y, self._height(x, y, storey))

    def free(self, x: float, y: float, robot: RobotModel = ROBOT) -> bool:
        """Whether the robot can stand at a point of the lower storey."""
        return self.storeys[0].free(x, y, robot)

    def path(self, a: Place, b: Place, robot: RobotModel = ROBOT) -> list[Point]:
        """Return the corners of the shortest drivable path, over the stairs where the ends lie on two storeys."""
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
        """Return the storey of a point; on the stairs that of the nearer landing."""
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
    """Return one mesh with the shown quads of several; parts keep numbers of their own."""
    first = np.cumsum([0, *(int(mesh.part.max()) + 1 for mesh in meshes)])
    meshes = [replace(mesh, part=mesh.part + np.int32(n)) for mesh, n in zip(meshes, first, strict=False)]
    pairs = list(zip(meshes, shown, strict=True))
    return QuadMesh(*(np.concatenate([getattr(mesh, field.name)[show] for mesh, show in pairs])
                      for field in fields(QuadMesh)))
