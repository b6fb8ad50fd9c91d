"""Spatial rules: on, in, under, above, between, beside, distances and counts."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.core.answerers.label.found import RuleAnswer, both, clearest, listed, surveyed, the_one, yes
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, extent, facing, gap, same_room, to_the_right
from eqa_nodes.core.language.english import canonical, join_list, number_word, same, with_article
from eqa_nodes.core.language.naming import kept_in, members
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.rooms import is_room

_OPENINGS = frozenset(("door", "front door", "window", "curtain", "curtains", "light switch"))
# Gaps are measured between visible parts, which end a little inside the objects.
_NEXT_TO_M, _BESIDE_M, _AT_TABLE_M, _TO_WALL_M = 0.8, 0.8, 0.75, 0.5


def _base_and(scene: LabelScene, ref: Thing, relation: str) -> tuple[Seen | None, list[Seen]]:
    one = the_one(scene, ref)
    base = one[0] if one else None
    return base, scene.carried(base, ref, relation)


def _listed(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return what fits, by kinds: of a sort, in a room, or what is on, above, beside or between others."""
    thing = asked.things[0]
    if thing.support is not None and not thing.kind and not thing.kinds:
        if thing.support.kind == "wall":
            return clearest(_on_walls(scene, thing.room))
        return _PLACED.get(thing.relation, _carried)(scene, asked)
    if not thing.kind and not thing.kinds:
        objects = [t for t in scene.in_room(thing.room) if t.kind not in _OPENINGS]
        found = listed(objects, None)
        return found and found._replace(confidence=found.confidence * scene.coverage(thing.room))
    objects = scene.find(thing)
    seen = scene.coverage(thing.room) if thing.room else 0.5
    found = listed(objects, None)
    return found and found._replace(confidence=seen * min(t.clarity for t in objects))


