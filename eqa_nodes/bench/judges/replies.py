"""Reads what a model replies that judges. Nothing is guessed: another form than agreed is a ValueError."""

from __future__ import annotations

import re
from typing import NamedTuple

from eqa_nodes.core.model import json_object

MARK_FORM = "the mark: a whole number from 1 to 5"
BOTH_FORM = 'a JSON object {"mark": a whole number from 1 to 5, "grounding": 0, 0.5 or 1}'
_NUMBER = r"\**([+-]?[0-9]{1,9})(?:\s*/\s*5)?\**"
_ALONE = re.compile(rf"(?:[A-Za-z ]{{0,24}}:)?\s*{_NUMBER}\.?")
_BOTH = re.compile(r"([+-]?[0-9]{1,9})[\s,;]+([0-9.]{1,4})")  # "5, 0.5": as official prompts may ask for it
DELTAS = (0.0, 0.5, 1.0)


class Clipped(NamedTuple):
    """A mark in 1..5 as the first fields of Mark."""

    sigma: float
    delta: float | None
    note: str


def clipped(said: int, delta: float | None = None) -> Clipped:
    """Return the mark inside 1..5, as OpenEQA's scorer takes it; the note says what it was."""
    sigma = min(max(said, 1), 5)
    return Clipped(sigma, delta, "" if sigma == said else f"the judge said {said}")


def read_mark(text: str) -> int:
    """Return the mark of a reply: a number alone ("4", "Your mark: 4", "4/5"), or "mark" of a JSON object."""
    if match := _ALONE.fullmatch(text.strip()):
        return int(match[1])
    return _whole(json_object(text).get("mark"))


def read_both(text: str) -> tuple[int, float]:
    """Return mark and grounding of a JSON object, or of two numbers in this order."""
    if match := _BOTH.fullmatch(text.strip()):
        return int(match[1]), _delta(float(match[2]))
    reply = json_object(text)
    return _whole(reply.get("mark")), _delta(reply.get("grounding"))


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not float(value).is_integer():
        raise ValueError(f"the mark must be a whole number from 1 to 5, not {value!r:.40}")
    return int(value)


def _delta(value: object) -> float:
    if isinstance(value, bool) or value not in DELTAS:
        raise ValueError(f"the grounding must be 0, 0.5 or 1, not {value!r:.40}")
    return float(str(value))
