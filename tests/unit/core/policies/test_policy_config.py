"""The defaults are what the papers and their code publish."""

from __future__ import annotations

import pytest

from eqa_nodes.config.policies import policy_parameters
from eqa_nodes.core.answerers.vlm_replies import REGIONS
from eqa_nodes.core.components import POLICIES
from eqa_nodes.core.mapping.frontiers import SPACING_M
from eqa_nodes.core.perception.projection import PlacesConfig
from eqa_nodes.core.policies.frontier_policy import FrontierConfig
from eqa_nodes.core.policies.semantic_map import LINK_M, SEEN_M, SemanticConfig

C = policy_parameters()


def test_semantic_values_and_regions_are_those_of_express_bench() -> None:
    """Discs of 1 m, sigma of 5 cells, exp(p / 0.5), regions merged within 3 m, 3 visits, discs of 0.5 m, 3 m a step."""
    s: SemanticConfig = C.express.semantic
    assert (s.disc_m, s.sigma_cells, s.global_scale) == (1.0, 5.0, 0.5)
    assert (LINK_M, SEEN_M) == (3.0, 0.5) and (C.express.visits, C.express.leg_m) == (3, 3.0)


@pytest.mark.parametrize("config", [C.frontier, C.express.frontier])
def test_frontier_weights_are_those_of_explore_eqa(config: FrontierConfig) -> None:
    assert (config.unexplored, config.unoccupied, config.distance_m) == (0.2, 2.0, 10.0)
    assert (config.unexplored_ray_m, config.unoccupied_ray_m, config.leg_m) == (3.0, 1.0, 3.0)
    assert (C.express.value, C.express.value_ray_m, C.express.quiet) == (0.5, 3.0, 2)
    assert SPACING_M == 1.5


def test_places_and_names_of_regions_are_those_of_fine_eqa() -> None:
    """Three places 2 m to 10 m away, 1 m apart; twenty names, of which "unknown" is none here."""
    p = PlacesConfig()
    assert (p.count, p.nearest_m, p.farthest_m, p.apart_m) == (3, 2.0, 10.0, 1.0)
    assert len(set(REGIONS)) == len(REGIONS) == 19 and {"dining room", "kitchen", "cloakroom"} < set(REGIONS)


def test_snapshots_are_those_of_3d_mem_and_the_threshold_of_keyframes_that_of_aq_nav() -> None:
    assert (C.snapshot.leg_m, C.snapshot.prefilter, C.snapshot.together_m) == (1.0, 10, 3.5)
    assert C.topo.beta == 0.5


def test_every_policy_has_its_parameters() -> None:
    assert list(POLICIES) == sorted(vars(C))
