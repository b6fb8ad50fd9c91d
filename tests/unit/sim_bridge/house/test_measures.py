from __future__ import annotations

import re

import pytest

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.core.language.quantities import lengths
from eqa_nodes.core.language.understanding import query_of
from sim_bridge.house.questions.facts import HouseFacts
from sim_bridge.house.questions.measures import KINDS, extent_of, measure_candidates
from sim_bridge.house.world import world

SEEDS = (1000, 1001)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_follows_from_the_geometry_with_a_margin(seed: int) -> None:
    house = world(seed).house
    for candidate in measure_candidates(HouseFacts(house)):
        extents = [extent_of(house.object_by_id(target)) for target in candidate.targets]
        assert None not in extents
        if candidate.answer in ("yes", "no"):
            (asked,) = lengths(candidate.question)
            assert (candidate.answer == "yes") == (asked < candidate.metres)
            assert abs(asked - candidate.metres) >= 0.1 * candidate.metres  # an error of 5 % turns no answer
        else:
            assert lengths(candidate.answer) == pytest.approx([candidate.metres], abs=0.006)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rules_understand_every_question(seed: int) -> None:
    for candidate in measure_candidates(HouseFacts(world(seed).house)):
        asked = query_of(candidate.question)
        assert asked.form in ("size", "apart", "gap", "fits", "passes"), candidate.question
        assert len(asked.things) >= len(candidate.targets), candidate.question


def test_the_data_set_mixes_its_kinds_and_is_the_same_each_time() -> None:
    samples = open_dataset("house-measure", limit=5)
    assert [sample.metadata["measure"] for sample in samples].count("size") == 1
    assert {sample.metadata["measure"] for sample in samples} == set(KINDS)
    assert {sample.category for sample in samples} == {"measurement"}
    assert samples == open_dataset("house-measure", limit=5)
    assert all(re.fullmatch(r"house-\d+-measure-\d+", sample.id) for sample in samples)
    assert all(sample.reference_steps for sample in samples)
