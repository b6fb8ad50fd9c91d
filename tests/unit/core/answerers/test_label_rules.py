"""Queries built by hand, answered from a house of which everything was seen, and from a small home."""

from __future__ import annotations

import re
from functools import lru_cache

import pytest

from benchmarks.known_house import known
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.answerers.label.answers import RuleAnswer
from eqa_nodes.core.answerers.label.rules import RULES, look_up
from eqa_nodes.core.answerers.label.scene import LabelScene
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.targets import Compared, Target
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question
from sim_bridge.house.generate import generate_house
from sim_bridge.house.questions import candidates
from tests.fixtures.rooms import HOME, KITCHEN, sighted, view


@lru_cache(maxsize=2)
def house(seed: int = 71) -> LabelScene:
    return LabelScene([item.keyframe for item in known(seed)])


def answered(query: Query, scene: LabelScene | None = None) -> RuleAnswer:
    found = look_up(scene or house(), query)
    assert found is not None, query
    assert found.objects, query
    return found


def one(form: str, kind: str = "", room: str = "", more: str = "", **fields: object) -> Query:
    return Query(form, (Thing(kind, room, **fields),), aspect=more)  # type: ignore[arg-type]


ON_DESK = Thing("desk", "main bedroom")
SEATS = ("sofa", "armchair", "chair", "stool")


@pytest.mark.parametrize(("query", "wanted"), [
    (one("exists", "mirror", "workout room"), "yes"),
    (one("exists", "mirror", "bathroom"), "no: nothing like that was seen in the bathroom, of which 100 % was in view"),
    (one("exists", "piano"), r"no: no piano was seen in the 12 rooms"),
    (one("exists", "vase", "second bedroom", colour="turquoise"), "yes"),
    (one("exists", "vase", colour="turquoise"), "yes: the vase in the second bedroom"),
    (one("exists", "wardrobe", "main bedroom", state="open"), "no: the wardrobe in the main bedroom is closed"),
    (one("exists", "window", "main bedroom", quantifier="no"), "no"),
    (one("exists", "mirror", "bathroom", quantifier="no"), "yes: nothing like that .*"),
    (Query("exists", (Thing("window", "main bedroom"),), denied=True), "no"),
    (one("exists", "window", "main bedroom", number=3), "yes"),
    (one("exists", "window", "main bedroom", number=2), "yes: three windows"),
    (one("exists", "window", "main bedroom", number=10), "no: three windows"),
    (one("exists", room="living room", kinds=SEATS, use="sit on"), "yes: a sofa in the living room"),
    (one("exists", relation="on", support=Thing("dresser", "second bedroom")), "yes: a vase"),
    (one("exists", relation="on", support=Thing("drying rack")), "no"),
    (one("exists", "bedroom", unlike=Thing(relation="with", support=Thing("rug"))), "no: none of the 3 seen"),
    (one("exists", "bedroom", unlike=Thing(relation="with", support=Thing("dresser"))), "yes: the kids' bedroom"),
])
def test_whether_there_is_any(query: Query, wanted: str) -> None:
    assert re.fullmatch(wanted, answered(query).text)


@pytest.mark.parametrize("query", [
    one("exists", "bedsheet", "bathroom"),  # no word that the vocabulary knows
    one("exists", "milk", "kitchen"),  # kept behind doors
    one("exists", "mirror", "attic"),
    one("where", "piano"), one("colour", "piano"), one("is", "piano")._replace(predicates=(Thing(state="open"),)),
])
def test_what_cannot_be_claimed_is_not_answered(query: Query) -> None:
    assert look_up(house(), query) is None


def test_absence_needs_a_look_round() -> None:
    asked = one("exists", "mirror", "kitchen")
    assert look_up(LabelScene(HOME), asked) is None
    ahead = LabelScene([view(1, Pose2(5.2, 1.0, 0.6), *KITCHEN)])
    assert look_up(ahead, asked) is None and not ahead.looked_round("kitchen")
    round_about = LabelScene([view(i, Pose2(6.4, 2.0, 0.8 * i), *KITCHEN) for i in range(8)])
    assert round_about.looked_round("kitchen")
    assert answered(asked, round_about).confidence < 0.95
    assert look_up(round_about, one("exists", "mirror")) is None  # of the house only one room is known


def test_a_house_is_never_known_for_sure() -> None:
    assert answered(one("exists", "piano")).confidence <= 0.8
    assert answered(one("count", "jar")).confidence <= 0.8


