"""Text of models and data sets is printed as it is: it neither breaks the output nor steers the terminal."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from eqa_nodes.bench.running.predictions import Prediction, RunProgress
from eqa_nodes.cli import main
from eqa_nodes.cli.bench.asking import RunBar
from eqa_nodes.cli.printing import print_answer, shown
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Evidence
from eqa_nodes.core.types.samples import Sample

HOSTILE = ["[/bold] red", "[link=file:///etc/passwd]red[/link]", "\x1b[2Jred\x1b]0;owned\x07", "[red", "\\[/x] red",
           "red \u202egnp"]


def printed(say: Callable[[Console], object]) -> str:
    out = io.StringIO()
    say(Console(file=out, force_terminal=True, width=300, color_system=None, legacy_windows=False))
    return out.getvalue()


@pytest.mark.parametrize("text", HOSTILE)
def test_an_answer_is_printed_as_it_is(text: str) -> None:
    proof = (Evidence(1, 0, Pose2(0.0, 0.0, 0.0), text),)
    for answer in (Answer(text, 0.5, evidence=proof), Answer(text, error=ErrorCode.MODEL, message=text)):
        out = printed(lambda console, answer=answer: print_answer(console, answer))  # type: ignore[misc]
        assert out.count("red") >= 2 and "\x1b]" not in out and "\x1b[2J" not in out and "\x07" not in out
        if "\x1b" not in text and "\u202e" not in text:
            assert out.count(text) == 2


def test_evidence_without_a_note_ends_with_its_place() -> None:
    for note, end in (("", "(view 1)"), ("red", "(view 1): red")):
        proof = (Evidence(1, 0, Pose2(0.0, 0.0, 0.0), note),)
        out = printed(lambda console, proof=proof: print_answer(console, Answer("red", 0.5, evidence=proof)))  # type: ignore[misc]
        assert out.splitlines()[1].endswith(end)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_bar_of_a_run_shows_hostile_texts(text: str) -> None:
    sample = Sample("q", text, text)

    def run(console: Console) -> None:
        with RunBar(console, [sample]) as bar:
            bar.say(text)
            bar.asked(RunProgress(1, 1, 0, Prediction("q", Answer(text)), text))

    out = printed(run)
    assert "\x1b]" not in out and "\x1b[2J" not in out and "\x07" not in out and out.count("red") >= 4


@pytest.mark.parametrize("width", [80, 120])
def test_a_long_reason_leaves_the_bar_and_the_counts(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, color_system=None, legacy_windows=False)
    with RunBar(console, [Sample("q", "", "")] * 4) as bar:
        bar.say("goes to where the model expects the living room: 10 % to see the answer, 4.1 m away, best of eight")
    last = out.getvalue().split("\r")[-1]
    assert f"{' ' * 20} 0/4 0:00:00 goes to where" in last and "…" in last  # a bar without colour is blank


def test_markup_is_what_rich_would_take_it_for_otherwise() -> None:
    assert printed(lambda console: console.print("[bold]x[/bold]")).strip() == "x"
    assert printed(lambda console: console.print(shown("[bold]x[/bold]"))).strip() == "[bold]x[/bold]"


def test_an_error_that_names_hostile_text_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "info", "/nowhere/\x1b[2J\x1b]0;owned\x07"]) == 2
    assert "\x1b" not in capsys.readouterr().err
