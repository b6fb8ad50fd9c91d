"""The fortnight in a house: what stands where on which patrol, and what of it counts as remembered."""

from __future__ import annotations

from benchmarks.weeks import BOX, GREEN, LAPTOP, PATROLS, PINK, SUITCASE, house_of
from sim_bridge.house.scene import House


def _support(house: House, instance: int) -> str:
    return house.object_by_id(house.object_by_id(instance).support).kind


def test_the_laptop_alternates_and_two_mugs_change_places() -> None:
    houses = [house_of(number) for number in range(PATROLS)]
    assert [_support(house, LAPTOP) for house in houses] == ["kitchen table", "coffee table"] * (PATROLS // 2)
    for number, house in enumerate(houses):
        tables = ("kitchen table", "coffee table") if 4 <= number <= 8 else ("coffee table", "kitchen table")
        assert (_support(house, PINK), _support(house, GREEN)) == tables


def test_things_come_and_go_and_states_follow_their_habit() -> None:
    houses = [house_of(number) for number in range(PATROLS)]
    there = [{t.id for t in house.objects} for house in houses]
    assert [number for number in range(PATROLS) if BOX in there[number]] == [3, 4, 5, 6]
    assert [number for number in range(PATROLS) if SUITCASE in there[number]] == list(range(9))
    beds = ["unmade", "made"] * (PATROLS // 2)
    beds[6] = "made"
    assert [house.object_by_id(71).state for house in houses] == beds
