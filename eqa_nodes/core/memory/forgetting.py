"""Deletes what a user selects, and redundant views if the file exceeds its size limit."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadQuestion
from eqa_nodes.core.language.english import canonical, content_words
from eqa_nodes.core.memory import ledger, maps, rows, watches
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.index import Index, cells_of
from eqa_nodes.core.memory.keyframes import cell_of, item_of
from eqa_nodes.core.memory.maps import Maps, pack, unpack
from eqa_nodes.core.memory.times import FOR_EVER, times_in
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import TEXT, FloorPixel, Keyframe

_SLACK = 0.95  # share of the size limit left after forgetting, so that not every insert has to forget
_FACTS = 0.25  # maximum share of the size limit for the ledger; its oldest patrols are deleted beyond it
_FINEST_M = 0.5  # initial cell edge for redundant views; doubled until enough views can be deleted


class ForgetSelection(NamedTuple):
    """Selection of what to forget; conditions are combined, at least one is required.

    region: kind of room; kind: kind of object, selects the views that show it; near: x, y, radius in metres in the
    running session's map; after_ns, before_ns: stamps, 0 = no limit; everything: select all.
    """

    region: str = ""
    kind: str = ""
    near: tuple[float, float, float] | None = None
    after_ns: int = 0
    before_ns: int = 0
    everything: bool = False


class Forgotten(NamedTuple):
    """Number of deleted items."""

    keyframes: int
    objects: int


def within(selection: ForgetSelection, when: str, now_ns: int) -> ForgetSelection:
    """Return a selection limited to a time in words ("yesterday", "the last two hours"). Raises BadQuestion."""
    if not when.strip():
        return selection
    window, _, rest, fault = times_in(when, now_ns)
    if window is None or window.last or content_words(rest):
        raise BadQuestion(fault or f"{when!r} is not a time: say yesterday, this morning, Monday at 3 pm, 18 November, "
                          "in the last two hours, or before 1 November")
    return selection._replace(after_ns=window.after_ns, before_ns=window.before_ns)


def forget(db: Database, index: Index, root: int, selection: ForgetSelection) -> Forgotten:
    """Delete the selection, inside a transaction. Raises BadQuestion if the selection is empty.

    `near` applies to the map `root`; time, region and kind apply to all maps.
    """
    if selection == ForgetSelection():
        raise BadQuestion("select what to forget: a region, a kind of object, a time, a place, or everything")
    where = root if selection.near is not None else None
    chosen = index.ids[index.allowed(where, selection.after_ns, selection.before_ns, selection.near)]
    ids = set(chosen.tolist())
    if selection.region:
        wanted = canonical(selection.region)
        ids &= {i for i, region in db.execute("SELECT id, region FROM keyframes") if canonical(region) == wanted}
    if selection.kind:
        wanted = canonical(selection.kind)
        ids &= {i for i, kind in db.execute("SELECT keyframe, kind FROM seen JOIN objects ON objects.id = object")
                if canonical(kind) == wanted}
    before = db.value("SELECT count(*) FROM objects")
    _delete(db, index, sorted(ids), keep_facts=bool(selection.after_ns or selection.before_ns))
    _restore(db, _forget_looks(db, where, selection))
    if selection.after_ns or selection.before_ns:
        db.execute("UPDATE objects SET gone_ns = 0, missed = 0 WHERE gone_ns BETWEEN ? AND ?",
                   (max(1, selection.after_ns), selection.before_ns or FOR_EVER))
    watches.restart(db, selection.after_ns, selection.before_ns)
    return Forgotten(len(ids), before - db.value("SELECT count(*) FROM objects"))


def over_budget(db: Database, index: Index, limit_bytes: float) -> int:
    """Delete redundant views until the file fits, inside a transaction; return their number.

    Views in the same cell and direction are redundant: all but the newest may be deleted, the oldest in the fullest
    cells first; cells grow until enough views qualify. The best view of each object is deleted last. The ledger keeps
    the objects whose views are deleted.
    """
    ledger.keep_newest(db, _FACTS * limit_bytes)
    watches.trim(db)
    stored = index.rows
    mean = db.used_bytes() / max(1, len(stored))
    surplus = min(len(stored) - 1, int(np.ceil((db.used_bytes() - _SLACK * limit_bytes) / mean)))
    if surplus <= 0:
        return 0
    best = {i for i, _ in db.execute("SELECT keyframe, max(pixels * 1e9 + keyframe) FROM seen GROUP BY object")}
    gone = np.zeros(len(stored), bool)
    free = ~np.isin(stored["id"], sorted(best))
    edge = _FINEST_M
    while gone.sum() < surplus:
        rank = _ranks(stored, ~gone, edge)
        can_go = np.flatnonzero(free & ~gone & (rank > 0))
        order = can_go[np.lexsort((stored["id"][can_go], -rank[can_go]))]
        gone[order[:surplus - int(gone.sum())]] = True
        edge *= 2
        if edge > 1e4:  # one cell holds all candidates: delete the best views too, the oldest first
            free[:] = True
            rest = np.flatnonzero(~gone)
            gone[rest[:surplus - int(gone.sum())]] = True
    _delete(db, index, stored["id"][gone].tolist(), keep_facts=True)
    return int(gone.sum())


def realign(db: Database, index: Index, where: Maps, name: str, known: str, known_from_map: Transform) -> None:
    """Move a map's contents to its newly known place, inside a transaction. Raises StorageError."""
    root, target, by = where.aligned(name, known, known_from_map)
    condition, values = ("root = ?", [root])
    if root == target:
        sessions = where.sessions_of(name)
        condition, values = f"session IN ({','.join('?' * len(sessions))})", sessions
    ids = [i for i, in db.execute(f"SELECT id FROM keyframes WHERE {condition} ORDER BY id", values).fetchall()]
    table = index.rows.copy()
    for i in ids:
        _move(db, table, i, target, by)
    for number, box in db.execute(  # objects also seen by other maps of that place stay where those saw them
            f"SELECT id, box FROM objects WHERE root = ? AND id NOT IN (SELECT object FROM seen JOIN keyframes "
            f"ON keyframes.id = keyframe WHERE keyframes.root = objects.root AND NOT ({condition}))",
            (root, *values)).fetchall():
        db.execute("UPDATE objects SET root = ?, box = ? WHERE id = ?",
                   (target, rows.pack_box(*maps.box(by, *rows.unpack_box(box))), number))
        ledger.move(db, number, by)
    if root != target:
        db.execute("INSERT OR IGNORE INTO content SELECT ?, item FROM content WHERE root = ?", (target, root))
        db.execute("DELETE FROM content WHERE root = ?", (root,))
    index.rewrite(db, table, np.array(ids, np.int64))
    _count_regions(db, table)
    index.replace(table)


