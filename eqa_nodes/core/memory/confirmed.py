"""What has changed since a stamp, without what one look alone says against others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory.believed import ThingHistory, by_name, looks_of, loses_looks, newest_of
from eqa_nodes.core.memory.changes import Change
from eqa_nodes.core.memory.in_words import name_of, place_of
from eqa_nodes.core.memory.ledger import EMPTY, NOT_LOOKED, ObjectSpell, PatrolOfObject
from eqa_nodes.core.memory.reading import MemoryReader


def confirmed_changes(store: MemoryReader, since_ns: int) -> list[Change]:
    """Return the changes since a stamp, and what has gone or moved where a look could not see through the place."""
    changes, newest_ns = store.changes(since_ns), max((patrol.first_ns for patrol in store.patrols()), default=0)
    objects = store.established([o for o in store.objects() if o.here])
    names = {canonical(name_of(change.object)) for change in changes} | {
        canonical(name_of(o)) for o in objects if o.last_ns < newest_ns or o.gone_ns or o.first_ns >= since_ns}
    things = by_name(store, [o for o in objects if canonical(name_of(o)) in names])
    of = {o.id: same for named in things.values() for same in named for o in same.objects}
    found = [confirmed for change in changes if change.object.id in of and (confirmed := _confirmed(
        change, of[change.object.id], things[canonical(name_of(change.object))], since_ns)) is not None]
    return [*found, *_overlooked(store, things, {canonical(name_of(change.object)) for change in found}, since_ns)]


def _confirmed(change: Change, same: ThingHistory, named: Sequence[ThingHistory], since_ns: int) -> Change | None:
    """Return a change if more than one look says so, None if not. same: the thing; named: all things of its name."""
    looked = [one for one in same.patrols if one.outcome != NOT_LOOKED]
    seen = [one for one in looked if one.now is not None]
    if not seen:
        return None
    if change.what == "gone":
        passing = len(seen) == 1 and any(other.there() and other.there(since_ns) for other in named)
        return None if passing or same.there() or 0 < same.gone_ns < since_ns else change
    if change.what == "state":
        earlier = [one.now for one in seen if one.patrol.last_ns < since_ns][-1:] or [*seen[0].spells[:1]]
        return change if _told(*earlier) != _told(seen[-1].now) and not _is_last_look(seen[-1]) else None
    if change.what in ("back", "moved") and _was_there(same, looked, change.first_ns):
        new = not same.looked(since_ns) and len(seen) > 1
        return change._replace(what="new", was="", before=0, last_ns=0) if new else None
    return change if looks_of(seen[-1]) > 1 or len(seen) > 1 or same.usual <= 1 else None


def _told(spell: ObjectSpell | None = None) -> tuple[str, str]:
    return ("", "") if spell is None else (spell.support, spell.state)


def _is_last_look(one: PatrolOfObject) -> bool:
    """Return whether only the last of several looks of a patrol saw the state that counts."""
    return one.now is not None and one.now.looks == 1 < looks_of(one) - 1


def _was_there(same: ThingHistory, looked: Sequence[PatrolOfObject], came_ns: int) -> bool:
    """Return whether the patrol before one that saw a thing come had seen it, or the one before that if looks get lost.
    """
    came = next((n for n, one in enumerate(looked) if one.patrol.last_ns >= came_ns), len(looked))
    absent = [one.outcome == EMPTY for one in looked[:came][::-1]]
    return bool(absent) and (not absent[0] or (absent[1:2] == [False] and loses_looks(same)))


def _overlooked(store: MemoryReader, things: Mapping[str, Sequence[ThingHistory]], said: set[str], since_ns: int
                ) -> Iterator[Change]:
    """Yield what has gone, moved or come back of the other names."""
    for name, named in things.items():
        went = [same for same in named if same.there(since_ns) and not same.there()]
        came = [same for same in named if same.there() and same.looked(since_ns) and not same.there(since_ns)]
        old, new = newest_of(store, went), newest_of(store, came)
        if name in said or len(went) > 1 or len(came) > 1:
            continue
        if new is not None:
            first_ns = came[0].came_ns
            yield Change("moved" if old is not None else "back", new, old.keyframe_id if old is not None else 0,
                         new.keyframe_id, place_of(old) if old is not None else "", place_of(new),
                         old.last_ns if old is not None else 0, first_ns)
        elif old is not None and not any(same.there() for same in named):
            yield Change("gone", old, old.keyframe_id, 0, place_of(old), "", old.last_ns, went[0].gone_ns)
