"""Changes between two times: objects that appeared, disappeared, moved, or changed their state."""

from __future__ import annotations

import json
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.maps import Maps
from eqa_nodes.core.types.questions import MemoryObject

_MIN_TIMES = 2  # minimum number of sightings before an object is reported as new
_TELLING = ("state", "support")  # attributes whose change is reported


class Change(NamedTuple):
    """One change. what: moved | gone | new | state.

    before: id of the keyframe with the old state, 0 if there is none; after: id of the keyframe with the new state.
    was, now: descriptions of these states ("in the kitchen, on the counter", "on").
    """

    what: str
    object: MemoryObject
    before: int
    after: int
    was: str = ""
    now: str = ""


class _Sight(NamedTuple):
    keyframe: int
    attributes: dict[str, str]


def changes(db: Database, where: Maps, objects: list[MemoryObject], since_ns: int) -> list[Change]:
    """Return the changes since a stamp to objects in the running session's map: moved, state, gone, new.

    Objects first seen after the stamp are compared with their first view.
    """
    found: dict[str, list[Change]] = {"moved": [], "state": [], "gone": [], "new": []}
    gone = [o for o in objects if o.here and o.gone_ns >= since_ns and o.gone_ns]
    new = [o for o in objects if o.here and o.first_ns >= since_ns and o.times >= _MIN_TIMES and not o.gone_ns]
    for o in gone:
        before, after = _sight(db, o.id, max(since_ns, o.first_ns + 1)), _looked_at(db, where, o.gone_ns)
        moved_to = next((n for n in new if _same(o, n) and n.first_ns > o.last_ns), None)
        if moved_to is not None:
            new.remove(moved_to)
            found["moved"].append(Change("moved", moved_to, before.keyframe if before else 0, moved_to.keyframe_id,
                                         place_of(o), place_of(moved_to)))
        else:
            found["gone"].append(Change("gone", o, before.keyframe if before else 0, after, place_of(o)))
    for o in new:
        if _was_there(db, where, o.room, since_ns):
            found["new"].append(Change("new", o, 0, o.keyframe_id, "", place_of(o)))
    for o in (o for o in objects if o.here and since_ns <= o.last_ns and not o.gone_ns):
        before = _sight(db, o.id, max(since_ns, o.first_ns + 1))
        after_sight = _sight(db, o.id, o.last_ns + 1)
        if before is None or after_sight is None:
            continue
        was, now = ({k: v for k, v in sight.attributes.items() if k in _TELLING} for sight in (before, after_sight))
        if was != now:
            differ = [k for k in _TELLING if was.get(k) != now.get(k)]
            found["state"].append(Change("state", o, before.keyframe, after_sight.keyframe,
                                         ", ".join(was.get(k, "nothing") for k in differ),
                                         ", ".join(now.get(k, "nothing") for k in differ)))
    return [change for kind in found.values() for change in kind]


def place_of(o: MemoryObject) -> str:
    """Return the location as text ("in the kitchen, on the counter"), "" if it is unknown."""
    relation, support = o.attributes.get("relation", ""), o.attributes.get("support", "")
    room = f"in the {o.room}" if o.room else ""
    on = f"{relation if relation in ('on', 'in', 'under') else 'on'} the {support}" if support else ""
    return ", ".join(filter(None, (room, on)))


def name_of(o: MemoryObject) -> str:
    """Return the name with its colour, such as "red mug"."""
    return " ".join(filter(None, (o.attributes.get("colour", ""), o.kind)))


def _same(a: MemoryObject, b: MemoryObject) -> bool:
    return canonical(name_of(a)) == canonical(name_of(b))


def _sight(db: Database, number: int, before_ns: int) -> _Sight | None:
    """Return the last keyframe before a stamp that shows an object, None if there is none."""
    row = db.execute("SELECT keyframe, attributes FROM seen JOIN keyframes ON keyframes.id = keyframe "
                     "WHERE object = ? AND stamp_ns < ? ORDER BY keyframe DESC LIMIT 1", (number, before_ns)).fetchone()
    return None if row is None else _Sight(row[0], json.loads(row[1]))


def _looked_at(db: Database, where: Maps, stamp_ns: int) -> int:
    """Return the id of the keyframe with this stamp, 0 if there is none."""
    return int(db.value("SELECT id FROM keyframes WHERE root = ? AND stamp_ns = ?", (where.root, stamp_ns)) or 0)


def _was_there(db: Database, where: Maps, room: str, stamp_ns: int) -> bool:
    """Return whether the room was seen before the stamp; otherwise all of its objects would be reported as new."""
    return db.value("SELECT 1 FROM keyframes WHERE root = ? AND region = ? AND stamp_ns < ? LIMIT 1",
                    (where.root, room, stamp_ns)) is not None
