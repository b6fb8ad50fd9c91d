"""Watches: statements that every look is checked against, and an event for each time that one becomes true.

The rule. For each thing that fits a statement, the last look that saw it, or saw that it is gone, says whether the
statement is so; of a thing that was not looked at nothing changes. A statement is true while this is so of one of its
things ("all", "the windows", "two": of all or as many; "no", "gone": of none). An event happens at the look that makes
it true, and again only after a look has made it false. With a duration ("for 30 min") it happens at the first look that
shows the statement true at least that long after the look that made it true, if no look in between made it false. The
two looks are facts; what happened between them is not known.

What memory knew when a watch was set counts as its first look: an event says that a statement becomes true, not that it
is. "Is moved" is an event each time that a thing is seen on another support, in another room, or in a new place while
its old place was seen empty, whichever is seen first.

Events are written in the transaction of their look. Each refers to the rows of the ledger that prove it, and is deleted
with the first of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import BadQuestion
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.rooms import fits_room
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.in_words import name_of, place_words
from eqa_nodes.core.memory.objects import ObjectRecord, ObjectUpdate
from eqa_nodes.core.memory.statements import (
    WatchStatement,
    fits_kind,
    is_known_kind,
    read_statement,
    stored_statement,
)

MOST_WATCHES = 100
LookKey = tuple[int, int, str, str, str]  # of a row of the ledger: object (0 = people), patrol, room, support, state


class WatchEvent(NamedTuple):
    """A statement became true. since_ns: stamp of the look that first showed it; stamp_ns: of the look that counts.

    text: what that look saw; object_id: 0 = people; keyframe_id: a view of that look, 0 = none is stored.
    """

    id: int
    watch: int
    statement: str
    stamp_ns: int
    since_ns: int
    text: str
    object_id: int
    keyframe_id: int


class MemoryWatch(NamedTuple):
    """A watch. since_ns: stamp of the look since which it is true, 0 = it is not; last: its newest event."""

    number: int
    statement: str
    since_ns: int
    events: int
    last: WatchEvent | None


class NewWatch(NamedTuple):
    """A watch that was set. since_ns: stamp of the look since which it is true, 0 = it is not; seen: whether memory has
    seen such a thing.
    """

    number: int
    statement: str
    since_ns: int
    seen: bool


class WatchedLook(NamedTuple):
    """A look that the ledger has just got. before: the objects as they were known; rooms: room -> people in view."""

    stamp_ns: int
    patrol: int
    keyframe_id: int
    looked: ObjectUpdate
    before: Mapping[int, ObjectRecord]
    rooms: Mapping[str, int]


class _Fact(NamedTuple):
    """What a look says of one thing. value: whether the statement is so, None = no longer known; looks: that prove it.
    """

    object: int
    value: bool | None
    text: str = ""
    looks: tuple[LookKey, ...] = ()


def set_watch(path: Path, text: str) -> NewWatch:
    """Set a watch in a memory file, which a robot may be writing. Raises BadQuestion, StorageError."""
    statement = read_statement(text)
    with closing(Database(path, alone=False)) as db, db.transaction():
        return add(db, statement)


def remove_watch(path: Path, number: int) -> str:
    """Delete a watch of a memory file, which a robot may be writing; return its statement.

    Raises BadQuestion, StorageError.
    """
    with closing(Database(path, alone=False)) as db, db.transaction():
        return remove(db, number)


def add(db: Database, statement: WatchStatement) -> NewWatch:
    """Set a watch, inside a transaction. Raises BadQuestion if it is set already or is about an unknown thing."""
    known = [row for row, in db.execute("SELECT statement FROM watches")]
    if statement.text.lower() in (other.lower() for other in known):
        raise BadQuestion(f"{statement.text!r} is watched already: eqa memory watch FILE lists the watches")
    if len(known) >= MOST_WATCHES:
        raise BadQuestion(f"{MOST_WATCHES} statements are watched already, which is the most: remove one with --remove")
    seen = {kind for kind, in db.execute("SELECT DISTINCT kind FROM objects")}
    for name in statement.kinds:
        if not is_known_kind(name) and not any(fits_kind(kind, name) for kind in seen):
            raise BadQuestion(f"neither memory nor the vocabulary knows {name!r}: name a kind of thing in other words; "
                              "eqa memory objects FILE lists what memory has seen")
    number = db.execute("INSERT INTO watches (statement, since_ns, reported) VALUES (?, 0, 0)",
                        (statement.text,)).lastrowid or 0
    _begin(db, number, statement, False)
    since_ns = db.value("SELECT since_ns FROM watches WHERE number = ?", (number,))
    return NewWatch(number, statement.text, since_ns, statement.people or any(
        fits_kind(kind, statement.thing.kind) for kind in seen))


def remove(db: Database, number: int) -> str:
    """Delete a watch and its events, inside a transaction; return its statement. Raises BadQuestion for an unknown one.
    """
    statement = db.value("SELECT statement FROM watches WHERE number = ?", (number,))
    if statement is None:
        known = ", ".join(str(n) for n, in db.execute("SELECT number FROM watches ORDER BY number"))
        raise BadQuestion(f"no watch has the number {number}: " + (f"there are {known}" if known else "none is set"))
    db.execute("DELETE FROM watches WHERE number = ?", (number,))
    db.execute("DELETE FROM watched WHERE watch = ?", (number,))
    db.execute("DELETE FROM watch_events WHERE watch = ?", (number,))
    return str(statement)


def watches(db: Database) -> list[MemoryWatch]:
    """Return the watches in the order in which they were set."""
    if db.value("SELECT 1 FROM sqlite_master WHERE name = 'watches'") is None:
        return []  # a file from before there were watches, which is only read
    last = {event.watch: event for event in _events(db, "", ())}
    count = dict(db.execute("SELECT watch, count(*) FROM watch_events GROUP BY watch").fetchall())
    return [MemoryWatch(number, statement, since_ns, count.get(number, 0), last.get(number)) for number, statement,
            since_ns in db.execute("SELECT number, statement, since_ns FROM watches ORDER BY number")]


def unpublished(db: Database) -> list[WatchEvent]:
    """Return the events that are not marked as published, oldest first."""
    return _events(db, "WHERE published = 0", ())


def mark_published(db: Database, event: int) -> None:
    """Mark events up to an id as published, inside a transaction."""
    db.execute("UPDATE watch_events SET published = 1 WHERE id <= ? AND published = 0", (event,))


def _events(db: Database, where: str, values: tuple[int, ...]) -> list[WatchEvent]:
    return [WatchEvent(*row) for row in db.execute(
        "SELECT watch_events.id, watch, statement, watch_events.stamp_ns, watch_events.since_ns, text, object, "
        "coalesce(keyframes.id, 0) FROM watch_events JOIN watches ON number = watch LEFT JOIN keyframes "
        f"ON keyframes.id = keyframe {where} ORDER BY watch_events.id", values)]


def check(db: Database, look: WatchedLook) -> None:
    """Check a look, inside its transaction, after it was written to the ledger."""
    rows = db.execute("SELECT number, statement, since_ns, reported FROM watches ORDER BY number").fetchall()
    for part, whole in look.looked.merged.items() if rows else ():
        _absorb(db, part, whole)
    for number, text, since_ns, reported in rows:
        statement = stored_statement(text)
        if statement is None:
            continue
        db.many("DELETE FROM watched WHERE watch = ? AND object = ?", ((number, part) for part in look.looked.merged))
        if statement.moved:
            for fact in _moves(db, number, statement, look):
                _write_event(db, number, look, look.stamp_ns, fact)
            continue
        facts = list(_people(statement, look) if statement.people else _facts(db, statement, look))
        if facts:
            _update(db, number, statement, look, facts, since_ns, bool(reported))


def _update(db: Database, number: int, statement: WatchStatement, look: WatchedLook, facts: list[_Fact], since_ns: int,
            reported: bool) -> None:
    """Write what a look says of the things of a statement, and the event if it has become true."""
    known = _values(db, number)
    changed = [fact for fact in facts if known.get(fact.object) != fact.value]
    _write_values(db, number, changed)
    known.update((fact.object, fact.value) for fact in changed)
    values = [value for value in known.values() if value is not None]
    cause = next((fact for fact in facts if fact.value is not None and fact.value != statement.denied), None)
    if not values:
        return
    before = since_ns, reported
    if not statement.true(values):
        since_ns, reported = 0, False
    elif cause is not None:
        since_ns = since_ns or look.stamp_ns
        if not reported and look.stamp_ns - since_ns >= statement.lasts_ns:
            _write_event(db, number, look, since_ns, cause)
            reported = True
    if (since_ns, reported) != before:
        db.execute("UPDATE watches SET since_ns = ?, reported = ? WHERE number = ?", (since_ns, reported, number))


def _facts(db: Database, statement: WatchStatement, look: WatchedLook) -> Iterator[_Fact]:
    """Yield what a look says of the objects that fit a statement."""
    for s, known in look.looked.associated:
        if statement.fits(known.kind, known.attributes):
            value = statement.holds(known.kind, known.room, s.label.attributes)
            if value is not None:
                yield _Fact(known.id, value, _seen_text(known), (_key(look, known, s.label.attributes),))
    for o in look.looked.missed:
        if o.gone_ns == look.stamp_ns and statement.fits(o.kind, o.attributes):  # what is gone has no state
            yield _Fact(o.id, None if statement.state else False, _gone_text(o), (*_earlier(db, o), _key(look, o)))


def _people(statement: WatchStatement, look: WatchedLook) -> Iterator[_Fact]:
    """Yield whether as many people as a statement names are in view in its room, if that is in view."""
    found = {room: people for room, people in look.rooms.items() if fits_room(room, statement.place.room)}
    if found:
        room, people = max(found.items(), key=lambda row: row[1])
        said = f"{people} {'person' if people == 1 else 'people'}" if people else "nobody"
        yield _Fact(0, people >= max(1, statement.thing.number), f"{said} in view in the {room}",
                    ((0, look.patrol, room, "", ""),))


def _moves(db: Database, number: int, statement: WatchStatement, look: WatchedLook) -> Iterator[_Fact]:
    """Yield the things that a look shows to be moved.

    The table `watched` holds the stamp at which an object came to its place, 0 once its move is known.
    """
    seen = [(s, o) for s, o in look.looked.associated if statement.fits(o.kind, o.attributes)]
    left = [o for o in look.looked.missed if o.gone_ns == look.stamp_ns and statement.fits(o.kind, o.attributes)]
    if not seen and not left:
        return
    now = {**look.before, **{o.id: o for o in left}, **{o.id: o for _, o in seen}}
    fitting = [o for i, o in now.items() if i not in look.looked.merged and statement.fits(o.kind, o.attributes)]
    for s, o in seen:
        was = look.before.get(o.id)
        if was is None or was.gone_ns:  # it came: from the place that was seen empty, if one was
            last_ns = was.last_ns if was is not None else 0
            gone = [other for other in fitting if other.gone_ns and _same(other, o) and other.last_ns > last_ns]
            _write_values(db, number, [_Fact(o.id, True)], 0 if gone else look.stamp_ns)
            was = max(gone, key=lambda other: other.last_ns, default=None)
        elif not _other_place(was, o):
            was = None
        if was is not None:
            yield _Fact(o.id, True, _moved_text(was, o), (*_earlier(db, was), _key(look, o, s.label.attributes)))
    came = dict(db.execute("SELECT object, value FROM watched WHERE watch = ? AND value > 0", (number,)).fetchall())
    for o in left:
        to = next((other for other in fitting if _same(other, o) and came.get(other.id, 0) > o.last_ns), None)
        if to is not None:
            _write_values(db, number, [_Fact(to.id, True)], 0)
            del came[to.id]
            yield _Fact(to.id, True, _moved_text(o, to), (*_earlier(db, o), *_earlier(db, to), _key(look, o)))


def _key(look: WatchedLook, o: ObjectRecord, seen: Mapping[str, str] | None = None) -> LookKey:
    """Return the ledger's row of a look at an object; seen: its attributes there, None = its place was empty."""
    if seen is None:
        return o.id, look.patrol, "", "", ""
    return o.id, look.patrol, o.room, seen.get("support", ""), seen.get("state", "")


