"""Calls of a model on the terminal, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eqa_nodes.cli.printing import shown

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.core.types.calls import ModelCall
    from eqa_nodes.core.types.progress import Progress

_NOTES = 3  # views of a call that are quoted


class CallPrinter:
    """Prints the calls of one question, numbered. While it waits in a queue, calls are those of other questions."""

    def __init__(self, console: Console) -> None:
        self._console, self._count, self._waits = console, 0, False

    def printed(self, progress: Progress) -> bool:
        """Print the call that progress tells of; False where it tells of none."""
        if progress.call is None:
            self._waits = progress.phase == "queued"
            return False
        if not self._waits:
            self._count += 1
            self._console.print(shown(line_of(self._count, progress.call)), style="dim", soft_wrap=True)
        return True


def line_of(number: int, call: ModelCall) -> str:
    """Return a call as one line: what was asked, what it cost, what the model said."""
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
