"""Free space of a cylindrical robot in a house: where it fits, how it slides along obstacles, shortest paths.

The floor is a grid of 2.5 cm cells with the distance of each to the nearest solid cell (walls, and parts of solid
objects between 2 cm and the robot's height). Distances are exact between cell centres: clearances hold to about a cell.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from eqa_nodes.core.errors import NavigationError
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.clearance import clearance_at, keeps_clear
from sim_bridge.house.scene import House, HouseObject, ObjectPart, Opening
from sim_bridge.walker import SUBSTEP_M, At, advance

CELL_M = 0.025
MARGIN_M = 0.30  # solid rim around the house
STEP_OVER_M = 0.02  # lower objects do not stop a wheel
SLACK_M = 0.005  # paths may be this much closer to obstacles than the radius, the grid's resolution
PATH_CELLS = 2  # cells between nodes of the path graph: 5 cm
SNAP_M = 0.30  # a path's end may lie this far inside an obstacle (people name the sofa, not the floor before it)
_HOPS = [(1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (2, -1), (1, 2), (1, -2)]  # half of a 16-connected neighbourhood

Point = tuple[float, float]


class Move(NamedTuple):
    """Result of a forward move: map position, metres driven, and whether an obstacle stopped or diverted it."""

    x: float
    y: float
    metres: float
    collided: bool


class FreeSpace:
    """The floor plan as a clearance field for robots of one height."""

    def __init__(self, house: House, robot_height_m: float) -> None:
        self._x0 = min(r.x0 for r in house.rooms) - MARGIN_M
        self._y0 = min(r.y0 for r in house.rooms) - MARGIN_M
        columns = math.ceil((max(r.x1 for r in house.rooms) + MARGIN_M - self._x0) / CELL_M)
        rows = math.ceil((max(r.y1 for r in house.rooms) + MARGIN_M - self._y0) / CELL_M)
        solid = np.ones((rows, columns), bool)
        for room in house.rooms:
            self._fill(solid, room.x0, room.y0, room.x1, room.y1, False)
        for opening in house.openings:
            if -1 not in opening.rooms and opening.z0 <= STEP_OVER_M and opening.z1 >= robot_height_m:
                self._fill(solid, *_through_wall(opening, house.wall_thickness_m), False)
        for obj in (t for t in house.objects if t.solid):
            for part in obj.parts:
                self._stamp(solid, obj, part, robot_height_m)
        self.clearance_m = ((ndimage.distance_transform_edt(~solid) - 0.5) * CELL_M).astype(np.float64)
        self._graphs: dict[float, _PathGraph] = {}

    def _fill(self, solid: np.ndarray, x0: float, y0: float, x1: float, y1: float, value: bool) -> None:
        """Set the cells whose centres lie in a rectangle."""
        a, b, c, d = (math.ceil((v - o) / CELL_M - 0.5 - 1e-9) for v, o in
                      ((x0, self._x0), (x1, self._x0), (y0, self._y0), (y1, self._y0)))
        solid[max(c, 0):max(d, 0), max(a, 0):max(b, 0)] = value

    def _stamp(self, solid: np.ndarray, obj: HouseObject, part: ObjectPart, height: float) -> None:
        """Mark the footprint of a part, grown by half a cell so that thin legs are not missed."""
        low = obj.position[2] + part.centre[2] - part.size[2] / 2
        if low >= height or low + part.size[2] <= STEP_OVER_M:
            return
        c, s = math.cos(obj.yaw), math.sin(obj.yaw)
        cx = obj.position[0] + c * part.centre[0] - s * part.centre[1]
        cy = obj.position[1] + s * part.centre[0] + c * part.centre[1]
        reach = math.hypot(part.size[0], part.size[1]) / 2 + CELL_M
        r0, r1, c0, c1 = (int(np.clip((v - o) / CELL_M, 0, n)) for v, o, n in (
            (cy - reach, self._y0, solid.shape[0]), (cy + reach + CELL_M, self._y0, solid.shape[0]),
            (cx - reach, self._x0, solid.shape[1]), (cx + reach + CELL_M, self._x0, solid.shape[1])))
        dx = self._x0 + (np.arange(c0, c1) + 0.5) * CELL_M - cx
        dy = (self._y0 + (np.arange(r0, r1) + 0.5) * CELL_M - cy)[:, None]
        yaw = obj.yaw + part.yaw
        u = np.abs(math.cos(yaw) * dx + math.sin(yaw) * dy) / (part.size[0] / 2 + CELL_M / 2)
        v = np.abs(-math.sin(yaw) * dx + math.cos(yaw) * dy) / (part.size[1] / 2 + CELL_M / 2)
        inside = np.maximum(u, v) <= 1 if part.shape == "box" else u * u + v * v <= 1
        solid[r0:r1, c0:c1] |= inside

    def clearance(self, x: float, y: float) -> float:
        """Return the distance in metres to the nearest solid object (negative inside), bilinear between cells."""
        return clearance_at(self.clearance_m, (self._x0, self._y0), CELL_M, float(x), float(y))

    def clearances(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the clearance (n,) at points, as `clearance` does to the last bit."""
        fx = np.clip((x - self._x0) / CELL_M - 0.5, 0, self.clearance_m.shape[1] - 1.001)
        fy = np.clip((y - self._y0) / CELL_M - 0.5, 0, self.clearance_m.shape[0] - 1.001)
        ix, iy = fx.astype(np.int64), fy.astype(np.int64)
        fx, fy = fx - ix, fy - iy
        d = self.clearance_m
        return ((d[iy, ix] * (1 - fx) + d[iy, ix + 1] * fx) * (1 - fy)
                + (d[iy + 1, ix] * (1 - fx) + d[iy + 1, ix + 1] * fx) * fy)

    def free(self, x: float, y: float, radius_m: float) -> bool:
        """Return whether a robot of this radius can stand at a point."""
        return math.isfinite(x) and math.isfinite(y) and self.clearance(x, y) >= radius_m

    def nearest_free(self, x: float, y: float, radius_m: float) -> Point | None:
        """Return the nearest cell centre of the largest free area; None if nothing is free."""
        areas, count = ndimage.label(self.clearance_m >= radius_m)
        if not count:
            return None
        rows, columns = np.nonzero(areas == 1 + int(np.argmax(np.bincount(areas.ravel())[1:])))
        px, py = self._x0 + (columns + 0.5) * CELL_M, self._y0 + (rows + 0.5) * CELL_M
        best = int(np.argmin((px - x) ** 2 + (py - y) ** 2))
        return float(px[best]), float(py[best])

    def move(self, x: float, y: float, yaw: float, robot: RobotModel) -> Move:
        """Drive robot.move_m along yaw in small steps; slide along obstacles, or stop at them."""
        moved = advance(lambda at, dx, dy: self.hop(at, dx, dy, robot), (x, y, 0.0), yaw, robot.move_m)
        return Move(moved.at[0], moved.at[1], moved.metres, moved.collided)

    def hop(self, at: At, dx: float, dy: float, robot: RobotModel) -> At:
        """Return where a small step ends (see sim_bridge.walker.Hop)."""
        x, y, height = at
        if not robot.slide:
            return (x + dx, y + dy, height) if self.clearance(x + dx, y + dy) >= robot.radius_m else at
        return (*self._slide(x, y, dx, dy, robot.radius_m), height)

    def _slide(self, x: float, y: float, dx: float, dy: float, radius: float) -> Point:
        """Return where a hop ends: at its target, else without the component into the obstacle, else at its start."""
        if self.clearance(x + dx, y + dy) >= radius:
            return x + dx, y + dy
        hop = min(SUBSTEP_M, math.hypot(dx, dy))
        gx, gy = self._uphill(x + dx, y + dy)
        into = dx * gx + dy * gy
        if into < 0:
            dx, dy = dx - into * gx, dy - into * gy
        lack = radius - self.clearance(x + dx, y + dy)
        if lack > 0:
            dx, dy = dx + (lack + 1e-4) * gx, dy + (lack + 1e-4) * gy
        small = math.hypot(dx, dy) < 0.15 * hop or math.hypot(dx, dy) > 1.5 * hop
        return (x, y) if small or self.clearance(x + dx, y + dy) < radius else (x + dx, y + dy)

    def _uphill(self, x: float, y: float) -> Point:
        """Return the unit direction away from the nearest obstacle."""
        gx = self.clearance(x + CELL_M, y) - self.clearance(x - CELL_M, y)
        gy = self.clearance(x, y + CELL_M) - self.clearance(x, y - CELL_M)
        norm = math.hypot(gx, gy)
        return (gx / norm, gy / norm) if norm > 1e-9 else (0.0, 0.0)

    def shortest_path(self, a: Point, b: Point, radius_m: float) -> list[Point]:
        """Return the corners of the shortest drivable path from a to b, both included; empty if there is none."""
        if not all(map(math.isfinite, (*a, *b))):
            return []
        if a > b:  # only one direction is computed, so that both are equally long
            return self.shortest_path(b, a, radius_m)[::-1]
        if self.sees(a, b, radius_m):
            return [a, b]
        if radius_m not in self._graphs:
            self._graphs[radius_m] = _PathGraph(self, radius_m)
        path = self._graphs[radius_m].path(a, b)
        return self._pulled(path, radius_m)

    def _pulled(self, path: list[Point], radius: float) -> list[Point]:
        """Leave out corners that a straight line can skip (greedy string pulling)."""
        pulled, at = path[:1], 0
        while at < len(path) - 1:
            low, high = at + 1, len(path) - 1
            while high > low and not self.sees(path[at], path[high], radius):
                high -= max(1, (high - low) // 8)
            at = max(high, low)
            pulled.append(path[at])
        return pulled

    def sees(self, a: Point, b: Point, radius: float) -> bool:
        """Return whether the robot can drive straight from a to b."""
        n = max(2, math.ceil(math.dist(a, b) / CELL_M) + 1)
        return keeps_clear(self.clearance_m, (self._x0, self._y0), CELL_M, a, b, n, radius - SLACK_M)

    def nodes(self, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the free nodes of the path grid: (rows, columns) bool, and (n, 2) their map positions in row order.

        A node is the centre of PATH_CELLS x PATH_CELLS cells, or the cell with the most clearance if the centre is
        not free, so that a gap one cell wide stays passable.
        """
        rows, columns = (n // PATH_CELLS for n in self.clearance_m.shape)
        blocks = self.clearance_m[:rows * PATH_CELLS, :columns * PATH_CELLS]
        blocks = blocks.reshape(rows, PATH_CELLS, columns, PATH_CELLS).transpose(0, 2, 1, 3).reshape(rows, columns, -1)
        middle = PATH_CELLS // 2 * (PATH_CELLS + 1)
        pick = np.where(blocks[..., middle] >= radius, middle, blocks.argmax(axis=2))
        free = np.take_along_axis(blocks, pick[..., None], axis=2)[..., 0] >= radius
        row, column = np.nonzero(free)
        inner = pick[free]
        cells = np.stack([column * PATH_CELLS + inner % PATH_CELLS, row * PATH_CELLS + inner // PATH_CELLS], 1) + 0.5
        return free, cells * CELL_M + (self._x0, self._y0)


class _PathGraph:
    """A 16-connected graph over the free cells, for Dijkstra's algorithm."""

    def __init__(self, space: FreeSpace, radius: float) -> None:
        from scipy import sparse  # a tenth of a second, saved where no path is looked for
        from scipy.sparse import csgraph

        free, self._points = space.nodes(radius)
        self._index = np.full(free.shape, -1, np.int32)  # SciPy 1.11 accepts no other index type here
        self._index[free] = np.arange(len(self._points))
        pad = np.pad(self._index, 2, constant_values=-1)
        edges = []
        for dx, dy in _HOPS:
            there = pad[2 + dy:2 + dy + free.shape[0], 2 + dx:2 + dx + free.shape[1]]
            both = (self._index >= 0) & (there >= 0)
            edges.append((self._index[both], there[both]))
        i, j = (np.concatenate([e[k] for e in edges]) for k in (0, 1))
        length = np.hypot(*(self._points[i] - self._points[j]).T)
        middle = (self._points[i] + self._points[j]) / 2
        ok = space.clearances(middle[:, 0], middle[:, 1]) >= radius - SLACK_M
        n = len(self._points)
        self._graph = sparse.csr_array((length[ok], (i[ok], j[ok])), shape=(n, n))
        self._area = csgraph.connected_components(self._graph, directed=False)[1]
        self._x = np.ascontiguousarray(self._points[:, 0])
        self._tree = lru_cache(maxsize=32)(lambda source: csgraph.dijkstra(
            self._graph, directed=False, indices=source, return_predecessors=True)[1])

    def path(self, a: Point, b: Point) -> list[Point]:
        """Return a, the cells between, b; empty if an end is far from any free cell or there is no path."""
        near_a, near_b = self._nearest(a), self._nearest(b)
        shared = [area for area in near_a if area in near_b]
        if not shared:
            return []
        area = min(shared, key=lambda one: near_a[one][0] + near_b[one][0])
        first, last = near_a[area][1], near_b[area][1]
        before = self._tree(first)
        chain = [last]
        while chain[-1] != first:
            chain.append(int(before[chain[-1]]))
        return [a, *(tuple(map(float, self._points[i])) for i in reversed(chain)), b]  # type: ignore[list-item]

    def _nearest(self, p: Point) -> dict[int, tuple[float, int]]:
        """Return, by connected area, the distance and index of its node nearest to p, within SNAP_M."""
        near = np.flatnonzero(np.abs(self._x - p[0]) <= SNAP_M)
        distance = np.hypot(self._points[near, 0] - p[0], self._points[near, 1] - p[1])
        nearest: dict[int, tuple[float, int]] = {}
        for node, off in zip(near[distance <= SNAP_M].tolist(), distance[distance <= SNAP_M].tolist(), strict=True):
            area = int(self._area[node])
            nearest[area] = min(nearest.get(area, (math.inf, -1)), (off, node))
        return nearest


def path_length(path: list[Point]) -> float:
    """Return the length of a polyline in metres; inf for an empty one."""
    return math.fsum(math.dist(p, q) for p, q in pairwise(path)) if path else math.inf


def steps_along(path: list[Point], start_yaw: float, final_yaw: float, robot: RobotModel) -> int:
    """Return the number of atomic actions along a free path: turn to the next corner, drive, face final_yaw."""
    if not path:
        raise NavigationError("an empty path has no steps: its ends are not connected")
    (x, y), yaw, count = path[0], start_yaw, 0
    for corner in path[1:]:
        while (left := math.dist((x, y), corner)) > robot.move_m / 2:
            turns = round(wrap(math.atan2(corner[1] - y, corner[0] - x) - yaw) / robot.turn_rad)
            yaw, count = wrap(yaw + turns * robot.turn_rad), count + abs(turns) + 1
            x, y = x + robot.move_m * math.cos(yaw), y + robot.move_m * math.sin(yaw)
            if math.dist((x, y), corner) >= left:
                break
    return count + abs(round(wrap(final_yaw - yaw) / robot.turn_rad))


def _through_wall(o: Opening, thickness: float) -> tuple[float, float, float, float]:
    """Return the floor of an opening, from one face of its wall to the other with a little overlap."""
    x0, x1, y0, y1 = min(o.x0, o.x1), max(o.x0, o.x1), min(o.y0, o.y1), max(o.y0, o.y1)
    grow = thickness / 2 + CELL_M
    return (x0, y0 - grow, x1, y1 + grow) if x1 - x0 >= y1 - y0 else (x0 - grow, y0, x1 + grow, y1)
