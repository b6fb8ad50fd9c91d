"""Questions of the built-in house: true by the scene graph, unambiguous, visible, balanced, the same on every run."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache

import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.answerers.blind import BlindAnswerer
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.language.english import plural
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Question
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.house.dataset import SPLITS, HouseQuestion, house_questions, to_openeqa
from sim_bridge.house.questions import CATEGORIES, QuestionCandidate, candidates
from sim_bridge.house.questions.facts import HouseFacts
from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS, Grounding
from sim_bridge.house.scene import House, HouseObject, Opening, Part, Room
from sim_bridge.house.simulator import HouseWorld, world

Size = tuple[float, float, float]


def obj(id_: int, kind: str, room: int, x: float, y: float, size: Size = (0.5, 0.5, 0.8),
        **more: object) -> HouseObject:
    parts = [Part("box", (0.0, 0.0, size[2] / 2), size, "brown")]
    place, yaw = (x, y, float(more.pop("z", 0.0))), float(more.pop("yaw", 0.0))  # type: ignore[arg-type]
    return HouseObject(id_, kind, room, place, yaw, size, parts=parts, **more)  # type: ignore[arg-type]


def home(*extra: HouseObject) -> House:
    """A living room, a study and two bedrooms side by side along x, 4 m each."""
    names = (("living room", ""), ("study", ""), ("bedroom", "main bedroom"), ("bedroom", "second bedroom"))
    rooms = [Room(i, kind, 4.12 * i, 0.0, 4.12 * i + 4.0, 4.0, "planks", "brown", "white", name)
             for i, (kind, name) in enumerate(names)]
    doors = [Opening("door", 4.06 + 4.12 * i, 1.5, 4.06 + 4.12 * i, 2.4, 0.0, 2.0, (i, i + 1), 90 + i)
             for i in range(3)]
    objects = [
        obj(1, "sofa", 0, 2.0, 0.5, (0.9, 2.0, 0.8), yaw=math.pi / 2, colour="blue", material="fabric"),
        obj(2, "tv", 0, 2.0, 3.9, (0.1, 1.2, 0.7), yaw=-math.pi / 2, z=1.0, relation="wall", state="on"),
        obj(3, "painting", 0, 2.0, 0.05, (0.05, 0.8, 0.6), yaw=math.pi / 2, z=1.4, relation="wall"),
        obj(4, "desk", 1, 6.0, 0.4, (0.7, 1.4, 0.75), yaw=math.pi / 2, colour="white", material="wood"),
        obj(5, "laptop", 1, 6.0, 0.4, (0.25, 0.35, 0.2), z=0.75, support=4, relation="on", state="open",
            colour="gray"),
        obj(6, "mug", 1, 6.4, 0.4, (0.1, 0.1, 0.1), z=0.75, support=4, relation="on", colour="red"),
        obj(7, "wardrobe", 1, 7.2, 0.4, (0.6, 0.9, 2.0), yaw=math.pi / 2, colour="brown"),
        *(obj(20 + i, "chair", 1, 5.0 + i, 2.5, colour="green") for i in range(3)),
        obj(8, "bed", 2, 10.0, 1.0, (2.0, 1.6, 0.9), colour="red", state="unmade"),
        obj(9, "bed", 3, 14.0, 1.0, (2.0, 1.0, 0.9), colour="blue", state="made"),
        *(obj(90 + i, "door", i, d.x0, 1.95, (0.05, 0.9, 2.0), state="open", solid=False)
          for i, d in enumerate(doors)),
        *extra,
    ]
    return House(7, rooms, doors, objects, Pose2(1.0, 2.0, 0.0))


def asked(house: House, category: str) -> dict[str, QuestionCandidate]:
    return {c.question: c for c in candidates(house)[category]}


def answers_about(house: House, category: str, target: int) -> dict[str, str]:
    return {q: c.answer for q, c in asked(house, category).items() if target in c.targets}


def test_names_fit_one_thing_only() -> None:
    facts = HouseFacts(home())
    assert facts.name(facts.house.object_by_id(1)) == "the sofa in the living room"
    assert facts.name(facts.house.object_by_id(8)) is None  # one of two bedrooms: nobody sees which is the main one
    assert facts.name(facts.house.object_by_id(20)) is None
    twins = HouseFacts(home(obj(30, "desk", 1, 5.0, 3.5),
                            obj(31, "laptop", 1, 5.0, 3.5, support=30, relation="on")))
    assert twins.name(twins.house.object_by_id(31)) is None  # on one of two desks
    assert HouseFacts(home(obj(30, "armchair", 0, 3.5, 2.0))).name(obj(1, "sofa", 0, 2.0, 0.5)) is None


def test_unnamed_rooms_of_a_kind_are_not_spoken_of() -> None:
    house = home()
    house.rooms = [replace(room, name="") for room in house.rooms]
    assert not any("bedroom" in q for c in CATEGORIES for q in asked(house, c))


def test_no_question_or_answer_needs_a_number_that_nobody_sees() -> None:
    globe = obj(30, "globe", 3, 14.0, 3.5, (0.3, 0.3, 0.4))
    found = asked(home(globe), "object localization")["Where is the globe?"]
    assert found.answer == "in a bedroom"
    assert set(found.alternatives) == {"in the bedroom", "in the second bedroom"}
    assert found.clues == (9,)
    for seed in range(1000, 1008):
        items = [c for listed in candidates(world(seed).house).values() for c in listed]
        assert not [c for c in items if re.search(r"main|second|third|guest|kids'", f"{c.question} {c.answer}")]


def test_a_room_is_asked_for_only_where_something_shows_what_room_it_is() -> None:
    house = home(obj(30, "globe", 1, 6.0, 2.5, (0.3, 0.3, 0.4)))
    assert asked(house, "object localization")["Where is the globe?"].clues == (4,)
    house.objects = [t for t in house.objects if t.kind != "desk" and t.support != 4]
    assert "Where is the globe?" not in asked(house, "object localization")
    entry = home(obj(30, "globe", 1, 6.0, 2.5, (0.3, 0.3, 0.4)), obj(31, "coat rack", 1, 6.0, 3.9, relation="wall"))
    entry.rooms[1] = replace(entry.rooms[1], kind="entryway")
    assert asked(entry, "object localization")["Where is the globe?"].alternatives[-1] == "in the hallway"
    entry.rooms[0] = replace(entry.rooms[0], kind="hallway")
    assert "Where is the globe?" not in asked(entry, "object localization")


def test_what_hangs_above_its_neighbour_is_not_above_an_object() -> None:
    hood = [obj(30, "range hood", 1, 6.0 + x, 3.7, (0.4, 0.6, 0.8), z=1.7, yaw=-math.pi / 2, relation="wall")
            for x in (0.0, 0.5)]
    oven = obj(31, "oven", 1, 6.0, 3.7, (0.6, 0.6, 0.9), yaw=-math.pi / 2)
    over, beside = (any("above the oven" in q for q in asked(home(oven, h), "object recognition")) for h in hood)
    assert over and not beside


def test_materials_and_lit_shades_that_look_alike_are_not_asked_about() -> None:
    def questions(*items: HouseObject) -> str:
        return " ".join(q for q in asked(home(*items), "attribute recognition"))
    for colour, shown in (("brown", True), ("black", False)):
        ottoman = obj(30, "ottoman", 1, 6.0, 2.5, colour=colour, material="leather")
        assert ("the ottoman in the study made of" in questions(ottoman)) == shown
    for state, shown in (("off", True), ("on", False)):
        assert ("lamp" in questions(obj(30, "floor lamp", 1, 6.0, 2.5, colour="beige", state=state))) == shown
    for colour, shown in (("red", True), ("white", False), ("silver", False)):
        assert ("ladder" in questions(obj(30, "ladder", 1, 6.0, 2.5, colour=colour, material="metal"))) == shown


def test_a_second_lamp_silences_questions_about_the_first() -> None:
    lamp = obj(30, "table lamp", 0, 3.5, 2.0, state="on", colour="red")
    other = obj(31, "desk lamp", 0, 0.5, 2.0, state="off", colour="blue")
    before, after = ([c for category in CATEGORIES[1:4] for c in candidates(house)[category] if 30 in c.targets]
                     for house in (home(lamp), home(lamp, other)))
    assert len(before) >= 3
    assert after == []


def test_colourless_and_stateless_things_are_not_asked_about() -> None:
    lamp = obj(30, "floor lamp", 0, 3.5, 2.0)
    house = home(lamp)
    assert answers_about(house, "attribute recognition", 30) == {}
    assert answers_about(house, "object state recognition", 30) == {}


def test_what_is_on_and_above() -> None:
    found = asked(home(), "object recognition")
    on_desk = next(c for q, c in found.items() if re.fullmatch(r"What (is|did I leave) on the desk in the study\?", q))
    assert (on_desk.answer, set(on_desk.targets), on_desk.need) == ("a laptop and a mug", {4, 5, 6}, 3)
    above = next(c for q, c in found.items() if "above the sofa" in q)
    assert (above.answer, set(above.targets)) == ("a painting", {1, 3})
    assert any(re.fullmatch(r"What is the red (thing|object) on the desk in the study\?", q) for q in found)


def test_left_and_right_are_those_of_who_faces_it() -> None:
    """The desk looks to +y, so its viewer looks to -y and has -x, where nothing stands, on the right."""
    facts = HouseFacts(home())
    desk, wardrobe = facts.house.object_by_id(4), facts.house.object_by_id(7)
    assert facts.beside(desk, left=True) == wardrobe
    assert facts.beside(desk, left=False) is None
    crowded = HouseFacts(home(obj(30, "plant", 1, 7.0, 1.0, (0.3, 0.3, 0.9))))
    assert crowded.beside(desk, left=True) is None  # two could be meant


def test_which_of_two_is_on() -> None:
    lamp, screen = (obj(30 + i, kind, 1, 5.0 + i, 3.5, colour="red", state=state)
                    for i, (kind, state) in enumerate((("floor lamp", "on"), ("table lamp", "off"))))
    for states, answer in ((("on", "off"), "the floor lamp"), (("off", "on"), "the table lamp"), (("on", "on"), "both"),
                           (("off", "off"), "neither")):
        house = home(*(replace(t, state=state) for t, state in zip((lamp, screen), states)))
        states_asked = asked(house, "object state recognition")
        pairs = [c for q, c in states_asked.items() if q.startswith("Which is on in the study")]
        assert [(c.answer, set(c.targets), c.need) for c in pairs] == [(answer, {30, 31}, 2)]


def test_what_wastes_electricity_is_the_one_that_is_on() -> None:
    lamps = [obj(30, "floor lamp", 1, 5.0, 3.5, state="on"), obj(31, "desk lamp", 1, 6.0, 3.5, state="off")]
    found = {q: c.answer for q, c in asked(home(*lamps), "world knowledge").items()}
    assert found["What is wasting electricity in the study?"] == "the floor lamp"
    lamps[1].state = "on"
    assert "What is wasting electricity in the study?" not in asked(home(*lamps), "world knowledge")


def test_a_purpose_asks_for_what_only_looking_tells() -> None:
    lamp, globe = obj(30, "floor lamp", 1, 5.0, 3.5, colour="red"), obj(31, "globe", 1, 6.0, 3.5, colour="blue")
    found = {q: c.answer for q, c in asked(home(lamp, globe), "functional reasoning").items()}
    assert found["What can I use to read without the ceiling light in the study?"] == "the floor lamp"
    assert not any(q.startswith("What can I use to find a country") for q in found)  # a globe: known without looking
    other = obj(32, "table lamp", 1, 7.0, 3.5, colour="red")
    assert not any("ceiling light" in q for q in asked(home(lamp, other), "functional reasoning"))
    assert found["What color is the thing in the study at which I can work on a computer?"] == "white"


def test_where_a_purpose_leads_to() -> None:
    calendar = obj(30, "calendar", 1, 6.0, 0.05, (0.02, 0.3, 0.4), z=1.5, relation="wall")
    found = {q: c.answer for q, c in asked(home(calendar), "functional reasoning").items()}
    assert found["Where can I find something to find out the date?"] == "on the wall in the study"
    assert found["I want to find out the date. Which room should I go to?"] == "the study"
    two = home(calendar, replace(calendar, id=31, room=0))
    assert not any("date" in q for q in asked(two, "functional reasoning"))


def test_counts() -> None:
    spatial = asked(home(), "spatial understanding")
    counts = [c for q, c in spatial.items() if re.match(r"How many chairs (are|are there) in the study", q)]
    assert [(c.answer, c.need) for c in counts] == [("3", 3)]
    with_armchair = asked(home(obj(30, "armchair", 1, 7.0, 3.5)), "spatial understanding")
    assert not any("How many chairs" in q for q in with_armchair)


def test_places() -> None:
    places = asked(home(), "object localization")
    where = {c.targets[0]: c.answer for q, c in places.items() if " room " not in f" {q} "}
    assert where[5] == where[6] == "on the desk in the study"
    assert where[3] == "on the wall in the living room"
    assert not any("bed" in q.split("?")[0].split() for q in places)  # there are two


def test_which_is_closer_needs_a_clear_difference() -> None:
    facts = HouseFacts(home())
    for c in candidates(home())["spatial understanding"]:
        if c.question.startswith("Which is closer"):
            near, far, base = (facts.house.object_by_id(t) for t in c.targets)
            assert facts.gap(base, far) > facts.gap(base, near) + 0.5
            assert c.answer == f"the {near.kind}"


def test_gap_is_the_distance_of_footprints() -> None:
    facts = HouseFacts(home())
    assert facts.gap(facts.house.object_by_id(4), facts.house.object_by_id(7)) == pytest.approx(1.2 - 0.7 - 0.45)
    assert facts.gap(facts.house.object_by_id(4), facts.house.object_by_id(5)) == 0.0


def test_plural_kinds_take_are() -> None:
    house = home(obj(30, "headphones", 1, 5.7, 0.4, support=4, relation="on", colour="black"))
    found = [q for cat in ("attribute recognition", "object localization") for q in answers_about(house, cat, 30)]
    assert found
    assert not any(re.search("[Ii]s (the|my) headphones", q) for q in found)


HALF = CameraModel(width=320, height=240)  # its pixels count four times


def pixels(place: HouseWorld, pose: Pose2) -> Counter[int]:
    return Counter({i: 4 * n for i, n in place.visible_pixels(pose, HALF).items()})


def most_seen(place: HouseWorld, start: Pose2) -> Counter[int]:
    """Return by instance the most pixels in twelve headings of 30 degrees."""
    most: Counter[int] = Counter()
    for k in range(12):
        most |= pixels(place, Pose2(start.x, start.y, wrap(start.yaw + k * math.pi / 6)))
    return most


def test_views_show_the_target_and_starts_do_not() -> None:
    place = HouseWorld(home())
    grounding = Grounding(place.house, place)
    seen: dict[Pose2, Counter[int]] = {}
    for candidate in [c for items in candidates(place.house).values() for c in items[:2]]:
        found = grounding.ground(candidate)
        if candidate.clues and found is None:
            continue  # nothing in the view tells what room it is
        assert found is not None
        assert found.needs_exploration
        shown = pixels(place, found.view)
        assert not candidate.clues or max(shown[c] for c in candidate.clues) >= 0.8 * VIEW_PIXELS
        sizes = sorted((pixels(place, found.view)[t] for t in candidate.targets), reverse=True)
        assert sizes[candidate.need - 1] >= 0.8 * VIEW_PIXELS
        seen[found.start] = seen.get(found.start) or most_seen(place, found.start)
        assert all(seen[found.start][t] < 1.5 * SEEN_PIXELS for t in candidate.targets)
        assert found.l_metres >= found.start.distance(found.view) - 1e-6
        assert found.l_steps >= found.l_metres / 0.25 * 0.9


def test_a_target_in_view_is_kept_only_when_allowed() -> None:
    place = HouseWorld(home())
    place.house.rooms, place.house.openings = place.house.rooms[:1], []  # nowhere else to start from
    sofa = next(c for c in candidates(home())["attribute recognition"] if "sofa" in c.question)
    assert Grounding(place.house, place).ground(sofa) is None
    seen = Grounding(place.house, place).ground(sofa, allow_seen=True)
    assert seen is not None
    assert (seen.needs_exploration, seen.start) == (False, place.house.start)


def test_a_target_in_a_box_is_dropped() -> None:
    across, along = (0.02, 0.8, 1.0), (0.8, 0.02, 1.0)
    sides = ((0.4, 0.0, across), (-0.4, 0.0, across), (0.0, 0.4, along), (0.0, -0.4, along))
    walls = [obj(60 + i, "crate", 1, 6.0 + dx, 0.4 + dy, size, z=0.7) for i, (dx, dy, size) in enumerate(sides)]
    lid = obj(64, "crate", 1, 6.0, 0.4, (0.8, 0.8, 0.02), z=1.7)
    place = HouseWorld(home(*walls, lid))
    laptop = QuestionCandidate("object localization", "Where is my laptop?", "on the desk in the study", (5, 4), need=2)
    assert Grounding(place.house, place).find_view(laptop) is None


@lru_cache(maxsize=1)
def sample() -> list[HouseQuestion]:
    """Three houses of the test split."""
    return list(house_questions("test", 21))


def test_the_same_arguments_give_the_same_questions() -> None:
    first = sample()[:7]
    assert list(house_questions("test", 7)) == first
    assert [q.id for q in house_questions("test", 7, seed=1)] != [q.id for q in first]


def test_every_category_comes_equally_often() -> None:
    assert Counter(q.category for q in sample()) == Counter(dict.fromkeys(CATEGORIES, 3))
    assert len({q.id for q in sample()}) == len({(q.scene, q.question) for q in sample()}) == 21


def test_a_few_questions_come_from_several_houses() -> None:
    few = list(house_questions("test", 5, per_house=2))
    assert [q.category for q in few] == list(CATEGORIES[:5])
    assert len({q.scene for q in few}) == 3


def test_houses_yield_enough_for_five_hundred_questions() -> None:
    """At this rate, one question of each category from a house, 500 questions take 72 houses of a split's 1000."""
    assert len({q.scene for q in sample()}) == 3
    assert all(len(seeds) == 1000 for seeds in SPLITS.values())


