"""The floor plans of the toy world, drawn with characters.

`#` is a wall up to the ceiling, `.` floor, `>` the start (facing +x, on the lowest storey); `^` are stairs that climb
to the north, and `v` the same cells on the storey above; any other character is a box of furniture. The first text row
is the north (largest y); the map's origin is the south-west corner. An empty row stands between storeys, the lowest
comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Label

CELL_M = 0.5
WALL_M = 2.6
RISE_M = 2.8  # from one storey's floor to the next
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


class Stairs(NamedTuple):
    """A straight flight that climbs along +y: a rectangle of the plan, metres."""

    x0: float
    y0: float
    x1: float
    y1: float

    def climbed(self, x: float, y: float) -> float | None:
        """Return which share (0..1) of the flight lies below a point, None beside the flight."""
        on = self.x0 <= x < self.x1 and self.y0 <= y < self.y1
        return (y - self.y0) / (self.y1 - self.y0) if on else None

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the middle of the floor's cells before the first and after the last step."""
        x = (self.x0 + self.x1) / 2
        return (x, self.y0 - CELL_M / 2), (x, self.y1 + CELL_M / 2)


class StoreyPlan(NamedTuple):
    """One storey, (rows from south to north, columns). Heights in metres over its floor.

    ids: uint16, 0 = floor, 1 = wall, others = instances; tops: float64, what is highest in a cell (negative where the
    stairs lead down); up, down: the stairs to the storeys above and below.
    """

    ids: np.ndarray
    tops: np.ndarray
    up: Stairs | None
    down: Stairs | None

    def solid(self) -> np.ndarray:
        """Return what a robot cannot drive on: everything but floor and stairs."""
        solid: np.ndarray = self.ids > 0
        for stairs in filter(None, (self.up, self.down)):
            solid[_cells(stairs)] = False
        return solid


def read_plans(rows: Sequence[str], scene: str) -> tuple[tuple[StoreyPlan, ...], dict[int, Label], Pose2]:
    """Return the storeys, what the instances are, and the marked start. Raises SimulatorError for a bad drawing."""
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
    """Read one storey; every character is one instance of it, numbered in the order of the rows from the south."""
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


def _stairs(where: np.ndarray, scene: str) -> Stairs | None:
    if not where.any():
        return None
    (y0, x0), (y1, x1) = np.argwhere(where).min(axis=0), np.argwhere(where).max(axis=0) + 1
    if not where[y0:y1, x0:x1].all():
        raise SimulatorError(f"toy scene {scene!r}: the stairs of a storey must be one rectangle")
    return Stairs(*(float(edge) * CELL_M for edge in (x0, y0, x1, y1)))


def _cells(s: Stairs) -> tuple[slice, slice]:
    x0, y0, x1, y1 = (round(edge / CELL_M) for edge in s)
    return slice(y0, y1), slice(x0, x1)
