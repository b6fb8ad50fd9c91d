from __future__ import annotations

import pytest

from eqa_nodes.core.language.quantities import lengths, said_length, same_measure, tolerance


@pytest.mark.parametrize(("text", "metres"), [
    ("1.8 m", [1.8]), ("180 cm", [1.8]), ("about 6 feet", [1.8288]), ("6 ft 2 in", [1.8796]), ("6'2\"", [1.8796]),
    ("two metres", [2.0]), ("one and a half meters", [1.5]), ("half a metre", [0.5]), ("it is 1,8m wide", [1.8]),
    ("a 2-metre sofa", [2.0]), ("2 m wide and 90 cm deep", [2.0, 0.9]), ("20 inches", [0.508]), ("850 mm", [0.85]),
    ("there are 2 in the kitchen", []), ("5 minutes", []), ("yes", []), ("", [])])
def test_lengths_are_read_in_any_unit(text: str, metres: list[float]) -> None:
    assert lengths(text) == pytest.approx(metres)


def test_a_length_is_said_as_people_do() -> None:
    assert [said_length(m) for m in (1.834, 0.846, 0.996)] == ["1.83 m", "85 cm", "1.00 m"]


def test_the_tolerance_is_a_tenth_and_at_least_five_centimetres() -> None:
    assert tolerance(2.0) == pytest.approx(0.2)
    assert tolerance(0.1) == pytest.approx(0.05)


def test_two_measurements_of_one_thing_agree() -> None:
    assert same_measure("1.80 m", "185 cm")
    assert same_measure("yes: the gap is 1.80 m wide", "yes: the gap is 1.84 m wide")
    assert not same_measure("yes: the gap is 1.80 m wide", "no: the gap is 1.84 m wide")
    assert not same_measure("1.80 m", "2.20 m")
    assert not same_measure("yes", "yes")
