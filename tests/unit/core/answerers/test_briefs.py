"""What a model is shown for one decision: pictures with numbered options, and what is known besides them."""

from __future__ import annotations

import io
import math

from PIL import Image

from eqa_nodes.core.answerers.advice import marks_in, shown
from eqa_nodes.core.types.calls import TargetNote
from eqa_nodes.core.types.floor import CLOSER, LOOK_ROUND, Option
from tests.fixtures.briefs import BACK, DOOR, HIDDEN, brief, view

HIDDEN_ONES = "In none of the pictures (directions from the newest one)"


def test_an_option_is_drawn_where_it_can_be_seen() -> None:
    assert [mark.number for mark in marks_in(view(2), (BACK, DOOR))] == [2]
    assert [mark.number for mark in marks_in(view(1, math.pi), (BACK, DOOR))] == [1]
    plain, marked = (Image.open(io.BytesIO(shown(brief(options=o), 512).pictures[1])) for o in ((), (DOOR,)))
    mark = marks_in(view(2), (DOOR,))[0]
    at = round(mark.u * 512 / 640), round(mark.v * 512 / 640)
    around = [(at[0] + dx, at[1]) for dx in (-8, 8)]  # beside the digit, inside the disc
    assert all(min(marked.getpixel(p)) > 230 for p in around)  # type: ignore[type-var]
    assert any(min(plain.getpixel(p)) < 230 for p in around)  # type: ignore[type-var]


def test_what_a_wall_hides_is_told_and_not_drawn() -> None:
    asked = brief(options=(HIDDEN, DOOR))
    *_, known = shown(asked, 512).parts
    assert f"{HIDDEN_ONES}: number 1 is unexplored space, 4 m away ahead" in str(known)
    assert "number 2" not in str(known)


def test_stairs_at_the_robots_feet_lie_where_they_lead() -> None:
    robot = view(2).pose
    stairs = Option(robot.x + 0.3 * math.cos(robot.yaw), robot.y + 0.3 * math.sin(robot.yaw), robot.yaw + math.pi,
                    "stairs down to another floor", 0.3)
    known = str(shown(brief(options=(stairs,)), 512).parts[-1])
    assert "number 1 is stairs down to another floor, 0 m away behind." in known


def test_of_two_options_that_cover_each_other_the_first_is_drawn() -> None:
    twin = DOOR._replace(y=2.03)
    assert [mark.number for mark in marks_in(view(2), (DOOR, twin))] == [1]


def test_pictures_are_small_and_in_order_and_what_changes_comes_last() -> None:
    asked = brief(visited=("hallway",), notes=("Nothing yet.",), legs_left=3, calls_left=2)
    given = shown(asked, 512)
    assert [Image.open(io.BytesIO(picture)).size for picture in given.pictures] == [(512, 384)] * 2
    assert [picture.view.id for picture in given.pictures] == [1, 2]
    first, _, second, _, known = given.parts
    assert str(first).startswith("Picture 1, taken earlier: number 2 is")
    assert "where the robot stands: number 1" in str(second)
    for words in ("as you named them: hallway.", "before: Nothing yet.", "Drives left: about 3.", "after this one: 2."):
        assert words in str(known)


def test_where_it_can_go_nowhere_the_model_is_told_to_answer() -> None:
    assert "Answer as well as pictures and notes allow" in str(shown(brief(options=()), 512).parts[-1])


def test_a_look_round_is_told_without_a_direction_and_not_drawn() -> None:
    here = Option(*view(2).pose, LOOK_ROUND, 0.0)
    asked = brief(options=(DOOR, here))
    assert [mark.number for picture in shown(asked, 512).pictures for mark in picture.marks] == [1]
    assert f"{HIDDEN_ONES}: number 2 is {LOOK_ROUND}.\n" in str(shown(asked, 512).parts[-1])


def test_neither_is_a_closer_look() -> None:
    closer = DOOR._replace(kind=f"{CLOSER} the bowl")
    asked = brief(options=(closer,))
    assert not marks_in(view(2), (closer,))
    assert f"number 1 is {CLOSER} the bowl" in str(shown(asked, 512).parts[-1])


def test_it_is_reminded_of_all_that_the_question_is_about() -> None:
    targets = TargetNote("bed", "its blanket is <blue>"), TargetNote("sofa")
    known = str(shown(brief(targets=targets), 512).parts[-1])
    assert "The question is about bed: its blanket is (blue); sofa: not yet known." in known
    assert "is about" not in str(shown(brief(), 512).parts[-1])
