"""Rooms by the shape of the floor: narrow places separate them, furniture does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from eqa_nodes.core.perception.room_parts import parts_of

CELL_M = 0.1


def parts(*plan: str, scale: int = 5) -> np.ndarray:
    """Return the parts of a plan in which a letter is 0.5 m of floor and a # is wall, as numbers by letter's place."""
    floor = np.kron(np.array([[c != "#" for c in row] for row in plan]), np.ones((scale, scale))) > 0
    clear_m = distance_transform_edt(np.pad(floor, 1))[1:-1, 1:-1] * CELL_M
    found = parts_of(clear_m, CELL_M)
    assert ((found > 0) == floor).all(), "all floor belongs to a part, and nothing else does"
    return found[scale // 2::scale, scale // 2::scale]


TWO = ("aaaaa#bbbbb", "aaaaa#bbbbb", "aaaaadbbbbb", "aaaaa#bbbbb", "aaaaa#bbbbb")


@pytest.mark.parametrize("turned", [0, 1, 2, 3])
def test_a_doorway_separates_two_rooms(turned: int) -> None:
    plan = np.rot90(np.array([list(row) for row in TWO]), turned)
    found = parts(*("".join(row) for row in plan))
    by_letter = {c: set(found[plan == c].tolist()) for c in "ab"}
    assert len(by_letter["a"]) == len(by_letter["b"]) == 1 and by_letter["a"] != by_letter["b"]


def test_a_wide_opening_and_a_wardrobe_in_the_room_separate_nothing() -> None:
    assert len(np.unique(parts("aaaaaaaaa", "aaaaaaaaa", "aaaaaaaaa", "aaaaaaaaa", "aaaa#aaaa"))) == 2, "0 and one room"
    found = parts("aaaaa#bbbbb", *5 * ("aaaaabbbbbb",))
    assert len(np.unique(found[found > 0])) == 1


def test_a_hallway_as_narrow_as_its_doors_is_a_room() -> None:
    plan = ("aaaaa#bbbbb", "aaaaa#bbbbb", "##d#####d##", "hhhhhhhhhhh", "hhhhhhhhhhh")
    found = parts(*plan)
    rooms = {c: {found[i, j] for i, row in enumerate(plan) for j, one in enumerate(row) if one == c} for c in "abh"}
    assert all(len(rooms[c]) == 1 for c in "abh") and len(set.union(*rooms.values())) == 3


def test_no_floor_has_no_parts() -> None:
    assert not parts_of(np.zeros((9, 9)), CELL_M).any() and parts_of(np.zeros((0, 0)), CELL_M).size == 0
