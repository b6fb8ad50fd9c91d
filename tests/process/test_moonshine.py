"""The real recogniser on synthesised questions, offline."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from eqa_nodes.core.errors import ConfigError, MissingExtra
from eqa_nodes.voice.recogniser import DEFAULT, open_recogniser, read_wav, words_of
from tests.fixtures.voices import SAID, espeak, wrapped


def test_a_question_is_understood_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("moonshine_voice", reason="moonshine-voice is not installed: pip install 'eqa-nodes[voice]'")

    def refused(*_: object) -> None:
        raise AssertionError("a recogniser asks the network")

    monkeypatch.setattr(socket.socket, "connect", refused)
    recogniser = open_recogniser(DEFAULT)
    assert words_of(recogniser, read_wav(espeak(SAID, tmp_path / "said.wav").read_bytes())) == SAID
    assert words_of(recogniser, read_wav(wrapped(bytes(32_000), 16_000))) == ""


def test_what_is_missing_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqa_nodes.voice.recogniser.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'eqa-nodes\[voice\]'"):
        open_recogniser(DEFAULT)
    with pytest.raises(ConfigError, match="unknown speech recogniser 'moonshin' .did you mean moonshine"):
        open_recogniser("moonshin")
