"""Questions over several places or objects: answered once every target is known, and what is known until then."""

from __future__ import annotations

import re

import pytest

from benchmarks.known_house import known
from eqa_nodes.core.agent.stopping import support_of
from eqa_nodes.core.agent.strategies import still_wanted
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.language.targets import is_standing
from eqa_nodes.core.language.understanding import missing_in, query_of, targets
from eqa_nodes.core.types.questions import Question, RankedRegion, Recalled
from sim_bridge.house.questions.multi_target import multi_target_questions


def seen_in(seed: int, *rooms: str) -> list[Recalled]:
    """Return the views of a house that sighted nothing outside these rooms."""
    return [item for item in known(seed) if {s.label.room for s in item.keyframe.sightings} <= set(rooms)]


def test_generated_questions_are_answered_right_by_who_knows_the_house() -> None:
    for question in multi_target_questions(range(1000, 1006), 18):
        answer = LabelAnswerer().answer(Question(question.question), known(int(question.scene[6:])))
        assert answer.text == question.answer, (question.question, answer)
        assert is_standing(answer.message) and not missing_in(answer.message, question.question)


def test_nothing_is_answered_until_every_target_is_known() -> None:
    for question in multi_target_questions(range(1000, 1006), 18):
        seed, rooms = int(question.scene[6:]), [target.room.removeprefix("the ") for target in question.targets]
        for room, other in (rooms, rooms[::-1]):
            answer = LabelAnswerer().answer(Question(question.question), seen_in(seed, room))
            assert answer.abstained and not answer.text
            assert [target.room for target in missing_in(answer.message, question.question)] == [other]
        nowhere = LabelAnswerer().answer(Question(question.question), seen_in(seed, "hallway")[:1])
        assert nowhere.abstained or "hallway" in rooms


# house | what is typed | what is answered
_TYPED = """
7 | Are the lamps in the main bedroom and in the second bedroom both on? | no
7 | Is there a bed in both bedrooms? | yes
7 | Is there a bed in the kitchen or in the main bedroom? | yes
7 | Are the beds in both bedrooms the same colour? | no
7 | Do the beds in the two bedrooms have different colours? | yes
7 | Is the bed in the main bedroom the same color as the one in the second bedroom? | no
7 | How many beds are there in both bedrooms together? | 2
7 | How many chairs are there in the dining room and the study together? | [0-9]+
7 | What colour are the beds in the main bedroom and in the second bedroom? | .*beige.*gray.*
7 | Is the bed in the main bedroom bigger than the nightstand in the main bedroom? | yes
7 | Which is taller, the wardrobe in the main bedroom or the bed in the main bedroom? | the wardrobe in the main bedroom
"""


@pytest.mark.parametrize(("house", "typed", "wanted"), [
    tuple(part.strip() for part in line.split("|")) for line in _TYPED.strip().splitlines()])
def test_what_people_type(house: str, typed: str, wanted: str) -> None:
    assert len(query_of(typed).targets) == 2
    answer = LabelAnswerer().answer(Question(typed), known(int(house)))
    assert re.fullmatch(wanted, answer.text), answer


def test_each_view_says_what_it_tells_of_its_target() -> None:
    asked, answerer = Question("Are the beds in both bedrooms the same colour?"), LabelAnswerer()
    whole = answerer.answer(asked, known(7))
    looks = answerer.assess(asked, [item.keyframe for item in known(7)])
    said = {look.says for look in looks if look.says}
    assert said == {"known: the bed in the main bedroom is beige", "known: the bed in the second bedroom is gray"}
    assert support_of(whole, looks).agreement == 1.0


def test_rooms_whose_target_is_known_rank_behind_the_missing_one() -> None:
    asked = "Are the rugs in the kitchen and in the study the same colour?"
    ranked = LabelAnswerer().regions(Question(asked))
    assert ranked == [RankedRegion("kitchen", 1.0), RankedRegion("study", 1.0)]
    assert [r.name for r in still_wanted(ranked, targets(asked)[1:])] == ["study", "kitchen"]
    assert still_wanted(ranked, targets(asked)[1:])[1].weight < 0.5
    assert still_wanted(ranked, ()) == ranked
    shared = targets("Are the beds in both bedrooms the same colour?")
    assert still_wanted([RankedRegion("bedroom", 1.0)], shared[1:]) == [RankedRegion("bedroom", 1.0)]
