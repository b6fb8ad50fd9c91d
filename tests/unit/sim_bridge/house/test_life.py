"""The life of a house is drawn from its seed: the same seed gives the same life, and habits have exceptions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sim_bridge.house import life as life_module
from sim_bridge.house.life import ABSENT, BY_PART, EVENING, FIRST_DAY, HABIT, PERSON, HouseLife, life_of

SEED, DAYS = 1206, 14


@pytest.fixture(scope="module")
def life() -> HouseLife:
    return life_of(SEED, DAYS)


def test_the_same_seed_gives_the_same_life(life: HouseLife) -> None:
    assert life_module.life_of.__wrapped__(SEED, DAYS) == life


def test_patrols_come_in_order_and_enter_rooms_that_have_a_stop(life: HouseLife) -> None:
    times = [patrol.first for patrol in life.patrols]
    assert times == sorted(times) and [p.number for p in life.patrols] == list(range(len(times)))
    assert all(FIRST_DAY <= time < FIRST_DAY + timedelta(days=DAYS) for time in times)
    assert all(set(patrol.rooms) <= {stop.room for stop in life.stops} and patrol.rooms for patrol in life.patrols)
    assert any(len(patrol.rooms) < len({stop.room for stop in life.stops}) for patrol in life.patrols)


def test_every_object_has_a_course_over_all_patrols(life: HouseLife) -> None:
    assert len(life.objects) >= 8 and len({o.name for o in life.objects}) == len(life.objects)
    for o in life.objects:
        assert len(o.course) == len(life.patrols) and set(o.course) - {ABSENT} <= set(range(len(o.forms)))
        assert len(o.seen) == len(o.forms) and all(form.room in seen.clear for form, seen in
                                                   zip(o.forms, o.seen, strict=True) if not o.stateful)


def test_a_habit_by_part_of_day_mostly_holds(life: HouseLife) -> None:
    habits = [o for o in life.objects if o.routine in (BY_PART, HABIT)]
    assert habits
    for o in habits:
        kept = sum(form == int(p.part == EVENING) for form, p in zip(o.course, life.patrols, strict=True))
        assert kept >= 0.6 * len(life.patrols)


def test_a_form_has_one_id_and_one_label(life: HouseLife) -> None:
    ids = [t.id for t in life.house.objects] + [form.id for o in life.objects for form in o.forms]
    assert len(ids) == len(set(ids)) and set(life.labels()) == set(ids)
    state = next(o for o in life.objects if o.stateful)
    labels = [life.labels()[form.id] for form in state.forms]
    assert {label.attributes["state"] for label in labels} == {form.state for form in state.forms}


def test_the_house_on_a_patrol_holds_what_the_script_says(life: HouseLife) -> None:
    for number in (0, len(life.patrols) - 1):
        held = {t.id for t in life.house_on(number).objects}
        for o in life.objects:
            assert [form.id in held for form in o.forms] == [k == o.course[number] for k in range(len(o.forms))]


def test_nothing_else_could_be_taken_for_an_object_with_a_course(life: HouseLife) -> None:
    for o in life.objects:
        if o.kind != PERSON and not o.stateful:
            assert all(t.kind != o.kind for t in life.house.objects), o.name
