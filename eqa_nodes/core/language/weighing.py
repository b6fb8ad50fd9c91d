"""Reads measures and comparisons: sizes, distances, what fits, what is more, larger, closer or the same."""

from __future__ import annotations

import re

from eqa_nodes.core.language.clauses import AUXILIARY, COMPARED, SIZES, Clause
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.phrases import is_known, is_place
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.targets import Compared, Target

_ORDINALS = {2: ("one", "other"), 3: ("one", "another", "third")}
_ASPECTS = {"tall": "high", "high": "high", "broad": "wide", "wide": "wide", "long": "long", "deep": "deep",
            "thick": "thick"}
_EXTREMES = ("largest", "smallest", "tallest", "shortest", "widest", "longest")
_OPENINGS = ("door", "front door", "passage", "opening", "doorway", "window", "gap", "entrance", "archway", "hatch")


def measured(clause: Clause) -> Query | None:
    between = clause.between()
    if clause.has("fit") or (clause.has("gap") and clause.metres):
        return _fits(clause) if clause.things or clause.topics or len(clause.rooms) > 1 else None
    if not clause.has("far", "gap"):
        return None
    far = clause.has("far") or any(p.text == "distance between" for p in clause.items)
    form = "apart" if far else "gap"
    pair = between or [t for t in clause.things if t.kind][:2]
    if len(pair) < 2:
        return None
    room = pair[1].room or pair[0].room
    return Query(form, tuple(t if t.room else t._replace(room=room) for t in pair), unit=clause.unit)


def _fits(clause: Clause) -> Query | None:
    if not clause.things and len(clause.rooms) > 1:
        return Query("passes", (Thing("door", clause.rooms[0], other_room=clause.rooms[1]),), metres=clause.metres)
    things = clause.things or [clause.topics[-1]]
    last = things[-1]
    goes = tuple(t for t in things[:-1] if t.kind)[:1]
    between = clause.between()
    if between:
        beside = {canonical(t.kind) for t in between}
        beside |= {"gap", ""}
        before = [t for t in things if canonical(t.kind) not in beside and t.relation != "between"]
        inside = next((t for t in things if t.relation == "between" and t.kind not in ("gap", "")), None)
        first = next((p.thing for p in clause.items[:max(clause.at("fit"), 0)] if p.thing is not None), None)
        before = before or ([first] if first is not None and first.kind and first.relation != "between" else [])
        goes = tuple(before[:1]) or ((inside._replace(relation="", support=None, other_support=None, room=""),)
                                     if inside else ())
        return Query("fits", (*between, *goes), metres=clause.metres)
    at = clause.at("fit")
    if clause.items[at].text.endswith("enough for") or clause.items[at].text == "wide enough":
        last, goes = things[0], tuple(things[1:2])
    if len(clause.rooms) > 1 and last.kind not in _OPENINGS:
        return Query("passes", (Thing("door", clause.rooms[0], other_room=clause.rooms[1]),), metres=clause.metres)
    if last.kind in _OPENINGS and (clause.metres or goes):
        if len(clause.rooms) > 1:
            last = last._replace(room=clause.rooms[0], other_room=clause.rooms[1])
        elif len(clause.rooms) == 1 and last.room and last.room != clause.rooms[0] and not last.other_room:
            last = last._replace(other_room=clause.rooms[0])
        return Query("passes", (last, *goes), metres=clause.metres)
    return Query("passes", (last, *goes), metres=clause.metres) if clause.metres else None


def _places(clause: Clause) -> list[str]:
    """Return the rooms of the clause in its order, of "both bedrooms" one and the other."""
    named = [p.thing.room for p in clause.items if p.thing is not None and p.thing.room not in ("", "house", "room")
             and not p.thing.other_room]
    found: list[str] = []
    for room in named:
        many = re.fullmatch(r"(\d) (.+)", room)
        found += [f"{name} {many[2]}" for name in _ORDINALS.get(int(many[1]), ())] if many else [room]
    return list(dict.fromkeys(found))


