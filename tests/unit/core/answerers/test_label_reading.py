"""What is written on things: by rules, from objects that bear it or from texts alone."""

from __future__ import annotations

import pytest

from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.language.understanding import query_of
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Question, Recalled
from eqa_nodes.core.types.views import Keyframe, Label, Sighting
from tests.fixtures.rooms import view


def seen(instance: int, kind: str, text: str = "", room: str = "study", pixels: int = 900, **more: str) -> Sighting:
    label = Label(instance, kind, room, {**({"text": text} if text else {}), **more}, kind == "text")
    return Sighting(label, pixels, (100, 100, 130, 130), (1.0, 0.1 * instance, 1.0), (0.1, 0.1, 0.1))


def ask(text: str, *views: Keyframe) -> Answer:
    return LabelAnswerer().answer(Question(text), [Recalled(one, 1.0, "test") for one in views])


def looking(number: int, *sightings: Sighting) -> Keyframe:
    return view(number, Pose2(0.0, 0.0, 0.0), *sightings)


@pytest.mark.parametrize("question", [
    "What does the sign in the study say?", "What is written on the sign?", "What does it say on the sign?",
    "Could you tell me what the sign says?", "What is the text on the sign in the study?"])
def test_the_object_that_is_meant_says_what_is_written(question: str) -> None:
    assert query_of(question).form == "text"
    answer = ask(question, looking(1, seen(1, "sign", "NO SHOES"), seen(2, "poster", "PARIS")))
    assert answer.text == "NO SHOES" and answer.confidence > 0.8 and answer.evidence


def test_books_are_told_apart_by_their_colour_and_clocks_by_their_room() -> None:
    study = looking(1, seen(1, "book", "EMMA", colour="red"), seen(2, "book", "DUNE", colour="blue"),
                    seen(3, "wall clock", "10:45"), seen(4, "wall clock", "09:00", room="kitchen"))
    assert ask("What is the title of the blue book in the study?", study).text == "DUNE"
    assert ask("What time does the kitchen clock show?", study).text == "09:00"


def test_views_that_read_differently_make_it_less_sure() -> None:
    far, near = looking(1, seen(1, "sign", "N0 SH0", pixels=300)), looking(2, seen(1, "sign", "NO SHOES"))
    both, one = ask("What does the sign say?", far, near), ask("What does the sign say?", near)
    assert both.text == one.text == "NO SHOES" and both.confidence < one.confidence


def test_views_that_miss_a_line_count_for_the_whole_text() -> None:
    parts = [looking(n, seen(1, "sign", "HANDS")) for n in (1, 2)]
    answer = ask("What does the sign say?", *parts, looking(3, seen(1, "sign", "WASH HANDS", pixels=500)))
    assert answer.text == "WASH HANDS"
    assert answer.confidence > ask("What does the sign say?", *parts, looking(3, seen(1, "sign", "WASH UP"))).confidence


def test_what_is_in_view_but_not_read_is_not_answered() -> None:
    assert ask("What does the sign say?", looking(1, seen(1, "sign"), seen(2, "text", "PARIS", ""))).abstained


def test_texts_alone_answer_by_their_form() -> None:
    only = looking(1, seen(1, "text", "10:45", ""), seen(2, "text", "MARCH", ""), seen(3, "text", "NO SHOES", ""))
    assert ask("What time does the clock show?", only).text == "10:45"
    assert ask("Which month does the calendar show?", only).text == "MARCH"
    assert ask("What does the sign say?", only).text == "NO SHOES"


def test_a_part_of_a_text_that_was_read_alone_is_no_other_text() -> None:
    whole, part = seen(1, "text", "NO SHOES", ""), seen(2, "text", "SHOES", "", 300)
    other = seen(3, "text", "PARIS", "", 300)
    alone, parts = (ask("What does the sign say?", looking(1, *texts)) for texts in ((whole,), (whole, part)))
    assert alone.text == parts.text == "NO SHOES" and parts.confidence == alone.confidence
    assert ask("What does the sign say?", looking(1, whole, other)).confidence < alone.confidence


def test_with_labelled_objects_a_text_on_nothing_is_not_what_is_meant() -> None:
    """The poster is still to be found: the letters that are in view are on something else."""
    assert ask("What does the poster say?", looking(1, seen(1, "sofa"), seen(2, "text", "SA", ""))).abstained
