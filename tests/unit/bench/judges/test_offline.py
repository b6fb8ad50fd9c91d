"""The offline judge against marks given by hand, and rules that no answer may break."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.bench.judges.base import JudgeMark, drop_after_last_full_stop
from eqa_nodes.bench.judges.marking import open_judge
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.question_score import mark_answer
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import Sample

# question, reference, answer, mark given by hand: 5 right .. 1 wrong. The rules were adjusted on HAND, not on HELD_OUT.
HAND = [
    ("What is on the desk?", "a laptop", "laptop", 5),
    ("What is on the desk?", "a laptop", "A notebook computer.", 5),
    ("What is on the desk?", "a laptop", "There is a laptop on the desk", 5),
    ("What is on the desk?", "a laptop", "a lamp", 1),
    ("What is on the desk?", "a laptop", "", 1),
    ("What is on the desk?", "a laptop", "I cannot tell", 1),
    ("What is on the desk?", "a laptop", "a laptop or a book", 3),
    ("What is on the desk?", "a laptop", "a black laptop", 4),
    ("What is the white thing above the TV?", "air conditioning unit", "air conditioner", 4),
    ("Where do people sit?", "couch", "sofas", 5),
    ("What is next to the bed?", "an armchair", "a chair", 3),
    ("What is next to the bed?", "a nightstand", "bedside table", 5),
    ("What is next to the bed?", "a white nightstand", "a nightstand", 4),
    ("What is next to the bed?", "a red cup", "a blue cup", 3),
    ("What is under the window?", "a radiator", "a radiator and a plant", 4),
    ("How wide is the sofa?", "1.80 m", "about 185 cm", 5),
    ("How wide is the sofa?", "1.80 m", "The sofa is 6 feet wide.", 5),
    ("How wide is the sofa?", "1.80 m", "2.10 m", 2),
    ("How wide is the sofa?", "1.80 m", "2.50 m", 1),
    ("How wide is the sofa?", "1.80 m", "1.80", 1),
    ("How wide is the sofa?", "1.80 m", "1.80 m or 2.50 m", 3),
    ("How wide is the gap between the bed and the wardrobe?", "42 cm", "0.46 m", 5),
    ("What is on the table?", "a lamp, a book and keys", "keys, a book and a lamp", 5),
    ("What is on the table?", "a lamp, a book and keys", "a book and a lamp", 4),
    ("What is on the table?", "a lamp, a book and keys", "a book", 2),
    ("What is on the table?", "a lamp, a book and keys", "a plate and a fork", 1),
    ("What is on the table?", "a lamp and a book", "a lamp, a book, a cup and a plate", 3),
    ("What two things hang on the wall?", "a clock and a mirror", "mirror and wall clock", 5),
    ("How many chairs are there?", "four", "4", 5),
    ("How many chairs are there?", "four", "There are four chairs around it.", 5),
    ("How many chairs are there?", "four", "five", 2),
    ("How many chairs are there?", "four", "nine", 1),
    ("How many chairs are there?", "four", "several", 1),
    ("How many chairs are there?", "4", "four or five", 3),
    ("How many lamps are on?", "none", "0", 5),
    ("How many lamps are on?", "none", "one", 1),
    ("How many sinks are there?", "two", "a pair", 5),
    ("Is the door open?", "yes", "Yes, it is.", 5),
    ("Is the door open?", "yes", "It is open", 5),
    ("Is the door open?", "yes", "no", 1),
    ("Is the door open?", "yes", "The door is closed", 1),
    ("Is the door open?", "no", "it is not open", 5),
    ("Is the door open?", "no", "Nope, it is shut", 5),
    ("Is the door open?", "no", "a chair", 1),
    ("Is there a sofa in the study?", "yes", "Yes, there is a brown sofa in the study", 5),
    ("Is the TV on or off?", "off", "The TV is turned off.", 5),
    ("Is the TV on or off?", "off", "on", 1),
    ("Is the bed made?", "yes", "unmade", 1),
    ("Are the curtains closed?", "yes", "They are open", 1),
    ("What color is the sofa?", "dark green", "dark green", 5),
    ("What color is the sofa?", "dark green", "green", 4),
    ("What color is the sofa?", "gray", "The sofa is grey", 5),
    ("What color is the sofa?", "gray", "brown", 1),
    ("What color is the sofa?", "black and white", "white and black", 5),
    ("What color is the sofa?", "black and white", "black", 3),
    ("What is the table made of?", "wood", "It is wooden", 5),
    ("What is the table made of?", "wood", "glass", 1),
    ("Where is the cup?", "on the desk in the study", "desk in study", 5),
    ("Where is the cup?", "on the desk in the study", "It is on the desk, in the office.", 5),
    ("Where is the cup?", "on the desk in the study", "in the study", 3),
    ("Where is the cup?", "on the desk in the study", "on the desk", 3),
    ("Where is the cup?", "on the desk in the study", "on the desk in the bedroom", 2),
    ("Where is the cup?", "on the desk in the study", "on the shelf in the study", 2),
    ("Where is the cup?", "on the desk in the study", "in the kitchen", 1),
    ("Where is the cup?", "on the desk in the study", "under the desk in the study", 2),
    ("Where is the cup?", "on the desk in the study", "on the desk in the study, next to the window", 4),
    ("Where is the plant?", "left of the monitor", "to the right of the monitor", 1),
    ("Where is the plant?", "between the sofa and the TV", "between the television and the couch", 5),
    ("In which room is the oven?", "kitchen", "The oven is in the kitchen.", 5),
    ("In which room is the piano?", "living room", "dining room", 1),
    ("In which room is the piano?", "second bedroom", "a bedroom", 3),
    ("What can I use to dry my hair?", "the hair dryer in the bathroom", "a hair dryer", 4),
    ("What can I use to dry my hair?", "the hair dryer in the bathroom", "a vacuum cleaner", 1),
]

HELD_OUT = [
    ("What is on the shelf?", "a vase", "It's a vase.", 5),
    ("What is on the shelf?", "a vase", "flowers", 1),
    ("What is on the shelf?", "a vase", "a glass vase", 4),
    ("What is on the shelf?", "books and a candle", "a candle and some books", 5),
    ("What is on the shelf?", "books and a candle", "books", 3),
    ("What is hanging above the fireplace?", "a painting", "framed picture", 5),
    ("What is hanging above the fireplace?", "a painting", "A TV is hanging above the fireplace", 1),
    ("What is hanging above the fireplace?", "a large mirror", "a mirror", 4),
    ("Which appliance is beside the sink?", "the dishwasher", "A dish washer", 5),
    ("Which appliance is beside the sink?", "the dishwasher", "the fridge", 1),
    ("How many windows does the bedroom have?", "three", "3 windows", 5),
    ("How many windows does the bedroom have?", "three", "two", 2),
    ("How many windows does the bedroom have?", "three", "There are no windows", 1),
    ("How many pillows are on the bed?", "2", "a couple", 5),
    ("Is the tap running?", "no", "No, the faucet is turned off", 5),
    ("Is the tap running?", "no", "Yes, it is running", 1),
    ("Are the curtains closed?", "yes", "they are drawn shut", 5),
    ("Can I work at a desk in the bedroom?", "no", "There is no desk in the bedroom", 5),
    ("What color is the front door?", "light blue", "blue", 4),
    ("What color is the front door?", "red", "It is painted red.", 5),
    ("What color is the front door?", "red", "dark brown", 1),
    ("What material is the counter?", "marble", "granite", 2),
    ("Where are the keys?", "on the coffee table in the living room", "on the couch table", 3),
    ("Where are the keys?", "on the coffee table in the living room", "living room, on the coffee table", 5),
    ("Where are the keys?", "on the coffee table in the living room", "on the dining table in the living room", 2),
    ("Where are the keys?", "on the coffee table in the living room", "I did not find them", 1),
    ("Where is the trash can?", "in the corner of the kitchen", "in the kitchen", 4),
    ("Where is the trash can?", "next to the toilet", "beside the toilet in the bathroom", 4),
    ("Where can I wash my clothes?", "in the washing machine in the laundry room", "the washer in the utility room", 5),
    ("Where can I wash my clothes?", "in the washing machine in the laundry room", "in the bathtub", 1),
]


def mark(question: str, reference: str, answer: str, *alternatives: str, judge: OfflineJudge | None = None) -> float:
    sigma = (judge or OfflineJudge()).judge(Sample("q", question, reference, alternatives), answer).sigma
    assert sigma is not None
    return sigma


def agreement(pairs: list[tuple[str, str, str, int]]) -> tuple[float, float, int]:
    """Return Spearman's rank correlation, the share of equal marks and the largest difference."""
    given_marks = np.array([m for *_, m in pairs], float)
    judged = np.array([mark(q, r, a) for q, r, a, _ in pairs])
    ranks = [np.array([(x < v).sum() + ((x == v).sum() - 1) / 2 for v in x]) for x in (given_marks, judged)]
    return (float(np.corrcoef(*ranks)[0, 1]), float((given_marks == judged).mean()),
            int(np.abs(given_marks - judged).max()))


