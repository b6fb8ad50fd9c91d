"""Slips of the keys and of the ear are mended to words of the vocabulary; words that are right stay."""

from __future__ import annotations

import pytest

from eqa_nodes.core.language.english import normalise
from eqa_nodes.core.language.spelling import close_to, is_word, spelled, words

_TYPED = """
wheres teh ironn i neeed it nwo | where is iron i need it now
is the ward robe in the secnd bedrom opne | is wardrobe in second bedroom open
how mny vasess are fulll | how many vases are full
whcih roooms hav a mirorr in tehm | which rooms have mirror in them
alram clok nxt to teh bed, colur?? | alarm clock next to bed colour
are thier kandles burnign in teh dinning room pleese | are their candles burning in dining room please
wich windws r stil opn jst the roms | which windows are still open just rooms
the tread mill in the jim is it still going I here a humming | tread mill in gym is it still going i hear humming
how meny cushens are ther in the hole howse | how many cushions are there in whole house
di i laeve the frdige opne agian | did i leave fridge open again
colr of teh matt infront of the batth tub ?? | color of mat in front of bath tub
bikse in the garrage, hwo mnay | bikes in garage how many
isthe telly in the livingroom runnin | is telly in living room running
whats lookin | what is looking
by sickles in the garage | bicycles in garage
isit in the livingrom or on the coffeetable | is it in living room or on coffee table
washingmachne wadrobe tredmill toliet | washing machine wardrobe treadmill toilet
"""


@pytest.mark.parametrize(("typed", "meant"), [row.split(" | ") for row in _TYPED.strip().splitlines()])
def test_what_was_meant(typed: str, meant: str) -> None:
    assert spelled(normalise(typed)) == meant


@pytest.mark.parametrize("text", ["munch", "blow", "book shelf", "side table", "robot", "rex", "puddle", "pia",
                                  "is hat on bench", "muppet", "brokn", "wifi", "4711", "\u00e9tag\u00e8re", "x"])
def test_real_words_and_names_stay(text: str) -> None:
    assert spelled(text) == text


def test_a_word_is_one_of_the_vocabulary_or_of_the_dictionary() -> None:
    assert "settee" in words() and "puddle" not in words()
    assert is_word("puddle") and is_word("settees") and not is_word("pudddle")


def test_the_nearest_word_must_be_clear() -> None:
    assert close_to("tabel", ("table", "towel")) == "table"
    assert close_to("taxle", ("tamle", "tagle")) == ""
    assert close_to("sofa", ("bed", "chair")) == ""
