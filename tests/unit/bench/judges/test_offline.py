"""The offline judge against marks given by hand, and rules that no answer may break."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.bench.judges import offline
from eqa_nodes.bench.judges.base import JudgeMark, drop_after_last_full_stop
from eqa_nodes.bench.judges.marking import open_judge
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.question_score import mark_answer
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import Sample
from tests.fixtures.paths import DATA


def hand_marks(rules: str) -> list[tuple[str, str, str, int]]:
    """Return question, reference, answer and the mark given by hand, 5 right .. 1 wrong.

    rules: "adjusted" = the rules were adjusted on these answers, "held out" = they were not.
    """
    with (DATA / "hand_marks.csv").open(newline="") as file:
        return [(row["question"], row["reference"], row["answer"], int(row["mark"])) for row in csv.DictReader(file)
                if row["rules"] == rules]


HAND = hand_marks("adjusted")


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


@pytest.mark.parametrize(("rules", "count"), [("adjusted", 73), ("held out", 30)])
def test_agreement_with_hand_marks(rules: str, count: int) -> None:
    pairs = hand_marks(rules)
    spearman, exact, worst = agreement(pairs)
    assert len(pairs) == count and spearman >= 0.9 and exact >= 0.7 and worst <= 3


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


@pytest.mark.parametrize(("f", "sigma"), [
    (0.29, 1), (0.3, 2), (0.59, 2), (0.6, 3), (0.74, 3), (0.75, 4), (0.94, 4), (0.95, 5), (1.0, 5)])
def test_the_steps_from_an_overlap_to_a_mark(f: float, sigma: int) -> None:
    assert offline._mark_of(f) == sigma


@pytest.mark.parametrize(("said", "sigma"), [  # within 10 % of 1.80 m is 0.18 m, within twice as much 0.36 m
    ("1.98 m", 5), ("1.99 m", 2), ("1.62 m", 5), ("1.61 m", 2), ("2.16 m", 2), ("2.17 m", 1), ("1.43 m", 1)])
def test_lengths_are_right_within_a_tenth(said: str, sigma: int) -> None:
    assert mark("How wide is the sofa?", "1.80 m", said) == sigma


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