@pytest.mark.parametrize(("query", "wanted"), [
    (one("count", "jar"), "6"), (one("count", "vase", state="full"), "2"),
    (one("count", "ceiling lamp", state="on"), "9"),
    (one("count", "lamp", state="on"), "14"), (one("count", "trash can", unlike=Thing(colour="green")), "1"),
    (one("count", room="workout room", colour="red"), "2"), (one("count", "window", "main bedroom", state="open"), "1"),
    (one("count", "wardrobe", "main bedroom", state="open"), "0: .* is closed"),
    (one("count", "mirror", "bathroom"), "0: nothing like that was seen .*"),
    (one("count", "cushion", relation="on", support=Thing("sofa")), "2"),
    (one("count", "book", relation="on", support=Thing("nightstand", "main bedroom")), "1"),
])
def test_counts(query: Query, wanted: str) -> None:
    assert re.fullmatch(wanted, answered(query).text)


@pytest.mark.parametrize(("query", "wanted"), [
    (one("where", "iron"), "on the dryer in the laundry room"),
    (one("where", "book", relation="on", support=Thing("nightstand", "main bedroom", colour="brown")),
     "on the nightstand in the main bedroom"),
    (one("room", "wardrobe", unlike=Thing(state="closed")), "the kids' bedroom"),
    (one("room", "exercise ball"), "the workout room"),
    (one("use", use="carry water", kinds=("bucket",), room="garage", more="tool"), "the bucket"),
    (one("use", use="wash clothes", kinds=("washing machine",)), "in the washing machine in the laundry room"),
    (one("use", use="see myself", kinds=("mirror",), room="workout room", more="where"),
     "on the wall in the workout room"),
    (one("use", use="wash clothes", kinds=("washing machine",), more="room"), "the laundry room"),
])
def test_places_and_uses(query: Query, wanted: str) -> None:
    assert re.fullmatch(wanted, answered(query).text)


@pytest.mark.parametrize(("query", "wanted"), [
    (one("list", relation="above", support=Thing("dresser", "second bedroom")), "a mirror"),
    (one("list", relation="on", support=Thing("wall", relation="above", support=Thing("dresser", "second bedroom"))),
     "a mirror"),
    (one("list", relation="under", support=Thing("desk")), "a trash can"),
    (one("list", relation="on", support=Thing("metal shelf", colour="blue")), ".*toolbox.*"),
    (one("list", relation="on", support=ON_DESK, unlike=Thing("laptop")), "a book, a desk lamp and a house plant"),
    (one("list", "curtains", "kids' bedroom"), "three curtains"),
    (one("list", state="on", room="living room"), "a ceiling lamp, a floor lamp and a table lamp"),
    (one("list", relation="next to", support=Thing("dryer")), "a washing machine"),
    (one("list", relation="on", support=Thing("drying rack")), "nothing"),
    (one("which", "ceiling lamp", state="off"), "the ceiling lamp in the closet, .*kitchen.*main bedroom"),
    (one("which", "trash can", colour="green", state="open"), "the trash can in the garage"),
    (one("which", "bookshelf", size="taller"), "the bookshelf in the living room"),
    (one("which", "wardrobe", "main bedroom", state="open"), "none: .*"),
    (one("which", "room", size="largest"), r"the hallway: 24 m2 \(the living room has 22 m2\)"),
    (one("which", "nightstand", "main bedroom", relation="with", support=Thing("table lamp")),
     "the white nightstand in the main bedroom"),
])
def test_lists(query: Query, wanted: str) -> None:
    assert re.fullmatch(wanted, answered(query).text)


def is_(thing: Thing, predicate: Thing, denied: bool = False) -> Query:
    return Query("is", (thing,), (predicate,), denied=denied)


