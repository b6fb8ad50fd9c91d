"""Questions to try in a scene: of the house's own maker, without answers, and none where nobody knows any."""

from __future__ import annotations

import pytest

from eqa_nodes.core.errors import UnknownScene
from sim_bridge.house.questions import CATEGORIES, candidates
from sim_bridge.house.world import world
from sim_bridge.registry import sample_questions


@pytest.mark.parametrize("scene", ["house:3", "house:1000+2"])
def test_a_house_has_four_of_different_categories(scene: str) -> None:
    known = candidates(world(int(scene.removeprefix("house:").partition("+")[0])).house)
    asked = sample_questions(scene)
    found = [next(category for category in CATEGORIES if any(c.question == text for c in known[category]))
             for text in asked]
    assert len(asked) == len(set(found)) == 4
    assert asked == sample_questions(scene)  # the same each time, on any machine


@pytest.mark.parametrize("scene", ["house:7@2", "toy:flat", "mesh:flat.glb", "kitchen", ""])
def test_other_scenes_have_none(scene: str) -> None:
    assert sample_questions(scene) == ()


def test_a_house_that_is_none_is_named() -> None:
    with pytest.raises(UnknownScene, match="house:9999"):
        sample_questions("house:9999")
