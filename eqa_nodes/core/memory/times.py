"""Reads times in a text ("yesterday at 3 pm", "between Monday and Wednesday") in local time, and writes times in words.

The library dateparser parses moments ("26 November", "12 am", "Monday at noon"). This module finds such words in a
text and parses periods: parts of days, durations, weeks, "since", "between".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, time, timedelta
from functools import cache
from typing import NamedTuple

from eqa_nodes.core.types.questions import Recalled

FOR_EVER = (1 << 63) - 1  # the largest stamp in a file
WALL_NS = 10**18  # stamps from 2001 on are calendar times; a simulator's clock begins at 0
_SECOND = 10**9
_AROUND_NS = 1800 * _SECOND  # "at 3 pm" includes half an hour before and after it

_OF_TIME = re.compile(r"\b(?:when|how long|since|before|after|earlier|ago|first|last|latest|still|any ?more|"
                      r"chang(?:e|es|ed)|moved|gone|missing|different)\b")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
            "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "twenty": 20, "thirty": 30, "half an": 0.5, "half a": 0.5}
_VAGUE = {"a couple of": (1, 3), "a few": (2, 5), "few": (2, 5), "several": (2, 5)}  # minimum and maximum
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 2592000, "year": 31536000}
_BESIDE = {"day": 0, "week": 1, "month": 7, "year": 30}  # "a week ago" is that day and this many days on both sides
_PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 23), "night": (21, 30)}


def _any(words: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


_COUNT = rf"(?:\d+(?:\.\d+)?|{_any((*_NUMBERS, *_VAGUE))})"
_SPELL = rf"{_COUNT} (?:and a half )?{_any(_UNITS)}s?(?: and a half)?(?:,? (?:and )?{_COUNT} {_any(_UNITS)}s?)?"
_MONTH = (r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
          r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?")
_YEAR = r"(?:19|20)\d\d"
_COUNTED = re.compile(r"\b(?:yesterday|today|ago|this|last|past)\b")  # words relative to the current time
_NTH = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_DATE = (rf"(?:{_NTH}(?: of)? {_MONTH}(?:,? {_YEAR})?|{_MONTH} {_NTH}(?![\w:])(?:,? {_YEAR})?|{_YEAR}-\d\d-\d\d|"
         rf"\d\d?\.\d\d?\.{_YEAR})")
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DAY = (rf"(?:day before yesterday|yesterday|today|(?:(?:last|past|this past) )?{_WEEKDAY}|{_DATE}|"
        rf"(?:\d+|{_any(_NUMBERS)}) (?:day|week|month|year)s? ago)")
_PART = r"(?:morning|afternoon|evening|night)"
_BARE = r"\d\d?(?::\d\d)?(?: o'clock)?(?![\w:.])"
_CLOCK = r"(?:\d\d?(?:[:.]\d\d)? ?[ap]\.?m(?:\.|\b)|\d\d?:\d\d(?![\w:])|noon|midday|midnight)"
_AT = r"(?:,? (?:(?:at|around|about) )?)"


class TimeWindow(NamedTuple):
    """A period in ns, both ends included; last: only the newest visit counts. phrase: the words in the text."""

    after_ns: int
    before_ns: int
    phrase: str
    last: bool = False


class _Span(NamedTuple):
    """A period from begin to end (exclusive), ns. around_ns: margin added on both sides of a single moment."""

    begin: int
    end: int
    around_ns: int = 0
    last: bool = False


_Words = dict[str, "str | None"]


def window_of(text: str, now_ns: int) -> tuple[TimeWindow | None, str]:
    """Return the time that a text names, relative to `now_ns` in local time, and the text without those words.

    Days and parts of days need calendar stamps; with a simulator's clock only durations are understood.
    """
    window, rest, _ = _found(text, now_ns)
    return window, rest


def unclear_time(text: str, now_ns: int) -> str:
    """Return a message about a time in a text that is not understood or in the future; "" if there is none."""
    window, rest, failed = _found(text, now_ns)
    match = _patterns().timely.search(rest.lower())
    phrase = (failed if window is None and failed else match[0] if match else "").strip()
    if window is not None and window.after_ns > now_ns and "future" not in window.phrase:
        phrase = window.phrase
    elif not phrase or match is None:
        return ""
    elif not match["ahead"]:
        if now_ns < WALL_NS:
            return (f"{phrase!r} is not understood here, because a simulator's stamps have no date: say in the last 10 "
                    "minutes")
        date = re.search(_DATE, phrase)
        if date and _parsed(date[0], now_ns) is None:
            return f"{date[0]!r} is not in the calendar: name another day"
        return (f"{phrase!r} is not understood as a time: say yesterday evening, Monday at 3 pm, 18 November, two "
                "hours ago, in the last 3 days, since 9:00, or between 12:00 and 13:30")
    return f"{phrase!r} lies in the future, but memory holds the past: name an earlier time"


def _found(text: str, now_ns: int) -> tuple[TimeWindow | None, str, str]:
    """Return the window, the text without its words, and words that look like a time but could not be parsed."""
    lowered, failed = text.lower(), ""
    for pattern, reading in _patterns().found:
        if (match := pattern.search(lowered)) is None:
            continue
        if (span := reading(match.groupdict(), now_ns)) is not None:
            rest = " ".join((text[:match.start()] + " " + text[match.end():]).split())
            before = max(1, min(FOR_EVER, span.end + span.around_ns - 1))  # 0 would mean no limit
            return TimeWindow(max(0, span.begin - span.around_ns), before, match[0].strip(), span.last), rest, ""
        failed = failed or match[0]
    return None, text, failed


def _local(stamp_ns: int) -> datetime:
    return datetime.fromtimestamp(stamp_ns / _SECOND)


def _span(begin: datetime, end: datetime) -> _Span:
    """Return the period between two local times; if the clock shows a time twice, both are included."""
    return _Span(min(_ns(begin, 0), _ns(begin, 1)), max(_ns(end, 0), _ns(end, 1)))


def _ns(moment: datetime, fold: int) -> int:
    return round(moment.replace(fold=fold).timestamp() * _SECOND)


def _midnight(day: datetime, later: int = 0) -> datetime:
    return datetime.combine(day.date() + timedelta(days=later), time())


def _parsed(words: str, now_ns: int) -> datetime | None:
    """Return the moment as the library parses it, preferring the past if ambiguous; None if it cannot."""
    import dateparser  # the first call takes half a second

    moment: datetime | None = dateparser.parse(words, languages=["en"], settings={
        "RELATIVE_BASE": _local(now_ns), "PREFER_DATES_FROM": "past", "DATE_ORDER": "DMY", "TIMEZONE": "UTC"})
    return moment


def _moment(words: _Words, now_ns: int) -> _Span | None:
    """Parse a day, part of a day or time of day. A number alone is not a time of day: 9 may be in the evening."""
    day, part, clock, later = (words.get(name) or "" for name in ("day", "part", "clock", "later"))
    part = part or later
    if which := words.get("which"):
        day = "yesterday" if which == "last" else "today"
    if re.fullmatch(_BARE, clock) and (part or ":" not in clock):
        clock = _with_half(clock.removesuffix(" o'clock"), part)
    if now_ns < WALL_NS or (clock and _parsed(clock, now_ns) is None) or (not clock and words.get("clock")):
        return None
    ago = re.fullmatch(r"(.+) (day|week|month|year)s? ago", day)
    if ago:
        day = f"{_NUMBERS.get(ago[1], ago[1])} {ago[2]}s ago"
    moment = _parsed(f"{re.sub('^(this past|past|last) ', '', day)} {clock}".strip(), now_ns)
    if moment is None:
        return None
    if clock:
        moment += timedelta(days=int(part == "night" and moment.hour < 12))
        return _span(moment, moment)._replace(around_ns=_AROUND_NS)
    beside = _BESIDE[ago[2]] if ago else 0
    if part:
        first, last = _PARTS[part]
        return _span(_midnight(moment) + timedelta(hours=first), _midnight(moment) + timedelta(hours=last))
    return _span(_midnight(moment, -beside), _midnight(moment, beside + 1))


def _with_half(clock: str, part: str) -> str:
    """Return "9" in the evening as "9 pm"; "" without a part of the day, unchanged if it is a 24-hour time."""
    hour = int(clock.split(":")[0])
    if hour == 0 or hour > 12:
        return clock if ":" in clock else f"{clock}:00"
    early = part == "morning" or (part == "night" and (hour < 6 or hour == 12))
    return f"{clock} {'am' if early else 'pm'}" if part else ""


def _between(words: _Words, now_ns: int) -> _Span | None:
    """Parse "between A and B", where A may be just a number; a day before or after applies to both."""
    first, second = words["a"] or "", words["b"] or ""
    firsts = [first]
    if re.fullmatch(r"\d+(?::\d\d)?", first):  # "12 and 1 pm", "18 and 20 november", "9 and 10:30"
        minutes = ":00" if re.match(r"\d+:\d\d", second) and ":" not in first else ""
        whole = re.sub(r"^\d+(?::\d\d)?", first + minutes, second)
        firsts = [whole, re.sub(r"([ap])(\.?m)", lambda m: "ap"[m[1] == "a"] + m[2], whole)]
    if day := words["of"]:
        firsts, second = [f"{first} {day}" for first in firsts], f"{second} {day}"
    end = _read(second, now_ns)
    if end is None:
        return None
    spans = [span for text in firsts for now in (now_ns, end.begin)
             if (now == now_ns or not _COUNTED.search(text)) and (span := _read(text, now)) is not None]
    if spans and second.endswith("ago"):  # 10 and 20 minutes ago, or 20 and 10
        return _Span(min(end.begin, spans[0].begin), max(end.end, spans[0].end))
    begins = [span.begin for span in spans if span.begin <= end.begin]
    return _Span(max(begins), end.end) if begins else None


def _edge(words: _Words, now_ns: int) -> _Span | None:
    """Parse "since", "after" and "before". "before 9:00" starts with that day, before a day with the oldest stamp."""
    span = _read(words["edge"] or "", now_ns)
    if span is None:
        return None
    if words["which"] == "since":
        return _Span(span.begin, now_ns + 1)
    if words["which"] == "after":
        return _Span(span.end, max(span.end, now_ns) + 1)
    clock_only = re.fullmatch(_CLOCK, words["edge"] or "")
    return _Span(_ns(_midnight(_local(span.begin)), 0) if clock_only else 0, span.begin)


def _counts(text: str) -> tuple[float, float, int]:
    """Return the minimum and maximum seconds of a duration ("two hours and a half"), and the seconds of its unit."""
    low = high = 0.0
    unit = 1
    pattern = rf"({_COUNT}) (and a half )?({_any(_UNITS)})s?( and a half)?"
    for count, half, name, half_after in re.findall(pattern, text):
        number = _NUMBERS[count] if count in _NUMBERS else 0.0 if count in _VAGUE else float(count)
        least, most = _VAGUE.get(count, (number, number))
        unit, more = _UNITS[name], 0.5 if half or half_after else 0.0
        low, high = low + (least + more) * unit, high + (most + more) * unit
    return low, high, unit


def _ago(words: _Words, now_ns: int) -> _Span:
    low, high, unit = _counts(words["ago"] or "")
    begin, end = (now_ns - round(seconds * _SECOND) for seconds in (high, low))
    return _Span(begin, end, unit * _SECOND // 2 if low == high else 0)


def _lately(words: _Words, now_ns: int) -> _Span:
    text = words["lately"] or ""
    _, high, _ = _counts(text if text.removesuffix("s") not in _UNITS else f"one {text}")
    return _Span(max(0, now_ns - round(high * _SECOND)), now_ns + 1)


def _older(words: _Words, now_ns: int) -> _Span:
    return _Span(0, now_ns - round(_counts(words["older"] or "")[1] * _SECOND))


def _calendar(words: _Words, now_ns: int) -> _Span | None:
    """Parse a calendar week, weekend, month or year; a weekend counts once its Saturday has begun."""
    if now_ns < WALL_NS:
        return None
    today, back, unit = _midnight(_local(now_ns)), words["which"] == "last", words["unit"]
    if unit == "week":
        begin = _midnight(today, -today.weekday() - 7 * back)
        return _span(begin, _midnight(begin, 7))
    if unit == "weekend":
        begin = _midnight(today, -((today.weekday() + 2) % 7) - 7 * (back and today.weekday() > 4))
        return _span(begin, _midnight(begin, 2))
    if unit == "year":
        begin = today.replace(year=today.year - back, month=1, day=1)
        return _span(begin, begin.replace(year=begin.year + 1))
    begin = (today.replace(day=1) - timedelta(days=int(back))).replace(day=1)
    return _span(begin, _midnight(begin, 32).replace(day=1))


def _month(words: _Words, now_ns: int) -> _Span | None:
    month, year = words["month"], words["year"] or ""
    begin = _parsed(f"1 {month or 'january'} {year}".strip(), now_ns) if now_ns >= WALL_NS else None
    if begin is None:
        return None
    return _span(_midnight(begin), _midnight(begin, 32 if month else 366).replace(day=1))


def _last_time(words: _Words, now_ns: int) -> _Span:
    return _Span(0, now_ns + 1, last=True)


def _future(words: _Words, now_ns: int) -> _Span:
    return _Span(now_ns + 1, FOR_EVER + 1)


_Reading = Callable[[_Words, int], "_Span | None"]
# Words before a time in a text, the time, its parser; patterns with more words first.
_PREPOSITION = r"(?:(?:on|at|in|around|about|during|over|within|from|for|of) )?(?:the )?"
_SPANS: tuple[tuple[str, str, _Reading], ...] = (
    (_PREPOSITION, rf"(?P<clock>{_CLOCK}),? (?:on )?(?:the )?(?P<day>{_DAY})", _moment),
    (_PREPOSITION, rf"(?P<clock>{_BARE}) in the (?P<part>{_PART}),? (?:on |of )?(?:the )?(?P<day>{_DAY})", _moment),
    (_PREPOSITION, rf"(?P<part>{_PART}) (?:of|on) (?:the )?(?P<day>{_DAY})", _moment),
    (_PREPOSITION, rf"(?P<day>{_DAY})(?:,?(?: in the| at)? (?P<part>{_PART}))?"
                   rf"(?:(?:{_AT}|t)(?P<clock>{_CLOCK}|(?<=at ){_BARE})(?: in the (?P<later>{_PART}))?)?", _moment),
    ("", rf"(?P<which>this|last|to)[ -]?(?P<part>{_PART})(?:{_AT}(?P<clock>{_CLOCK}|(?<=at ){_BARE}))?", _moment),
    ("(?:at |around |about |^)", rf"(?P<clock>{_CLOCK})", _moment),
    (_PREPOSITION, rf"(?P<clock>{_BARE}) in the (?P<part>{_PART})", _moment),
    ("", rf"(?P<ago>{_SPELL}) ago", _ago),
    ("(?:(?:in|within|during|over|for) )?(?:the )?", rf"(?:last|past) (?P<lately>{_SPELL}|second|minute|hour)",
     _lately),
    ("", rf"(?:the )?past (?P<lately>{_any(_UNITS)})", _lately),
    ("(?:in|within|during|over|for) ", rf"the (?:last|past) (?P<lately>{_any(_UNITS)})", _lately),
    (_PREPOSITION, r"(?:(?P<which>this|last|past) )?(?P<unit>weekend)", _calendar),
    (_PREPOSITION, r"(?P<which>this|last) (?P<unit>week|month|year)", _calendar),
    ("(?:in|during|last) ", rf"(?:(?P<month>{_MONTH}) )?(?P<year>{_YEAR})", _month),
    ("(?:in|during|last) ", rf"(?P<month>{_MONTH})(?P<year>)", _month),
)
_ONE = "(?:the )?(?:" + "|".join(re.sub(r"\(\?P<\w+>", "(?:", core) for _, core, _ in _SPANS) + f"|{_CLOCK})"
_FORMS: tuple[tuple[str, _Reading], ...] = (
    (rf"(?:(?:on )?(?:the )?(?P<of>{_DAY}),? )?(?:between|from) (?P<a>{_ONE}|\d+(?::\d\d)?) (?:and|to|until|till) "
     rf"(?P<b>{_ONE})", _between),
    (rf"(?<!day )(?P<which>since|after|before) (?P<edge>{_ONE})", _edge),
    (rf"(?:older|more) than (?P<older>{_SPELL})(?: ago| old)?", _older),
    *((prefix + f"(?:{core})", reading) for prefix, core, reading in _SPANS),
    (r"(?:(?:in|from) )?the future", _future),
    (r"(?:the )?(?:last|most recent) time|most recently", _last_time))
_TIMELY = (
    rf"(?P<ahead>\btomorrow\b|\bnext (?:{_WEEKDAY}|{_any(_UNITS)}|weekend)\b|\bin {_SPELL}(?!\w| ago))",
    rf"\b{_DATE}\b", rf"\b\d+(?:st|nd|rd|th)?(?: of)? {_MONTH}\b", r"\b\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}\b",
    r"(?:\b(?:at|around|about|by|since|before|after|until|till|between) )?"
    r"(?:\b(?:half|quarter) (?:past|to) \w+|\b\d\d?(?:[:.]\d\d)? ?(?:[ap]\.?m\b|o'clock)|\b\d\d?:\d\d\b|"
    r"\b(?:noon|midday|midnight)\b)",
    r"\b(?:at|around|about|by|since|before|after|until|till) \d\d?(?=[\s?!.,]*$)",
    r"\bon the \d+(?:st|nd|rd|th)\b", r"\bon (?:mon|tues?|wed|thu|fri|sat|sun)\b", rf"\bof {_MONTH}(?!\w)",
    rf"\b(?:(?:until|till|by) )?(?:{_WEEKDAY}|yesterday|today|tonight|weekend|fortnight|utc|gmt)\b",
    r"\b(?:\w+ ){1,2}ago\b",
    rf"\b(?:last|past|this|previous) (?:\w+ )?(?:{_any(_UNITS)}s?|{_PART})\b",
    r"\b(?:january|february|april|june|july|august|september|october|november|december)\b")


class _Patterns(NamedTuple):
    """found: times in a text; read: a time and nothing else; timely: words that suggest a time."""

    found: tuple[tuple[re.Pattern[str], _Reading], ...]
    read: tuple[tuple[re.Pattern[str], _Reading], ...]
    timely: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    """Return the patterns, compiled at first use because that takes a tenth of a second."""
    return _Patterns(
        tuple((re.compile(rf"(?<!\w)(?<!next )(?<!until )(?<!till ){form}(?!\w)"), read) for form, read in _FORMS),
        tuple((re.compile(f"(?:{prefix})?(?:the )?(?:{core})"), read) for prefix, core, read in _SPANS),
        re.compile("|".join(_TIMELY)))


def _read(text: str, now_ns: int) -> _Span | None:
    """Return the period if the whole text is a time; moments have no margin."""
    for pattern, reading in _patterns().read:
        match = pattern.fullmatch(text)
        span = reading(match.groupdict(), now_ns) if match else None
        if span is not None:
            return span
    return None


def about_time(text: str, now_ns: int) -> bool:
    """Return whether a question is about time or change, so that the time of a view matters."""
    return bool(_OF_TIME.search(text.lower())) or window_of(text, now_ns)[0] is not None


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
