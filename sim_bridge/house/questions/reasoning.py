"""Questions that need common sense: uses of objects (functional reasoning), inferences (world knowledge)."""

from __future__ import annotations

from collections.abc import Iterator

from eqa_nodes.core.language.english import number_word
from sim_bridge.house.questions import lexicon, uses
from sim_bridge.house.questions.facts import HouseFacts, QuestionCandidate, heads, say
from sim_bridge.house.questions.places import other_words
from sim_bridge.house.scene import HouseObject

FUNCTIONAL, KNOWLEDGE = "functional reasoning", "world knowledge"
_TABLES = ("dining table", "kitchen table")
_SINGLE_BED_M, _DOUBLE_BED_M = 1.2, 1.4  # seat widths that are unambiguous


def functional(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    """Yield questions for the object or place that serves a purpose, unless common sense alone gives the answer."""
    for room, phrase in facts.rooms.items():
        for use in uses.TOOLS:
            yield from _tool(facts, use, room, phrase)
        for use in uses.PLACES:
            yield from _look_of(facts, use, room, phrase, f"{use.prep} which I can {use.purpose}")
    for use in uses.SCATTERED:
        yield from _kept(facts, use)
    yield from _watching(facts)


def _tool(facts: HouseFacts, use: uses.Use, room: int, phrase: str) -> Iterator[QuestionCandidate]:
    """Yield questions which of several kinds of tools the home has, and what that tool looks like."""
    tools = facts.inside(room, *use.kinds)
    if len(use.kinds) > 1 and len(heads(tools)) == 1:
        yield QuestionCandidate(FUNCTIONAL, f"What can I use to {use.purpose} in {phrase}?", f"the {say(tools[0])}",
                                _ids(tools), (say(tools[0]),))
    if not facts.inside(room, *use.also):
        yield from _look_of(facts, use, room, phrase, f"that I can use to {use.purpose}")


def _look_of(facts: HouseFacts, use: uses.Use, room: int, phrase: str, which: str) -> Iterator[QuestionCandidate]:
    objects = facts.inside(room, *use.kinds)
    if len(objects) != 1 or not facts.alone(objects[0], facts.inside(room)):
        return
    obj = objects[0]
    if obj.colour and not lexicon.colour_unclear(obj):
        yield QuestionCandidate(FUNCTIONAL, f"What color is the thing in {phrase} {which}?", obj.colour, (obj.id,),
                                lexicon.NEAR_COLOURS.get(obj.colour, ()))


def _kept(facts: HouseFacts, use: uses.Use) -> Iterator[QuestionCandidate]:
    found = facts.of(*use.kinds)
    if len(found) != 1 or (place := facts.place(found[0])) is None or not (clues := facts.clues(found[0].room)):
        return
    obj, room = found[0], facts.region(found[0])
    yield QuestionCandidate(FUNCTIONAL, f"Where can I find something to {use.purpose}?", place, (obj.id,),
                            other_words(facts, obj, room), clues=clues)
    if facts.plain(obj.room):
        yield QuestionCandidate(FUNCTIONAL, f"I want to {use.purpose}. Which room should I go to?", room, (obj.id,),
                                (f"in {room}",), clues=clues)


def _watching(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    """Yield the question where to sit to watch TV, if exactly one seat faces the only TV."""
    screens = facts.of("television")
    if len(screens) != 1 or (room := facts.room(screens[0])) is None:
        return
    seats = [t for t in facts.inside(screens[0].room, *lexicon.SEATS) if facts.local(screens[0], t)[0] > 0.5]
    if len(seats) == 1:
        ask = facts.pick(("Where could I sit down to watch TV?", "Where can I sit to watch TV?"), "tv", screens[0].id)
        yield QuestionCandidate(FUNCTIONAL, ask, f"on the {say(seats[0])} in {room}", (seats[0].id, screens[0].id),
                                (f"on the {say(seats[0])}",), need=2)


def knowledge(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    """Yield questions about the people who live here and what their objects allow."""
    yield from _hints(facts)
    yield from _dining(facts)
    yield from _waste(facts)
    yield from _wasting(facts)
    for obj in facts.objects:
        if (name := facts.name(obj)) is None:
            continue
        if obj.kind == "fruit bowl" and obj.state in ("full", "empty"):
            yield QuestionCandidate(KNOWLEDGE, f"Is there any fruit left in {name}?", _yes(obj.state == "full"),
                                    (obj.id,))
        if obj.kind in uses.OFFERING:
            yield from _offered(facts, obj, name)
    yield from _bathing(facts)
    yield from _sleeping(facts)


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def _hints(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    for hint in uses.HINTS:
        shown = [(answer, facts.of(*kinds), also) for answer, kinds, also in hint.answers if facts.of(*kinds)]
        if len(shown) == 1:
            answer, objects, also = shown[0]
            yield QuestionCandidate(KNOWLEDGE, hint.question, answer, _ids(objects), also, need=1)


def _offered(facts: HouseFacts, table: HouseObject, name: str) -> Iterator[QuestionCandidate]:
    """Yield questions whether there is something to read on a table. It is never empty, so the answer is visible."""
    carried = facts.carried(table)
    kinds = {t.kind for t in carried}
    for offer in uses.OFFERS:
        if carried and (kinds & set(offer.kinds) or not kinds & set(offer.unsure)):
            answer = _yes(bool(kinds & set(offer.kinds)))
            yield QuestionCandidate(KNOWLEDGE, f"Is there anything {offer.what} on {name}?", answer,
                                    (table.id, *_ids(carried)), need=1 + len(carried))


def _dining(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    for table in facts.of(*_TABLES):
        room, name = facts.room(table), facts.name(table)
        chairs = facts.inside(table.room, *lexicon.CHAIRS)
        if room is None or name is None or not chairs or any(facts.gap(t, table) > 0.6 for t in chairs):
            continue
        if table.kind == "dining table":
            plates = [t for t in facts.carried(table) if t.kind == "plate"]
            yield QuestionCandidate(KNOWLEDGE, f"Is {name} set for a meal?", _yes(bool(plates)), (table.id,))
        n, targets = len(chairs), tuple(t.id for t in chairs)
        if facts.coin("seats", table.id):
            yield QuestionCandidate(KNOWLEDGE, f"How many people can sit at {name}?", str(n), targets,
                                    (number_word(n),), n)
        guests = n + facts.pick((-1, 0), "few", table.id) if facts.coin("guests", table.id) else n + 2
        if guests > 1:
            yield QuestionCandidate(KNOWLEDGE, f"Are there enough chairs for {number_word(guests)} people in {room}?",
                                    _yes(guests <= n), targets, need=n)
        guests = n + facts.pick((1, 2, 3), "short", table.id)
        yield QuestionCandidate(KNOWLEDGE,
                                f"How many more chairs do I need in {room} for {number_word(guests)} people?",
                                str(guests - n), targets, (number_word(guests - n),), need=n)


def _waste(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    for obj in facts.objects:
        name = facts.name(obj)
        if name is None:
            continue
        if obj.kind in lexicon.ELECTRIC and obj.state in ("on", "off"):
            yield QuestionCandidate(KNOWLEDGE, f"Is electricity being wasted by {name}?",
                                    _yes(obj.state == "on"), (obj.id,), front=lexicon.front_of(obj))
        if obj.kind in lexicon.FLOWING and obj.state in ("on", "running", "off"):
            wasted = _yes(obj.state != "off")
            yield QuestionCandidate(KNOWLEDGE, f"Is water being wasted at {name}?", wasted,
                                    (obj.id,), front=obj.id)
        if obj.kind == "refrigerator" and obj.state in ("open", "closed"):
            yield QuestionCandidate(KNOWLEDGE, f"Will the food in {name} stay cold?",
                                    _yes(obj.state == "closed"), (obj.id,), front=obj.id)


def _wasting(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    """Yield the question which of several lamps and screens is on."""
    for room, phrase in facts.rooms.items():
        electric = [t for t in facts.inside(room, *lexicon.ELECTRIC) if t.state in ("on", "off")]
        on = [t for t in facts.inside(room) if t.state in ("on", "running")]
        if len(electric) > 1 and len(on) == 1 and on[0] in electric and facts.short(on[0]):
            yield QuestionCandidate(KNOWLEDGE, f"What is wasting electricity in {phrase}?", f"the {say(on[0])}",
                                    (on[0].id, *_ids([t for t in electric if t is not on[0]])), (say(on[0]),),
                                    front=lexicon.front_of(on[0]))


def _sleeping(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    for bed in facts.of(*lexicon.BEDS):
        room = facts.room(bed)
        if room is None or not facts.alone(bed, facts.inside(bed.room)):
            continue
        if not _SINGLE_BED_M < bed.size[1] < _DOUBLE_BED_M:
            wide = bed.size[1] >= _DOUBLE_BED_M
            yield QuestionCandidate(KNOWLEDGE, f"Can two people sleep in the bed in {room}?", _yes(wide), (bed.id,))
        if bed.state in ("made", "unmade"):
            yield QuestionCandidate(KNOWLEDGE, f"Has anyone slept in the bed in {room} since it was last made?",
                                    _yes(bed.state == "unmade"), (bed.id,))


def _bathing(facts: HouseFacts) -> Iterator[QuestionCandidate]:
    for room, phrase in facts.rooms.items():
        tubs, showers = facts.inside(room, "bathtub"), facts.inside(room, "shower")
        if len(tubs) + len(showers) == 1:
            answer = "a bath" if tubs else "only a shower"
            yield QuestionCandidate(KNOWLEDGE, f"Can I take a bath in {phrase}, or only a shower?", answer,
                                    _ids(tubs + showers), ("bath",) if tubs else ("a shower", "shower"))


def _ids(objects: list[HouseObject]) -> tuple[int, ...]:
    return tuple(t.id for t in objects)
