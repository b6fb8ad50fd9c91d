"""Answers that are a place, a time or a length of time: read out of words and measured.

As in NaVQA, the data set of ReMEmbR (Anwar et al., 2024).

A sample's metadata says what is asked for: "expects" (position | time | duration), "truth" ([x, y] in metres of the
map, or seconds: since the history began for a time, else how long), "end_s" (seconds from the beginning to its end) and
what counts as right there: "within_m" or "within_s", else the thresholds of the paper.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from eqa_nodes.bench.judges import Mark
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.types.questions import Answer

MEASURED = ("position", "time", "duration")  # kinds of answers that are no words
WITHIN_M, WITHIN_S = 15.0, 120.0  # ReMEmbR: a place counts as right within 15 m, a time within 2 minutes
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_METRES = rf"({_NUMBER})\s*(?:m\b)?\s*"
_POINT = re.compile(rf"[(\[]\s*{_METRES},\s*{_METRES}(?:,\s*{_METRES})?[)\]]")
_BARE_POINT = re.compile(rf"(?<![\d.])({_NUMBER})\s*,\s*({_NUMBER})(?![\d.])")
_UNITS = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}
_SPAN = re.compile(rf"(?<![\d.:])(\d+(?:\.\d+)?)\s*({'|'.join(sorted(_UNITS, key=len, reverse=True))})s?\b")
_CLOCK = re.compile(r"(?<![\d:])(\d{1,3}):([0-5]\d)(?![\d:])")
_BARE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*\.?\s*")


class Errors(NamedTuple):
    """How far an answer is off: metres, seconds; None where nothing such was asked for, or the answer names none."""

    position_m: float | None = None
    time_s: float | None = None


def position_in(text: str) -> tuple[float, float] | None:
    """Return the first place "(x, y)" of a text in metres, without brackets where there are none; None for none."""
    found = _POINT.search(text) or _BARE_POINT.search(text)
    return (float(found[1]), float(found[2])) if found else None


def seconds_in(text: str, expects: str, end_s: float) -> float | None:
    """Return the first time ("1:30", "90 s", "1 min 30 s") of a text in seconds; None for none.

    expects "time": since the history began, so that "20 s ago" counts back from end_s. expects "duration": as it is;
    where a text names a moment and how long ago it was, the latter.
    """
    lowered = text.lower()
    spans = [(m.start(), m.end(), float(m[1]) * _UNITS[m[2]]) for m in _SPAN.finditer(lowered)]
    spans += [(m.start(), m.end(), 60.0 * int(m[1]) + int(m[2])) for m in _CLOCK.finditer(lowered)]
    named = _joined(sorted(spans), lowered)
    if not named:
        bare = _BARE.fullmatch(lowered)
        return float(bare[1]) if bare else None
    ago = [seconds for end, seconds in named if re.match(r"\s*(?:ago|earlier|before)\b", lowered[end:])]
    if expects == "duration":
        return ago[0] if ago else named[0][1]
    moments = [seconds for end, seconds in named if not re.match(r"\s*(?:ago|earlier|before)\b", lowered[end:])]
    return moments[0] if moments else end_s - ago[0]


def _joined(spans: list[tuple[int, int, float]], text: str) -> list[tuple[int, float]]:
    """Return (end, seconds) of each time that is named; "1 min 30 s" and "1 minute and 30 seconds" are one."""
    joined: list[tuple[int, float]] = []
    for begin, end, seconds in spans:
        if joined and re.fullmatch(r"\s*(?:,|and)?\s*", text[joined[-1][0]:begin]) and seconds < joined[-1][1]:
            joined[-1] = (end, joined[-1][1] + seconds)
        else:
            joined.append((end, seconds))
    return joined


def errors_of(sample: Sample, answer: Answer) -> Errors:
    """Return how far an answer is off; L2 in the plan for places, L1 for times, as NaVQA measures them."""
    expects, truth = sample.metadata.get("expects"), sample.metadata.get("truth")
    if answer.error or answer.abstained:
        return Errors()
    if expects == "position" and isinstance(truth, (list, tuple)):
        place = position_in(answer.text)
        return Errors(None if place is None else math.dist(place, truth))
    if expects in ("time", "duration") and isinstance(truth, (int, float)):
        end_s = sample.metadata.get("end_s")
        seconds = seconds_in(answer.text, str(expects), float(end_s) if isinstance(end_s, (int, float)) else 0.0)
        return Errors(None, None if seconds is None else abs(seconds - truth))
    return Errors()


def correct(expects: str, position_m: float | None, time_s: float | None) -> float | None:
    """Return 1 or 0: right by the thresholds of the paper, 0 for an answer that names nothing such.

    None where no place, time or length of time was asked for.
    """
    if expects not in MEASURED:
        return None
    off, limit = (position_m, WITHIN_M) if expects == "position" else (time_s, WITHIN_S)
    return float(off is not None and off <= limit)


def mark(sample: Sample, answer: Answer) -> Mark | None:
    """Mark 5 for a place or time as near as the data set wants, else 1; None where the answer is one for a judge."""
    expects = sample.metadata.get("expects", "text")
    if expects not in MEASURED:
        return None
    errors = errors_of(sample, answer)
    off, unit = (errors.position_m, "m") if expects == "position" else (errors.time_s, "s")
    if off is None:
        return Mark(1, None, f"the answer names no {expects}")
    limit = sample.metadata.get(f"within_{unit}", WITHIN_M if unit == "m" else WITHIN_S)
    right = isinstance(limit, (int, float)) and off <= limit
    return Mark(5 if right else 1, None, f"{off:.1f} {unit} off, right within {limit:g} {unit}")
