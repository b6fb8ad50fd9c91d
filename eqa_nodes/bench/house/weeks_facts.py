"""What a life's script says that the patrols could see of each object, and the words for places and times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from eqa_nodes.bench.house.weeks_truth import date_pattern, moment_pattern
from eqa_nodes.tours.weeks import patrol_end
from sim_bridge.house.life import ABSENT, HouseLife, LifeObject, LifePatrol


class LookAt(NamedTuple):
    """What a patrol saw of an object. form: index of the form in which it was seen, ABSENT if it was not seen.

    empty: its places that were seen without it; unsure: it may have been seen, or not.
    """

    patrol: int
    form: int
    empty: frozenset[int] = frozenset()
    unsure: bool = False

    @property
    def looked(self) -> bool:
        """Return whether the patrol saw the object, or one of its places without it."""
        return self.form != ABSENT or bool(self.empty)


class ObjectChange(NamedTuple):
    """A change between two looks: patrols of the last look before and of the first one after it."""

    before: int
    after: int


class LifeFacts:
    """The truth about a life at the end of its last patrol."""

    def __init__(self, life: HouseLife) -> None:
        self.life, self.patrols = life, life.patrols
        self.now = patrol_end(life, len(life.patrols) - 1)
        self._kinds = Counter(t.kind for t in life.house.objects)
        self._looks = {o.name: [self._look(o, p) for p in life.patrols] for o in life.objects}

    def _look(self, o: LifeObject, patrol: LifePatrol) -> LookAt:
        form, rooms = o.course[patrol.number], set(patrol.rooms)
        if form != ABSENT and rooms & o.seen[form].clear:
            return LookAt(patrol.number, form)
        unsure = form != ABSENT and bool(rooms & o.seen[form].faint)
        empty = frozenset() if o.stateful else frozenset(
            i for i, seen in enumerate(o.seen) if i != form and rooms & seen.clear)
        return LookAt(patrol.number, ABSENT, empty, unsure)

    @cached_property
    def sure(self) -> list[LifeObject]:
        """Return the objects of which each patrol has surely seen something or surely has not."""
        return [o for o in self.life.objects if not any(look.unsure for look in self._looks[o.name])]

    def looks(self, o: LifeObject, wanted: Callable[[LifePatrol], bool] = lambda patrol: True) -> list[LookAt]:
        """Return the looks of some patrols, also of those that did not look."""
        return [look for look in self._looks[o.name] if wanted(self.patrols[look.patrol])]

    def seen(self, o: LifeObject, wanted: Callable[[LifePatrol], bool] = lambda patrol: True) -> list[LookAt]:
        """Return the looks that saw the object."""
        return [look for look in self.looks(o, wanted) if look.form != ABSENT]

    def lost(self, o: LifeObject) -> ObjectChange | None:
        """Return when an object disappeared that is gone from its last place and was seen nowhere since."""
        seen = self.seen(o)
        if not seen:
            return None
        after = [look.patrol for look in self.looks(o) if look.patrol > seen[-1].patrol and seen[-1].form in look.empty]
        return ObjectChange(seen[-1].patrol, after[0]) if after else None

    def settled(self, o: LifeObject) -> ObjectChange | None:
        """Return when an object came to the form in which it was seen last, None if it always was, or is gone.

        At a place it was seen elsewhere or its place empty before; in a state it was in another one.
        """
        seen = self.seen(o)
        if not seen or self.lost(o) is not None:
            return None
        now = seen[-1].form
        other = [look.patrol for look in self.looks(o) if look.patrol < seen[-1].patrol
                 and (look.form not in (now, ABSENT) or now in look.empty)]
        if not other:
            return None
        first = next(look.patrol for look in seen if look.patrol > other[-1])
        return ObjectChange(other[-1], first)

    def mid(self, day: date) -> tuple[int, int] | None:
        """Return the last patrol before a day and the first after it, None if there is none on either side."""
        before = [p.number for p in self.patrols if p.first.date() < day]
        after = [p.number for p in self.patrols if p.first.date() > day]
        return (before[-1], after[0]) if before and after else None

    # words ------------------------------------------------------------------------------------------------------------

    def place(self, o: LifeObject, form: int, whole: bool = True) -> str:
        """Return "on the desk in the study" or "in the hallway"; not whole: the room only where it is needed."""
        obj = o.forms[form]
        room = f"in the {self.life.room_name(obj.room)}"
        if not obj.support:
            return room
        support = next(t.kind for t in self.life.house.objects if t.id == obj.support)
        return f"on the {support} {room}" if whole or self._kinds[support] > 1 else f"on the {support}"

    def place_patterns(self, o: LifeObject, form: int) -> tuple[str, ...]:
        """Return patterns that find a place."""
        obj = o.forms[form]
        words = [self.life.room_name(obj.room)] * (not obj.support or self._kinds[self._support(o, form)] > 1)
        words += [self._support(o, form)] * bool(obj.support)
        return tuple(rf"\b{re.escape(word)}\b" for word in words)

    def _support(self, o: LifeObject, form: int) -> str:
        return next((t.kind for t in self.life.house.objects if t.id == o.forms[form].support), "")

    def moment(self, patrol: int) -> str:
        """Return a pattern that finds the time of a patrol."""
        p = self.patrols[patrol]
        return moment_pattern(p.first, patrol_end(self.life, patrol), p.part, self.now)

    def when(self, patrol: int) -> str:
        """Return the time of a patrol in words."""
        return f"{self.patrols[patrol].first:%A %-d %B at %H:%M}"

    def dates(self, patrols: Sequence[int]) -> list[date]:
        """Return the days of patrols, each once."""
        return list(dict.fromkeys(self.patrols[number].first.date() for number in patrols))

    def date_pattern(self, day: date) -> str:
        """Return a pattern that finds a day."""
        return date_pattern(day, self.now)

    def since_words(self, day: date) -> list[str]:
        """Return how people name a day after the word since."""
        ago = (self.now.date() - day).days
        words = [f"{day:%-d %B}", f"{day:%B} {day.day}"]
        words += [f"{day:%A}"] * (2 <= ago <= 6) + ["yesterday"] * (ago == 1)
        return words

    def when_words(self, patrol: int) -> list[str]:
        """Return how people name the time of a patrol."""
        p = self.patrols[patrol]
        ago, day = (self.now.date() - p.first.date()).days, p.first
        if ago < 2:
            return [f"yesterday {p.part}" if ago else f"this {p.part}"]
        return [f"on {day:%-d %B} in the {p.part}", f"on the {p.part} of {day:%-d %B}", *(
            [f"on {day:%A} {p.part}"] * (ago <= 6))]

    def hours(self, change: ObjectChange) -> tuple[float, float]:
        """Return the least and the largest time since a change, hours."""
        latest, earliest = self.patrols[change.after].first, self.patrols[change.before].first
        return (self.now - latest) / timedelta(hours=1), (self.now - earliest) / timedelta(hours=1)

    def at(self, patrol: int) -> datetime:
        """Return when a patrol began."""
        return self.patrols[patrol].first
