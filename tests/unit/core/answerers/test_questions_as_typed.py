"""What people type, and what must come of it, over houses of which everything is known."""

from __future__ import annotations

import re

import pytest

from benchmarks.known_house import known
from eqa_nodes.core.agent.stopping import make_stop
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.language.english import normalise
from eqa_nodes.core.language.spelling import spelled
from eqa_nodes.core.language.understanding import query_of
from eqa_nodes.core.types.questions import Question
from sim_bridge.house.generate import generate_house
from sim_bridge.house.questions import candidates

NOT_SEEN, REFUSED = "not seen", "refused"  # "what is asked about was not seen"; said before anything moves
# house | what is typed | a pattern that the whole answer matches, or one of the words above
_TYPED = """
7 | Is the lamp in the bedroom on? | yes: .*second bedroom are on; .*main bedroom are off
0 | Is the lamp in the bedroom on? | yes: .*main bedroom are on; .*second bedroom are off; .*main bedroom is off
2 | Is the lamp in the bedroom on? | yes: .*kids' bedroom is on; .*main bedroom are off
3 | Is the lamp in the bedroom on? | yes: .*main bedroom is on; .*second bedroom is off; .*
1000 | Is the lamp in the bedroom on? | yes: the ceiling lamp in the bedroom is on; the two table lamps .* are off
1000 | Do I have any fruit left? | no: the fruit bowl in the kitchen is empty
7 | Do I have any fruit left? | yes: .*fruit bowl in the dining room is full
7 | hey, do you know if there is any fruit left? | yes: .*fruit bowl.*
7 | any fruit left? | yes: .*
7 | Got any fruit? | yes: .*
7 | Is there fruit in the dining room? | yes: .*
7 | Have we run out of fruit? | no: .*
2 | Are we out of fruit? | yes: the fruit bowl in the living room is empty; the fruit bowl in the dining room is empty
7 | Is there no fruit left? | no: .* is full
7 | What colour is the bed? | the bed in the main bedroom is beige; the bed in the second bedroom is gray
0 | Where is the toolbox? | on the workbench in the garage; in the metal shelf in the garage
7 | Hi robot! Where's my book please? | on the coffee table in the living room; on the desk in the study
7 | What colour are the towels? | .* is orange; .* is red; .* is purple
7 | Did I make my bed? | yes: .*second bedroom is made; .*main bedroom is unmade
7 | Has the bed been made? | yes: .*
7 | Is the garbage can open? | no: .*
7 | Is the bathroom light on? | yes: .*
7 | is the bathroom tap running? | yes: .*second bathroom is running; .*main bathroom is off
7 | Could you please tell me whether the lamp in the second bedroom is on? | yes: .*
7 | could u pls tell me wether the lamp in the second bedroom is on | yes: .*
7 | I wonder where I left my hat | on the bench in the workout room
7 | can you tell me what colour the sofa is | orange
7 | Do you happen to know where the telly is? | on the tv stand in the living room
7 | Excuse me, would you mind telling me where the hat is? | on the bench in the workout room
7 | I'd like to know how many chairs there are in the dining room. | 4
7 | The thing I want to know is the color of the sofa. | orange
7 | What I want to know is whether the lamp in the second bedroom is on | yes: .*
7 | hi, in which room is the hat, thanks? | .*workout room.*
7 | Hey robot, can you count the chairs in the dining room? | 4
7 | I can't find my hat, any idea where to look? | on the bench in the workout room
7 | any idea where my hat is? | on the bench in the workout room
7 | wheres the fridge | in the kitchen
7 | were is the hat | on the bench in the workout room
7 | Where r my shoes? | on the shoe rack in the closet
7 | where is teh hat | on the bench in the workout room
7 | I can't find my hat. | on the bench in the workout room
7 | i lost my shoes. where are they? | on the shoe rack in the closet
7 | I'm looking for my hat | on the bench in the workout room
7 | Have you seen my hat anywhere? | on the bench in the workout room
7 | Find the exercise bike! | in the workout room
7 | Where do you keep the knives? | on the kitchen counter in the kitchen
7 | Where's the loo? | in the second bathroom; in the main bathroom
7 | where exactly is my hat right now | on the bench in the workout room
7 | In what room do I find the treadmill? | the workout room
7 | which room has the treadmill? | the workout room
7 | is the tv still on? | no
7 | Is the telly on at the moment? | no
7 | tv on or off? | off
7 | Is the fridge shut? | yes
7 | is the refridgerator open | no
7 | is the frigde opne | no
7 | Is the fridge clsoed? | yes
7 | is the televison runing or offf? | off
7 | Is the light in the bedrom on? | yes: .*
7 | are the lights on in the kichen? | no
7 | Is the kitchen light on? | no
7 | Is the cooker on? | no
7 | Did I forget to turn off the TV? | no
7 | Did anyone leave the TV on? | no
7 | Have I left the oven on? | no
7 | Have I closed the fridge? | yes
7 | The TV is on, right? | no
7 | the fridge is closed, isn't it? | yes
7 | What state is the oven in? | off
7 | Isn't the TV on? | no
7 | Is the TV not on? | off
7 | Is the TV not off? | off
7 | is any window open? | yes: the window in the kitchen is open; ten are closed
7 | Are any windows open in the study? | no
7 | Are all the windows closed? | no: the window in the kitchen is open; ten are closed
7 | Are the windows closed? | not all: the window in the kitchen is open; ten are closed
7 | Is every window in the study closed? | yes
7 | Is there a light on in the study? | yes: .*
7 | Are there any lights on in the kitchen? | no: the ceiling lamp in the kitchen is off
7 | Is no light on in the kitchen? | yes: the ceiling lamp in the kitchen is off
7 | Which windows are open? | the window in the kitchen
7 | which lamps are on in the study? | the ceiling lamp in the study and the desk lamp in the study
7 | how many lamps are on in the second bedroom? | 2
7 | whats the color of teh couch? | orange
7 | What colour's the couch? | orange
7 | colour of the sofa? | orange
7 | what color sofa do i have | orange
7 | Is the sofa orange? | yes
7 | Is the carpet in the study black? | yes
7 | What is the settee made of? | fabric
7 | How many chiars are there in the dinning room? | 4
7 | how many chairs do we have in the dining room? | 4
7 | number of chairs in the dining room | 4
7 | How many plants are in the kitchen? | 1
7 | How many bedrooms are there? | 2
7 | What furniture is there in the main bedroom? | a bed, a nightstand and a wardrobe
7 | what's in the closet | .*a clothes rack.*shoes
7 | What pictures are there in the study? | a painting and a picture frame
1000 | Is there anything on the coffee table? | yes: a candle and a house plant
7 | What's to the left of the sofa? | a side table
7 | what is left of the sofa? | a side table
7 | Is the side table left of the sofa? | yes
7 | Is the side table to the right of the sofa? | no
7 | Is the hat on the bench? | yes
7 | Is my mug on the kitchen counter? | yes
7 | Is my mug in the living room? | no, the mug is on the kitchen counter in the kitchen
7 | Is the TV on? And where is the hat? | tv: off; hat: on the bench in the workout room
7 | Where are my hat and my shoes? | hat: on the bench in the workout room; shoe: on the shoe rack in the closet
7 | Does the kitchen have a clock? | yes
7 | Is there any cutlery? | yes: the knife block in the kitchen
7 | Is there something to read? | yes: a book in the living room
7 | Is there an orange sofa in the living room? | yes
7 | Where can I sit down? | on the sofa in the living room
7 | Where are the plants in the study? | in the study
7 | is there a bathroom | yes
7 | Is there a study in the house? | yes
3 | Is there no kitchen? | no
7 | Is there a garage? | not seen
7 | is there a bathroom upstairs | refused
7 | Is there a bed downstairs? | refused
7 | Is there a piano? | no: no piano was seen in the 12 rooms
7 | Isn't there a piano? | no: no piano .*
7 | Is there a bed in the kitchen? | no: nothing like that was seen in the kitchen, of which 100 % was in view
7 | Is there an orange in the kitchen? | not seen
7 | Where is the orange? | not seen
7 | Is there a car? | no: .*
7 | Where is the dog bed? | not seen
7 | Is there a rug in the workout room? | no: .*
7 | hat n toolbox, where are they | hat: on the bench in the workout room.*toolbox: .*
7 | where are my hat & my telly? | .*hat: on the bench in the workout room.*
7 | my hat, where is it? | on the bench in the workout room
7 | i need my hat, where is it | on the bench in the workout room
7 | the sofa, what colour is it? | orange
7 | sofa: what color? | orange
7 | In the dining room, how many chairs are there? | 4
7 | dining room chairs, how many are there? | 4
7 | How many chairs are in the dining room rn | 4
7 | garbage can open? | no: .*
7 | lamp in the second bedroom on? | yes: .*
7 | could you check whether the garbage can is open or closed, thnaks | .*closed.*
7 | Could you check whetehr the lamp in the second bedroom is on? | yes: .*
7 | anybody seen my hat? | on the bench in the workout room
7 | where my hat | on the bench in the workout room
7 | how many beds do we have | 2
3 | Is there a bed in the living room? | no: .*
3 | Where is the remote? | not seen
3 | Where is the freezer? | not seen
3 | Is there a boat? | not seen
3 | Where is the coach? | not seen
3 | Is there a brush? | not seen
3 | Is there a planet in the study? | not seen
3 | Where is the toy? | not seen
7 | How much milk is left? | not seen
7 | sofa | refused
7 | sofa? | refused
7 | asdf qwer | refused
7 | turn the tv on | refused
7 | hold on | refused
7 | lamp, tv | refused
7 | hello | refused
7 | Where is it? | refused
7 | Where is my \U0001f4f1? | refused
7 | Who are you? | refused
7 | What is the meaning of life? | refused
7 | Is the oven hot? | refused
7 | When did you last see the hat? | refused
7 | Wo ist die Lampe? | refused
7 | \u7535\u89c6\u5f00\u7740\u5417\uff1f | refused
"""
TYPED = [tuple(part.strip() for part in line.split("|")) for line in _TYPED.strip().splitlines()]