def _over_places(clause: Clause) -> Query | None:
    """Read what is asked of a thing in several rooms: together, in both, in either, the same in each."""
    places, things = _places(clause), [t for t in clause.things if t.kind not in ("", "one", "it")]
    kinds = {canonical(t.kind) for t in things}
    if len(places) < 2 or len(kinds) > 1 or clause.has("fit", "far", "gap", "closer", "where") or any(
            t.relation == "between" for t in things):
        return None
    if not things and not clause.has("same", "different"):
        return None
    thing = things[0].plain()._replace(number=0) if things else Thing()
    targets = tuple(thing._replace(room=re.sub(r"^(?:one|other|another|third) ", "", place)) for place in places)
    wheres = tuple(Target(thing._replace(room="", relation=thing.relation).name if thing.kind else "", place)
                   for place in places)
    form, aspect = _asked_of_each(clause, thing)
    if not form:
        return None
    compared = Compared(form, wheres, aspect, clause.has("different"), clause.has("which", "what", "count"))
    if form == "each":
        parts = tuple(Query(aspect, (target,)) for target in targets)
        return Query("several", targets, parts=parts, compared=compared)
    return Query("compare", targets, compared=compared)


def _asked_of_each(clause: Clause, thing: Thing) -> tuple[str, str]:
    """Return the form and the aspect of a question over several places, "" where it is none."""
    looks = [p for p in clause.said(thing) if p.looks and not p.support]
    said = next((p.state or p.colour or p.material for p in looks), "")
    if clause.has("same", "different"):
        attribute = next((tag for tag in clause.tags if tag in ("colour", "material")), "")
        many = any(p.text in ("as many",) or p.value == "number of" for p in clause.items)
        return "same", attribute or ("number" if many else "")
    if clause.has("more", "fewer", *COMPARED) or (clause.has("it") and clause.has("or")):
        return "", ""
    if clause.has("count"):
        return "count", ""
    if (attribute := next((tag for tag in clause.tags if tag in ("colour", "material", "condition")), "")):
        return "each", {"condition": "state"}.get(attribute, attribute)
    if any(tag in AUXILIARY for tag in clause.tags[:1]) and (clause.has("there", "have") or said):
        return ("either" if clause.has("or") else "both"), said
    return "", ""


def compared(clause: Clause) -> Query | None:
    if (over := _over_places(clause)) is not None:
        return over
    if clause.has("more", "fewer"):
        aspect = "more" if clause.has("more") else "fewer"
        if clause.has("big"):
            pair = tuple(Thing(room=room) for room in clause.rooms[:2])
            size = "larger" if aspect == "more" else "smaller"
            return _compared(clause, "size", size, pair) if len(pair) > 1 else None
        pair = _pair(clause) or _states(clause) if clause.has("than", "or") or len(clause.rooms) > 1 else ()
        return _compared(clause, "more", aspect, pair) if pair else None
    if clause.has("most", "fewest") and clause.has("which", "what", "where") and clause.things:
        return Query("most", (clause.things[0],), aspect="most" if clause.has("most") else "fewest")
    if clause.has("closer") and clause.things:
        return _closer(clause)
    if clause.has("same", "different") and not clause.has("what", "where") and (pair := _pair(clause)):
        aspect = next((tag for tag in clause.tags if tag in ("colour", "material", "big")), "colour")
        return _compared(clause, "same", aspect, pair)
    sign = next((p for p in clause.items if p.tag in (*COMPARED, *_EXTREMES)), None)
    if sign is None:
        return None
    pair = _pair(clause)
    if pair:
        return _compared(clause, "size", sign.value, pair)
    room = next((p.thing for p in clause.items if p.thing is not None and is_place(p.thing)), None)
    thing = clause.main() or room  # "which room is the largest"
    if thing is not None and clause.has("which", "what") and not clause.has("than"):
        return Query("which", (thing._replace(size=sign.value, quantifier="", number=0),))
    return None


