"""Sightings of all views, merged by instance, with their spatial relations. It holds nothing unseen."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.answerers.label.evidence import FAR_M, Sightings, clarity, clearest_text, is_doubtful, trust
from eqa_nodes.core.language.english import canonical, normalise
from eqa_nodes.core.language.query import Thing
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.views import TEXT, Keyframe, Label, Sighting, overlap

LOOKED = 0.8  # coverage from which a room was looked over: objects that were not seen are not there
HALF = 0.5  # coverage from which most of a room was seen; certainty that nothing in a house was overlooked
AREA_SURE = 0.7  # a room may be larger than the box of what stands in it
_SAME, _SLACK_M = 0.4, 0.05  # overlap from which two detected objects of one name are one, boxes this much larger
_SEEN = 0.1  # what is less sure to be there was not seen
_HOUSE = 3  # minimum number of known rooms of a house
_UNSEEN_M = 2.5  # assumed distance of a room of which nothing was seen
_IN_WALL_M = 0.35  # maximum distance of a door from the box of its room's objects
_RIVAL_M, _DOUBTFUL_M = 0.8, 1.5  # a second door as near as this may be meant; a door this far off is doubtful
_TURNED_RAD = 1.0  # minimum turn between views that show different parts of a room
_OTHER_PLACE_M, _COUNTED_ONCE = 0.75, 0.6  # distance of a second place; certainty of a number seen from only one
_RECENT_NS = 600 * 10 ** 9
_FRONT = "front door"  # lies between no two rooms
_COMPUTED = ("relation", "support")  # from the boxes of detected objects, which grow: an earlier value is no doubt
_NOT_FURNITURE = frozenset(("door", "window", "curtain", "rug", "front door", "bath mat", "doormat", "yoga mat"))
_FURNITURE_M = 0.4  # what is no larger is hardly furniture, if it is not known to stand on the floor
Box = tuple[float, float, float, float]  # on the floor: x0, y0, x1, y1


class Seen(NamedTuple):
    """One instance over all given views: the newest label, the best sighting, and the union of its boxes (metres)."""

    instance: int
    kind: str
    room: str
    attributes: dict[str, str]
    sighting: Sighting
    view: Keyframe
    clarity: float  # 0..1 in the best view
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    views: tuple[tuple[Keyframe, Sighting], ...]
    trust: float = 1.0  # 0..1, how sure its name is; in `clarity` too

    @property
    def sides(self) -> tuple[float, float, float]:
        """Extents along the map's axes."""
        return self.high[0] - self.low[0], self.high[1] - self.low[1], self.high[2] - self.low[2]

    @property
    def relation(self) -> str:
        """What its label says of where it is; a simulator leaves out "floor", a detector what it does not know."""
        return self.attributes.get("relation", "" if self.sighting.label.detected else "floor")

    @property
    def middle(self) -> tuple[float, float]:
        """Centre of the footprint."""
        return (self.low[0] + self.high[0]) / 2, (self.low[1] + self.high[1]) / 2


