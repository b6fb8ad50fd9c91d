"""From triangles to what can be stood on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.core.errors import NoFloor, SimulatorError
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.mesh.heightfield import CELL_M, Heightfield, heightfield
from tests.fixtures.floors import box, ramp, slab, soup

ROBOT = RobotModel()


def walkable_at(field: Heightfield, x: float, y: float) -> list[float]:
    cell = math.floor((y - field.y0) / CELL_M) * field.columns + math.floor((x - field.x0) / CELL_M)
    here = slice(field.start[cell], field.start[cell + 1])
    return [float(z) for z in field.high[here][field.walkable[here]]]


def test_a_slab_is_as_high_as_it_is_and_ends_at_a_ledge() -> None:
    field = heightfield(*soup(slab(0, 0, 3, 2, 0.123)), ROBOT)
    assert (field.rows, field.columns) == (40, 60)
    assert walkable_at(field, 1.51, 1.01) == pytest.approx([0.123])
    assert walkable_at(field, 0.01, 1.01) == []  # beside a fall
    assert field.walkable.sum() == 38 * 58


@pytest.mark.parametrize(("slope", "driven"), [(30.0, True), (44.0, True), (46.0, False), (80.0, False)])
def test_slopes(slope: float, driven: bool) -> None:
    rise = 2 * math.tan(math.radians(slope))
    parts = soup(slab(-2, 0, 0, 2, 0), ramp(0, 0, 2, 2, 0, rise))
    field = heightfield(*parts, ROBOT)
    assert bool(walkable_at(field, 1.01, 1.01)) is driven


@pytest.mark.parametrize(("gap", "fits"), [(1.29, False), (1.31, True)])
def test_clearance_above(gap: float, fits: bool) -> None:
    field = heightfield(*soup(slab(0, 0, 3, 3, 0), slab(1, 1, 2, 2, gap, up=False)), ROBOT)
    assert (0.0 in walkable_at(field, 1.51, 1.51)) is fits


@pytest.mark.parametrize(("height", "climbed"), [(0.05, True), (0.2, True), (0.21, False), (0.5, False)])
def test_steps_are_climbed_up_to_the_robots_climb(height: float, climbed: bool) -> None:
    field = heightfield(*soup(slab(0, 0, 4, 3, 0), box(2, 0, 4, 3, 0, height)), ROBOT)
    beside = bool(walkable_at(field, 1.97, 1.5))
    assert walkable_at(field, 3.0, 1.5) == pytest.approx([height])
    assert beside  # the floor before a step up is no ledge
    assert bool(walkable_at(field, 2.03, 1.5)) is climbed  # but the edge of a high one is


def test_low_obstacles_are_driven_over() -> None:
    steep = np.array([[(1, 1, 0), (2, 1, 0), (1.5, 1.02, 0.15)], [(2, 1, 0), (1, 1.04, 0), (1.5, 1.02, 0.15)]], float)
    field = heightfield(*soup(slab(0, 0, 3, 2, 0), steep), ROBOT)
    assert walkable_at(field, 1.5, 1.02)


def test_a_wall_between_floors_is_not_walkable_whatever_the_order() -> None:
    parts = [slab(0, 0, 3, 3, 0), box(1.42, 0, 1.62, 3, 0, 2)]
    fields = [heightfield(*soup(*order), ROBOT) for order in (parts, parts[::-1])]
    for field in fields:
        assert walkable_at(field, 1.44, 1.5) == []
    assert fields[0].walkable.tobytes() == fields[1].walkable.tobytes()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(*[st.floats(0, 3)] * 9), min_size=1, max_size=6))
def test_every_triangle_lies_in_the_spans(corners: list[tuple[float, ...]]) -> None:
    triangles = np.array(corners, np.float32).reshape(-1, 3, 3)
    field = heightfield(*soup(slab(-1, -1, 4, 4, -1), triangles), ROBOT)
    for a, b, c in triangles.astype(float):
        for u, v in ((0.2, 0.3), (1 / 3, 1 / 3), (0.6, 0.1)):
            x, y, z = a + u * (b - a) + v * (c - a)
            cell = math.floor((y - field.y0) / CELL_M) * field.columns + math.floor((x - field.x0) / CELL_M)
            here = slice(field.start[cell], field.start[cell + 1])
            assert ((field.low[here] <= z + 1e-4) & (field.high[here] >= z - 1e-4)).any()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_spans_of_a_column_are_apart_and_rise(seed: int) -> None:
    triangles = np.random.default_rng(seed).uniform(0, 2, (40, 3, 3))
    field = heightfield(*soup(slab(0, 0, 2, 2, 0), triangles), ROBOT)
    for first, last in zip(field.start[:-1], field.start[1:]):
        assert (field.low[first:last] <= field.high[first:last]).all()
        assert (field.low[first + 1:last] > field.high[first:last - 1]).all()


def test_degenerate_triangles_do_no_harm() -> None:
    line = np.array([[(1, 1, 0), (2, 1, 0), (1.5, 1, 0)], [(1, 1, 0), (1, 1, 0), (1, 1, 0)]], float)
    field = heightfield(*soup(slab(0, 0, 3, 3, 0), line), ROBOT)
    assert walkable_at(field, 1.51, 1.02) == [0.0]


@pytest.mark.parametrize(("triangles", "error", "words"), [
    (slab(0, 0, 3, 3, 0, up=False), NoFloor, "2 face down"),
    (box(0, 0, 3, 0.0, 0, 3)[:2], NoFloor, "which|axis"),
    (np.zeros((0, 3, 3)), NoFloor, "no triangles"),
    (np.array([[(0, 0, 0), (1, math.nan, 0), (0, 1, 0)]]), SimulatorError, "1 of 3 vertices"),
    (slab(0, 0, 10_000, 10_000, 0), SimulatorError, "10000 m x 10000 m"),
    (slab(0, 0, 1e30, 1e30, 0), SimulatorError, "too large"),
])
def test_what_is_no_scene_is_named(triangles: np.ndarray, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        heightfield(*soup(triangles), ROBOT)
