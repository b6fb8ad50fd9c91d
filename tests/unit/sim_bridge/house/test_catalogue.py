"""The table of parts: lengths, repeated parts, colours, doors, and what is refused."""

from __future__ import annotations

import pytest

from sim_bridge.house.catalogue import KINDS, length_of, metres, part_row
from sim_bridge.house.dice import Dice
from sim_bridge.house.kinds import Look
from sim_bridge.house.scene import ObjectPart

LOOK = Look(0.6, 2.0, 1.0, "red", "wood", "open", Dice(0), 0.2)


def parts(line: str) -> list[ObjectPart]:
    return list(part_row(line).parts(LOOK))


@pytest.mark.parametrize(("text", "value"), [
    ("0.25", 0.25), ("-0.02", -0.02), ("w", 2.0), ("-0.5d+0.1", -0.2), ("0.5d-s-h+0.05", -0.85), ("0.2wi-0.3", 0.9)])
def test_a_length_is_a_sum_of_terms(text: str, value: float) -> None:
    assert metres(length_of(text), {"d": 0.6, "w": 2.0, "h": 1.0, "s": 0.2, "i": 3}) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "w*2", "0.5 w", "q", "0.5w-", "--w"])
def test_other_text_is_not_a_length(text: str) -> None:
    with pytest.raises(ValueError, match="is not a length: write a sum"):
        length_of(text)


def test_a_part_stands_at_either_side_of_an_axis() -> None:
    corners = parts(" ; box; xy; 0.1, 0.5w-0.2, 0.3; 0.02, 0.04, 0.2; c 0.5; t; 0.7; 0.3")
    assert [part.centre for part in corners] == [(x, y, 0.4) for x in (-0.1, 0.1) for y in (-0.8, 0.8)]
    assert corners[0] == ObjectPart("box", (-0.1, -0.8, 0.4), (0.02, 0.04, 0.2), "#5c1915", "wood", 0.3, 0.7)
    assert [part.centre[0] for part in parts("; box; x; 0.1, 0.2, 0; d, w, h; white")] == [-0.1, 0.1]
    assert [part.centre[1] for part in parts("; box; y; 0.1, 0.2, 0; d, w, h; white")] == [-0.2, 0.2]


def test_repeated_parts_take_colours_in_turn() -> None:
    row = parts("; sphere; 3; 0, 0.2wi-0.4, 0; 0.1, 0.1, 0.1; blue|c")
    assert [(part.centre[1], part.colour) for part in row] == [(-0.4, "blue"), (0.0, "red"), (0.4, "blue")]
    assert {part.texture for part in row} == {"plain"}


def test_doors_fill_the_front_and_have_handles() -> None:
    fronts = parts("; doors; 1x2; 0, 0, 0.1; 0, w, 0.8; c|gold")
    assert [part.colour for part in fronts] == ["red", "gold"] * 2
    assert fronts[0].centre == (0.088, -0.5, 0.5)  # half the depth of 0.6 m, less the open leaf and half a door
    assert fronts[0].size == (0.024, 0.98, 0.776)


def test_parts_of_another_state_are_left_out() -> None:
    glows = {state: [part.glow for part in KINDS["treadmill"].build(LOOK._replace(state=state)) if part.glow]
             for state in ("on", "off")}
    assert glows == {"on": [0.9], "off": []}