class LabelScene:
    """Everything sighted in some views."""

    def __init__(self, views: Sequence[Keyframe]) -> None:
        self.views = sorted({view.id: view for view in views}.values(), key=lambda v: (v.stamp_ns, v.id))
        by_instance: dict[int, list[tuple[Keyframe, Sighting]]] = {}
        for view in self.views:
            for sighting in view.sightings:
                by_instance.setdefault(sighting.label.instance, []).append((view, sighting))
        merged = _joined([_merged(by_instance[i]) for i in sorted(by_instance)])
        self.objects = [t for t in merged if t.trust >= _SEEN]
        self._doors = [t for t in self.objects if normalise(t.kind).endswith("door")]

    def rooms(self, name: str = "") -> list[str]:
        """Return the labelled rooms that a name means: the very one, else all of that kind ("bedroom"); "" for all."""
        labels = sorted({t.room for t in self.objects if t.room})
        return [r for r in labels if same_room(r, name)] or [r for r in labels if in_region(r, name)]

    def in_room(self, room: str) -> list[Seen]:
        """Return the objects seen in a room ("" = everywhere)."""
        rooms = self.rooms(room)
        return [t for t in self.objects if not room or t.room in rooms]

    def furniture(self, room: str) -> list[Seen]:
        """Return what stands on the floor of a room and rises from it."""
        return [t for t in self.in_room(room) if t.high[2] > 0.12 and t.kind not in _NOT_FURNITURE and (
            t.relation == "floor" or (not t.relation and max(t.sides) > _FURNITURE_M))]

    def has_others(self, name: str) -> bool:
        """Return whether unseen rooms of that name must exist, because its name distinguishes it from others."""
        rooms = self.rooms(name) if name else []
        return len(rooms) == 1 and not same_room(rooms[0], name)

    def nearest(self, obj: Seen, base: Seen) -> bool:
        """Return whether it is this one of its kind that an object is on: labels name the support's kind only."""
        rivals = [t for t in self.in_room(base.room) if t.kind == base.kind and t.instance != base.instance]
        return obj.room == base.room and all(gap(obj, base) <= gap(obj, rival) for rival in rivals)

    def bounds(self, room: str) -> Box | None:
        """Return the floor box of what was seen of a room, None for nothing."""
        objects = self.in_room(room)
        if not objects:
            return None
        return (min(t.low[0] for t in objects), min(t.low[1] for t in objects),
                max(t.high[0] for t in objects), max(t.high[1] for t in objects))

    def area(self, room: str) -> float:
        """Return the area of the floor box of what was seen of a room, square metres."""
        box = self.bounds(room)
        return (box[2] - box[0]) * (box[3] - box[1]) if box else 0.0

    def overview(self, room: str = "") -> float:
        """Return how sure, 0..1, nothing was overlooked in a room, or in all known rooms where none is named.

        Of the whole house half, and at most 0.8 where every room was entered and most of them is in view: there may be
        rooms of which nothing was seen.
        """
        if room:
            return self.coverage(room)
        shares = [self.coverage(known) for known in self.rooms()]
        return min(sum(shares) / len(shares), LOOKED) if len(shares) >= _HOUSE and min(shares) >= HALF else HALF

    def looked_over(self, room: str) -> bool:
        """Return whether what was not seen in a room, or in the house where none is named, is not there."""
        return self.overview(room) > (LOOKED if room else HALF)

    def coverage(self, room: str) -> float:
        """Return the share, 0..1, of a room's box that views cover; less when no view is from inside."""
        rooms = self.rooms(room) if room else []
        if len(rooms) > 1:
            return min(map(self.coverage, rooms))
        box = self.bounds(room)
        if box is None:
            return 0.0
        cameras = [v.pose for v in self.views if _inside(box, v.pose, 0.8) or room_of(v) in rooms]
        width, depth = box[2] - box[0], box[3] - box[1]
        spots = [(box[0] + width * i / 8, box[1] + depth * j / 8) for i in range(9) for j in range(9)]
        seen = sum(any(_looks_at(pose, *spot) for pose in cameras) for spot in spots)
        return seen / len(spots) * (1.0 if any(_inside(box, v.pose, 0.3) for v in self.views) else 0.7)

    def looked_round(self, room: str) -> bool:
        """Return whether views from inside a room look in different directions: one shows only what is before it."""
        box = self.bounds(room)
        yaws = [v.pose.yaw for v in self.views if box and _inside(box, v.pose, 0.8)]
        return any(abs(wrap(yaw - yaws[0])) > _TURNED_RAD for yaw in yaws)

    def counted(self, objects: Sequence[Seen]) -> float:
        """Return how sure a number of objects is as far as it depends on looks, 0..1; 1 with a simulator's labels.

        A detector misses some from each place, so that the rooms of the objects are looked at from two. Each object is
        either there or not (see `likely`), and the number is right if all of that is: several are less sure than one.
        """
        if not any(is_doubtful(t.sighting) for t in objects):
            return 1.0
        twice = all(self._seen_twice(room) for room in {t.room for t in objects})
        return math.prod(max(t.trust, 1.0 - t.trust) for t in objects) * (1.0 if twice else _COUNTED_ONCE)

    def _seen_twice(self, room: str) -> bool:
        box = self.bounds(room)
        inside = [v.pose for v in self.views if box and _inside(box, v.pose, 0.8)]
        return any(pose.distance(inside[0]) >= _OTHER_PLACE_M for pose in inside)

    def doors(self, room: str) -> list[Seen]:
        """Return the doors of a room: those that are labelled by it, and those in its walls."""
        return [t for t in self._doors if self._off(room, t) < _IN_WALL_M]

    def door(self, ref: Thing) -> tuple[Seen, float] | None:
        """Return the door that leads to a room, or lies between two, and how sure that is it (0..1).

        A door's label names one of its rooms; the other is the room whose seen objects are nearest to the door.
        """
        rooms = [room for room in (ref.room, ref.other_room) if room]
        off = {t.instance: sum(self._off(room, t) for room in rooms) for t in self._doors}
        inner = [t for t in self._doors if not (ref.other_room and normalise(t.kind) == _FRONT)]
        doors = sorted(inner, key=lambda t: (off[t.instance], t.instance))
        mine = [t for t in doors if any(t.room in self.rooms(room) for room in rooms)
                and all(self._off(room, t) <= _UNSEEN_M for room in rooms)]
        if not mine and not ref.other_room:
            mine = [t for t in doors if off[t.instance] < _UNSEEN_M]  # labelled by the room on its other side
        if not mine:
            return None
        best = mine[0]
        rivals = [t for t in mine[1:] if off[t.instance] - off[best.instance] < _RIVAL_M]
        unseen = not all(map(self.in_room, rooms)) and (ref.other_room or best.room not in self.rooms(ref.room))
        return best, best.clarity * (0.6 if rivals or unseen or off[best.instance] > _DOUBTFUL_M else 1.0)

    def _off(self, room: str, obj: Seen) -> float:
        """Return how far an object is from what was seen of a room, metres; 0 where its label names that room."""
        box, (x, y) = self.bounds(room), obj.middle
        if obj.room in self.rooms(room) or box is None:
            return 0.0 if box else _UNSEEN_M
        return math.hypot(max(box[0] - x, x - box[2], 0.0), max(box[1] - y, y - box[3], 0.0))


