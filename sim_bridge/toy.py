"""A small world drawn with characters: the fake simulator of the package, fast enough for every test.

`#` is a wall up to the ceiling, `.` floor, `>` the start (facing +x, on the lowest storey); `^` are stairs that climb
to the north, and `v` the same cells on the storey above; any other character is a box of furniture. The first text row
is the north (largest y); the map's origin is the south-west corner. An empty row separates storeys; the lowest storey
is the first.
A storey is drawn as a camera between its floor and ceiling sees it: stairs up are steps, stairs down are a shaft.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.driving.planning import ShortestPaths, centre_of, index_of, walks
from eqa_nodes.core.errors import BadPose, SimulatorError, UnknownScene, unknown
from eqa_nodes.core.kernels import njit
from eqa_nodes.core.types.floor import Action, GridMap
from eqa_nodes.core.types.geometry import Point, Pose2, Transform, camera_mount, wrap
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.views import Frame, Label
from sim_bridge.simulator import DriveResult, EpisodeSetup, Step, arc, check_edit, height_of, turned

CELL_M = 0.5
WALL_M = 2.6
RISE_M = 2.8  # height from one storey's floor to the next
BOX_M = 0.7
KINDS = {"S": "sofa", "T": "table", "B": "bed", "C": "chair", "F": "fridge", "P": "plant", "^": "stairs", "v": "stairs"}
_STOREYS = (
    "############",
    "#......#####",
    "#......#####",
    "#......#^^##",
    "#......#^^##",
    "#......#^^##",
    "#......#^^##",
    "#..........#",
    "#.>........#",
    "#..T.......#",
    "#..........#",
    "############",
    "",
    "############",
    "#..........#",
    "#..........#",
    "#......#vv##",
    "#......#vv##",
    "#......#vv##",
    "#......#vv##",
    "#......#####",
    "#..P.......#",
    "#.......BB.#",
    "#.......BB.#",
    "############")

SCENES: dict[str, tuple[str, ...]] = {
    "room": (
        "############",
        "#..........#",
        "#.>....T...#",
        "#..........#",
        "#..C.......#",
        "#..........#",
        "############"),
    "flat": (
        "########################",
        "#.........#............#",
        "#.>.......#...BBB......#",
        "#.........#...BBB......#",
        "#......................#",
        "#..SS.....#............#",
        "#.........#.........P..#",
        "####..############..####",
        "#......................#",
        "#......................#",
        "########..########..####",
        "#............#.........#",
        "#..TT........#.........#",
        "#..TT.....F..#....C....#",
        "#............#.........#",
        "########################"),
    "storeys": _STOREYS,
    "upstairs": tuple(row.translate(str.maketrans("^v", "##")) for row in _STOREYS),  # no path up
}


class ToyStairs(NamedTuple):
    """A straight flight that climbs along +y: a rectangle of the plan, metres."""

    x0: float
    y0: float
    x1: float
    y1: float

    def climbed(self, x: float, y: float) -> float | None:
        """Return the share (0..1) of the flight that lies below a point, None if the point is not on the flight."""
        on = self.x0 <= x < self.x1 and self.y0 <= y < self.y1
        return (y - self.y0) / (self.y1 - self.y0) if on else None

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the centres of the floor cells before the first and after the last step."""
        x = (self.x0 + self.x1) / 2
        return (x, self.y0 - CELL_M / 2), (x, self.y1 + CELL_M / 2)


class StoreyPlan(NamedTuple):
    """One storey, (rows from south to north, columns). Heights in metres over its floor.

    ids: uint16, 0 = floor, 1 = wall, others = instances; tops: float64, height of the top of each cell (negative for
    stairs that lead down); up, down: the stairs to the storeys above and below.
    """

    ids: np.ndarray
    tops: np.ndarray
    up: ToyStairs | None
    down: ToyStairs | None

    def solid(self) -> np.ndarray:
        """Return a mask of what a robot cannot drive on: everything except floor and stairs."""
        solid: np.ndarray = self.ids > 0
        for stairs in filter(None, (self.up, self.down)):
            solid[_cells(stairs)] = False
        return solid


