"""Associates sightings with objects by box overlap and name similarity; detects parts and disappearance.

Based on the sparse voxel map of OpenEQA (supplement F): an object view joins the object whose 3D box it overlaps and
whose embedding it resembles. Here the embedding is that of the name, so it works for labels and any detector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory.embedding import Embedder
from eqa_nodes.core.ranges import Counted, NotNegative, Part, check_ranges
from eqa_nodes.core.settings import constant, setting
from eqa_nodes.core.types.views import MOVING, TEXT, Frame, Point, Sighting, box_of, covered, least, most, overlap

_GRID = np.array([(x, y, z) for x in (0.15, 0.5, 0.85) for y in (0.15, 0.5, 0.85) for z in (0.15, 0.5, 0.85)])
_LEAST_POINTS = 3  # minimum number of box points to see through before an object counts as moved
_MOSTLY = 0.8  # share of an object's box covered by a sighting of the whole of which it is a part
_TOUCH_M = 0.05  # less than the thickness of a wall
_REPLACED, _THIN_M = 0.5, 0.01  # overlap of an object's box with that of another which stands in its place
_DOUBTFUL, _ONE_PATROL_NS = 3, 4 * 3600 * 10 ** 9  # number of looks, and their maximum time apart
_DEEP_M = 0.2  # depth of a box whose rear points an object would hide
_CALLED = 0.25  # share of an object's looks, relative to its usual colour, from which a colour is one of its own


@dataclass(frozen=True)
class ObjectsConfig:
    """When a sighting matches a known object, and when an object is gone."""

    look_s: NotNegative = setting(1.0,
        "Interval in seconds between two searches for objects in views that are not stored.")
    alike: float = setting(0.75,
        "Cosine similarity of two names (0 to 1) from which their sightings may be one object.")
    overlap: Part = setting(0.25,
        "Share of the smaller box (0 to 1) that two sightings of one object must have in common.")
    slack_m: NotNegative = setting(0.05, "Margin in metres by which boxes are enlarged before they are compared.")
    gone_after: Counted = setting(5,
        "Points in a row after which an object is gone. A view of its empty place counts 2, a view in which it should"
        " be visible and is not counts 1.")
    gone_later: Counted = constant(2,
        "Points after which an object is gone that has not been seen on this patrol: one view of its empty place.")
    gone_range_m: NotNegative = setting(4.5,
        "Maximum distance in metres of a view that can show that an object is gone.")
    gone_slack_m: NotNegative = setting(0.25,
        "Distance in metres by which depth must lie behind an object's box for its place to be empty.")
    moving: tuple[str, ...] = setting(MOVING,
        "Kinds that move about by themselves: views keep their sightings, but they are no objects of a place.")

    def __post_init__(self) -> None:
        check_ranges(self, "memory.objects")


@dataclass
class ObjectRecord:
    """One object of the map: a row of the table `objects`. low, high: corners of its box, metres, root map."""

    id: int
    kind: str
    room: str
    attributes: dict[str, str]
    low: Point
    high: Point
    times: int
    first_ns: int
    last_ns: int
    missed: int = 0
    gone_ns: int = 0
    colours: dict[str, int] = field(default_factory=dict)  # canonical colours it was called -> number of looks


@dataclass
class ObjectUpdate:
    """Changes by one look: sightings with their objects (id 0 = new), and objects that were missed.

    merged: ids of objects that are parts of another object -> id of that object; empty: ids of the objects whose place
    was seen without them, also of those that are gone already -> points (see ObjectsConfig.gone_after).
    """

    associated: list[tuple[Sighting, ObjectRecord]] = field(default_factory=list)
    missed: list[ObjectRecord] = field(default_factory=list)
    merged: dict[int, int] = field(default_factory=dict)
    empty: dict[int, int] = field(default_factory=dict)


class Objects:
    """The objects of one map.

    patrol_began_ns: stamp of the first look of this patrol; what was seen before it may have changed unobserved.
    """

    def __init__(self, known: Sequence[ObjectRecord], config: ObjectsConfig, embedder: Embedder | None) -> None:
        self.known = {o.id: o for o in known}
        self.config, self._embedder = config, embedder
        self._vectors: dict[str, np.ndarray] = {}
        self._boxes = np.array([(o.low, o.high) for o in known], np.float64).reshape(-1, 2, 3)  # ordered as `known`
        self._at = {o.id: i for i, o in enumerate(known)}
        self._earlier = frozenset(self.known)  # maps that a better alignment separates again may hold one object twice
        self._apart = set[tuple[int, int]]()
        self.patrol_began_ns = -1 << 62

    def look(self, frame: Frame, seen: Sequence[Sighting], min_pixels: float) -> ObjectUpdate:
        """Return the changes by this look; they take effect when passed to `apply`.

        min_pixels: an object counts as missed only if its expected size was at least four times this.
        """
        moving = {canonical(kind) for kind in self.config.moving}
        seen = [s for s in seen if canonical(s.label.kind) not in moving]
        looked, alike = self.associate(seen, frame.stamp_ns, frame)
        rest = [o for o in self._near(frame) if o.id not in alike and o.id not in looked.merged]
        for o, by in zip(rest, _misses(frame, rest, min_pixels, self.config, self.patrol_began_ns),
                         strict=True):
            by = by or int(any(self._replaced(o, s) for s in seen) or (
                self._is_doubtful(o) and _is_in_view(frame, o, min_pixels, self.config)))
            if by:
                looked.empty[o.id] = by
                if not o.gone_ns:
                    looked.missed.append(self._missed(o, by, frame.stamp_ns))
        return looked

    def associate(self, seen: Sequence[Sighting], stamp_ns: int, frame: Frame | None = None) -> tuple[ObjectUpdate,
                                                                                                      set[int]]:
        """Return the objects of the sightings in one view, and the ids of all objects that they could be.

        frame: frame of the view; without it, moved objects cannot be detected, and their boxes are merged.
        """
        pairs, alike = self._pairs(seen)
        associated = [(s, self._updated(pairs[i], s, stamp_ns, frame) if i in pairs else _new(s, stamp_ns))
                      for i, s in enumerate(seen)]
        looked, left = ObjectUpdate(associated), alike - {known.id for known in pairs.values()}
        for n, (s, known) in enumerate(associated):
            for part in self._parts(known, s, left):
                left.discard(part.id)
                looked.merged[part.id] = known.id
                known = _whole(known, part)
            associated[n] = s, known
        return looked, alike

    def _parts(self, known: ObjectRecord, s: Sighting, others: set[int]) -> list[ObjectRecord]:
        """Return other objects that a sighting shows to be parts of this one, such as halves of a sofa.

        Two objects seen side by side in one view stay separate (chairs in a row). Earlier known objects do not change,
        except that an earlier one absorbs what only this patrol has seen, in its place and with another colour: a
        detector that wavers has called it so.
        """
        if not known.id:
            return []
        low, high = box_of(s)
        colour, earlier = known.attributes.get("colour", ""), known.id in self._earlier
        return [o for o in (self.known[i] for i in sorted(others - self._earlier))
                if o.kind == known.kind and not o.gone_ns
                and (colour == o.attributes.get("colour", "") if not earlier else o.first_ns >= self.patrol_began_ns
                     and not self._called(known, o.attributes.get("colour", "")))
                and covered(o.low, o.high, low, high, self.config.slack_m) >= _MOSTLY
                and (min(known.id, o.id), max(known.id, o.id)) not in self._apart]

    def apply(self, looked: ObjectUpdate) -> None:
        """Apply the changes of a look; new objects have their ids by then."""
        for o in (*(known for _, known in looked.associated), *looked.missed):
            if o.id not in self._at:
                self._at[o.id] = len(self._at)
                if len(self._at) > len(self._boxes):
                    self._boxes = np.concatenate([self._boxes, np.empty((max(64, len(self._boxes)), 2, 3))])
            self.known[o.id] = o
            self._boxes[self._at[o.id]] = o.low, o.high
        if looked.merged:
            self._forget(looked.merged)
        kinds: dict[str, list[int]] = {}
        for _, known in looked.associated:
            kinds.setdefault(known.kind, []).append(known.id)
        self._apart.update(pair for ids in kinds.values() for pair in combinations(sorted(ids), 2))

    def _forget(self, merged: Mapping[int, int]) -> None:
        """Remove objects that are parts of others; the others inherit which objects they are distinct from."""
        for part in merged:
            del self.known[part]
        self._boxes = np.array([(o.low, o.high) for o in self.known.values()], np.float64).reshape(-1, 2, 3)
        self._at = {number: i for i, number in enumerate(self.known)}
        renamed = ((merged.get(a, a), merged.get(b, b)) for a, b in self._apart)
        self._apart = {(min(a, b), max(a, b)) for a, b in renamed if a != b}

    def _near(self, frame: Frame) -> list[ObjectRecord]:
        """Return the objects whose centre is in range and in front of the camera, oldest first."""
        m = frame.map_from_camera()
        off = self._boxes[:len(self._at)].mean(axis=1) - m[:3, 3]
        near = ((off * off).sum(axis=1) <= self.config.gone_range_m ** 2) & (off @ m[:3, 2] > 0)
        known = list(self.known.values())
        return [known[i] for i in np.flatnonzero(near)]

    def _pairs(self, seen: Sequence[Sighting]) -> tuple[dict[int, ObjectRecord], set[int]]:
        """Return sighting -> object, paired greedily by score, each at most once; and all candidate objects.

        Maps that were aligned later can hold one object twice: seeing one copy does not mean that the other was missed.
        """
        known = list(self.known.values())
        if not known or not seen:
            return {}, set()
        low, high = self._boxes[:len(known), 0], self._boxes[:len(known), 1]
        boxes = np.array([box_of(s) for s in seen])[:, None]
        share = overlap(low, high, boxes[:, :, 0], boxes[:, :, 1], self.config.slack_m)
        scored = []
        for i, j in np.argwhere(share >= self.config.overlap).tolist():
            alike = self._alike(known[j], seen[i])
            if alike >= self.config.alike:
                scored.append((-(float(share[i, j]) + alike), i, known[j].id, j))
        pairs: dict[int, ObjectRecord] = {}
        matched: set[int] = set()
        for _, i, number, j in sorted(scored):
            if i not in pairs and number not in matched:
                pairs[i] = known[j]
                matched.add(number)
        return pairs, {number for _, _, number, _ in scored}

    def _alike(self, known: ObjectRecord, s: Sighting) -> float:
        """Return the cosine of the kinds' names, plus 0.25 for the same colour, minus 0.25 for another colour.

        0 for a colour that an object from before this patrol was never called, or rarely: it is another object.
        Within a patrol a detector may waver about the colour of one object.
        """
        if known.last_ns < self.patrol_began_ns and not self._called(known, s.label.attributes.get("colour", "")):
            return 0.0
        a, b = canonical(known.kind), canonical(s.label.kind)
        same = 1.0 if a == b else float(self._vector(a) @ self._vector(b)) if self._embedder else 0.0
        colours = known.attributes.get("colour", ""), s.label.attributes.get("colour", "")
        if "" in colours:
            return same
        return same + (0.25 if canonical(colours[0]) == canonical(colours[1]) else -0.25)

    def _replaced(self, known: ObjectRecord, s: Sighting) -> bool:
        """Return whether another object of the kind, in another colour, stands where one stood before this patrol."""
        return (known.last_ns < self.patrol_began_ns and canonical(known.kind) == canonical(s.label.kind)
                and not self._called(known, s.label.attributes.get("colour", ""))
                and overlap(np.array([known.low]), np.array([known.high]), *box_of(s), _THIN_M)[0] >= _REPLACED)

    def _is_doubtful(self, known: ObjectRecord) -> bool:
        """Return whether only one earlier patrol has seen an object, a few times: a detector may have misnamed another.
        """
        return (known.last_ns < self.patrol_began_ns and known.times <= _DOUBTFUL
                and known.last_ns - known.first_ns <= _ONE_PATROL_NS)

    @staticmethod
    def _called(known: ObjectRecord, colour: str) -> bool:
        """Return whether an object has been called a colour, or one of both has none."""
        usual = max(known.colours.values(), default=0)
        return not colour or not usual or known.colours.get(canonical(colour), 0) >= _CALLED * usual

    def _vector(self, kind: str) -> np.ndarray:
        if kind not in self._vectors and self._embedder is not None:
            self._vectors[kind] = self._embedder.embed([kind])[0]
        return self._vectors[kind]

    def _updated(self, known: ObjectRecord, s: Sighting, stamp_ns: int, frame: Frame | None) -> ObjectRecord:
        """Return the object with the sighting added; the box is reset if the object was gone or moved.

        A large object may be seen in parts (a sofa through a doorway), so a different centre does not mean that it was
        moved; an empty old place does.
        """
        low, high = box_of(s)
        if not known.gone_ns and (frame is None or not _left(frame, known, (low, high), self.config)):
            low, high = least(known.low, low), most(known.high, high)
        written = {TEXT: known.attributes[TEXT]} if TEXT in known.attributes else {}  # not every view is read
        attributes = {**written, **s.label.attributes}
        return replace(known, room=s.label.room or known.room, attributes=attributes, low=low, high=high,
                       times=known.times + 1, last_ns=stamp_ns, missed=0, gone_ns=0,
                       colours=_tallied(known.colours, _colours(s)))

    def _missed(self, known: ObjectRecord, by: int, stamp_ns: int) -> ObjectRecord:
        c, missed = self.config, known.missed + by
        enough = c.gone_after if known.last_ns >= self.patrol_began_ns else min(c.gone_later, c.gone_after)
        return replace(known, missed=missed, gone_ns=stamp_ns if missed >= enough else 0)


def _new(s: Sighting, stamp_ns: int) -> ObjectRecord:
    low, high = box_of(s)
    return ObjectRecord(0, s.label.kind, s.label.room, dict(s.label.attributes), low, high, 1, stamp_ns, stamp_ns,
                        colours=_colours(s))


def _colours(s: Sighting) -> dict[str, int]:
    colour = canonical(s.label.attributes.get("colour", ""))
    return {colour: 1} if colour else {}


def _tallied(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    return {colour: a.get(colour, 0) + b.get(colour, 0) for colour in (*a, *(new for new in b if new not in a))}


def _whole(known: ObjectRecord, part: ObjectRecord) -> ObjectRecord:
    return replace(known, low=least(known.low, part.low), high=most(known.high, part.high),
                   times=known.times + part.times, first_ns=min(known.first_ns, part.first_ns),
                   colours=_tallied(known.colours, part.colours))


def _left(frame: Frame, known: ObjectRecord, now: tuple[Point, Point], c: ObjectsConfig) -> bool:
    """Return whether a frame sees through the part of an object's box that its new box does not cover.

    Uses the box's 27 grid points that are in the image and in range; at least a fifth of them is required.
    """
    low, high = np.array(known.low), np.array(known.high)
    points = low + _GRID * (high - low)
    covered = ((points >= np.array(now[0]) - c.slack_m) & (points <= np.array(now[1]) + c.slack_m)).all(axis=1)
    points = points[~covered]
    if len(points) < _LEAST_POINTS:
        return False
    at = _shown(frame, points[None])
    judged = at.inside & (at.z <= c.gone_range_m) & (at.depth_m > 0)
    if judged.sum() < max(_LEAST_POINTS, 0.2 * len(points)):
        return False
    behind = at.z[judged].max() + c.gone_slack_m  # behind everything that should stand there
    return bool((at.depth_m[judged] > behind).mean() >= 0.9)


class _Shown(NamedTuple):
    """Points (n, k) in an image: pixel, depth in metres (1 if behind the camera), whether in view, and depth image."""

    u: np.ndarray
    v: np.ndarray
    z: np.ndarray
    inside: np.ndarray
    depth_m: np.ndarray


def _shown(frame: Frame, points: np.ndarray) -> _Shown:
    """Project points (n, k, 3), map frame, into a frame."""
    m, k = np.linalg.inv(frame.map_from_camera()), frame.intrinsics
    x, y, z = (points @ m[i, :3] + m[i, 3] for i in range(3))
    ahead = z > 0.1
    z = np.where(ahead, z, 1.0)
    u, v = np.floor(x / z * k.fx + k.cx), np.floor(y / z * k.fy + k.cy)
    inside = ahead & (u >= 0) & (u < k.width) & (v >= 0) & (v < k.height)
    rows, columns = (np.where(inside, i, 0).astype(int) for i in (v, u))
    return _Shown(u, v, z, inside, frame.depth_m[rows, columns])


def _is_in_view(frame: Frame, known: ObjectRecord, min_pixels: float, c: ObjectsConfig) -> bool:
    """Return whether the place of an object is large enough in view, and nothing stands before it."""
    low, high = np.array(known.low), np.array(known.high)
    at = _shown(frame, (low + _GRID * (high - low))[None])
    before = at.depth_m < at.z - float((high - low).max()) - _TOUCH_M  # also no return
    pixels = float(np.ptp(at.u) * np.ptp(at.v)) / 0.49
    return bool(at.inside.all() and at.z.max() <= c.gone_range_m and pixels >= 4 * min_pixels and before.mean() <= 0.1)


def _misses(frame: Frame, objects: Sequence[ObjectRecord], min_pixels: float, c: ObjectsConfig,
            patrol_began_ns: int) -> list[int]:
    """Return for each object: 2 if its whole place is seen empty, 1 if it should be visible but is not, 0 otherwise.

    Uses 27 points of its box, all of which must lie in the image and within range. The place of an object from an
    earlier patrol is also empty if a wall close behind is seen through a box so deep that the object would hide it.
    """
    if not objects:
        return []
    low, high = (np.array([getattr(o, end) for o in objects]) for end in ("low", "high"))
    at = _shown(frame, low[:, None] + _GRID[None] * (high - low)[:, None])  # (n, 27)
    pixels = np.ptp(at.u, axis=1) * np.ptp(at.v, axis=1) / 0.49  # the points span 0.7 of the box in each direction
    judged = at.inside.all(axis=1) & (at.z.max(axis=1) <= c.gone_range_m) & (pixels >= 4 * min_pixels)
    through = (at.depth_m > at.z + (high - low).max(axis=1)[:, None] / 2 + c.gone_slack_m).mean(axis=1)
    hidden = (~(at.depth_m >= at.z - _TOUCH_M)).mean(axis=1)  # also from behind by what it hangs on; also NaN and 0
    clear = (np.ptp(at.z, axis=1) >= _DEEP_M) & (np.array([o.last_ns for o in objects]) < patrol_began_ns)
    empty = (through >= 0.9) | (clear & (hidden <= 0.1))
    return [int(j) * (2 if e else 1 if h <= 0.1 else 0) for j, e, h in zip(judged, empty, hidden, strict=True)]
