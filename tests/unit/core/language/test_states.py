"""States of things: what words mean, of which thing, and the opposite."""

from __future__ import annotations

import pytest

from eqa_nodes.core.language.states import MATERIALS, PAIRS, opposite, state_of, states_of, states_of_kind
from tests.fixtures.house_kinds import MATERIALS_OF, STATES_OF


@pytest.mark.parametrize(("words", "state"), [
    ("on", "on"), ("switched on", "on"), ("left on", "on"), ("still switched on", "on"), ("turned off", "off"),
    ("ajar", "open"),
    ("shut", "closed"), ("drawn", "closed"), ("properly closed", "closed"), ("lit", "lit"), ("blown out", "unlit"),
    ("running", "running"),
    ("dripping", "running"), ("filled", "full"), ("emptied", "empty"), ("unmade", "unmade"), ("messy", "unmade"),
    ("grubby", "dirty"),
    ("has been left running", "running"), ("red", ""), ("", "")])
def test_what_a_phrase_means(words: str, state: str) -> None:
    assert state_of(words) == state


@pytest.mark.parametrize(("words", "kind", "state"), [
    ("burning", "candle", "lit"), ("burning", "floor lamp", "on"), ("running", "kitchen sink", "running"),
    ("running", "television", "on"),
    ("on", "bathroom sink", "running"), ("on", "candle", "lit"), ("off", "candle", "unlit"), ("out", "table lamp",
    "off"), ("out", "candle", "unlit"),
    ("down", "toilet", "closed"), ("up", "toilet", "open"), ("drawn", "curtains", "closed"), ("up", "laptop", "open"),
    ("tidy", "bed", "made"), ("closed", "kitchen sink", "off"), ("lit", "ceiling light", "on"), ("lit", "fireplace",
    "lit")])
def test_a_thing_says_what_a_word_means_of_it(words: str, kind: str, state: str) -> None:
    assert state_of(words, kind) == state


def test_a_word_may_mean_several_states() -> None:
    assert {"on", "lit"} <= set(states_of("burning"))


def test_opposites_are_symmetric() -> None:
    for pair in PAIRS:
        one, other = pair.states
        for kind in pair.kinds:
            assert (opposite(one, kind), opposite(other, kind)) == (other, one), kind
    assert (opposite("closed"), opposite("made"), opposite("blue")) == ("open", "unmade", "")


def test_no_word_means_both_states_of_a_pair() -> None:
    for pair in PAIRS:
        assert not set(pair.words[0]) & set(pair.words[1])


def test_states_of_the_kinds_of_the_house() -> None:
    for kind, states in STATES_OF.items():
        if states:
            assert set(states) <= set(states_of_kind(kind) or ()), kind


def test_materials_of_the_house_are_known() -> None:
    assert {material for materials in MATERIALS_OF.values() for material in materials} <= set(MATERIALS)