def read_plans(rows: Sequence[str], scene: str) -> tuple[tuple[StoreyPlan, ...], dict[int, Label], Pose2]:
    """Return the storeys, the labels of instances, and the marked start. Raises SimulatorError for a bad drawing."""
    drawings = [part.split("\n") for part in "\n".join(rows).split("\n\n")]
    if len({(len(d), len(row)) for d in drawings for row in d}) != 1 or not any(">" in row for row in drawings[0]):
        raise SimulatorError(f"toy scene {scene!r} needs rows of one length, storeys of one size and a start '>'")
    labels = {1: Label(1, "wall", scene, {})}
    marks = [np.array([list(row) for row in reversed(drawing)]) for drawing in drawings]
    plans = tuple(_plan(m, scene, labels) for m in marks)
    if any(below.up != above.down for below, above in pairwise(plans)) or plans[0].down or plans[-1].up:
        raise SimulatorError(f"toy scene {scene!r} needs 'v' exactly above every '^'")
    iy, ix = np.argwhere(marks[0] == ">")[0].tolist()
    return plans, labels, Pose2((ix + 0.5) * CELL_M, (iy + 0.5) * CELL_M, 0.0)


def _plan(marks: np.ndarray, scene: str, labels: dict[int, Label]) -> StoreyPlan:
    """Parse one storey; every other character is one instance, numbered in the order of the rows from the south."""
    ids = (marks == "#").astype(np.uint16)
    known: dict[str, int] = {}
    for (iy, ix), mark in np.ndenumerate(marks):
        if mark not in "#.>":
            if mark not in known:
                known[mark] = len(labels) + 1
                labels[known[mark]] = Label(known[mark], KINDS.get(mark, str(mark)), scene, {})
            ids[iy, ix] = known[mark]
    tops = np.where(ids == 1, WALL_M, np.where(ids > 1, BOX_M, 0.0))
    up, down = _stairs(marks == "^", scene), _stairs(marks == "v", scene)
    for stairs, foot in ((up, 0.0), (down, -RISE_M)):
        if stairs is not None:
            rows, _ = here = _cells(stairs)
            n = rows.stop - rows.start
            tops[here] = foot + RISE_M * (np.arange(n)[:, None] + 0.5) / n
    return StoreyPlan(ids, tops, up, down)


def _stairs(where: np.ndarray, scene: str) -> ToyStairs | None:
    if not where.any():
        return None
    (y0, x0), (y1, x1) = np.argwhere(where).min(axis=0), np.argwhere(where).max(axis=0) + 1
    if not where[y0:y1, x0:x1].all():
        raise SimulatorError(f"toy scene {scene!r}: the stairs of a storey must be one rectangle")
    return ToyStairs(*(float(edge) * CELL_M for edge in (x0, y0, x1, y1)))


def _cells(s: ToyStairs) -> tuple[slice, slice]:
    x0, y0, x1, y1 = (round(edge / CELL_M) for edge in s)
    return slice(y0, y1), slice(x0, x1)


PREFIX = "toy:"
_FINE_M = 0.1  # cell size of the grid for geodesic distances
_PIECE_M, _PIECE_RAD = 0.025, 0.05  # maximum length and turn of one piece of motion


