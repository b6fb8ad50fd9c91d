"""Output on the terminal: answers with evidence and cost, model calls, progress, inquiries of the robot."""

from __future__ import annotations

import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol, TextIO

from rich.markup import escape

from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.storage.text import printable
from eqa_nodes.core.types.measures import shown_note

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from eqa_nodes.core.types.calls import ModelCall
    from eqa_nodes.core.types.inquiries import Inquiry
    from eqa_nodes.core.types.progress import Progress
    from eqa_nodes.core.types.questions import Answer, Evidence
    from eqa_nodes.recordings.episode_history import EpisodeHistory

def shown(text: str) -> str:
    """Return the text so that rich prints it unchanged: without markup and without terminal control characters."""
    return escape(printable(text))


def print_answer(console: Console, answer: Answer) -> None:
    """Print how the question was understood, the answer, each piece of evidence, and the cost, one line each."""
    from eqa_nodes.core.memory.times import clock_phrase  # imported here, because refusals are printed without memory

    say = partial(console.print, soft_wrap=True)  # terminals wrap lines themselves, and files must not be wrapped
    if answer.understood:
        say(f"understood: {shown(answer.understood)}", style="dim")
    if answer.error:
        say(f"[red]{answer.error.name}[/red]: {shown(answer.message)}")
    say(f"[bold]{shown(answer.text) or 'I do not know.'}[/bold]  (confidence {answer.confidence:.2f})")
    if answer.shown:
        say("  the robot stands where it saw that")
    elif answer.message and not answer.error:
        say(f"  {shown(answer.message)}")
    for e in answer.evidence:
        note, when = shown(shown_note(e.note)), clock_phrase(e.stamp_ns, time.time_ns())
        say(f"  seen {when} from x {e.pose.x:.2f} m, y {e.pose.y:.2f} m ({_place(e)}){': ' * bool(note)}{note}")
    r = answer.receipt
    privileged = f"; privileged: {', '.join(r.privileged)}" if r.privileged else ""
    money = f", {r.money:.4g} by its prices" if r.money else ""
    spent = ", ".join(filter(None, (r.way(), f"{r.seconds:.1f} s", f"{r.calls} call{'s' * (r.calls != 1)}")))
    say(f"  {spent}, {r.tokens_in + r.tokens_out} tokens{money}{privileged}", style="dim")


def _place(e: Evidence) -> str:
    """Return the number of the view, or the frame and time in a recording, of a piece of evidence."""
    if e.frame < 0:
        return f"view {e.keyframe_id}"
    return f"frame {e.frame}" + (f", {e.offset_ns / 1e9:.2f} s into the bag" if e.offset_ns >= 0 else "")


class ProgressLine:
    """Shows the current step. status: the line on a terminal; None prints one line for each step instead."""

    def __init__(self, status: Status | None) -> None:
        from rich.console import Console as Terminal

        self._status, self._errors, self._step = status, Terminal(stderr=True), ""

    def __call__(self, step: str, text: str) -> None:
        """Show a text."""
        if self._status is not None:
            self._status.update(shown(text))
        elif step != self._step:
            self._step = step
            self._errors.print(shown(text), soft_wrap=True, highlight=False)

    def stop(self) -> None:
        """Hide the line while a person is asked something."""
        if self._status is not None:
            self._status.stop()

    def start(self) -> None:
        """Show the line again."""
        if self._status is not None:
            self._status.start()


@contextmanager
def progress_line(console: Console) -> Iterator[ProgressLine]:
    """Yield a line that shows the progress of a question."""
    if console.is_terminal:
        with console.status("starting") as status:
            yield ProgressLine(status)
    else:
        yield ProgressLine(None)


_PHASES = {"deciding": "asking the model"}  # for phases whose name does not say what takes long


def doing(progress: Progress) -> str:
    """Return what the agent is doing, with its steps and the reason."""
    p = progress
    return f"{_PHASES.get(p.phase, p.phase)}, {p.steps} steps, {p.metres:.1f} m. {p.reason}".rstrip()


def words_of(progress: Progress) -> tuple[str, str]:
    """Return the step of a progress message, and its text."""
    p = progress
    if p.place:
        turn = "it is the next one" if p.place == 1 else f"{p.place - 1} before it"
        return f"{p.phase} {p.place}", f"the question is {p.phase}: {turn}"
    return f"{p.phase} {p.reason}", doing(p)


_NOTES = 3  # views of a call that are quoted


class CallPrinter:
    """Prints the numbered model calls of one question; calls are skipped while the question waits in the queue."""

    def __init__(self, console: Console) -> None:
        self._console, self._count, self._waits = console, 0, False

    def printed(self, progress: Progress) -> bool:
        """Print the call of a progress message; return False if it has none."""
        if progress.call is None:
            self._waits = progress.phase == "queued"
            return False
        if not self._waits:
            self._count += 1
            self._console.print(shown(line_of(self._count, progress.call)), style="dim", soft_wrap=True)
        return True


def line_of(number: int, call: ModelCall) -> str:
    """Return a call as one line: its kind, its cost, and the model's words."""
    pictures = f", {len(call.pictures)} picture{'s' * (len(call.pictures) > 1)}" if call.pictures else ""
    money = f", {call.money:.2g} by its prices" if call.money else ""
    return f"{number}. {call.kind}{pictures}, {call.tokens_in + call.tokens_out} tokens{money}: {_words(call)}"


def _words(call: ModelCall) -> str:
    if call.error:
        return f"failed: {call.error}"
    notes = [p.note for p in call.pictures if p.note][:_NOTES] if not call.reasons else []
    answer = f"Answer: {call.answer} ({call.confidence:.2f})." if call.answer else ""
    missing = f"Missing: {call.missing}." if call.missing else ""
    words = " ".join(filter(None, (call.reasons, "; ".join(notes), answer, missing)))
    return " ".join(words.split()) or "nothing"


_LOOK_S = 0.2  # period of checks whether the inquiry has ended


class Line(Protocol):
    """A line of the terminal that changes, and is hidden while somebody types."""

    def stop(self) -> None: ...

    def start(self) -> None: ...


class TerminalPerson:
    """Prints inquiries and sends what is typed. Without a terminal it only prints, and another client may reply.

    reply: takes the id of an inquiry and the number of an option; raises EqaError. It may be set later.
    """

    def __init__(self, console: Console, line: Line, source: TextIO = sys.stdin) -> None:
        self._console, self._line, self._source = console, line, source
        self.reply: Callable[[str, int], None] | None = None
        self._open = ""

    def show(self, progress: Progress) -> bool:
        """Show the inquiry of a progress message, if it has one; return whether it has. Does not wait for the reply."""
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
            self._console.print("  this is not a terminal: reply on the console or by the service reply", style="dim")
            return
        self._console.print(f"  type the number within {inquiry.deadline_s:.0f} s: ", end="")
        end = time.monotonic() + inquiry.deadline_s
        while self._open == inquiry.id and time.monotonic() < end:
            if select.select([self._source], [], [], _LOOK_S)[0] and self._sent(inquiry):
                return

    def _sent(self, inquiry: Inquiry) -> bool:
        """Send the typed line; return False if it is not the number of an option."""
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


@contextmanager
def frames_bar(history: EpisodeHistory) -> Iterator[Callable[[int], None]]:
    """Print a history's notes, and show a progress bar; yield a callback that takes the number of frames done."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    with Bar(BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("frames"),
                  transient=True) as bar:
        for note in history.notes:
            bar.console.print(note, soft_wrap=True, markup=False, highlight=False)
        task = bar.add_task("", total=len(history) or None)
        yield lambda done: bar.update(task, completed=done)
