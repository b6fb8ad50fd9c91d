"""Decides whether a view of a place that earlier patrols have pictures of is worth another picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.objects import ObjectRecord, ObjectUpdate
from eqa_nodes.core.types.views import Sighting

_LARGER = 2.0  # of an object that has changed, a picture must show this much more pixels than the last one
_AS_LARGE = 0.5  # share of the pixels of the best picture ever from which a new one of an unchanged object is worth it


class _Picture(NamedTuple):
    """A stored view of an object."""

    stamp_ns: int
    pixels: int
    state: str


class ObjectPictures:
    """The pictures of each object: one that is new, moved or in another state gets some on the patrol that sees it so.

    An unchanged object gets one when its last is older than refresh_ns, nanoseconds.
    """

    def __init__(self, db: Database, refresh_ns: int) -> None:
        self._db, self.refresh_ns = db, refresh_ns
        self._pictures: dict[int, list[_Picture]] = {}  # read from the file when an object is first asked about
        self._news: dict[int, int] = {}  # object -> beginning of the patrol on which it has changed

    def wanted(self, looked: ObjectUpdate, known: Mapping[int, ObjectRecord], stamp_ns: int,
               patrol_began_ns: int) -> bool:
        """Return whether a look shows something of which there is no recent picture. known: objects before the look.

        Call it for each look: it notes what has changed.
        """
        self._read([o.id for _, o in looked.associated if o.id in known and o.id not in self._pictures])
        for s, o in looked.associated:
            before = known.get(o.id)
            if before is not None and (before.gone_ns or before.attributes.get("state", "") != _state(s)):
                self._news[o.id] = patrol_began_ns
        return any(self._is_worth(s, known.get(o.id), stamp_ns, patrol_began_ns) for s, o in looked.associated)

    def add(self, looked: ObjectUpdate, stamp_ns: int, stored: bool) -> None:
        """Note a look that was written. stored: with its picture."""
        for s, o in looked.associated if stored else ():
            self._pictures.setdefault(o.id, []).append(_Picture(stamp_ns, s.pixels, _state(s)))
        for number in (*looked.merged, *looked.merged.values()):  # the whole has the pictures of its parts in the file
            self._pictures.pop(number, None)

    def _is_worth(self, s: Sighting, before: ObjectRecord | None, stamp_ns: int, patrol_began_ns: int) -> bool:
        if before is None:
            return True
        pictures, oldest_ns = self._pictures[before.id], stamp_ns - self.refresh_ns
        if self._news.get(before.id) == patrol_began_ns or before.first_ns >= patrol_began_ns:
            recent = [p.pixels for p in pictures if p.stamp_ns >= max(patrol_began_ns, oldest_ns)
                      and p.state == _state(s)]
            if recent or self._news.get(before.id) == patrol_began_ns:
                return s.pixels >= _LARGER * max(recent, default=0)
        fresh = any(p.stamp_ns >= oldest_ns for p in pictures)
        return not fresh and s.pixels >= _AS_LARGE * max((p.pixels for p in pictures), default=0)

    def _read(self, numbers: list[int]) -> None:
        """Read the pictures of objects from the file."""
        if not numbers:
            return
        self._pictures.update((number, []) for number in numbers)
        for number, stamp_ns, pixels, attributes in self._db.execute(
                "SELECT object, stamp_ns, pixels, attributes FROM seen JOIN keyframes ON keyframes.id = keyframe "
                "WHERE object IN (SELECT value FROM json_each(?))", (json.dumps(numbers),)):
            self._pictures[number].append(_Picture(stamp_ns, pixels, json.loads(attributes).get("state", "")))


def _state(s: Sighting) -> str:
    return s.label.attributes.get("state", "")
