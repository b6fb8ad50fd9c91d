"""Frontiers on grids drawn with characters."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eqa_nodes.core.mapping.frontiers import MIN_LENGTH_M, find_frontiers
from eqa_nodes.core.types.floor import GridMap

ROOM = ("##########", "#....     ", "#....     ", "#....     ", "#....     ", "##########")


def grid_of(*rows: str, scale: int = 1) -> GridMap:
    """First row is the north. `#` occupied, `.` free and explored, `,` free, anything else unknown."""
    marks = np.array([list(row) for row in reversed(rows)]).repeat(scale, 0).repeat(scale, 1)
    cells = np.select([marks == "#", (marks == ".") | (marks == ",")], [100, 0], -1).astype(np.int8)
    return GridMap(0, 0.1, (-1.0, 2.0), cells, marks == ".")


def test_one_border_gives_one_frontier_that_looks_into_the_unknown() -> None:
    frontiers = find_frontiers(grid_of(*ROOM, scale=2))
    assert len(frontiers) == 1
    assert math.isclose(frontiers[0].x, -1.0 + 0.95)
    assert 2.3 < frontiers[0].y < 2.9
    assert abs(frontiers[0].heading) < 1e-9
    assert math.isclose(frontiers[0].length_m, 0.6)  # not the cells in the corners: they see too little


def test_free_floor_seen_only_from_afar_is_still_to_be_explored() -> None:
    rows = ("##########", "#....,,,,#", "#....,,,,#", "#....,,,,#", "#....,,,,#", "##########")
    assert len(find_frontiers(grid_of(*rows, scale=2))) == 1
    assert not find_frontiers(grid_of(*(row.replace(",", ".") for row in rows), scale=2))


def test_walls_and_small_shadows_are_no_frontiers() -> None:
    assert not find_frontiers(grid_of("#########", "#.......#", "#.. ....#", "#..  ...#", "#.......#", "#########"))


def test_a_long_border_gives_frontiers_some_way_apart() -> None:
    frontiers = find_frontiers(grid_of(*["#" + " " * 90 + "#"] * 10, *["#" + "." * 90 + "#"] * 10, "#" * 92))
    assert 4 <= len(frontiers) <= 7
    xs = sorted(f.x for f in frontiers)
    assert min(b - a for a, b in pairwise(xs)) > 0.7
    assert all(abs(f.heading - math.pi / 2) < 1e-9 for f in frontiers)


def test_a_map_that_is_explored_up_to_its_rim_goes_on_beyond_it() -> None:
    assert find_frontiers(grid_of(*["." * 20] * 20))


@settings(max_examples=60, deadline=None)
@given(arrays(np.int8, (24, 31), elements=st.sampled_from([-1, 0, 0, 0, 100])), st.integers(0, 2**32 - 1))
def test_frontiers_stand_on_explored_floor_and_repeat(cells: np.ndarray, seed: int) -> None:
    explored = (np.random.default_rng(seed).random(cells.shape) < 0.7) & (cells == 0)
    grid = GridMap(0, 0.1, (3.0, -2.0), cells, explored)
    frontiers = find_frontiers(grid)
    assert frontiers == find_frontiers(grid)
    for f in frontiers:
        assert grid.explored[math.floor((f.y + 2.0) / 0.1), math.floor((f.x - 3.0) / 0.1)]
        assert f.length_m >= MIN_LENGTH_M - 1e-9
        assert -math.pi <= f.heading <= math.pi


def test_turning_the_map_turns_the_frontiers() -> None:
    grid = grid_of(*ROOM, scale=2)
    turned = GridMap(0, 0.1, (0.0, 0.0), np.rot90(grid.cells), np.rot90(grid.explored))
    assert abs(abs(find_frontiers(turned)[0].heading) - math.pi / 2) < 1e-9


def test_borders_on_both_sides_of_a_wall_are_two_and_each_has_room_to_stand() -> None:
    half = ["#" + "." * 12 + " " * 12 + "#"] * 6
    frontiers = find_frontiers(grid_of("#" * 26, *half, "#" * 26, *half, "#" * 26))
    assert len(frontiers) == 2
    assert abs(frontiers[0].y - frontiers[1].y) > 0.6


def test_a_frontier_stands_where_the_robot_could() -> None:
    """The border's middle lies beside a pillar: the frontier stands elsewhere on the border."""
    rows = ["#" + "." * 12 + " " * 12 + "#" for _ in range(15)]
    rows[7] = "#" + "." * 11 + "#." + " " * 11 + "#"
    grid = grid_of("#" * 26, *rows, "#" * 26)
    for f in find_frontiers(grid):
        iy, ix = math.floor((f.y - 2.0) / 0.1), math.floor((f.x + 1.0) / 0.1)
        assert not np.any(grid.cells[iy - 1:iy + 2, ix - 1:ix + 2] == 100)
