"""A house and what is derived from it: quads, light, free space, paths. HouseSimulator puts a robot into it."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Label
from sim_bridge.house import lighting, physics
from sim_bridge.house.meshes import QuadMesh, mesh_of
from sim_bridge.house.physics import FreeSpace, Point, path_length
from sim_bridge.house.render import LightMap, Renderer, instances_seen, surfaces
from sim_bridge.house.scene import House, HouseObject
from sim_bridge.rays import Image, RayScene
from sim_bridge.simulator import Point as Place
from sim_bridge.simulator import height_of
from sim_bridge.walker import At

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
        return Renderer(self.mesh, self.rays, self.light)

    @cached_property
    def light(self) -> LightMap:
        """The light on the mesh."""
        return lighting.bake(self.house, self.mesh)

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

    def stand(self, pose: Pose2, height_m: float, robot: RobotModel) -> float:
        """Return the height of the floor nearest to a height. Raises BadPose, naming the nearest free pose."""
        check_start(self, pose, robot)
        return 0.0

    def hop(self, at: At, dx: float, dy: float, robot: RobotModel) -> At:
        """Return where a small step ends (see sim_bridge.walker.Hop)."""
        return self.space(robot).hop(at, dx, dy, robot)

    def path(self, a: Place, b: Place, robot: RobotModel = ROBOT) -> list[Point]:
        """Return shortest_path between points that may have a height; empty where that is not this floor's."""
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
        """Return all rooms and objects with no storey above another, for what asks about a whole home."""
        return self.house

    def steps_along(self, path: list[Point], start_yaw: float, final_yaw: float, robot: RobotModel = ROBOT) -> int:
        """Return how many atomic actions follow a path and end facing final_yaw."""
        return physics.steps_along(path, start_yaw, final_yaw, robot)

    def visible_pixels(self, pose: Pose2, camera: CameraModel = GLANCE, height_m: float = 0.0) -> dict[int, int]:
        """Return how many pixels of each instance a camera on a robot at `pose` sees within its range.

        height_m: of the floor that the robot stands on.
        """
        mount = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg))
        return instances_seen(self.rays, self.mesh, camera, pose.transform(height_m).matrix() @ mount.matrix())

    @cached_property
    def labels(self) -> dict[int, Label]:
        """Return the label of each instance."""
        return {obj.id: label_of(self.house, obj) for obj in self.house.objects}


def label_of(house: House, obj: HouseObject) -> Label:
    """Return an object as a Label, without empty attributes."""
    room = next((r for r in house.rooms if r.id == obj.room), None)
    support = house.object_by_id(obj.support).kind if obj.support else ""
    facts = {"colour": obj.colour, "material": obj.material, "state": obj.state, "relation": obj.relation,
             "support": support, "text": obj.text}
    return Label(obj.id, obj.kind, (room.name or room.kind) if room else "", {k: v for k, v in facts.items() if v})


def check_start(place: HouseWorld, pose: Pose2, robot: RobotModel) -> None:
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
