"""Parses times in questions ("yesterday evening", "two hours ago", "since Monday"), and writes times in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import NamedTuple

from eqa_nodes.core.types.remembered import Recalled

_SECOND = 10**9
FOR_EVER = (1 << 63) - 1  # the largest stamp that a file holds
WALL_NS = 10**18  # stamps from 2001 on are those of a calendar; a simulator's clock begins at 0

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
            "nine": 9, "ten": 10, "twelve": 12, "twenty": 20, "thirty": 30, "half an": 0.5, "half a": 0.5}
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 2592000}
_PARTS = {"morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (17, 23), "night": (21, 30)}
_OF_TIME = re.compile(r"\b(?:when|how long|since|before|after|earlier|ago|first|last|latest|still|any ?more|"
                      r"chang(?:e|es|ed)|moved|gone|missing|different)\b")
_COUNT = r"(\d+(?:\.\d+)?|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + ")"
_PART = "(?: (" + "|".join(_PARTS) + "))?"


class TimeWindow(NamedTuple):
    """A span of time in ns, both ends included; last: only the newest visit counts. phrase: the words that said so."""

    after_ns: int
    before_ns: int
    phrase: str
    last: bool = False


def window_of(text: str, now_ns: int) -> tuple[TimeWindow | None, str]:
    """Return the time that a text names, counted from `now_ns` in local time, and the text without those words.

    Days and parts of days need stamps of a calendar: with a simulator's clock only durations are understood.
    """
    lowered = text.lower()
    for pattern, reading in _FORMS:
        match = pattern.search(lowered)
        window = reading(match, now_ns) if match else None
        if match and window is not None:
            rest = " ".join((text[:match.start()] + " " + text[match.end():]).split())
            return window._replace(phrase=match[0].strip()), rest
    return None, text


def about_time(text: str, now_ns: int) -> bool:
    """Return whether a question is about time or change, so that it matters when a view was taken."""
    return bool(_OF_TIME.search(text.lower())) or window_of(text, now_ns)[0] is not None


def dated(items: Iterable[Recalled], phrase: Callable[[int], str]) -> list[Recalled]:
    """Return the views with captions that say when they were taken. phrase: of a stamp in ns."""
    def told(item: Recalled) -> Recalled:
        view = item.keyframe
        caption = ", ".join(filter(None, (view.caption, phrase(view.stamp_ns))))
        return item._replace(keyframe=replace(view, caption=caption))

    return [told(item) for item in items]


def time_in_recording(stamp_ns: int, start_ns: int, end_ns: int) -> str:
    """Return "3.0 s after the start of 60.0 s", with the date where the stamps are those of a calendar."""
    date = f", on {_local(stamp_ns):%Y-%m-%d at %H:%M:%S}" if stamp_ns >= WALL_NS else ""
    return f"{(stamp_ns - start_ns) / _SECOND:.1f} s after the start of {(end_ns - start_ns) / _SECOND:.1f} s{date}"


def clock_phrase(stamp_ns: int, now_ns: int = 0) -> str:
    """Return "at 18:32:05 on 2026-11-16", without the day where it is that of `now_ns`; of a simulator "at 12.5 s"."""
    if stamp_ns < WALL_NS:
        return f"at {stamp_ns / _SECOND:.1f} s"
    then = _local(stamp_ns)
    return f"at {then:%H:%M:%S}" + (f" on {then:%Y-%m-%d}" if then.date() != _local(now_ns).date() else "")


def time_phrase(stamp_ns: int, now_ns: int) -> str:
    """Return "today at 18:32", "yesterday at ...", "on Monday 16 November 2026 at ..."; of a simulator: "12.5 s"."""
    if stamp_ns < WALL_NS:
        return f"{stamp_ns / _SECOND:.1f} s after the start, {_ago(now_ns - stamp_ns)}"
    then, now = _local(stamp_ns), _local(now_ns)
    days = (now.date() - then.date()).days
    day = {0: "today", 1: "yesterday"}.get(days) or f"on {then:%A} {then.day} {then:%B %Y}"
    return f"{day} at {then:%H:%M}"


def _ago(span_ns: int) -> str:
    seconds = max(0, span_ns) / _SECOND
    if seconds < 90:
        return f"{seconds:.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 5400 else f"{seconds / 3600:.0f} h ago"


def _local(stamp_ns: int) -> datetime:
    return datetime.fromtimestamp(stamp_ns / _SECOND)


def _ns(moment: datetime) -> int:
    return round(moment.timestamp() * _SECOND)


def _window(begin: datetime, end: datetime) -> TimeWindow:
    return TimeWindow(_ns(begin), _ns(end) - 1, "")


def _day(now_ns: int, back: int, part: str | None) -> TimeWindow | None:
    if now_ns < WALL_NS:
        return None
    midnight = datetime.combine(_local(now_ns).date() - timedelta(days=back), time())
    first, last = _PARTS[part] if part else (0, 24)
    return _window(midnight + timedelta(hours=first), midnight + timedelta(hours=last))


def _named_day(match: re.Match[str], now_ns: int) -> TimeWindow | None:
    back = {"today": 0, "yesterday": 1, "day before yesterday": 2}[match[1]]
    return _day(now_ns, back, match[2])


def _part_of_today(match: re.Match[str], now_ns: int) -> TimeWindow | None:
    return _day(now_ns, int(match[1] == "last"), match[2])


def _weekday(match: re.Match[str], now_ns: int) -> TimeWindow | None:
    if now_ns < WALL_NS:
        return None
    back = (_local(now_ns).weekday() - _DAYS.index(match[1])) % 7 or 7
    return _day(now_ns, back, match[2])


def _ago_window(match: re.Match[str], now_ns: int) -> TimeWindow:
    unit = _UNITS[match[2]] * _SECOND
    then = now_ns - round(_number(match[1]) * unit)
    return TimeWindow(max(0, then - unit // 2), then + unit // 2, "")


def _within(match: re.Match[str], now_ns: int) -> TimeWindow:
    return TimeWindow(max(0, now_ns - round(_number(match[1] or "one") * _UNITS[match[2]] * _SECOND)), now_ns, "")


def _week(match: re.Match[str], now_ns: int) -> TimeWindow | None:
    if now_ns < WALL_NS:
        return None
    monday = datetime.combine(_local(now_ns).date(), time()) - timedelta(days=_local(now_ns).weekday())
    begin = monday - timedelta(days=7 if match[1] == "last" else 0)
    return _window(begin, begin + timedelta(days=7))


def _clock(match: re.Match[str], now_ns: int) -> TimeWindow | None:
    if now_ns < WALL_NS:
        return None
    hour, minute = int(match[2]), int(match[3] or 0)
    hour += 12 if match[4] == "pm" and hour < 12 else 0
    if hour > 23 or minute > 59:
        return None
    then = datetime.combine(_local(now_ns).date(), time(hour, minute))
    then -= timedelta(days=1) if _ns(then) > now_ns else timedelta()
    if match[1] == "before":
        return _window(datetime.combine(then.date(), time()), then)
    if match[1] in ("after", "since"):
        return TimeWindow(_ns(then), now_ns, "")
    return _window(then - timedelta(minutes=30), then + timedelta(minutes=30))


def _since(match: re.Match[str], now_ns: int) -> TimeWindow | None:
    found, _ = window_of(match[1], now_ns)
    return found._replace(before_ns=now_ns) if found is not None and not found.last else None


def _last_time(match: re.Match[str], now_ns: int) -> TimeWindow:
    return TimeWindow(0, now_ns, "", last=True)


def _future(match: re.Match[str], now_ns: int) -> TimeWindow:
    return TimeWindow(now_ns + 1, FOR_EVER, "")


def _number(word: str) -> float:
    return _NUMBERS[word] if word in _NUMBERS else float(word)


_Reading = Callable[["re.Match[str]", int], "TimeWindow | None"]
_FORMS: tuple[tuple[re.Pattern[str], _Reading], ...] = tuple((re.compile(form), reading) for form, reading in (
    (r"\bsince (.+)", _since),
    (r"\b(?:the )?(day before yesterday|yesterday|today)" + _PART + r"\b", _named_day),
    (r"\b(this|last|to)[ -]?(" + "|".join(_PARTS) + r")\b", _part_of_today),
    (r"\b(?:on |last )?(" + "|".join(_DAYS) + ")" + _PART + r"\b", _weekday),
    (rf"\b{_COUNT} (second|minute|hour|day|week|month)s? ago\b", _ago_window),
    (rf"\b(?:in|within|during|over) the (?:last|past) (?:{_COUNT} )?(second|minute|hour|day|week|month)s?\b", _within),
    (r"\b(this|last) week\b", _week),
    (r"\b(?:in |from )?the future\b", _future),
    (r"\b(at|around|about|before|after|since) (\d{1,2})(?::(\d\d))? ?(am|pm|o'clock)?\b", _clock),
    (r"\b(?:the )?(?:last|most recent) time\b|\bmost recently\b", _last_time),
))
