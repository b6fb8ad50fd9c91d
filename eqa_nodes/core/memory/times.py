"""Writes times in words, and detects questions about time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from eqa_nodes.core.memory.windows import FOR_EVER, WALL_NS, window_of
from eqa_nodes.core.types.questions import Recalled

_SECOND = 10**9
_OF_TIME = re.compile(r"\b(?:when|how long|since|before|after|earlier|ago|first|last|latest|still|any ?more|"
                      r"chang(?:e|es|ed)|moved|gone|missing|different)\b")


def about_time(text: str, now_ns: int) -> bool:
    """Return whether a question is about time or change, so that the time of a view matters."""
    return bool(_OF_TIME.search(text.lower())) or window_of(text, now_ns)[0] is not None


def dated(items: Iterable[Recalled], phrase: Callable[[int], str]) -> list[Recalled]:
    """Return the views with their times added to the captions. phrase: text for a stamp in ns."""
    def told(item: Recalled) -> Recalled:
        view = item.keyframe
        caption = ", ".join(filter(None, (view.caption, phrase(view.stamp_ns))))
        return item._replace(keyframe=replace(view, caption=caption))

    return [told(item) for item in items]


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
        return f"{stamp_ns / _SECOND:.1f} s after the start, {_ago(now_ns - stamp_ns)}"
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


def _ago(span_ns: int) -> str:
    seconds = max(0, span_ns) / _SECOND
    if seconds < 90:
        return f"{seconds:.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 5400 else f"{seconds / 3600:.0f} h ago"


def _local(stamp_ns: int) -> datetime:
    return datetime.fromtimestamp(stamp_ns / _SECOND)
