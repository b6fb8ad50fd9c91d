"""What the looks of each patrol say of a thing, where a detector may have lost it or misnamed another one.

What looks agree on counts as they saw it. These rules are about what a single look says against others:

- Objects of one name whose boxes share a quarter of the smaller one are one thing, whatever made a detector split it.
- A patrol that saw a thing in one look only, where others saw it in more, counts as misnamed if the patrols before and
  after it looked there without seeing it.
- So does one that saw another thing of that name in more looks.
- A state that only the last of several looks of a patrol saw does not count, but for the newest patrol.
- Patrols that look into a room as much as those that saw a thing there, and do not see it, prove from the second one on
  that it is gone, also where no look could see through its place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from statistics import median
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory.in_words import name_of
from eqa_nodes.core.memory.ledger import EMPTY, NOT_LOOKED, SEEN, ObjectSpell, PatrolOfObject, RoomLooks, counting
from eqa_nodes.core.memory.reading import MemoryReader
from eqa_nodes.core.types.questions import MemoryObject
from eqa_nodes.core.types.views import overlap

_ONE_THING, _SLACK_M = 0.25, 0.05  # share of the smaller box that two objects have in common, as in ObjectsConfig
_NEARLY_ALWAYS, _OFTEN = 0.8, 5  # share of the patrols in a room that saw a thing, and least number of them
_TENTH = 0.1  # share of the patrols
_BESIDE = 2  # patrols on either side of one that alone saw a thing

_LooksInto = Callable[[str], Mapping[int, RoomLooks]]  # room -> looks into it by number of the patrol


class ThingHistory(NamedTuple):
    """One thing: the objects that are it, what each patrol says of it, and its usual number of looks on a patrol."""

    objects: tuple[MemoryObject, ...]
    patrols: tuple[PatrolOfObject, ...]
    usual: float

    def is_weak(self, one: PatrolOfObject) -> bool:
        """Return whether a patrol saw the thing in one look only, and others usually in more."""
        return looks_of(one) == 1 < self.usual

    def there(self, before_ns: float = math.inf) -> bool:
        """Return whether the newest patrol that looked for the thing, of those that began before a stamp, saw it."""
        return next((one.outcome == SEEN for one in reversed(self.patrols)
                     if one.outcome != NOT_LOOKED and one.patrol.first_ns < before_ns), False)

    def looked(self, before_ns: float) -> bool:
        """Return whether a patrol looked for the thing that began before a stamp."""
        return any(one.outcome != NOT_LOOKED and one.patrol.first_ns < before_ns for one in self.patrols)

    @property
    def came_ns(self) -> int:
        """Stamp of the first look that saw it since its place was seen empty for the last time."""
        last = max((n for n, one in enumerate(self.patrols) if one.outcome == EMPTY), default=-1)
        return next((one.spells[0].first_ns for one in self.patrols[last + 1:] if one.spells), 0)

    @property
    def away(self) -> list[PatrolOfObject]:
        """The patrols that found its place empty since it was seen last."""
        last = max((n for n, one in enumerate(self.patrols) if one.outcome == SEEN), default=len(self.patrols))
        return [one for one in self.patrols[last + 1:] if one.outcome == EMPTY]

    @property
    def gone_ns(self) -> int:
        """Stamp of the first look at its empty place since it was seen last, 0 = none."""
        return next((one.empty_ns or one.patrol.first_ns for one in self.away), 0)


def looks_of(one: PatrolOfObject) -> int:
    """Return the number of looks of a patrol that saw a thing."""
    return sum(spell.looks for spell in one.spells)


def thing_histories(store: MemoryReader, objects: Sequence[MemoryObject]) -> list[ThingHistory]:
    """Return what every patrol says of the things that some objects are, each without single looks against others."""
    return _histories(store, objects, cache(partial(_looks_into, store)))


def _histories(store: MemoryReader, objects: Sequence[MemoryObject], looks_into: _LooksInto) -> list[ThingHistory]:
    found = [_believed(store, same, looks_into) for same in _things(objects)]
    names = [canonical(name_of(same.objects[0])) for same in found]
    sure = {(name, one.patrol.number) for name, same in zip(names, found, strict=True) for one in same.patrols
            if looks_of(one) > 1}
    return [same._replace(patrols=tuple(
        _unseen(one) if same.is_weak(one) and (name, one.patrol.number) in sure else one for one in same.patrols))
        for name, same in zip(names, found, strict=True)]


def _unseen(one: PatrolOfObject) -> PatrolOfObject:
    """Return a patrol whose only look at a thing does not count."""
    return one._replace(outcome=EMPTY if one.empty else NOT_LOOKED, now=None, spells=())


def _things(objects: Sequence[MemoryObject]) -> list[list[MemoryObject]]:
    """Return the objects that are one thing: of one name, with boxes that overlap."""
    things: list[list[MemoryObject]] = []
    for o in objects:
        joined = [same for same in things if any(_is_one(o, other) for other in same)]
        things = [same for same in things if same not in joined]
        things.append([*(other for same in joined for other in same), o])
    return [sorted(same, key=lambda o: o.id) for same in sorted(things, key=lambda same: same[0].id)]


def _is_one(a: MemoryObject, b: MemoryObject) -> bool:
    return a.here and b.here and canonical(name_of(a)) == canonical(name_of(b)) and bool(
        overlap(np.array([a.low]), np.array([a.high]), b.low, b.high, _SLACK_M)[0] >= _ONE_THING)


def _looks_into(store: MemoryReader, room: str) -> dict[int, RoomLooks]:
    return {row.patrol.number: row for row in store.room_history(room) if isinstance(row, RoomLooks)}


def _believed(store: MemoryReader, objects: Sequence[MemoryObject], looks_into: _LooksInto) -> ThingHistory:
    patrols = [_together(same) for same in zip(*(store.history(o.id) for o in objects), strict=True)]
    looks = [looks_of(one) for one in patrols if one.outcome == SEEN]
    usual = median(looks) if looks else 0
    rooms = Counter(one.now.room for one in patrols if one.now is not None and one.now.room)
    if rooms and len(looks) >= _OFTEN:
        (room, _), *_ = rooms.most_common(1)
        patrols = list(_with_absences(patrols, _as_thorough(patrols, looks_into(room))))
    return ThingHistory(tuple(objects), tuple(_without_misreadings(list(_without_misnamings(patrols, usual)))), usual)


def _together(same: Sequence[PatrolOfObject]) -> PatrolOfObject:
    """Return what a patrol says of one thing that memory holds as several objects."""
    if len(same) == 1:
        return same[0]
    spells = tuple(sorted((spell for one in same for spell in one.spells), key=lambda s: (s.first_ns, s.last_ns)))
    outcomes = {one.outcome for one in same}
    outcome = next(name for name in (SEEN, EMPTY, NOT_LOOKED) if name in outcomes)
    merged = _merged(spells)
    return PatrolOfObject(same[0].patrol, outcome, counting(merged), merged, max(one.empty for one in same),
                          min((one.empty_ns for one in same if one.empty_ns), default=0))


def _merged(spells: Sequence[ObjectSpell]) -> tuple[ObjectSpell, ...]:
    """Return spells in the same place and state as one, in the order of time."""
    found: dict[tuple[str, str, str], ObjectSpell] = {}
    for s in spells:
        key = s.room, s.support, s.state
        o = found.get(key)
        found[key] = s if o is None else o._replace(last_ns=max(o.last_ns, s.last_ns), looks=o.looks + s.looks)
    return tuple(found.values())


def _as_thorough(patrols: Sequence[PatrolOfObject], into: Mapping[int, RoomLooks]) -> dict[int, RoomLooks]:
    """Return the patrols that looked into a room as much as nine of ten that saw a thing there."""
    looks = sorted(into[one.patrol.number].looks for one in patrols
                   if one.outcome == SEEN and one.patrol.number in into)
    least = looks[round(_TENTH * len(looks))] if looks else 0
    return {number: row for number, row in into.items() if row.looks >= least}


def _with_absences(patrols: Sequence[PatrolOfObject], entered: Mapping[int, RoomLooks]) -> Iterator[PatrolOfObject]:
    """Yield the patrols; those that looked into the room of a thing, and twice in a row did not see it, as empty."""
    inside = [i for i, one in enumerate(patrols) if one.outcome != NOT_LOOKED or one.patrol.number in entered]
    first = next((n for n, i in enumerate(inside) if patrols[i].outcome == SEEN), len(inside))
    inside = inside[first:]
    seen = sum(patrols[i].outcome == SEEN for i in inside)
    overlooked = [i for n, i in enumerate(inside) if patrols[i].outcome == NOT_LOOKED and not any(
        patrols[j].outcome != SEEN for j in (*inside[max(0, n - 1):n], *inside[n + 1:n + 2]))]
    often = seen >= _OFTEN and seen >= _NEARLY_ALWAYS * (seen + len(overlooked))
    for i, one in enumerate(patrols):
        if often and i in inside and one.outcome == NOT_LOOKED and i not in overlooked:
            looks = entered[one.patrol.number]
            yield one._replace(outcome=EMPTY, empty=1, empty_ns=looks.first_ns)
        else:
            yield one


def _without_misnamings(patrols: Sequence[PatrolOfObject], usual: float) -> Iterator[PatrolOfObject]:
    """Yield the patrols; one that alone saw a thing, and in one look only, as one that did not see it.

    Alone: the two before it and the two after it looked there in vain, or none was before it.
    """
    looked = [i for i, one in enumerate(patrols) if one.outcome != NOT_LOOKED]
    absent = [patrols[i].outcome == EMPTY for i in looked]
    alone = {i for n, i in enumerate(looked) if all(absent[max(0, n - _BESIDE):n]) and len(absent) > n + _BESIDE
             and all(absent[n + 1:n + 1 + _BESIDE])}
    for i, one in enumerate(patrols):
        if i in alone and looks_of(one) == 1 < usual:
            yield _unseen(one)
        else:
            yield one


def _without_misreadings(patrols: Sequence[PatrolOfObject]) -> Iterator[PatrolOfObject]:
    """Yield the patrols; a state that only the last of several looks saw does not count, but for the newest patrol."""
    newest = max((i for i, one in enumerate(patrols) if one.now is not None), default=0)
    for i, one in enumerate(patrols):
        most = max(one.spells, key=lambda spell: (spell.looks, spell.last_ns), default=None)
        alone = i != newest and most is not None and one.now is not None and one.now.looks == 1 < most.looks
        yield one._replace(now=most) if alone else one


def last_seen(store: MemoryReader, objects: Sequence[MemoryObject]) -> MemoryObject | None:
    """Return the object that was seen last, as it was then; None if the ledger has no look that saw one of them."""
    return newest_of(store, thing_histories(store, store.established(objects) or objects))


def newest_of(store: MemoryReader, things: Sequence[ThingHistory]) -> MemoryObject | None:
    """Return the object of the thing that was seen last, as it was then."""
    seen = [(max(spell.last_ns for spell in one.spells), same) for same in things for one in same.patrols if one.spells]
    if not seen:
        return None
    last_ns, same = max(seen, key=lambda item: item[0])
    for o in same.objects:
        if o.last_ns == last_ns:
            return o if o.gone_ns else o._replace(gone_ns=same.gone_ns)
    found = store.sightings(same.objects, last_ns, last_ns)
    return found[-1]._replace(gone_ns=same.gone_ns) if found else None


def by_name(store: MemoryReader, objects: Sequence[MemoryObject]) -> dict[str, list[ThingHistory]]:
    """Return the things of each name."""
    named: dict[str, list[MemoryObject]] = {}
    for o in objects:
        named.setdefault(canonical(name_of(o)), []).append(o)
    looks_into = cache(partial(_looks_into, store))
    return {name: _histories(store, same, looks_into) for name, same in named.items()}


def loses_looks(same: ThingHistory) -> bool:
    """Return whether a tenth of the patrols that saw a thing saw it in fewer looks than most of them."""
    looks = [looks_of(one) for one in same.patrols if one.now is not None]
    return sum(count < same.usual for count in looks) >= _TENTH * len(looks)
