"""Answers that are a place, a time or a duration: parsed from text and measured.

As in NaVQA, the data set of ReMEmbR (Anwar et al., 2024).

A sample's metadata define what is asked for: "expects" (position | time | duration), "truth" ([x, y] or [x, y, z],
metres, map frame; or a number: duration, or time since the beginning of the history), "end_s" (duration of the history,
s), and "within_m" or "within_s" (tolerance; default: the paper's). As in NaVQA's files, "unit": "min" means that the
truth, and numbers without a unit in answers, are minutes, and "ago": true that times count back from the end. A truth
of another form leaves the question unscored.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from eqa_nodes.bench.judges.base import JudgeMark
from eqa_nodes.core.language import english as language
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import Sample

MEASURED = ("position", "time", "duration")  # kinds of answers that are measured
WITHIN_M, WITHIN_S = 15.0, 120.0  # ReMEmbR: a place is right within 15 m, a time within 2 minutes
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?"
_METRES = rf"(?:[xyz]\s*[=:]\s*)?({_NUMBER})\s*(?:m\b)?\s*"
_POINT = re.compile(rf"[(\[]\s*{_METRES},\s*{_METRES}(?:,\s*{_METRES})?[)\]]")
_NAMED_POINT = re.compile(rf"\bx\s*[=:]\s*({_NUMBER})\s*m?\s*[,;]?\s*y\s*[=:]\s*({_NUMBER})"
                          rf"(?:\s*m?\s*[,;]?\s*z\s*[=:]\s*({_NUMBER}))?")
_BARE_POINT = re.compile(rf"(?<![\d.])({_NUMBER})\s*,\s*({_NUMBER})(?:\s*,\s*({_NUMBER}))?(?![\d.])")
_UNITS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "second": 1.0, "m": 60.0, "min": 60.0, "minute": 60.0, "h": 3600.0,
          "hr": 3600.0, "hour": 3600.0}
_LONG_UNITS = "|".join(sorted((unit for unit in _UNITS if unit != "m"), key=len, reverse=True))
_AGO = r"\s*(?:ago|earlier|before)\b"
_SHORT_MINUTES = rf"m(?=\s*(?:\d+(?:\.\d+)?\s*s(?![a-z])|$)|{_AGO})"  # otherwise "m" means metres
_SPAN = re.compile(rf"(?<![\d.:])(\d+(?:\.\d+)?|\.\d+)\s*({_LONG_UNITS}|{_SHORT_MINUTES})s?(?![a-z])")
_CLOCK = re.compile(r"(?<![\d:])(?:(\d{1,3}):)?(\d{1,3}):([0-5]\d)(?![\d:])")
_BARE = re.compile(rf"\s*(?:about |around |at )?(\d+(?:\.\d+)?|\.\d+)\s*\.?\s*({_AGO}\W*)?")
_IN_WORDS = re.compile(r"\b(half an?|an?|[a-z]+)(?=\s+(?:seconds?|secs?|minutes?|mins?|hours?|hrs?)\b)")


class Errors(NamedTuple):
    """Errors of an answer: metres, seconds; None if not asked for, or if the answer names no such value."""

    position_m: float | None = None
    time_s: float | None = None


def position_in(text: str) -> tuple[float, ...] | None:
    """Return the first place "(x, y)" or "(x, y, z)" of a text in metres, also without brackets; None for none."""
    plain = text.replace("\u2212", "-")
    found = _POINT.search(plain) or _NAMED_POINT.search(plain) or _BARE_POINT.search(plain)
    place = tuple(float(v) for v in found.groups() if v is not None) if found else ()
    return place if place and all(map(math.isfinite, place)) else None


def seconds_in(text: str, expects: str, end_s: float, unit_s: float = 1.0, ago: bool = False) -> float | None:
    """Return the first time ("1:30", "90 s", "1 min 30 s") of a text in seconds; None for none.

    expects "time": time since the beginning of the history; "20 s ago" counts back from end_s. expects "duration": as
    stated; if a text names a moment and how long ago it was, the latter. unit_s, ago: meaning of numbers without unit.
    """
    seconds = _seconds_in(_in_digits(text.lower()), expects, end_s, unit_s, ago)
    return seconds if seconds is not None and math.isfinite(seconds) else None


def _seconds_in(lowered: str, expects: str, end_s: float, unit_s: float, ago: bool) -> float | None:
    spans = [(m.start(), m.end(), float(m[1]) * _UNITS[m[2]]) for m in _SPAN.finditer(lowered)]
    spans += [(m.start(), m.end(), 3600.0 * int(m[1] or 0) + 60.0 * int(m[2]) + int(m[3]))
              for m in _CLOCK.finditer(lowered)]
    named = _joined(sorted(spans), lowered)
    if not named:
        keyed = re.search(rf"[\"']{expects}[\"']\s*:\s*[\"']?({_BARE.pattern})[\"']?\s*[,}}]", lowered)
        bare = _BARE.fullmatch(keyed[1] if keyed else lowered)
        if bare is None:
            return None
        back = expects == "time" and (ago or bare[2] is not None)
        return end_s - unit_s * float(bare[1]) if back else unit_s * float(bare[1])
    back_s = [seconds for end, seconds in named if re.match(_AGO, lowered[end:])]
    if expects == "duration":
        return back_s[0] if back_s else named[0][1]
    moments = [seconds for end, seconds in named if not re.match(_AGO, lowered[end:])]
    return moments[0] if moments else end_s - back_s[0]


def _in_digits(text: str) -> str:
    """Replace number words by digits: "two minutes" by "2 minutes", "half an hour" by "0.5 hour"."""
    def digits(match: re.Match[str]) -> str:
        word = match[1]
        number = 0.5 if word.startswith("half a") else 1 if word in ("a", "an") else language.number(word)
        return word if number is None else str(number)

    return _IN_WORDS.sub(digits, text)


def _joined(spans: list[tuple[int, int, float]], text: str) -> list[tuple[int, float]]:
    """Return (end, seconds) of each time in a text; "1 min 30 s" and "1 minute and 30 seconds" are one time."""
    joined: list[tuple[int, float]] = []
    for begin, end, seconds in spans:
        if joined and re.fullmatch(r"\s*(?:,|and)?\s*", text[joined[-1][0]:begin]) and seconds < joined[-1][1]:
            joined[-1] = (end, joined[-1][1] + seconds)
        else:
            joined.append((end, seconds))
    return joined


def errors_of(sample: Sample, answer: Answer) -> Errors:
    """Return the errors of an answer: L2 for places, L1 for times, as in NaVQA.

    The height counts if both truth and answer have one.
    """
    truth = _truth(sample)
    if truth is None or answer.error or answer.abstained:
        return Errors()
    if sample.metadata["expects"] == "position":
        place = position_in(answer.text)
        return Errors(None if place is None else _finite(math.dist(place[:len(truth)], truth[:len(place)])))
    expects, end_s, unit_s, ago = (str(sample.metadata["expects"]), _number(sample.metadata.get("end_s")),
                                   _unit_s(sample), sample.metadata.get("ago") is True)
    begin = end_s if end_s is not None else 0.0 if ago else math.nan  # counted back from: only differences matter
    right = begin - unit_s * truth[0] if ago and expects == "time" else unit_s * truth[0]
    seconds = seconds_in(answer.text, expects, begin, unit_s, ago)
    return Errors(None, None if seconds is None else _finite(abs(seconds - right)))


def expected(sample: Sample) -> str:
    """Return the kind of answer that a sample asks for, "" if it can be neither judged nor measured."""
    expects = str(sample.metadata.get("expects", ""))
    return "" if expects in MEASURED and _truth(sample) is None else expects


def _truth(sample: Sample) -> tuple[float, ...] | None:
    """Return the truth as numbers, None if the sample has none of the expected kind."""
    expects, truth = sample.metadata.get("expects"), sample.metadata.get("truth")
    given = list(truth) if expects == "position" and isinstance(truth, (list, tuple)) else [truth]
    numbers = [_number(value) for value in given]
    found = tuple(v for v in numbers if v is not None)
    fits = len(found) in (2, 3) if expects == "position" else len(found) == 1 and expects in MEASURED
    return found if fits and len(found) == len(given) and _unit_s(sample) else None


def _unit_s(sample: Sample) -> float:
    return {"s": 1.0, "min": 60.0}.get(str(sample.metadata.get("unit", "s")), 0.0)


def _number(value: object) -> float | None:
    """Return a finite number, None for another value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return _finite(float(value))
    except OverflowError:
        return None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def correct(expects: str, position_m: float | None, time_s: float | None) -> float | None:
    """Return 1 or 0: right by the thresholds of the paper; 0 also for an answer that names no such value.

    None if no place, time or duration was asked for.
    """
    if expects not in MEASURED:
        return None
    off, limit = (position_m, WITHIN_M) if expects == "position" else (time_s, WITHIN_S)
    return float(off is not None and off <= limit)


def mark(sample: Sample, answer: Answer) -> JudgeMark | None:
    """Return mark 5 for a place or time within the tolerance, else 1; None if the answer needs a judge."""
    expects = sample.metadata.get("expects", "text")
    if expects not in MEASURED:
        return None
    if _truth(sample) is None:
        truth = sample.metadata.get("truth")
        return JudgeMark(None, None, f"the truth of the question, {truth!r:.40}, is no {expects}")
    errors = errors_of(sample, answer)
    off, unit = (errors.position_m, "m") if expects == "position" else (errors.time_s, "s")
    if off is None:
        return JudgeMark(1, None, f"the answer names no {expects}")
    given = sample.metadata.get(f"within_{unit}", WITHIN_M if unit == "m" else WITHIN_S)
    limit = _number(given)
    if limit is None:
        return JudgeMark(None, None, f"within_{unit} of the question, {given!r:.40}, is no number")
    return JudgeMark(5 if off <= limit else 1, None, f"{off:.1f} {unit} off, right within {limit:g} {unit}")
