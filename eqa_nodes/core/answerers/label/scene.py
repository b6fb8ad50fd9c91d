"""Sightings of all views, merged by instance, with their spatial relations. It holds nothing unseen."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from PIL import Image

from eqa_nodes.core.language.english import canonical, normalise
from eqa_nodes.core.language.query import Thing
from eqa_nodes.core.pillow import RESAMPLING
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.views import TEXT, Keyframe, Label, Sighting

_FULL_PIXELS = 150  # of 640 x 480: enough to name an object and its looks
_STRIP_PX, _STRIP = 24, 6  # a strip narrower than this (3 degrees) and so often as long: an edge of something wider?
_LARGE_PIXELS = 3000  # 1 % of 640 x 480: a picture that shows more of an object proves no more
_WHOLE = 0.7  # share of an object's extents from which it is in view as a whole: from the front a box hides its depth
_CUT = 0.8  # what a proof loses with each border that cuts the object off: who looks at it cannot know how much
_SLACK_M = 0.05  # flat things differ by so much in depth images
_AS_GOOD = 0.9  # share of the best proof from which the sharper picture is the better one
_FAR_M = 6.0
_UNSEEN_M = 2.5  # stands for the distance to a room of which nothing was seen
_IN_WALL_M = 0.35  # of a door, off the box of what was seen of its room
_HOUSE, _HALF, _HOUSE_SURE = 3, 0.5, 0.8  # least number of rooms of a house; see LabelScene.overview
_TURNED_RAD = 1.0  # between two views that show different parts of a room
_RECENT_NS = 600 * 10 ** 9
_NOT_FURNITURE = frozenset(("door", "window", "curtain", "rug", "front door", "bath mat", "doormat", "yoga mat"))


class Seen(NamedTuple):
    """One instance over all given views: the newest label, the best sighting, and the union of its boxes (metres)."""

    sighting: Sighting
    view: Keyframe
    clarity: float  # 0..1 in the best view
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    attributes: dict[str, str]
    views: tuple[tuple[Keyframe, Sighting], ...]

    @property
    def instance(self) -> int:
        """Instance id."""
        return self.sighting.label.instance

    @property
    def kind(self) -> str:
        """Kind as labelled."""
        return self.sighting.label.kind

    @property
    def room(self) -> str:
        """Room as labelled."""
        return self.sighting.label.room

    @property
    def sides(self) -> tuple[float, float, float]:
        """Extents along the map's axes."""
        return self.high[0] - self.low[0], self.high[1] - self.low[1], self.high[2] - self.low[2]

    @property
    def middle(self) -> tuple[float, float]:
        """Centre of the footprint."""
        return (self.low[0] + self.high[0]) / 2, (self.low[1] + self.high[1]) / 2


@lru_cache(maxsize=256)
def _image_size(jpeg: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(jpeg)).size if jpeg else (640, 480)


def clarity(view: Keyframe, sighting: Sighting) -> float:
    """Return how well an object is seen, 0..1: by its share of the image, its distance, and whether it is a strip.

    A door's edge leaves a strip of a refrigerator, which has pixels enough to name it and is no proof. What is thin
    itself is seen well from nearer.
    """
    left, top, right, bottom = sighting.bbox
    short, long = sorted((right - left, bottom - top))
    strip = max(_STRIP * short / max(long, 1), short * 640 / (_image_size(view.jpeg)[0] * _STRIP_PX))
    near = math.hypot(sighting.centre[0] - view.pose.x, sighting.centre[1] - view.pose.y) <= _FAR_M
    return 0.95 * min(1.0, math.sqrt(_pixels(view, sighting) / _FULL_PIXELS)) * (1.0 if near else 0.7) * min(1.0, strip)


def _pixels(view: Keyframe, sighting: Sighting) -> float:
    """Return the pixels of an object in an image of 640 x 480."""
    width, height = _image_size(view.jpeg)
    return sighting.pixels * (640 * 480) / (width * height)


def whole(view: Keyframe, sighting: Sighting) -> bool:
    """Return whether an object is within the image: its box touches at most one border."""
    return _borders(view, sighting) <= 1


def _borders(view: Keyframe, sighting: Sighting) -> int:
    """Return how many borders of the image cut an object off."""
    width, height = _image_size(view.jpeg)
    left, top, right, bottom = sighting.bbox
    return (left <= 1) + (top <= 1) + (right >= width - 1) + (bottom >= height - 1)