def _move(db: Database, table: np.ndarray, keyframe_id: int, root: int, by: Transform) -> None:
    pose, pose_bytes, seen, places = db.execute(
        "SELECT map_from_base, camera, sightings, places FROM keyframes WHERE id = ?", (keyframe_id,)).fetchone()
    k = maps.moved(Keyframe(keyframe_id, 0, unpack(pose), b"", rows.load_sightings(seen),
                            places=tuple(FloorPixel(*p) for p in json.loads(places))), by)
    camera = struct.unpack("<6d", pose_bytes)
    position = maps.point(by, camera[:3])
    x, y, z = (by.matrix()[:3, :3] @ np.array(camera[3:])).tolist()
    db.execute("UPDATE keyframes SET root = ?, cell = ?, map_from_base = ?, camera = ?, sightings = ?, places = ? "
               "WHERE id = ?",
               (root, rows.cell_number(cell_of(position)), pack(k.map_from_base), rows.camera(position, (x, y, z)),
                rows.dump_sightings(k.sightings), json.dumps(k.places), keyframe_id))
    row = table[np.searchsorted(table["id"], keyframe_id)]
    row["x"], row["y"], row["z"] = k.map_from_base.xyz
    row["yaw"], row["root"] = np.arctan2(y, x), root


def _ranks(stored: np.ndarray, there: np.ndarray, edge_m: float) -> np.ndarray:
    """Return the number of newer views (n,) in each view's cell and direction; 0 for views that are not there."""
    x, y, z, sector = cells_of(stored, edge_m)
    key = np.stack([stored["root"], x, y, z, sector if edge_m < 8 else np.zeros_like(sector)])
    _, cell = np.unique(key, axis=1, return_inverse=True)
    rank = np.zeros(len(stored), np.int64)
    at = np.flatnonzero(there)
    order = at[np.lexsort((-stored["id"][at], cell.ravel()[at]))]  # by cell, the newest first
    begins = np.flatnonzero(np.diff(cell.ravel()[order], prepend=-1))
    rank[order] = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return rank


def _delete(db: Database, index: Index, ids: Sequence[int], keep_facts: bool = False) -> None:
    """Delete keyframes, and the objects that only these showed with their looks; keep_facts: but not from the ledger.
    """
    if not ids:
        return
    shown = db.execute("SELECT DISTINCT object FROM seen").fetchall()
    for i in ids:
        columns = db.execute("SELECT kinds, attributes, rooms, caption FROM words WHERE rowid = ?", (i,)).fetchone()
        rows.count_terms(db, columns, -1)
    for table, key in (("keyframes", "id"), ("images", "id"), ("briefs", "id"), ("words", "rowid"), ("tiers", "rowid"),
                       ("seen", "keyframe")):
        db.many(f"DELETE FROM {table} WHERE {key} = ?", ((i,) for i in ids))
    db.execute("DELETE FROM terms WHERE docs <= 0")
    if not keep_facts:
        db.many("DELETE FROM looks WHERE object = ? AND object NOT IN (SELECT object FROM seen)", shown)
    _drop_objects(db)
    _drop_texts(db)
    _recount_content(db)
    kept = index.rows[~np.isin(index.rows["id"], ids)]
    index.rewrite(db, kept, np.array(ids, np.int64))
    _count_regions(db, kept)
    index.replace(kept)