def likely(found: Sequence[Seen]) -> tuple[Seen, ...]:
    """Return the objects that are more likely there than not; all of them if none is."""
    return tuple(t for t in found if t.trust >= HALF) or tuple(found)


def _merged(sightings: Sightings) -> Seen:
    view, best = max(sightings, key=lambda pair: (clarity(*pair), pair[1].pixels, -pair[0].id))
    lows = [tuple(c - e / 2 for c, e in zip(s.centre, s.size)) for _, s in sightings]
    highs = [tuple(c + e / 2 for c, e in zip(s.centre, s.size)) for _, s in sightings]
    label, agreed = _voted(sightings)
    trusted = trust(sightings, label.kind)
    return Seen(label.instance, label.kind, label.room, label.attributes, best, view,
                clarity(view, best) * agreed * trusted, tuple(map(min, zip(*lows))), tuple(map(max, zip(*highs))),
                tuple(sightings), trusted)


def _joined(objects: Sequence[Seen]) -> list[Seen]:
    """Return the objects, those of a detector joined that have one name and are in the same place.

    A rug whose ends were seen on both sides of a table has two numbers until its middle is seen.
    """
    joined: list[Seen] = []
    for obj in objects:
        while (same := _same_as(obj, joined)) is not None:  # what has grown may reach a third one
            both = (*joined.pop(same).views, *obj.views)
            obj = _merged(sorted(both, key=lambda pair: (pair[0].stamp_ns, pair[0].id)))
        joined.append(obj)
    return joined


def _same_as(obj: Seen, others: Sequence[Seen]) -> int | None:
    """Return the index of another object that is the same one, None without any."""
    return next((i for i, other in enumerate(others) if other.kind == obj.kind != TEXT and is_doubtful(obj.sighting)
                 and is_doubtful(other.sighting) and _shared(obj, other) > _SAME), None)


