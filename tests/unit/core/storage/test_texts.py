"""Text that is none (NUL, halves of surrogate pairs) and file names of any bytes: refused or replaced at each port."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.judges.prompts import read_both, read_mark
from eqa_nodes.bench.report.traces import load_trace, save_trace
from eqa_nodes.bench.running.predictions import Prediction, PredictionWriter, read_predictions
from eqa_nodes.bench.samples import check_samples
from eqa_nodes.cli import main
from eqa_nodes.core.answerers.common import check_question, match_choice
from eqa_nodes.core.errors import BadQuestion, ConfigError
from eqa_nodes.core.language.bad_input import LONGEST
from eqa_nodes.core.language.english import canonical, number, yes_no
from eqa_nodes.core.language.understanding import query_of
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.recollect import about_past
from eqa_nodes.core.memory.times import times_in
from eqa_nodes.core.storage.codec import decode, dumps, read_json, write_json
from eqa_nodes.core.storage.text import printable, shown_name
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.doctor import machine
from eqa_nodes.runners.history import _fingerprint
from sim_bridge.scans import SCENES_VARIABLE
from tests.fixtures.synthetic_run import trace

HALF = "in \ud800"
NAME = os.fsdecode(b"not \xff utf-8")
_LONG = 50_000
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


@pytest.mark.parametrize("text", [f"Where {HALF}?", "Where\0is it?", "\udcff Where?"])
def test_a_question_that_is_no_text_is_refused_at_every_port(text: str, tmp_path: Path,
                                                             capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadQuestion, match="invalid character"):
        check_question(text)
    with pytest.raises(ConfigError, match="invalid character"):
        check_samples([Sample("a", text, "b")])
    assert main(["ask", text, "--out", str(tmp_path / "run")]) == 2
    assert "invalid character" in capsys.readouterr().err and not (tmp_path / "run").exists()


def test_memory_refuses_a_question_and_reads_a_text_with_half_a_character(tmp_path: Path,
                                                                          capsys: pytest.CaptureFixture[str]) -> None:
    MemoryStore(tmp_path / "memory.db").close()
    assert main(["memory", "ask", str(tmp_path / "memory.db"), "When did you see \udcff?"]) == 2
    assert "invalid character" in capsys.readouterr().err
    assert main(["memory", "recall", str(tmp_path / "memory.db"), "keys \udcff"]) == 0


def test_what_json_is_written_of_is_encodable(tmp_path: Path) -> None:
    assert json.loads(dumps({HALF: [HALF, "ü\0"]})) == {"in \ufffd": ["in \ufffd", "ü\0"]}
    dumps({HALF: [HALF]}).encode()
    write_json(tmp_path / "a.json", {"path": NAME})
    assert read_json(tmp_path / "a.json")["path"] == "not \ufffd utf-8"
    with PredictionWriter(tmp_path) as writer:
        writer.append(Prediction("a", Answer(HALF, 0.5, message=HALF)))
    assert read_predictions(tmp_path).predictions["a"].answer.text == "in \ufffd"
    kept = trace(HALF, Answer(HALF))
    save_trace(tmp_path / "trace.zip", kept)
    assert load_trace(tmp_path / "trace.zip").question == "in \ufffd"
    assert decode(str, json.loads(dumps("\U0001f916 ü"))) == "\U0001f916 ü"  # whole characters stay


def test_names_of_any_bytes_are_one_line_and_stay_different() -> None:
    names = [NAME, os.fsdecode(b"not \xfe utf-8"), "two\nlines", "two lines", "\x1b[2J", "\u202eb", "", " ", "ünï"]
    shown = [shown_name(Path("runs") / name) for name in names]
    assert len(set(shown)) == len(shown) and all(text.isprintable() for text in shown)
    assert shown[3] == "two lines" and shown[-1] == "ünï"


def test_a_foreign_file_beside_a_history_keeps_nobody_out(tmp_path: Path) -> None:
    (tmp_path / "frame.png").write_bytes(b"x")
    before = _fingerprint(tmp_path)
    (tmp_path / NAME).write_bytes(b"x")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert _fingerprint(tmp_path) == _fingerprint(tmp_path) != before


def test_the_doctor_names_scenes_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.setenv(SCENES_VARIABLE, str(tmp_path))
    finding = machine._scans()
    finding.found.encode()
    assert finding.state == "ok" and "not \ufffd utf-8" in finding.found


@pytest.mark.parametrize("reader", READERS)
def test_replies_are_read_in_linear_time(reader: str) -> None:
    for unit in UNITS:
        with suppress(ValueError):  # another form than agreed
            READERS[reader]((unit * _LONG)[:_LONG] + "\x01")


@pytest.mark.parametrize("reader", [query_of, about_past, lambda text: times_in(text, 10 ** 18)])
def test_questions_of_the_greatest_length_are_read_at_once(reader: Callable[[str], object]) -> None:
    for unit in UNITS:
        for begin in ("", "where is the ", "is the ", "how many "):
            reader((begin + unit * LONGEST)[:LONGEST])
