"""A simulator that renders by itself: "blocks:5" is a room with five pieces of furniture, each a coloured block.

eqa ask "What color is the armchair?" --scene blocks:5

It implements sim_bridge.simulator.Simulator in plain numpy. In the place of `cast`, `_fits` and `_move` a simulator of
your own calls its engine.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.driving.planning import centre_of, index_of, walks
from eqa_nodes.core.errors import BadPose, SimulatorError, UnknownScene
from eqa_nodes.core.types.floor import Action, GridMap
from eqa_nodes.core.types.geometry import Point, Pose2, camera_mount
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.views import Frame, Label
from sim_bridge.simulator import EpisodeSetup, Step, turned

ROOM_M = (8.0, 6.0, 2.5)  # along x, y and z
SLOT_M = 2.0  # each block stands in the middle of a square of its own, so that the robot gets past it
START = Pose2(1.0, 1.0, 0.6)
PIECES = 10  # a move is tried in so many pieces
CELL_M = 0.1  # of the grid on which distances are measured
WALLS = (225, 220, 205)


class Kind(NamedTuple):
    """A kind of furniture. size: metres along x, y and z."""

    name: str
    size: tuple[float, float, float]
    colour: str
    rgb: tuple[int, int, int]


KINDS = (Kind("armchair", (0.9, 0.9, 0.8), "red", (190, 50, 45)),
         Kind("table", (1.0, 0.7, 0.7), "brown", (130, 85, 50)),
         Kind("fridge", (0.7, 0.7, 1.8), "white", (240, 240, 240)),
         Kind("bookshelf", (1.0, 0.4, 2.0), "green", (60, 130, 70)),
         Kind("bed", (1.0, 1.0, 0.5), "blue", (60, 90, 180)),
         Kind("stove", (0.6, 0.6, 0.9), "black", (40, 40, 45)))


class Block(NamedTuple):
    """A piece of furniture: an axis-aligned box. low, high: corners x, y, z in metres, map frame."""

    kind: Kind
    low: tuple[float, float, float]
    high: tuple[float, float, float]


def furnished(count: int) -> tuple[Block, ...]:
    """Return the blocks of a room, drawn by their number: the same ones each time."""
    chance = random.Random(count)
    slots = [(x + 0.5, y + 0.5) for x in range(4) for y in range(3) if (x, y) != (0, 0)]  # the robot starts there
    placed = zip(chance.sample(KINDS, count), chance.sample(slots, count))
    return tuple(_block(kind, x * SLOT_M, y * SLOT_M) for kind, (x, y) in placed)


def _block(kind: Kind, x: float, y: float) -> Block:
    across, along, height = kind.size
    return Block(kind, (x - across / 2, y - along / 2, 0.0), (x + across / 2, y + along / 2, height))


def cast(origin: np.ndarray, rays: np.ndarray, blocks: tuple[Block, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cast rays (n, 3) from a point inside the room.

    Return how far each goes, in its own length, the number of the block that it meets (0 = the room), and the axis of
    the side that it meets there.
    """
    with np.errstate(divide="ignore"):
        slope = 1.0 / rays
    far = np.maximum(-origin * slope, (np.array(ROOM_M) - origin) * slope)
    distance, axis, number = far.min(axis=1), far.argmin(axis=1), np.zeros(len(rays), np.uint16)
    for i, block in enumerate(blocks, 1):
        one, other = (np.array(block.low) - origin) * slope, (np.array(block.high) - origin) * slope
        near, leave = np.minimum(one, other), np.maximum(one, other).min(axis=1)
        enter = near.max(axis=1)
        hit = (enter > 0) & (enter <= leave) & (enter < distance)
        distance[hit], number[hit], axis[hit] = enter[hit], i, near.argmax(axis=1)[hit]
    return distance, number, axis


