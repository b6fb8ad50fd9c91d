"""Doorways: openings between the ends of walls, and what is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eqa_nodes.core.mapping.doorways import find_doorways
from eqa_nodes.core.types.floor import GridMap


def grid(rows: int = 60, columns: int = 80) -> GridMap:
    """Return free floor of 8 m x 6 m with a wall all round, in cells of 0.1 m."""
    cells = np.zeros((rows, columns), np.int8)
    cells[[0, -1]], cells[:, [0, -1]] = 100, 100
    return GridMap(0, 0.1, (0.0, 0.0), cells, cells == 0)


def two_rooms(width: int = 8, thick: int = 1) -> GridMap:
    """Return two rooms with a wall between them at x = 4 m, and an opening of so many cells in its middle."""
    made = grid()
    made.cells[:, 40:40 + thick] = 100
    made.cells[30 - width // 2:30 + width - width // 2, 40:40 + thick] = 0
    return made


@pytest.mark.parametrize("thick", [1, 2])
@pytest.mark.parametrize("width", [6, 8, 9, 14])
def test_an_opening_between_wall_ends_is_a_doorway(width: int, thick: int) -> None:
    [door] = find_doorways(two_rooms(width, thick))
    assert math.dist(door[:2], (4.05, 3.0)) <= 0.15 and door.width_m == pytest.approx(0.1 * width, abs=0.11)
    assert abs(math.cos(door.heading)) == pytest.approx(1.0)


@pytest.mark.parametrize("width", [0, 3, 16, 30])
def test_one_that_is_too_narrow_or_too_wide_is_none(width: int) -> None:
    assert find_doorways(two_rooms(width)) == []


def test_walls_may_run_in_any_direction() -> None:
    for degrees in (20.0, 45.0, 70.0):
        made = grid(100, 100)
        made.cells[:] = 0
        y, x = np.mgrid[0:100, 0:100] - 50
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        across, along = x * c + y * s, y * c - x * s
        made.cells[(np.abs(across) <= 1.0) & (np.abs(along) > 4.5)] = 100
        [door] = find_doorways(made)
        assert math.dist(door[:2], (5.05, 5.05)) <= 0.3
        assert abs(math.cos(door.heading - math.radians(degrees))) == pytest.approx(1.0, abs=0.1)


def test_a_gap_between_furniture_is_none() -> None:
    made = grid()
    made.cells[20:26, 30:38], made.cells[34:40, 30:38] = 100, 100  # two sofas, 0.8 m apart
    assert find_doorways(made) == []


def test_a_hallway_is_none() -> None:
    made = grid()
    made.cells[:24], made.cells[36:] = -1, -1
    made.cells[[24, 35]] = 100  # 1 m wide, 8 m long
    assert find_doorways(made) == []


def test_there_must_be_floor_on_both_sides() -> None:
    made = two_rooms()
    made.cells[:, 41:] = -1
    assert find_doorways(made) == []
    made.cells[26:34, 41:44] = 0  # as seen through the doorway
    assert len(find_doorways(made)) == 1


def test_an_empty_or_unknown_map_has_no_doorways() -> None:
    for value in (-1, 0, 100):
        cells = np.full((30, 30), value, np.int8)
        assert find_doorways(GridMap(0, 0.1, (0.0, 0.0), cells, cells == 0)) == []
