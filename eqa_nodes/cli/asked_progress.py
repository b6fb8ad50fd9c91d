"""What a question is at, while it is worked on: a line that changes on a terminal, else lines on the error output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eqa_nodes.cli.printing import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from eqa_nodes.core.agent.progress import Progress


@contextmanager
def progress_line(console: Console) -> Iterator[Callable[[str, str], None]]:
    """Give what shows a text. Its first part says which step it is: piped, one line is written for each step."""
    if console.is_terminal:
        with console.status("starting") as status:
            yield lambda step, text: status.update(shown(text))
        return
    from rich.console import Console as Terminal

    errors, told = Terminal(stderr=True), [""]

    def write(step: str, text: str) -> None:
        if step != told[0]:
            told[0] = step
            errors.print(shown(text), soft_wrap=True, highlight=False)

    yield write


def words_of(progress: Progress) -> tuple[str, str]:
    """Return the step that progress tells of, and how it stands."""
    p = progress
    if p.place:
        return f"{p.phase} {p.place}", f"{p.phase} at place {p.place}"
    counts = f"{p.phase}, {p.steps} steps, {p.metres:.1f} m."
    return f"{p.phase} {p.reason}", f"{counts} {p.reason}".rstrip()
