"""Which questions fit several things that are known, or none, and what each meaning asks."""

from __future__ import annotations

import pytest

from eqa_nodes.core.language.ambiguity import MOST, KnownPlaces, ambiguity, known_of

KNOWN = known_of(
    ["main bedroom", "second bedroom", "kitchen", "study", "hallway", ""],
    [("lamp", "main bedroom"), ("lamp", "study"), ("floor lamp", "study"), ("desk", "study"),
     ("desk", "second bedroom"), ("sofa", "living room"), ("bed", "main bedroom"), ("bed", "second bedroom"),
     ("pet bed", "kitchen"), ("bed", "main bedroom")])
BEDROOMS, BEDS = ["the main bedroom", "the second bedroom"], ["the bed in the main bedroom",
                                                              "the bed in the second bedroom"]


def options(question: str, known: KnownPlaces = KNOWN) -> list[str]:
    unclear = ambiguity(question, known)
    return [meaning.option for meaning in unclear.meanings] if unclear else []


@pytest.mark.parametrize("question", [
    "What color is the rug in the bedroom?", "Is there a lamp in the bedroom?", "Is the bedroom door open?",
    "Is my bedroom tidy?", "Is the window in Pia's bedroom open?"])
def test_a_room_with_several_of_its_kind(question: str) -> None:
    assert [option for option in options(question) if option != "any of them"] == BEDROOMS


@pytest.mark.parametrize(("question", "asked"), [
    ("Is the bed made?", BEDS), ("Is my bed made?", BEDS),
    ("What is on Pia's desk?", ["the desk in the second bedroom", "the desk in the study"]),
    ("Is the lamp on?", ["the floor lamp in the study", "the lamp in the main bedroom", "the lamp in the study"])])
def test_an_object_with_several_of_its_kind(question: str, asked: list[str]) -> None:
    assert options(question) == [*asked, "any of them"]


def test_a_meaning_asks_the_question_with_it() -> None:
    unclear = ambiguity("Is the lamp in the bedroom on?", KNOWN)
    assert unclear is not None and unclear.text == "Which bedroom is meant?"
    assert [m.question for m in unclear.meanings] == [
        "Is the lamp in the main bedroom on?", "Is the lamp in the second bedroom on?",
        "Is the lamp in the bedroom on?"]
    assert all(ambiguity(m.question, KNOWN) is None for m in unclear.meanings[:2])


def test_a_name_that_nothing_known_has() -> None:
    unclear = ambiguity("Is Pia in the kitchen?", KNOWN)
    assert unclear is not None and unclear.text == "I know no Pia: what is meant?"
    assert [m.option for m in unclear.meanings[:3]] == ["a person", "a pet", "a thing that is called Pia"]
    assert unclear.meanings[0].question == "Is the person in the kitchen?"
    assert options("Where is Pia?", KnownPlaces()) == ["a person", "a pet", "a thing that is called Pia"]
    unclear = ambiguity("What is in Narnia?", KNOWN)
    assert unclear is not None and unclear.meanings[3].question == "What is in the kitchen?"


@pytest.mark.parametrize("question", [
    "Where is the lamp?", "How many beds are there?", "Is the lamp in the study on?", "Is the sofa red?",
    "Are both bedrooms tidy?", "Is the bed in the main bedroom made?", "Is the pet bed empty?",
    "What Is In The Kitchen?",
    "Is the TV on?", "Is the lamp next to the sofa on?", "Are the bedrooms tidy?", "Which bedroom has a bed?",
    "WHERE IS MY MUG?", "Where are Pia's shoes?", "Is the Fridge closed?", "I wonder if I left the stove on",
    "", "?", "the", "Is the bed of the second bedroom made?"])
def test_what_is_clear_or_is_answered_for_all_of_them_is_not_asked(question: str) -> None:
    assert options(question) == []


@pytest.mark.parametrize("question", ["Is the bedroom tidy?", "Is the bed made?", "Is the lamp on?"])
def test_without_knowledge_nothing_known_is_ambiguous(question: str) -> None:
    assert options(question, KnownPlaces()) == []
    assert options(question, known_of(["bedroom", "main bedroom"], [("bed", "bedroom"), ("lamp", "bedroom")])) == []


def test_of_many_the_first_are_offered() -> None:
    many = known_of([f"{n} bedroom" for n in range(30)], ())
    assert len(options("Is the bedroom tidy?", many)) == MOST + 1
