"""What a question is at, while it is worked on: a line that changes on a terminal, else lines on the error output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eqa_nodes.cli.printing import shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from eqa_nodes.core.types.progress import Progress


class ProgressLine:
    """Shows a text and which step it belongs to. status: the line on a terminal; None writes one line for each step."""

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
        """Take the line away while a person is asked something."""
        if self._status is not None:
            self._status.stop()

    def start(self) -> None:
        """Show the line again."""
        if self._status is not None:
            self._status.start()


@contextmanager
def progress_line(console: Console) -> Iterator[ProgressLine]:
    """Give what shows how a question stands."""
    if console.is_terminal:
        with console.status("starting") as status:
            yield ProgressLine(status)
    else:
        yield ProgressLine(None)


_PHASES = {"deciding": "asking the model"}  # in words, where the phase alone does not say what takes long


def doing(progress: Progress) -> str:
    """Return what the agent is doing, with its steps and the reason."""
    p = progress
    return f"{_PHASES.get(p.phase, p.phase)}, {p.steps} steps, {p.metres:.1f} m. {p.reason}".rstrip()


def words_of(progress: Progress) -> tuple[str, str]:
    """Return the step that progress tells of, and how it stands."""
    p = progress
    if p.place:
        turn = "it is the next one" if p.place == 1 else f"{p.place - 1} before it"
        return f"{p.phase} {p.place}", f"the question is {p.phase}: {turn}"
    return f"{p.phase} {p.reason}", doing(p)
