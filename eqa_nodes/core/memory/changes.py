"""Changes between two times: objects that appeared, came back, disappeared, moved, or changed their state."""

from __future__ import annotations

import json
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.in_words import name_of, place_of
from eqa_nodes.core.memory.maps import Maps
from eqa_nodes.core.types.questions import MemoryObject

_MIN_TIMES = 2  # minimum number of sightings before an object is reported as new
_TELLING = ("state", "support")  # attributes whose change is reported


class Change(NamedTuple):
    """One change. what: moved | gone | new | back | state.

    before: id of the keyframe with the old state, 0 if there is none; after: id of the keyframe with the new state.
    was, now: descriptions of these states ("in the kitchen, on the counter", "on"). It happened between the stamps of
    two looks: last_ns, the last that saw the old state (0 = never seen), and first_ns, the first that saw the new one.
    """

    what: str
    object: MemoryObject
    before: int
    after: int
    was: str = ""
    now: str = ""
    last_ns: int = 0
    first_ns: int = 0


class _Sight(NamedTuple):
    keyframe: int
    attributes: dict[str, str]


def changes(db: Database, where: Maps, objects: list[MemoryObject], since_ns: int) -> list[Change]:
    """Return the changes since a stamp to objects in the running session's map: moved, state, gone, new and back.

    Objects first seen after the stamp are compared with their first view.
    """
    here = [o for o in objects if o.here]
    gone = [o for o in here if o.gone_ns >= since_ns and o.gone_ns]
    came = {o.id: came_ns for o in here if not o.gone_ns and (came_ns := _came_ns(db, o)) >= since_ns}
    new = [o for o in here if o.id in came and (o.times >= _MIN_TIMES or came[o.id] > o.first_ns)]
    moved, left, came_anew = _moved(db, where, gone, new, came, since_ns)
    found = [*moved, *_states(db, here, since_ns), *(_gone(db, where, o, since_ns) for o in left)]
    for o in came_anew:
        if came[o.id] > o.first_ns:
            found.append(Change("back", o, 0, _view_since(db, o, came[o.id]), "", place_of(o), 0, came[o.id]))
        elif _was_there(db, where, o.room, since_ns):
            found.append(Change("new", o, 0, o.keyframe_id, "", place_of(o), 0, came[o.id]))
    return found


def _moved(db: Database, where: Maps, gone: list[MemoryObject], new: list[MemoryObject], came: dict[int, int],
           since_ns: int) -> tuple[list[Change], list[MemoryObject], list[MemoryObject]]:
    """Return what was moved, and the objects that are gone and that came without a counterpart."""
    moved, left, rest = [], [], list(new)
    for o in gone:
        to = next((n for n in rest if _same(o, n) and came[n.id] > o.last_ns), None)
        if to is None:
            left.append(o)
            continue
        rest.remove(to)
        moved.append(_gone(db, where, o, since_ns)._replace(
            what="moved", object=to, now=place_of(to), first_ns=came[to.id],
            after=to.keyframe_id if came[to.id] == to.first_ns else _view_since(db, to, came[to.id])))
    return moved, left, rest


def _view_since(db: Database, o: MemoryObject, stamp_ns: int) -> int:
    """Return the id of the first view of an object from a stamp on, else that of its best view."""
    return int(db.value("SELECT min(keyframe) FROM seen JOIN keyframes ON keyframes.id = keyframe WHERE object = ? "
                        "AND stamp_ns >= ?", (o.id, stamp_ns)) or o.keyframe_id)


def _gone(db: Database, where: Maps, o: MemoryObject, since_ns: int) -> Change:
    """Return that an object is gone: between the last look at it and the first at its empty place."""
    before = _sight(db, o.id, max(since_ns, o.first_ns + 1))
    first_ns = db.value("SELECT min(first_ns) FROM looks WHERE object = ? AND empty > 0 AND first_ns > ?",
                        (o.id, o.last_ns)) or o.gone_ns
    return Change("gone", o, before.keyframe if before else 0, _looked_at(db, where, o.gone_ns), place_of(o), "",
                  o.last_ns, int(first_ns))


def _came_ns(db: Database, o: MemoryObject) -> int:
    """Return the stamp of the first look that saw an object after it was gone for the last time, or of the first ever.
    """
    gone_ns = db.value("SELECT max(gone_ns) FROM looks WHERE object = ?", (o.id,)) or 0
    again = db.value("SELECT min(first_ns) FROM looks WHERE object = ? AND looks > 0 AND first_ns > ?", (o.id, gone_ns))
    return int(again) if gone_ns and again else o.first_ns


def _states(db: Database, objects: list[MemoryObject], since_ns: int) -> list[Change]:
    """Return the changes of state or support."""
    found = []
    for o in objects:
        if o.gone_ns or o.last_ns < since_ns:
            continue
        before, after = _sight(db, o.id, max(since_ns, o.first_ns + 1)), _sight(db, o.id, o.last_ns + 1)
        if before is None or after is None:
            continue
        was, now = ({k: v for k, v in sight.attributes.items() if k in _TELLING} for sight in (before, after))
        differ = [k for k in _TELLING if was.get(k) != now.get(k) and _is_known(k, before) and _is_known(k, after)]
        if differ:
            found.append(Change("state", o, before.keyframe, after.keyframe,
                                ", ".join(was.get(k, "nothing") for k in differ),
                                ", ".join(now.get(k, "nothing") for k in differ), *_between(db, o, now)))
    return found


def _is_known(attribute: str, sight: _Sight) -> bool:
    """Return whether a look tells the state of an object, or where it was: a detector does not always see it.

    What has a relation and no support was on the floor, on a wall or at the ceiling.
    """
    names = sight.attributes
    return attribute in names or (attribute == "support" and "relation" in names)


def _between(db: Database, o: MemoryObject, now: dict[str, str]) -> tuple[int, int]:
    """Return the last look that saw an object otherwise than now, and the first after it; the ledger knows both."""
    last_ns = first_ns = 0
    for support, state, began_ns, ended_ns in db.execute(
            "SELECT support, state, first_ns, last_ns FROM looks WHERE object = ? AND looks > 0 ORDER BY last_ns DESC",
            (o.id,)):
        if (support, state) != (now.get("support", ""), now.get("state", "")):
            last_ns = int(ended_ns)
            break
        first_ns = int(began_ns)
    return last_ns, first_ns


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
