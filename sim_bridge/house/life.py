"""Weeks in the life of a house: who uses what when, what stands where, and which rooms the robot's patrols enter.

Each house draws its inhabitants' routines from its seed: objects that alternate between places by the part of the day
or by the weekday, states with habits and exceptions, objects that come, go, return or are moved once, and people. The
script is the truth: what was where on each patrol, and what the patrol was able to see.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from eqa_nodes.core.types.views import Label
from sim_bridge.house.dice import Dice
from sim_bridge.house.generate import generate_house, remove
from sim_bridge.house.handling import rebuilt
from sim_bridge.house.life_places import HousePlaces, LookStop, Visibility, stops_of, visibility
from sim_bridge.house.questions.lexicon import confusable
from sim_bridge.house.scene import House, HouseObject, ObjectPart, Room
from sim_bridge.house.space import Ids, RoomSpace
from sim_bridge.house.world import HouseWorld, label_of

VERSION = 1  # increase it when a seed gives another life
DAYS, FIRST_DAY = 30, datetime(2026, 11, 2)  # a Monday
MORNING, EVENING = "morning", "evening"
ABSENT = -1  # form of an object that is not in the house
_HOURS = {MORNING: (8, 30), EVENING: (18, 30)}
_ROOMS = 7  # most rooms that patrols enter
_FIRST_ID = 10_000  # of the forms
_TRIED = 4  # candidate places of an object
PERSON = "person"
# Routines of objects that are put somewhere.
BY_PART, BY_WEEKDAY, SWAPPED, COMES, GONE, NEW, MOVED, STAYS, RARE, VISITS = (
    "by part", "by weekday", "swapped", "comes", "gone", "new", "moved", "stays", "rare", "visits")
_ORDER = (BY_PART, MOVED, BY_WEEKDAY, GONE, COMES, NEW, BY_PART, STAYS, GONE, COMES, MOVED)
_PLACES = {BY_PART: 2, BY_WEEKDAY: 2, MOVED: 2}  # places that a routine needs
# Routines of states.
HABIT, MOSTLY, CHANGED = "habit", "mostly", "changed"
_SMALL = ("laptop", "vase", "teddy bear", "kettle", "cooking pot", "toy car", "globe", "fruit bowl", "hat", "printer")
_LARGE = ("backpack", "suitcase", "cardboard box", "toolbox", "guitar", "ball", "bucket")
_PAIRS = ("vase", "backpack", "kettle", "suitcase")
_SUPPORTS = ("dining table", "kitchen table", "coffee table", "side table", "console table", "desk", "sideboard",
             "dresser", "nightstand", "tv stand", "kitchen counter", "kitchen island", "sofa", "armchair", "workbench")
_STATES = {"oven": ("on", "off"), "television": ("on", "off"), "bed": ("made", "unmade"), "bathtub": ("full", "empty"),
           "kitchen sink": ("running", "off"), "bathroom sink": ("running", "off"), "coat rack": ("full", "empty"),
           "laundry basket": ("full", "empty"), "drying rack": ("full", "empty"), "desk lamp": ("on", "off"),
           "table lamp": ("on", "off"), "floor lamp": ("on", "off"), "computer monitor": ("on", "off"),
           "basket": ("full", "empty"), "umbrella stand": ("full", "empty"), "treadmill": ("on", "off")}
_DAILY = ("kitchen", "living room", "hallway")  # rooms that most patrols enter
_NO_COLOURS = ("", "silver", "gold")


class LifePatrol(NamedTuple):
    """A drive through the house. first: its begin, local time; rooms: ids of those that it enters, in order."""

    number: int
    first: datetime
    part: str
    rooms: tuple[int, ...]


@dataclass(frozen=True)
class LifeObject:
    """An object with a course of life. forms: how it stands at each of its places, or in each of its states.

    course: the index of its form on each patrol, ABSENT if it is not in the house. seen: from where each form is seen.
    """

    name: str
    kind: str
    routine: str
    forms: tuple[HouseObject, ...]
    seen: tuple[Visibility, ...]
    course: tuple[int, ...]

    @property
    def stateful(self) -> bool:
        """Return whether its forms are states of one place."""
        return len({form.state for form in self.forms}) > 1


@dataclass(frozen=True)
class HouseLife:
    """The script. house: without the objects that have a course; unseen: room that no patrol enters, None if all are.
    """

    seed: int
    house: House
    stops: tuple[LookStop, ...]
    patrols: tuple[LifePatrol, ...]
    objects: tuple[LifeObject, ...]
    unseen: Room | None

    def house_on(self, patrol: int) -> House:
        """Return the house as it is on a patrol."""
        there = [o.forms[o.course[patrol]] for o in self.objects if o.course[patrol] != ABSENT]
        return replace(self.house, objects=[*self.house.objects, *there])

    def labels(self) -> dict[int, Label]:
        """Return the labels of all objects in all their forms."""
        whole = replace(self.house, objects=[*self.house.objects, *(form for o in self.objects for form in o.forms)])
        return {obj.id: label_of(whole, obj) for obj in whole.objects}

    def room_name(self, number: int) -> str:
        """Return the name of a room."""
        room = next(r for r in self.house.rooms if r.id == number)
        return room.name or room.kind


@lru_cache(maxsize=32)
def life_of(seed: int, days: int = DAYS) -> HouseLife:
    """Return the life in the house of a seed; the same seed and days give the same life."""
    return _Script(seed, days).life()


class _Script:
    """Draws the life of one house."""

    def __init__(self, seed: int, days: int) -> None:
        self.seed, self.days, self.dice, self.ids = seed, days, Dice(1_000_000 + seed), Ids()
        self.ids.last = _FIRST_ID
        self.house = generate_house(seed)
        self.wanted = self._wanted_kinds()
        for obj in [t for t in self.house.objects if any(confusable(kind, t.kind) for kind in self.wanted)]:
            if obj in self.house.objects:
                remove(self.house, obj)
        stops = stops_of(HouseWorld(self.house))
        rooms = list(dict.fromkeys(stop.room for stop in stops))
        order = self.dice.shuffled(rooms)[:_ROOMS] if len(rooms) > _ROOMS else rooms
        self.rooms = [room for room in rooms if room in order]
        self.stops = tuple(stop for stop in stops if stop.room in self.rooms)
        self.rare = self.dice.pick([r.id for r in self.house.rooms if r.id in self.rooms and r.kind not in _DAILY])
        self.patrols = self._patrols()
        spaces = {r.id: RoomSpace(r, self.dice, self.ids, self.house.wall_height_m) for r in self.house.rooms}
        self.places, self.spaces = HousePlaces(self.house, self.stops, spaces), spaces

    def _wanted_kinds(self) -> list[str]:
        """Return the kinds of the objects that are put somewhere, none of which could be taken for another."""
        kinds: list[str] = []
        for kind in (self.dice.pick(_PAIRS), *self.dice.shuffled([*_SMALL, *_LARGE])):
            if not any(confusable(kind, other) for other in kinds):
                kinds.append(kind)
        return kinds

    def _patrols(self) -> tuple[LifePatrol, ...]:
        rare_on = set(self.dice.shuffled(range(2 * self.days))[:2]) if len(self.rooms) > 3 else set()
        found: list[LifePatrol] = []
        for day in range(self.days):
            for half, part in enumerate((MORNING, EVENING)):
                last = day == self.days - 1
                if not (last or self.dice.chance(0.9 if half == 0 else 0.8)):
                    continue
                hour, minute = _HOURS[part]
                first = FIRST_DAY + timedelta(days=day, hours=hour, minutes=minute + self.dice.count(-20, 20))
                rooms = tuple(room for room in self.rooms if (
                    2 * day + half in rare_on if room == self.rare and rare_on else self.dice.chance(0.9)))
                found.append(LifePatrol(len(found), first, part, rooms or tuple(self.rooms[:1])))
        return tuple(found)

    def life(self) -> HouseLife:
        """Draw the objects and their courses."""
        stationary = self._stateful()
        pair = [(f"{colour} {self.wanted[0]}", self._tried(self.wanted[0], colour))
                for colour in self._colours(self.wanted[0])]
        rare, *kinds = self.wanted[1:]
        places = {kind: self._tried(kind) for kind in kinds}
        alone, people = self._tried(rare, "", self.rare), self._people()
        everything = replace(self.house, objects=[*self.house.objects, *self.places.tried])
        seen = visibility(everything, self.stops)
        objects = self._pair([(name, self._good(forms, seen)) for name, forms in pair], seen)
        good = {kind: self._good(forms, seen) for kind, forms in places.items()}
        for routine in _ORDER:
            kind = next((kind for kind, forms in good.items() if len(forms) >= _PLACES.get(routine, 1)), "")
            if kind:
                objects.append(self._routine(kind, routine, good.pop(kind), seen))
        objects += [self._routine(name, routine, forms, seen) for name, routine, forms in (
            (rare, RARE, self._good(alone, seen)), (PERSON, VISITS, self._good(people, seen))) if forms]
        by_id = {t.id: t for t in self.house.objects}
        objects += [self._states(by_id[number], seen) for number in stationary
                    if number in seen and by_id[number].room in seen[number].clear]
        moving = {form.id for o in objects for form in o.forms}
        rest = replace(self.house, objects=[t for t in self.house.objects if t.id not in moving])
        unseen = [r for r in self.house.rooms if r.id not in self.rooms]
        return HouseLife(self.seed, rest, self.stops, self.patrols, tuple(objects), unseen[0] if unseen else None)

    # places -----------------------------------------------------------------------------------------------------------

    def _colours(self, kind: str) -> list[str]:
        from sim_bridge.house.catalogue import KINDS

        return self.dice.shuffled([c for c in dict.fromkeys(KINDS[kind].colours) if c not in _NO_COLOURS])[:2]

    def _tried(self, kind: str, colour: str = "", room: int | None = None) -> list[HouseObject]:
        """Return candidates for the places of an object, all with the same look, at places of different names."""
        blank = self.spaces[self.rooms[0]].blank(kind, colour=colour)
        rooms = [r for r in self.house.rooms if (r.id == room if room is not None else r.id in self.rooms
                                                 and r.id != self.rare)]
        found: dict[tuple[int, int], HouseObject] = {}
        if kind in _LARGE:
            for r in self.dice.shuffled(rooms):
                if len(found) < _TRIED and (obj := self.places.standing(blank, r)) is not None:
                    found[r.id, 0] = obj
        else:
            supports = [t for t in self.house.objects if t.kind in _SUPPORTS and t.room in {r.id for r in rooms}]
            counts = Counter((t.kind, t.room) for t in supports)
            for support in self.dice.shuffled(supports):
                if len(found) < _TRIED and counts[support.kind, support.room] == 1 and (
                        obj := self.places.on(blank, support)) is not None:
                    found[support.room, support.id] = obj
        return list(found.values())

    def _people(self) -> list[HouseObject]:
        """Return where a person stands, one place in each room."""
        found = []
        blank = self.spaces[self.rooms[0]].blank("stool")
        body = blank._replace(look=blank.look._replace(depth=0.4, width=0.45, height=1.7))
        for room in self.house.rooms:
            if room.id in self.rooms and (obj := self.places.standing(body, room)) is not None:
                person = replace(obj, kind=PERSON, colour="", material="", paint="", parts=_body(),
                                 size=(0.4, 0.45, 1.7))
                self.places.tried[-1] = person
                found.append(person)
        return found

    # courses ----------------------------------------------------------------------------------------------------------

    def _good(self, forms: Sequence[HouseObject], seen: Mapping[int, Visibility]) -> list[HouseObject]:
        """Return the first places whose visibility is clear."""
        return [form for form in forms if form.id in seen and not seen[form.id].faint][:3]

    def _routine(self, name: str, routine: str, forms: Sequence[HouseObject],
                 seen: Mapping[int, Visibility]) -> LifeObject:
        course = tuple(_ROUTINES[routine](self, len(forms)))
        used = [i for i in range(len(forms)) if i in course or routine == VISITS]
        course = tuple(used.index(i) if i != ABSENT else ABSENT for i in course)
        chosen = tuple(forms[i] for i in used)
        return LifeObject(name, forms[0].kind, routine, chosen, tuple(seen[form.id] for form in chosen), course)

    def _pair(self, found: Sequence[tuple[str, list[HouseObject]]], seen: Mapping[int, Visibility]) -> list[LifeObject]:
        """Return two objects of one kind that change places for some days; a single one always stays."""
        pair = [self._routine(name, STAYS, forms, seen) for name, forms in found if forms]
        if len(pair) < 2 or _where(pair[0].forms[0]) == _where(pair[1].forms[0]):
            return pair[:1]
        begin = self.dice.count(len(self.patrols) // 4, len(self.patrols) // 2)
        end = begin + self.dice.count(6, len(self.patrols) // 4 + 6)
        course = tuple(int(begin <= i < end) for i in range(len(self.patrols)))
        swapped = []
        for one, other in (pair, pair[::-1]):
            there = other.forms[0]
            form = replace(one.forms[0], id=self.ids.next(), position=there.position, yaw=there.yaw, room=there.room,
                           support=there.support)
            swapped.append(replace(one, routine=SWAPPED, forms=(one.forms[0], form), seen=(one.seen[0], other.seen[0]),
                                   course=course))
        return swapped

    def _stateful(self) -> list[int]:
        """Return the ids of the objects whose states have a routine: those that their kind identifies."""
        counts = Counter(t.kind for t in self.house.objects)
        alone = [t for t in self.house.objects if t.kind in _STATES and t.room in self.rooms and not any(
            other != t.kind and confusable(t.kind, other) for other in counts) and counts[t.kind] == 1]
        return [t.id for t in self.dice.shuffled(alone)]

    def _states(self, obj: HouseObject, seen: Mapping[int, Visibility]) -> LifeObject:
        usual = self.dice.shuffled(_STATES[obj.kind])
        forms = tuple(replace(rebuilt(obj, state), id=obj.id if state == obj.state else self.ids.next())
                      for state in usual)
        rare = seen[obj.id].clear == {self.rare} and len(self.rooms) > 3
        routine = RARE if rare else self.dice.pick((HABIT, HABIT, MOSTLY, CHANGED))
        course = tuple(_ROUTINES[routine + " state" * (routine == RARE)](self, 2))
        return LifeObject(obj.kind, obj.kind, routine, forms, (seen[obj.id],) * 2, course)

    # routines ---------------------------------------------------------------------------------------------------------

    def _span(self, low: float, high: float) -> int:
        """Return the number of a patrol between two shares of all."""
        count = len(self.patrols)
        return min(count - 1, max(1, self.dice.count(math.floor(low * count), math.ceil(high * count))))

    def _with_exceptions(self, usual: Callable[[LifePatrol], int], share: float, forms: int) -> list[int]:
        """Return a course in which the object is elsewhere, or in the other state, on a share of the patrols."""
        return [(usual(p) + (self.dice.count(1, forms - 1) if self.dice.chance(share) else 0)) % forms
                for p in self.patrols]

    def by_part(self, forms: int) -> list[int]:
        """One form in the mornings, the other in the evenings."""
        return self._with_exceptions(lambda p: int(p.part == EVENING), 0.1, forms)

    def by_weekday(self, forms: int) -> list[int]:
        """One form on weekdays, the other at the weekend."""
        return self._with_exceptions(lambda p: int(p.first.weekday() >= 5), 0.06, forms)

    def mostly(self, forms: int) -> list[int]:
        """One form with exceptions."""
        return self._with_exceptions(lambda p: 0, 0.15, forms)

    def comes(self, forms: int) -> list[int]:
        """Absent, there for some days, absent, and back again at the end of some lives."""
        first, gone, back = self._span(0.12, 0.25), self._span(0.35, 0.5), self._span(0.7, 0.85)
        stays = self.dice.chance(0.5)
        return [0 if first <= i < gone or (stays and i >= back) else ABSENT for i in range(len(self.patrols))]

    def gone(self, forms: int) -> list[int]:
        """There until it is gone."""
        end = self._span(0.3, 0.85)
        return [0 if i < end else ABSENT for i in range(len(self.patrols))]

    def new(self, forms: int) -> list[int]:
        """There from some day on."""
        begin = self._span(0.2, 0.8)
        return [0 if i >= begin else ABSENT for i in range(len(self.patrols))]

    def moved(self, forms: int) -> list[int]:
        """One form, then the other."""
        at = self._span(0.3, 0.85)
        return [int(i >= at) for i in range(len(self.patrols))]

    def stays(self, forms: int) -> list[int]:
        """Always the same form."""
        return [0] * len(self.patrols)

    def visits(self, forms: int) -> list[int]:
        """A person who is in one of the rooms on some patrols."""
        return [self.dice.count(0, forms - 1) if self.dice.chance(0.35) else ABSENT for _ in self.patrols]


_ROUTINES: dict[str, Callable[[_Script, int], list[int]]] = {
    BY_PART: _Script.by_part, BY_WEEKDAY: _Script.by_weekday, SWAPPED: _Script.stays, COMES: _Script.comes,
    GONE: _Script.gone, NEW: _Script.new, MOVED: _Script.moved, STAYS: _Script.stays, RARE: _Script.stays,
    VISITS: _Script.visits, HABIT: _Script.by_part, MOSTLY: _Script.mostly, CHANGED: _Script.moved,
    f"{RARE} state": _Script.mostly}


def _where(obj: HouseObject) -> tuple[int, int]:
    return obj.room, obj.support


def _body() -> list[ObjectPart]:
    """Return the parts of a standing person."""
    return [ObjectPart("cylinder", (0.0, 0.09, 0.44), (0.17, 0.17, 0.88), "gray"),
            ObjectPart("cylinder", (0.0, -0.09, 0.44), (0.17, 0.17, 0.88), "gray"),
            ObjectPart("cylinder", (0.0, 0.0, 1.15), (0.28, 0.42, 0.56), "blue", "fabric"),
            ObjectPart("sphere", (0.0, 0.0, 1.58), (0.22, 0.2, 0.26), "#e8b898")]
