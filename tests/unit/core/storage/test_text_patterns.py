"""Everything that reads a model's text reads it in linear time: no pattern may be made to look again and again.

The texts are so long that a pattern whose time grows with the square of the length meets the time-out of the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.judges.replies import read_both, read_mark
from eqa_nodes.core.answerers.common import MAX_QUESTION_CHARS, match_choice
from eqa_nodes.core.answerers.label.parse import parse
from eqa_nodes.core.language.english import canonical, number, yes_no
from eqa_nodes.core.memory.recollect import about_past
from eqa_nodes.core.memory.windows import window_of
from eqa_nodes.core.storage.text import printable
from eqa_nodes.core.types.samples import Sample

_LONG = 150_000
UNITS = ("a", "a ", "1", "1 ", "1.", "1, ", " ", "\n", "(", "'", "s' ", "and a, ", "*", "1:", "n't ", "x room ", "5/5 ",
         "{", "mark: ", "mark is the ", "your mark: 4 or ", "<think>", "option ", "answer is A or ", "**1", "or ",
         "grounding 0.", "what is the ", "where is it near the ", "not ", "twenty one ")
WHERE = Sample("q", "What is on the table?", "a cup, a plate and a fork")
COUNT, YES = Sample("q", "How many?", "3"), Sample("q", "Is the lamp on?", "yes, it is")
READERS: dict[str, Callable[[str], object]] = {
    "canonical": canonical, "number": number, "yes or no": yes_no, "printable": printable, "mark": read_mark,
    "mark and grounding": read_both, "choice": lambda text: match_choice(text, ("the red sofa", "a blue chair", "B")),
    "words": lambda text: OfflineJudge().judge(WHERE, text), "count": lambda text: OfflineJudge().judge(COUNT, text),
    "yes": lambda text: OfflineJudge(True).judge(YES, text)}


@pytest.mark.parametrize("reader", READERS)
def test_replies_are_read_in_linear_time(reader: str) -> None:
    for unit in UNITS:
        with suppress(ValueError):  # another form than agreed
            READERS[reader]((unit * _LONG)[:_LONG] + "\x01")


@pytest.mark.parametrize("reader", [parse, about_past, lambda text: window_of(text, 10 ** 18)])
def test_questions_of_the_greatest_length_are_read_at_once(reader: Callable[[str], object]) -> None:
    for unit in UNITS:
        for begin in ("", "where is the ", "is the ", "how many "):
            reader((begin + unit * MAX_QUESTION_CHARS)[:MAX_QUESTION_CHARS])
