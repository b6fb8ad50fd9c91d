"""Reads times in a text ("yesterday at 3 pm", "between Monday and Wednesday") in local time, and writes times in words.

core/language/time_words.py finds the words and days.py reads days and times of day, which may stand in any order. Here
one of them is a window, and two of them are a span.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from eqa_nodes.core.language.time_words import (
    COUNTS,
    EDGES,
    NUMBERS,
    UNITS,
    VAGUE,
    WEEKDAYS,
    TimeToken,
    asked_times,
    time_words,
    without,
)
from eqa_nodes.core.memory.days import (
    BESIDE,
    PARTS,
    WORKS,
    UnclearTime,
    clock_of,
    days_of,
    hours_of,
    midnight,
    moment_of,
    not_understood,
    part_of,
)
from eqa_nodes.core.types.questions import Recalled

FOR_EVER = (1 << 63) - 1  # the largest stamp in a file
WALL_NS = 10**18  # stamps from 2001 on are calendar times; a simulator's clock begins at 0
_SECOND = 10**9
_AROUND_NS = 1800 * _SECOND  # "at 3 pm" includes half an hour before and after it
_OF_TIME = re.compile(r"\b(?:when|how long|since|before|after|earlier|ago|first|last|latest|still|any ?more|"
                      r"chang(?:e|es|ed)|moved|gone|missing|different)\b")
_HABITS = "memory knows no habits that fit: name one time, such as yesterday morning or last Monday"
_TO = ("and", "to", "-", "until", "till", "up to")  # words between the ends of a period
_DAY_NAMES = ("rel", "weekday", "date", "nth", "ago", "lately", "unit", "month")  # tokens that name a day


class TimeWindow(NamedTuple):
    """A period in ns, both ends included; last: only the newest visit counts. phrase: the words in the text."""

    after_ns: int
    before_ns: int
    phrase: str
    last: bool = False


class Recurring(NamedTuple):
    """A repeated time, such as "on weekday mornings". part: of the day, "" = all; weekdays: 0 is Monday."""

    part: str
    weekdays: tuple[int, ...]
    phrase: str


class TimesInText(NamedTuple):
    """The time that a text names. rest: the text without it; fault: what is not understood, with words that work."""

    window: TimeWindow | None
    recurring: Recurring | None
    rest: str
    fault: str


class _Span(NamedTuple):
    """A period from begin to end (exclusive), ns. around_ns: margin added on both sides of a single moment."""

    begin: int
    end: int
    around_ns: int = 0


def times_in(text: str, now_ns: int) -> TimesInText:
    """Return the time that a text names, relative to `now_ns` in local time.

    Days and parts of days need calendar stamps; with a simulator's clock only durations are understood.
    """
    return _read(text, time_words(text), now_ns)


def times_asked(question: str, now_ns: int) -> TimesInText:
    """Return the time that a question asks about, if it asks about the past; times in its other sentences stay."""
    return _read(question, asked_times(question), now_ns)


def _read(text: str, words: Sequence[TimeToken], now_ns: int) -> TimesInText:
    if not words:
        return TimesInText(None, None, text, "")
    rest, phrase = without(text, words), " ".join(word.text for word in words)
    try:
        if (recurring := _recurring(words, phrase)) is not None:
            return TimesInText(None, recurring, rest, f"{phrase!r} is a repeated time, and {_HABITS}")
        if any(word.name == "last" for word in words):
            return TimesInText(TimeWindow(0, now_ns, phrase, True), None, rest, "")
        span = _window(words, phrase, now_ns)
    except UnclearTime as fault:
        return TimesInText(None, None, rest, str(fault))
    except (OverflowError, ValueError):
        return TimesInText(None, None, rest, f"{phrase!r} is not in the calendar: name another day")
    begin, end = max(0, span.begin - span.around_ns), span.end + span.around_ns - 1
    if begin > now_ns and words[0].name != "future":
        return TimesInText(None, None, rest, _ahead(phrase))
    return TimesInText(TimeWindow(begin, max(1, min(FOR_EVER, end)), phrase), None, rest, "")  # 0 would be no limit


def _ahead(phrase: str) -> str:
    return f"{phrase!r} lies in the future, but memory holds the past: name an earlier time"


def _recurring(words: Sequence[TimeToken], phrase: str) -> Recurring | None:
    """Return the repeated time among the words; "at night" beside a day is a part of that day."""
    often = [word for word in words if word.name == "often"]
    if not often and any(word.name != "at night" for word in words):
        return None
    said = " ".join(word.said.get("often", "") for word in often)
    days = [i for i, day in enumerate(WEEKDAYS) if day in said]
    days = days or [0, 1, 2, 3, 4] * ("weekday" in said) + [5, 6] * ("weekend" in said) or list(range(7))
    part = re.search(rf"\b(?:{'|'.join(PARTS)})", phrase.lower())
    return Recurring(part[0] if part else "", tuple(days), phrase)


def _window(words: Sequence[TimeToken], phrase: str, now_ns: int) -> _Span:
    """Return the period of DAY, "between" A "and" B, "since" A "until" B; a day before these words applies to all."""
    if words[0].name == "future":
        return _Span(now_ns + 1, FOR_EVER + 1)
    (_, base), *clauses = _clauses(words)
    if clauses and clauses[0][0] in _TO and base:  # Monday to Wednesday, Saturday and Sunday
        if clauses[0][0] == "and" and not _adjacent(base, clauses[0][1], phrase, now_ns):
            raise not_understood(phrase)
        base, clauses = [], [("between", base), *clauses]
    span = _point(base, phrase, now_ns) if base or not clauses else _Span(0, FOR_EVER)
    while clauses:
        (edge, one), *clauses = clauses
        one = one if not base or _has_day(one) else [*base, *one]
        if edge == "between" or (edge == "from" and clauses):
            if not clauses or clauses[0][0] not in _TO:
                raise not_understood(phrase)
            (_, two), *clauses = clauses
            found = _between(one, two if not base or _has_day(two) else [*base, *two], phrase, now_ns)
        else:
            found = _edge(edge, one, phrase, now_ns)
        span = _Span(max(span.begin, found.begin), min(span.end, found.end), span.around_ns if not found.end else 0)
    if span.begin >= span.end and not span.around_ns:
        raise UnclearTime(f"{phrase!r} ends before it begins: {WORKS}")
    return span


_Words = list[TimeToken]


def _clauses(words: Sequence[TimeToken]) -> list[tuple[str, _Words]]:
    """Return the words before the first edge ("since", "between", "to"), and those after each edge."""
    clauses: list[tuple[str, _Words]] = [("", [])]
    for word in words:
        edge = word.name in EDGES
        if edge:
            clauses.append((word.said.get("edge") or word.text.lower().split()[0], []))
        if word.name != "filler" and (not edge or "hour" in word.said):
            clauses[-1][1].append(word)
    return clauses


def _adjacent(one: _Words, two: _Words, phrase: str, now_ns: int) -> bool:
    """Return whether a time follows another, so that "Saturday and Sunday" is one period."""
    second = _point(two, phrase, now_ns).begin
    return any(_point(one, phrase, now).end == second for now in (now_ns, *([] if _fixed(one) else [second])))


def _has_day(words: _Words) -> bool:
    return any(word.name in _DAY_NAMES or "which" in word.said for word in words)


def _between(one: _Words, two: _Words, phrase: str, now_ns: int) -> _Span:
    """Return the period from A to the end of B; A takes from B what it lacks: a month, a day, "pm", "minutes ago"."""
    end = _point(two, phrase, now_ns)
    firsts = _completed(one, two)
    spans = [_point(words, phrase, now_ns) for words in firsts]
    if two[-1].name == "ago":  # 10 and 20 minutes ago, or 20 and 10
        return _Span(min(end.begin, spans[0].begin), max(end.end, spans[0].end))
    spans += [_point(words, phrase, end.begin) for words in firsts if not _fixed(words)]
    begins = [span.begin for span in spans if span.begin <= end.begin]
    if not begins:
        raise UnclearTime(f"{phrase!r} ends before it begins: {WORKS}")
    return _Span(max(begins), end.end)


def _fixed(words: _Words) -> bool:
    """Return whether a time is counted from now, so that it cannot be counted from the end of a span."""
    return any(word.name in ("rel", "ago", "lately", "unit") or "which" in word.said for word in words)


def _completed(one: _Words, two: _Words) -> list[_Words]:
    """Return the first time of a span with what only the second names; for "12 and 1 pm" both halves of the day."""
    bare = next((word for word in one if "hour" in word.said or word.name == "nth"), None)
    number = "" if bare is None else bare.said.get("hour") or bare.said["nth"]
    for word in two if bare is not None and len(one) == 1 else ():
        if word.name == "date" and "mark" not in word.said:
            return [[word._replace(said={**word.said, "day": number})]]
        if word.name == "ago":
            return [[word._replace(said={"ago": re.sub(r"^\S+", number, word.said["ago"])})]]
    clock_only = all(word.name != "part" and ("clock" in word.said or word is bare) for word in one)
    days = [word for word in two if word.name in _DAY_NAMES or "which" in word.said] if clock_only else []
    if bare is None or bare.name == "nth":
        return [[*one, *days]] if bare is None else [one]
    rest = [*(word for word in one if word is not bare), *days]
    clock = next((word.said["clock"] for word in two if "clock" in word.said), "")
    clock = {"noon": "12 pm", "midday": "12 pm", "midnight": "12 am"}.get(clock, clock)
    if re.search("[ap]", clock):
        return [[*rest, bare._replace(said={"clock": f"{number} {half}m"})] for half in "ap"]
    parts = [word for word in two if word.name == "part" and word not in rest]
    return [[*rest, bare._replace(said={"clock": f"{number}:00"}) if ":" in clock else bare, *parts]]


def _edge(edge: str, words: _Words, phrase: str, now_ns: int) -> _Span:
    """Return the period of "since", "after", "before", "until"; "before 9:00" begins with that day."""
    span = _point(words, phrase, now_ns, exact=True)
    if edge in ("since", "ever since", "from", "after"):
        begin = span.end if edge == "after" else span.begin
        if begin > now_ns:
            raise UnclearTime(_ahead(phrase))
        return _Span(begin, now_ns + 1)
    begin = 0 if _has_day(words) or now_ns < WALL_NS else _ns(midnight(_local(span.begin)), 0)
    return _Span(begin, span.begin if edge == "before" else span.end)


def _point(words: _Words, phrase: str, now_ns: int, exact: bool = False) -> _Span:
    """Return the period of a day, a part of a day, a time of day, or a duration. exact: "a week ago" is one day."""
    for word in words:
        if word.name == "ahead":
            raise UnclearTime(_ahead(word.text))
        if word.name in ("unclear", "future"):
            raise not_understood(phrase)
    if len(words) == 1 and (span := _duration(words[0], now_ns)) is not None:
        return span._replace(around_ns=0) if exact else span
    if not words:
        raise not_understood(phrase)
    if now_ns < WALL_NS:
        raise UnclearTime(f"{phrase!r} is not understood here, because a simulator's stamps have no date: say in the "
                          "last 10 minutes")
    now, part, days = _local(now_ns), part_of(words), days_of(words, _local(now_ns), exact)
    clocks = [word for word in words if "clock" in word.said or "hour" in word.said]
    if len(clocks) > 1 or (not clocks and not part and days is None):
        raise not_understood(clocks[1].text if clocks else phrase)
    if clocks:
        moment = moment_of(days, clock_of(clocks[0], part), part, now)
        return _span(moment, moment)._replace(around_ns=0 if exact else _AROUND_NS)
    return _span(*(hours_of(days, part, now) if part else days or ()))


def _duration(word: TimeToken, now_ns: int) -> _Span | None:
    """Return the period of "two hours ago", "in the last 3 days", "older than a week"; None for days ago."""
    text = word.said.get(word.name, "") if word.name in ("ago", "lately", "older") else ""
    counts = COUNTS.findall(text if text not in UNITS else f"one {text}")
    count, half, unit, half_after = counts[0] if counts else ("", "", "", "")
    days = unit in BESIDE and len(counts) == 1 and count not in VAGUE and not half and not half_after
    if not counts or (word.name == "ago" and days and now_ns >= WALL_NS):
        return None
    low = high = 0.0
    for count, half, unit, half_after in counts:
        least, most = VAGUE[count] if count in VAGUE else 2 * (NUMBERS.get(count) or float(count),)
        more = 0.5 if half or half_after else 0.0
        low, high = low + (least + more) * UNITS[unit], high + (most + more) * UNITS[unit]
    early, late = (now_ns - round(seconds * _SECOND) for seconds in (high, low))
    if word.name == "ago":
        return _Span(early, late, UNITS[unit] * _SECOND // 2 if low == high else 0)
    return _Span(0, early) if word.name == "older" else _Span(max(0, early), now_ns + 1)


def _local(stamp_ns: int) -> datetime:
    return datetime.fromtimestamp(stamp_ns / _SECOND)


def _span(begin: datetime, end: datetime) -> _Span:
    """Return the period between two local times; if the clock shows a time twice, both are included."""
    return _Span(min(_ns(begin, 0), _ns(begin, 1)), max(_ns(end, 0), _ns(end, 1)))


def _ns(moment: datetime, fold: int) -> int:
    return round(moment.replace(fold=fold).timestamp() * _SECOND)


def about_time(text: str, now_ns: int) -> bool:
    """Return whether a question is about time or change, so that the time of a view matters."""
    return bool(_OF_TIME.search(text.lower())) or times_in(text, now_ns).window is not None


def dated(items: Iterable[Recalled], phrase: Callable[[int], str]) -> list[Recalled]:
    """Return the views with their times added to the captions. phrase: text for a stamp in ns."""
    def with_time(item: Recalled) -> Recalled:
        view = item.keyframe
        caption = ", ".join(filter(None, (view.caption, phrase(view.stamp_ns))))
        return item._replace(keyframe=replace(view, caption=caption))

    return [with_time(item) for item in items]


def time_in_recording(stamp_ns: int, start_ns: int, end_ns: int) -> str:
    """Return "3.0 s after the start of 60.0 s", with the date if the stamps are calendar times."""
    date = f", on {_local(stamp_ns):%Y-%m-%d at %H:%M:%S}" if stamp_ns >= WALL_NS else ""
    return f"{(stamp_ns - start_ns) / _SECOND:.1f} s after the start of {(end_ns - start_ns) / _SECOND:.1f} s{date}"


def clock_phrase(stamp_ns: int, now_ns: int = 0) -> str:
    """Return "at 18:32:05 on 2026-11-16", without the date if it is that of `now_ns`; for simulators "at 12.5 s"."""
    if stamp_ns < WALL_NS:
        return f"at {stamp_ns / _SECOND:.1f} s"
    then = _local(stamp_ns)
    return f"at {then:%H:%M:%S}" + (f" on {then:%Y-%m-%d}" if then.date() != _local(now_ns).date() else "")


def time_phrase(stamp_ns: int, now_ns: int) -> str:
    """Return "today at 18:32", "yesterday at ...", "on Monday 16 November 2026 at ..."; for simulators "12.5 s ..."."""
    if stamp_ns < WALL_NS:
        return f"{stamp_ns / _SECOND:.1f} s after the start, {_time_ago(now_ns - stamp_ns)}"
    then, now = _local(stamp_ns), _local(now_ns)
    days = (now.date() - then.date()).days
    day = {0: "today", 1: "yesterday"}.get(days) or f"on {then:%A} {then.day} {then:%B %Y}"
    return f"{day} at {then:%H:%M}"


def short_time(stamp_ns: int, now_ns: int) -> str:
    """Return "today at 18:32", "Mon 16 November at 18:32"; for simulators as time_phrase does."""
    if stamp_ns < WALL_NS:
        return time_phrase(stamp_ns, now_ns)
    then, now = _local(stamp_ns), _local(now_ns)
    day = {0: "today", 1: "yesterday"}.get((now.date() - then.date()).days) or f"{then:%a} {then.day} {then:%B}"
    return f"{day} at {then:%H:%M}"


def span_phrase(after_ns: int, before_ns: int) -> str:
    """Return a window as "from 2026-11-18 14:30 to 2026-11-18 15:30"; for simulators in seconds."""
    begin, end = (f"{_local(ns):%Y-%m-%d %H:%M}" if ns >= WALL_NS else f"{ns / _SECOND:.1f} s"
                  for ns in (after_ns, min(before_ns, FOR_EVER - 1) + 1))
    if not after_ns:
        return f"up to {end}"
    return f"from {begin} on" if before_ns == FOR_EVER else f"from {begin} to {end}"


def _time_ago(span_ns: int) -> str:
    seconds = max(0, span_ns) / _SECOND
    if seconds < 90:
        return f"{seconds:.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 5400 else f"{seconds / 3600:.0f} h ago"
