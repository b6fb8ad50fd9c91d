"""The protocol of a judge, its settings, and marks that somebody has given already."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from eqa_nodes.core.storage.codec import dumps
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models.config import ModelConfig

CLIPPED = "the judge said"  # beginning of the note of a clipped mark


class JudgeMark(NamedTuple):
    """sigma: 1..5, None = unscored (the judge could not say). delta: grounding 0, 0.5 or 1, None = not judged."""

    sigma: float | None
    delta: float | None = None
    note: str = ""


def clipped(said: float) -> JudgeMark:
    """Return a mark moved onto the scale of 1 to 5, as OpenEQA's scorer does; the note has the original."""
    sigma = min(max(said, 1), 5)
    return JudgeMark(sigma, None, "" if sigma == said else f"{CLIPPED} {said:g}")


class Judge(Protocol):
    """Marks answers. An exception leaves the question unscored, counted and named. Safe from several threads."""

    @property
    def name(self) -> str:
        """Return the name for score files."""

    @property
    def version(self) -> str:
        """Return the sha256 of everything that decides a mark: rules, or model, prompt and options."""

    @property
    def sees(self) -> bool:
        """Return whether the judge sees the last view; if so, it alone judges the grounding."""

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Mark an answer; "" means no answer and gets 1. view: JPEG of the robot's last view, or None."""

    def close(self) -> None:
        """Release its resources; a second call does nothing."""


def drop_after_last_full_stop(text: str) -> str:
    """Return the text up to its last full stop, as OpenEQA's scorer keeps it; without one, all of it."""
    head, stop, _ = text.rpartition(".")
    return head + stop if stop else text


@dataclass(frozen=True)
class JudgeOptions:
    """until_last_full_stop: drop what follows the last full stop of an answer, as OpenEQA's scorer does.

    Of judges that are models: extra_answers: show the further accepted answers of a question. prompt: a file in place
    of the built-in one; prompt_extra: the same for questions with further answers, where the official prompts are two.
    official: folder of a checkout whose own prompts, parser and settings judge; nothing else of these applies then.
    role, criterion: names of prompts.ROLES and CRITERIA, of the built-in prompt alone. max_tokens: of a reply.
    """

    until_last_full_stop: bool = False
    extra_answers: bool = True
    prompt: Path | None = None
    prompt_extra: Path | None = None
    role: str = "ai"
    criterion: str = "perfect"
    max_tokens: int = 256
    official: Path | None = None
    model: ModelConfig = field(default_factory=ModelConfig)


class GivenMarks:
    """Marks by question id. A number is clipped to 1..5 as in OpenEQA's scorer, in which 0 means no answer.

    The table counts the clipped marks. A JudgeMark is unchanged, with its grounding.
    """

    def __init__(self, marks: Mapping[str, float | JudgeMark], source: str) -> None:
        """source: names the file in tables."""
        self._marks = {name: mark if isinstance(mark, JudgeMark) else clipped(mark)
                       for name, mark in marks.items()}
        self.sees = any(mark.delta is not None for mark in self._marks.values())
        self.version = hashlib.sha256(dumps(sorted(self._marks.items())).encode()).hexdigest()
        self.name = f"marks of {source}"

    def __contains__(self, name: str) -> bool:
        """Say whether the file names a question."""
        return name in self._marks

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Return the question's mark; unscored if it has none."""
        if (mark := self._marks.get(sample.id)) is None:
            return JudgeMark(None, None, f"{self.name} has no mark for this question")
        return mark

    def close(self) -> None:
        """Nothing to release."""
