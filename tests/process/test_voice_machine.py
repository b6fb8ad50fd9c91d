"""The microphone and the voice of this machine: programs that are absent, fail, or do what they should."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.core.errors import ConfigError, ErrorCode
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.voice.audio import record, speak, spoken
from eqa_nodes.voice.recogniser import BadSound

# As alsa-utils 1.2.8 ends without a sound card, and as espeak-ng 1.51 does: that returns 0.
NO_CARD = "echo 'arecord: main:831: audio open error: No such file or directory' >&2; exit 1"
NO_LOUDSPEAKER = "echo 'error: No such file or directory' >&2"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH but for the shell's own."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(folder: Path, name: str, script: str) -> None:
    """Put a program there."""
    (folder / name).write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    (folder / name).chmod(0o755)


def test_a_recording_ends_when_the_person_is_done(programs: Path) -> None:
    program(programs, "arecord", "echo \"$@\" > \"$(dirname \"$0\")/asked\"; head -c 32000 /dev/zero; echo >> "
            "\"$(dirname \"$0\")/heard\"; exec sleep 60")
    sound = record("hw:1,0", lambda _: (programs / "heard").exists())
    assert sound.seconds == 1.0
    assert (programs / "asked").read_text().split() == [
        "-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", "16000", "-D", "hw:1,0"]


def test_a_microphone_that_is_absent_has_a_remedy(programs: Path) -> None:
    with pytest.raises(ConfigError, match="apt-get install alsa-utils"):
        record("", lambda _: False)
    program(programs, "arecord", NO_CARD)
    with pytest.raises(ConfigError, match="audio open error.*arecord -l lists the microphones"):
        record("", lambda _: False)
    program(programs, "arecord", "exec sleep 60")
    with pytest.raises(BadSound, match="nothing was recorded"):
        record("", lambda _: True)


def test_an_answer_is_read_aloud(programs: Path) -> None:
    with pytest.raises(ConfigError, match="apt-get install espeak-ng"):
        speak("on the desk")
    program(programs, "espeak-ng", "cat > \"$(dirname \"$0\")/said\"")
    speak(spoken(Answer("on the desk", 0.9)))
    assert (programs / "said").read_text() == "on the desk"
    program(programs, "espeak-ng", NO_LOUDSPEAKER)
    with pytest.raises(ConfigError, match="is a loudspeaker connected"):
        speak("on the desk")


def test_what_is_said_of_no_answer_is_honest() -> None:
    assert spoken(Answer(abstained=True)) == "I do not know."
    refused = "I do not understand 'clox'. Did you mean: How many clocks are there?"
    assert spoken(Answer(abstained=True, message=refused)) == refused
    clear, chosen = (Answer("3", 0.9, message=message, understood="how many clocks") for message in (
        "", "'How many clox?' was understood as How many clocks are there?"))
    assert spoken(clear) == "3" and spoken(chosen) == "Understood: how many clocks. 3"
    assert spoken(Answer(abstained=True, error=ErrorCode.NODE_LOST)) == "The question ended with an error: node lost."