@pytest.mark.parametrize(("query", "wanted"), [
    (is_(Thing("television"), Thing(state="on")), "no"), (is_(Thing("oven"), Thing(state="running")), "yes"),
    (is_(Thing("television"), Thing(state="on"), True), "off"),
    (is_(Thing("front door"), Thing(colour="red")), "yes"), (is_(Thing("sofa"), Thing(material="leather")), "yes"),
    (is_(Thing("iron"), Thing(relation="on", support=Thing("dryer"))), "yes"),
    (is_(Thing("iron"), Thing(relation="on", support=Thing("washing machine"))), "no, the iron is on the dryer .*"),
    (is_(Thing("iron"), Thing(room="kitchen")), "no, the iron is on the dryer in the laundry room"),
    (is_(Thing("washing machine"), Thing(relation="next to", support=Thing("dryer"))), "yes"),
    (is_(Thing("curtain", "kids' bedroom", quantifier="the"), Thing(state="drawn")), "no"),
    (is_(Thing("window", "main bedroom", quantifier="any"), Thing(state="open")), "yes: .*"),
    (is_(Thing("window", "main bedroom", quantifier="all"), Thing(state="closed")), "no: .*"),
    (is_(Thing("window", "main bedroom", quantifier="the"), Thing(state="closed")), "not all: .*"),
    (is_(Thing("sofa"), Thing("armchair")), "no"),
    (Query("choice", (Thing("oven"),), (Thing(state="off"), Thing(state="on"))), "on"),
    (Query("choice", (Thing("toothbrush cup"),), (Thing(material="ceramic"), Thing(material="plastic"))), "ceramic"),
    (Query("choice", (Thing("iron"),), (Thing(room="kitchen"), Thing(room="laundry room"))), "in the laundry room"),
    (Query("choice", (Thing(state="on"),), (Thing("oven"), Thing("television"))), "the oven"),
    (one("colour", "table lamp", "main bedroom"), "red"), (one("material", "drying rack"), "metal"),
    (one("state", "bed", "kids' bedroom"), "made"),
    (one("colour", "book", relation="on", support=Thing("nightstand", "main bedroom")), "white"),
])
def test_how_something_is(query: Query, wanted: str) -> None:
    assert re.fullmatch(wanted, answered(query).text)


def test_a_longer_name_is_not_answered_by_a_shorter_one() -> None:
    door = sighted(1, "door", "hallway", (0.0, 2.0, 1.0), (0.9, 0.1, 2.0), state="open")
    clock = sighted(2, "wall clock", "hallway", (1.0, 2.0, 1.8), (0.3, 0.1, 0.3), colour="red")
    scene = LabelScene([view(1, Pose2(0.0, 0.0, 1.57), door, clock)])
    assert look_up(scene, is_(Thing("front door"), Thing(state="open"))) is None
    assert look_up(scene, one("colour", "alarm clock")) is None
    alarm = sighted(3, "alarm clock", "hallway", (1.5, 2.0, 0.8), (0.1, 0.1, 0.1), colour="blue")
    both = LabelScene([view(1, Pose2(0.0, 0.0, 1.57), door, clock, alarm)])
    assert answered(one("count", "clock"), both).text == "2"
    assert answered(one("colour", "clock"), both).text.count("clock") == 2
    assert answered(one("colour", "clock", size="larger"), both).text == "red"


def test_two_nightstands_are_told_apart() -> None:
    left = sighted(1, "nightstand", "bedroom", (0.0, 2.0, 0.3), (0.4, 0.4, 0.6), colour="brown")
    right = sighted(2, "nightstand", "bedroom", (2.0, 2.0, 0.3), (0.4, 0.4, 0.6), colour="white")
    book = sighted(3, "book", "bedroom", (0.0, 2.0, 0.62), (0.2, 0.2, 0.05), relation="on", support="nightstand")
    lamp = sighted(4, "lamp", "bedroom", (2.0, 2.0, 0.8), (0.2, 0.2, 0.4), relation="on", support="nightstand")
    scene = LabelScene([view(1, Pose2(1.0, 0.0, 1.57), left, right, book, lamp)])
    for colour, kind in (("brown", "a book"), ("white", "a lamp")):
        on_it = one("list", relation="on", support=Thing("nightstand", colour=colour))
        assert answered(on_it, scene).text == kind
    holding = one("colour", "nightstand", relation="with", support=Thing("lamp"))
    assert answered(holding, scene).text == "white"


@pytest.mark.parametrize(("relation", "kind"), [
    ("left of", "a plant"), ("right of", "a stool"), ("behind", "a bench"), ("in front of", "a table")])
def test_sides_are_those_of_who_faces_a_thing(relation: str, kind: str) -> None:
    things = [sighted(1, "sofa", "den", (0.0, 3.0, 0.4), (2.0, 0.8, 0.8)),
              sighted(2, "plant", "den", (-1.5, 3.0, 0.4), (0.4, 0.4, 0.8)),
              sighted(3, "stool", "den", (1.5, 3.0, 0.4), (0.4, 0.4, 0.8)),
              sighted(4, "bench", "den", (0.0, 4.0, 0.4), (1.0, 0.4, 0.5)),
              sighted(5, "table", "den", (0.0, 1.8, 0.4), (1.0, 0.6, 0.4))]
    scene = LabelScene([view(1, Pose2(0.0, 0.0, 1.57), *things)])
    assert answered(one("list", relation=relation, support=Thing("sofa")), scene).text == kind
    between = one("list", relation="between", support=Thing("plant"), other_support=Thing("stool"))
    assert answered(between, scene).text == "a sofa"
    nearest = one("which", "table", relation="next to", support=Thing("sofa"), size="closer")
    assert answered(nearest, scene).text == "the table in the den"