class LabelScene:
    """Everything sighted in some views."""

    def __init__(self, views: Sequence[Keyframe]) -> None:
        self.views = sorted({view.id: view for view in views}.values(), key=lambda v: (v.stamp_ns, v.id))
        by_instance: dict[int, list[tuple[Keyframe, Sighting]]] = {}
        for view in self.views:
            for sighting in view.sightings:
                by_instance.setdefault(sighting.label.instance, []).append((view, sighting))
        self.objects = [_merged(by_instance[i]) for i in sorted(by_instance)]

    def in_room(self, room: str) -> list[Seen]:
        """Return the objects seen in a room ("" = everywhere)."""
        rooms = self.rooms(room)
        return [t for t in self.objects if not room or t.room in rooms]

    def rooms(self, name: str) -> list[str]:
        """Return the labelled rooms that a name means: the very one, else all of that kind ("bedroom")."""
        labels = self.all_rooms()
        return [r for r in labels if same_room(r, name)] or [r for r in labels if in_region(r, name)]

    def is_in(self, obj: Seen, room: str) -> bool:
        """Return whether an object is in a room of that name."""
        return obj.room in self.rooms(room)

    def all_rooms(self) -> list[str]:
        """Return the labelled rooms of which something was seen."""
        return sorted({t.room for t in self.objects if t.room})

    def doors(self, room: str) -> list[Seen]:
        """Return the doors of a room: those that are labelled by it, and those in its walls."""
        box = self.bounds(room)
        return [t for t in self.objects if normalise(t.kind).endswith("door") and (
            self.is_in(t, room) or (box is not None and _off(box, t.middle) < _IN_WALL_M))]

    def has_others(self, name: str) -> bool:
        """Return whether unseen rooms of that name must exist, because its name distinguishes it from others."""
        rooms = self.rooms(name) if name else []
        return len(rooms) == 1 and not same_room(rooms[0], name)

    def furniture(self, room: str) -> list[Seen]:
        """Return what stands on the floor of a room and rises from it."""
        return [t for t in self.in_room(room) if t.attributes.get("relation", "floor") == "floor"
                and t.high[2] > 0.12 and t.kind not in _NOT_FURNITURE]

    def bounds(self, room: str) -> tuple[float, float, float, float] | None:
        """Return the floor box x0, y0, x1, y1 of what was seen of a room, None for nothing."""
        objects = self.in_room(room)
        if not objects:
            return None
        return (min(t.low[0] for t in objects), min(t.low[1] for t in objects),
                max(t.high[0] for t in objects), max(t.high[1] for t in objects))

    def area(self, room: str) -> float:
        """Return the area of the floor box of what was seen of a room, square metres."""
        box = self.bounds(room)
        return (box[2] - box[0]) * (box[3] - box[1]) if box else 0.0

    def overview(self, room: str) -> float:
        """Return how sure, 0..1, nothing was overlooked in a room, or in all known rooms where none is named.

        Of the whole house half, and at most 0.8 where every room was entered and most of them is in view: there may be
        rooms of which nothing was seen.
        """
        if room:
            return self.coverage(room)
        rooms = self.all_rooms()
        shares = [self.coverage(known) for known in rooms] if len(rooms) >= _HOUSE else [0.0]
        return min(sum(shares) / len(shares), _HOUSE_SURE) if min(shares) >= _HALF else _HALF

    def looked_round(self, room: str) -> bool:
        """Return whether views from inside a room look in different directions: one shows only what is before it."""
        box = self.bounds(room)
        yaws = [v.pose.yaw for v in self.views if box and _inside(box, v.pose.x, v.pose.y, 0.8)]
        return any(abs(wrap(yaw - yaws[0])) > _TURNED_RAD for yaw in yaws)

    def coverage(self, room: str) -> float:
        """Return the share, 0..1, of a room's box that views cover; less when no view is from inside."""
        rooms = self.rooms(room) if room else []
        if len(rooms) > 1:
            return min(map(self.coverage, rooms))
        box = self.bounds(room)
        if box is None:
            return 0.0
        cameras = [v.pose for v in self.views if _inside(box, v.pose.x, v.pose.y, 0.8) or room_of(v) in rooms]
        width, depth = box[2] - box[0], box[3] - box[1]
        spots = [(box[0] + width * i / 8, box[1] + depth * j / 8) for i in range(9) for j in range(9)]
        seen = sum(any(_looks_at(pose.x, pose.y, pose.yaw, *spot) for pose in cameras) for spot in spots)
        entered = any(_inside(box, v.pose.x, v.pose.y, 0.3) for v in self.views)
        return seen / len(spots) * (1.0 if entered else 0.7)

    def nearest(self, obj: Seen, base: Seen) -> bool:
        """Return whether it is this one of its kind that an object is on: labels name the support's kind only."""
        rivals = [t for t in self.in_room(base.room) if t.kind == base.kind and t.instance != base.instance]
        return obj.room == base.room and all(gap(obj, base) <= gap(obj, rival) for rival in rivals)

    def door(self, ref: Thing) -> tuple[Seen, float] | None:
        """Return the door that leads to a room, or lies between two, and how sure that is it (0..1).

        A door's label names one of its rooms; the other is the room whose seen objects are nearest to the door.
        """
        doors = [t for t in self.objects if normalise(t.kind).endswith("door")]
        rooms = [room for room in (ref.room, ref.other_room) if room]
        boxes = [self.bounds(room) for room in rooms]

        def off(door: Seen) -> float:
            return sum(0.0 if door.room in self.rooms(room) else _off(box, door.middle) if box else _UNSEEN_M
                       for room, box in zip(rooms, boxes))

        mine = [door for door in doors if any(door.room in self.rooms(room) for room in rooms)]
        if not mine and not ref.other_room:
            mine = [door for door in doors if off(door) < _UNSEEN_M]  # labelled by the room on its other side
        ranked = sorted(mine, key=lambda door: (off(door), door.instance))
        if not ranked:
            return None
        rivals = [door for door in ranked[1:] if off(door) - off(ranked[0]) < 0.8]
        unseen = None in boxes and (ref.other_room or ranked[0].room not in self.rooms(ref.room))
        sure = 0.6 if rivals or unseen or off(ranked[0]) > 1.5 else 1.0
        return ranked[0], ranked[0].clarity * sure


