"""What a right answer to a question over weeks says, and whether a text says it. No language model is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import NamedTuple

RIGHT, WRONG, DECLINED = "right", "wrong", "declined"
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SHORT = "|".join(month[:3] for month in _MONTHS)
_TH = "(?:st|nd|rd|th)?"
_DATE = re.compile(rf"\b(?:(\d{{1,2}}){_TH}(?: of)? ({_SHORT})[a-z]*|({_SHORT})[a-z]* (\d{{1,2}}){_TH}|"
                   r"(today|yesterday))\b")
_COUNTS = re.compile(r"\b(\d+|[a-z]+) of (\d+|[a-z]+)\b")
_SPANS = re.compile(r"\b(\d+(?:\.\d+)?|an?|[a-z]+) (minute|hour|day|week)s?\b")
_HOURS = {"minute": 1 / 60, "hour": 1.0, "day": 24.0, "week": 168.0}
_DECLINES = re.compile(
    r"\b(?:(?:did not|didn't|have not|haven't) (?:look|see|seen)|not looked|no looks?|nothing (?:is )?known|"
    r"(?:do not|don't|does not|cannot|can't) (?:know|say|tell)|never (?:saw|seen|looked)|no habit|unknown|unsure)\b")
_NOT_LOOKED = re.compile(r"[;,.]? *(?:but )?I (?:(?:did not|didn't) look|do not know who).*",
                         re.IGNORECASE)  # what follows an answer


class AnswerRule(NamedTuple):
    """What a right answer says. Patterns ignore case.

    says, never: patterns that must and must not be found. dates: the only days that the answer names, ISO. counts:
    number of times, with the least and the largest number of looks, of every "3 of 7". times: a number that is named.
    hours: least and largest length of time. slack: by how much a number may be off, and how many days may be wrong.
    declines: the right answer is that it is not known.
    """

    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    times: int = -1
    hours: tuple[float, ...] = ()
    slack: int = 0
    declines: bool = False


def rule_of(value: object) -> AnswerRule:
    """Return a rule from plain JSON."""
    fields: Mapping[str, object] = value if isinstance(value, Mapping) else {}
    return AnswerRule(**{k: tuple(v) if isinstance(v, list | tuple) else v  # type: ignore[arg-type]
                         for k, v in fields.items()})


def verdict(rule: AnswerRule, text: str, now: datetime) -> str:
    """Return RIGHT, WRONG or DECLINED for the text of an answer, "" = none."""
    said = text.strip().lower()
    core = _NOT_LOOKED.sub("", said)
    declines = not core or bool(_DECLINES.search(core))
    if rule.declines:
        return RIGHT if declines else WRONG
    if said and _says(rule, said, core, now):
        return RIGHT
    return DECLINED if declines else WRONG


def _says(rule: AnswerRule, said: str, core: str, now: datetime) -> bool:
    if not all(re.search(pattern, said, re.IGNORECASE) for pattern in rule.says):
        return False
    if any(re.search(pattern, said, re.IGNORECASE) for pattern in rule.never):
        return False
    if rule.dates and len(dates_in(core, now) ^ {date.fromisoformat(day) for day in rule.dates}) > rule.slack:
        return False
    if rule.counts and not all(_fits(found, rule.counts, rule.slack) for found in _COUNTS.findall(core)):
        return False
    if rule.times >= 0 and not any(_names_count(core, rule.times + more)
                                   for more in range(-min(rule.slack, rule.times), rule.slack + 1)):
        return False
    return not rule.hours or _lasts(core, rule.hours)


def dates_in(text: str, now: datetime) -> set[date]:
    """Return the days that a text names by their date, as today or as yesterday; years are those before `now`."""
    found = set()
    for day, month, month_first, day_second, word in _DATE.findall(text.lower()):
        if word:
            found.add((now - timedelta(days=word == "yesterday")).date())
            continue
        number = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(month or month_first))
        try:
            named = date(now.year, number, int(day or day_second))
        except ValueError:
            continue
        found.add(named if named <= now.date() else named.replace(year=now.year - 1))
    return found


def date_pattern(day: date, now: datetime) -> str:
    """Return a pattern that finds a day as people write it."""
    month = _MONTHS[day.month - 1][:3]
    forms = [rf"\b{day.day}(?:st|nd|rd|th)?(?: of)? {month}", rf"{month}[a-z]* {day.day}\b"]
    forms += ["today|this morning|this evening"] * (day == now.date())
    forms += ["yesterday"] * (day == now.date() - timedelta(days=1))
    return "(?:" + "|".join(forms) + ")"


def moment_pattern(first: datetime, last: datetime, part: str, now: datetime) -> str:
    """Return a pattern that finds the time of a look between two stamps, by minutes or by the part of the day."""
    minutes = int((last - first.replace(second=0)).total_seconds() // 60) + 1
    clock = "|".join(f"{first + timedelta(minutes=i):%H:%M}" for i in range(minutes + 1))
    return rf"{date_pattern(first.date(), now)}[^;]{{0,24}}?(?:{clock}|{part})"


def _number(word: str) -> float | None:
    if word in ("a", "an"):
        return 1.0
    if word in _NUMBERS:
        return float(_NUMBERS.index(word))
    try:
        return float(word)
    except ValueError:
        return None


def _fits(found: tuple[str, str], counts: tuple[int, ...], slack: int) -> bool:
    k, m = map(_number, found)
    return k is None or m is None or (
        abs(k - counts[0]) <= slack and counts[1] - slack <= m <= counts[2] + slack)


def _names_count(text: str, count: int) -> bool:
    word = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    forms = [rf"\b(?:{count}|{word})\b(?= of| times?\b| patrols?\b| mornings?\b| evenings?\b| days?\b)"]
    forms += {0: [r"\bnever\b", r"\bnot once\b"], 1: [r"\bonce\b"], 2: [r"\btwice\b"]}.get(count, [])
    return any(re.search(form, text) for form in forms)


def _lasts(text: str, hours: tuple[float, ...]) -> bool:
    """Return whether every length of time that the text names lies within bounds, to the precision of its unit."""
    found = [(number, _HOURS[unit]) for word, unit in _SPANS.findall(text) if (number := _number(word)) is not None]
    return bool(found) and all(hours[0] - unit < number * unit < hours[1] + unit for number, unit in found)