@pytest.mark.parametrize(("name", "pairs"), [("adjusted on", HAND), ("held out", HELD_OUT)])
def test_agreement_with_hand_marks(name: str, pairs: list[tuple[str, str, str, int]]) -> None:
    spearman, exact, worst = agreement(pairs)
    print(f"{len(pairs)} pairs, {name}: Spearman {spearman:.3f}, equal {exact:.1%}, largest difference {worst}")
    assert spearman >= 0.9
    assert exact >= 0.7
    assert worst <= 3


def test_the_best_accepted_answer_counts() -> None:
    assert mark("Where is it?", "left of the sink", "right of the stove") < 5
    assert mark("Where is it?", "left of the sink", "right of the stove", "in the corner", "right of the stove") == 5


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_any_text_gets_a_mark(question: str, reference: str, answer: str) -> None:
    assert mark(question, reference, answer) in (1, 2, 3, 4, 5)


@given(st.sampled_from([h for h in HAND if h[1]]))
def test_the_reference_itself_is_right(hand: tuple[str, str, str, int]) -> None:
    assert mark(hand[0], hand[1], hand[1].upper() + " ") == 5


@given(st.sampled_from([h for h in HAND if h[2]]))
def test_articles_case_and_a_final_stop_do_not_matter(hand: tuple[str, str, str, int]) -> None:
    question, reference, answer, _ = hand
    assert mark(question, reference, answer.rstrip(".") + ".") == mark(question, reference, answer.upper())