def test_splits_do_not_share_houses() -> None:
    train, test = ({f"house:{seed}" for seed in SPLITS[split]} for split in ("train", "test"))
    assert train.isdisjoint(test)
    assert {q.scene for q in sample()} <= test
    assert {q.split for q in sample()} == {"test"}
    assert all(q.scene in train for q in house_questions("train", 2))


def test_unknown_splits_are_named() -> None:
    with pytest.raises(ConfigError, match="known are test, train"):
        next(house_questions("validation", 1))


def test_truth_of_generated_questions() -> None:
    """States, colours and counts, read from the scene graph by other means than the writers'."""
    for question in sample():
        house = world(int(question.scene[6:])).house
        target = house.object_by_id(question.targets[0])
        if question.category == "attribute recognition":
            assert question.answer in (target.colour, target.material)
        if pair := re.match(r"Which is (on|open) in ", question.question):
            fit = [t for t in map(house.object_by_id, question.targets) if t.state == pair[1]]
            assert (question.answer in ("both", "neither")) == (len(fit) != 1)
            assert question.answer != "both" or len(fit) == 2
        elif question.category == "object state recognition" and question.answer not in ("yes", "no"):
            assert question.answer == target.state
        if question.category == "object state recognition" and question.answer in ("yes", "no"):
            opposite = {"closed": "open", "off": "on", "out": "lit", "unlit": "lit", "empty": "full", "unmade": "made"}
            word = question.question.rstrip("?").split()[-1]
            if word in (*opposite, *opposite.values(), "running") and "turned off" not in question.question:
                assert (question.answer == "yes") == (word == target.state)
        if found := re.match(r"How many (.+?) are (?:there )?in the (.+)\?", question.question):
            rooms = {room.id for room in house.rooms if found[2] in (room.kind, room.name)}
            assert question.answer == str(sum(plural(t.kind) == found[1] and t.room in rooms for t in house.objects))