class GridWorld:
    """Implements the Simulator and Driving protocols over `scenes` (name -> rows of characters, cells of CELL_M)."""

    def __init__(self, scenes: Mapping[str, Sequence[str]] | None = None) -> None:
        self._scenes = scenes if scenes is not None else SCENES
        self._clock_ns = 0
        self._closed = False
        self._robot: RobotModel | None = None

    def reset(self, episode: EpisodeSetup) -> Step:
        """Place the robot, always on the lowest storey.

        Raises UnknownScene, or BadPose for a start inside something or off the floor.
        """
        check_edit(episode)
        if self._closed:
            raise SimulatorError("the simulator is closed: make a new one")
        name = episode.scene.removeprefix(PREFIX)
        if name not in self._scenes:
            raise UnknownScene(unknown("scene", episode.scene, (PREFIX + known for known in self._scenes)))
        self._plans, self._labels, mark = read_plans(self._scenes[name], name)
        self._solid = [plan.solid() for plan in self._plans]
        self._storey = 0
        start = episode.start or mark
        if not all(map(math.isfinite, start)) or not self._fits(start.x, start.y, episode.robot.radius_m):
            near = self._nearest_free(start, mark)
            raise BadPose(f"start {tuple(start)} is not on free floor of {episode.scene!r}; "
                          f"a free pose near it: ({near.x:.2f}, {near.y:.2f}, {near.yaw:.2f})")
        self._robot, self._pose, self._look_deg = episode.robot, start, 0.0
        self._steps, self._metres = 0, 0.0
        self._clock_ns = max(self._clock_ns, episode.clock_ns)
        self._tick()
        return self._observe(collided=False)

    def act(self, action: Action) -> Step:
        """Carry out one action; OBSERVE renders again without counting."""
        robot = self._require_robot()
        if action == Action.OBSERVE:
            return self._observe(collided=False)
        collided = False
        if action == Action.MOVE_FORWARD:
            collided = self._move(robot)
        yaw, self._look_deg = turned(self._pose.yaw, self._look_deg, action, robot)
        self._pose = self._pose._replace(yaw=yaw)
        self._steps += 1
        self._tick()
        return self._observe(collided)

    def drive(self, forward_m_s: float, turn_rad_s: float, seconds: float) -> DriveResult:
        """Keep these velocities for `seconds`, along an arc in pieces; nothing is rendered.

        Raises SimulatorError before a reset, and if an input is not finite or seconds are negative.
        """
        robot = self._require_robot()
        metres, turn = arc(forward_m_s, turn_rad_s, seconds)
        pieces = max(1, math.ceil(abs(metres) / _PIECE_M), math.ceil(abs(turn) / _PIECE_RAD))
        collided = False
        for _ in range(pieces):
            heading = self._pose.yaw + turn / pieces / 2
            collided |= metres != 0 and self._shift(metres / pieces * math.cos(heading),
                                                    metres / pieces * math.sin(heading), robot)
            self._pose = self._pose._replace(yaw=wrap(self._pose.yaw + turn / pieces))
        self._clock_ns += round(seconds * 1e9)
        return DriveResult(self._clock_ns, self._base(), collided, self._metres)

    def labels(self) -> Mapping[int, Label]:
        """Privileged: return what the ids in Frame.labels mean."""
        self._require_robot()
        return self._labels

    def geodesic(self, a: Point, b: Point) -> float:
        """Privileged, scorer only: return the shortest drivable distance on the floor plans, metres; inf if none."""
        self._require_robot()
        low, high = sorted((a, b), key=height_of)
        storey, top = (round(height_of(end) / RISE_M) for end in (low, high))
        if storey == top:
            return self._walk(storey, low, high)
        stairs = self._plans[storey].up if 0 <= storey < len(self._plans) else None
        if stairs is None:
            return math.inf
        foot, head = stairs.ends()
        above = self.geodesic((*head, (storey + 1) * RISE_M), high)
        return self._walk(storey, low, foot) + math.dist(foot, head) + above

    def shortest_path(self, a: Point, b: Point) -> list[tuple[float, float]]:
        """Privileged, scorer and generator only: points of the shortest path on one storey, at most two cells apart."""
        storey, top = (round(height_of(end) / RISE_M) for end in (a, b))
        found = self._field(storey, a, b) if storey == top else None
        if found is None:
            return []
        grid, field, cell = found
        between = [centre_of(grid, int(iy), int(ix)) for iy, ix in field.path_to(cell)[1:-1]]
        return [(a[0], a[1]), *((p.x, p.y) for p in between), (b[0], b[1])]

    def _walk(self, storey: int, a: Point, b: Point) -> float:
        """Return the shortest distance on one storey."""
        found = self._field(storey, a, b)
        return math.inf if found is None else float(found[1].metres[found[2]])

    def _field(self, storey: int, a: Point, b: Point) -> tuple[GridMap, ShortestPaths, tuple[int, int]] | None:
        """Return a storey's grid map, the shortest paths from a, and the cell of b; None if no path leads to b."""
        robot = self._require_robot()
        if not 0 <= storey < len(self._plans):
            return None
        blocked = np.where(self._plans[storey].ids > 0, 100, 0)
        cells = np.kron(blocked, np.ones((round(CELL_M / _FINE_M),) * 2)).astype(np.int8)
        grid = GridMap(0, _FINE_M, (0.0, 0.0), cells, cells == 0)
        try:
            field, cell = walks(grid, Pose2(a[0], a[1], 0.0), robot.radius_m), index_of(grid, b[0], b[1])
        except BadPose:
            return None
        return (grid, field, cell) if math.isfinite(field.metres[cell]) else None

    def close(self) -> None:
        """Release everything; a second call does nothing."""
        self._closed, self._robot = True, None

    def _require_robot(self) -> RobotModel:
        if self._robot is None:
            raise SimulatorError("no episode is running: call reset first")
        return self._robot

    def _tick(self) -> None:
        self._clock_ns += round(self._require_robot().step_s * 1e9)

    def _move(self, robot: RobotModel) -> bool:
        """Drive forward in small steps. Return whether the robot collided."""
        n = 10
        dx, dy = (robot.move_m / n * f(self._pose.yaw) for f in (math.cos, math.sin))
        return sum(self._shift(dx, dy, robot) for _ in range(n)) > 0

    def _shift(self, dx: float, dy: float, robot: RobotModel) -> bool:
        """Move by a small step, metres; if blocked, slide along x or y. Return whether the robot collided."""
        collided = False
        x, y, yaw = self._pose
        for sx, sy in ((dx, dy), (dx, 0.0), (0.0, dy)) if robot.slide else ((dx, dy),):
            if self._fits(x + sx, y + sy, robot.radius_m):
                self._pose = Pose2(x + sx, y + sy, yaw)
                self._storey, _ = self._level(x + sx, y + sy)
                self._metres += math.hypot(sx, sy)
                break
            collided = True
        return collided

    def _fits(self, x: float, y: float, radius: float) -> bool:
        """Return whether a disc at (x, y) lies on free floor: its distance to every solid cell is at least `radius`."""
        solid = self._solid[self._level(x, y)[0]]
        rows, columns = solid.shape
        if not (0 <= x < columns * CELL_M and 0 <= y < rows * CELL_M):
            return False
        iy, ix = np.nonzero(solid)
        gap_x = np.maximum(np.abs(x - (ix + 0.5) * CELL_M) - CELL_M / 2, 0)
        gap_y = np.maximum(np.abs(y - (iy + 0.5) * CELL_M) - CELL_M / 2, 0)
        return bool(np.all(np.hypot(gap_x, gap_y) >= radius))

    def _level(self, x: float, y: float) -> tuple[int, float]:
        """Return the storey at a point (it changes half-way up the stairs) and the height of the base, metres."""
        plan, storey = self._plans[self._storey], self._storey
        for stairs, below in ((plan.up, storey), (plan.down, storey - 1)):
            climbed = stairs.climbed(x, y) if stairs is not None else None
            if climbed is not None:
                return below + (climbed >= 0.5), (below + climbed) * RISE_M
        return storey, storey * RISE_M

    def _nearest_free(self, pose: Pose2, mark: Pose2) -> Pose2:
        """Return the centre of the free cell nearest to a pose; the marked start for a pose that is not finite."""
        if not all(map(math.isfinite, pose)):
            return mark
        middles = [(float(ix + 0.5) * CELL_M, float(iy + 0.5) * CELL_M) for iy, ix in np.argwhere(~self._solid[0])]
        return Pose2(*min(middles, key=lambda middle: math.dist(middle, pose[:2])), 0.0)

    def _base(self) -> Transform:
        """Return map_from_base."""
        return self._pose.transform(self._level(self._pose.x, self._pose.y)[1])

    def _observe(self, collided: bool) -> Step:
        robot = self._require_robot()
        camera = robot.camera
        k = camera.intrinsics
        base_from_camera = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg - self._look_deg))
        map_from_base = self._base()
        pose = map_from_base.matrix() @ base_from_camera.matrix()
        shown = min(max(math.floor((pose[2, 3] + RISE_M - WALL_M) / RISE_M), 0), len(self._plans) - 1)
        pose[2, 3] -= shown * RISE_M
        depth, labels = _render(np.ascontiguousarray(pose), k.width, k.height, k.fx, k.fy, k.cx, k.cy,
                                self._plans[shown].ids, self._plans[shown].tops, CELL_M, WALL_M, camera.max_range_m)
        frame = Frame(self._clock_ns, _colour(depth, labels), depth, k, map_from_base, base_from_camera, labels)
        return Step(frame, collided, self._steps, self._metres)


