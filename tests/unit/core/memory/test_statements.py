"""Statements that can be watched: how they are read, and what each refusal names."""

from __future__ import annotations

import pytest

from eqa_nodes.core.errors import BadQuestion
from eqa_nodes.core.memory.statements import read_statement

MINUTE = 60 * 10**9
ON_COUNTER = {"support": "counter", "relation": "on", "state": "on", "colour": "red"}


@pytest.mark.parametrize(("text", "holds"), [
    ("the kettle is on", True), ("is the kettle on?", True), ("The kettle is off.", False),
    ("the kettle is full", False),
    ("the kettle in the kitchen is on", True), ("the kettle in the study is on", None),
    ("there is a kettle in the kitchen", True), ("there is a kettle in the study", False),
    ("a kettle is in the kitchen", True), ("the kettle is on the counter", True), ("the kettle is on the desk", False),
    ("the kettle is in the counter", False), ("there is a kettle that is on in the kitchen", True)])
def test_a_look_says_whether_it_is_so(text: str, holds: bool | None) -> None:
    statement = read_statement(text)
    assert not statement.denied and not statement.moved and statement.lasts_ns == 0
    assert statement.fits("kettle", ON_COUNTER) and not statement.fits("toaster", ON_COUNTER)
    assert statement.holds("kettle", "kitchen", ON_COUNTER) is holds


def test_a_state_that_is_not_known_says_nothing() -> None:
    assert read_statement("the kettle is on").holds("kettle", "kitchen", {"support": "counter"}) is None
    assert read_statement("the kettle is on the counter").holds("kettle", "kitchen", {}) is False


def test_things_are_meant_by_kind_and_colour() -> None:
    lamp = read_statement("the lamp is on")
    assert lamp.fits("table lamp", {}) and lamp.fits("lamp", {"colour": "red"}) and not lamp.fits("sofa", {})
    mug = read_statement("the red mug is gone")
    assert mug.fits("mug", {"colour": "red"}) and mug.fits("mug", {}) and not mug.fits("mug", {"colour": "green"})


@pytest.mark.parametrize("text", ["the suitcase is gone", "the suitcase is missing", "there is no suitcase",
                                  "there is no suitcase in the hallway", "the suitcase is not in the hallway",
                                  "the suitcase is no longer in the hallway", "nobody is in the kitchen"])
def test_it_can_be_denied(text: str) -> None:
    assert read_statement(text).denied


@pytest.mark.parametrize("text", ["the laptop is moved", "the laptop moves", "the laptop has been moved",
                                  "the red laptop was moved"])
def test_a_move_can_be_watched(text: str) -> None:
    statement = read_statement(text)
    assert statement.moved and statement.kinds == ("laptop",)


@pytest.mark.parametrize(("text", "minutes"), [
    ("for 30 min", 30), ("for two hours", 120), ("for half an hour", 30), ("for an hour and a half", 90),
    ("for one and a half hours", 90), ("for 1.5 h", 90), ("longer than 5 minutes", 5), ("for more than a day", 1440),
    ("for at least 3 days", 3 * 1440)])
def test_a_statement_may_have_to_last(text: str, minutes: int) -> None:
    statement = read_statement(f"the stove is on {text}")
    assert statement.lasts_ns == minutes * MINUTE and statement.state == "on"


@pytest.mark.parametrize(("text", "values", "true"), [
    ("a window is open", [True, False], True), ("the window is open", [False, False], False),
    ("all windows are open", [True, False], False), ("the windows are open", [True, True], True),
    ("there are two mugs on the table", [True, False], False), ("there are two mugs on the table", [True, True], True),
    ("there is no mug on the table", [True, False], False), ("there is no mug on the table", [False, False], True)])
def test_it_is_true_of_one_of_as_many_or_of_all(text: str, values: list[bool], true: bool) -> None:
    assert read_statement(text).true(values) is true


@pytest.mark.parametrize(("text", "fault"), [
    ("hello", "'hello' is not understood as a statement about a thing: say"), ("", "has 1 to 200 letters"),
    ("the stove is on " * 20, "has 1 to 200 letters"), ("where is the mug", "is not understood as a statement"),
    ("it is on", "is not understood as a statement"),
    ("the stove is on for ages", "'ages' is not understood as a duration"),
    ("the stove is on for 0 min", "'0 min' is not understood as a duration"),
    ("the stove is on for 9999999 days", "(at most a year)"),
    ("the stove or the oven is on", "says several things"), ("the stove was on yesterday", "without 'yesterday'"),
    ("the stove is on at night", "without 'at night'"), ("the box is blue", 'say "there is a blue box"'),
    ("the mug is next to the sink", "names more than looks tell"), ("the person moves", "does not follow people"),
    ("there is a person", "names no room"), ("the laptop in the study is moved", 'say "the laptop is moved"')])
def test_a_refusal_names_the_fault_and_what_would_work(text: str, fault: str) -> None:
    with pytest.raises(BadQuestion) as refused:
        read_statement(text)
    assert fault in str(refused.value) and "\n" not in str(refused.value)
