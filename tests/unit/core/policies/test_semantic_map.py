"""Smoothing by hand, and which floor is identified as a region."""

from __future__ import annotations

import math

import pytest

from eqa_nodes.core.policies.belief import RoomBelief
from eqa_nodes.core.policies.semantic_map import FunctionalRegion, SemanticConfig, SemanticMap, functional_regions
from eqa_nodes.core.types.questions import ViewAssessment
from tests.fixtures.grids import grid_of
from tests.fixtures.policy_views import HERE, RANKED, spot, view


def regions_of(*views: ViewAssessment) -> list[FunctionalRegion]:
    belief = RoomBelief()
    belief.update(views)
    return functional_regions(belief, RANKED, SemanticConfig())


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


def test_one_view_from_inside_is_no_region_two_are() -> None:
    """That a view was taken in a room is half a vote; a place that it shows there is one."""
    assert regions_of(view(1, region="kitchen")) == []
    assert [r.name for r in regions_of(view(1, region="kitchen"), view(2, region="kitchen"))] == ["kitchen"]
    assert [r.name for r in regions_of(view(1, spot(3.1, label="kitchen")))] == ["kitchen"]


@pytest.mark.parametrize(("others", "found"), [(("study",), True), (("garage", "study", "study"), False)])
def test_a_region_needs_half_of_the_votes(others: tuple[str, ...], found: bool) -> None:
    """1 of 2 votes is enough; 2 of 5 are not, though no other name has more."""
    names = ("dining room",) * (1 if found else 2) + others
    regions = regions_of(*[view(k, spot(3.1, label=name)) for k, name in enumerate(names)])
    assert [r.name for r in regions] == (["dining room"] if found else [])


def test_the_larger_of_two_regions_of_one_rank_comes_first() -> None:
    near, far = (view(k, *[spot(x, label="kitchen") for x in xs]) for k, xs in enumerate(((1.1,), (9.1, 10.1))))
    assert [r.spots for r in regions_of(near, far)] == [((9.25, 1.25), (10.25, 1.25)), ((1.25, 1.25),)]
    assert regions_of(near)[0].near(HERE.x, HERE.y, 9.0) and not regions_of(near)[0].near(HERE.x, HERE.y, 8.9)
