"""What is shown of a decision: strengths of weights, regions of marks, values on the floor, colours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.display import DISC_M, VALUE, colour_of, regions_of, strengths, value_layer
from eqa_nodes.core.types.floor import Candidate, GridMap

WEIGHTS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)
PLACES = st.tuples(st.floats(-9.0, 9.0), st.floats(-9.0, 9.0), st.floats(0.0, 1.0))


def of_weights(*weights: float) -> list[Candidate]:
    return [Candidate(0.0, 0.0, w, "frontier") for w in weights]


def grid(side_m: float = 6.0) -> GridMap:
    """A free square round the origin, its left quarter occupied, its lower quarter unknown."""
    n = round(side_m / 0.1)
    cells = np.zeros((n, n), np.int8)
    cells[:, :n // 4] = 100
    cells[:n // 4] = -1
    return GridMap(7, 0.1, (-side_m / 2, -side_m / 2), cells, cells == 0)


@given(WEIGHTS)
def test_strengths_keep_the_order_of_weights(weights: list[float]) -> None:
    shares = strengths(of_weights(*weights))
    assert all(0.0 <= s <= 1.0 for s in shares)
    ranked = [s for _, s in sorted(zip(weights, shares))]
    assert ranked == sorted(ranked)


def test_strengths_are_shares_of_the_largest() -> None:
    assert strengths(of_weights(1.0, 4.0, 0.0)) == [0.25, 1.0, 0.0]
    assert strengths(of_weights(-1.0, 1.0)) == [0.0, 1.0]
    assert strengths(of_weights(0.0, 0.0)) == [1.0, 1.0] and strengths([]) == []


def test_marks_of_one_name_that_lie_together_are_one_region() -> None:
    near = [Candidate(0.5 * i, 0.0, 0.1 * i, "kitchen") for i in range(5)]
    far = [Candidate(9.0, 0.5 * i, 0.9, "kitchen") for i in range(3)]
    stray = [Candidate(0.0, 7.0, 1.0, "kitchen")]
    other = [Candidate(0.0, 0.0, 0.3, "bath"), Candidate(1.0, 1.0, 0.5, VALUE), Candidate(1.0, 1.0, 0.5, "")]
    found = regions_of([*near, *stray, *far, *other])
    assert [(r.name, r.x, r.y, r.weight) for r in found] == [
        ("bath", 0.0, 0.0, 0.3), ("kitchen", 1.0, 0.0, 0.4), ("kitchen", 9.0, 0.5, 0.9)]
    assert found[1].marks == tuple(near)
    assert regions_of([]) == []


@given(st.lists(PLACES, max_size=6))
def test_values_lie_on_free_floor_near_their_marks_only(places: list[tuple[float, float, float]]) -> None:
    g = grid()
    layer = value_layer(g, [Candidate(x, y, w, VALUE) for x, y, w in places])
    rows, columns = np.indices(layer.shape)
    expected = np.full(layer.shape, -1.0, np.float32)
    for x, y, w in places:
        column, row = math.floor((x + 3.0) / 0.1), math.floor((y + 3.0) / 0.1)
        if 0 <= row < len(layer) and 0 <= column < len(layer):
            near = np.hypot(rows - row, columns - column) * 0.1 <= DISC_M + 1e-9
            expected[near] = np.maximum(expected[near], np.float32(w))
    expected[g.cells != 0] = -1.0
    assert np.array_equal(layer, expected)


def test_values_take_no_notice_of_order_and_of_regions() -> None:
    marks = [Candidate(1.0, 1.0, 0.4, VALUE), Candidate(1.3, 1.0, 0.9, VALUE), Candidate(1.0, 1.0, 1.0, "kitchen")]
    layer = value_layer(grid(), marks)
    assert np.array_equal(layer, value_layer(grid(), marks[::-1]))
    assert layer.max() == pytest.approx(0.9)
    assert set(np.unique(layer).round(3)) == {-1.0, np.float32(0.4).round(3), np.float32(0.9).round(3)}


def test_colours_are_those_of_the_name() -> None:
    names = ["frontier", "kitchen", "bathroom", "bedroom", "hallway", "snapshot"]
    assert len({colour_of(n) for n in names}) == len(names)
    assert colour_of("kitchen") == colour_of("kitchen") and all(0 <= c <= 255 for n in names for c in colour_of(n))
