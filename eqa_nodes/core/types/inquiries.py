"""Inquiries of the agent to a person while it works on a question, and the modes of driving."""

from __future__ import annotations

from typing import NamedTuple

GO, CONFIRM, DRY = DRIVE_MODES = ("go", "confirm", "dry")  # drive without asking | after a yes | never
MAY_I_DRIVE, WHICH = INQUIRY_KINDS = ("may_i_drive", "which")
OPEN, NO_REPLY = -1, 0


class Inquiry(NamedTuple):
    """One inquiry to a person, with numbered options.

    kind: one of INQUIRY_KINDS; text: one sentence; options: texts, numbered from 1; deadline_s: wall-clock seconds
    until the agent continues without a reply. question_id, question: the question it is about. reply: number of the
    chosen option; NO_REPLY: no reply in time, or the question was canceled; OPEN: still waiting.
    """

    id: str
    kind: str
    text: str
    options: tuple[str, ...]
    deadline_s: float
    question_id: str = ""
    question: str = ""
    reply: int = OPEN

    @property
    def open(self) -> bool:
        """Return whether it waits for a reply."""
        return self.reply == OPEN

    def in_words(self) -> str:
        """Return the sentence with its numbered options or, once it has ended, with the chosen one."""
        if self.open:
            return f"{self.text} " + ", ".join(f"{n} = {option}" for n, option in enumerate(self.options, start=1))
        return f"{self.text} {self.options[self.reply - 1] if self.reply else '(nobody replied)'}"