@pytest.mark.parametrize(("house", "typed", "wanted"), TYPED)
def test_what_people_type(house: str, typed: str, wanted: str) -> None:
    question, answerer = Question(typed), LabelAnswerer()
    refused = answerer.why_unanswerable(question)
    if wanted == REFUSED:
        assert refused
        return
    assert not refused
    answer = answerer.answer(question, known(int(house)))
    if wanted == NOT_SEEN:
        assert answer.abstained and answer.message == "what is asked about was not seen"
        return
    assert re.fullmatch(wanted, answer.text), answer.text
    assert answer.evidence


def test_words_of_a_house_are_no_slips() -> None:
    for number in (0, 1, 5):
        for asked in candidates(generate_house(number)).values():
            for candidate in asked:
                plain = normalise(candidate.question)
                assert spelled(plain) == plain


@pytest.mark.parametrize(("slip", "word"), [
    ("refridgerator", "refrigerator"), ("televison", "television"), ("bedrom", "bedroom"), ("lapm", "lamp"),
    ("kichen", "kitchen"), ("chiars", "chairs"), ("sooofa", "sofa"), ("offff", "off"), ("opne", "open"),
    ("micowave", "microwave"), ("nightsand", "nightstand")])
def test_slips_are_mended(slip: str, word: str) -> None:
    assert spelled(slip) == word


