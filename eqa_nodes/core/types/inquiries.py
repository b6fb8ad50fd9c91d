"""What the agent asks a person while it works on a question, and whether it may drive."""

from __future__ import annotations

from typing import NamedTuple

GO, CONFIRM, DRY = DRIVE_MODES = ("go", "confirm", "dry")  # at will | after a yes | never
MAY_I_DRIVE, WHICH = INQUIRY_KINDS = ("may_i_drive", "which")
OPEN, NO_REPLY = -1, 0


class Inquiry(NamedTuple):
    """One thing that a person is asked, with numbered options.

    kind: one of INQUIRY_KINDS; text: one sentence; options: in words, numbered from 1; deadline_s: seconds of the wall
    clock until the agent goes on without a reply. question_id, question: what it works on. reply: the number of the
    option that was chosen; NO_REPLY: nobody replied in time, or the question was called off; OPEN: it waits for one.
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
        """Say whether it waits for a reply."""
        return self.reply == OPEN

    def in_words(self) -> str:
        """Return the sentence with its numbered options or, when it has ended, with the one that was chosen."""
        if self.open:
            return f"{self.text} " + ", ".join(f"{n} = {option}" for n, option in enumerate(self.options, start=1))
        return f"{self.text} {self.options[self.reply - 1] if self.reply else '(nobody replied)'}"
