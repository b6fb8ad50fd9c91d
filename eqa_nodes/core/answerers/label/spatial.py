"""Spatial rules: on, in, under, above, between, beside, distances and counts."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.core.answerers.label.found import RuleAnswer, both, clearest, listed, surveyed, the_one, yes
from eqa_nodes.core.answerers.label.parse import ParsedQuestion, Ref
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, extent, facing, gap, same_room, to_the_right
from eqa_nodes.core.answerers.label.tables import OFFERS
from eqa_nodes.core.language.english import canonical, join_list, number_word, same, with_article
from eqa_nodes.core.language.naming import kept_in, members
from eqa_nodes.core.language.rooms import is_room

_OPENINGS = frozenset(("door", "front door", "window", "curtain", "curtains", "light switch"))
# Gaps are measured between visible parts, which end a little inside the objects.
_NEXT_TO_M, _BESIDE_M, _AT_TABLE_M, _TO_WALL_M = 0.8, 0.8, 0.75, 0.5


def _base_and(scene: LabelScene, ref: Ref, relation: str) -> tuple[Seen | None, list[Seen]]:
    one = the_one(scene, ref)
    base = one[0] if one else None
    return base, scene.carried(base, ref, relation)


def _carried(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    if is_room(asked.refs[0].kind):
        objects = [t for t in scene.in_room(asked.refs[0].kind) if t.kind not in _OPENINGS]
        found = listed(objects, None)
        return found and found._replace(confidence=found.confidence * scene.coverage(asked.refs[0].kind))
    base, objects = _base_and(scene, asked.refs[0], asked.relation)
    return listed(objects, base)


def _holds(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    """Answer whether something of a sort is on an object: yes when one is seen, no when the object was looked over."""
    wanted = OFFERS[asked.purpose] if asked.form == "offered" else ("plate", "cutlery")
    base, objects = _base_and(scene, asked.refs[0], "on")
    fit = [t for t in objects if canonical(t.kind) in map(canonical, wanted)]
    if fit:
        return RuleAnswer("yes", max(t.clarity for t in fit), tuple(fit))
    return RuleAnswer("no", base.clarity * surveyed(base), (base,), 0.75 * base.clarity) if base else None


def _coloured(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    _, objects = _base_and(scene, asked.refs[1], asked.relation)
    fit = [t for t in objects if canonical(t.attributes.get("colour", "")) == canonical(asked.refs[0].colour)]
    return clearest(fit)


def _above(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    one = the_one(scene, asked.refs[0])
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


def _on_wall(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    return clearest(_on_walls(scene, asked.room))


def _between(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    found = both(scene, asked.refs)
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


def _beside(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    one = the_one(scene, asked.refs[0])
    if one is None:
        return None
    base, ahead = one[0], facing(one[0])
    across, sign = (ahead[1], -ahead[0]), 1 if asked.options[0] == "right" else -1
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


def _near(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    one = the_one(scene, asked.refs[0])
    others = [t for t in scene.furniture(one[0].room) if t.instance != one[0].instance] if one else []
    if one is None or not others:
        return None
    best = min(others, key=lambda t: (gap(one[0], t), t.instance))
    return RuleAnswer(with_article(best.kind), min(one[1], best.clarity) * 0.8, (best, one[0]))


def _side(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    found = both(scene, asked.refs)
    if found is None:
        return None
    (obj, base), sure = found
    return RuleAnswer(f"to the {'right' if to_the_right(base, obj)[0] > 0 else 'left'}", sure, (obj, base))


def _next_to(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    found = both(scene, asked.refs)
    if found is None:
        return None
    (a, b), sure = found
    return RuleAnswer(yes(gap(a, b) < _NEXT_TO_M and same_room(a.room, b.room)), sure, (a, b))


def _closer(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    three = both(scene, asked.refs)
    if three is None:
        return None
    (base, a, b), sure = three
    nearer = min((a, b), key=lambda t: gap(base, t))
    return RuleAnswer(f"the {nearer.kind}", sure, (nearer, base, b if nearer is a else a))


def _count(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    found = scene.find(asked.refs[0]._replace(room=asked.room))
    if not found:  # nothing proves a zero, and who asks how many expects some
        return None
    seen = scene.coverage(asked.room) if asked.room else 0.5
    return RuleAnswer(str(len(found)), 0.95 * seen, tuple(found), 0.75 * min(t.clarity for t in found))


def _count_at(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    base, objects = _base_and(scene, asked.refs[1], asked.relation)
    counted = [t for t in objects if canonical(t.kind).endswith(canonical(asked.refs[0].kind))]
    found = listed(counted, base)
    return found and found._replace(text=str(len(counted)))


def _chairs_at(scene: LabelScene, table: Seen) -> list[Seen]:
    return [t for t in scene.in_room(table.room) if t.kind.endswith("chair") and t.kind != "armchair"
            and gap(t, table) < _AT_TABLE_M]


def _seats(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    one = the_one(scene, asked.refs[0])
    chairs = _chairs_at(scene, one[0]) if one else []
    if one is None or not chairs:
        return None
    sure = 0.9 * surveyed(one[0]) if len(one[0].views) > 2 else 0.6
    return RuleAnswer(str(len(chairs)), sure, (one[0], *chairs), 0.75 * one[1])


def _enough(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    found = _count(scene, asked)
    if found is None:
        return None
    enough = int(found.text) >= asked.number
    return found._replace(text=yes(enough), confidence=0.9 if enough else found.confidence)


def _more(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    found = _count(scene, asked)
    return found and found._replace(text=str(max(0, asked.number - int(found.text))))


def _exists(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    ref = asked.refs[0]
    one = the_one(scene, ref)
    there, not_there = ("no", "yes") if asked.denied else ("yes", "no")
    if one is None and is_room(ref.kind) and not asked.room:  # rooms are no objects: what stands in one shows it
        best = max(scene.in_room(ref.kind), key=lambda t: (t.clarity, -t.instance), default=None)
        return best and RuleAnswer(there, best.clarity, (best,))
    if one is not None:
        proof = f": {with_article(one[0].kind)}{_in_the(one[0])}" if members(ref.kind) else ""
        return RuleAnswer(there + proof, one[0].clarity, (one[0],))
    if holders := held(scene, ref):
        return _left_in(holders, there, not_there)
    seen = scene.coverage(asked.room) if asked.room else 0.0
    return RuleAnswer(not_there, 0.9 * seen, tuple(scene.in_room(asked.room)[:1])) if seen > 0.8 else None


def held(scene: LabelScene, ref: Ref) -> list[Seen]:
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


def _anything(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    found = _carried(scene, asked)
    if found is not None:
        return found._replace(text=f"yes: {found.text}", confidence=max(t.clarity for t in found.objects))
    one = None if is_room(asked.refs[0].kind) else the_one(scene, asked.refs[0])
    return RuleAnswer("no", one[1] * surveyed(one[0]), (one[0],), 0.75 * one[1]) if one else None


def _list(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    """Return the objects of a sort, by kinds, in a room or in all that was seen."""
    found = scene.find(asked.refs[0])
    seen = scene.coverage(asked.room) if asked.room else 0.5
    found_list = listed(found, None)
    return found_list and found_list._replace(confidence=seen * min(t.clarity for t in found))


def _at(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    """Answer whether an object is on, in or under another one or in a room; where it is, if not."""
    ref = asked.refs[0]
    there, anywhere = scene.find(ref), scene.find(ref._replace(room="", support="", relation=""))
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


def _rooms(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    """Return how many rooms of a sort were seen, or which; nothing proves that there are no more."""
    sort = asked.refs[0].kind
    rooms = scene.rooms(sort) if sort != "room" else sorted({t.room for t in scene.objects if t.room})
    objects = tuple(next(t for t in scene.objects if t.room == room) for room in rooms)
    if not rooms:
        return None
    text = str(len(rooms)) if asked.text.startswith("how many") else join_list([f"the {room}" for room in rooms])
    return RuleAnswer(text, 0.5, objects[:3])


def _side_is(scene: LabelScene, asked: ParsedQuestion) -> RuleAnswer | None:
    found = _side(scene, asked)
    return found and found._replace(text=yes(found.text.endswith(asked.options[0])))


SPATIAL: dict[str, Callable[[LabelScene, ParsedQuestion], RuleAnswer | None]] = {
    "carried": _carried, "offered": _holds, "set": _holds, "coloured": _coloured, "above": _above, "on_wall": _on_wall,
    "between": _between, "beside": _beside, "near": _near, "side?": _side, "next?": _next_to, "closer": _closer,
    "count": _count, "count_at": _count_at, "seats": _seats, "enough": _enough, "more": _more, "exists": _exists,
    "anything": _anything, "list": _list, "at": _at, "rooms": _rooms, "side1": _side_is,
}