def _shared(a: Seen, b: Seen) -> float:
    """Return the overlap of two boxes as a share of the smaller one."""
    return float(overlap(np.array([a.low]), np.array([a.high]), b.low, b.high, _SLACK_M)[0])


def _voted(sightings: Sightings) -> tuple[Label, float]:
    """Return the label that most of the recent views agree on, clear ones counting more, and the share that does.

    Recent: a state may have changed since the older ones; of two values with equal votes the newer one holds.
    """
    newest, agreed, won = sightings[-1][0].stamp_ns, 1.0, dict[str, str]()
    recent = [(view, s) for view, s in reversed(sightings) if newest - view.stamp_ns <= _RECENT_NS]
    told = [({**s.label.attributes, "kind": s.label.kind}, clarity(view, s) ** 2) for view, s in recent]
    for name in sorted({name for values, _ in told for name in values} - {TEXT}):
        votes: dict[str, float] = {}
        for value, weight in ((values[name], weight) for values, weight in told if name in values):
            votes[value] = votes.get(value, 0.0) + weight
        won[name] = max(votes, key=lambda value: votes[value])
        if name not in _COMPUTED or not is_doubtful(recent[0][1]):
            agreed = min(agreed, votes[won[name]] / (sum(votes.values()) or 1.0))
    if text := clearest_text(sightings):
        won[TEXT] = text[0]
    return recent[0][1].label._replace(kind=won.pop("kind"), attributes=won), agreed


def same_room(room: str, wanted: str) -> bool:
    """Return whether a labelled room is the wanted one ("" = any)."""
    return not wanted or _room_name(room) == _room_name(wanted)


def _room_name(name: str) -> str:
    """Return the canonical name of a room: twice, for "kids' bedroom" is a kid bedroom first, which is a kid room."""
    return re.sub(r"^(?:master|first|principal|parents?) ", "main ", canonical(canonical(name)))


def in_region(room: str, region: str) -> bool:
    """Return whether a labelled room ("guest bedroom") is of a kind of room ("bedroom")."""
    kind = canonical(region)
    return bool(kind) and any(name == kind or name.endswith(f" {kind}")
                              for name in (_room_name(room), canonical(room), normalise(room)))


def room_of(view: Keyframe) -> str:
    """Return the room that most labelled pixels of a view belong to; "" for none."""
    pixels = Counter[str]()
    for sighting in view.sightings:
        pixels[sighting.label.room] += sighting.pixels
    return max(sorted(pixels), key=lambda room: pixels[room], default="")


def gap(a: Seen, b: Seen) -> float:
    """Return the distance of two footprints in metres, 0 where they overlap."""
    return math.hypot(*(max(a.low[i] - b.high[i], b.low[i] - a.high[i], 0.0) for i in (0, 1)))


def facing(base: Seen) -> tuple[float, float]:
    """Return the direction (unit vector along a map axis) in which a person looks who faces an object.

    Furniture shows its front to where it can be looked at from: the axis nearest to the lines of sight, by pixels.
    """
    total = {(1.0, 0.0): 0.0, (-1.0, 0.0): 0.0, (0.0, 1.0): 0.0, (0.0, -1.0): 0.0}
    for view, sighting in base.views:
        dx, dy = base.middle[0] - view.pose.x, base.middle[1] - view.pose.y
        for axis in total:
            total[axis] += sighting.pixels * max(0.0, dx * axis[0] + dy * axis[1]) / (math.hypot(dx, dy) or 1.0)
    return max(total, key=lambda axis: total[axis])


def _inside(box: Box, pose: Pose2, margin: float) -> bool:
    return box[0] - margin <= pose.x <= box[2] + margin and box[1] - margin <= pose.y <= box[3] + margin


def _looks_at(pose: Pose2, x: float, y: float) -> bool:
    """Return whether a spot lies in a view of 80 degrees and 6 m (the spot at the robot's feet counts)."""
    dx, dy = x - pose.x, y - pose.y
    ahead = math.cos(math.atan2(dy, dx) - pose.yaw) > math.cos(math.radians(40))
    return math.hypot(dx, dy) < 0.5 or (math.hypot(dx, dy) < FAR_M and ahead)
