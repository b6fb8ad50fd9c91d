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
    """Yield questions about the place of objects that are the only one of their kind in the house."""
    for obj in facts.objects:
        place, room, clues = facts.place(obj), facts.region(obj), facts.clues(obj.room)
        if obj.kind in lexicon.OBVIOUS or place is None or not clues or not facts.alone(obj, facts.objects):
            continue
        verb = be(obj.kind, False)
        yield QuestionCandidate(LOCALIZATION, _where(facts, obj, verb), place, (obj.id, *_anchor(obj)),
                                other_words(facts, obj, room), need=1 + len(_anchor(obj)), clues=clues)
        if facts.coin("which room", obj.id) and facts.plain(obj.room):
            owner = "my" if obj.kind in lexicon.BELONGINGS else "the"
            asks = (f"Which room {verb} {owner} {say(obj)} in?", f"In which room {verb} {owner} {say(obj)}?")
            yield QuestionCandidate(LOCALIZATION, facts.pick(asks, "room", obj.id), room, (obj.id,),
                                    (f"in {room}",), clues=clues)


def _where(facts: HouseFacts, obj: HouseObject, verb: str) -> str:
    if obj.kind not in lexicon.BELONGINGS:
        return f"Where {verb} the {say(obj)}?"
    pronoun = "are they" if is_plural(obj.kind) else "is it"
    asks = (f"Where {verb} my {say(obj)}?", f"Where did I leave my {say(obj)}?",
            f"I am looking for my {say(obj)}. Where {pronoun}?")
    return facts.pick(asks, "where", obj.id)


def _anchor(obj: HouseObject) -> tuple[int, ...]:
    return (obj.support,) if obj.support and obj.relation in ("on", "in", "wall", "under") else ()


def other_words(facts: HouseFacts, obj: HouseObject, room: str) -> tuple[str, ...]:
    """Return other full descriptions: without the room if the support is unique, or by neighbours."""
    words, kind = _other_words(facts, obj, room), facts.kind_of_room(obj)
    place, same = facts.place(obj), lexicon.SAME_ROOM.get(kind)
    return (*words, place.replace(kind, same)) if place and same else words


def _other_words(facts: HouseFacts, obj: HouseObject, room: str) -> tuple[str, ...]:
    base, kind = facts.support(obj), facts.kind_of_room(obj)
    if not facts.plain(obj.room):  # an image shows a bedroom, not which one; people who know the house may name it
        place, name = facts.place(obj) or "", next(r.name for r in facts.house.rooms if r.id == obj.room)
        return (place.replace(room, f"the {kind}"), place.replace(room, f"the {name}"))
    if base is not None and obj.relation in ("on", "in", "under"):
        short = (f"{obj.relation} the {say(base)}",) if facts.alone(base, facts.objects) else ()
        return (*short, f"{room}, {obj.relation} the {say(base)}")
    if base is not None and obj.relation == "wall":
        return (f"above the {say(base)} in {room}", f"on the wall in {room}")
    near = [t for t in facts.standing(obj.room) if t.id != obj.id and facts.next_to(obj, t) and facts.short(t)]
    return tuple(f"in {room}, next to the {say(t)}" for t in near) if obj.relation == "floor" else ()


def spatial(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    """Yield questions about counts, sides and nearness within a room."""
    for room, phrase in facts.rooms.items():
        yield from _counts(facts, room, phrase)
        yield from _nearness(facts, room, phrase)
    for obj in facts.objects:
        name = facts.name(obj)
        if name is None or obj.kind in lexicon.OPENINGS:
            continue
        yield from _counts_on(facts, obj, name)
        if obj.relation == "floor" and obj.kind in lexicon.FRONTED:
            yield from _sides(facts, obj, name)


def _number(question: str, objects: list[HouseObject]) -> QuestionCandidate:
    n = len(objects)
    return QuestionCandidate(SPATIAL, question, str(n), tuple(t.id for t in objects), (number_word(n),), need=n)


def _counts(facts: HouseFacts, room: int, phrase: str) -> Iterator[QuestionCandidate]:
    inside = facts.inside(room)
    for kind in heads(inside):
        objects = [t for t in inside if t.kind == kind]
        others = [t for t in inside if t.kind != kind]
        least = 1 if facts.pick((True, *(False,) * 5), "one", room, kind) else 2
        if kind in lexicon.OPENINGS or is_plural(kind) or not facts.alone(objects[0], others):
            continue
        if least <= len(objects) <= _MOST_COUNTED and kind not in lexicon.ALWAYS_ONE:
            asks = ("How many {} are there in {}?", "How many {} are in {}?")
            yield _number(facts.pick(asks, "count", room, kind).format(kinds_of(kind), phrase), objects)


def _counts_on(facts: HouseFacts, base: HouseObject, name: str) -> Iterator[QuestionCandidate]:
    carried = facts.carried(base)
    for kind in heads(carried):
        objects = [t for t in carried if t.kind == kind]
        others = [base, *(t for t in carried if t.kind != kind)]
        if len(objects) > 1 and not is_plural(kind) and facts.alone(objects[0], others):
            yield _number(f"How many {kinds_of(kind)} are on {name}?", objects)


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
