"""The ledger: what each patrol saw of every object and room. It is filled by every look, also where no view is stored.

A patrol is a run of looks of one session or more in the same map, without a pause. For each object and patrol the
ledger has the places and states in which it was seen, and the looks that found its place empty. An object without a row
was not looked at on that patrol, which never means that it was not there.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.rooms import fits_room
from eqa_nodes.core.memory import maps
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.objects import ObjectUpdate
from eqa_nodes.core.memory.times import FOR_EVER
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import MOVING, Point

PAUSE_NS = 1800 * 10 ** 9  # pause between two looks after which a new patrol begins
LONGEST_NS = 4 * 3600 * 10 ** 9  # a robot that never pauses begins a new patrol after this time
PEOPLE = frozenset(canonical(kind) for kind in MOVING)  # kinds that are elsewhere the next time
SEEN, EMPTY, NOT_LOOKED = "seen", "empty", "not looked"
_EMPTY_POINTS = 2  # points (ObjectsConfig.gone_later) from which a patrol that did not see an object shows it is gone
_ROW_BYTES = 125  # of a row of the table `looks` in the file
PEOPLE = frozenset(map(canonical, MOVING))  # kinds that are counted for each room and patrol, and have no place
_BOX = struct.Struct("<6f")


class PatrolSpan(NamedTuple):
    """A patrol: its number, and the stamps of its first and last look."""

    number: int
    first_ns: int
    last_ns: int


class ObjectSpell(NamedTuple):
    """An object as a patrol saw it in one place and state. low, high: box, metres, root frame of its map.

    looks: number of looks that saw it so; empty: number of looks that saw its place without it, with their points
    (ObjectsConfig.gone_after) and the stamp at which it counted as gone, 0 = never.
    """

    room: str
    relation: str
    support: str
    state: str
    low: Point
    high: Point
    first_ns: int
    last_ns: int
    looks: int
    empty: int
    points: int
    gone_ns: int


class PatrolOfObject(NamedTuple):
    """What one patrol knows of an object. outcome: SEEN, EMPTY or NOT_LOOKED at the end of the patrol.

    spells: places and states in which it was seen, in order; now: the one that counts, None if it was not seen.
    empty: number of looks that saw its place without it; empty_ns: stamp of the first of them, 0 = none.
    """

    patrol: PatrolSpan
    outcome: str
    now: ObjectSpell | None
    spells: tuple[ObjectSpell, ...] = ()
    empty: int = 0
    empty_ns: int = 0


class RoomLooks(NamedTuple):
    """The looks of one patrol into a room. people: maximum number of people in one of them."""

    patrol: PatrolSpan
    room: str
    first_ns: int
    last_ns: int
    looks: int
    people: int

    def and_also(self, other: RoomLooks) -> RoomLooks:
        """Return the looks into this room or another one on the same patrol."""
        return self._replace(first_ns=min(self.first_ns, other.first_ns), last_ns=max(self.last_ns, other.last_ns),
                             looks=self.looks + other.looks, people=max(self.people, other.people))


def patrol_at(running: PatrolSpan | None, stamp_ns: int) -> PatrolSpan:
    """Return the patrol of a look: the running one with its new end, or a new one (number 0)."""
    if running is None or not (running.first_ns <= stamp_ns <= running.last_ns + PAUSE_NS
                               and stamp_ns - running.first_ns <= LONGEST_NS):
        return PatrolSpan(0, stamp_ns, stamp_ns)
    return running._replace(last_ns=max(running.last_ns, stamp_ns))


def running_patrol(db: Database, session: int) -> PatrolSpan | None:
    """Return the newest patrol in the map of a session, None if there is none."""
    row = db.execute("SELECT patrols.number, first_ns, last_ns FROM patrols JOIN sessions ON sessions.number = session "
                     "WHERE map = (SELECT map FROM sessions WHERE number = ?) ORDER BY patrols.number DESC LIMIT 1",
                     (session,)).fetchone()
    return None if row is None else PatrolSpan(*row)


def running_since(db: Database, now_ns: int, until_ns: float) -> int:
    """Return when the patrol began that is running at a time, FOR_EVER if none is."""
    began_ns = db.value("SELECT max(first_ns) FROM patrols WHERE first_ns <= ? AND last_ns >= ?",
                        (until_ns, now_ns - PAUSE_NS))
    return FOR_EVER if began_ns is None else int(began_ns)


def write(db: Database, session: int, patrol: PatrolSpan, stamp_ns: int, looked: ObjectUpdate,
          rooms: Mapping[str, int]) -> PatrolSpan:
    """Write a look, inside a transaction; return the patrol with its number.

    rooms: the room in view and the rooms of people -> number of people in view there.
    """
    if patrol.number:
        db.execute("UPDATE patrols SET last_ns = ? WHERE number = ?", (patrol.last_ns, patrol.number))
    else:
        number = db.execute("INSERT INTO patrols (session, first_ns, last_ns) VALUES (?, ?, ?)",
                            (session, *patrol[1:])).lastrowid or 0
        patrol = patrol._replace(number=number)
    for part, whole in looked.merged.items():
        _absorb(db, part, whole)
    rows = [(known.id, patrol.number, known.room, a.get("support", ""), a.get("state", ""), a.get("relation", ""),
             _BOX.pack(*known.low, *known.high), stamp_ns, stamp_ns, 1, 0, 0, 0)
            for known, a in ((known, s.label.attributes) for s, known in looked.associated)]
    gone = {o.id: o for o in looked.missed if o.gone_ns == stamp_ns}
    rows += [(number, patrol.number, "", "", "", "", b"", stamp_ns, stamp_ns, 0, 1, points,
              stamp_ns if number in gone else 0) for number, points in looked.empty.items()]
    _add(db, rows)
    db.insert("room_looks", [(patrol.number, room, stamp_ns, stamp_ns, 1, people) for room, people in rooms.items()],
              "ON CONFLICT DO UPDATE SET last_ns = excluded.last_ns, looks = looks + 1, "
              "people = max(people, excluded.people)")
    return patrol


def _add(db: Database, rows: Sequence[tuple[object, ...]]) -> None:
    """Add rows of the table `looks` to those of the same object, patrol, place and state."""
    db.insert("looks", rows, "ON CONFLICT DO UPDATE SET "
              "box = iif(excluded.last_ns >= last_ns, excluded.box, box), first_ns = min(first_ns, excluded.first_ns), "
              "last_ns = max(last_ns, excluded.last_ns), looks = looks + excluded.looks, "
              "empty = empty + excluded.empty, points = points + excluded.points, "
              "gone_ns = max(gone_ns, excluded.gone_ns)")


def _absorb(db: Database, part: int, whole: int) -> None:
    """Give the looks at a part of an object to the whole."""
    rows = db.execute("SELECT * FROM looks WHERE object = ?", (part,)).fetchall()
    db.execute("DELETE FROM looks WHERE object = ?", (part,))
    _add(db, [(whole, *row[1:]) for row in rows])


def move(db: Database, number: int, by: Transform) -> None:
    """Move the places of an object whose map was aligned, inside a transaction."""
    for box, *key in db.execute("SELECT box, patrol, room, support, state FROM looks WHERE object = ? AND box != x''",
                                (number,)).fetchall():
        low, high = maps.box(by, *_corners(box))
        db.execute("UPDATE looks SET box = ? WHERE object = ? AND patrol = ? AND room = ? AND support = ? "
                   "AND state = ?", (_BOX.pack(*low, *high), number, *key))


def keep_newest(db: Database, limit_bytes: float) -> None:
    """Delete the looks of the oldest patrols until the rest fits, inside a transaction."""
    counts = db.execute("SELECT patrol, count(*) FROM looks GROUP BY patrol ORDER BY patrol DESC").fetchall()
    kept = 0
    for patrol, count in counts:
        kept += count
        if kept * _ROW_BYTES > limit_bytes:
            db.execute("DELETE FROM looks WHERE patrol = ?", (patrol,))
            db.execute("DELETE FROM room_looks WHERE patrol = ?", (patrol,))
    if kept * _ROW_BYTES > limit_bytes:
        trim(db)


def trim(db: Database) -> None:
    """Delete patrols without looks, and shorten the others to the looks that are left, inside a transaction."""
    spans = db.execute("SELECT patrol, min(first_ns), max(last_ns) FROM (SELECT patrol, first_ns, last_ns FROM looks "
                       "UNION ALL SELECT patrol, first_ns, last_ns FROM room_looks) GROUP BY patrol").fetchall()
    left = {patrol for patrol, *_ in spans}
    db.many("DELETE FROM patrols WHERE number = ?", ((patrol,) for patrol, in db.execute(
        "SELECT number FROM patrols").fetchall() if patrol not in left))
    db.many("UPDATE patrols SET first_ns = ?, last_ns = ? WHERE number = ?",
            ((first, last, patrol) for patrol, first, last in spans))


def is_near(box: bytes, near: tuple[float, float, float]) -> bool:
    """Return whether the centre of a box, of the table `looks` or `objects`, is within x, y, radius."""
    low, high = _corners(box)
    return math.dist(((low[0] + high[0]) / 2, (low[1] + high[1]) / 2), near[:2]) <= near[2]


def history(db: Database, number: int, until_ns: float) -> list[PatrolOfObject]:
    """Return what every patrol in the map of an object knows of it, oldest patrol first; NOT_LOOKED included."""
    root = db.value("SELECT root FROM objects WHERE id = ?", (number,))
    rows = _spells(db, "object = ?", (number,))
    return [_patrol_of(patrol, rows.get(patrol.number, [])) for patrol in patrols(db, root, until_ns)]


def looks_by_patrol(db: Database, number: int) -> dict[int, int]:
    """Return the number of looks of each patrol that saw an object."""
    return dict(db.execute("SELECT patrol, sum(looks) FROM looks WHERE object = ? AND looks > 0 GROUP BY patrol",
                           (number,)).fetchall())


def state_now(db: Database, number: int, until_ns: float) -> tuple[int, int, str]:
    """Return when the patrol began that found an object gone, 0 if it is there, and when the patrol began that saw it
    last, with the state in which it was then ("" = none).
    """
    gone_ns = db.value("SELECT gone_ns FROM objects WHERE id = ?", (number,)) or 0
    if 0 < gone_ns <= until_ns:
        return db.value("SELECT max(first_ns) FROM patrols WHERE first_ns <= ?", (gone_ns,)) or 0, 0, ""
    row = db.execute("SELECT patrol, patrols.first_ns FROM looks JOIN patrols ON patrols.number = patrol "
                     "WHERE object = ? AND looks > 0 AND patrols.first_ns <= ? ORDER BY patrol DESC LIMIT 1",
                     (number, until_ns)).fetchone()
    if row is None:
        return 0, 0, ""
    now = counting(_spells(db, "object = ? AND patrol = ? AND looks > 0", (number, row[0])).get(row[0], ()))
    return 0, row[1], now.state if now is not None else ""


def newest_spell(db: Database, number: int) -> ObjectSpell | None:
    """Return the place and state in which an object was seen last, None if the ledger has no look that saw it."""
    spells = [s for found in _spells(db, "object = ? AND looks > 0", (number,)).values() for s in found]
    return max(spells, key=lambda spell: spell.last_ns, default=None)


def _spells(db: Database, where: str, values: tuple[int, ...]) -> dict[int, list[ObjectSpell]]:
    """Return the rows of the table `looks` by patrol, each list in the order of time."""
    rows: dict[int, list[ObjectSpell]] = {}
    for patrol, room, relation, support, state, box, *rest in db.execute(
            "SELECT patrol, room, relation, support, state, box, first_ns, last_ns, looks, empty, points, gone_ns "
            f"FROM looks WHERE {where} ORDER BY first_ns, last_ns", values):
        rows.setdefault(patrol, []).append(ObjectSpell(room, relation, support, state, *_corners(box), *rest))
    return rows


def patrols(db: Database, root: int, until_ns: float) -> list[PatrolSpan]:
    """Return the patrols in the maps of one root that began by a stamp, oldest first."""
    return [PatrolSpan(*row) for row in db.execute(
        "SELECT patrols.number, first_ns, last_ns FROM patrols JOIN sessions ON sessions.number = session JOIN maps "
        "ON maps.number = map WHERE root = ? AND first_ns <= ? ORDER BY first_ns, patrols.number", (root, until_ns))]


def room_history(db: Database, root: int, room: str, until_ns: float) -> list[RoomLooks | PatrolSpan]:
    """Return the looks into a room on every patrol, oldest first; the patrol alone where it was not looked at.

    "bedroom" includes the main bedroom, and "" every room: people is the largest number in one of them.
    """
    found = dict[int, RoomLooks]()
    known = {patrol.number: patrol for patrol in patrols(db, root, until_ns)}
    for number, name, *row in db.execute("SELECT * FROM room_looks ORDER BY patrol, first_ns"):
        if number in known and fits_room(name, room):
            one = RoomLooks(known[number], name, *row)
            found[number] = one.and_also(found[number]) if number in found else one
    return [found.get(number, patrol) for number, patrol in known.items()]


def _corners(box: bytes) -> tuple[Point, Point]:
    values = struct.unpack(f"<6{'f' if len(box) == _BOX.size else 'd'}", box) if box else (0.0,) * 6
    return values[:3], values[3:]


def _patrol_of(patrol: PatrolSpan, rows: Sequence[ObjectSpell]) -> PatrolOfObject:
    spells = tuple(row for row in rows if row.looks)
    missed = [row for row in rows if row.empty]
    now = counting(spells)
    gone_ns = max((row.gone_ns for row in missed), default=0)
    if now is not None:
        outcome = EMPTY if gone_ns > max(spell.last_ns for spell in spells) else SEEN
    else:
        outcome = EMPTY if gone_ns or sum(row.points for row in missed) >= _EMPTY_POINTS else NOT_LOOKED
    return PatrolOfObject(patrol, outcome, now, spells, sum(row.empty for row in missed),
                          min((row.first_ns for row in missed), default=0))


def counting(spells: Sequence[ObjectSpell]) -> ObjectSpell | None:
    """Return the place and state that counts: the newest after a change; the most frequent if looks alternate."""
    newest = max(spells, key=lambda spell: spell.last_ns, default=None)
    if newest is None or all(spell is newest or spell.last_ns < newest.first_ns for spell in spells):
        return newest
    return max(spells, key=lambda spell: (spell.looks, spell.last_ns))
