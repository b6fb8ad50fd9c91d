"""What a remembered view no longer proves: objects that a later patrol found gone, states that have changed since, and
people whom an earlier patrol saw: they are elsewhere by now.

A view of the same patrol as the look that says otherwise stays as it is: which of the two is right is for the answerer
to judge.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace

from eqa_nodes.core.language.english import COLOURS, canonical
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.ledger import PEOPLE, state_now
from eqa_nodes.core.types.views import Keyframe, Sighting

_STATE = "state"
_GOOD = 0.5  # share of the pixels of an object's best view from which another one is good


class PresentState:
    """What is known at present, for one query.

    until_ns: later looks are not trusted; people_ns: stamp before which views prove nothing about people.
    """

    def __init__(self, db: Database, until_ns: int, people_ns: int = 0) -> None:
        self._db, self._until_ns, self.people_ns = db, until_ns, people_ns
        self._known: dict[int, tuple[int, int, str]] = {}

    def as_known(self, keyframe: Keyframe) -> Keyframe:
        """Return a view without objects that are gone since, states that have changed, and people of another time."""
        seen = {tuple(json.loads(bbox)): number for number, bbox in self._db.execute(
            "SELECT object, bbox FROM seen WHERE keyframe = ?", (keyframe.id,))}
        kept = [self._as_known(s, seen.get(s.bbox, 0), keyframe.stamp_ns) for s in keyframe.sightings]
        if all(a is b for a, b in zip(kept, keyframe.sightings, strict=True)):
            return keyframe
        return replace(keyframe, sightings=tuple(s for s in kept if s is not None))

    def named(self, root: int, words: Collection[str]) -> list[int]:
        """Return the objects of a map that canonical words name, the one seen last first: their kind, and their colour
        if the words have one.
        """
        wanted, colours = frozenset(words), frozenset(COLOURS).intersection(words)
        found = []
        for number, kind, attributes, last_ns in self._db.execute(
                "SELECT id, kind, attributes, last_ns FROM objects WHERE root = ? AND last_ns <= ?",
                (root, self._until_ns)):
            colour = canonical(json.loads(attributes).get("colour", ""))
            if frozenset(canonical(kind).split()) <= wanted and (not colours or not colour or colour in colours):
                found.append((-last_ns, number))
        return [number for _, number in sorted(found)]

    def newest_view(self, number: int) -> int:
        """Return the newest good view of an object as it is now, or of its empty place; 0 if there is none."""
        gone_ns, root = self._db.execute("SELECT gone_ns, root FROM objects WHERE id = ?", (number,)).fetchone()
        if 0 < gone_ns <= self._until_ns:
            return int(self._db.value("SELECT max(id) FROM keyframes WHERE root = ? AND stamp_ns = ?",
                                      (root, gone_ns)) or 0)
        views = [(view, pixels) for view, pixels, stamp_ns, attributes in self._views(number)
                 if not self._is_outdated(number, stamp_ns, attributes)]
        most = max((pixels for _, pixels in views), default=0)
        return max((view for view, pixels in views if pixels >= _GOOD * most), default=0)

    def outdated(self, objects: Iterable[int]) -> set[int]:
        """Return the views in which each of these objects is gone since, or has changed."""
        found: dict[int, bool] = {}
        for number in objects:
            for view, _, stamp_ns, attributes in self._views(number):
                found[view] = found.get(view, True) and self._is_outdated(number, stamp_ns, attributes)
        return {view for view, outdated in found.items() if outdated}

    def _views(self, number: int) -> list[tuple[int, int, int, str]]:
        return self._db.execute("SELECT keyframe, pixels, stamp_ns, attributes FROM seen JOIN keyframes "
                                "ON keyframes.id = keyframe WHERE object = ? AND stamp_ns <= ?",
                                (number, self._until_ns)).fetchall()

    def _is_outdated(self, number: int, stamp_ns: int, attributes: str) -> bool:
        return self._is_gone(number, stamp_ns) or self._has_changed(number, stamp_ns,
                                                                   json.loads(attributes).get(_STATE, ""))

    def _as_known(self, s: Sighting, number: int, stamp_ns: int) -> Sighting | None:
        if stamp_ns < self.people_ns and canonical(s.label.kind) in PEOPLE:
            return None
        if not number:
            return s
        if self._is_gone(number, stamp_ns):
            return None
        if not self._has_changed(number, stamp_ns, s.label.attributes.get(_STATE, "")):
            return s
        attributes = {name: value for name, value in s.label.attributes.items() if name != _STATE}
        return s._replace(label=s.label._replace(attributes=attributes))

    def _is_gone(self, number: int, stamp_ns: int) -> bool:
        return stamp_ns < self._of(number)[0]

    def _has_changed(self, number: int, stamp_ns: int, state: str) -> bool:
        _, since_ns, now = self._of(number)
        return bool(state) and stamp_ns < since_ns and state != now

    def _of(self, number: int) -> tuple[int, int, str]:
        """Return the beginnings of the patrol that found an object gone, and of the one that saw it last; its state."""
        if number not in self._known:
            self._known[number] = state_now(self._db, number, self._until_ns)
        return self._known[number]