def _merged(sightings: list[tuple[Keyframe, Sighting]]) -> Seen:
    view, best = max(sightings, key=lambda pair: (clarity(*pair), pair[1].pixels, -pair[0].id))
    lows = [tuple(c - e / 2 for c, e in zip(s.centre, s.size)) for _, s in sightings]
    highs = [tuple(c + e / 2 for c, e in zip(s.centre, s.size)) for _, s in sightings]
    low, high = tuple(map(min, zip(*lows))), tuple(map(max, zip(*highs)))
    label, agreed = _voted(sightings)
    return Seen(best._replace(label=label), view, clarity(view, best) * agreed, low, high, label.attributes,
                tuple(sightings))


def _voted(sightings: Sequence[tuple[Keyframe, Sighting]]) -> tuple[Label, float]:
    """Return the label that most of the recent views agree on, clear ones counting more, and the share that does.

    Recent: a state may have changed since the older ones; of two values with equal votes the newer one holds.
    """
    newest = sightings[-1][0].stamp_ns
    recent = [(s.label, clarity(v, s) ** 2) for v, s in reversed(sightings) if newest - v.stamp_ns <= _RECENT_NS]

    def vote(value_of: Callable[[Label], str | None]) -> tuple[str, float]:
        votes: dict[str, float] = {}
        for label, weight in recent:
            if (value := value_of(label)) is not None:
                votes[value] = votes.get(value, 0.0) + weight
        winner = max(votes, key=lambda value: votes[value])
        return winner, votes[winner] / (sum(votes.values()) or 1.0)

    kind, agreed = vote(lambda label: label.kind)
    attributes = {}
    for name in sorted({name for label, _ in recent for name in label.attributes} - {TEXT}):
        attributes[name], share = vote(lambda label, name=name: label.attributes.get(name))  # type: ignore[misc]
        agreed = min(agreed, share)
    if text := clearest_text(sightings):
        attributes[TEXT] = text[0]
    return recent[0][0]._replace(kind=kind, attributes=attributes), agreed


def clearest_text(sightings: Sequence[tuple[Keyframe, Sighting]]) -> tuple[str, float] | None:
    """Return what is written on an object by most of the pixels of views that could be read, and the share of those.

    A view that shows some words of a text, "HANDS" of "WASH HANDS", counts for the whole: lines are missed more often
    than invented.
    """
    read = [(text, s.pixels) for _, s in sightings if (text := s.label.attributes.get(TEXT))]
    wholes = [text for text, _ in read if not any(set(text.split()) < set(other.split()) for other, _ in read)]
    votes = dict.fromkeys(wholes, 0)
    for text, pixels in read:
        votes[next(whole for whole in wholes if set(text.split()) <= set(whole.split()))] += pixels
    if not votes:
        return None
    best = max(votes, key=lambda text: votes[text])
    return best, votes[best] / sum(votes.values())


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
    pixels: dict[str, int] = {}
    for sighting in view.sightings:
        pixels[sighting.label.room] = pixels.get(sighting.label.room, 0) + sighting.pixels
    return max(sorted(pixels), key=lambda room: pixels[room], default="")


