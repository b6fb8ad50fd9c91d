"""Where a goal is looked at from: what holds for every costmap, and zones as polygons."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from eqa_nodes.core.driving.config import RecoveryConfig
from eqa_nodes.core.driving.planning import cell_at, centre_of
from eqa_nodes.core.driving.viewpoints import TARGET_M, viewpoints
from eqa_nodes.core.driving.zones import clearance, covered, parsed
from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.testing.driving import costmap

SIZE, RES = 24, 0.2
ZONE = parsed(["pond: 2 2, 3.4 1.8, 3.6 3, 2.2 3.2"])
COMMON = RecoveryConfig()


@st.composite
def scenes(draw: st.DrawFn) -> tuple[GridMap, Pose2, Pose2]:
    cells = np.zeros((SIZE, SIZE), np.int8)
    for value in draw(st.lists(st.sampled_from([100, 100, 99, 60, -1]), max_size=8)):
        y, x, h, w = (draw(st.integers(0, SIZE - 1)), draw(st.integers(0, SIZE - 1)), draw(st.integers(1, 10)),
                      draw(st.integers(1, 10)))
        cells[y:y + h, x:x + w] = value
    spot = st.floats(0.1, SIZE * RES - 0.1)
    grid = GridMap(0, RES, (0.0, 0.0), cells, np.zeros(cells.shape, bool))
    return grid, Pose2(draw(spot), draw(spot), 0.0), Pose2(draw(spot), draw(spot), 0.0)


@settings(max_examples=40, deadline=None)
@given(scenes())
def test_a_viewpoint_is_reachable_outside_every_zone_and_sees_the_goal(scene: tuple[GridMap, Pose2, Pose2]) -> None:
    grid, here, goal = scene
    shut = covered(ZONE, grid, 0.3)
    views = viewpoints(grid, here, goal, shut, COMMON)
    free = (grid.cells >= 0) & (grid.cells < 99) & ~shut
    own = cell_at(grid, here.x, here.y)
    assert own is not None
    for view in views:
        cell = cell_at(grid, view.pose.x, view.pose.y)
        assert cell is not None and free[cell]
        assert float(clearance(ZONE[0], np.float64(view.pose.x), np.float64(view.pose.y))) >= 0.3
        if free[own]:  # else the robot first gets out of where it stands
            parts, _ = ndimage.label(free, np.ones((3, 3)))
            assert parts[cell] == parts[own]
        assert COMMON.apart_m - RES <= view.off_m <= COMMON.afar_m + RES
        assert abs(wrap(math.atan2(goal.y - view.pose.y, goal.x - view.pose.x) - view.pose.yaw)) < 1e-9
        assert _line_is_clear(grid, view.pose, goal)
    assert [view.afar for view in views] == sorted(view.afar for view in views) and len(views) <= COMMON.viewpoints + 1
    for a in views:
        assert all(a is b or a.pose.distance(b.pose) >= COMMON.apart_m for b in views)


def _line_is_clear(grid: GridMap, view: Pose2, goal: Pose2) -> bool:
    """Look along the line between the middles of the two cells, in steps."""
    cell = cell_at(grid, goal.x, goal.y)
    assert cell is not None
    aim = centre_of(grid, *cell)
    for share in np.linspace(0, 1, 200):
        x, y = view.x + share * (aim.x - view.x), view.y + share * (aim.y - view.y)
        at = cell_at(grid, x, y)
        assert at is not None
        if grid.cells[at] in (100, -1) and math.dist(centre_of(grid, *at), aim) > TARGET_M:
            return False
    return True


def test_the_nearest_that_sees_it_is_chosen() -> None:
    grid = costmap(["....................", "....................", "..........#.........", "..........#.........",
                    "..........#.........", "....................", "...................."], 0.5)
    shut = np.zeros(grid.cells.shape, bool)
    first, *_ = viewpoints(grid, Pose2(0.25, 1.75, 0.0), Pose2(5.75, 1.75, 0.0), shut, COMMON)
    assert first.pose.x > 5.0 and first.off_m == pytest.approx(0.5)
    with pytest.raises(BadPose):
        viewpoints(grid, Pose2(-9.0, 0.0, 0.0), Pose2(5.75, 1.75, 0.0), shut, COMMON)
    assert viewpoints(grid, Pose2(0.25, 1.75, 0.0), Pose2(99.0, 1.75, 0.0), shut, COMMON) == []


def test_distance_to_a_zone() -> None:
    (zone,) = parsed(["square: 0 0, 2 0, 2 2, 0 2"])
    x, y = np.array([1.0, 3.0, 1.0, 3.0, 0.1]), np.array([1.0, 1.0, -2.0, 3.0, 1.0])
    assert clearance(zone, x, y) == pytest.approx([-1.0, 1.0, 2.0, math.sqrt(2), -0.1])


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(-3, 3), st.floats(-3, 3))
def test_a_step_changes_the_distance_to_a_zone_by_no_more_than_its_length(x: float, y: float, dx: float,
                                                                          dy: float) -> None:
    a, b = clearance(ZONE[0], np.array([x, x + dx]), np.array([y, y + dy]))
    assert abs(a - b) <= math.hypot(dx, dy) + 1e-9
