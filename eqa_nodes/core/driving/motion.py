"""Plans the cheapest sequence of atomic actions: hybrid A* over position and heading, guided by the grid's cost-to-go.

Dolgov et al., "Practical Search Techniques in Path Planning for Autonomous Driving" (2008): states keep their
continuous position, one per bin of position and heading. The moves are the robot's own atomic actions, so that the
plan has the length that an A-EQA scorer counts; a path quantised into turns afterwards would become longer.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit

FORWARD, LEFT, RIGHT = 0, 1, 2
HORIZON_M = 3.0  # length of the detailed plan; beyond it, the cost-to-go is used
_MARGIN_M = 1.5  # maximum distance of detours beyond the horizon


class ActionSizes(NamedTuple):
    """Sizes of the atomic actions: metres and radians; headings: number of turns in a full circle."""

    move_m: float
    turn_rad: float
    headings: int


class CostField(NamedTuple):
    """Cost per metre and cost-to-go, both (rows, columns) float64, inf = forbidden; origin and cell size in metres."""

    cost: np.ndarray
    to_go: np.ndarray
    x0: float
    y0: float
    cell_m: float


@njit()
def search(field: CostField, steps: ActionSizes, x: float, y: float, yaw: float, goal_x: float, goal_y: float,
           tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return actions (n,) int8 and the positions after each (n, 2), metres, map frame.

    They end within `tolerance` metres of the goal, or HORIZON_M nearer to it. Empty arrays: no sequence gets nearer.
    """
    size = int(np.ceil(2 * (HORIZON_M + _MARGIN_M) / field.cell_m)) + 1
    corner_x, corner_y = x - 0.5 * size * field.cell_m, y - 0.5 * size * field.cell_m
    best = np.full((size, size, steps.headings), np.inf)
    enough = _at(field, field.to_go, x, y) - HORIZON_M
    # Nodes: position, heading, cost so far, parent, action.
    nodes = [(x, y, 0, 0.0, -1, -1)]
    best[size // 2, size // 2, 0] = 0.0
    heap = [(_at(field, field.to_go, x, y) / steps.move_m, 0)]
    while heap:
        _, node = heapq.heappop(heap)
        nx, ny, heading, spent, _, _ = nodes[node]
        if spent > best[_bin(ny, corner_y, field.cell_m), _bin(nx, corner_x, field.cell_m), heading]:
            continue
        near = np.hypot(goal_x - nx, goal_y - ny) <= tolerance
        if node > 0 and (near or _at(field, field.to_go, nx, ny) <= enough):
            return _unwind(nodes, node)
        for action in range(3):
            tx, ty, turned, price = nx, ny, heading, 1.0
            if action == FORWARD:
                angle = yaw + heading * steps.turn_rad
                tx, ty = nx + steps.move_m * np.cos(angle), ny + steps.move_m * np.sin(angle)
                price = _price(field, nx, ny, tx, ty)
            else:
                turned = (heading + (1 if action == LEFT else steps.headings - 1)) % steps.headings
            iy, ix = _bin(ty, corner_y, field.cell_m), _bin(tx, corner_x, field.cell_m)
            if np.isinf(price) or not (0 <= iy < size and 0 <= ix < size) or spent + price >= best[iy, ix, turned]:
                continue
            best[iy, ix, turned] = spent + price
            nodes.append((tx, ty, turned, spent + price, node, action))
            heapq.heappush(heap, (spent + price + _at(field, field.to_go, tx, ty) / steps.move_m, len(nodes) - 1))
    return np.zeros(0, np.int8), np.zeros((0, 2))


@njit()
def _bin(value: float, corner: float, cell: float) -> int:
    return int(np.floor((value - corner) / cell))


@njit()
def _at(field: CostField, values: np.ndarray, x: float, y: float) -> float:
    """Return the value of a point's cell; inf off the map."""
    iy, ix = _bin(y, field.y0, field.cell_m), _bin(x, field.x0, field.cell_m)
    return values[iy, ix] if 0 <= iy < values.shape[0] and 0 <= ix < values.shape[1] else np.inf


@njit()
def _price(field: CostField, ax: float, ay: float, bx: float, by: float) -> float:
    """Return the cost of one move forward: 1 times the mean cost of its cells; inf if one of them is forbidden."""
    n = max(1, int(np.ceil(np.hypot(bx - ax, by - ay) / (0.5 * field.cell_m))))
    total = 0.0
    for i in range(1, n + 1):
        total += _at(field, field.cost, ax + (bx - ax) * i / n, ay + (by - ay) * i / n)
    return max(total / n, 1.0)


@njit()
def _unwind(nodes: list[tuple[float, float, int, float, int, int]], node: int) -> tuple[np.ndarray, np.ndarray]:
    count, at = 0, node
    while nodes[at][4] >= 0:
        count, at = count + 1, nodes[at][4]
    actions, positions = np.zeros(count, np.int8), np.zeros((count, 2))
    at = node
    for i in range(count - 1, -1, -1):
        actions[i], positions[i, 0], positions[i, 1] = nodes[at][5], nodes[at][0], nodes[at][1]
        at = nodes[at][4]
    return actions, positions
