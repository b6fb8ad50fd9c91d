"""Questions about where: object localization, and spatial understanding (counts, sides, nearness)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, permutations

from eqa_nodes.core.language.english import number_word
from sim_bridge.house.questions import lexicon
from sim_bridge.house.questions.facts import HouseFacts, QuestionCandidate, article, be, heads, is_plural, kinds_of, say
from sim_bridge.house.scene import HouseObject

LOCALIZATION, SPATIAL = "object localization", "spatial understanding"
_MOST_COUNTED = 8
_CLOSER_M, _CLOSER_FACTOR = 0.6, 1.6


def localization(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    """Yield questions for the place of objects that there is one of in the house."""
    for thing in facts.things:
        place, room = facts.place(thing), facts.room(thing)
        if thing.kind in lexicon.OBVIOUS or place is None or room is None or not facts.alone(thing, facts.things):
            continue
        verb = be(thing.kind, False)
        yield QuestionCandidate(LOCALIZATION, _where(facts, thing, verb), place, (thing.id, *_anchor(thing)),
                                other_words(facts, thing, room), need=1 + len(_anchor(thing)))
        if facts.coin("which room", thing.id) and facts.plain(thing.room):
            owner = "my" if thing.kind in lexicon.BELONGINGS else "the"
            asks = (f"Which room {verb} {owner} {say(thing)} in?", f"In which room {verb} {owner} {say(thing)}?")
            yield QuestionCandidate(LOCALIZATION, facts.pick(asks, "room", thing.id), room, (thing.id,),
                                    (f"in {room}",))


def _where(facts: HouseFacts, thing: HouseObject, verb: str) -> str:
    if thing.kind not in lexicon.BELONGINGS:
        return f"Where {verb} the {say(thing)}?"
    pronoun = "are they" if is_plural(thing.kind) else "is it"
    asks = (f"Where {verb} my {say(thing)}?", f"Where did I leave my {say(thing)}?",
            f"I am looking for my {say(thing)}. Where {pronoun}?")
    return facts.pick(asks, "where", thing.id)


def _anchor(thing: HouseObject) -> tuple[int, ...]:
    return (thing.support,) if thing.support and thing.relation in ("on", "in", "wall", "under") else ()


def other_words(facts: HouseFacts, thing: HouseObject, room: str) -> tuple[str, ...]:
    """Return other full descriptions: without the room where the support is one of a kind, or by neighbours."""
    base, kind = facts.support(thing), facts.kind_of_room(thing)
    if not facts.plain(thing.room):  # what an image shows is a bedroom, not which
        place = facts.place(thing) or ""
        return (place.replace(room, f"the {kind}"),)
    if base is not None and thing.relation in ("on", "in", "under"):
        short = (f"{thing.relation} the {say(base)}",) if facts.alone(base, facts.things) else ()
        return (*short, f"{room}, {thing.relation} the {say(base)}")
    if base is not None and thing.relation == "wall":
        return (f"above the {say(base)} in {room}", f"on the wall in {room}")
    near = [t for t in facts.standing(thing.room) if t.id != thing.id and facts.next_to(thing, t) and facts.short(t)]
    return tuple(f"in {room}, next to the {say(t)}" for t in near) if thing.relation == "floor" else ()


def spatial(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    """Yield questions about counts, sides and nearness within a room."""
    for room, phrase in facts.rooms.items():
        yield from _counts(facts, room, phrase)
        yield from _nearness(facts, room, phrase)
    for thing in facts.things:
        name = facts.name(thing)
        if name is None or thing.kind in lexicon.OPENINGS:
            continue
        yield from _counts_on(facts, thing, name)
        if thing.relation == "floor" and thing.kind in lexicon.FRONTED:
            yield from _sides(facts, thing, name)


def _number(question: str, things: list[HouseObject]) -> QuestionCandidate:
    n = len(things)
    return QuestionCandidate(SPATIAL, question, str(n), tuple(t.id for t in things), (number_word(n),), need=n)


def _counts(facts: HouseFacts, room: int, phrase: str) -> Iterator[QuestionCandidate]:
    inside = facts.inside(room)
    for kind in heads(inside):
        things = [t for t in inside if t.kind == kind]
        others = [t for t in inside if t.kind != kind]
        least = 1 if facts.pick((True, *(False,) * 5), "one", room, kind) else 2
        if kind in lexicon.OPENINGS or is_plural(kind) or not facts.alone(things[0], others):
            continue
        if least <= len(things) <= _MOST_COUNTED and kind not in lexicon.ALWAYS_ONE:
            asks = ("How many {} are there in {}?", "How many {} are in {}?")
            yield _number(facts.pick(asks, "count", room, kind).format(kinds_of(kind), phrase), things)


def _counts_on(facts: HouseFacts, base: HouseObject, name: str) -> Iterator[QuestionCandidate]:
    carried = facts.carried(base)
    for kind in heads(carried):
        things = [t for t in carried if t.kind == kind]
        others = [base, *(t for t in carried if t.kind != kind)]
        if len(things) > 1 and not is_plural(kind) and facts.alone(things[0], others):
            yield _number(f"How many {kinds_of(kind)} are on {name}?", things)


def _sides(facts: HouseFacts, base: HouseObject, name: str) -> Iterator[QuestionCandidate]:
    for side in ("left", "right"):
        other = facts.beside(base, side == "left")
        if other is None or facts.short(other) is None:
            continue
        if facts.coin("side", base.id, side):
            yield QuestionCandidate(SPATIAL, f"What is to the {side} of {name} when you face it?", article(other.kind),
                                    (other.id, base.id), (say(other),), need=2, front=base.id)
        elif facts.short(base):
            order = ("left or to the right", "right or to the left")[facts.coin("order", base.id)]
            question = (f"{be(other.kind)} the {say(other)} to the {order} of the {say(base)} in {facts.room(base)} "
                        f"when you face the {say(base)}?")
            yield QuestionCandidate(SPATIAL, question, f"to the {side}", (other.id, base.id), (side, f"on the {side}"),
                                    need=2, front=base.id)


def _nearness(facts: HouseFacts, room: int, phrase: str) -> Iterator[QuestionCandidate]:
    furniture = [t for t in facts.standing(room) if facts.short(t)]
    for a, b in combinations(furniture, 2):
        near = facts.next_to(a, b)
        if near is not None and facts.pick((True, False, False), "next", a.id, b.id):
            first, second = sorted((a, b), key=lambda t: t.size[0] * t.size[1] * t.size[2])
            yield QuestionCandidate(SPATIAL,
                                    f"{be(first.kind)} the {say(first)} next to the {say(second)} in {phrase}?",
                                    "yes" if near else "no", (a.id, b.id), need=2)
    for base, a, b in permutations(furniture, 3):
        gaps, centres = (facts.gap(base, a), facts.gap(base, b)), (_centres(base, a), _centres(base, b))
        clear = _clearly_closer(*gaps) and _clearly_closer(*centres)
        if clear and facts.pick((True, *(False,) * 7), "closer", base.id, a.id, b.id):
            first, second = (a, b) if facts.coin("closer order", base.id, a.id, b.id) else (b, a)
            question = f"Which is closer to the {say(base)} in {phrase}, the {say(first)} or the {say(second)}?"
            yield QuestionCandidate(SPATIAL, question, f"the {say(a)}", (a.id, b.id, base.id), (say(a),), need=3)


def _clearly_closer(close: float, far: float) -> bool:
    return far - close > _CLOSER_M and far > _CLOSER_FACTOR * close


def _centres(a: HouseObject, b: HouseObject) -> float:
    return math.hypot(a.position[0] - b.position[0], a.position[1] - b.position[1])