def test_generated_views_starts_and_lengths() -> None:
    for question in sample()[:14:2]:
        place = world(int(question.scene[6:]))
        assert question.needs_exploration
        assert place.free(*question.start[:2])
        assert place.free(*question.target_view[:2])
        assert most_seen(place, question.start)[question.targets[0]] < 1.5 * SEEN_PIXELS
        assert pixels(place, question.target_view)[question.targets[0]] >= 0.5 * VIEW_PIXELS
        assert question.l_metres >= question.start.distance(question.target_view) - 1e-6
        assert question.l_steps >= question.l_metres / 0.25 * 0.9


def test_seen_targets_are_marked() -> None:
    seen = list(house_questions("test", 7, include_seen=True))
    assert not all(q.needs_exploration for q in seen)
    assert {q.start for q in seen} == {world(int(seen[0].scene[6:])).house.start}


def test_openeqa_records() -> None:
    keys = {"question", "answer", "category", "question_id", "episode_history"}
    records = to_openeqa(sample())
    assert all(keys <= set(record) <= keys | {"extra_answers"} for record in records)
    assert [record["question_id"] for record in records] == [q.id for q in sample()]


@lru_cache(maxsize=1)
def many() -> list[HouseQuestion]:
    """Twenty houses of the train split."""
    return list(house_questions("train", 140, seed=3))


@pytest.mark.thorough
def test_answers_of_many_questions_cannot_be_guessed() -> None:
    """The most frequent answer of a category is not worth guessing."""
    for category in CATEGORIES:
        answers = Counter(q.answer for q in many() if q.category == category)
        assert answers.total() == 20
        assert answers.most_common(1)[0][1] <= 8, (category, answers)


@pytest.mark.thorough
def test_who_knows_homes_but_sees_none_is_seldom_right() -> None:
    guesser, judge, marks = BlindAnswerer(LabelAnswerer()), OfflineJudge(), dict[str, list[float]]()
    for q in many():
        sample = Sample(q.id, q.question, q.answer, q.alternatives, q.category, q.scene, q.start)
        mark = judge.judge(sample, guesser.answer(Question(q.question), ()).text)
        marks.setdefault(q.category, []).append(((mark.sigma or 1) - 1) / 4)
    assert {category: sum(c) / len(c) for category, c in marks.items() if sum(c) / len(c) > 0.45} == {}
