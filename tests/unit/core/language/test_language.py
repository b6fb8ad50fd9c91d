"""The English helpers that answering and judging share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.language import english as language


@pytest.mark.parametrize(("text", "expected"), [
    ("  The  Red Chair. ", "red chair"),
    ("What's on the table?", "what is on table"),
    ("Whats the blue thing", "what is blue thing"),
    ("It isn't open", "it is not open"),
    ("about 2.5 m, or so", "about 2.5 m or so"),
    ("the kid's room", "kid room"),
    ("L-shaped sofa", "l shaped sofa"),
    ("", ""),
])
def test_normalise(text: str, expected: str) -> None:
    assert language.normalise(text) == expected


@pytest.mark.parametrize(("many", "one"), [
    ("chairs", "chair"), ("shelves", "shelf"), ("couches", "couch"), ("boxes", "box"), ("glasses", "glasses"),
    ("washing machines", "washing machine"), ("glass", "glass"), ("vases", "vase"), ("pantries", "pantry"),
    ("stairs", "stairs"), ("mattresses", "mattress"), ("dishes", "dish"), ("houses", "house"), ("shoes", "shoe"),
])
def test_singular(many: str, one: str) -> None:
    assert language.singular(many) == one


@pytest.mark.parametrize("one", ["chair", "shelf", "box", "couch", "vase", "pantry", "mattress", "mug", "knife"])
def test_plural_and_back(one: str) -> None:
    assert language.singular(language.plural(one)) == one
    assert language.plural(one) != one


def test_what_is_plural_stays_so() -> None:
    assert [language.plural(many) for many in ("shoes", "curtains", "stairs")] == ["shoes", "curtains", "stairs"]


@pytest.mark.parametrize(("a", "b"), [
    ("the couch", "Sofa"), ("a fridge", "refrigerator"), ("TV", "televisions"), ("cupboards", "cabinet"),
    ("grey", "Gray"), ("bathroom", "the restroom"), ("three mugs", "3 cups"), ("trash can", "garbage bin"),
    ("on the bedside table in the bedroom", "on the nightstand, in the bedroom"), ("turned on", "on"),
])
def test_other_words_for_the_same(a: str, b: str) -> None:
    assert language.same(a, b)


@pytest.mark.parametrize(("a", "b"), [("red", "blue"), ("chair", "armchair"), ("2", "3"), ("on", "off"),
                                      ("left", "right"), ("kitchen", "living room"), ("lamp", "floor lamp")])
def test_different_things_stay_different(a: str, b: str) -> None:
    assert not language.same(a, b)


@pytest.mark.parametrize(("text", "value"), [("there are three", 3), ("12 chairs", 12), ("a pair of shoes", 2),
                                             ("none", 0), ("red", None), ("one", 1)])
def test_number(text: str, value: int | None) -> None:
    assert language.number(text) == value


@pytest.mark.parametrize(("text", "value"), [
    ("Yes.", True), ("no, it is closed", False), ("nope", False), ("it is not", False), ("There is one", True),
    ("there is no lamp", False), ("red", None), ("", None), ("Yeah", True),
])
def test_yes_no(text: str, value: bool | None) -> None:
    assert language.yes_no(text) is value


def test_lists() -> None:
    assert language.split_list("a mug, two books and the lamp.") == ("mug", "two books", "lamp")
    assert language.split_list("salt & pepper") == ("salt", "pepper")
    assert language.split_list("a sandwich") == ("sandwich",)


def test_content_words() -> None:
    assert language.content_words("What is the colour of my couch?") == ("color", "sofa")


@given(st.text(max_size=60))
def test_forms_are_stable(text: str) -> None:
    assert language.normalise(language.normalise(text)) == language.normalise(text)
    assert language.canonical(language.canonical(text)) == language.canonical(text)


@given(st.integers(0, 20))
def test_numbers_round_trip(value: int) -> None:
    assert language.number(language.number_word(value)) == value
