"""`eqa ask` prints each call of a model as one line, as plain text."""

from __future__ import annotations

import io

from rich.console import Console

from eqa_nodes.cli.printing import CallPrinter, line_of
from eqa_nodes.core.types.calls import CallPicture, ModelCall
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.progress import Progress

DECIDED = ModelCall(0, Pose2(0, 0, 0), "Where?", "decide", (CallPicture(1), CallPicture(2)),
                    reasons="A door is open.\nThe kitchen may be [red]behind[/red] it.", answer="in the bowl",
                    confidence=0.4, missing="the bowl", tokens_in=900, tokens_out=60, money=0.00123)


def printed(*progress: Progress) -> str:
    out = io.StringIO()
    printer = CallPrinter(Console(file=out, width=60))
    for each in progress:
        printer.printed(each)
    return out.getvalue()


def test_a_call_is_one_line_whatever_the_model_writes() -> None:
    line, = printed(Progress("answering", call=DECIDED)).splitlines()
    assert line == ("1. decide, 2 pictures, 960 tokens, 0.0012 by its prices: A door is open. The kitchen may be "
                    "[red]behind[/red] it. Answer: in the bowl (0.40). Missing: the bowl.")


def test_one_picture_is_one() -> None:
    assert line_of(1, DECIDED._replace(pictures=(CallPicture(1),))).startswith("1. decide, 1 picture, 960")


def test_calls_for_others_are_not_printed_while_the_question_waits() -> None:
    text = printed(Progress("queued", place=1), Progress("answering", call=DECIDED), Progress("exploring"),
                   Progress("answering", call=DECIDED))
    assert text.startswith("1. decide") and text.count("decide") == 1


def test_notes_of_views_and_failures_are_told() -> None:
    judged = ModelCall(0, Pose2(0, 0, 0), "Where?", "assess", (CallPicture(1, note="a stove"), CallPicture(2)))
    assert line_of(3, judged) == "3. assess, 2 pictures, 0 tokens: a stove"
    assert line_of(4, judged._replace(error="timeout: no reply")).endswith(": failed: timeout: no reply")
    assert line_of(5, judged._replace(pictures=())) == "5. assess, 0 tokens: nothing"