@pytest.mark.parametrize("word", [
    "piano", "plano", "boot", "boat", "planet", "coach", "glove", "bedside", "sky", "zither", "xylophone", "orange",
    "poster", "statue", "parcel", "meal", "x" * 2000])
def test_words_that_may_be_meant_are_left_alone(word: str) -> None:
    assert spelled(word) == word


def test_a_long_line_of_anything_is_read_in_no_time() -> None:
    for text in ("is the lamp on and " * 100, "where is my " * 160, "a , " * 500, "is " * 660, "what is in " * 180,
                 "please could you tell me if " * 70, "zq" * 990):
        assert query_of(text[:2000]) == query_of(text[:2000])


def test_one_of_two_bedrooms_is_not_the_whole_answer() -> None:
    """Who labels a "main bedroom" knows another one: until that is seen the answer says which one it is about."""
    asked, everything = Question("Is the lamp in the bedroom on?"), known(7)
    main = [item for item in everything if any(s.label.room == "main bedroom" for s in item.keyframe.sightings)]
    half, whole = LabelAnswerer().answer(asked, main), LabelAnswerer().answer(asked, everything)
    assert half.text == "no: the table lamp and the ceiling lamp in the main bedroom are off"
    assert half.confidence < 0.7 < whole.confidence
    looks = LabelAnswerer().assess(asked, [item.keyframe for item in everything])
    stop = make_stop(0.9, "label", 0.0)
    assert stop.threshold < stop.sure(whole, looks)
