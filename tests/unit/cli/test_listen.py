"""`eqa listen`: nothing is asked that the person has not seen."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from eqa_nodes.cli import main
from eqa_nodes.cli.listen import Listen
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.voice.recogniser import read_wav
from tests.fixtures.voices import SAID, wav

SCRIPTED = ("--recogniser", "tests.fixtures.voices:Scripted")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that went out: asking itself is that of `eqa ask`, and tested there."""
    texts: list[str] = []

    def ask(self: Listen, text: str) -> Answer:
        texts.append(text)
        return Answer("in the kitchen", 0.9)

    monkeypatch.setattr(Listen, "ask", ask)
    return texts


@pytest.mark.parametrize(("typed", "sent", "code"), [
    ("\n", [SAID], 0), ("y\n", [SAID], 0), ("n\n", [], 1), ("", [], 1),
    ("Where is the cattle?\n", ["Where is the cattle?"], 0)])
def test_the_words_are_confirmed_or_corrected(tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str], typed: str, sent: list[str],
                                              code: int) -> None:
    (tmp_path / "q.wav").write_bytes(wav())
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["listen", "--file", str(tmp_path / "q.wav"), "--silent", *SCRIPTED]) == code
    assert asked == sent and SAID in capsys.readouterr().out


def test_questions_are_one_conversation(tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "q.wav").write_bytes(wav())
    files = [word for _ in range(3) for word in ("--file", str(tmp_path / "q.wav"))]
    monkeypatch.setattr("sys.stdin", io.StringIO("Where is the lamp?\nn\nIs it on?\n"))
    assert main(["listen", *files, "--silent", *SCRIPTED]) == 1, "the second one was not sent"
    assert asked == ["Where is the lamp?", "Is the lamp in the kitchen on?"]


def test_a_microphone_is_heard_until_no_other_question_is_wanted(asked: list[str], monkeypatch: pytest.MonkeyPatch,
                                                                 ) -> None:
    monkeypatch.setattr("eqa_nodes.voice.audio.check_microphone", lambda: None)
    monkeypatch.setattr("eqa_nodes.voice.audio.record", lambda name, done: read_wav(wav()))
    terminal = io.StringIO("y\n\nIs it open?\nn\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    assert main(["listen", "--silent", *SCRIPTED]) == 0
    assert len(asked) == 2 and asked[0] == SAID and "in the kitchen" in asked[1]


def test_what_is_missing_is_said_before_anything_is_asked(tmp_path: Path, asked: list[str],
                                                          monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "silence.wav").write_bytes(wav(1.0)[:44] + bytes(32_000))
    file = ("--file", str(tmp_path / "silence.wav"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    for words, why in (((*file, *SCRIPTED), "apt-get install espeak-ng"),
                       ((*file, *SCRIPTED, "--silent"), "no words were recognised"),
                       (("--silent", *SCRIPTED), "apt-get install alsa-utils"),
                       (("--silent", "--file", "absent.wav", *SCRIPTED), "absent.wav: No such file")):
        assert main(["listen", *words]) == 2 and why in capsys.readouterr().err
    assert asked == []