def test_naming_everything_does_not_pay() -> None:
    everything = "a lamp, a book, a cup, a plate, a sofa, a chair, a table, a plant, a mirror or a clock"
    assert mark("What is on the desk?", "a cup", everything) <= 2


def test_full_stop_rule_is_an_option() -> None:
    assert drop_after_last_full_stop("It is red. I think") == "It is red."
    assert drop_after_last_full_stop("red") == "red"
    strict = OfflineJudge(until_last_full_stop=True)
    assert mark("What color?", "red", "blue. red", judge=strict) == 1
    assert mark("What color?", "red", "blue. red") > 1
    assert strict.version != OfflineJudge().version
    assert strict.name != OfflineJudge().name


def test_choices() -> None:
    choices = ("(Do not choose this option)", "Yes, it is on", "No, it is not on", "(Do not choose this option)")
    sample = Sample("q", "Is the lamp on?", choices[1], choices=choices)
    judge = OfflineJudge()
    assert [judge.judge(sample, a).sigma for a in ("B", "b)", "(B) Yes", "Yes, it is on", "yes it is on.")] == [5] * 5
    assert [judge.judge(sample, a).sigma for a in ("C", "No, it is not on", "H", "maybe", "")] == [1] * 5


@pytest.mark.parametrize(("answer", "sigma"), [
    ("B", 5), ("(b) anything", 5), ("desk", 5), ("it lies on the desk, not the table", 5), ("A", 1),
    ("on the table", 1), ("on the table or on the desk", 1), ("somewhere", 1), ("", 1), ("Z", 1)])
def test_choices_judge_as_the_offline_judge(answer: str, sigma: int) -> None:
    sample = Sample("q", "Where is the cup?", "on the desk", choices=("on the table", "on the desk"))
    assert [open_judge(name).judge(sample, answer).sigma for name in ("choices", "offline")] == [sigma, sigma]


class BrokenJudge:
    """A judge that raises, or gives marks off the scale."""

    name, version, sees = "broken", "0", False

    def __init__(self, mark: JudgeMark | None = None) -> None:
        self.mark = mark

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        if self.mark is None:
            raise RuntimeError("no connection")
        return self.mark


@pytest.mark.parametrize(("given_mark", "why"), [
    (None, "no connection"), (JudgeMark(7.0), "7.0"), (JudgeMark(float("nan")), "nan")])
def test_a_broken_judge_leaves_the_question_unscored(given_mark: JudgeMark | None, why: str) -> None:
    result = mark_answer(BrokenJudge(given_mark), Sample("q", "What?", "cup"), Answer("cup"))
    assert result.sigma is None
    assert why in result.note


def test_an_abstention_is_the_lowest_mark() -> None:
    assert mark_answer(OfflineJudge(), Sample("q", "What?", "cup"), Answer("cup", abstained=True)).sigma == 1


def test_unknown_judge_lists_the_known() -> None:
    with pytest.raises(ConfigError, match="offline"):
        open_judge("gpt")
