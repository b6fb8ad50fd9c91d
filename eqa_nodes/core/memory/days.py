"""Reads the days, parts of days and times of day of a phrase ("Monday last week", "the 18th", "half past three")."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, time, timedelta

from eqa_nodes.core.language.time_words import COUNTS, MONTHS, NUMBERS, UNITS, WEEKDAYS, TimeToken

PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 23), "night": (21, 30), "lunchtime": (12, 14)}
BESIDE = {"day": 0, "week": 1, "fortnight": 1, "month": 7, "year": 30}  # days on both sides of "a week ago"
WORKS = ("say yesterday evening, Monday at 3 pm, 18 November, two hours ago, in the last 3 days, since 9:00, or "
         "between 12:00 and 13:30")
_SOON = timedelta(days=31)  # a date without a year that begins so soon may be the coming one

Days = tuple[datetime, datetime]  # the first midnight and the one after the last day


class UnclearTime(Exception):
    """A time that is not understood; the text says why, with words that work."""


def not_understood(phrase: str) -> UnclearTime:
    """Return the error for words that are no time."""
    return UnclearTime(f"{phrase!r} is not understood as a time: {WORKS}")


def midnight(day: datetime, later: int = 0) -> datetime:
    """Return the midnight at which a day begins, or one so many days later."""
    return datetime.combine(day.date() + timedelta(days=later), time())


def days_of(words: Sequence[TimeToken], now: datetime, exact: bool) -> Days | None:
    """Return the day or days that words name, None for none; exact: "a week ago" is one day. Raises UnclearTime.

    Several names must mean the same day: "Wednesday, 18 November", "Monday last week".
    """
    named = [t for t in words if t.name in _DAYS or (t.name == "part" and _which(t))]
    if not named:
        return None
    exact = exact or len(words) > 1
    spans = sorted(((_days(token, now, exact), token) for token in named), key=lambda pair: pair[0][0] - pair[0][1])
    (found, first), *others = spans
    for days, token in others:
        if found[1] - found[0] == timedelta(days=7) and token.name == "weekday":
            found = next(day for day in (_one(found[0], i) for i in range(7)) if day[0].weekday() == days[0].weekday())
        elif {first.name, token.name} in ({"weekday", "date"}, {"weekday", "nth"}):
            found, day = (days, found) if first.name == "weekday" else (found, days)
            if found[0].weekday() != day[0].weekday():
                raise UnclearTime(f"{first.text + ' ' + token.text!r} is a {found[0]:%A}, not a {day[0]:%A}: name the "
                                  "day or the date")
        elif days != found:
            raise not_understood(token.text)
    return found


def part_of(words: Sequence[TimeToken]) -> str:
    """Return the part of the day that words name, "" for none. Raises UnclearTime for several."""
    parts = {"night" if t.name == "at night" or "night" in t.said else t.said["part"].replace(" ", "")
             for t in words if t.name in ("part", "at night")}
    if len(parts) > 1:
        raise not_understood(" ".join(t.text for t in words))
    return next(iter(parts), "")


def clock_of(token: TimeToken, part: str) -> time:
    """Return a time of day. A number up to 12 needs "am", "pm", minutes or a part of the day. Raises UnclearTime."""
    word = token.said.get("clock", "")
    if word in ("noon", "midday", "midnight"):
        return time(0 if word == "midnight" else 12)
    read = re.fullmatch(r"(\d+)(?:[:.](\d+))?(?::\d+)? ?([ap]?)\.?m?\.?", word or _hour(token.said))
    hour, minute, half = read.groups("") if read is not None else ("99", "", "")
    hours, minutes = int(hour), int(minute or 0)
    if hours > (12 if half else 23) or minutes > 59 or (half and not hours):
        raise UnclearTime(f"{token.text!r} is not a time of day: say 9:30, 21:30 or 9 pm")
    if half or not 0 < hours <= 12 or (word and not part):
        return time(hours % 12 + 12 * (half == "p") if half else hours, minutes)
    if not part:
        raise UnclearTime(f"{token.text!r} may be in the morning or in the evening: say {hours % 12}:{minutes:02} or "
                          f"{hours % 12 + 12}:{minutes:02}")
    early = part == "morning" or (part == "night" and (hours < 6 or hours == 12))
    return time(hours % 12 + 12 * (not early), minutes)


def moment_of(days: Days | None, clock: time, part: str, now: datetime) -> datetime:
    """Return a time of day on a day, or the last one that has been; "Monday night at 2 am" is on Tuesday."""
    if days is None:
        today = datetime.combine(now.date(), clock)
        return today if today <= now else today - timedelta(days=1)
    return datetime.combine(days[0].date() + timedelta(days=int(part == "night" and clock.hour < 12)), clock)


def hours_of(days: Days | None, part: str, now: datetime) -> Days:
    """Return the hours of a part of a day, or of the last one that has begun. Raises UnclearTime for several days."""
    first, last = (timedelta(hours=hour) for hour in PARTS[part])
    if days is None:
        days = _one(now, 0 if midnight(now) + first <= now else -1)
    if midnight(days[0], 1) != days[1]:
        raise UnclearTime(f"the {part} of several days is not understood: say the {part} of one day, such as Monday "
                          f"{part}")
    return days[0] + first, days[0] + last


def _hour(said: dict[str, str]) -> str:
    """Return "half past three" as 3:30."""
    hour = int(NUMBERS.get(said["hour"]) or said["hour"])
    if "side" not in said:
        return str(hour)
    minutes = 30 if said["fraction"] == "half" else 15
    return f"{hour}:{minutes:02}" if said["side"] == "past" else f"{(hour - 1) or 12}:{60 - minutes:02}"


def _one(day: datetime, later: int = 0) -> Days:
    return midnight(day, later), midnight(day, later + 1)


def _which(token: TimeToken) -> str:
    return token.said.get("before") or token.said.get("which") or token.said.get("night", "")


def _days(token: TimeToken, now: datetime, exact: bool) -> Days:
    if token.name == "part":
        return _one(now, {"last": -1, "overnight": -1, " before last": -2}.get(_which(token), 0))
    if token.name == "ago":
        return _ago(token, now, exact or "exact" in token.said)
    return _DAYS[token.name](token, now)


def _relative(token: TimeToken, now: datetime) -> Days:
    return _one(now, {"today": 0, "yesterday": -1}.get(token.said["rel"], -2))


def _weekday(token: TimeToken, now: datetime) -> Days:
    """Return the last such day before today; "this Monday" is that of this week, "before last" a week earlier."""
    number = next(i for i, day in enumerate(WEEKDAYS) if day.startswith(token.said["weekday"]))
    if token.said.get("which") == "this":
        return _one(now, number - now.weekday())
    return _one(now, -((now.weekday() - number - 1) % 7 + 1) - 7 * ("before" in token.said))


def _date(token: TimeToken, now: datetime) -> Days:
    """Return a date; without a year the last one that has begun, unless one comes soon."""
    said, name = token.said, _bare(token)
    day, month = int(said["day"]), _month_number(said["month"])
    if said.get("mark") == "/":
        if day != month and 0 < day <= 12 and 0 < month <= 12:
            raise UnclearTime(f"{name!r} may be {day} {MONTHS[month - 1].title()} or {month} "
                              f"{MONTHS[day - 1].title()}: write the month as a word")
        day, month = (month, day) if month > 12 else (day, month)
    years = [int(said["year"])] if "year" in said else [now.year - back for back in range(-1, 8)]
    real = [datetime(year, month, day) for year in years if _exists(year, month, day)]
    if not real:
        raise UnclearTime(f"{name!r} is not in the calendar: name another day")
    past = [date for date in real if date <= now]
    if "year" not in said and len(real) > len(past) and real[len(real) - len(past) - 1] - now < _SOON:
        raise UnclearTime(f"{name!r} lies in the future, or is that of {past[0].year}: add the year")
    return _one(real[0] if "year" in said else past[0])


def _nth(token: TimeToken, now: datetime) -> Days:
    """Return the last such day of a month, "the 31st", that has begun."""
    number, month = int(token.said["nth"]), now.replace(day=1)
    while number > 31 or not _exists(month.year, month.month, number) or month.replace(day=number).date() > now.date():
        if not 0 < number <= 31:
            raise UnclearTime(f"{_bare(token)!r} is not in the calendar: name another day")
        month = (month - timedelta(days=1)).replace(day=1)
    return _one(month.replace(day=number))


def _exists(year: int, month: int, day: int) -> bool:
    try:
        return bool(datetime(year, month, day))
    except ValueError:
        return False


def _bare(token: TimeToken) -> str:
    return re.sub(r"^(?:on |of |the )+", "", token.text, flags=re.IGNORECASE)


def _month_number(name: str) -> int:
    return int(name) if name.isdecimal() else next(i for i, m in enumerate(MONTHS, 1) if m.startswith(name[:3]))


def _ago(token: TimeToken, now: datetime, exact: bool) -> Days:
    """Return the day "three weeks ago", with the days beside it unless it is named exactly."""
    (count, _, unit, _), = COUNTS.findall(token.said["ago"])
    number = int(NUMBERS.get(count) or count)
    beside = 0 if exact else BESIDE[unit]
    if unit not in ("month", "year"):
        day = now - timedelta(seconds=number * UNITS[unit])
    else:
        year, month = divmod(now.year * 12 + now.month - 1 - number * (12 if unit == "year" else 1), 12)
        day = datetime(year, month + 1, next(d for d in range(now.day, 0, -1) if _exists(year, month + 1, d)))
    return midnight(day, -beside), midnight(day, beside + 1)


def _unit(token: TimeToken, now: datetime) -> Days:
    """Return a calendar week, weekend, month or year; a weekend counts once its Saturday has begun."""
    unit, which, today = token.said["unit"], token.said.get("which"), midnight(now)
    back = 2 if "before" in token.said else int(which == "last")
    if unit == "week":
        return midnight(today, -today.weekday() - 7 * back), midnight(today, 7 - today.weekday() - 7 * back)
    if unit == "weekend":
        if which == "this" and today.weekday() in (3, 4):
            back = -1
        elif today.weekday() < 5:
            back = max(0, back - 1)
        saturday = -((today.weekday() + 2) % 7) - 7 * back
        return midnight(today, saturday), midnight(today, saturday + 2)
    if unit == "year":
        return datetime(today.year - back, 1, 1), datetime(today.year - back + 1, 1, 1)
    return _whole_month(*divmod(today.year * 12 + today.month - 1 - back, 12))


def _month(token: TimeToken, now: datetime) -> Days:
    if year := token.said.get("only_year"):
        return datetime(int(year), 1, 1), datetime(int(year) + 1, 1, 1)
    number = _month_number(token.said["month"])
    return _whole_month(int(token.said.get("year", now.year - (number > now.month))), number - 1)


def _whole_month(year: int, months: int) -> Days:
    begin = datetime(year, months + 1, 1)
    return begin, midnight(begin, 32).replace(day=1)


_DAYS: dict[str, Callable[[TimeToken, datetime], Days]] = {
    "rel": _relative, "weekday": _weekday, "date": _date, "nth": _nth, "unit": _unit, "month": _month,
    "ago": lambda token, now: _ago(token, now, True)}