def _earlier(db: Database, was: ObjectRecord) -> tuple[LookKey, ...]:
    """Return the ledger's row of the last look that saw an object as it was, () if it is deleted."""
    row = db.execute("SELECT object, patrol, room, support, state FROM looks WHERE object = ? AND looks > 0 "
                     "AND last_ns <= ? ORDER BY last_ns DESC LIMIT 1", (was.id, was.last_ns)).fetchone()
    return (row,) if row is not None else ()


def _same(a: ObjectRecord, b: ObjectRecord) -> bool:
    """Return whether two objects may be one thing in two places."""
    return a.id != b.id and canonical(name_of(a)) == canonical(name_of(b))


def _other_place(was: ObjectRecord, now: ObjectRecord) -> bool:
    """Return whether an object is in another room or on another support, where both are known."""
    pairs = ((was.room, now.room), (was.attributes.get("support", ""), now.attributes.get("support", "")))
    return any(a and b and canonical(a) != canonical(b) for a, b in pairs)


def _write_event(db: Database, number: int, look: WatchedLook, since_ns: int, fact: _Fact) -> None:
    db.execute("INSERT INTO watch_events (watch, stamp_ns, since_ns, text, object, keyframe, looks, published) "
               "VALUES (?, ?, ?, ?, ?, ?, ?, 0)", (number, look.stamp_ns, since_ns, fact.text, fact.object,
                                                   look.keyframe_id, json.dumps(fact.looks)))


