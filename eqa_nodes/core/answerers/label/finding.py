"""Finds the objects that a phrase can mean: all that it says of them is checked on what was seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, facing, gap, same_room
from eqa_nodes.core.language.english import canonical, normalise
from eqa_nodes.core.language.naming import by_head, in_group, kept_in, known_names, members
from eqa_nodes.core.language.query import Thing
from eqa_nodes.core.language.states import state_of

SURFACES, DOORS, LOOKS = ("wall", "ceiling", "floor"), ("door", "doorway"), ("state", "colour", "material")
HOLDS = ("on", "in", "under")  # relations that labels have, with the kind of the support
_OPENINGS = frozenset(("door", "front door", "window", "curtain", "curtains", "light switch"))
# Gaps are measured between visible parts, which end a little inside the objects.
_WITHIN_M = {"next to": 0.8, "left of": 0.8, "right of": 0.8, "behind": 1.5, "in front of": 1.5, "with": 0.3}
OF_FURNITURE = frozenset(("next to", "left of", "right of", "behind", "in front of", "between"))
_RIVAL = 0.5  # what is this much less sure to be there than another object is not what a phrase means
_FLAT_M = 0.06  # rugs and mats are no higher
_TO_WALL_M, _OFF_LINE_M = 0.5, 0.6
_OTHER_ROOM_M = 5.0  # added to the distance of objects in different rooms: the way round a wall
PLAIN, _PLAIN_VOLUME = 1.15, 1.6  # ratio of two sizes (volumes) from which only the larger one is "the large one"
# Kinds that may stand in for a longer name where labels have no longer one: a "lamp" for "floor lamp".
_GENERAL = frozenset(("lamp", "plant", "monitor", "chair", "table", "cabinet", "sink", "clock", "shelf", "bin",
                      "basket", "box", "bottle", "counter", "ball", "mat", "stool", "pot", "ceiling light"))
# how a word of size begins -> the side that it compares, "" for all of the object, and whether it means the smaller one
_SIZES = {"tall": ("high", False), "high": ("high", False), "low": ("high", True), "wid": ("wide", False),
          "broad": ("wide", False), "narrow": ("wide", True), "slim": ("wide", True), "long": ("long", False),
          "short": ("long", True), "deep": ("deep", False), "thick": ("thick", False),
          **dict.fromkeys(("small", "little", "tin", "wee", "mini", "petite", "few", "less"), ("", True))}


def find(scene: LabelScene, thing: Thing, every: bool = False) -> list[Seen]:
    """Return the objects that a phrase can mean.

    A name means the objects that are labelled so, else those with another word for it, else special cases: a floor lamp
    is a lamp. every: all of these; of kinds for a use all, where otherwise the first one that was seen is meant, and of
    detected objects only those about as sure to be there as the surest.
    """
    thing = placed(thing)
    if thing.kind in DOORS and thing.room and not every and thing.support is None:
        door = scene.door(thing)
        return [door[0]] if door and looks_so(door[0], thing) else []
    there = _there(scene, thing)
    thing = thing if _of_room(thing) is None else thing._replace(relation="", support=None)
    bases = bases_of(scene, thing)
    fits, found = _check(scene, thing, bases), dict[int, Seen]()
    for name in thing.kinds or (thing.kind,):
        called = _called(there, name, every or bool(thing.kinds), fits)
        found |= {t.instance: t for t in _extremes(called, thing, bases)}
        if found and not every:
            break
    surest = 0.0 if every else max((t.trust for t in found.values()), default=0.0)
    return [t for t in found.values() if t.trust >= _RIVAL * surest]


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
    if thing.relation in OF_FURNITURE:
        return scene.furniture(thing.room)
    return [t for t in scene.in_room(thing.room) if t.kind not in _OPENINGS]


def _of_room(thing: Thing) -> Thing | None:
    """Return what distinguishes the room of a phrase: the treadmill of "in the room with the treadmill"; else None."""
    room = thing.support
    told = room is not None and thing.relation == "in" and not room.kind and not room.kinds and room.relation == "with"
    return room.support if told and room else None


def _check(scene: LabelScene, thing: Thing, bases: Sequence[Seen]) -> Callable[[Seen], bool]:
    """Return the check of what a phrase says of an object besides its kind, room and size."""
    unlike = thing.unlike
    others = bases_of(scene, unlike._replace(room=unlike.room or thing.room)) if unlike is not None else []

    def is_unlike(obj: Seen, unlike: Thing) -> bool:
        if any(getattr(unlike, name) and not obj.attributes.get(name) for name in LOOKS):
            return False  # its look is not known
        same_kind = not unlike.kind or is_called(obj.kind, unlike.kind)
        return not (same_kind and looks_so(obj, unlike) and is_there(scene, obj, unlike, others))

    # the closer one need not be next to the base, from which its distance is measured
    return lambda obj: looks_so(obj, thing) and (thing.size == "closer" or _is_beside(scene, obj, thing, bases)) and (
        unlike is None or is_unlike(obj, unlike))


# What things are called.

def _called(there: Sequence[Seen], name: str, every: bool, fits: Callable[[Seen], bool]) -> list[Seen]:
    """Return the objects that fit and that a name means most closely."""
    ranked = [(rank, t) for t in there if (rank := _rank(t.kind, name, every)) is not None and fits(t)]
    first = min((rank for rank, _ in ranked), default=0)
    return [t for rank, t in ranked if rank == first]


@lru_cache(maxsize=4096)
def _rank(kind: str, name: str, every: bool) -> int | None:
    """Return how far a kind is from a name: 0 for the name itself, then synonyms, special cases, a more general kind.

    "Clock" means wall clocks and alarm clocks alike. None: it does not go by that name.
    """
    own, single = normalise(kind), " " not in name
    if own == name or not name or (members(name) and is_called(own, name)):
        return 0
    if not members(name) and is_called(own, name):
        return 0 if single and every else 1 if single or canonical(own) == canonical(name) else 2
    general = own in _GENERAL and name.endswith(f" {own}") and name in known_names()  # a "broken chair" is unknown
    return 3 if general and not single and not members(name) else None


def is_called(kind: str, name: str) -> bool:
    """Return whether a kind of object goes by a name: its own, a synonym, a more general one, or that of its group.

    A name of several words is taken literally.
    """
    own = normalise(kind)
    special = by_head(own, name) and (" " not in name or " " in canonical(name) or own.endswith(f" {name}"))
    return own == name or canonical(own) == canonical(name) or special or in_group(kind, name)


# How they look.

def looks_so(obj: Seen, thing: Thing) -> bool:
    """Return whether state, colour and material of an object are as a phrase says."""
    state, colour, material = (obj.attributes.get(name, "") for name in LOOKS)
    wanted = thing.state if thing.state == "lit" and not thing.kind else base_state(thing.state, obj.kind)
    return (not thing.state or (bool(state) and base_state(state, obj.kind) == wanted)) and (
        not thing.colour or same_look(colour, thing.colour)) and (
        not thing.material or canonical(material) == canonical(thing.material))


def look_of(thing: Thing) -> str:
    """Return which attribute a phrase names first: state, colour or material; "" for none."""
    return next((name for name in LOOKS if getattr(thing, name)), "")


def same_look(colour: str, wanted: str) -> bool:
    """Return whether a colour is the wanted one; a shade counts as its colour, where no shade is labelled."""
    return bool(colour) and canonical(colour) in (canonical(wanted), canonical(wanted.split()[-1]))


def base_state(state: str, kind: str) -> str:
    """Return the state that a word means of a kind of object: "lit" of a lamp is on."""
    return state_of(state, kind) or state


def _size(word: str) -> tuple[str, bool]:
    return next((known for start, known in _SIZES.items() if word.startswith(start)), ("", False))


def is_smaller(size: str) -> bool:
    """Return whether a word of size or number means the smaller of two: "narrower", "shortest", "small", "fewer"."""
    return _size(size)[1]


def side_of(size: str, sides: Sequence[float]) -> str:
    """Return the side that a word of size compares of an object with these sides; "" for its volume."""
    return "high" if size.startswith("short") and sides[2] > max(sides[:2]) else _size(size)[0]


def _extremes(objects: Sequence[Seen], thing: Thing, bases: Sequence[Seen]) -> list[Seen]:
    """Return of several objects the largest (smallest, nearest) ones, as many as the phrase says.

    All of them if it names no size or they hardly differ.
    """
    size = thing.size
    if size == "closer":
        off = {t.instance: min(gap(t, base) + (_OTHER_ROOM_M if t.room != base.room else 0.0) for base in bases)
               for t in objects if bases}
        return sorted(objects, key=lambda t: (off[t.instance], t.instance))[:1] if off else []
    if not size or len(objects) < 2:
        return list(objects)
    values = {t.instance: _measure(t.sides, size) for t in objects}
    if 1 < thing.number < len(objects):  # "both big ones"
        ranked = sorted(objects, key=lambda t: values[t.instance], reverse=not is_smaller(size))
        last, next_one = (values[t.instance] for t in ranked[thing.number - 1:thing.number + 1])
        return ranked[:thing.number] if max(last, next_one) >= _PLAIN_VOLUME * min(last, next_one) else list(objects)
    first = (min if is_smaller(size) else max)(values.values())
    side = side_of(size, (0.0, 0.0, 1.0))
    ratio = 1.01 if size.endswith(("er", "est")) else PLAIN if side else _PLAIN_VOLUME
    return [t for t in objects if max(first, values[t.instance]) < ratio * min(first, values[t.instance])]


def _measure(sides: Sequence[float], size: str) -> float:
    """Return the height, the longer or shorter side of the footprint, or the volume: what a word of size compares."""
    side = side_of(size, sides)
    if side == "high":
        return sides[2]
    across = sorted(sides[:2])
    return across[1] if side in ("wide", "long") else across[0] if side else math.prod(max(one, 0.02) for one in sides)


# Where they are.

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


def support_of(thing: Thing, second: bool = False) -> Thing:
    """Return what something is on, in, beside, ... (the second of two), in its room if that names no other."""
    support = (thing.other_support if second else thing.support) or Thing()
    return support if support.room else support._replace(room=thing.room)


def is_there(scene: LabelScene, obj: Seen, thing: Thing, bases: Sequence[Seen]) -> bool:
    """Return whether an object is where a phrase says: in the room, and on, in, beside ... any of the bases."""
    return (not thing.room or obj.room in scene.rooms(thing.room)) and _is_beside(scene, obj, thing, bases)


def _is_beside(scene: LabelScene, obj: Seen, thing: Thing, bases: Sequence[Seen]) -> bool:
    support, relation = thing.support, thing.relation
    if support is None:
        return True
    if support.kind in SURFACES:
        return obj.relation == support.kind
    if not bases:  # what it is on was not seen itself, but the label of what is on it names it
        plain = support._replace(kind="", room="", quantifier="") == Thing()
        return plain and is_carried(obj, support.kind, relation)
    others = find(scene, support_of(thing, second=True)) if relation == "between" else []
    if relation == "between":
        return any(off_line(obj, a, b) < _OFF_LINE_M for a in bases for b in others if a.instance != b.instance)
    return any(_relates(scene, obj, relation, base) for base in bases if base.instance != obj.instance)


def is_carried(obj: Seen, kind: str, relation: str) -> bool:
    """Return whether a label says that an object is on (in, under) a kind of object."""
    own, support = obj.attributes.get("relation"), obj.attributes.get("support", "")
    same = own in HOLDS and relation in HOLDS and (own == "under") == (relation == "under")  # "in" a shelf is "on" it
    return same and is_called(support, kind)


def _relates(scene: LabelScene, obj: Seen, relation: str, base: Seen) -> bool:
    """Return whether an object is on, above, beside, ... another one: by its label where that tells, else by boxes."""
    if is_carried(obj, base.kind, relation) and scene.nearest(obj, base):
        return True
    if relation == "with" and (named := base.attributes.get("support")):
        return canonical(named) == canonical(obj.kind) and scene.nearest(base, obj)
    if relation == "above":
        return _is_above(scene, obj, base)
    if not same_room(obj.room, base.room):
        return False
    if relation == "under":
        return _is_under(obj, base)
    if relation == "next to" and obj.attributes.get("relation") == "ceiling":
        return False  # it hangs above the room, not beside anything in it
    return gap(obj, base) < _WITHIN_M.get(relation, 0.0) and _is_towards(obj, relation, base)


def _is_above(scene: LabelScene, obj: Seen, base: Seen) -> bool:
    hung = obj.attributes.get("relation") == "wall"
    if hung and canonical(obj.attributes.get("support", "")) == canonical(base.kind):
        return scene.nearest(obj, base)
    # of deep furniture only the front is seen, so that the wall behind it begins some way off
    return hung and obj.kind not in _OPENINGS and same_room(obj.room, base.room) and gap(obj, base) < _TO_WALL_M and (
        obj.low[2] > base.low[2] + 0.7 * base.sides[2])


def _is_under(obj: Seen, base: Seen) -> bool:
    """Return whether a rug is under furniture, or an object is below one that hangs on a wall or ceiling."""
    if gap(obj, base) > 0.0:
        return False
    if obj.sides[2] < _FLAT_M:
        return base.high[2] > obj.high[2] + _FLAT_M
    hung = base.attributes.get("relation") in ("wall", "ceiling")
    return hung and obj.high[2] <= base.low[2] + 0.1 and obj.sides[2] > 2 * _FLAT_M


def _is_towards(obj: Seen, relation: str, base: Seen) -> bool:
    """Return whether an object is left of, right of, behind or in front of another one, seen from its front."""
    ahead, (right, behind) = facing(base), to_the_right(base, obj)
    across = ahead[1], -ahead[0]
    if relation in ("left of", "right of"):
        level = abs(behind) < (extent(base, ahead) + extent(obj, ahead)) / 2 + 0.1
        return level and (right if relation == "right of" else -right) > extent(base, across) / 2
    if relation in ("behind", "in front of"):
        aligned = abs(right) < (extent(base, across) + extent(obj, across)) / 2
        return aligned and (behind if relation == "behind" else -behind) > 0.0
    return True


def to_the_right(base: Seen, other: Seen) -> tuple[float, float]:
    """Return where the other's centre is, seen from the front of the base: metres to the right, and behind it."""
    ahead = facing(base)
    dx, dy = other.middle[0] - base.middle[0], other.middle[1] - base.middle[1]
    return dx * ahead[1] - dy * ahead[0], dx * ahead[0] + dy * ahead[1]


def extent(obj: Seen, axis: tuple[float, float]) -> float:
    """Return the object's size along a map axis in metres."""
    return abs(axis[0]) * obj.sides[0] + abs(axis[1]) * obj.sides[1]


def off_line(obj: Seen, a: Seen, b: Seen) -> float:
    """Return how far an object is from the line between two others, metres; 9 if it is not between them."""
    (ax, ay), (bx, by), (x, y) = a.middle, b.middle, obj.middle
    length = max(math.hypot(bx - ax, by - ay), 1e-6)
    along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length ** 2
    if obj.instance in (a.instance, b.instance) or not 0.2 < along < 0.8:
        return 9.0
    return abs((x - ax) * (by - ay) - (y - ay) * (bx - ax)) / length
