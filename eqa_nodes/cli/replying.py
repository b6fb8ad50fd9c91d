"""A person at the terminal replies to what the robot asks while it works on a question."""

from __future__ import annotations

import select
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

from eqa_nodes.cli.printing import shown
from eqa_nodes.core.errors import EqaError

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.core.types.inquiries import Inquiry
    from eqa_nodes.core.types.progress import Progress

_LOOK_S = 0.2  # how often it is looked whether the inquiry has ended


class Line(Protocol):
    """A line of the terminal that changes, and is taken away while somebody types."""

    def stop(self) -> None: ...

    def start(self) -> None: ...


class TerminalPerson:
    """Prints what is asked and hands in what is typed. Where nobody can type, it prints and another client may reply.

    reply: takes the id of an inquiry and the number of an option; raises EqaError. It may be set later.
    """

    def __init__(self, console: Console, line: Line, source: TextIO = sys.stdin) -> None:
        self._console, self._line, self._source = console, line, source
        self.reply: Callable[[str, int], None] | None = None
        self._open = ""

    def heard(self, progress: Progress) -> bool:
        """Take in progress, and say whether it tells of an inquiry. Does not wait for the reply."""
        inquiry = progress.inquiry
        if inquiry is None:
            return False
        if inquiry.open and inquiry.id != self._open:
            self._open = inquiry.id
            threading.Thread(target=self._ask, args=(inquiry,), name="reply", daemon=True).start()
        elif not inquiry.open and inquiry.id == self._open:
            self._open = ""
            self._line.start()
            self._console.print(shown(inquiry.in_words()), style="dim", soft_wrap=True)
        return True

    def _ask(self, inquiry: Inquiry) -> None:
        self._line.stop()
        self._console.print(f"[bold]{shown(inquiry.text)}[/bold]", soft_wrap=True)
        for number, option in enumerate(inquiry.options, start=1):
            self._console.print(f"  {number} {shown(option)}", soft_wrap=True)
        if not self._source.isatty():
            self._console.print("  nobody can type here: reply in the console or by the service reply", style="dim")
            return
        self._console.print(f"  type the number within {inquiry.deadline_s:.0f} s: ", end="")
        end = time.monotonic() + inquiry.deadline_s
        while self._open == inquiry.id and time.monotonic() < end:
            if select.select([self._source], [], [], _LOOK_S)[0] and self._handed_in(inquiry):
                return

    def _handed_in(self, inquiry: Inquiry) -> bool:
        """Hand in the typed line; False where it is no option."""
        typed = self._source.readline().strip()
        if not typed.isdecimal() or not 1 <= int(typed) <= len(inquiry.options):
            self._console.print(f"  type a number from 1 to {len(inquiry.options)}: ", end="")
            return False
        try:
            if self.reply is not None:
                self.reply(inquiry.id, int(typed))
        except EqaError as error:
            self._console.print(f"  {shown(str(error))}", style="red", soft_wrap=True)
        return True