@pytest.mark.parametrize(("query", "wanted"), [
    (one("rooms", "mirror"), "the hallway, the second bedroom and the workout room"),
    (one("rooms", "window", quantifier="no"), "the closet, the kitchen and the pantry"),
    (one("rooms", "bed", state="unmade"), "the main bedroom and the second bedroom"),
    (one("rooms", "rug", "bedroom"), "the kids' bedroom, the main bedroom and the second bedroom"),
    (one("rooms", "mirror", more="count"), "3"), (one("rooms", "bedroom", more="count"), "3"),
    (one("rooms", "bedroom", unlike=Thing(relation="with", support=Thing("dresser"))), "the kids' bedroom"),
    (one("most", "jar", more="most"), "the garage and the pantry: two jars each"),
])
def test_rooms(query: Query, wanted: str) -> None:
    assert re.fullmatch(wanted, answered(query).text)


def compared(form: str, aspect: str, *things: Thing, which: bool = False) -> Query:
    targets = tuple(Target(t.kind, t.room) for t in things)
    return Query("compare", things, compared=Compared(form, targets, aspect, which=which))


@pytest.mark.parametrize(("query", "wanted"), [
    (compared("more", "more", Thing("painting", "living room"), Thing("painting", "bedroom")), "no"),
    (compared("more", "more", Thing("lamp", state="on"), Thing("window", state="open")), "yes"),
    (compared("size", "taller", Thing("bookshelf", "living room"), Thing("bookshelf", "kids' bedroom"), which=True),
     "the bookshelf in the living room"),
    (compared("size", "narrower", Thing("bed", "kids' bedroom"), Thing("bed", "main bedroom")), "yes"),
    (compared("size", "larger", Thing(room="living room"), Thing(room="pantry")), "yes"),
    (compared("size", "larger", Thing(room="workout room"), Thing(room="garage")), "no"),
    (compared("size", "larger", Thing(room="kids' bedroom"), Thing(room="main bedroom")), ".*: they hardly differ"),
])
def test_comparisons(query: Query, wanted: str) -> None:
    found = answered(query)
    assert re.fullmatch(wanted, found.text)
    assert found.confidence < 0.5 or "hardly" not in found.text


@pytest.mark.parametrize(("query", "wanted"), [
    (Query("size", (Thing("exercise bike"),), aspect="high", unit="inch"), r"4\d\.\d inches \(1\.\d\d m\)"),
    (Query("size", (Thing("washing machine"),), aspect="high", unit="cm"), r"8[2-4] cm"),
    (Query("size", (Thing(room="living room"),), aspect="area", unit="foot"), r"2[23]\d square feet \(2[12] m2\)"),
    (Query("passes", (Thing("door", "hallway", other_room="garage"),), metres=0.95), "no: the door is .*"),
])
def test_measures_in_the_unit_of_the_question(query: Query, wanted: str) -> None:
    assert re.fullmatch(wanted, answered(query).text)


def test_several_questions_in_one() -> None:
    door = Thing("front door")
    both = Query("several", (door,), parts=(is_(door, Thing(state="closed")), one("colour", "front door")))
    assert answered(both).text == "front door: closed; front door: red"
    half = Query("several", parts=(one("colour", "front door"), one("colour", "piano")))
    assert answered(half).confidence < 0.4


def test_every_rule_knows_nothing_of_an_empty_scene() -> None:
    for form in RULES:
        thing = Thing("lamp", "study")
        asked = Query(form, (thing, thing, thing), (Thing(state="on"),), aspect="pet", number=2)
        assert look_up(LabelScene([]), asked) is None


@pytest.mark.parametrize("seed", [1007, 1009])
def test_the_generators_questions_are_answered_by_who_knows_the_house(seed: int) -> None:
    asked = [one for group in candidates(generate_house(seed)).values() for one in group]
    wrong = [(one.question, one.answer, text) for one in asked
             if (text := LabelAnswerer().answer(Question(one.question), known(seed)).text) != one.answer]
    assert len(wrong) <= 0.04 * len(asked), wrong
