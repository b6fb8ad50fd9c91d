"""Questions over two rooms: their truth by the scene graph, each target in a view of its own, off in other sweeps."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from sim_bridge.house.questions import CATEGORIES
from sim_bridge.house.questions.grounding import VIEW_PIXELS
from sim_bridge.house.questions.multi_target import CATEGORY, MultiTargetQuestion, multi_target_questions
from sim_bridge.house.world import world


@lru_cache(maxsize=1)
def sample() -> list[MultiTargetQuestion]:
    return list(multi_target_questions(range(1000, 1020), 24))


def test_questions_have_four_forms_and_no_answer_that_pays_to_guess() -> None:
    questions = sample()
    assert len({q.id for q in questions}) == 24
    assert questions[:8] == list(multi_target_questions(range(1000, 1020), 8))
    forms = Counter(q.question.split(" the ")[0] for q in questions)
    assert {form.split()[0] for form in forms} == {"Are", "Is", "Which"}
    answers = Counter(q.answer for q in questions)
    assert answers.most_common(1)[0][1] < 15
    assert CATEGORY not in CATEGORIES


def test_each_target_is_seen_in_its_own_room() -> None:
    for question in sample()[:6]:
        place = world(int(question.scene.split(":")[1]))
        assert len(question.targets) == len(question.views) == 2
        for target, view in zip(question.targets, question.views, strict=True):
            room = place.house.room_at(view.x, view.y)
            assert room is not None and target.room == f"the {room.kind}"
            assert all(place.visible_pixels(view).get(i, 0) * 16 >= 0.6 * VIEW_PIXELS for i in target.objects)


def test_the_truth_is_that_of_the_scene_graph() -> None:
    for question in sample():
        house = world(int(question.scene.split(":")[1])).house
        objects = [[house.object_by_id(i) for i in target.objects] for target in question.targets]
        one, other = objects
        if question.question.endswith("the same color?"):
            truth = "yes" if one[0].colour == other[0].colour else "no"
        elif question.question.startswith("Is there a lamp"):
            truth = "yes" if one[0].state == other[0].state == "on" else "no"
        elif question.question.startswith("Which room has more"):
            truth = question.targets[0 if len(one) > len(other) else 1].room
        else:
            areas = [next(r.area_m2 for r in house.rooms if r.id == group[0].room) for group in objects]
            truth = "yes" if areas[0] > areas[1] else "no"
        assert question.answer == truth, question
