"""What a terminal shows around a command: a word while it loads, and one line for a failure that the user can mend."""

from __future__ import annotations

import errno
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires
from typing import Any, TextIO

from eqa_nodes.core.errors import EqaError, MissingExtra
from eqa_nodes.core.storage.text import printable

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # which write() tells without a name
_OURS = ("eqa_nodes", "sim_bridge")
_DISTRIBUTIONS = {"PIL": "pillow", "yaml": "pyyaml", "rclpy": "ros-rclpy"}  # that are not called as what they install
_REQUIREMENT = re.compile(r"""([\w.-]+).*?(?:extra == ['"](\w+)['"])?$""")


def in_one_line(error: Exception) -> str | None:
    """Return what to print: of errors that are raised on purpose, a library that is missing, and the file system.

    None for anything else, which is a fault of the program.
    """
    if isinstance(error, EqaError):
        return printable(str(error))
    if isinstance(error, ModuleNotFoundError):
        library = (error.name or "").partition(".")[0]
        return None if not library or library in _OURS else str(MissingExtra(library, _extra_of(library)))
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _NO_ROOM):
        return printable(f"{error.filename or 'what is written'}: {error.strerror}")
    return None


def _extra_of(library: str) -> str:
    """Return the extra of this package that brings a library, "" where it is none of an extra."""
    wanted = _DISTRIBUTIONS.get(library, library).replace("_", "-").lower()
    try:
        lines = requires("eqa-nodes") or []
    except PackageNotFoundError:
        lines = []
    found = [match for line in lines if (match := _REQUIREMENT.match(line)) and match[1].lower() == wanted]
    return next((match[2] for match in found if match[2] and match[2] != "all"), "")


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
