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


def test_a_sure_look_from_near_is_enough() -> None:
    assert ENOUGH is not None
    assert confidence(0.8, NEAR) == confidence(1.0, NEAR) == ask(KETTLE, view(1, NEAR, kettle)).confidence >= ENOUGH


def test_an_unsure_name_waits_for_a_look_from_another_place() -> None:
    assert ENOUGH is not None
    once, again, aside = (confidence(0.7, *poses) for poses in ((NEAR,), (NEAR, NEAR), (NEAR, ASIDE)))
    assert once == again < ENOUGH < aside, "the same view repeats the same mistake"


def test_what_was_seen_from_afar_or_small_is_looked_at_from_nearer() -> None:
    assert ENOUGH is not None
    tiny, off = kettle._replace(bbox=(300, 200, 324, 224)), Pose2(4.5, 3.5, 0.0)
    assert confidence(0.9, AFAR) < ENOUGH <= confidence(0.9, AFAR, NEAR)
    assert confidence(0.9, off, seen=tiny) < ENOUGH <= confidence(0.9, off)
    assert confidence(0.9, NEAR, seen=tiny) >= ENOUGH, "it cannot be seen any larger"


def test_a_number_waits_for_a_second_place() -> None:
    def counted(exact: bool, *poses: Pose2) -> float:
        seen = KITCHEN if exact else [by_detector(s, 0.9) for s in KITCHEN]
        return ask("How many chairs are in the kitchen?",
                   *(view(i, pose, *seen) for i, pose in enumerate(poses, start=1))).confidence

    once, twice = (Pose2(4.6, 2.0, 0.0),), (Pose2(4.6, 2.0, 0.0), Pose2(5.6, 2.0, 0.0))
    assert counted(False, *once) < counted(True, *once) and counted(False, *twice) == counted(True, *twice)


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
