"""What `eqa ask` says: answers that no width cuts, and how many questions are before this one."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console

from eqa_nodes.cli import main
from eqa_nodes.cli.ask import Asking
from eqa_nodes.cli.printing import print_answer, words_of
from eqa_nodes.core.language.bad_input import unreadable
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Evidence, Receipt
from tests.fixtures.bad_questions import UNREADABLE


def test_an_answer_is_one_line_however_narrow_the_output() -> None:
    out = io.StringIO()
    text = "the fridge is closed, " * 20
    print_answer(Console(file=out, width=40), Answer(text, 0.85))
    assert out.getvalue().splitlines()[0] == f"{text}  (confidence 0.85)"


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("where", [(), ("--attach",), ("--history", "nothing")])
def test_bad_input_is_refused_in_one_line_before_anything_starts(text: str, where: tuple[str, ...],
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", text, *where]) == 2
    assert " ".join(capsys.readouterr().err.split()) == f"eqa: {unreadable(text.strip())}"


def test_how_a_question_was_understood_stands_above_its_answer() -> None:
    out = io.StringIO()
    print_answer(Console(file=out), Answer("3", 0.9, understood="how many clocks, of all kinds, in the whole house"))
    assert out.getvalue().startswith("understood: how many clocks, of all kinds, in the whole house\n3  (")


@pytest.mark.parametrize(("steps", "metres", "cost"), [
    (1, 0.2, "  1 step, 0.2 m, 2.0 s, 1 call, 12 tokens"), (12, 0.0, "  12 steps, 0.0 m, 2.0 s, 1 call, 12 tokens"),
    (0, 2.7, "  2.7 m, 2.0 s, 1 call, 12 tokens"),  # Nav2 drives, and nobody counts steps
    (0, 0.0, "  2.0 s, 1 call, 12 tokens")])  # from memory, or from a recording
def test_what_an_answer_cost_is_said_in_plain_words(steps: int, metres: float, cost: str) -> None:
    out = io.StringIO()
    print_answer(Console(file=out, width=40), Answer("red", 0.85, receipt=Receipt(steps, metres, 2.0, 1, 10, 2)))
    assert out.getvalue().splitlines()[1] == cost


@pytest.mark.parametrize(("stamp_s", "said"), [
    (12.5, "at 12.5 s"), (0.0, "at 0.0 s"), (9e8, "at 900000000.0 s"),  # of simulated clocks
    (datetime(2026, 11, 26, 18, 32, 5).timestamp(), "at 18:32:05"),
    (datetime(2026, 11, 26).timestamp(), "at 00:00:00"),
    (datetime(2026, 11, 25, 23, 59, 59).timestamp(), "at 23:59:59 on 2026-11-25"),
    (datetime(2024, 10, 27, 3, 33, 20).timestamp(), "at 03:33:20 on 2024-10-27")])
def test_evidence_says_a_time_of_day_where_stamps_are_those_of_a_calendar(stamp_s: float, said: str,
                                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: round(datetime(2026, 11, 26, 23, 0).timestamp()) * 10**9)
    out, proof = io.StringIO(), Evidence(3, round(stamp_s * 1e9), Pose2(1.0, 2.0, 0.0))
    print_answer(Console(file=out, width=40), Answer("red", 0.85, evidence=(proof,)))
    assert out.getvalue().splitlines()[1] == f"  seen {said} from x 1.00 m, y 2.00 m (view 3)"


def test_who_waits_hears_how_many_are_before_it() -> None:
    assert words_of(Progress("queued", place=1))[1] == "the question is queued: it is the next one"
    assert words_of(Progress("queued", place=3))[1] == "the question is queued: 2 before it"


def test_a_model_that_thinks_is_named() -> None:
    assert words_of(Progress("deciding", 12, 1.5))[1] == "asking the model, 12 steps, 1.5 m."


@pytest.mark.parametrize(("words", "named"), [
    (("--episode", "q-3"), "--episode"), (("--format", "stray"), "--format"), (("--frames", "recalled"), "--frames"),
    (("-k", "5", "--cache", "kept"), "-k and --cache")])
def test_options_of_a_recording_without_one_are_refused(
        words: tuple[str, ...], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["ask", "Where is the mug?", "--scene", "house:7", *words]) == 2
    assert f"eqa: {named} need{'' if ' and ' in named else 's'} --history PATH" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_question_in_a_home_of_two_storeys_is_for_a_robot_that_takes_stairs() -> None:
    assert Asking(scene="house:7@2").config.robot_body.stairs and not Asking().config.robot_body.stairs
