"""Reads what a clause asks of its things: where they are, how many, what they are like, which, what, and whether."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.core.language.clauses import ATTRIBUTES, AUXILIARY, COMPARED, LISTING, Clause
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.phrases import PLACING, is_known, is_place
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.states import opposite, states_of_kind
from eqa_nodes.core.language.targets import Compared
from eqa_nodes.core.language.uses import OFFERS
from eqa_nodes.core.language.weighing import compared, measured, sized, target_of

_FOR_EACH = ("where", "room", "colour", "material", "state", "size")


def query_of_clause(clause: Clause) -> Query | None:
    """Return what is asked, None where that is not clear."""
    if not clause.items or clause.tags[0] == "turn":
        return None
    if clause.has("which") and sum(t.quantifier == "no" for t in clause.things) > 1:
        return None  # "which room has no rug and no bed" asks for two things at once
    if clause.has("when", "why", "who") and not clause.has("which", *COMPARED):
        return None
    if any(tag in ("what", "which") and after == "unknown" for tag, after in
           zip(clause.tags, clause.tags[1:], strict=False)):
        return None  # "what price is ..."
    readers: tuple[Callable[[Clause], Query | None], ...] = (
        measured, compared, sized, _count, _attribute, _used, _rooms,
        _where, _side, _among, _choice, _upon, _which, _what, _whether)
    for reader in readers:
        if (found := reader(clause)) is not None:
            things = tuple(map(_tidied, found.things))
            if found.form in ("exists", "list", "where", "count", "which"):
                things = tuple(map(_offered, things))
            return _each(clause, found._replace(things=things))
    return None


def asked_again(clause: Clause, query: Query, short: bool = False) -> Query | None:
    """Return the question before this one for what this one names: "and what about the one in the kitchen?".

    short: "the one in the kitchen" is enough, without "what about".
    """
    texts = [p.text for p in clause.items if p.tag not in ("and", ",")]
    led = texts[1:2] == ["about"] and texts[0] in ("what", "how")
    bare = short and all(p.thing is not None or p.tag in PLACING for p in clause.items)
    if not (led or bare) or not (clause.things or clause.rooms) or not query.things:
        return None
    before = query.things[0]
    thing = clause.things[0] if clause.things else before._replace(room=clause.rooms[0])
    if thing.kind == "one" and thing.quantifier == "other":
        other = before.other()
        return other and query._replace(things=(other, *query.things[1:]))
    if thing.kind in ("one", before.kind):
        thing = before.told(thing)
    return query._replace(things=(thing, *query.things[1:]))


def which_one(clause: Clause, told: Query | None) -> Query | None:
    """Return what a bare "which?" or "what is it?" asks after what was told: "one of the lamps is on: which?"."""
    if told is None or told.denied:
        return None
    if told.form == "exists" and not told.things[0].kind and clause.tags == ["what", "be", "it"]:
        return Query("list", told.things)
    if clause.tags != ["which"]:
        return None
    if told.form == "is":
        return Query("which", (told.things[0]._replace(number=0, quantifier="").told(told.predicates[0]),))
    return told if told.form == "rooms" else None


def _each(clause: Clause, query: Query) -> Query:
    """Return one question for each thing of a list: "where are my hat and my shoes"."""
    if query.form not in _FOR_EACH or not ("and" in clause.tags or (len(clause.group) > 1 and clause.has("it"))):
        return query
    named = [t for t in clause.things if is_known(t)] or list(clause.group)
    if len(named) < 2 or query.things[0].kind not in [t.kind for t in named]:
        return query
    rooms = clause.rooms[0] if len(clause.rooms) == 1 else ""
    parts = tuple(query._replace(things=(_tidied(t._replace(room=t.room or rooms, quantifier="", number=0)),))
                  for t in named[:4])
    compared = Compared("each", tuple(target_of(part.things[0]) for part in parts), query.form)
    return Query("several", tuple(part.things[0] for part in parts), parts=parts, compared=compared)


def _count(clause: Clause) -> Query | None:
    at = clause.at("count")
    if at < 0:
        return None
    rooms = [p for p in clause.items if p.thing is not None and is_place(p.thing) and p.thing.room != "house"]
    if not clause.things and rooms and rooms[0].text.endswith("s"):
        return Query("rooms", (Thing(rooms[0].thing.room),), aspect="count")  # type: ignore[union-attr]
    if clause.things and rooms and rooms[0].text.endswith("rooms") and clause.items.index(rooms[0]) == at + 1:
        query = _rooms(clause)
        return query and query._replace(aspect="count")
    asked = next((p.thing for p in clause.items[at + 1:at + 2]), None)
    bare = asked is not None and not asked.kind and not asked.use and asked.support is not None
    thing = asked if bare else clause.main(at)  # "how many things are on the table"
    if thing is None or clause.tags[at + 1:at + 2] in (["unknown"], ["unit"], ["is_material"]):
        return None
    if not (thing.kind or thing.use or thing.looks or clause.said(thing)):
        return None
    thing = clause.with_predicate(thing)
    lacking = [t for t in clause.things if t.quantifier == "no" and t.kind != thing.kind]
    if lacking and clause.has("have"):  # "how many windows have no curtains?"
        lacked = lacking[0].plain()._replace(relation="", support=None)
        thing = thing._replace(unlike=Thing(relation="with", support=lacked))
    if clause.has("forget") and thing.state:
        thing = thing._replace(state=opposite(thing.state))
    return Query("count", (thing.plain(),))


def _attribute(clause: Clause) -> Query | None:
    asks = ("which", "what", "where", "colour", "material", "text")
    ordered = clause.tags[:1] == ["condition"] and clause.has(*asks)  # "please state which ..."
    told = [i for i, tag in enumerate(clause.tags) if tag in ATTRIBUTES and not (ordered and i == 0)]
    at = next((i for i in told if clause.tags[i] != "text"), next(iter(told), -1))  # "can you say me which colour"
    if at < 0:
        return None
    tag = clause.tags[at]
    if tag == "text" and (clause.has("use") or not (clause.has("what", "which") or clause.tags.count("text") > 1
                                                  or " is " in f" {clause.items[at].text} "
                                                  or clause.items[at].text.startswith(("what", "which")))):
        return None
    thing = clause.main(at)
    if clause.items[at].text == "made" and (not clause.has("what", "which") or (thing and states_of_kind(thing.kind))):
        return None  # "which bed is made"
    if thing is None or (tag in ("colour", "material") and clause.has("or") and len(_options(clause, thing)) > 1):
        return None
    if clause.tags[0] in ("be",) and tag == "colour" and clause.said(thing):
        return None
    thing = clause.with_predicate(thing) if clause.at("state") > -1 or clause.has("not") else thing
    return Query({"condition": "state"}.get(tag, tag), (thing.plain(),))


def _rooms(clause: Clause) -> Query | None:
    """Read "which room is the lamp in", "which rooms have no window", "every room with a mirror"."""
    described = next((t for t in clause.things if not t.kind and t.room.endswith("room") and not t.use), None)
    if described is not None and (described.relation == "with" or (described.unlike and described.unlike.support)):
        return _rooms_with(clause, described)
    at = next((i for i, p in enumerate(clause.items) if p.thing is not None and is_place(p.thing)
               and _asks_room(clause, i)), None)
    if at is None:
        return None
    phrase = clause.items[at]
    named = phrase.thing.room if phrase.thing else ""
    named = "" if named in ("room", "house") else named
    thing = clause.main(at + 1)
    if thing is None:
        return Query("rooms", (Thing(named or "room"),))
    thing = clause.with_predicate(thing._replace(room="" if thing.room in (named, "room") else thing.room))
    if clause.has("not") and not clause.has("have") and thing.unlike is not None and thing.unlike.state:
        thing = thing._replace(state=opposite(thing.unlike.state), unlike=None)
        return Query("rooms", (thing.plain()._replace(room=named),))
    negated = clause.has("not", "without") or thing.quantifier == "no"
    fixed = any(p.fixed and p.thing is not None and not is_place(p.thing) for p in clause.items) or not clause.things
    if negated:
        state = thing.unlike.state if thing.unlike is not None else ""  # "which room does not have a light on"
        thing = thing._replace(quantifier="no", unlike=None, state=thing.state or state)
    elif not phrase.text.endswith("s") and fixed:
        return Query("room", (thing.plain()._replace(room=thing.room or named),))
    thing = thing._replace(quantifier="no" if negated else "", number=0)
    return Query("rooms", (thing._replace(room=named),))


def _rooms_with(clause: Clause, described: Thing) -> Query | None:
    """Read "every room with a mirror", "the rooms without a window"."""
    without = described.unlike.support if described.unlike is not None else None
    thing = without or described.support
    if thing is None:
        return None
    room = "" if described.room == "room" else described.room
    return Query("rooms", (thing._replace(room=room, quantifier="no" if without else "", number=0),))


def _asks_room(clause: Clause, at: int) -> bool:
    words = clause.items[at].text.split()
    before = [tag for tag in clause.tags[:at] if tag not in ("from", "the")][-1:]  # "which (one of the) bathrooms"
    asked = before[0] in ("which", "what", "all", "who", "count") if before else False
    general = words[-1].rstrip("s") in ("room", "bedroom", "bathroom", "part", "place")
    named = clause.items[at].thing is not None and clause.items[at].thing.room != "house"  # type: ignore[union-attr]
    return general and named and (asked or words[0] in ("every", "each", "all") or (
        words[-1].endswith("s") and clause.has("tell", "without")) or (len(clause.items) == 1 and bool(clause.topics)))


def _used(clause: Clause) -> Query | None:
    """Read "what can i use to ...", "where can i ...", "where can i find something to ..."."""
    thing = next((t for t in clause.things if t.use), None)
    if thing is None or not clause.has("what", "where") or clause.has("colour", "material", "count"):
        return None
    at = clause.at("what", "where")
    direct = at + 1 < len(clause.items) and clause.items[at + 1].thing is thing
    if clause.items[at].tag == "where":
        aspect = "place" if direct and "find" not in thing.name else "where"
    elif direct:
        aspect = "tool"
    else:
        return None
    if len(clause.rooms) == 1 and not thing.room:
        thing = thing._replace(room=clause.rooms[0])
    return Query("use", (thing._replace(quantifier=""),), aspect=aspect)


def _where(clause: Clause) -> Query | None:
    at = clause.at("where")
    thing = clause.main(max(at, 0))
    if thing is None or at < 0:
        return None
    return Query("where", (clause.with_predicate(thing).plain(),))


def _side(clause: Clause) -> Query | None:
    """Read "is the plant to the left or to the right of the shelf" and "is it to the left of the shelf"."""
    found = [p.tag for p in clause.items if p.tag in ("left_of", "right_of")]
    sides = [t.relation for t in clause.things if t.relation in ("left of", "right of")]
    words = {p.text for p in clause.items}
    if clause.has("what", "where", "which") or not (found or sides):
        return None
    thing = clause.main()
    other = next((t.support for t in clause.things if t.relation in ("left of", "right of")), None) or next(
        (t for t in clause.things if thing is not None and t.kind != thing.kind), None)
    if thing is None or other is None:
        return None
    one = thing._replace(relation="", support=None)
    room = one.room or other.room
    both = len(found) + len(sides) > 1 or "left" in words or clause.has("or")
    aspect = "" if both else (found[0] if found else sides[0]).split()[0].split("_")[0]
    return Query("side", (one._replace(room=room), other._replace(room=room)), aspect=aspect)


def _upon(clause: Clause) -> Query | None:
    """Read "what is the iron (lying) on", which asks where it is."""
    last = [p.tag for p in clause.items if p.tag != "," and not p.text.endswith("top")][-1:]
    ends = clause.has("what", "which") and last and last[0] in ("on", "in", "under", "above")
    if not ends and not any(tag in PLACING and after in ("what", "which")
                            for tag, after in zip(clause.tags, clause.tags[1:], strict=False)):
        return None
    asked = [p.thing for tag, p in zip(clause.tags, clause.items[1:], strict=False) if tag in ("which", "what")]
    things = [t for t in clause.things if t not in asked and is_known(t)]
    thing = things[0] if things else clause.topics[-1] if clause.topics else None
    return Query("where", (thing.plain(),)) if thing is not None else None


def _options(clause: Clause, thing: Thing | None) -> tuple[Thing, ...]:
    """Return what can be chosen from: "on or off", "the red one or the blue one", "on the desk or in the bin"."""
    found = clause.said(thing)
    if thing is not None and thing.support is not None and len(found) == 1 and found[0].support is not None:
        found = [Thing(relation=thing.relation, support=thing.support, room=thing.room), *found]
    alike = [t for t in clause.things if thing is not None and t.kind == thing.kind]
    if len(alike) > 1 or (alike and alike[0] is not thing):
        rooms = len({t.room for t in alike}) > 1
        found = [*(Thing(colour=t.colour, material=t.material, state=t.state, room=t.room if rooms else "",
                         relation=t.relation, support=t.support) for t in alike), *found]
    return tuple(dict.fromkeys(option for option in found if option.looks))


def _choice(clause: Clause) -> Query | None:
    thing = clause.main()
    ones = [p for p in clause.items if p.thing is not None and not is_place(p.thing)]
    again = clause.has("it") or all("one" in p.text.split() for p in ones)
    if thing is not None and clause.topics and again and thing.kind == clause.topics[-1].kind:
        thing = clause.topics[-1]
    options = _options(clause, thing)
    rooms = [] if thing is None or thing.room in ("", *clause.rooms) else [thing.room, *clause.rooms]
    if thing is not None and "or" in clause.tags and len(rooms) > 1 and not options:  # "is it in the study or ..."
        return Query("choice", (thing.plain()._replace(room=""),), tuple(Thing(room=room) for room in rooms))
    if thing is None or not ("or" in clause.tags or (len([o for o in options if o.material or o.colour]) > 2)):
        return None
    colours = tuple(option for option in options if option.colour)
    if 1 < len(colours) < len(options):  # "which candle is the one that burns, the green or the yellow?"
        thing, options = next(o for o in options if not o.colour)._replace(kind=thing.kind), colours
    if len(options) > 1:
        moved = thing._replace(relation="", support=None) if options[0].support is thing.support else thing
        if (options[0].colour, options[0].material) == (moved.colour, moved.material):
            moved = moved._replace(colour="", material="", room="" if options[0].room else moved.room)
        return Query("choice", (moved._replace(quantifier=""),), options)
    if clause.has("not") and options and clause.at("or") < clause.at("not"):
        return Query("is", (thing,), options[:1])  # "shut or not?"
    return None


def _among(clause: Clause) -> Query | None:
    """Read "which is on, the lamp or the TV, both or neither"."""
    one_of = clause.has("which") or (clause.has("it") and clause.has("or"))
    if not one_of:
        return None
    states = [p for p in clause.said() if p.state]
    alike = [t for t in clause.things if t.kind and t.support is None]
    if states and len(alike) > 1 and clause.has("or", ",", "and"):
        room = clause.rooms[0] if clause.rooms else alike[0].room
        options = tuple(t._replace(room=t.room or room) for t in alike)
        return Query("choice", (states[0]._replace(room=room),), options)
    return None


def _which(clause: Clause) -> Query | None:
    placed = any(p.support is not None for p in clause.said())
    if clause.has("tell") and placed and len([t for t in clause.things if t.kind]) == 1:
        return None
    listed = clause.tags[:1] == ["tell"] and bool(clause.things) and clause.items[0].text in LISTING
    if not (clause.has("which") or listed) or not (clause.things or clause.topics):
        return None
    thing = clause.main()
    if thing is None:
        return None
    named = [t for t in clause.things if is_known(t)]
    if clause.has("have") and len(named) > 1:
        return Query("which", (named[0]._replace(quantifier="", number=0, relation="with", support=named[1]),))
    thing = clause.with_predicate(thing).plain()
    told = thing.looks or thing.unlike or thing.number
    return Query("which", (thing,)) if told else None  # "which of them?" needs what tells them apart


def _what(clause: Clause) -> Query | None:
    if not clause.has("what", "tell", "which") and not any(t.kind == "" for t in clause.things):
        return None
    for predicate in clause.said():
        if predicate.support is not None:
            return Query("list", (predicate,))
    bare = not [t for t in clause.things if t.kind or t.support or t.state]
    if bare and clause.spot is not None and clause.has("there", "thing", "which") and not clause.rooms:
        return Query("list", (clause.spot._replace(state=""),))
    thing = next((t for t in clause.things if t.kind == "" and (t.support or t.state or t.colour)), None)
    if thing is not None and clause.has("what", "tell", "which"):
        return Query("list", (thing._replace(quantifier=""),))
    states = [p for p in clause.said() if p.state]
    if states and clause.has("what") and not clause.things:
        return Query("list", (Thing(state=states[0].state, room=clause.rooms[0] if clause.rooms else ""),))
    if clause.has("what", "which") and clause.has("there", "be") and clause.things and clause.things[0].kind:
        thing = clause.with_predicate(clause.things[0])
        if len(clause.rooms) == 1 and not thing.room:
            thing = thing._replace(room=clause.rooms[0])
        return Query("list", (thing._replace(quantifier=""),)) if clause.has("there") or thing.room else None
    if clause.rooms and clause.has("what") and not clause.things:
        return Query("list", (Thing(room=clause.rooms[0]),))
    return None


def _whether(clause: Clause) -> Query | None:
    thing = clause.main()
    if thing is None:
        if clause.has("there", "any", "no") and clause.rooms and not clause.topics:
            no = any(p.text.startswith("no ") or p.tag in ("no", "not") for p in clause.items)
            return Query("exists", (Thing(clause.rooms[0], quantifier="no" if no else ""),))
        return None
    predicates = clause.said(thing)
    if "all" in clause.tags:
        thing = thing._replace(quantifier="all")  # "are the windows all closed?"
    if thing.kind == "water":
        held = next((p for p in (thing, *predicates) if p.relation == "in" and p.support is not None), None)
        if held is not None and held.support is not None:
            place = held.support._replace(room=held.room or held.support.room)
            runs = next((p.state for p in (thing, *predicates) if p.state), "full")
            return Query("is", (place,), (Thing(state=runs),))
        thing = thing._replace(kind="tap")
    if clause.has("forget") and predicates and predicates[-1].state:
        predicates = [Thing(state=opposite(predicates[-1].state))]
    there = any({one, two} == {"be", "there"} or (one, two) == ("can", "there")
                for one, two in zip(clause.tags, clause.tags[1:], strict=False))
    exists = there or thing.quantifier in ("any", "no") or (thing.kind == "" and thing.quantifier != "that")
    if exists and not (thing.quantifier in ("any", "all") and thing.kind and predicates and not there):
        if clause.tags[0] not in (*AUXILIARY, "thing", "any", "there") and not clause.told:
            return None
        thing = clause.with_predicate(thing)
        if not thing.kind and thing.looks == Thing(relation="in", support=thing.support, room=thing.room).looks and (
                thing.support is not None and "full" in (states_of_kind(thing.support.name_of_kind) or ())):
            state = "empty" if thing.quantifier == "no" else "full"  # "is there anything in the basket?"
            return Query("is", (thing.support._replace(room=thing.room or thing.support.room),), (Thing(state=state),))
        return Query("exists", (thing._replace(quantifier="no" if thing.quantifier == "no" else ""),),
                     denied=clause.has("not") and thing.unlike is None)
    if predicates:
        said = next((p for p in predicates if p.state or p.colour or p.material), predicates[-1])
        if said.support is not None and said.support.room in ("", thing.room) and thing.room:
            said = said._replace(room=thing.room, support=said.support._replace(room=""))
        if clause.has("not") and thing.quantifier == "any" and said.state and opposite(said.state):
            return Query("is", (thing,), (Thing(state=opposite(said.state)),))  # "is even one lamp not off?"
        return Query("is", (thing,), (said,), denied=clause.has("not"))
    if thing.relation and thing.support is not None and clause.tags[0] == "be":
        return Query("is", (thing._replace(relation="", support=None, other_support=None),), (
            Thing(room=thing.room, relation=thing.relation, support=thing.support,
                  other_support=thing.other_support),), denied=clause.has("not"))
    if clause.has("it") and len(clause.group) > 1:
        return None
    if clause.tags[0] == "person":
        return None
    at = clause.at("have")
    owned = at >= 0 and any(p.thing is not None and not is_place(p.thing) for p in clause.items[at + 1:])
    if (owned and (at or clause.has("person"))) or thing.quantifier == "any":
        return Query("exists", (thing._replace(quantifier=""),))
    if thing.room and clause.tags[0] == "be" and clause.things and clause.things[0].room:
        return Query("is", (thing._replace(room=""),), (Thing(room=thing.room),), denied=clause.has("not"))
    if clause.rooms and clause.tags[0] == "be":
        return Query("is", (thing._replace(room=""),), (Thing(room=clause.rooms[0]),))
    return None


def _offered(thing: Thing) -> Thing:
    """Return what there is to read, to eat or to drink from, where a thing is asked for by that use."""
    word = next((word for word in thing.use.split() if word in OFFERS), "")
    return thing._replace(kinds=OFFERS[word]) if word else thing


def _tidied(thing: Thing) -> Thing:
    """Return a phrase whose place is named once: the support is in the thing's room."""
    if thing.support is not None and thing.support.kind == "it":
        thing = thing._replace(relation="", support=None)  # "a room with a plant in it"
    support = thing.support
    if support is not None and support.kind == "wall" and support.relation == "above" and support.support is not None:
        thing = thing._replace(relation="above", support=support.support, room=thing.room or support.room)
        support = thing.support
    if support is not None and canonical(thing.kind) == canonical("tap") and canonical(support.kind).endswith("sink"):
        return thing._replace(relation="", support=None)  # "the tap over the basin"
    if thing.kind == "water" and thing.state in ("running", "off", "on"):
        return thing._replace(kind="tap")
    if support is not None and canonical(support.kind) == canonical(thing.kind) and thing.kind:
        return thing._replace(kind=support.kind, relation="", support=None)  # "the fire in the fireplace"
    if support is not None and support.room and thing.room in ("", support.room):
        return thing._replace(room=support.room, support=support._replace(room=""))
    return thing