def _closer(clause: Clause) -> Query | None:
    things = [t for t in clause.things if t.kind]
    base = next((p.thing for i, p in enumerate(clause.items) if i and p.thing is not None
                 and clause.items[i - 1].tag == "closer"), None)
    if base is None:
        base = clause.topics[-1] if clause.topics else things[0]
    others = [t for t in things if t is not base] or [Thing(room=room) for room in clause.rooms]
    if len(others) == 1 and not clause.has("or", "than"):
        return Query("which", (others[0]._replace(size="closer", relation="next to", support=base, number=0),))
    if len(others) < 2:
        return None
    others = [t if t.room else t._replace(room=base.room) for t in others[:2]]
    compared = Compared("closer", tuple(map(target_of, (*others, base))), "closer", which=clause.has("which", "what"))
    return Query("closer", (base, *others), compared=compared)


def _pair(clause: Clause) -> tuple[Thing, ...]:
    """Return the things that are compared: named, or rooms."""
    things = list(dict.fromkeys(t.plain()._replace(number=0) for t in clause.things if t.kind))
    if not all(map(is_known, things)):
        return ()
    if len(things) > 2 and things[0].kind == things[1].kind and not things[0].looks:
        things = things[1:]  # "which bookshelf is taller, the one in A or the one in B?"
    if len(things) == 1 and any(t.number == 2 for t in clause.things) and not clause.topics and len(clause.rooms) < 2:
        return (things[0]._replace(quantifier="one"), things[0]._replace(quantifier="other"))
    if len(things) == 2 and clause.topics and things[0].kind == things[1].kind and things[0] == things[1]:
        things = things[:1]
    if len(things) > 1:
        return tuple(things[:3])
    rooms = list(clause.rooms)
    if len(things) == 1:
        rooms = [*([things[0].room] if things[0].room else []), *rooms]
        if len(rooms) > 1:
            return tuple(things[0]._replace(room=room) for room in rooms)
        if clause.topics and clause.topics[-1] != things[0]:
            return (things[0], clause.topics[-1])
        return ()
    if not things and len(rooms) < 2 and len(clause.topics) > 1:
        return tuple(clause.topics[-2:])
    return tuple(Thing(room=room) for room in rooms) if len(rooms) > 1 else ()


def _states(clause: Clause) -> tuple[Thing, ...]:
    """Return one thing in the two states that are compared: "more windows open than shut"."""
    said = [p.state for p in clause.said() if p.state]
    things = [t for t in clause.things if t.kind]
    if len(things) != 1 or len(said) != 2:
        return ()
    room = things[0].room or next(iter(clause.rooms), "")
    return tuple(things[0].plain()._replace(state=state, room=room) for state in said)


def _compared(clause: Clause, form: str, aspect: str, things: tuple[Thing, ...]) -> Query:
    targets = tuple(map(target_of, things))
    compared = Compared(form, targets, aspect, clause.has("different"),
                        clause.has("which", "what", "who", "where"))
    return Query("compare", things, compared=compared)


def sized(clause: Clause) -> Query | None:
    at = clause.at(*SIZES)
    counted = clause.at("count")
    if at < 0 and clause.tags[counted + 1:counted + 3] == ["unit", "tall"] and counted >= 0:
        at = counted + 2  # "how many centimetres high is ..."
    if at < 0:
        return None
    aspect, area = _ASPECTS.get(clause.items[at].text, clause.tags[at]), clause.items[at].value == "area"
    thing = clause.main(at)
    if (area or not clause.things) and clause.rooms and (area or not clause.topics):
        unit = clause.unit or ("foot" if any("feet" in p.text for p in clause.items) else "")
        return Query("size", (Thing(room=clause.rooms[0]),), aspect="area", unit=unit)
    if thing is None or area:
        return None
    return Query("size", (thing.plain(),), aspect=aspect, unit=clause.unit)


def target_of(thing: Thing) -> Target:
    which = f"{thing.quantifier} " if thing.quantifier in ("one", "other") else ""
    return Target(which + thing._replace(room="").name if thing.kind else "", thing.room)
