"""What `eqa ask` says: answers that no width cuts, and how many questions are before this one."""

from __future__ import annotations

import io

from rich.console import Console

from eqa_nodes.cli.asked_progress import words_of
from eqa_nodes.cli.printing import print_answer
from eqa_nodes.core.agent.progress import Progress
from eqa_nodes.core.types.questions import Answer


def test_an_answer_is_one_line_however_narrow_the_output() -> None:
    out = io.StringIO()
    text = "the fridge is closed, " * 20
    print_answer(Console(file=out, width=40), Answer(text, 0.85))
    assert out.getvalue().splitlines()[0] == f"{text}  (confidence 0.85)"


def test_who_waits_hears_how_many_are_before_it() -> None:
    assert words_of(Progress("queued", place=1))[1] == "the question is queued: it is the next one"
    assert words_of(Progress("queued", place=3))[1] == "the question is queued: 2 before it"
