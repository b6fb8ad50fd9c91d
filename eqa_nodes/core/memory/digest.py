"""What happened within a time, from the ledger: what was moved, came, went, came back, or changed its state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory.in_words import name_of, spell_place
from eqa_nodes.core.memory.ledger import EMPTY, SEEN, PatrolOfObject, RoomLooks
from eqa_nodes.core.memory.reading import MemoryReader
from eqa_nodes.core.types.questions import MemoryObject


class DayEvent(NamedTuple):
    """One change between two looks: before_ns, the last that saw it as it was (0 = never), and at_ns, the first after.

    name: "red kettle"; was, now: its place or state, "" = not there; views: ids of keyframes that show both.
    """

    name: str
    was: str
    now: str
    before_ns: int
    at_ns: int
    views: tuple[int, ...]

    @property
    def text(self) -> str:
        """The change in words: "the red kettle: on the counter in the kitchen, now gone"."""
        if not self.was:
            return f"the {self.name}: {self.now}, where it had not been seen before" if not self.before_ns else (
                f"the {self.name} is back: {self.now}")
        return f"the {self.name}: {self.was}, now {self.now or 'gone'}"


class _Sight(NamedTuple):
    """A thing as one patrol saw it last; place "" = its place was empty. first_ns, last_ns: looks that saw it so."""

    place: str
    state: str
    first_ns: int
    last_ns: int


def events(store: MemoryReader, after_ns: int, before_ns: int) -> list[DayEvent]:
    """Return the changes that were seen within a time, oldest first."""
    found = [event for objects in _things(store) for event in _of(store, objects)
             if after_ns <= event.at_ns <= before_ns]
    return sorted(found, key=lambda event: (event.at_ns, event.name))


def _things(store: MemoryReader) -> Iterator[list[MemoryObject]]:
    """Yield the objects that are one thing: of one name, and never seen on the same patrol."""
    by_name: dict[str, list[MemoryObject]] = {}
    for o in store.objects():
        if o.here:
            by_name.setdefault(canonical(name_of(o)), []).append(o)
    for objects in by_name.values():
        together = any(sum(bool(one.spells) for one in same) > 1 for same in _patrols(store, objects))
        yield from ([o] for o in objects) if together else [objects]


def _patrols(store: MemoryReader, objects: Sequence[MemoryObject]) -> Iterator[tuple[PatrolOfObject, ...]]:
    return zip(*(store.history(o.id) for o in objects), strict=True)


def _of(store: MemoryReader, objects: Sequence[MemoryObject]) -> Iterator[DayEvent]:
    """Yield the changes of one thing. That it was seen at all is one only where its room had been seen before."""
    sights = list(_sights(store, objects))
    if not sights:
        return
    name = name_of(objects[0])
    first, room = sights[0], objects[0].room
    known = [row.last_ns for row in store.room_history(room) if isinstance(row, RoomLooks)] if room else []
    if first.place and any(ns < first.first_ns for ns in known):
        yield DayEvent(name, "", first.place, 0, first.first_ns, _views(store, objects, first))
    for a, b in pairwise(sights):
        views = tuple(dict.fromkeys((*_views(store, objects, a), *_views(store, objects, b))))
        if a.place != b.place:
            yield DayEvent(name, a.place, b.place, a.last_ns, b.first_ns, views)
        elif b.place and a.state != b.state:
            yield DayEvent(f"{name} {b.place}", a.state, b.state, a.last_ns, b.first_ns, views)


def _sights(store: MemoryReader, objects: Sequence[MemoryObject]) -> Iterator[_Sight]:
    for same in _patrols(store, objects):
        seen = [one.now for one in same if one.outcome == SEEN and one.now is not None]
        empty = [one.empty_ns for one in same if one.outcome == EMPTY]
        if seen:
            spell = max(seen, key=lambda spell: spell.last_ns)
            yield _Sight(spell_place(spell), spell.state, spell.first_ns, spell.last_ns)
        elif empty:
            yield _Sight("", "", min(filter(None, empty), default=same[0].patrol.last_ns), same[0].patrol.last_ns)


def _views(store: MemoryReader, objects: Sequence[MemoryObject], sight: _Sight) -> tuple[int, ...]:
    """Return the newest view that shows a thing so, () where none is stored."""
    seen = store.sightings(objects, sight.first_ns, sight.last_ns) if sight.place else []
    return tuple(o.keyframe_id for o in seen if o.keyframe_id)[-1:]
