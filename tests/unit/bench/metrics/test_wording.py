"""Similarity of answers by their words, with numbers worked out by hand."""

from __future__ import annotations

import pytest

from eqa_nodes.bench.metrics.wording import affirms, cap, f_measure, items, likeness, numbers, words


@pytest.mark.parametrize(("question", "reference", "text", "precision", "recall"), [
    ("What is on the table?", "a red mug", "a mug", 1, 1 / 1.5),  # beside an object a colour weighs 0.5
    ("What is on the table?", "a mug", "a red mug", 1 / 1.5, 1),
    ("What color is the sofa?", "dark green", "green", 1, 1 / 1.3),  # vague words weigh 0.3, a lone colour 1
    ("What?", "a large wood table", "table", 1, 1 / 1.8),
    ("Where is the mug?", "in the kitchen", "kitchen", 1, 1),  # a relation that only one of them says does not count
    ("Where?", "on the wall", "on the floor", 0.2 / 0.9, 0.2 / 0.9), ("What?", "armchair", "chair", 0.5, 0.5),
    ("What?", "tea", "steam tea pot", 1 / 3, 1), ("What?", "tea", "teatea", 0, 0),  # heads have 4 letters or more
    ("What?", "living room", "dining room", 0, 0), ("Where is the cup?", "the cup is on the desk", "desk", 1, 1)])
def test_likeness(question: str, reference: str, text: str, precision: float, recall: float) -> None:
    like = likeness(question, reference, text)
    assert (like.precision, like.recall) == pytest.approx((precision, recall))
    assert like.f == pytest.approx(0 if precision + recall == 0 else 2 * precision * recall / (precision + recall))


def test_only_a_shared_name_is_firm_and_only_one_word_is_lone() -> None:
    assert likeness("Where?", "on the wall", "on the floor")[2:] == (False, False)
    assert likeness("What?", "a red mug", "red")[2:] == (True, False)  # 0.5 is enough
    assert likeness("What?", "a dark corner", "dark")[2:] == (False, False)  # 0.3 is not
    assert likeness("What?", "open", "closed").lone and likeness("What?", "a mug", "").f == f_measure(0, 0) == 0


@pytest.mark.parametrize(("reference", "text", "most", "why"), [
    ("open", "closed", 1, "contradiction"), ("the open door", "the closed door", 2, "contradiction"),
    ("a mug", "no mug", 1, "negated"), ("a mug", "a mug or a cup", 3, "hedged"), ("red or blue", "red or blue", 5, ""),
    ("on the left", "on the left", 5, ""), ("a mug", "a cup", 5, "")])
def test_contradictions_negations_and_hedges_cap_the_mark(reference: str, text: str, most: int, why: str) -> None:
    assert cap(reference, text, likeness("?", reference, text)) == (most, why)


@pytest.mark.parametrize(("text", "said"), [
    ("It is open", True), ("closed", False), ("not open", False), ("not closed", True), ("blue", None)])
def test_a_text_without_yes_or_no_may_say_either(text: str, said: bool | None) -> None:
    assert affirms("Is the door open?", text) is said
    assert affirms("What is open?", text) is None


def test_numbers_lists_and_rooms() -> None:
    assert [numbers(text) for text in ("no, there are two", "zero", "2 or three", "many")] == [{2}, {0}, {2, 3}, set()]
    assert items("a lamp, a book and keys") == ("lamp", "book", "keys")
    assert items("one two three four, b") == ("one two three four", "b") and items("one two three four five, b") == ()
    assert items("between a sofa and a chair") == ()  # a place
    assert words("the living room") == ("living_room",)
