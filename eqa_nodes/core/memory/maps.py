"""Map frames of sessions. Frames with a known transform between them share a root frame.

Stored data are in the root frame. Inputs and outputs are in the frame of the running session's map.
"""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.types.geometry import Transform, compose, inverse
from eqa_nodes.core.types.views import FloorPixel, Keyframe, Sighting

_SAME = Transform.identity()


class Maps:
    """The maps of a memory, including that of the running session.

    root: root of the running session's map; began_ns: stamp of its first frame, None before that.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self.session = self.root = 0
        self.root_from_map = _SAME
        self.began_ns: int | None = None
        self.load()

    def load(self) -> None:
        """Load the newest session from the file."""
        row = self._db.execute("SELECT sessions.number, root, root_from_map, began_ns FROM sessions JOIN maps "
                               "ON maps.number = sessions.map ORDER BY sessions.number DESC LIMIT 1").fetchone()
        if row is None:
            self.session, self.root, self.root_from_map, self.began_ns = 0, 0, _SAME, None
        else:
            self.session, self.root, self.root_from_map, self.began_ns = row[0], row[1], unpack(row[2]), row[3]

    def begin(self, session_id: str, map_name: str) -> None:
        """Add a new session, inside a transaction; a map without a name is new and unrelated to all others."""
        number = self._db.value("SELECT number FROM maps WHERE name = ? AND name != ''", (map_name,))
        if number is None:
            number = (self._db.value("SELECT max(number) FROM maps") or 0) + 1
            self._db.execute("INSERT INTO maps VALUES (?, ?, ?, ?)", (number, map_name, number, pack(_SAME)))
        self._db.execute("INSERT INTO sessions (id, map) VALUES (?, ?)", (session_id, number))

    def saw(self, stamp_ns: int) -> None:
        """Record the stamp of the running session's first frame, even if the frame shows nothing new."""
        if self.began_ns is None:
            with self._db.transaction():
                self._db.execute("UPDATE sessions SET began_ns = ? WHERE number = ?", (stamp_ns, self.session))
            self.began_ns = stamp_ns

    def aligned(self, name: str, known: str, known_from_map: Transform) -> tuple[int, int, Transform]:
        """Store the transform between two maps, inside a transaction.

        Return the old root, the root that it joins, and the transform between them: data stored in the first must be
        moved to the second (if equal: within it). Raises StorageError for an unknown name.
        """
        number, root, root_from_map = self._find(name)
        if self._find(known)[0] == number:
            raise StorageError(f"the map {name!r} cannot lie in itself: name another one that is known")
        _, target, target_from_known = self._find(known)
        target_from_map = compose(target_from_known, known_from_map)
        target_from_root = compose(target_from_map, inverse(root_from_map))
        if root == target:  # a better transform of this map only
            self._db.execute("UPDATE maps SET root_from_map = ? WHERE number = ?", (pack(target_from_map), number))
        else:
            for other, inside in self._db.execute("SELECT number, root_from_map FROM maps WHERE root = ?", (root,)):
                self._db.execute("UPDATE maps SET root = ?, root_from_map = ? WHERE number = ?",
                                 (target, pack(compose(target_from_root, unpack(inside))), other))
        return root, target, target_from_root

    def sessions_of(self, name: str) -> list[int]:
        """Return the numbers of the sessions in a map."""
        rows = self._db.execute("SELECT sessions.number FROM sessions JOIN maps ON maps.number = sessions.map "
                                "WHERE maps.name = ? OR (maps.name = '' AND sessions.id = ?)", (name, name))
        return [number for number, in rows]

    def names(self) -> list[tuple[str, str, int]]:
        """Return id, map and root of every session, in order; a map without a name has the id of its session."""
        return list(self._db.execute(
            "SELECT sessions.id, CASE maps.name WHEN '' THEN sessions.id ELSE maps.name END, root "
            "FROM sessions JOIN maps ON maps.number = sessions.map ORDER BY sessions.number"))

    def place_of(self, name: str) -> tuple[int, Transform]:
        """Return the root of a map, and the transform root_from_map. Raises StorageError for an unknown name."""
        _, root, root_from_map = self._find(name)
        return root, root_from_map

    def running(self) -> str:
        """Return the name of the running session's map, or the session's id if the map has no name."""
        return str(self._db.value("SELECT CASE maps.name WHEN '' THEN sessions.id ELSE maps.name END FROM sessions "
                                  "JOIN maps ON maps.number = sessions.map WHERE sessions.number = ?",
                                  (self.session,)) or "")

    def unrelated(self) -> list[str]:
        """Return one map of each place other than the running session's, the oldest first.

        Empty if the running session's place is already known, because an earlier episode shares it.
        """
        episodes = self._db.value("SELECT count(DISTINCT sessions.id) FROM sessions JOIN maps "
                                  "ON maps.number = sessions.map WHERE root = ?", (self.root,))
        if episodes != 1:
            return []
        first: dict[int, str] = {}
        for _, name, root in self.names():
            first.setdefault(root, name)
        return [name for root, name in first.items() if root != self.root]

    def inward(self) -> Transform | None:
        """Return the transform for incoming values; None = identity."""
        return None if self.root_from_map == _SAME else self.root_from_map

    def circle(self, near: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
        """Convert a circle (x, y, radius, metres) from the running session's map to the root frame."""
        inward = self.inward()
        if near is None or inward is None:
            return near
        x, y, _ = point(inward, (near[0], near[1], 0.0))
        return x, y, near[2]

    def outward(self) -> Transform | None:
        """Return the transform for outgoing values; None = identity."""
        return None if self.root_from_map == _SAME else inverse(self.root_from_map)

    def _find(self, name: str) -> tuple[int, int, Transform]:
        row = self._db.execute(
            "SELECT maps.number, root, root_from_map FROM maps LEFT JOIN sessions ON sessions.map = maps.number "
            "WHERE maps.name = ? OR (maps.name = '' AND sessions.id = ?) ORDER BY maps.number DESC",
            (name, name)).fetchone()
        if row is None:
            known = ", ".join(dict.fromkeys(each for _, each, _ in self.names())) or "none"
            raise StorageError(f"this memory has no map {name!r}: it has {known}")
        return row[0], row[1], unpack(row[2])


def moved(keyframe: Keyframe, by: Transform | None) -> Keyframe:
    """Return a keyframe with all positions moved by a transform."""
    if by is None:
        return keyframe
    z = keyframe.map_from_base.xyz[2]
    places = []
    for p in keyframe.places:
        x, y, _ = point(by, (p.x, p.y, z))
        places.append(FloorPixel(p.u, p.v, round(x, 3), round(y, 3)))
    seen = tuple(_sighting(s, by) for s in keyframe.sightings)
    return replace(keyframe, map_from_base=compose(by, keyframe.map_from_base), sightings=seen, places=tuple(places))


def point(by: Transform, xyz: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return a point moved by a transform."""
    x, y, z, _ = (by.matrix() @ np.array([*xyz, 1.0])).tolist()
    return x, y, z


def box(by: Transform, low: tuple[float, float, float],
        high: tuple[float, float, float]) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the axis-aligned bounding box of a moved box."""
    middle = (np.array(low) + np.array(high)) / 2
    half = np.abs(by.matrix()[:3, :3]) @ (np.array(high) - middle)
    x, y, z = point(by, (float(middle[0]), float(middle[1]), float(middle[2])))
    u, v, w = half.tolist()
    return (x - u, y - v, z - w), (x + u, y + v, z + w)


def _sighting(s: Sighting, by: Transform) -> Sighting:
    (x, y, z), (u, v, w) = s.centre, s.size
    low, high = box(by, (x - u / 2, y - v / 2, z - w / 2), (x + u / 2, y + v / 2, z + w / 2))
    return s._replace(centre=((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, (low[2] + high[2]) / 2),
                      size=(high[0] - low[0], high[1] - low[1], high[2] - low[2]))


def pack(t: Transform) -> bytes:
    """Return a transform as seven doubles."""
    return struct.pack("<7d", *t.xyz, *t.xyzw)


def unpack(data: bytes) -> Transform:
    """Return the transform that `pack` wrote."""
    p = struct.unpack("<7d", data)
    return Transform(p[:3], p[3:])