def _write_values(db: Database, number: int, facts: list[_Fact], value: int | None = None) -> None:
    db.many("DELETE FROM watched WHERE watch = ? AND object = ?", ((number, f.object) for f in facts))
    db.many("INSERT INTO watched VALUES (?, ?, ?)", ((number, f.object, f.value if value is None else value)
                                                     for f in facts if f.value is not None))


def _values(db: Database, number: int) -> dict[int, bool | None]:
    """Return what the last looks say of all things of a watch, by object."""
    return {i: bool(value) for i, value in db.execute("SELECT object, value FROM watched WHERE watch = ?", (number,))}


def _begin(db: Database, number: int, statement: WatchStatement, reported: bool) -> None:
    """Give a watch what memory knows, as its first look. reported: whether its event has happened if it is true."""
    db.execute("DELETE FROM watched WHERE watch = ?", (number,))
    known = db.execute("SELECT id, kind, room, attributes, last_ns, gone_ns FROM objects ORDER BY id").fetchall()
    newest_ns = 0
    for i, kind, room, stored, last_ns, gone_ns in known if not statement.moved and not statement.people else ():
        attributes = json.loads(stored)
        if not statement.fits(kind, attributes):
            continue
        value = (None if statement.state else False) if gone_ns else statement.holds(kind, room, attributes)
        _write_values(db, number, [_Fact(i, value)])
        if value is not None and value != statement.denied:
            newest_ns = max(newest_ns, last_ns, gone_ns)
    values = [value for value in _values(db, number).values() if value is not None]
    true = bool(values) and newest_ns > 0 and statement.true(values)
    db.execute("UPDATE watches SET since_ns = ?, reported = ? WHERE number = ?",
               (newest_ns if true else 0, true and (reported or not statement.lasts_ns), number))


