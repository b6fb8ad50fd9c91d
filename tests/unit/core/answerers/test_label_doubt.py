"""What a detector is unsure of is doubted until it was looked at again; a simulator's labels are not doubted."""

from __future__ import annotations

from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.memory.rows import dump_sightings, load_sightings
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Question, Recalled
from eqa_nodes.core.types.views import Keyframe, Sighting
from tests.fixtures.rooms import HOME, KITCHEN, sighted, view

ENOUGH = LabelAnswerer.traits.enough
KETTLE = "What colour is the kettle?"
NEAR, ASIDE, AFAR = Pose2(6.0, 3.5, 0.0), Pose2(6.8, 2.6, 0.8), Pose2(2.8, 3.5, 0.0)
kettle = next(s for s in KITCHEN if s.label.kind == "kettle")


def by_detector(s: Sighting, score: float, **changes: object) -> Sighting:
    return s._replace(label=s.label._replace(detected=True, score=score, **changes))  # type: ignore[arg-type]


def ask(text: str, *views: Keyframe) -> Answer:
    return LabelAnswerer().answer(Question(text), [Recalled(one, 1.0, "test") for one in views])


def confidence(score: float, *poses: Pose2, seen: Sighting = kettle) -> float:
    views = [view(i, pose, by_detector(seen, score)) for i, pose in enumerate(poses, start=1)]
    return ask(KETTLE, *views).confidence


def test_a_name_is_as_sure_as_the_detector_s_looks_until_then() -> None:
    assert ENOUGH is not None
    assert confidence(1.0, NEAR) == ask(KETTLE, view(1, NEAR, kettle)).confidence >= ENOUGH
    assert confidence(0.7, NEAR) == confidence(0.7, NEAR, ASIDE) < ENOUGH, "views do not count twice"
    earlier, later = (view(i, NEAR, by_detector(kettle, score)) for i, score in ((1, 0.5), (2, 0.98)))
    assert ask(KETTLE, earlier, later).confidence == confidence(0.98, NEAR)


def test_what_is_hardly_there_was_not_seen() -> None:
    assert ask(KETTLE, view(1, NEAR, by_detector(kettle, 0.05))).abstained
    weak = ask(KETTLE, view(1, NEAR, by_detector(kettle, 0.25)))
    assert weak.text == "silver" and weak.confidence < 0.3


def test_whether_there_is_one_is_what_is_more_likely() -> None:
    poses = [Pose2(3.0 + i, 2.0, 0.8 * i) for i in range(5)]

    def is_there(score: float) -> Answer:
        seen = [by_detector(s, score if s.label.kind == "kettle" else 1.0) for s in KITCHEN]
        views = [view(i, pose, *seen) for i, pose in enumerate(poses, start=1)]
        return ask("Is there a kettle in the kitchen?", *views)

    assert is_there(0.9).text == "yes" and is_there(0.3).text.startswith("no: ")
    assert is_there(0.3).confidence < is_there(0.05).confidence, "what may be there leaves doubt"


def test_what_is_much_less_sure_is_not_what_is_meant() -> None:
    phantom = by_detector(kettle._replace(centre=(5.0, 1.0, 1.0)), 0.3)
    phantom = phantom._replace(label=phantom.label._replace(instance=999))
    both = ask(KETTLE, view(1, NEAR, by_detector(kettle, 0.9), phantom))
    assert both.confidence == confidence(0.9, NEAR), "it is not one of several"


def test_what_was_seen_from_afar_or_small_is_looked_at_from_nearer() -> None:
    assert ENOUGH is not None
    tiny, off = kettle._replace(bbox=(300, 200, 324, 224)), Pose2(4.5, 3.5, 0.0)
    assert confidence(1.0, AFAR) < ENOUGH <= confidence(1.0, AFAR, NEAR)
    assert confidence(1.0, off, seen=tiny) < ENOUGH <= confidence(1.0, off)
    assert confidence(1.0, NEAR, seen=tiny) >= ENOUGH, "it cannot be seen any larger"


def test_a_number_waits_for_a_second_place() -> None:
    def counted(exact: bool, *poses: Pose2) -> float:
        seen = KITCHEN if exact else [by_detector(s, 1.0) for s in KITCHEN]
        return ask("How many chairs are in the kitchen?",
                   *(view(i, pose, *seen) for i, pose in enumerate(poses, start=1))).confidence

    once, twice = (Pose2(4.6, 2.0, 0.0),), (Pose2(4.6, 2.0, 0.0), Pose2(5.6, 2.0, 0.0))
    assert counted(False, *once) < counted(True, *once) and counted(False, *twice) == counted(True, *twice)


