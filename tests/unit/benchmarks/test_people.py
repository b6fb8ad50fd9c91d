"""Questions as people type them: most are answered rightly, few wrongly, and what is asked back fits."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.people import is_right, load, tally
from eqa_nodes.core.types.questions import Answer


@pytest.fixture(scope="module")
def tuned() -> dict[tuple[bool, str], int]:
    return tally(load("tuned"))


def test_most_questions_are_answered_rightly_and_hardly_any_wrongly(tuned: dict[tuple[bool, str], int]) -> None:
    total = sum(n for (answerable, _), n in tuned.items() if answerable)
    assert total == 754
    assert tuned[True, "right"] >= 0.85 * total
    assert tuned.get((True, "wrong"), 0) <= 0.01 * total


def test_what_cannot_be_answered_is_never_claimed(tuned: dict[tuple[bool, str], int]) -> None:
    assert tuned.get((False, "wrong"), 0) == 0


@pytest.mark.parametrize(("row", "text", "right"), [
    ({"yes": True}, "yes: the lamp in the study is on", True), ({"yes": True}, "no", False),
    ({"number": 3}, "3", True), ({"number": 3}, "four", False), ({"number": 0}, "no", True),
    ({"number": 84, "unit": "cm", "within": 0.05}, "86 cm", True),
    ({"number": 84, "unit": "cm", "within": 0.05}, "95 cm", False),
    ({"number": 5.6, "unit": "feet", "within": 0.05}, "5.6 feet (1.70 m)", True),
    ({"all": [["shelf", "bookshelf"], ["study"]]}, "in the bookshelf in the study", True),
    ({"all": [["study"]], "none": ["kitchen"]}, "in the study; in the kitchen", False)])
def test_an_answer_is_checked_against_the_truth(row: dict[str, Any], text: str, right: bool) -> None:
    assert is_right(row, Answer(text, 0.9)) is right
    assert not is_right(row, Answer(text, 0.9, abstained=True))