def gap(a: Seen, b: Seen) -> float:
    """Return the distance of two footprints in metres, 0 where they overlap."""
    return math.hypot(*(max(a.low[i] - b.high[i], b.low[i] - a.high[i], 0.0) for i in (0, 1)))


def facing(base: Seen) -> tuple[float, float]:
    """Return the direction (unit vector along a map axis) that one looks to who faces an object.

    Furniture shows its front to where it can be looked at from: the axis nearest to the lines of sight, by pixels.
    """
    total = {(1.0, 0.0): 0.0, (-1.0, 0.0): 0.0, (0.0, 1.0): 0.0, (0.0, -1.0): 0.0}
    for view, sighting in base.views:
        dx, dy = base.middle[0] - view.pose.x, base.middle[1] - view.pose.y
        for axis in total:
            total[axis] += sighting.pixels * max(0.0, dx * axis[0] + dy * axis[1]) / (math.hypot(dx, dy) or 1.0)
    return max(total, key=lambda axis: total[axis])


def to_the_right(base: Seen, other: Seen) -> tuple[float, float]:
    """Return where the other's centre is for who faces the base: metres to the right, and metres behind the base."""
    ahead = facing(base)
    dx, dy = other.middle[0] - base.middle[0], other.middle[1] - base.middle[1]
    return dx * ahead[1] - dy * ahead[0], dx * ahead[0] + dy * ahead[1]


def extent(obj: Seen, axis: tuple[float, float]) -> float:
    """Return the object's size along a map axis in metres."""
    return abs(axis[0]) * obj.sides[0] + abs(axis[1]) * obj.sides[1]


def evidence_views(objects: Iterable[Seen]) -> list[Keyframe]:
    """Return the view that proves most of each object, each once."""
    return list({view.id: view for view in map(_proof_of, objects)}.values())


def _proof_of(obj: Seen) -> Keyframe:
    """Return the view that shows an object whole, large and near; of several that do about as well the sharpest."""
    most = [max(extents) for extents in zip(*(_extents(s) for _, s in obj.views), strict=True)]
    proofs = [_proof(view, s, most) for view, s in obj.views]
    good = [pair for pair, proof in zip(obj.views, proofs, strict=True) if proof >= _AS_GOOD * max(proofs)]
    return max(good, key=lambda pair: (_sharpness(pair[0].jpeg, pair[1].bbox), pair[1].pixels, pair[0].id))[0]


def _proof(view: Keyframe, sighting: Sighting, most: Sequence[float]) -> float:
    """Return how much a view proves of an object, 0..1. most: the largest extents that views show of it, metres."""
    share = math.prod((own + _SLACK_M) / (largest + _SLACK_M)
                      for own, largest in zip(_extents(sighting), most, strict=True))
    large = math.sqrt(_pixels(view, sighting) / _LARGE_PIXELS)
    cut = _CUT ** _borders(view, sighting)
    return clarity(view, sighting) * min(1.0, share / _WHOLE) * min(1.0, large) * cut


def _extents(sighting: Sighting) -> tuple[float, float]:
    """Return the height and the width (along the floor) of what is seen of an object, metres."""
    x, y, z = sighting.size
    return z, math.hypot(x, y)


@lru_cache(maxsize=256)
def _sharpness(jpeg: bytes, box: tuple[int, int, int, int]) -> float:
    """Return the mean step of brightness in a part of an image, which blur takes away; 0 without an image."""
    if not jpeg:
        return 0.0
    part = np.asarray(Image.open(io.BytesIO(jpeg)).convert("L").resize((64, 64), RESAMPLING.BILINEAR, box), np.int16)
    return float(sum(np.abs(np.diff(part, axis=axis)).mean() for axis in (0, 1)))


def _inside(box: tuple[float, float, float, float], x: float, y: float, margin: float) -> bool:
    return box[0] - margin <= x <= box[2] + margin and box[1] - margin <= y <= box[3] + margin


def _off(box: tuple[float, float, float, float], point: tuple[float, float]) -> float:
    return math.hypot(max(box[0] - point[0], point[0] - box[2], 0.0), max(box[1] - point[1], point[1] - box[3], 0.0))


def _looks_at(x: float, y: float, yaw: float, to_x: float, to_y: float) -> bool:
    """Return whether a spot lies in a view of 80 degrees and 6 m (the spot at the robot's feet counts)."""
    distance = math.hypot(to_x - x, to_y - y)
    ahead = math.cos(math.atan2(to_y - y, to_x - x) - yaw) > math.cos(math.radians(40))
    return distance < 0.5 or (distance < _FAR_M and ahead)
