"""Noun phrases of questions, with their looks, places and uses."""

from __future__ import annotations

import pytest

from eqa_nodes.core.language.lexing import sentences
from eqa_nodes.core.language.phrases import phrases
from eqa_nodes.core.language.query import Thing


def things(text: str) -> list[Thing]:
    return [p.thing for words in sentences(text) for p in phrases(words) if p.thing is not None]


@pytest.mark.parametrize(("text", "wanted"), [
    ("my red mug on the desk in the study", Thing("mug", "study", "red", "on", Thing("desk"))),
    ("chairs in the dining room", Thing("chair", "dining room")),
    ("the kitchen light", Thing("light", "kitchen")),
    ("the kitchen table", Thing("kitchen table")),
    ("the second bathroom door", Thing("door", "second bathroom")),
    ("the door between the kitchen and the hallway", Thing("door", "kitchen", other_room="hallway")),
    ("the lamp that is not on", Thing("lamp", unlike=Thing(state="on"))),
    ("two lit candles", Thing("candle", state="lit", number=2)),
    ("the bowl for fruit", Thing("fruit bowl")),
    ("the lid of the toilet", Thing("toilet")),
    ("a plate of yellow colour", Thing("plate", colour="yellow")),
    ("the nightstand without a lamp", Thing("nightstand", unlike=Thing(relation="with", support=Thing("lamp")))),
    ("the swivel chair", Thing("swivel chair")),
])
def test_a_phrase_in_its_parts(text: str, wanted: Thing) -> None:
    found = things(text)
    assert len(found) == 1 and found[0]._replace(quantifier="") == wanted


@pytest.mark.parametrize(("text", "use", "kind"), [
    ("anything to read on the desk", "read", "bookshelf"),
    ("the thing you cook soup in", "cook soup in", "cooking pot"),
])
def test_a_use_stands_for_the_things_made_for_it(text: str, use: str, kind: str) -> None:
    found = things(text)[0]
    assert found.use == use and kind in found.kinds