def _drop_objects(db: Database) -> None:
    """Delete the objects of which no view and no look that saw them is left, and the events that deleted looks prove.
    """
    db.execute("DELETE FROM objects WHERE id NOT IN (SELECT object FROM seen UNION SELECT object FROM looks "
               "WHERE looks > 0)")
    db.execute("DELETE FROM looks WHERE object NOT IN (SELECT id FROM objects)")
    watches.trim(db)


def _forget_looks(db: Database, root: int | None, s: ForgetSelection) -> set[int]:
    """Delete the selected looks from the ledger; those of a patrol at an object in one state are deleted together.

    Return the ids of the objects that lost looks.
    """
    region, kind, last = canonical(s.region), canonical(s.kind), s.before_ns or FOR_EVER
    lost = set[int]()
    within = "looks.last_ns >= ? AND looks.first_ns <= ?"
    for number, patrol, room, support, state, own, at, box, where in db.execute(
            "SELECT object, patrol, looks.room, support, state, kind, objects.room, coalesce(nullif(looks.box, x''), "
            f"objects.box), root FROM looks JOIN objects ON id = object WHERE {within}", (s.after_ns, last)).fetchall():
        if ((region and canonical(room or at) != region) or (kind and canonical(own) != kind)
                or (s.near is not None and (where != root or not ledger.is_near(box, s.near)))):
            continue
        db.execute("DELETE FROM looks WHERE object = ? AND patrol = ? AND room = ? AND support = ? AND state = ?",
                   (number, patrol, room, support, state))
        lost.add(number)
    for patrol, room in db.execute("SELECT patrol, room FROM room_looks WHERE last_ns >= ? AND first_ns <= ?",
                                   (s.after_ns, last)).fetchall():
        if s.near is not None or (region and canonical(room) != region):
            continue
        what = "DELETE FROM room_looks" if not kind else "UPDATE room_looks SET people = 0"
        if not kind or kind in ledger.PEOPLE:
            db.execute(f"{what} WHERE patrol = ? AND room = ?", (patrol, room))
            watches.forget_people(db, patrol, room)
    ledger.trim(db)
    _drop_objects(db)
    return lost


def _restore(db: Database, numbers: Iterable[int]) -> None:
    """Give objects the times, the place and the state that the views and looks which are left show."""
    for number in sorted(numbers):
        first, last = db.execute(
            "SELECT min(a), max(b) FROM (SELECT stamp_ns AS a, stamp_ns AS b FROM seen JOIN keyframes ON keyframes.id "
            "= keyframe WHERE object = ?1 UNION ALL SELECT first_ns, last_ns FROM looks WHERE object = ?1 "
            "AND looks > 0)",
            (number,)).fetchone()
        row = db.execute("SELECT room, attributes, box FROM objects WHERE id = ?", (number,)).fetchone()
        if row is None:
            continue
        room, stored, box = row
        attributes, left = json.loads(stored), ledger.newest_spell(db, number)
        if left is not None:
            room, box = left.room, rows.pack_box(left.low, left.high)
            attributes |= {"relation": left.relation, "support": left.support, "state": left.state}
        db.execute("UPDATE objects SET first_ns = ?, last_ns = ?, room = ?, attributes = ?, box = ? WHERE id = ?",
                   (first, last, room, json.dumps({k: v for k, v in attributes.items() if v}, sort_keys=True), box,
                    number))


def _drop_texts(db: Database) -> None:
    """Delete the text on objects if no remaining view shows it."""
    for number, stored in db.execute("SELECT id, attributes FROM objects WHERE instr(attributes, ?)",
                                     (f'"{TEXT}":',)).fetchall():
        known = json.loads(stored)
        read = {json.loads(seen).get(TEXT) for seen, in db.execute("SELECT attributes FROM seen WHERE object = ?",
                                                                   (number,))}
        if known.pop(TEXT, None) not in read:
            db.execute("UPDATE objects SET attributes = ? WHERE id = ?", (json.dumps(known, sort_keys=True), number))


def _recount_content(db: Database) -> None:
    """Delete content that no remembered view shows, so that it counts as new again."""
    left: set[tuple[int, str]] = set()
    for root, seen in db.execute("SELECT root, sightings FROM keyframes"):
        left.update((root, item_of(s.label)) for s in rows.load_sightings(seen))
    known = set(db.execute("SELECT root, item FROM content").fetchall())
    db.many("DELETE FROM content WHERE root = ? AND item = ?", sorted(known - left))


def _count_regions(db: Database, stored: np.ndarray) -> None:
    """Recompute the number of views of each region and the sums of their positions."""
    db.execute("DELETE FROM regions")
    sums: dict[tuple[int, str], list[float]] = {}
    place = dict(zip(stored["id"].tolist(), zip(stored["x"].tolist(), stored["y"].tolist())))
    for i, root, region in db.execute("SELECT id, root, region FROM keyframes WHERE region != ''"):
        entry = sums.setdefault((root, canonical(region)), [0, 0.0, 0.0])
        entry[0] += 1
        entry[1] += place[i][0]
        entry[2] += place[i][1]
    db.many("INSERT INTO regions VALUES (?, ?, ?, ?, ?)", ((*key, *entry) for key, entry in sorted(sums.items())))
