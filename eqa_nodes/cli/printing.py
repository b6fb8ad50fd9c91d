"""What goes to the terminal: text of models, data sets and bags, and answers with their evidence and cost."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from rich.markup import escape

from eqa_nodes.core.storage.text import printable
from eqa_nodes.core.types.measures import shown_note

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.core.types.questions import Answer, Evidence


def shown(text: str) -> str:
    """Return the text so that rich prints it as it is: no markup of its own, nothing that steers the terminal."""
    return escape(printable(text))


def print_answer(console: Console, answer: Answer) -> None:
    """Print an answer with its evidence and what it cost, each on a line of its own, however long."""
    from eqa_nodes.core.memory.times import clock_phrase  # here: a refusal is printed before a memory is loaded

    say = partial(console.print, soft_wrap=True)  # a terminal wraps them itself, and a file is not cut at 80 columns
    if answer.error:
        say(f"[red]{answer.error.name}[/red]: {shown(answer.message)}")
    say(f"[bold]{shown(answer.text) or 'I do not know.'}[/bold]  (confidence {answer.confidence:.2f})")
    if answer.shown:
        say("  the robot stands where that was seen from")
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
    """Return where to find the image of a piece of evidence."""
    if e.frame < 0:
        return f"view {e.keyframe_id}"
    return f"frame {e.frame}" + (f", {e.offset_ns / 1e9:.2f} s into the bag" if e.offset_ns >= 0 else "")
