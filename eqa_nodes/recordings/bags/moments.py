"""Moments of an episode out of its messages: the map and the image that were newest when the robot decided.

Several nodes publish, so a map may be recorded a little after the decision that was made on it. Stamps decide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.mapping.map_picture import picture_of
from eqa_nodes.core.memory.keyframes import small_jpeg
from eqa_nodes.core.types.trace import Moment
from eqa_nodes.wire import messages
from eqa_nodes.wire.images import rgb_of

PARTS = ("map", "explored", "color")
_LATE = 3  # moments that a message may still belong to which is recorded after them


class _Open(NamedTuple):
    """A moment in the making. looked: its image is wanted, because no keyframe shows it."""

    stamp_ns: int
    looked: bool
    held: dict[str, Any]


class Moments:
    """Collects moments. Hear every message of PARTS, and note each decision and keyframe, in the recorded order."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}
        self._open: deque[_Open] = deque()
        self._done: list[Moment] = []

    def hear(self, key: str, message: Any) -> None:
        """Take in a message of PARTS."""
        self._last[key] = message
        for moment in self._open:
            if messages.stamp_of(message) <= moment.stamp_ns:
                moment.held[key] = message

    def note(self, stamp_ns: int, looked: bool) -> None:
        """Note a decision (looked) or a keyframe, which has an image of its own."""
        known = next((moment for moment in self._open if moment.stamp_ns == stamp_ns), None)
        if known is None:
            self._open.append(_Open(stamp_ns, looked, dict(self._last)))
        elif not looked:
            self._open[self._open.index(known)] = known._replace(looked=False)
        while len(self._open) > _LATE:
            self._done.append(_closed(self._open.popleft()))

    def all(self) -> list[Moment]:
        """Return the moments, oldest first; nothing is heard after that."""
        while self._open:
            self._done.append(_closed(self._open.popleft()))
        return sorted(self._done, key=lambda moment: moment.stamp_ns)


def _closed(moment: _Open) -> Moment:
    held: Mapping[str, Any] = moment.held
    seen = picture_of(messages.grid_of(held["map"], held.get("explored"))) if "map" in held else None
    view = b""
    if moment.looked and "color" in held:
        with suppress(BadFrame):  # an image that nobody can read is no view
            view = small_jpeg(rgb_of(held["color"]))
    return Moment(moment.stamp_ns, view, seen)