class BlocksSimulator:
    """Rooms with 1 to 6 blocks."""

    def __init__(self) -> None:
        self._clock_ns, self._closed = 0, False
        self._robot: RobotModel | None = None

    @staticmethod
    def check_scene(scene: str) -> None:
        """Raise UnknownScene for a scene that there is not. It is asked before anything starts."""
        _count(scene)

    def reset(self, episode: EpisodeSetup) -> Step:
        """Place the robot. Raises UnknownScene, or BadPose for a start inside something."""
        if self._closed:
            raise SimulatorError("the simulator is closed: make a new one")
        self._blocks = furnished(_count(episode.scene))
        start = episode.start or START
        if not self._fits(start.x, start.y, episode.robot.radius_m):
            raise BadPose(f"start {tuple(start)} is not on free floor of {episode.scene!r}: {tuple(START)} is")
        self._robot, self._pose, self._look_deg, self._steps, self._metres = episode.robot, start, 0.0, 0, 0.0
        self._clock_ns = max(self._clock_ns, episode.clock_ns)
        return self._step(episode.robot)

    def act(self, action: Action) -> Step:
        """Carry out one action; OBSERVE renders again without counting."""
        robot, collided = self._running(), False
        if action == Action.OBSERVE:
            return self._observed(robot, collided)
        if action == Action.MOVE_FORWARD:
            collided = self._move(robot)
        yaw, self._look_deg = turned(self._pose.yaw, self._look_deg, action, robot)
        self._pose = self._pose._replace(yaw=yaw)
        self._steps += 1
        return self._step(robot, collided)

    def labels(self) -> Mapping[int, Label]:
        """Privileged: what the ids in Frame.labels are."""
        self._running()
        return {i: Label(i, block.kind.name, "living room", {"colour": block.kind.colour})
                for i, block in enumerate(self._blocks, 1)}

    def geodesic(self, a: Point, b: Point) -> float:
        """Privileged, scorer only: length of the shortest path, metres; inf where there is none."""
        path = self.shortest_path(a, b)
        return sum(map(math.dist, path, path[1:])) if path else math.inf

    def shortest_path(self, a: Point, b: Point) -> list[tuple[float, float]]:
        """Privileged: points of the shortest path, with both ends; empty where there is none."""
        grid = self._floor()
        try:
            paths, cell = walks(grid, Pose2(a[0], a[1], 0.0), self._running().radius_m), index_of(grid, b[0], b[1])
        except BadPose:
            return []
        if not math.isfinite(paths.metres[cell]):
            return []
        between = [centre_of(grid, iy, ix) for iy, ix in paths.path_to(cell)[1:-1].tolist()]
        return [(a[0], a[1]), *((point.x, point.y) for point in between), (b[0], b[1])]

    def close(self) -> None:
        """Release everything; a second call does nothing."""
        self._closed, self._robot = True, None

    def _running(self) -> RobotModel:
        if self._robot is None:
            raise SimulatorError("no episode is running: call reset first")
        return self._robot

    def _move(self, robot: RobotModel) -> bool:
        """Go forward in small pieces, and stop in front of what is in the way. Return whether something was."""
        piece = robot.move_m / PIECES
        for _ in range(PIECES):
            x, y = self._pose.x + piece * math.cos(self._pose.yaw), self._pose.y + piece * math.sin(self._pose.yaw)
            if not self._fits(x, y, robot.radius_m):
                return True
            self._pose, self._metres = Pose2(x, y, self._pose.yaw), self._metres + piece
        return False

    def _fits(self, x: float, y: float, radius_m: float) -> bool:
        """Return whether a disc keeps off the walls and the blocks; a place that is not finite never does."""
        inside = radius_m <= x <= ROOM_M[0] - radius_m and radius_m <= y <= ROOM_M[1] - radius_m
        return inside and all(math.hypot(max(low[0] - x, 0.0, x - high[0]), max(low[1] - y, 0.0, y - high[1]))
                              >= radius_m for _, low, high in self._blocks)

    def _floor(self) -> GridMap:
        rows, columns = round(ROOM_M[1] / CELL_M), round(ROOM_M[0] / CELL_M)
        y, x = (np.mgrid[:rows, :columns] + 0.5) * CELL_M
        cells = np.zeros((rows, columns), np.int8)
        for _, low, high in self._blocks:
            cells[(x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1])] = 100
        cells[[0, -1]] = cells[:, [0, -1]] = 100
        return GridMap(0, CELL_M, (0.0, 0.0), cells, cells == 0)

    def _step(self, robot: RobotModel, collided: bool = False) -> Step:
        self._clock_ns += round(robot.step_s * 1e9)  # the clock never goes back, also over episodes
        return self._observed(robot, collided)

    def _observed(self, robot: RobotModel, collided: bool) -> Step:
        camera, k = robot.camera, robot.camera.intrinsics
        mount = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg - self._look_deg))
        base = self._pose.transform()
        pose = base.matrix() @ mount.matrix()
        v, u = np.mgrid[:k.height, :k.width] + 0.5  # the middles of the pixels
        rays = np.stack([(u - k.cx) / k.fx, (v - k.cy) / k.fy, np.ones_like(u)], axis=-1).reshape(-1, 3)
        depth, number, axis = cast(pose[:3, 3], rays @ pose[:3, :3].T, self._blocks)  # z is 1: the length is the depth
        depth[depth > camera.max_range_m] = 0.0
        colours = np.array([WALLS, *(block.kind.rgb for block in self._blocks)], np.float32)[number]
        rgb = colours * np.array([0.8, 0.95, 0.6])[axis][:, None]  # sides face the light differently
        shape = (k.height, k.width)
        frame = Frame(self._clock_ns, rgb.astype(np.uint8).reshape(*shape, 3), depth.astype(np.float32).reshape(shape),
                      k, base, mount, number.reshape(shape))
        return Step(frame, collided, self._steps, self._metres)


def _count(scene: str) -> int:
    """Return the number of blocks that a scene name asks for. Raises UnknownScene."""
    number = scene.partition(":")[2]
    if number not in map(str, range(1, len(KINDS) + 1)):
        raise UnknownScene(f"unknown scene {scene!r}: known are blocks:1 to blocks:{len(KINDS)}")
    return int(number)