def restart(db: Database, after_ns: int, before_ns: int) -> None:
    """Let all watches begin with what memory still knows, inside the transaction that forgot something.

    after_ns, before_ns: time that is forgotten, 0 = no limit.
    """
    for number, text, reported in db.execute("SELECT number, statement, reported FROM watches").fetchall():
        statement = stored_statement(text)
        if statement is not None:
            _begin(db, number, statement, bool(reported))
    if after_ns or before_ns:
        db.execute("UPDATE watch_events SET since_ns = stamp_ns WHERE since_ns BETWEEN ? AND ?",
                   (after_ns, before_ns or (1 << 62)))


def trim(db: Database) -> None:
    """Delete the events that lack a row of the ledger, and what was known of deleted objects."""
    for event, stored in db.execute("SELECT id, looks FROM watch_events").fetchall():
        if not all(_is_stored(db, tuple(key)) for key in json.loads(stored)):
            db.execute("DELETE FROM watch_events WHERE id = ?", (event,))
    db.execute("DELETE FROM watched WHERE object > 0 AND object NOT IN (SELECT id FROM objects)")


def _is_stored(db: Database, key: LookKey) -> bool:
    if not key[0]:
        return db.value("SELECT 1 FROM room_looks WHERE patrol = ? AND room = ?", key[1:3]) is not None
    return db.value("SELECT 1 FROM looks WHERE object = ? AND patrol = ? AND room = ? AND support = ? AND state = ?",
                    key) is not None


def forget_people(db: Database, patrol: int, room: str) -> None:
    """Delete the events about people that a patrol saw in a room."""
    db.execute("DELETE FROM watch_events WHERE looks = ?", (json.dumps([(0, patrol, room, "", "")]),))


def _absorb(db: Database, part: int, whole: int) -> None:
    """Give the events of a part of an object to the whole, as the ledger does with its looks."""
    for event, stored in db.execute("SELECT id, looks FROM watch_events WHERE instr(looks, ?)",
                                    (f"[{part}, ",)).fetchall():
        looks = [(whole if number == part else number, *rest) for number, *rest in json.loads(stored)]
        db.execute("UPDATE watch_events SET looks = ? WHERE id = ?", (json.dumps(looks), event))
    db.execute("UPDATE watch_events SET object = ? WHERE object = ?", (whole, part))


def _where(o: ObjectRecord) -> str:
    return place_words(o.room, o.attributes.get("relation", ""), o.attributes.get("support", ""))


def _seen_text(o: ObjectRecord) -> str:
    said = ", ".join(filter(None, (o.attributes.get("state", ""), _where(o))))
    return f"the {name_of(o)} is {said}" if said else f"the {name_of(o)} is there"


def _gone_text(o: ObjectRecord) -> str:
    where = _where(o)
    return f"the {name_of(o)} is gone" + (f"; it was {where}" if where else "")


def _moved_text(was: ObjectRecord, now: ObjectRecord) -> str:
    places = [_where(o) or "elsewhere" for o in (was, now)]
    return f"the {name_of(now)} was {places[0]} and is {places[1]}"
