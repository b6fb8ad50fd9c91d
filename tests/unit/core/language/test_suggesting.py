"""What is asked back for a question that is not understood."""

from __future__ import annotations

import pytest

from eqa_nodes.core.language.understanding import understand

ASKED = (
    ("Pray, how many splendiferous sofas adorn the study?", "How many sofas in the study are there?"),
    ("What colour is the mug the fairies dance on?", "What colour is the mug?"),
    ("I own a 140 cm wide poster. Can the whiteboard take it?",
     "Does something 1.40 m wide fit through the whiteboard?"),
    ("Is the grobbled television larger than the desk?", "Is the television larger than the desk?"),
    ("List every room that gets no daylight because it has no window.", "Which rooms have no window?"),
    ("Grobbled inches please, the wardrobe, floor to top?", "How tall is the wardrobe in inches?"),
    ("Number of jars in the pantry, and then the number in the garage?",
     "How many jars in the pantry are there, and how many jars in the garage are there?"),
)


@pytest.mark.parametrize(("asked", "meant"), ASKED)
def test_what_was_meant_is_among_three(asked: str, meant: str) -> None:
    understood = understand(asked)
    assert understood.query is None
    assert meant in understood.suggestions and len(understood.suggestions) <= 3


@pytest.mark.parametrize("asked", [asked for asked, _ in ASKED])
def test_each_is_read_as_itself(asked: str) -> None:
    for text in understand(asked).suggestions:
        read = understand(text).query
        assert read is not None and read.form


def test_they_differ() -> None:
    for asked, _ in ASKED:
        meant = understand(asked).suggestions
        assert len(set(meant)) == len(meant)


def test_nothing_is_suggested_where_nothing_was_recognised() -> None:
    assert understand("Whither the grobbled flumpies?").suggestions == ()


def test_a_long_line_is_not_tried_in_other_words() -> None:
    assert len(understand("is the flumpy sofa red or grobbled " * 40).suggestions) <= 3
