"""Semantic values by hand."""

from __future__ import annotations

import math

import pytest

from eqa_nodes.core.policies.semantic_map import SemanticConfig, SemanticMap
from tests.fixtures.grids import grid_of
from tests.fixtures.policy_views import spot, view


def test_a_disc_is_smoothed_by_a_gaussian_of_five_cells() -> None:
    """In the middle of a disc of 10 cells stays 1 - exp(-10^2 / (2 * 5^2)) of the value, far from it nothing."""
    values, grid = SemanticMap(SemanticConfig()), grid_of(*["." * 12] * 12)
    values.update([view(1, spot(3.05)._replace(y=3.05), worth=0.5)], grid.resolution_m)
    painted = 1 / 3 * math.exp(1.0) / 3
    assert values.on(grid)[30, 30] == pytest.approx(painted * (1 - math.exp(-2.0)), rel=0.02)
    assert 0.2 * painted < values.on(grid)[30, 40] < 0.5 * painted  # at the rim less than half: it is round
    assert values.on(grid)[30, 57] == 0.0


def test_a_cell_that_two_views_paint_has_their_mean_and_a_view_counts_by_its_places() -> None:
    """EXPRESS-Bench eq. 5, 6: SV = LSV * GSV, LSV = weight * n / 3 for n places, GSV = exp(worth / 0.5) / 3."""
    far, grid = spot(3.05)._replace(x=60.0, y=60.0), grid_of(*["." * 12] * 12)
    there = spot(3.05)._replace(y=3.05)
    one, three = view(1, there, worth=0.5), view(2, there, far, far, worth=0.1)
    values = {}
    for name, views in {"one": [one], "three": [three], "both": [one, three], "again": [one, one, three]}.items():
        painted = SemanticMap(SemanticConfig())
        painted.update(views, grid.resolution_m)
        values[name] = float(painted.on(grid)[30, 30])
    assert values["three"] / values["one"] == pytest.approx(3 * math.exp(0.2) / math.exp(1.0), rel=1e-5)
    assert values["both"] == pytest.approx((values["one"] + values["three"]) / 2, rel=1e-5)
    assert values["again"] == pytest.approx(values["both"], rel=1e-6)