def _colour(depth: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return an image (H, W, 3) uint8 that paints ids in different hues, darker with distance."""
    palette = np.array([[150, 120, 90], [220, 220, 210], [200, 60, 60], [60, 120, 200], [70, 170, 80], [210, 170, 50],
                        [150, 80, 180], [60, 180, 180]], np.float32)
    shade = np.clip(1.0 - depth / 12.0, 0.2, 1.0)
    hue = np.minimum(labels, 1) + np.where(labels > 1, (labels - 2) % 6 + 1, 0)
    return (palette[hue] * shade[..., None]).astype(np.uint8)


@njit()
def _render(pose: np.ndarray, width: int, height: int, fx: float, fy: float, cx: float, cy: float, ids: np.ndarray,
            heights: np.ndarray, cell: float, ceiling: float, max_range: float) -> tuple[np.ndarray, np.ndarray]:
    """Cast a ray per pixel through the cells. Returns depth (H, W) float32 metres, 0 = none, and ids (H, W) uint16."""
    depth = np.zeros((height, width), np.float32)
    labels = np.zeros((height, width), np.uint16)
    for v in range(height):
        for u in range(width):
            a, b = (u + 0.5 - cx) / fx, (v + 0.5 - cy) / fy
            dx = pose[0, 0] * a + pose[0, 1] * b + pose[0, 2]
            dy = pose[1, 0] * a + pose[1, 1] * b + pose[1, 2]
            dz = pose[2, 0] * a + pose[2, 1] * b + pose[2, 2]
            d, label = _cast(pose[0, 3], pose[1, 3], pose[2, 3], dx, dy, dz, ids, heights, cell, ceiling)
            if d <= max_range:
                depth[v, u], labels[v, u] = d, label
    return depth, labels


@njit()
def _cast(x: float, y: float, z: float, dx: float, dy: float, dz: float, ids: np.ndarray, heights: np.ndarray,
          cell: float, ceiling: float) -> tuple[float, int]:
    """Trace a ray from cell to cell; return the distance in units of the ray and the id of what it hits.

    heights: (rows, columns) float64, metres over the floor, up to which a cell is solid: 0 for floor cells.
    """
    ix, iy = int(np.floor(x / cell)), int(np.floor(y / cell))
    step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    next_x = ((ix + (dx > 0)) * cell - x) / dx if dx != 0 else np.inf
    next_y = ((iy + (dy > 0)) * cell - y) / dy if dy != 0 else np.inf
    roof = (ceiling - z) / dz if dz > 0 else np.inf
    at = 0.0
    while 0 <= ix < ids.shape[1] and 0 <= iy < ids.shape[0]:
        leave = min(next_x, next_y)
        top = heights[iy, ix]
        if z + at * dz <= top:
            return at, int(ids[iy, ix])
        if dz < 0 and (top - z) / dz <= leave:
            return (top - z) / dz, int(ids[iy, ix])
        if roof <= leave:
            return roof, 0
        at = leave
        if next_x <= next_y:
            ix += step_x
            next_x += abs(cell / dx)
        else:
            iy += step_y
            next_y += abs(cell / dy)
    return np.inf, 0
