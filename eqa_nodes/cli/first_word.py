"""A word for whoever waits at a terminal: a command may load for seconds before it can say anything of its own."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

PATIENCE_S = 0.7  # of silence, before it is broken
_WORD, _AWAY = "loading...", "\r\x1b[2K"


class FirstWord:
    """Writes one word to a terminal when nothing is written for a while, and takes it away before what comes first."""

    def __init__(self, terminal: TextIO, watched: tuple[TextIO, ...], patience_s: float) -> None:
        """terminal: gets the word. watched: whose first output ends the wait."""
        self._terminal, self._watched = terminal, watched
        self._lock, self._shown, self._over = threading.Lock(), False, False
        self._timer = threading.Timer(patience_s, self._speak)
        self._timer.daemon = True
        for stream in watched:
            for name in ("write", "flush"):  # a prompt of input() is only announced by a flush
                setattr(stream, name, self._first(getattr(stream, name)))
        self._timer.start()

    def end(self) -> None:
        """Take the word away, and leave the streams as they were; a second call does nothing."""
        with self._lock:
            if self._over:
                return
            self._over = True
            self._timer.cancel()
            for stream in self._watched:
                del stream.write, stream.flush
            if self._shown:
                self._terminal.write(_AWAY)
                self._terminal.flush()

    def _first(self, output: Any) -> Any:
        def first(*args: Any) -> Any:
            self.end()
            return output(*args)

        return first

    def _speak(self) -> None:
        with self._lock:
            if not self._over:
                self._shown = True
                descriptor = self._terminal.fileno()  # not by its own write, which ends the wait
                os.write(descriptor, _WORD.encode())


@contextmanager
def first_word() -> Iterator[None]:
    """Break the silence of what runs inside, where a person sits at a terminal."""
    out, errors = sys.stdout, sys.stderr
    if out is None or errors is None or not (out.isatty() and errors.isatty()) or os.environ.get("TERM") == "dumb":
        yield
        return
    word = FirstWord(errors, (out, errors), PATIENCE_S)
    try:
        yield
    finally:
        word.end()
