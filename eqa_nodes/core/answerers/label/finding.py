"""Finds the objects that a phrase can mean: all that it says of them is checked on what was seen."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache

from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, extent, facing, gap, same_room, to_the_right
from eqa_nodes.core.language.english import canonical, normalise
from eqa_nodes.core.language.naming import by_head, in_group, kept_in, members
from eqa_nodes.core.language.query import Thing
from eqa_nodes.core.language.states import state_of

SURFACES = ("wall", "ceiling", "floor")
DOORS = ("door", "doorway")
OPENINGS = frozenset(("door", "front door", "window", "curtain", "curtains", "light switch"))
# Gaps are measured between visible parts, which end a little inside the objects.
_FLAT_M = 0.06  # rugs and mats are no higher
_NEXT_TO_M, _AT_M, _TO_WALL_M, _AHEAD_M, _TOUCH_M, _OFF_LINE_M = 0.8, 0.75, 0.5, 1.5, 0.3, 0.6
_OTHER_ROOM_M = 5.0  # stands for the way round a wall
_PLAIN, _PLAIN_VOLUME = 1.15, 1.6  # ratio of two sizes (volumes) from which only the larger one is "the large one"
# Kinds that may stand in for a longer name where labels have no longer one: a "lamp" for "floor lamp".
_GENERAL = frozenset(("lamp", "plant", "monitor", "chair", "table", "cabinet", "sink", "clock", "shelf", "bin",
                      "basket", "box", "bottle", "counter", "ball", "mat", "stool", "pot", "ceiling light"))
_NEARER, _FARTHER = ("closer", "closest", "nearer", "nearest"), ("farther", "farthest", "further", "furthest")
# side of an object, "" for all of it: words for a large one, and for a small one
_SIDES = {"high": ("tall high", "low"), "wide": ("wide broad", "narrow"), "long": ("long", "short"),
          "deep": ("deep", "shallow"), "thick": ("thick", "thin slim"), "": ("big large huge", "small little tiny")}


def find(scene: LabelScene, thing: Thing, every: bool = False) -> list[Seen]:
    """Return the objects that a phrase can mean.

    A name means the objects that are labelled so, else those with another word for it, else special cases: a floor lamp
    is a lamp. every: all of these; of kinds for a use all, where otherwise the first one that was seen is meant.
    """
    thing = placed(thing)
    if thing.kind in DOORS and thing.room and not every and thing.support is None:
        door = scene.door(thing)
        return [door[0]] if door and looks_so(door[0], thing) else []
    there = _there(scene, thing)
    fits = _Constraints(scene, thing if _of_room(thing) is None else thing._replace(relation="", support=None))
    if thing.kinds:
        found = [_called(there, kind, True, fits) for kind in thing.kinds]
        return list({t.instance: t for one in found for t in one}.values()) if every else next(filter(None, found), [])
    if not thing.kind:
        return fits(there)
    return _called(there, thing.kind, every, fits)


def held(scene: LabelScene, thing: Thing) -> list[Seen]:
    """Return the objects in which what is named is kept: for fruit the fruit bowls."""
    return [t for kind in kept_in(thing.kind) for t in find(scene, thing._replace(kind=kind, quantifier=""))]


def _there(scene: LabelScene, thing: Thing) -> list[Seen]:
    """Return what could be meant by the room, and by the place where no kind is named."""
    if (having := _of_room(thing)) is not None:  # "in the room with the treadmill"
        rooms = {t.room for t in find(scene, having, every=True)}
        return [t for t in _there(scene, thing._replace(room="", relation="", support=None)) if t.room in rooms]
    if thing.kind in DOORS and thing.room:
        return scene.doors(thing.room)
    if thing.kind or thing.kinds:
        return scene.in_room(thing.room)
    if thing.relation in _OF_FURNITURE:
        return scene.furniture(thing.room)
    return [t for t in scene.in_room(thing.room) if t.kind not in OPENINGS]


def _of_room(thing: Thing) -> Thing | None:
    """Return what tells the room of a phrase from others, None where nothing does."""
    room = thing.support
    told = room is not None and thing.relation == "in" and not room.kind and not room.kinds and room.relation == "with"
    return room.support if told and room else None


def _called(there: Sequence[Seen], name: str, every: bool, fits: _Constraints) -> list[Seen]:
    """Return the objects that a name means and that fit."""
    if members(name):
        return fits([t for t in there if is_called(t.kind, name)])
    labelled = {normalise(t.kind) for t in there}
    single = " " not in name
    levels: list[set[str]] = [{kind for kind in labelled if kind == name},
                              {kind for kind in labelled if canonical(kind) == canonical(name)},
                              {kind for kind in labelled if _is_special(kind, name)}]
    if single:  # "clock": wall clocks and alarm clocks
        levels = [levels[0], levels[1] | levels[2]] if not every else [levels[0] | levels[1] | levels[2]]
    else:
        levels.append({kind for kind in labelled & _GENERAL if name.endswith(f" {kind}")})
    for kinds in levels:
        if found := fits([t for t in there if normalise(t.kind) in kinds]):
            return found
    return []


def is_called(kind: str, name: str) -> bool:
    """Return whether a kind of object goes by a name: its own, a synonym, a more general one, or that of its group."""
    own = normalise(kind)
    return own == name or canonical(own) == canonical(name) or _is_special(own, name) or in_group(kind, name)


def _is_special(kind: str, name: str) -> bool:
    """Return whether a kind is a special case of a name; a name of several words is taken literally."""
    return by_head(kind, name) and (" " not in name or " " in canonical(name) or kind.endswith(f" {name}"))


class _Constraints:
    """What a phrase says of objects besides their kind and room; a call returns those that fit."""

    def __init__(self, scene: LabelScene, thing: Thing) -> None:
        self._scene, self._thing = scene, thing
        self._bases = bases_of(scene, thing)
        unlike = thing.unlike
        self._others = None if unlike is None else bases_of(scene, unlike._replace(room=unlike.room or thing.room))

    def __call__(self, objects: Sequence[Seen]) -> list[Seen]:
        thing, unlike = self._thing, self._thing.unlike
        fit = [t for t in objects if looks_so(t, thing)]
        if thing.size in (*_NEARER, *_FARTHER):
            ranked = sorted(fit, key=self._distance, reverse=thing.size in _FARTHER)
            return ranked[:1] if self._bases else []
        fit = [t for t in fit if is_there(self._scene, t, thing, self._bases)]
        if unlike is not None:
            fit = [t for t in fit if self._is_unlike(t, unlike)]
        return extremes(fit, thing.size, thing.number)

    def _distance(self, obj: Seen) -> tuple[float, int]:
        off = [gap(obj, base) + (_OTHER_ROOM_M if obj.room != base.room else 0.0) for base in self._bases]
        return min(off, default=0.0), obj.instance

    def _is_unlike(self, obj: Seen, unlike: Thing) -> bool:
        """Return whether an object is not as it must not be; whose look is not known counts as neither."""
        if any(getattr(unlike, name) and not obj.attributes.get(name) for name in LOOKS):
            return False
        same_kind = not unlike.kind or is_called(obj.kind, unlike.kind)
        return not (same_kind and looks_so(obj, unlike) and (not unlike.room or self._scene.is_in(obj, unlike.room))
                    and is_there(self._scene, obj, unlike, self._others or []))


LOOKS = ("state", "colour", "material")


def looks_so(obj: Seen, thing: Thing) -> bool:
    """Return whether state, colour and material of an object are as a phrase says."""
    a = obj.attributes
    state = a.get("state", "")
    wanted = thing.state if thing.state == "lit" and not thing.kind else base_state(thing.state, obj.kind)
    return (not thing.state or (bool(state) and base_state(state, obj.kind) == wanted)) and (
        not thing.colour or same_look(a.get("colour", ""), thing.colour)) and (
        not thing.material or canonical(a.get("material", "")) == canonical(thing.material))


def same_look(colour: str, wanted: str) -> bool:
    """Return whether a colour is the wanted one; a shade counts as its colour, where no shade is labelled."""
    return bool(colour) and canonical(colour) in (canonical(wanted), canonical(wanted.split()[-1]))


def base_state(state: str, kind: str) -> str:
    """Return the state that a word means of a kind of object: "lit" of a lamp is on."""
    return state_of(state, kind) or state


@cache
def is_smaller(size: str) -> bool:
    """Return whether a word of size means the smaller of two: "narrower", "shortest", "small"."""
    return any(_is_form(size, word) for _, small in _SIDES.values() for word in small.split())


def side_of(size: str, sides: Sequence[float]) -> str:
    """Return the side that a word of size compares of an object with these sides; "" for its volume."""
    if _is_form(size, "short") and sides[2] > max(sides[:2]):
        return "high"
    return next((side for side, (large, small) in _SIDES.items() for word in f"{large} {small}".split()
                 if _is_form(size, word)), "")


def _is_form(size: str, word: str) -> bool:
    stem = re.sub("(?:er|est)$", "", size)
    return size == word or (stem != size and stem in (word, word.removesuffix("e"), word + word[-1]))


def extremes(objects: Sequence[Seen], size: str, number: int = 0) -> list[Seen]:
    """Return of several objects the largest (smallest) ones; all where no size is named, or they hardly differ.

    number: how many they are ("both big ones"), 0 where the phrase does not say so.
    """
    if not size or len(objects) < 2:
        return list(objects)
    values = {t.instance: _measure(t.sides, size) for t in objects}
    if number > 1:
        return sorted(objects, key=lambda t: values[t.instance], reverse=not is_smaller(size))[:number]
    first = (min if is_smaller(size) else max)(values.values())
    side = side_of(size, (0.0, 0.0, 1.0))
    ratio = 1.01 if size.endswith(("er", "est")) else _PLAIN if side else _PLAIN_VOLUME
    return [t for t in objects if max(first, values[t.instance]) < ratio * min(first, values[t.instance])]


def _measure(sides: Sequence[float], size: str) -> float:
    """Return the height, the longer or shorter side of the footprint, or the volume: what a word of size compares."""
    side = side_of(size, sides)
    if side == "high":
        return sides[2]
    across = sorted(sides[:2])
    return across[1] if side in ("wide", "long") else across[0] if side else math.prod(max(one, 0.02) for one in sides)


# Where things are.

def placed(thing: Thing) -> Thing:
    """Return a phrase with "on the wall above the sofa" as above the sofa."""
    wall = thing.support
    return thing if wall is None or wall.kind not in SURFACES or wall.support is None else thing._replace(
        relation=wall.relation, support=wall.support)


def bases_of(scene: LabelScene, thing: Thing) -> list[Seen]:
    """Return what a phrase says that things are on, in, beside, ...: each object that may be meant."""
    if thing.support is None or not (thing.support.kind or thing.support.kinds):
        return []
    return find(scene, support_of(thing), every=True)


def support_of(thing: Thing) -> Thing:
    """Return what a phrase says that something is on, in, beside, ...: in the room of that, if it names no other."""
    support = thing.support or Thing()
    return support if support.room else support._replace(room=thing.room)


def is_there(scene: LabelScene, obj: Seen, thing: Thing, bases: Sequence[Seen]) -> bool:
    """Return whether an object is where a phrase says, beside any of the bases."""
    support, relation = thing.support, thing.relation
    if support is None:
        return True
    if support.kind in SURFACES:
        return obj.attributes.get("relation", "floor") == support.kind
    if not bases:  # what it is on was not seen itself, but the label of what is on it names it
        plain = support._replace(kind="", room="", quantifier="") == Thing()
        return plain and relation in ("on", "in", "under") and is_carried(scene, obj, support.kind, relation)
    if relation == "between":
        seconds = find(scene, second(thing)._replace(room=second(thing).room or thing.room))
        return any(off_line(obj, a, b) < _OFF_LINE_M for a in bases for b in seconds if a.instance != b.instance)
    check = _RELATIONS.get(relation)
    return any(check(scene, obj, base) for base in bases if base.instance != obj.instance) if check else False


def second(thing: Thing) -> Thing:
    """Return the second of two things that something is between."""
    return thing.other_support or (thing.support.support if thing.support else None) or Thing()


def is_carried(scene: LabelScene, obj: Seen, kind: str, relation: str, base: Seen | None = None) -> bool:
    """Return whether a label says that an object is on (in, under) a kind of object, and no other one is nearer."""
    own, a = obj.attributes.get("relation"), obj.attributes
    same = own == relation or (relation in ("on", "in") and own in ("on", "in"))
    named = a.get("support", "")
    return same and (canonical(named) == canonical(kind) or is_called(named, kind)) and (
        base is None or scene.nearest(obj, base))


def _carried(relation: str) -> Callable[[LabelScene, Seen, Seen], bool]:
    return lambda scene, obj, base: is_carried(scene, obj, base.kind, relation, base)


def _under(scene: LabelScene, obj: Seen, base: Seen) -> bool:
    if is_carried(scene, obj, base.kind, "under", base):
        return True
    if obj.high[2] - obj.low[2] < _FLAT_M:
        return same_room(obj.room, base.room) and gap(obj, base) == 0.0 and base.high[2] > obj.high[2] + _FLAT_M
    hung = base.attributes.get("relation") in ("wall", "ceiling")
    return hung and same_room(obj.room, base.room) and gap(obj, base) == 0.0 and obj.high[2] <= base.low[2] + 0.1 and (
        obj.high[2] - obj.low[2] > 0.12)


def _above(scene: LabelScene, obj: Seen, base: Seen) -> bool:
    hung = obj.attributes.get("relation") == "wall"
    if hung and canonical(obj.attributes.get("support", "")) == canonical(base.kind):
        return scene.nearest(obj, base)
    # of deep furniture only the front is seen, so that the wall behind it begins some way off
    return hung and obj.kind not in OPENINGS and same_room(obj.room, base.room) and gap(obj, base) < _TO_WALL_M and (
        obj.low[2] > base.low[2] + 0.7 * (base.high[2] - base.low[2]))


def _next_to(scene: LabelScene, obj: Seen, base: Seen) -> bool:
    return gap(obj, base) < _NEXT_TO_M and same_room(obj.room, base.room)


def _at(scene: LabelScene, obj: Seen, base: Seen) -> bool:
    return is_carried(scene, obj, base.kind, "on", base) or (gap(obj, base) < _AT_M and same_room(obj.room, base.room))


def _beside(sign: int) -> Callable[[LabelScene, Seen, Seen], bool]:
    """Return whether an object is to the right (1) or left (-1) of another one for who faces that."""
    def rule(scene: LabelScene, obj: Seen, base: Seen) -> bool:
        ahead = facing(base)
        right, behind = to_the_right(base, obj)
        level = abs(behind) < (extent(base, ahead) + extent(obj, ahead)) / 2 + 0.1
        outside = sign * right > extent(base, (ahead[1], -ahead[0])) / 2
        return level and outside and gap(base, obj) < _NEXT_TO_M and same_room(obj.room, base.room)
    return rule


def _along(sign: int) -> Callable[[LabelScene, Seen, Seen], bool]:
    """Return whether an object is behind (1) or in front of (-1) another one for who faces that."""
    def rule(scene: LabelScene, obj: Seen, base: Seen) -> bool:
        ahead = facing(base)
        across = ahead[1], -ahead[0]
        right, behind = to_the_right(base, obj)
        aligned = abs(right) < (extent(base, across) + extent(obj, across)) / 2
        return aligned and sign * behind > 0.0 and gap(base, obj) < _AHEAD_M and same_room(obj.room, base.room)
    return rule


def _with(scene: LabelScene, obj: Seen, other: Seen) -> bool:
    """Return whether another object belongs to one: it is on, in or under it, hangs before it or touches it."""
    a = other.attributes
    if a.get("support"):
        return canonical(a["support"]) == canonical(obj.kind) and scene.nearest(other, obj)
    return same_room(obj.room, other.room) and gap(obj, other) < _TOUCH_M


def off_line(obj: Seen, a: Seen, b: Seen) -> float:
    """Return how far an object is from the line between two others, metres; 9 where it is not between them."""
    (ax, ay), (bx, by), (x, y) = a.middle, b.middle, obj.middle
    length = max(math.hypot(bx - ax, by - ay), 1e-6)
    along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length ** 2
    if obj.instance in (a.instance, b.instance) or not 0.2 < along < 0.8:
        return 9.0
    return abs((x - ax) * (by - ay) - (y - ay) * (bx - ax)) / length


_RELATIONS: dict[str, Callable[[LabelScene, Seen, Seen], bool]] = {
    "on": _carried("on"), "in": _carried("in"), "under": _under, "above": _above, "next to": _next_to, "at": _at,
    "left of": _beside(-1), "right of": _beside(1), "behind": _along(1), "in front of": _along(-1), "with": _with}
_OF_FURNITURE = frozenset(("next to", "left of", "right of", "behind", "in front of", "between"))