def _carried(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    thing = asked.things[0]
    base, objects = _base_and(scene, _support(thing), thing.relation)
    if thing.colour:
        return clearest([t for t in objects if canonical(t.attributes.get("colour", "")) == canonical(thing.colour)])
    return listed(objects, base)


def _support(thing: Thing) -> Thing:
    return thing.support or Thing()


def _holds(scene: LabelScene, thing: Thing) -> RuleAnswer | None:
    """Answer whether something of a sort is on an object: yes when one is seen, no when the object was looked over."""
    base, objects = _base_and(scene, _support(thing), thing.relation)
    fit = [t for t in objects if not thing.kinds or canonical(t.kind) in map(canonical, thing.kinds)]
    if fit:
        found = listed(fit, base) if not thing.kinds else None
        return RuleAnswer(f"yes: {found.text}" if found else "yes", max(t.clarity for t in fit), tuple(fit))
    return RuleAnswer("no", base.clarity * surveyed(base), (base,), 0.75 * base.clarity) if base else None


def _above(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    one = the_one(scene, _support(asked.things[0]))
    if one is None:
        return None
    base = one[0]
    hung = [t for t in _on_walls(scene, base.room) if _hangs_over(t, base)]
    named = [t for t in hung if same(t.attributes.get("support", ""), base.kind)]
    found = clearest(named or hung)
    return found and found._replace(objects=(*found.objects, base))


def _hangs_over(obj: Seen, base: Seen) -> bool:
    # of deep furniture only the front is seen, so that the wall behind it begins some way off
    return gap(obj, base) < _TO_WALL_M and obj.low[2] > base.low[2] + 0.7 * (base.high[2] - base.low[2])


def _on_walls(scene: LabelScene, room: str) -> list[Seen]:
    return [t for t in scene.in_room(room) if t.attributes.get("relation") == "wall" and t.kind not in _OPENINGS]


def _between(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    thing = asked.things[0]
    found = both(scene, [one for one in (thing.support, thing.other_support) if one is not None])
    if found is None:
        return None
    (a, b), sure = found

    def off_line(t: Seen) -> float:
        (ax, ay), (bx, by), (x, y) = a.middle, b.middle, t.middle
        length = max(((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5, 1e-6)
        along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length ** 2
        return abs((x - ax) * (by - ay) - (y - ay) * (bx - ax)) / length if 0.2 < along < 0.8 else 9.0

    inner = [t for t in scene.furniture(a.room) if t.instance not in (a.instance, b.instance) and off_line(t) < 0.6]
    if not inner:
        return None
    best = min(inner, key=lambda t: (off_line(t), t.instance))
    return RuleAnswer(with_article(best.kind), min(sure, best.clarity), (best, a, b))


def _beside(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    one = the_one(scene, _support(asked.things[0]))
    if one is None:
        return None
    base, ahead = one[0], facing(one[0])
    across, sign = (ahead[1], -ahead[0]), 1 if asked.things[0].relation == "right of" else -1
    fit = []
    for other in scene.furniture(base.room):
        right, behind = to_the_right(base, other)
        level = abs(behind) < (extent(base, ahead) + extent(other, ahead)) / 2 + 0.1
        outside = sign * right > extent(base, across) / 2
        if other.instance != base.instance and level and outside and gap(base, other) < _BESIDE_M:
            fit.append(other)
    if not fit:
        return None
    best = min(fit, key=lambda t: (gap(base, t), t.instance))
    return RuleAnswer(with_article(best.kind), min(one[1], best.clarity), (best, base))


def _near(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    one = the_one(scene, _support(asked.things[0]))
    others = [t for t in scene.furniture(one[0].room) if t.instance != one[0].instance] if one else []
    if one is None or not others:
        return None
    best = min(others, key=lambda t: (gap(one[0], t), t.instance))
    return RuleAnswer(with_article(best.kind), min(one[1], best.clarity) * 0.8, (best, one[0]))


def _side(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    found = both(scene, asked.things)
    if found is None:
        return None
    (obj, base), sure = found
    side = "right" if to_the_right(base, obj)[0] > 0 else "left"
    return RuleAnswer(yes(side == asked.aspect) if asked.aspect else f"to the {side}", sure, (obj, base))


def _next_to(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    found = both(scene, (asked.things[0], _support(asked.predicates[0])))
    if found is None:
        return None
    (a, b), sure = found
    return RuleAnswer(yes(gap(a, b) < _NEXT_TO_M and same_room(a.room, b.room)), sure, (a, b))


def _closer(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    three = both(scene, asked.things)
    if three is None:
        return None
    (base, a, b), sure = three
    nearer = min((a, b), key=lambda t: gap(base, t))
    return RuleAnswer(f"the {nearer.kind}", sure, (nearer, base, b if nearer is a else a))


def count(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return how many there are of a sort, in a room, in or on something, or in all that was seen."""
    thing = asked.things[0]
    if thing.support is not None:
        base, objects = _base_and(scene, thing.support, thing.relation)
        counted = [t for t in objects if canonical(t.kind).endswith(canonical(thing.kind))]
        on_it = listed(counted, base)
        return on_it and on_it._replace(text=str(len(counted)))
    found = scene.find(thing)
    if not found:  # nothing proves a zero, and who asks how many expects some
        return None
    seen = scene.coverage(thing.room) if thing.room else 0.5
    return RuleAnswer(str(len(found)), 0.95 * seen, tuple(found), 0.75 * min(t.clarity for t in found))


def _chairs_at(scene: LabelScene, table: Seen) -> list[Seen]:
    return [t for t in scene.in_room(table.room) if t.kind.endswith("chair") and t.kind != "armchair"
            and gap(t, table) < _AT_TABLE_M]


def _seats(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    one = the_one(scene, asked.things[0])
    chairs = _chairs_at(scene, one[0]) if one else []
    if one is None or not chairs:
        return None
    sure = 0.9 * surveyed(one[0]) if len(one[0].views) > 2 else 0.6
    return RuleAnswer(str(len(chairs)), sure, (one[0], *chairs), 0.75 * one[1])


def _enough(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    found = count(scene, asked)
    if found is None:
        return None
    enough = int(found.text) >= asked.number
    return found._replace(text=yes(enough), confidence=0.9 if enough else found.confidence)


def _more(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    found = count(scene, asked)
    return found and found._replace(text=str(max(0, asked.number - int(found.text))))


def _exists(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    ref = asked.things[0]
    if ref.support is not None and not ref.kind:
        return _holds(scene, ref)
    if not ref.kind and not ref.kinds:
        return _anything(scene, ref)
    one = the_one(scene, ref)
    there, not_there = ("no", "yes") if asked.denied else ("yes", "no")
    if one is None and is_room(ref.kind) and not ref.room:  # rooms are no objects: what stands in one shows it
        best = max(scene.in_room(ref.kind), key=lambda t: (t.clarity, -t.instance), default=None)
        return best and RuleAnswer(there, best.clarity, (best,))
    if one is not None:
        proof = f": {with_article(one[0].kind)}{_in_the(one[0])}" if members(ref.kind) else ""
        return RuleAnswer(there + proof, one[0].clarity, (one[0],))
    if holders := held(scene, ref):
        return _left_in(holders, there, not_there)
    seen = scene.coverage(ref.room) if ref.room else 0.0
    return RuleAnswer(not_there, 0.9 * seen, tuple(scene.in_room(ref.room)[:1])) if seen > 0.8 else None


def held(scene: LabelScene, ref: Thing) -> list[Seen]:
    """Return the objects in which what is named is kept: for fruit the fruit bowls."""
    return [t for kind in kept_in(ref.kind) for t in scene.find(ref._replace(kind=kind))]


def _left_in(holders: list[Seen], there: str, not_there: str) -> RuleAnswer:
    """Answer whether there is any of what is kept in something, by whether that is empty."""
    best = max(holders, key=lambda t: (t.attributes.get("state") != "empty", t.clarity, -t.instance))
    state = best.attributes.get("state", "")
    if state != "empty":
        said = f"{there}: the {best.kind}{_in_the(best)}{' is full' if state == 'full' else ''}"
        return RuleAnswer(said, best.clarity * (1.0 if state else 0.8), (best,))
    others = len(holders) - 1
    rest = (f", and so {'is' if others == 1 else 'are'} {number_word(others)} other{'' if others == 1 else 's'}"
            if others else "")
    return RuleAnswer(f"{not_there}: the {best.kind}{_in_the(best)} is empty{rest}", 0.8 * best.clarity, (best,))


def _in_the(obj: Seen) -> str:
    return f" in the {obj.room}" if obj.room else ""


def _anything(scene: LabelScene, thing: Thing) -> RuleAnswer | None:
    found = listed([t for t in scene.in_room(thing.room) if t.kind not in _OPENINGS], None)
    return found and found._replace(text=f"yes: {found.text}", confidence=max(t.clarity for t in found.objects))


def is_at(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Answer whether an object is on, in, under or next to another one or in a room; where it is, if not."""
    if asked.predicates[0].relation == "next to":
        return _next_to(scene, asked)
    at = asked.predicates[0]
    ref, anywhere = asked.things[0]._replace(room=at.room, relation=at.relation, support=at.support), scene.find(
        asked.things[0])
    there = scene.find(ref)
    there = [t for t in there if not ref.support or ref.relation in ("next to", "at", "above") or (
        t.attributes.get("relation") == ref.relation)]
    if there:
        return RuleAnswer("yes", max(t.clarity for t in there), tuple(there)[:3])
    if not anywhere or not (ref.support or ref.room):
        return None
    best = max(anywhere, key=lambda t: (t.clarity, -t.instance))
    support, relation = best.attributes.get("support", ""), best.attributes.get("relation", "")
    where = f" {relation} the {support}" if support and relation in ("on", "in", "under") else ""
    sure = best.clarity * (1.0 if len(anywhere) == 1 else 0.6)
    return RuleAnswer(f"no, the {best.kind} is{where}{_in_the(best)}", sure, (best,))


def _rooms(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return how many rooms of a sort were seen, or which; nothing proves that there are no more."""
    sort = asked.things[0].kind
    rooms = scene.rooms(sort) if sort != "room" else sorted({t.room for t in scene.objects if t.room})
    objects = tuple(next(t for t in scene.objects if t.room == room) for room in rooms)
    if not rooms:
        return None
    text = str(len(rooms)) if asked.aspect == "count" else join_list([f"the {room}" for room in rooms])
    return RuleAnswer(text, 0.5, objects[:3])


_PLACED: dict[str, Callable[[LabelScene, Query], RuleAnswer | None]] = {
    "above": _above, "between": _between, "left of": _beside, "right of": _beside, "next to": _near}
SPATIAL: dict[str, Callable[[LabelScene, Query], RuleAnswer | None]] = {
    "list": _listed, "side": _side, "closer": _closer, "seats": _seats, "enough": _enough, "more": _more,
    "exists": _exists, "rooms": _rooms,
}
