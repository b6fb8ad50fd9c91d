"""A command that loads for long says so at a terminal, and takes it back before its own first output."""

from __future__ import annotations

import os
import pty
import sys
import threading
import time
from pathlib import Path

import pytest

from eqa_nodes.cli.terminal import FirstWord, first_word
from eqa_nodes.testing.waiting import until


class Terminal:
    """A pseudo-terminal whose screen is read; `out` and `errors` are a command's streams on it."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        self.out, self.errors = os.fdopen(slave, "w"), os.fdopen(os.dup(slave), "w")
        self.read = b""
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        while True:
            try:
                data = os.read(self._master, 4096)
            except OSError:  # the other end is closed
                return
            self.read += data

    def shows(self, text: bytes) -> None:
        until(lambda: text in self.read)


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


def test_silence_is_broken_until_the_first_output(terminal: Terminal) -> None:
    word = FirstWord(terminal.errors, (terminal.out, terminal.errors), 0.01)
    terminal.shows(b"loading...")
    print("yes", file=terminal.out, flush=True)
    terminal.shows(b"yes")
    word.end()
    print("more", file=terminal.errors, flush=True)
    terminal.shows(b"more")
    assert terminal.read == b"loading...\r\x1b[2Kyes\r\nmore\r\n"


def test_who_speaks_in_time_is_not_disturbed(terminal: Terminal) -> None:
    word = FirstWord(terminal.errors, (terminal.out, terminal.errors), 60.0)
    print("yes", file=terminal.errors, flush=True)
    assert "write" not in vars(terminal.out)  # the wait is over
    word.end()
    print("no", file=terminal.out, flush=True)
    terminal.shows(b"no")
    assert terminal.read == b"yes\r\nno\r\n"


def test_it_goes_when_the_command_ends_without_a_word(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", terminal.out)
    monkeypatch.setattr(sys, "stderr", terminal.errors)
    monkeypatch.setattr("eqa_nodes.cli.terminal.PATIENCE_S", 0.01)
    def interrupted() -> None:
        with first_word():
            terminal.shows(b"loading...")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    terminal.shows(b"\x1b[2K")
    assert "write" not in vars(terminal.out)


def test_files_and_pipes_get_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                           terminal: Terminal) -> None:
    monkeypatch.setattr("eqa_nodes.cli.terminal.PATIENCE_S", 0.01)
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", terminal.errors)
        with first_word():
            time.sleep(0.05)
        assert not terminal.read
