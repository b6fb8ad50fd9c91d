"""What a question over several places or objects wants looked at: generated questions, and questions as people type."""

from __future__ import annotations

import time

import pytest

from eqa_nodes.core.language.english import singular
from eqa_nodes.core.language.targets import Compared, Target
from eqa_nodes.core.language.understanding import targets, understand
from sim_bridge.house.generate import generate_house
from sim_bridge.house.questions import candidates
from sim_bridge.house.questions.multi_target import multi_target_questions

# What is typed | form | aspect | targets: "object @ place"
_TYPED = """
Are the bedsheets in both bedrooms the same colour? | same | colour | bedsheets @ one bedroom; bedsheets @ other bedroom
do the towels in the two bathrooms have different colours | same | colour | \
towels @ one bathroom; towels @ other bathroom
are the bedsheets in all three bedrooms the same color? | same | colour | bedsheets @ one bedroom; \
bedsheets @ another bedroom; bedsheets @ third bedroom
Is the dresser in the bedroom bigger than the oven in the kitchen? | size | larger | dresser @ bedroom; oven @ kitchen
Is the color of the sofa in the living room the same as that of the chair in the study? | same | colour | \
sofa @ living room; chair @ study
hey, could you tell me whether the rug in the hallway has the same colour as the one in the living room? | \
same | colour | rug @ hallway; rug @ living room
Is the kitchen rug the same colour as the living room rug? | same | colour | rug @ kitchen; rug @ living room
Do the curtains in the study and the bedroom match? | same | | curtains @ study; curtains @ bedroom
is the bed in the master bedrom made of the same materail as the bed in the guest room | same | material | \
bed @ master bedroom; bed @ guest room
Are the two armchairs the same colour? | same | colour | one armchair @; other armchair @
Are there as many chairs in the kitchen as in the dining room? | same | number | chairs @ kitchen; chairs @ dining room
How many chairs are there in the kitchen and the dining room together? | count |  | \
chairs @ kitchen; chairs @ dining room
how many windows do the kitchen and the study have in total? | count | | windows @ kitchen; windows @ study
Does the living room have more windows than the kitchen? | more | more | windows @ living room; windows @ kitchen
Which has fewer paintings: the hallway or the study? | more | fewer | paintings @ hallway; paintings @ study
which is bigger, kitchen or living room | size | larger | @ kitchen; @ living room
Which one is taller, the bookshelf in the study or the wardrobe in the bedroom? | size | taller | bookshelf @ study; \
wardrobe @ bedroom
Which is closer to the front door, the bathroom or the study? | closer | closer | @ bathroom; @ study; front door @
Which is closer to the desk in the study, the lamp or the plant? | closer | closer | lamp @ study; plant @ study; \
desk @ study
Is there a lamp on in both the kitchen and the study? | both | on | lamp @ kitchen; lamp @ study
are the windows in the kitchen and in the study open? | both | open | windows @ kitchen; windows @ study
Do both bathrooms have a bathtub? | both | | bathtub @ one bathroom; bathtub @ other bathroom
is there a tv in the bedroom or in the study | either | | tv @ bedroom; tv @ study
What colour are the kitchen and living room curtains? | each | colour | curtains @ kitchen; curtains @ living room
Where are my hat and my shoes? | each | where | hat @; shoes @
"""
TYPED = [tuple(part.strip() for part in line.split(" | "))
         for line in _TYPED.strip().replace("| |", "|  |").splitlines()]


def compared(question: str) -> Compared | None:
    query = understand(question).query
    return query.compared if query else None


def read(text: str) -> tuple[Target, ...]:
    return tuple(Target(what.strip(), where.strip()) for what, where in (one.split("@") for one in text.split(";")))


@pytest.mark.parametrize(("typed", "form", "aspect", "wanted"), TYPED)
def test_what_people_type(typed: str, form: str, aspect: str, wanted: str) -> None:
    asked = compared(typed)
    assert asked is not None and (asked.form, asked.aspect) == (form, aspect)
    assert [(singular(target.what), target.where) for target in asked.targets] == [
        (singular(target.what), target.where) for target in read(wanted)]
    assert targets(typed) == asked.targets


@pytest.mark.parametrize("typed", [
    "Is the TV on?", "Is the lamp on or off?", "Is the sofa orange or red?", "Is the TV on? And where is the hat?",
    "Is the door between the kitchen and the study open?", "What is between the sofa and the TV?", "sofa", "",
    "Is there a bed in the kitchen?", "Is there a mirror in every bathroom?", "How many chairs are in the kitchen?",
    "Is there a fork and a knife on the table?", "Are all the windows closed?", "What is the same?", "both and both",
    "What colour is the sofa and is the lamp on?"])
def test_a_question_about_one_place_has_no_targets(typed: str) -> None:
    assert targets(typed) == ()


def test_rooms_that_share_a_name_are_told_apart_and_found_by_it() -> None:
    one, other = targets("Are the bedsheets in both bedrooms the same colour?")
    assert one != other
    assert (one.room, other.room, one.kind) == ("bedroom", "bedroom", "bedsheet")
    assert [t.kind for t in targets("Are the two sofas the same colour?")] == ["sofa", "sofa"]
    assert [t.room for t in targets("Are the cups on the desk and on the shelf the same colour?")] == ["", ""]


def test_that_they_differ_may_be_asked() -> None:
    assert (compared("Are the rugs in the kitchen and in the study different colours?") or Compared("", ())).denied
    assert not (compared("Are the rugs in the kitchen and in the study the same?") or Compared("", (), "", True)).denied


def test_the_targets_of_generated_questions_are_their_rooms() -> None:
    questions = list(multi_target_questions(range(1000, 1010), 15))
    assert len(questions) == 15
    for question in questions:
        assert [f"the {target.where}" for target in targets(question.question)] == [t.room for t in question.targets]


def test_questions_over_one_place_have_none_but_for_what_is_closer() -> None:
    for seed in (0, 7, 1000):
        for asked in candidates(generate_house(seed)).values():
            for candidate in asked:
                expected = 3 if candidate.question.startswith("Which is closer") else 0
                assert len(targets(candidate.question)) == expected, candidate.question


def test_a_long_line_is_read_in_no_time() -> None:
    for text in ("are the rugs in both ", "is a and b , ", "which has more in ", "is the bed in ", "is the same as ",
                 "have made of in of in ", "are there more in than ", "which is closer to , "):
        for letters in (299, 2000):
            begun = time.process_time()
            targets((text * 150)[:letters])
            assert time.process_time() - begun < 0.5
