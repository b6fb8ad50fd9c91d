"""Paths on grids: never through an inflated obstacle, never shorter than straight, not much longer than needed."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from eqa_nodes.core.driving import motion
from eqa_nodes.core.driving.planning import (
    ShortestPaths,
    Waypoint,
    along,
    distance_field,
    index_of,
    line_cost,
    plan,
    snap,
    weights,
    with_escape,
)
from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2
from tests.fixtures.grids import grid_of

RADIUS = 0.18


def length(path: list[Waypoint]) -> float:
    return sum(math.hypot(b.x - a.x, b.y - a.y) for a, b in pairwise(path))


def touched(grid: GridMap, path: list[Waypoint]) -> set[tuple[int, int]]:
    """Return the cells under a path, except the one it starts in."""
    cells = set()
    for a, b in pairwise(path):
        n = math.ceil(math.hypot(b.x - a.x, b.y - a.y) / 0.02) + 1
        cells |= {index_of(grid, a.x + (b.x - a.x) * i / n, a.y + (b.y - a.y) * i / n) for i in range(n + 1)}
    return cells - {index_of(grid, path[0].x, path[0].y)}


def gap_m(grid: GridMap) -> np.ndarray:
    if not (grid.cells == 100).any():
        return np.full(grid.cells.shape, np.inf)  # the transform wants at least one obstacle
    return ndimage.distance_transform_edt(grid.cells != 100) * grid.resolution_m


def test_the_way_in_the_open_is_straight() -> None:
    path = plan(grid_of(*["." * 20] * 20), Pose2(1.05, 1.05, 0.0), Pose2(8.05, 5.05, 0.0), RADIUS)
    assert path is not None
    assert len(path) == 2
    assert length(path) == pytest.approx(math.hypot(7, 4), abs=0.1)


def test_the_way_leads_through_the_door_and_keeps_off_its_frame() -> None:
    grid = grid_of("##########", "#...#....#", "#...#....#", "#........#", "#........#", "#...#....#", "##########")
    path = plan(grid, Pose2(1.0, 2.75, 0.0), Pose2(4.0, 2.75, 0.0), RADIUS)
    assert path is not None
    assert min(gap_m(grid)[c] for c in touched(grid, path)) > 0.3
    assert length(path) < 4.5


@settings(max_examples=30, deadline=None)
@given(arrays(np.bool_, (9, 11), elements=st.sampled_from([True, False, False, False, False])),
       st.tuples(*[st.floats(0.05, 4.95)] * 4), st.booleans())
def test_no_path_crosses_a_forbidden_cell(blocks: np.ndarray, ends: tuple[float, ...], allow_unknown: bool) -> None:
    cells = np.where(blocks, 100, 0).astype(np.int8).repeat(5, 0).repeat(5, 1)
    cells[20:24, 5:30] = np.where(cells[20:24, 5:30] == 0, -1, 100)
    grid = GridMap(0, 0.1, (0.0, 0.0), cells, cells == 0)
    start, goal = Pose2(ends[0], ends[1] * 0.9, 0.0), Pose2(ends[2], ends[3] * 0.9, 0.0)
    forbidden = (gap_m(grid) < RADIUS) | ((cells == -1) & (not allow_unknown))
    path = plan(grid, start, goal, RADIUS, allow_unknown)
    if path is None:
        return
    assert path[0] == (start.x, start.y)
    assert math.hypot(path[-1].x - goal.x, path[-1].y - goal.y) <= 0.5 + 1e-9 + 0.1
    assert length(path) >= math.hypot(path[-1].x - start.x, path[-1].y - start.y) - 1e-9
    if not forbidden[index_of(grid, start.x, start.y)]:
        assert not any(forbidden[c] for c in touched(grid, path))
        field = distance_field(grid, start, RADIUS, allow_unknown)
        assert length(path) >= 0.9 * field[index_of(grid, *path[-1])] - 0.2
    else:
        assert not any(cells[c] == 100 for c in touched(grid, path))
    assert path == plan(grid, start, goal, RADIUS, allow_unknown)


def test_the_field_is_the_length_of_the_way() -> None:
    grid = grid_of("############", "#..........#", "#.########.#", "#.#......#.#", "#.#......#.#", "############")
    field = distance_field(grid, Pose2(0.75, 0.75, 0.0), RADIUS)
    assert math.isinf(field[index_of(grid, 2.55, 0.75)])  # walled in
    assert math.isinf(field[index_of(grid, 0.05, 0.05)])
    there = field[index_of(grid, 5.25, 0.75)]
    assert 4.5 + 2 * 1.0 < there < 4.5 + 2 * 1.75


def test_in_the_open_the_field_is_at_most_three_percent_too_long() -> None:
    grid = grid_of(*["." * 20] * 20)
    field = distance_field(grid, Pose2(5.05, 5.05, 0.0), RADIUS)
    iy, ix = np.indices(field.shape)
    straight = np.hypot(iy - 50, ix - 50) * 0.1
    assert np.all(field >= straight - 1e-9)
    assert np.all(field <= 1.03 * straight + 1e-9)


def test_a_start_beside_a_wall_gets_out() -> None:
    grid = grid_of("######", "#....#", "#....#", "#....#", "######")
    path = plan(grid, Pose2(0.55, 0.55, 0.0), Pose2(2.0, 1.5, 0.0), RADIUS)
    assert path is not None
    assert length(path) < 2.5
    assert not any(grid.cells[c] == 100 for c in touched(grid, path))


def test_a_goal_in_a_wall_moves_to_the_floor_beside_it_but_not_far() -> None:
    grid = grid_of("######", "#....#", "#....#", "#....#", "######")
    path = plan(grid, Pose2(1.0, 1.0, 0.0), Pose2(2.65, 1.25, 0.0), RADIUS)
    assert path is not None
    assert math.hypot(path[-1].x - 2.65, path[-1].y - 1.25) <= 0.5
    assert plan(grid, Pose2(1.0, 1.0, 0.0), Pose2(4.0, 1.25, 0.0), RADIUS) is None
    assert plan(grid, Pose2(1.0, 1.0, 0.0), Pose2(1e9, 1.25, 0.0), RADIUS) is None


def test_the_unknown_is_crossed_only_when_allowed() -> None:
    grid = grid_of("########", "#..??..#", "#..??..#", "########")
    start, goal = Pose2(1.0, 1.0, 0.0), Pose2(3.0, 1.0, 0.0)
    assert plan(grid, start, goal, RADIUS) is None
    assert plan(grid, start, goal, RADIUS, allow_unknown=True) is not None


@pytest.mark.parametrize("start", [Pose2(-1.0, 1.0, 0.0), Pose2(math.nan, 1.0, 0.0), Pose2(1.0, 99.0, 0.0)])
def test_a_start_off_the_map_is_an_error(start: Pose2) -> None:
    with pytest.raises(BadPose, match="not on the map"):
        plan(grid_of("...", "..."), start, Pose2(0.5, 0.5, 0.0), RADIUS)


def test_a_map_without_obstacles_or_with_nothing_else_works() -> None:
    assert plan(grid_of("..", ".."), Pose2(0.2, 0.2, 0.0), Pose2(0.8, 0.8, 0.0), RADIUS) is not None
    assert plan(grid_of("##", "##"), Pose2(0.2, 0.2, 0.0), Pose2(0.8, 0.8, 0.0), RADIUS, tolerance_m=0.2) is None


def test_snap_takes_the_nearest_reachable_cell() -> None:
    grid = grid_of("....", "....")
    field = np.full(grid.cells.shape, np.inf)
    field[3, 4] = field[3, 8] = 1.0
    assert snap(grid, field, 0.55, 0.35, 0.5) == (3, 4)
    assert snap(grid, field, 0.75, 0.35, 0.5) == (3, 8)
    assert snap(grid, field, 1.55, 0.35, 0.5) is None


def test_along_walks_the_path() -> None:
    path = [Waypoint(0.0, 0.0), Waypoint(2.0, 0.0), Waypoint(2.0, 2.0)]
    assert along(path, 3.0) == (Waypoint(2.0, 1.0), math.pi / 2)
    assert along(path, 1.0) == (Waypoint(1.0, 0.0), 0.0)
    assert along(path, 9.0) == (Waypoint(2.0, 2.0), math.pi / 2)


@pytest.mark.parametrize("gap", [False, True])
def test_no_move_of_a_plan_crosses_a_forbidden_cell(gap: bool) -> None:
    """A wall one cell thick lies between the robot and its goal; a move is 2.5 cells long and would end beyond it."""
    cost = np.ones((30, 30))
    cost[:, 12] = np.inf
    if gap:
        cost[2:6, 12] = 1.0
    to_go = np.hypot(*(np.indices(cost.shape) - 15)) * 0.1  # as if no wall were there: nothing else leads round it
    to_go[:, 13:] *= 0.5
    field = motion.CostField(cost, to_go, 0.0, 0.0, 0.1)
    actions, positions = motion.search(field, motion.ActionSizes(0.25, math.radians(30), 12), 1.05, 1.55, 0.0, 1.95,
                                       1.55, 0.25)
    if not gap:
        assert len(actions) == 0, "no sequence leads to the goal"
        return
    path = np.concatenate([[(1.05, 1.55)], positions])
    cells = {(math.floor(y * 10), math.floor(x * 10)) for a, b in pairwise(path)
             for x, y in np.linspace(a, b, 50)}
    assert math.dist(path[-1], (1.95, 1.55)) <= 0.25 and not any(np.isinf(cost[cell]) for cell in cells)
    assert {row for row, column in cells if column == 12} <= {2, 3, 4, 5}


def test_the_cost_of_a_metre_beside_an_obstacle_by_hand() -> None:
    """1 + 4 * (1 - (gap - 0.18) / 0.3) up to 0.48 m from an obstacle, forbidden below 0.18 m."""
    cells = np.zeros((1, 10), np.int8)
    cells[0, 0] = 100
    cost = weights(GridMap(0, 0.1, (0.0, 0.0), cells, cells == 0), Pose2(0.95, 0.05, 0.0), RADIUS)[0]
    assert np.isinf(cost[:2]).all()
    assert cost[2:6].tolist() == pytest.approx([1 + 4 * (1 - 0.02 / 0.3), 1 + 4 * (1 - 0.12 / 0.3),
                                               1 + 4 * (1 - 0.22 / 0.3), 1.0])


def test_a_forbidden_start_is_left_within_60_centimetres_at_the_cost_of_ten() -> None:
    cells = np.zeros((1, 20), np.int8)
    cells[0, 3] = 100
    grid = GridMap(0, 0.1, (0.0, 0.0), cells, cells == 0)
    cost = with_escape(np.where(np.arange(20) < 18, np.inf, 1.0)[None], grid, Pose2(0.85, 0.05, 0.0))[0]
    assert cost[[2, 4, 8, 14]].tolist() == [10.0] * 4 and np.isinf(cost[[1, 3, 15, 17]]).all() and cost[18] == 1.0
    assert with_escape(np.ones((1, 20)), grid, Pose2(0.85, 0.05, 0.0)).max() == 1.0, "nothing to leave"


def test_the_length_of_each_kind_of_move_by_hand() -> None:
    """A move costs its length times the mean of both ends; a diagonal one needs the two cells beside it free."""
    cost = np.ones((5, 5))
    cost[2, 4] = 3.0
    metres = ShortestPaths(cost, (2, 2), 0.1).metres
    assert metres[[2, 3, 4, 4, 2], [3, 3, 3, 4, 4]] == pytest.approx(
        [0.1, 0.1 * math.sqrt(2), 0.1 * math.sqrt(5), 0.2 * math.sqrt(2), 0.1 * (1 + 2)], rel=1e-3)
    cost[2, 3] = cost[3, 2] = np.inf
    around = ShortestPaths(cost, (2, 2), 0.1)
    assert around.metres[3, 3] > 0.5 and np.isinf(around.metres[2, 3])
    assert around.path_to((1, 2)).tolist() == [[2, 2], [1, 2]]


def test_the_cost_of_a_straight_line_by_hand() -> None:
    cost = np.array([[1.0, 2.0, 1.0], [1.0, np.inf, 1.0], [1.0, 1.0, 1.0]])
    assert line_cost(cost, 0.5, 0.5, 0.5, 2.5) == pytest.approx(0.5 + 2.0 + 0.5)
    assert line_cost(cost, 0.5, 2.5, 0.5, 0.5) == pytest.approx(3.0)
    assert line_cost(cost, 0.5, 0.5, 2.5, 0.5) == pytest.approx(2.0)
    assert line_cost(cost, 2.25, 0.25, 2.75, 0.75) == pytest.approx(math.sqrt(0.5))
    for end in ((1.5, 2.5), (2.5, 2.5)):
        assert math.isinf(line_cost(cost, *(0.5, 0.5) if end == (2.5, 2.5) else (1.5, 0.5), *end))
    corner = np.array([[1.0, np.inf], [1.0, 1.0]])
    assert math.isinf(line_cost(corner, 0.5, 0.5, 1.5, 1.5)), "it would touch the corner of the forbidden cell"


def test_a_point_beside_the_map_is_moved_to_its_border_within_the_tolerance() -> None:
    field = np.full((3, 4), math.inf)
    field[0, 0] = field[2, 3] = 1.0
    grid = GridMap(0, 0.1, (0.0, 0.0), np.zeros(field.shape, np.int8), field == 0)
    assert snap(grid, field, -0.05, 0.05, 0.11) == (0, 0)  # 0.1 m from the middle of the cell
    assert snap(grid, field, 0.45, 0.25, 0.11) == (2, 3)
    assert snap(grid, field, -0.05, 0.05, 0.09) is None
