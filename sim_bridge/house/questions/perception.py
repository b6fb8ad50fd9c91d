"""Questions about one object: what it is (object recognition), its attributes, its state."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

from sim_bridge.house.questions import lexicon
from sim_bridge.house.questions.facts import (
    HouseFacts,
    QuestionCandidate,
    be,
    heads,
    kinds_of,
    say,
    sentence_list,
    several,
)
from sim_bridge.house.scene import HouseObject

RECOGNITION, ATTRIBUTE, STATE = "object recognition", "attribute recognition", "object state recognition"
_LIST_LIMIT = 3


def recognition(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    """Yield questions whose answer is a kind of object."""
    for base in facts.objects:
        name = facts.name(base)
        if name is None or base.kind in lexicon.OPENINGS:
            continue
        yield from _carried(facts, base, name)
        yield from _coloured(facts, base, name)
        above = facts.above(base)
        if len(above) == 1 and base in facts.standing(base.room) and _over(facts, base, above[0]):
            asks = ("What is hanging on the wall above {}?", "What is on the wall above {}?")
            ask = facts.pick(asks, "above", base.id)
            yield _which(ask.format(name), above, (base.id,))
    for room, phrase in facts.rooms.items():
        hung = [t for t in facts.inside(room) if t.relation == "wall" and t.kind not in lexicon.OPENINGS]
        if len(hung) == 1 and hung[0].support == 0:
            yield _which(f"What is hanging on the wall in {phrase}?", hung, ())
        yield from _between(facts, room, phrase)


def _over(facts: HouseFacts, base: HouseObject, other: HouseObject) -> bool:
    """Return whether the centre of a wall object is over the base: a hood over the oven is not above its neighbour."""
    return abs(facts.local(base, other)[1]) < base.size[1] / 2


def _which(question: str, objects: list[HouseObject], also: tuple[int, ...]) -> QuestionCandidate:
    groups = [[t for t in objects if t.kind == kind] for kind in heads(objects)]
    bare = ", ".join(kinds_of(g[0].kind) if len(g) > 1 else say(g[0]) for g in groups)
    kinds = heads(objects)
    also_called = (lexicon.ALSO[kinds[0]],) if kinds[0] in lexicon.ALSO and len(objects) == 1 else ()
    return QuestionCandidate(RECOGNITION, question, sentence_list([several(g) for g in groups]),
                             tuple(t.id for t in objects) + also, (bare, *also_called), need=len(objects) + len(also))


def _carried(facts: HouseFacts, base: HouseObject, name: str) -> Iterator[QuestionCandidate]:
    for relation, asks in (("on", ("What is on {}?", "What did I leave on {}?")), ("in", ("What is in {}?",)),
                           ("under", ("What is under {}?",))):
        objects = facts.carried(base, relation)
        kinds = heads(objects)
        if not 0 < len(kinds) <= _LIST_LIMIT or len(objects) > 2 * _LIST_LIMIT or base.kind in lexicon.CLUTTERED:
            continue
        ask = facts.pick(asks, relation, base.id)
        if "leave" in ask and not set(kinds) <= lexicon.BELONGINGS:
            ask = asks[0]
        yield _which(ask.format(name), objects, (base.id,) if relation == "on" else ())


def _coloured(facts: HouseFacts, base: HouseObject, name: str) -> Iterator[QuestionCandidate]:
    objects = facts.carried(base)
    for obj in objects:
        close = {obj.colour, *lexicon.NEAR_COLOURS.get(obj.colour, ())}
        others = [t for t in objects if t.id != obj.id]
        if obj.colour and others and all(t.colour and t.colour not in close for t in others):
            noun = facts.pick(("thing", "object"), "coloured", obj.id)
            yield _which(f"What is the {obj.colour} {noun} on {name}?", [obj], ())


def _between(facts: HouseFacts, room: int, phrase: str) -> Iterator[QuestionCandidate]:
    furniture = facts.standing(room)
    for a, b in combinations(furniture, 2):
        if facts.short(a) is None or facts.short(b) is None or not 0.3 < facts.gap(a, b) < 2.0:
            continue
        filling = [c for c in furniture if c.id not in (a.id, b.id) and _in_gap(facts, a, b, c)]
        if len(filling) == 1 and facts.short(filling[0]) and _centred(a, b, filling[0]):
            yield _which(f"What is standing between the {say(a)} and the {say(b)} in {phrase}?", filling, (a.id, b.id))


def _in_gap(facts: HouseFacts, a: HouseObject, b: HouseObject, c: HouseObject) -> bool:
    return facts.gap(a, c) + facts.gap(c, b) < facts.gap(a, b)


def _centred(a: HouseObject, b: HouseObject, c: HouseObject) -> bool:
    ax, ay, bx, by = *a.position[:2], *b.position[:2]
    length = math.hypot(bx - ax, by - ay)
    along = ((c.position[0] - ax) * (bx - ax) + (c.position[1] - ay) * (by - ay)) / length ** 2
    across = ((c.position[0] - ax) * (by - ay) - (c.position[1] - ay) * (bx - ax)) / length
    return 0.25 < along < 0.75 and abs(across) < 0.35


def attribute(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    """Yield questions about colours and materials."""
    for obj in facts.objects:
        name = facts.name(obj)
        if name is None:
            continue
        cover = lexicon.COVERED.get(obj.kind, "")
        hidden = cover and any(t.kind == cover for t in facts.carried(obj))
        if obj.colour and not lexicon.colour_unclear(obj) and not hidden:
            shown = f"the {cover} on {name}" if cover else name
            yield QuestionCandidate(ATTRIBUTE, _colour_question(facts, obj, shown), obj.colour, (obj.id,),
                                    lexicon.NEAR_COLOURS.get(obj.colour, ()))
        if obj.kind in lexicon.MATERIAL_VARIES and obj.material and obj.colour not in lexicon.MATERIAL_HIDDEN:
            asks = (f"What {be(obj.kind, False)} {name} made of?",
                    f"What material {be(obj.kind, False)} {name} made of?")
            yield QuestionCandidate(ATTRIBUTE, facts.pick(asks, "material", obj.id), obj.material, (obj.id,))
    yield from _shared_colours(facts)


def _colour_question(facts: HouseFacts, obj: HouseObject, name: str) -> str:
    wrong = facts.pick(lexicon.WRONG_COLOURS.get(obj.colour, ("",)), "wrong", obj.id)
    verb = be(obj.kind, False)
    asks = [f"What color {verb} {name}?", f"What is the color of {name}?"]
    if wrong:
        pair = (obj.colour, wrong) if facts.coin("or", obj.id) else (wrong, obj.colour)
        asks.append(f"{verb.capitalize()} {name} {pair[0]} or {pair[1]}?")
    return facts.pick(asks, "colour", obj.id)


def _shared_colours(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    for room, phrase in facts.rooms.items():
        for kind in heads(facts.inside(room)):
            objects = facts.inside(room, kind)
            colours = {t.colour for t in objects}
            others = [t for t in facts.inside(room) if t.kind != kind]
            clear = kind not in lexicon.COVERED and not lexicon.colour_unclear(objects[0])
            named = clear and facts.alone(objects[0], others)
            if named and len(objects) > 1 and len(colours) == 1 and objects[0].colour:
                yield QuestionCandidate(ATTRIBUTE, f"What color are the {kinds_of(kind)} in {phrase}?",
                                        objects[0].colour,
                                        tuple(t.id for t in objects), lexicon.NEAR_COLOURS.get(objects[0].colour, ()),
                                        need=2)


# state -> (its opposite, how to ask for it: {} is the object, and the yes/no question gets the true or the false state)
_OPPOSITE = {"on": "off", "off": "on", "open": "closed", "closed": "open", "running": "off",
             "lit": "unlit", "unlit": "lit", "made": "unmade", "unmade": "made", "full": "empty", "empty": "full"}
_ASK = {
    "on": ("{Is} {} on?", "{Is} {} switched on?", "Did I leave {} on?"),
    "off": ("{Is} {} off?", "{Is} {} switched off?", "Did I turn off {}?"),
    "open": ("{Is} {} open?", "Did I leave {} open?"),
    "closed": ("{Is} {} closed?", "Did I close {}?"),
    "running": ("{Is} {} running?", "Did I leave {} running?"),
    "stopped": ("{Is} {} turned off?", "Did I turn off {}?"),
    "lit": ("{Is} {} lit?",), "unlit": ("{Is} {} unlit?", "{Is} {} out?"),
    "made": ("{Is} {} made?", "Did I make {}?"), "unmade": ("{Is} {} unmade?",),
    "full": ("{Is} {} full?",), "empty": ("{Is} {} empty?",),
}


def state(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    """Yield questions about states: which of two, or yes/no with a fair coin for the state that is asked about."""
    for obj in facts.objects:
        name, now = facts.name(obj), obj.state
        if name is None or now not in _OPPOSITE or obj.kind in lexicon.STATE_NOT_ASKED:
            continue
        flows = obj.kind in lexicon.FLOWING
        other = "running" if flows and now == "off" else _OPPOSITE[now]
        front, never_full = lexicon.front_of(obj), obj.kind in lexicon.NEVER_FULL
        if facts.pick((True, False, False), "either", obj.id) and not never_full:
            first, second = (now, other) if facts.coin("order", obj.id) else (other, now)
            yield QuestionCandidate(STATE, f"{be(obj.kind)} {name} {first} or {second}?", now, (obj.id,),
                                    front=front)
        else:
            asked = "empty" if never_full else now if facts.coin("asked", obj.id) else other
            form = facts.pick(_ASK["stopped" if flows and asked == "off" else asked], "form", obj.id)
            answer = "yes" if asked == now else "no"
            yield QuestionCandidate(STATE, form.format(name, Is=be(obj.kind)), answer, (obj.id,), front=front)
    for room, phrase in facts.rooms.items():
        yield from _pair_states(facts, room, phrase)


def _pair_states(facts: HouseFacts, room: int, phrase: str) -> Iterator[QuestionCandidate]:
    """Yield questions which of two objects is on or open: these have four answers, questions about one only two."""
    for a, b in combinations([t for t in facts.inside(room) if t.state in _OPPOSITE and facts.short(t)], 2):
        fronts = [front for front in map(lexicon.front_of, (a, b)) if front]
        asked = "on" if {a.state, b.state} <= {"on", "off"} else "open"
        unclear = {a.kind, b.kind} & {*lexicon.STATE_NOT_ASKED, *lexicon.FLOWING, *lexicon.OPENINGS}
        if not {a.state, b.state} <= {asked, _OPPOSITE[asked]} or unclear or len(fronts) > 1:
            continue
        if facts.coin("pair", a.id, b.id):
            a, b = b, a
        true = [t for t in (a, b) if t.state == asked]
        answer = ("neither", f"the {say(true[0])}" if true else "", "both")[len(true)]
        yield QuestionCandidate(STATE, f"Which is {asked} in {phrase}, the {say(a)}, the {say(b)}, both or neither?",
                                answer,
                                (a.id, b.id), (say(true[0]),) if len(true) == 1 else (), need=2, front=sum(fronts))
