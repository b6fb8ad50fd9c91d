"""Converts between values of the core and rows of the tables."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory import maps
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.keyframes import Cell, NoveltyView, cell_of
from eqa_nodes.core.memory.maps import Maps, pack, unpack
from eqa_nodes.core.memory.objects import ObjectRecord, ObjectUpdate
from eqa_nodes.core.types.questions import MemoryObject
from eqa_nodes.core.types.views import FloorPixel, Intrinsics, Keyframe, Label, Point, Sighting, ViewGeometry, box_of

_TABLES = ("facts", "keyframes", "images", "content", "briefs", "signatures", "words", "tiers", "terms", "regions",
           "objects", "seen", "patrols", "looks", "room_looks", "watched", "watch_events", "sessions", "maps",
           "sqlite_sequence")
_LENS = struct.Struct("<2I4d")  # intrinsics
_NO_VIEW = (0, (0, 0, 0, 0))
VECTORS = "vectors"  # fact of a memory in which objects have vectors
TIERS = 4  # number of levels of how much an object fills a view


def delete_all(db: Database) -> None:
    """Empty every table and reset the ids; watches stay set."""
    for table in _TABLES:
        db.execute(f"DELETE FROM {table}")
    db.execute("UPDATE watches SET since_ns = 0, reported = 0")


def insert(db: Database, keyframe: Keyframe, view: NoveltyView, where: Maps, vector: np.ndarray, embedder: str) -> None:
    """Write a keyframe with its search data. vector: (DIMENSIONS,) int8, zeros if it has no description."""
    k, g, columns = keyframe, keyframe.geometry, _words(keyframe)
    db.insert("keyframes", [(k.id, where.session, where.root, k.stamp_ns, cell_number(cell_of(view.position)),
                             pack(k.map_from_base), camera(view.position, view.axis), view.thumb, k.caption, k.region,
                             dump_sightings(k.sightings), json.dumps(k.places))])
    db.insert("images", [(k.id, k.jpeg)])
    if g is not None:
        db.insert("geometries", [(k.id, _LENS.pack(*g.intrinsics) + pack(g.base_from_camera), g.depth_png)])
    db.insert("content", [(where.root, item) for item in view.content], "ON CONFLICT DO NOTHING")
    db.insert("words (rowid, kinds, attributes, rooms, caption)", [(k.id, *columns)])
    db.insert("tiers (rowid, words)", [(k.id, " ".join((*_tiers(k.sightings), *columns[1:3])))])
    count_terms(db, columns, 1)
    described = bool(vector.any())
    db.insert("briefs", [(k.id, vector.tobytes() if described else b"", _dump_objects(k.sightings))])
    if k.region:
        x, y, _ = k.map_from_base.xyz
        db.insert("regions", [(where.root, canonical(k.region), 1, x, y)], "ON CONFLICT (root, name) DO UPDATE SET "
                  "views = views + 1, x = x + excluded.x, y = y + excluded.y")
    facts = [("embedder", embedder)] * described + [(VECTORS, "kept")] * any(s.label.vector for s in k.sightings)
    db.insert("facts", facts, "ON CONFLICT DO NOTHING")


def count_terms(db: Database, columns: Iterable[str], by: int) -> None:
    """Change the number of keyframes that contain each word."""
    terms = {term for column in columns for term in column.split()}
    db.insert("terms", [(term, by) for term in sorted(terms)],
              "ON CONFLICT (term) DO UPDATE SET docs = docs + excluded.docs")


def keyframe(db: Database, keyframe_id: int) -> Keyframe:
    """Return an existing keyframe, in the frame of its root."""
    stamp_ns, pose, caption, region, seen, places, jpeg = db.execute(
        "SELECT stamp_ns, map_from_base, caption, region, sightings, places, jpeg FROM keyframes "
        "JOIN images USING (id) WHERE id = ?", (keyframe_id,)).fetchone()
    return Keyframe(keyframe_id, stamp_ns, unpack(pose), jpeg, load_sightings(seen), caption, region,
                    tuple(FloorPixel(*place) for place in json.loads(places)), geometry(db, keyframe_id))


def geometry(db: Database, keyframe_id: int) -> ViewGeometry | None:
    """Return the geometry of a view, None if it was stored without depth."""
    row = db.execute("SELECT camera, depth_png FROM geometries WHERE id = ?", (keyframe_id,)).fetchone()
    if row is None:
        return None
    lens, mount = row[0][:_LENS.size], row[0][_LENS.size:]
    return ViewGeometry(Intrinsics(*_LENS.unpack(lens)), unpack(mount), memoryview(row[1]).tobytes())


def views(db: Database, root: int, cells: Iterable[Cell]) -> dict[Cell, list[NoveltyView]]:
    """Return the views of each cell, oldest first; their content is in the table `content`."""
    numbers = {cell_number(cell): cell for cell in cells}
    found: dict[Cell, list[NoveltyView]] = {cell: [] for cell in numbers.values()}
    for number, pose_bytes, thumb, stamp_ns in db.execute(
            "SELECT cell, camera, thumb, stamp_ns FROM keyframes WHERE root = ? AND cell IN (SELECT value FROM "
            "json_each(?)) ORDER BY id", (root, json.dumps([*numbers]))):
        x = struct.unpack("<6d", pose_bytes)
        found[numbers[number]].append(NoveltyView(x[:3], x[3:], thumb, (), stamp_ns))
    return found


def cell_number(cell: Cell) -> int:
    """Return a cell packed into one integer."""
    x, y, z = (i & 0x1FFFFF for i in cell)
    return x << 42 | y << 21 | z


def known_objects(db: Database, root: int) -> list[ObjectRecord]:
    """Return the objects of a root map, oldest first."""
    found = db.execute("SELECT id, kind, room, attributes, box, times, first_ns, last_ns, missed, gone_ns, colours "
                       "FROM objects WHERE root = ? ORDER BY id", (root,))
    return [ObjectRecord(number, kind, room, json.loads(attributes), *unpack_box(box), times, first, last, missed, gone,
                         json.loads(colours))
            for number, kind, room, attributes, box, times, first, last, missed, gone, colours in found]


def write_look(db: Database, looked: ObjectUpdate, keyframe: Keyframe | None, root: int, last_id: int) -> ObjectUpdate:
    """Write the changes of a look; return them with the ids of new objects. last_id: id of the newest object."""
    associated = []
    for s, known in looked.associated:
        if not known.id and keyframe is not None:  # an object needs an image to show: a new one waits for a keyframe
            last_id += 1
            known = replace(known, id=last_id)
        if known.id:
            associated.append((s, known))
    db.insert("objects", [
        (o.id, root, o.kind, o.room, json.dumps(o.attributes, sort_keys=True), pack_box(o.low, o.high), o.times,
         o.first_ns, o.last_ns, o.missed, o.gone_ns, json.dumps(o.colours))
        for o in (*(o for _, o in associated), *looked.missed)],
        "ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, room = excluded.room, attributes = excluded.attributes, "
        "box = excluded.box, times = excluded.times, first_ns = excluded.first_ns, last_ns = excluded.last_ns, "
        "missed = excluded.missed, gone_ns = excluded.gone_ns, colours = excluded.colours")
    if keyframe is not None:
        db.insert("seen", [(o.id, keyframe.id, s.pixels, json.dumps(s.bbox), json.dumps(s.label.attributes,
                                                                                       sort_keys=True),
                            pack_box(*box_of(s))) for s, o in associated])
    for part, whole in looked.merged.items():
        db.execute("UPDATE OR IGNORE seen SET object = ? WHERE object = ?", (whole, part))
        db.execute("DELETE FROM seen WHERE object = ?", (part,))
        db.execute("DELETE FROM objects WHERE id = ?", (part,))
    return replace(looked, associated=associated)


def objects(db: Database, where: Maps) -> list[MemoryObject]:
    """Return all objects, oldest first, each with the view in which it has most pixels (of equals the newest).

    One of which no view is stored any more has keyframe_id 0.
    """
    outward = where.outward()
    best = db.execute("SELECT object, keyframe, bbox, max(pixels * 1e9 + keyframe) FROM seen GROUP BY object")
    shown = {number: (keyframe_id, tuple(json.loads(bbox))) for number, keyframe_id, bbox, _ in best}
    found = []
    for number, root, kind, room, attributes, box, times, first_ns, last_ns, gone_ns in db.execute(
            "SELECT id, root, kind, room, attributes, box, times, first_ns, last_ns, gone_ns FROM objects ORDER BY id"):
        low, high = unpack_box(box)
        if root == where.root and outward is not None:
            low, high = maps.box(outward, low, high)
        found.append(MemoryObject(number, kind, room, json.loads(attributes), low, high, times, first_ns, last_ns,
                                  gone_ns, *shown.get(number, _NO_VIEW), root == where.root))
    return found


def dump_sightings(seen: Iterable[Sighting]) -> str:
    """Return sightings as JSON; those made by a detector end with true, and with the score if it is below 1."""
    return json.dumps([[*s.label[:4], *s[1:], *_source(s.label)] for s in seen], sort_keys=True)


def _source(label: Label) -> list[bool | float]:
    if label.score < 1.0:
        return [label.detected, label.score]
    return [True] if label.detected else []


def load_sightings(text: str) -> tuple[Sighting, ...]:
    """Return the sightings that `dump_sightings` wrote."""
    return tuple(Sighting(Label(i, kind, room, attributes, *source), pixels, tuple(bbox), tuple(centre), tuple(size))
                 for i, kind, room, attributes, pixels, bbox, centre, size, *source in json.loads(text))


def _dump_objects(seen: Iterable[Sighting]) -> str:
    """Return kind, room, pixels and vector of visible objects as JSON: what ranking needs. An unknown vector is left
    out."""
    return json.dumps([[canonical(s.label.kind), canonical(s.label.room), s.pixels, *filter(None, [s.label.vector])]
                       for s in seen])


def camera(position: Point, axis: Point) -> bytes:
    """Return the camera position and axis of a view as six doubles."""
    return struct.pack("<6d", *position, *axis)


def pack_box(low: Point, high: Point) -> bytes:
    """Return a box as six doubles."""
    return struct.pack("<6d", *low, *high)


def unpack_box(data: bytes) -> tuple[Point, Point]:
    """Return the box that `pack_box` wrote."""
    x = struct.unpack("<6d", data)
    return x[:3], x[3:]


def _words(k: Keyframe) -> tuple[str, str, str, str]:
    labels = [s.label for s in k.sightings]
    attributes = (value for label in labels for _, value in sorted(label.attributes.items()))
    return (" ".join(canonical(label.kind) for label in labels), " ".join(map(canonical, attributes)),
            " ".join(dict.fromkeys(canonical(label.room) for label in labels)), canonical(k.caption))


def _tiers(seen: tuple[Sighting, ...]) -> list[str]:
    """Return tokens of the visible kinds with the level to which they fill the view, such as "lampzz3"."""
    labelled = sum(s.pixels for s in seen)
    return [tier(word, min(TIERS - 1, int(TIERS * (s.pixels / labelled) ** 0.5)))
            for s in seen for word in canonical(s.label.kind).split()]


def tier(word: str, level: int) -> str:
    """Return the token for a word whose object fills a view to this level (0 to TIERS - 1)."""
    return f"{word}zz{level}"
