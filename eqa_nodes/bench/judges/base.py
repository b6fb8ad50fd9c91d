"""The protocol of a judge, and code that all judges share."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from eqa_nodes.core.types.samples import Sample

CLIPPED = "the judge said"  # how the note of a mark begins that was moved onto the scale


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
    """Marks answers. What it raises leaves the question unscored, counted and named. Safe from several threads."""

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
