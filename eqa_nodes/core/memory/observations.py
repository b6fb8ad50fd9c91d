"""What each patrol says to a question that one patrol can answer, from the ledger.

A patrol that looked is one observation. A patrol that did not look says nothing, which is neither yes nor no.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.rooms import fits_room
from eqa_nodes.core.language.states import state_of
from eqa_nodes.core.memory.believed import looks_of, thing_histories
from eqa_nodes.core.memory.days import PARTS
from eqa_nodes.core.memory.in_words import spell_place
from eqa_nodes.core.memory.ledger import EMPTY, PEOPLE, SEEN, ObjectSpell, PatrolOfObject, PatrolSpan, RoomLooks
from eqa_nodes.core.memory.reading import MemoryReader
from eqa_nodes.core.memory.times import TimesInText
from eqa_nodes.core.types.questions import MemoryObject


class Observation(NamedTuple):
    """What one patrol says to a question. value: a place, "yes", "no", "" = it was not where it had been.

    None: it did not look. at_ns: stamp of the look that counts; looks, against: number of its looks that say so, and
    that say otherwise; usual: number of looks that the patrols usually have which see the thing.
    """

    patrol: PatrolSpan
    value: str | None
    at_ns: int
    looks: int = 1
    against: int = 0
    usual: float = 1

    @property
    def is_lone(self) -> bool:
        """Whether one look alone says so, where patrols usually have more."""
        return self.looks == 1 < self.usual


def observations(store: MemoryReader, asked: Query, objects: Sequence[MemoryObject]) -> list[Observation]:
    """Return what each patrol says, oldest first; of people, that their number in a room was above zero."""
    thing, found = asked.things[0], list[Observation]()
    predicate = asked.predicates[0] if asked.predicates else Thing()
    room = predicate.room or thing.room
    if canonical(thing.kind) in PEOPLE:
        return [Observation(row.patrol, "yes" if row.people else "no", row.first_ns) if isinstance(row, RoomLooks)
                else Observation(row, None, row.last_ns) for row in store.room_history(room)]
    rooms = store.room_history(room) if room and asked.form in ("is", "exists") else []
    entered = {row.patrol.number for row in rooms if isinstance(row, RoomLooks)}
    things = thing_histories(store, objects)
    stood = [min((o.first_ns for o in same.objects if _stood_at(o, thing, predicate)), default=None) for same in things]
    for on_patrol in zip(*(same.patrols for same in things), strict=True):
        usual = max((same.usual for same, one in zip(things, on_patrol, strict=True) if one.outcome == SEEN), default=1)
        found.append(_observed(asked, on_patrol, stood, on_patrol[0].patrol.number in entered)._replace(usual=usual))
    return found


def _observed(asked: Query, on_patrol: Sequence[PatrolOfObject],
              stood: Sequence[int | None], entered: bool) -> Observation:
    """Return what one patrol says. stood: since when each thing was known in the place asked about, None = never."""
    thing, patrol = asked.things[0], on_patrol[0].patrol
    predicate = asked.predicates[0] if asked.predicates else Thing()
    seen = [one for one in on_patrol if one.outcome == SEEN]
    looks = sum(map(looks_of, seen))
    spells = [one.now for one in seen if one.now is not None]
    if predicate.state:
        spells = [spell for spell in spells if _is_at(spell, thing, Thing())]
    empty = [one for one in on_patrol if one.outcome == EMPTY]
    at_ns = max((spell.last_ns for spell in spells), default=max((one.empty_ns for one in on_patrol), default=0))
    value: str | None = None
    if asked.form in ("where", "room"):
        value = " and ".join(dict.fromkeys(map(spell_place, spells))) if seen or empty else None
    elif predicate.state:
        fits = [_is_so(spell, thing.kind, predicate.state) for spell in spells if spell.state]
        value = ("yes" if any(fits) else "no") if fits else None
        looks = sum(spell.looks for one in seen for spell in one.spells
                    if one.now is not None and spell.state == one.now.state)
    elif any(_is_at(spell, thing, predicate) for spell in spells):
        value = "yes"
    elif spells or any(since is not None and one.outcome == EMPTY for since, one in zip(
            stood, on_patrol, strict=True)) or (entered and all(
                since > patrol.last_ns for since in stood if since is not None)):
        value = "no"  # another place of it that was empty says nothing, nor does a room where its place is known
    against = sum(map(looks_of, seen)) - looks + sum(one.empty for one in seen)
    if value and not seen:
        looks, against = max((one.empty for one in empty), default=1), 0
    if value and (asked.denied != (thing.quantifier == "no")):
        value = "no" if value == "yes" else "yes"
    return Observation(patrol, value, at_ns or patrol.last_ns, max(looks, 1), against)


def _is_so(spell: ObjectSpell, kind: str, state: str) -> bool:
    return (state_of(spell.state, kind) or spell.state) == (state_of(state, kind) or state)


def _stood_at(o: MemoryObject, thing: Thing, predicate: Thing) -> bool:
    """Return whether the place of an object is the one that a question names, if it names any."""
    room, support = predicate.room or thing.room, predicate.support or thing.support
    stands_on = canonical(o.attributes.get("support", ""))
    return fits_room(o.room, room) and (support is None or stands_on == canonical(support.kind))


def _is_at(spell: ObjectSpell, thing: Thing, predicate: Thing) -> bool:
    """Return whether an object was in the room and on the support that a question names, of either phrase."""
    room, support = predicate.room or thing.room, predicate.support or thing.support
    return fits_room(spell.room, room) and (support is None or canonical(spell.support) == canonical(support.kind))


def within(patrol: PatrolSpan, times: TimesInText) -> bool:
    """Return whether a patrol is within the time that the question names."""
    window, recurring, began = times.window, times.recurring, datetime.fromtimestamp(patrol.first_ns / 1e9)
    if window is not None:
        return patrol.first_ns <= window.before_ns and patrol.last_ns >= window.after_ns
    if recurring is None:
        return True
    first, last = PARTS.get(recurring.part, (0, 30))
    night = began.hour + 24 < last  # "Monday night" ends on Tuesday
    day = (began - timedelta(days=1)) if night and not first <= began.hour else began
    hour = began.hour if first <= began.hour else began.hour + 24
    return day.weekday() in recurring.weekdays and first <= hour < last
