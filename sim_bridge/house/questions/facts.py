"""Queries of the scene graph for questions: names, places, neighbours, sides, gaps.

Only unambiguous results are returned: None if a name fits two objects, or two objects could be the neighbour.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from eqa_nodes.core.language.english import number_word, plural
from sim_bridge.house.questions import lexicon
from sim_bridge.house.scene import House, HouseObject

T = TypeVar("T")
_NEXT_TO_M, _APART_M, _SIDE_M = 0.4, 1.5, 0.6


class QuestionCandidate(NamedTuple):
    """A question that the scene graph answers; whether the answer is visible is checked later.

    targets: instances to look at, at least `need` of them in one view; front: the one to view from its front, or 0;
    clues: objects that reveal the room, one of which must be in the view too (empty: the room is not asked for).
    """

    category: str
    question: str
    answer: str
    targets: tuple[int, ...]
    alternatives: tuple[str, ...] = ()
    need: int = 1
    front: int = 0
    clues: tuple[int, ...] = ()


def say(obj: HouseObject) -> str:
    """Return what people call the object."""
    return spoken(obj.kind)


def spoken(kind: str) -> str:
    """Return what people call a kind of object."""
    return lexicon.SPOKEN.get(kind, kind)


def sentence_list(words: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def article(kind: str) -> str:
    """Return the kind with its indefinite article, or without one for plurals and masses."""
    word = spoken(kind)
    if is_plural(kind) or kind in lexicon.MASS:
        return word
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def several(objects: Sequence[HouseObject]) -> str:
    """Return objects of one kind as an item of a list: "a vase", "two plates"."""
    kind = objects[0].kind
    return article(kind) if len(objects) == 1 else f"{number_word(len(objects))} {kinds_of(kind)}"


def is_plural(kind: str) -> bool:
    """Return whether the noun takes "are": curtains, headphones."""
    last = kind.split()[-1]
    return last.endswith("s") and not last.endswith(("ss", "us", "is")) and last not in lexicon.SINGULAR_S


def be(kind: str, capital: bool = True) -> str:
    """Return Is or Are, to agree with the noun."""
    verb = "are" if is_plural(kind) else "is"
    return verb.capitalize() if capital else verb


def heads(objects: Iterable[HouseObject]) -> tuple[str, ...]:
    """Return the kinds, each once, in a stable order."""
    return tuple(dict.fromkeys(t.kind for t in sorted(objects, key=lambda t: (t.kind, t.id))))


class HouseFacts:
    """A house with an index for queries; every query is deterministic."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.objects = sorted(house.objects, key=lambda t: t.id)
        self._inside: dict[int, list[HouseObject]] = {}
        for obj in self.objects:
            self._inside.setdefault(obj.room, []).append(obj)
        self._names: dict[int, str | None] = {}

    def pick(self, options: Sequence[T], *key: object) -> T:
        """Choose a phrasing by a checksum of the house and the key, so that it is stable but varies between houses."""
        return options[zlib.crc32(repr((self.house.seed, key)).encode()) % len(options)]

    def coin(self, *key: object) -> bool:
        """Return a fair random choice that is always the same for the same house and key."""
        return self.pick((True, False), "coin", *key)

    @cached_property
    def rooms(self) -> dict[int, str]:
        """Return the phrases of rooms that are unique in their kind: images do not show which bedroom is the second."""
        kinds = [room.kind for room in self.house.rooms]
        return {room.id: f"the {room.kind}" for room in self.house.rooms if kinds.count(room.kind) == 1}

    def room(self, obj: HouseObject) -> str | None:
        """Return the phrase of the object's room, or None if it has no unique name."""
        return self.rooms.get(obj.room)

    def region(self, obj: HouseObject) -> str:
        """Return the room as worded in an answer: "the kitchen", "a bedroom" if there are several."""
        return self.room(obj) or article(self.kind_of_room(obj))

    def clues(self, room: int) -> tuple[int, ...]:
        """Return the objects that reveal the kind of a room; none if the house has another kind that looks like it."""
        kinds = {r.id: r.kind for r in self.house.rooms}
        kind = kinds[room]
        if lexicon.SAME_ROOM.get(kind) in kinds.values():
            return ()
        return tuple(t.id for t in self.inside(room, *lexicon.TYPICAL.get(kind, ())))

    def plain(self, room: int) -> bool:
        """Return whether the room is the only one of its kind."""
        kinds = {r.id: r.kind for r in self.house.rooms}
        return room in kinds and list(kinds.values()).count(kinds[room]) == 1

    def kind_of_room(self, obj: HouseObject) -> str:
        """Return the kind of the object's room."""
        return next(r.kind for r in self.house.rooms if r.id == obj.room)

    def inside(self, room: int, *kinds: str) -> list[HouseObject]:
        """Return the objects of a room (of these kinds)."""
        return [t for t in self._inside.get(room, ()) if not kinds or t.kind in kinds]

    def of(self, *kinds: str) -> list[HouseObject]:
        """Return the objects of these kinds in the whole house."""
        return [t for t in self.objects if t.kind in kinds]

    def carried(self, obj: HouseObject, relation: str = "on") -> list[HouseObject]:
        """Return the objects that stand on, lie in or lie under the object."""
        return [t for t in self.objects if t.support == obj.id and t.relation == relation]

    def support(self, obj: HouseObject) -> HouseObject | None:
        """Return what the object stands on, lies in or hangs above."""
        return self.house.object_by_id(obj.support) if obj.support else None

    def alone(self, obj: HouseObject, among: Iterable[HouseObject]) -> bool:
        """Return whether the object's kind can mean no other object of `among`."""
        return not any(other.id != obj.id and lexicon.confusable(obj.kind, other.kind) for other in among)

    def name(self, obj: HouseObject) -> str | None:
        """Return a noun phrase that fits this object only, with its room if that is unique; else None."""
        if obj.id not in self._names:
            self._names[obj.id] = self._name(obj)
        return self._names[obj.id]

    def _name(self, obj: HouseObject) -> str | None:
        if obj.kind in lexicon.DOORS:
            return self._door(obj)
        room, fellows = self.room(obj), self.inside(obj.room)
        if self.alone(obj, self.objects) and (not self.plain(obj.room) or self.kind_of_room(obj) in obj.kind):
            return f"the {say(obj)}"  # images alone do not show which bedroom is the main one
        if room and self.alone(obj, fellows):
            return f"the {say(obj)} in {room}"
        base = self.support(obj)
        carried = room and base and obj.relation in ("on", "in") and self.alone(base, fellows)
        if base and carried and self.alone(obj, self.carried(base, obj.relation)):
            return f"the {say(obj)} {obj.relation} the {say(base)} in {room}"
        return None

    def short(self, obj: HouseObject) -> str | None:
        """Return the name without the room, for use after it; None if the room has two of them or it is built in."""
        if obj.kind in lexicon.BUILT_IN:
            return None
        return f"the {say(obj)}" if self.alone(obj, self.inside(obj.room)) else None

    def _door(self, leaf: HouseObject) -> str | None:
        opening = next((o for o in self.house.openings if o.object_id == leaf.id), None)
        if opening is not None and -1 in opening.rooms:
            outer = [o for o in self.house.openings if -1 in o.rooms and o.kind != "window"]
            return "the front door" if len(outer) == 1 else None
        if opening is None or any(room not in self.rooms for room in opening.rooms):
            return None
        a, b = opening.rooms
        if sum(set(o.rooms) == {a, b} for o in self.house.openings) > 1:
            return None
        single = [r for r in (a, b) if sum(r in o.rooms and o.kind != "window" for o in self.house.openings) == 1]
        if len(single) == 1 and self.coin("door", leaf.id):
            return f"{self.rooms[single[0]]} door"
        return f"the door between {self.rooms[a]} and {self.rooms[b]}"

    def place(self, obj: HouseObject) -> str | None:
        """Return where the object is: "on the desk in a bedroom"; None if its support is in another room."""
        room, base = self.region(obj), self.support(obj)
        if base is not None and base.room != obj.room:
            return None
        if base is not None and obj.relation == "wall":
            return f"on the wall above the {say(base)} in {room}"
        if base is not None and obj.relation in ("on", "in", "under"):
            return f"{obj.relation} the {say(base)} in {room}"
        return {"wall": f"on the wall in {room}", "floor": f"in {room}", "ceiling": f"on the ceiling in {room}"}.get(
            obj.relation)

    def above(self, obj: HouseObject) -> list[HouseObject]:
        """Return the wall objects above the object: within its width and over its top, or with it as `support`."""
        found = []
        for other in self.inside(obj.room):
            if other.relation != "wall" or other.kind in lexicon.OPENINGS:
                continue
            x, y = self.local(obj, other)
            over = (abs(y) < (obj.size[1] + other.size[1]) / 2 and x < obj.size[0] / 2
                    and x > -obj.size[0] / 2 - 0.5 and other.position[2] > obj.position[2] + 0.8 * obj.size[2])
            if over or other.support == obj.id:
                found.append(other)
        return found

    def standing(self, room: int) -> list[HouseObject]:
        """Return the furniture of a room: objects on its floor with a height."""
        return [t for t in self.inside(room)
                if t.relation == "floor" and t.size[2] > 0.12 and t.kind not in lexicon.OPENINGS]

    def local(self, base: HouseObject, other: HouseObject) -> tuple[float, float]:
        """Return the other's centre in the base's frame: x to its front, y to its left, metres."""
        dx, dy = other.position[0] - base.position[0], other.position[1] - base.position[1]
        c, s = math.cos(base.yaw), math.sin(base.yaw)
        return c * dx + s * dy, c * dy - s * dx

    def gap(self, a: HouseObject, b: HouseObject) -> float:
        """Return the distance of two footprints in metres, 0 if they overlap."""
        corners = [b.distance(*p) for p in _corners(a)] + [a.distance(*p) for p in _corners(b)]
        return min(corners)

    def beside(self, base: HouseObject, left: bool) -> HouseObject | None:
        """Return the only neighbour left or right of an object as seen facing it: within 0.6 m, in its depth range."""
        found = []
        for other in self.standing(base.room):
            x, y = self.local(base, other)
            toward = -y if left else y  # the viewer looks along the base's -x
            if other.id != base.id and toward > base.size[1] / 2 and self.gap(base, other) < _SIDE_M:
                found.append((other, abs(x) < (base.size[0] + self.depth(base, other)) / 2))
        if len(found) != 1 or not found[0][1]:
            return None  # no neighbour, several, or only a diagonal one
        return found[0][0]

    @staticmethod
    def depth(base: HouseObject, other: HouseObject) -> float:
        """Return the other's extent along the base's front axis in metres."""
        turn = other.yaw - base.yaw
        return abs(math.cos(turn)) * other.size[0] + abs(math.sin(turn)) * other.size[1]

    def next_to(self, a: HouseObject, b: HouseObject) -> bool | None:
        """Return whether two pieces of furniture stand side by side; None if people could disagree."""
        gap = self.gap(a, b)
        if gap > _APART_M:
            return False
        between = any(self.gap(c, a) + self.gap(c, b) < gap for c in self.standing(a.room) if c.id not in (a.id, b.id))
        return True if 0 < gap < _NEXT_TO_M and not between else None


def kinds_of(word: str) -> str:
    """Return the plural of a kind."""
    return plural(spoken(word))


def _corners(t: HouseObject) -> list[tuple[float, float]]:
    c, s, dx, dy = math.cos(t.yaw), math.sin(t.yaw), t.size[0] / 2, t.size[1] / 2
    x, y = t.position[:2]
    return [(x + c * u - s * v, y + s * u + c * v) for u, v in ((dx, dy), (dx, -dy), (-dx, dy), (-dx, -dy), (0.0, 0.0))]
