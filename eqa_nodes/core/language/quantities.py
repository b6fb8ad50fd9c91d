"""Lengths in English texts: "1.8 m", "180 cm", "about 6 feet", "two metres"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eqa_nodes.core.language.english import canonical, number, yes_no

_METRES = {"mm": 0.001, "millimetre": 0.001, "cm": 0.01, "centimetre": 0.01, "m": 1.0, "metre": 1.0, "inch": 0.0254,
           "foot": 0.3048, "yard": 0.9144}
_UNITS = (r"(?P<unit>mm|millimet(?:re|er)s?|cms?|centimet(?:re|er)s?|met(?:re|er)s?|m(?![a-z'])|inch(?:es)?|"
          r"in(?=\s*(?:$|[.,;:!?)]))|feet|foot|ft|yards?)\b")
_WORDS = ("half|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|an?(?= (?:foot|met|yard|half))")
_LENGTH = re.compile(rf"(?<![\w.])(?P<number>\d+(?:[.,]\d+)?|{_WORDS})(?P<half> and a half)?[\s-]*(?:a )?{_UNITS}"
                     r"(?:[\s-]*(?:and )?(?P<inches>\d+(?:\.\d+)?)[\s-]*(?:inch(?:es)?|in\b|\"))?"
                     r"(?P<over> and a half)?")
_MARKS = re.compile(r"(?<![\w.])(?P<feet>\d+)\s*'(?:\s*(?P<inches>\d+(?:\.\d+)?)\s*(?:\"|''))?")
_SHORTEST_M, _SHARE = 0.05, 0.1  # lengths that differ by no more are taken for one: a tape is not read better


def lengths(text: str) -> list[float]:
    """Return the lengths that a text names, metres, in its order; empty for none."""
    lower = text.lower().replace("\u2019", "'").replace("\u2033", '"').replace("\u2032", "'")
    found = [(hit.start(), _metres(hit)) for hit in _LENGTH.finditer(lower)]
    found += [(hit.start(), int(hit["feet"]) * 0.3048 + float(hit["inches"] or 0) * 0.0254)
              for hit in _MARKS.finditer(lower)]
    return [metres for _, metres in sorted(found)]


def without_lengths(text: str) -> str:
    """Return a text with a lone # in the place of each length."""
    return _MARKS.sub("#", _LENGTH.sub("#", text.lower()))


def said_length(metres: float) -> str:
    """Return a length as it is said: "1.83 m", below a metre "85 cm"."""
    return f"{metres:.2f} m" if round(metres, 2) >= 1.0 else f"{100 * metres:.0f} cm"


def said_in(metres: float, unit: str) -> str:
    """Return a length in a unit that a question names, feet and inches with metres: "5.6 feet (1.70 m)"."""
    if unit in ("cm", "mm"):
        return f"{metres / _METRES[unit]:.0f} {unit}"
    if unit in ("inch", "foot", "yard"):
        names = {"inch": "inches", "foot": "feet", "yard": "yards"}
        return f"{metres / _METRES[unit]:.1f} {names[unit]} ({said_length(metres)})"
    return f"{metres:.2f} m" if unit == "m" else said_length(metres)


def tolerance(metres: float) -> float:
    """Return by how much a measurement of this length may be off to be right: 10 %, at least 5 cm."""
    return max(_SHARE * metres, _SHORTEST_M)


def same_measure(a: str, b: str) -> bool:
    """Return whether two texts say the same, their lengths within the tolerance of each other; False without lengths.
    """
    mine, theirs = lengths(a), lengths(b)
    if not mine or len(mine) != len(theirs) or not _agree(mine, theirs) or yes_no(a) != yes_no(b):
        return False
    return canonical(without_lengths(a)) == canonical(without_lengths(b))


def _agree(mine: Sequence[float], theirs: Sequence[float]) -> bool:
    return all(abs(x - y) <= tolerance(max(x, y)) + 1e-9 for x, y in zip(mine, theirs, strict=True))


def _metres(hit: re.Match[str]) -> float:
    said = hit["number"]
    if said[0].isdigit():
        value = float(said.replace(",", "."))
    else:
        value = 0.5 if said == "half" else 1.0 if said in ("a", "an") else float(number(said) or 0)
    value += 0.5 if hit["half"] or hit["over"] else 0.0
    unit = re.sub(r"met(?:re|er)s?$", "metre", hit["unit"])
    unit = {"cms": "cm", "feet": "foot", "ft": "foot", "inches": "inch", "in": "inch", "yards": "yard"}.get(unit, unit)
    return value * _METRES[unit] + float(hit["inches"] or 0) * 0.0254