def test_what_is_more_likely_not_there_is_not_counted_and_leaves_doubt() -> None:
    kinds = [s for s in KITCHEN if s.label.kind == "chair"]

    def chairs(doubtful: float, others: float = 1.0, text: str = "How many chairs are in the kitchen?") -> Answer:
        seen = [by_detector(s, others if s in kinds else 1.0) for s in KITCHEN if s is not kinds[0]]
        seen.append(by_detector(kinds[0], doubtful))
        return ask(text, *(view(i, Pose2(3.6 + i, 2.0, 0.0), *seen) for i in (1, 2)))

    assert chairs(0.4).text == str(len(kinds) - 1) and chairs(0.6).text == str(len(kinds))
    assert chairs(0.4).confidence < chairs(1.0).confidence
    assert len(kinds) > 1 and chairs(0.8, 0.8).confidence < chairs(0.8).confidence, "several are less sure than one"
    more = "How many more chairs do I need in the kitchen for nine people?"
    assert chairs(0.4, text=more).text == str(9 - len(kinds) + 1) and chairs(1.0, text=more).text == str(9 - len(kinds))
    assert chairs(0.4, text=more).confidence < chairs(1.0, text=more).confidence


def test_the_only_one_in_a_room_that_was_named_otherwise_is_a_doubtful_answer() -> None:
    elsewhere = by_detector(kettle, 0.95, room="living room")
    found = ask("What colour is the kettle in the kitchen?", view(1, NEAR, elsewhere))
    assert found.text == ask(KETTLE, view(1, NEAR, elsewhere)).text and 0.0 < found.confidence <= 0.5
    assert "not recognised to be in the kitchen" in found.message
    second = by_detector(kettle._replace(label=kettle.label._replace(instance=999), centre=(1.0, 1.0, 1.0)), 0.95)
    two = view(1, NEAR, elsewhere, by_detector(second, 0.95, room="living room"))
    assert ask("What colour is the kettle in the kitchen?", two).abstained, "one of two"
    exact = kettle._replace(label=kettle.label._replace(room="living room"))
    assert ask("What colour is the kettle in the kitchen?", view(1, NEAR, exact)).abstained, "labels are not wrong"
    assert ask("How many kettles are in the kitchen?", view(1, NEAR, elsewhere)).text != "1"


def test_a_place_that_the_boxes_do_not_show_is_not_made_up() -> None:
    cup = by_detector(sighted(1, "cup", "", (7.8, 3.5, 1.0), (0.1, 0.1, 0.1)), 0.9)
    unknown = by_detector(cup, 0.9, attributes={})
    assert ask("Where is the cup?", view(1, NEAR, cup)).text == "on the floor"
    assert ask("Where is the cup?", view(1, NEAR, unknown)).abstained
    assert ask("What is on the floor?", view(1, NEAR, unknown)).abstained


def test_support_that_is_known_later_is_no_doubt() -> None:
    later = by_detector(kettle, 0.9, attributes={**kettle.label.attributes, "support": "stove"})
    views = view(1, NEAR, by_detector(kettle, 0.9)), view(2, ASIDE, later), view(3, AFAR, later)
    assert ask(KETTLE, *views).confidence == confidence(0.9, NEAR)


def test_scores_are_kept_in_memory_and_change_nothing_of_exact_labels() -> None:
    seen = (kettle, by_detector(kettle, 1.0), by_detector(kettle, 0.85),
            kettle._replace(label=kettle.label._replace(score=0.5)))
    assert load_sightings(dump_sightings(seen)) == seen
    assert dump_sightings(HOME[1].sightings[:1]).endswith("0.75]]]")


def test_two_parts_of_one_thing_are_one() -> None:
    left, right = (by_detector(sighted(i, "rug", "living room", (x, 3.0, 0.01), (1.6, 1.2, 0.02)), 0.95)
                   for i, x in ((1, 2.0), (2, 2.5)))
    other = by_detector(sighted(3, "rug", "living room", (5.0, 3.0, 0.01), (1.6, 1.2, 0.02)), 0.95)

    def rugs(*seen: Sighting) -> str:
        return ask("How many rugs are in the living room?", *(view(i, NEAR, *seen) for i in (1, 2))).text

    assert rugs(left, right) == "1" and rugs(left, right, other) == "2"
    exact = (s._replace(label=s.label._replace(detected=False, score=1.0)) for s in (left, right))
    assert rugs(*exact) == "2", "a simulator's labels are not joined"


def test_parts_are_one_once_a_third_has_joined_two_of_them() -> None:
    """Front and back of a sofa have nothing in common; the seat has some with both, and more with the back."""
    front, back, seat = (by_detector(sighted(i, "sofa", "living room", (x, 3.0, 0.4), (side, 2.0, 0.8)), 0.95)
                         for i, x, side in ((1, 4.0, 0.2), (2, 3.0, 0.4), (3, 3.45, 1.0)))
    for parts in ((front, back, seat), (seat, front, back), (back, front, seat)):
        assert ask("How many sofas are in the living room?", *(view(i, NEAR, *parts) for i in (1, 2))).text == "1"
    assert ask("How many sofas are in the living room?", *(view(i, NEAR, front, back) for i in (1, 2))).text == "2"
