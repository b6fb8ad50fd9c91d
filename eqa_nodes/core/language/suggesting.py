"""The questions that may be meant by one that is not understood, the likeliest first.

Every form of question is tried on every thing that was heard. A candidate gains for what was said and it asks, loses
for what it adds, and gains more if the parser reads it from the same words without those that are not understood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from typing import NamedTuple

from eqa_nodes.core.language.clauses import AUXILIARY, COMPARED, PLACING, SIZES, STRONG
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.lexing import Word, sentences
from eqa_nodes.core.language.naming import known_names
from eqa_nodes.core.language.phrases import Phrase, is_known, is_place
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.spelling import words
from eqa_nodes.core.language.states import states_of, states_of_kind
from eqa_nodes.core.language.targets import Compared
from eqa_nodes.core.language.uses import purpose_of
from eqa_nodes.core.language.weighing import target_of
from eqa_nodes.core.language.wording import question_of

_SUGGESTED = 3  # questions that are asked back
_BEST = 30  # things, and questions about them, that are looked at further: those that fit best
_LONG = 60  # words from which a question is not tried in other words
_WORD = 2.0  # what a word is worth
_WORTH = {"kind": 4.0, **dict.fromkeys(("what", "which", "whether", *SIZES), 0.7)}  # what these are worth instead
_TOLD = 0.5  # share of that in a clause that tells rather than asks
_PART, _WHOLE = 2.0, 6.0  # how much likelier a question is that the parser reads from some, or all, words that it knows
_MORE = 2.0  # what the kind of a thing that was named in other words counts: "the cup the toothbrushes live in"
_ALIKE = 4.0  # how much less likely one is that says the same as one that is suggested already
_CUES = {"where": ("where",), "room": ("which", "room"), "rooms": ("which", "room"), "most": ("which", "room"),
         "count": ("count",), "colour": ("colour",), "material": ("material",), "text": ("text",), "list": ("what",),
         "which": ("which",), "exists": ("whether",), "is": ("whether",), "choice": ("or",), "apart": ("far",),
         "passes": ("fit",)}  # form of question: what asks for it
_INSTEAD = ("what", "colour", "many", "is")  # words that are tried in the place of one that is not understood


class Heard(NamedTuple):
    """What was recognised of a question: doubtful readings, its clauses, what was spoken of, a length and a unit."""

    readings: tuple[Query, ...] = ()
    clauses: tuple[tuple[Phrase, ...], ...] = ()
    topics: tuple[Thing, ...] = ()
    metres: float = 0.0
    unit: str = ""


class ReadQuestion(NamedTuple):
    """What was read of a question: its query, else which words are unclear, and what was recognised."""

    query: Query | None
    unclear: tuple[str, ...] = ()
    heard: Heard = Heard()


def suggestions(text: str, read: Callable[[str], ReadQuestion]) -> tuple[str, ...]:
    """Return up to three questions that differ, each of which is read as itself."""
    bare, *others = (read(again) for again in _without_unknown(text))
    whole = read(text).heard
    heard = whole._replace(readings=(*bare.heard.readings, *whole.readings), clauses=(
        *bare.heard.clauses, *whole.clauses), topics=(*bare.heard.topics, *whole.topics))
    things = _things(heard)
    said = _evidence(heard, things)
    parsed = [*heard.readings, *(q for r in (bare, *others) if r.query is not None for q in (r.query, *r.query.parts))]
    scores = {query: _score(query, said) for query in (*parsed, *_candidates(things, heard, said))}
    for query in set(parsed):
        scores[query] += _WHOLE if query == bare.query else _PART
    pool = sorted(filter(_is_sound, scores), key=lambda query: -scores[query])[:_BEST]
    found: dict[str, Query] = {}
    while pool and len(found) < _SUGGESTED:
        best = max(pool, key=lambda query: scores[query] - _ALIKE * sum(_share(query, q) for q in found.values()))
        pool.remove(best)
        again = read(question_of(best)).query
        if again is not None and again.form == best.form:
            found.setdefault(question_of(best), best)
    return tuple(found)


def _without_unknown(text: str) -> Iterator[str]:
    """Yield a question without the words that are not understood, then with a question word instead of one of them."""
    typed = [(word.text, word.tag != "unknown" or word.text in words()) for line in sentences(text)
             for word in (*line, Word("?", "?"))]
    yield " ".join(word for word, known in typed if known)
    unclear = [at for at, (_, known) in enumerate(typed) if not known] if len(typed) < _LONG else []
    for at, word in product(unclear, _INSTEAD):
        yield " ".join(word for word, known in (*typed[:at], (word, True), *typed[at + 1:]) if known)


def _score(query: Query, said: dict[str, float]) -> float:
    """Return how much of what was said a question accounts for, less what it adds."""
    features = sorted(_features(query))  # in one order: a sum of other order may differ in its last digit
    return sum(_WORTH.get(feature.partition(":")[0], _WORD) * said.get(feature, -1.0) for feature in features)


def _share(query: Query, other: Query) -> float:
    """Return which share of what two questions say is the same."""
    mine, others = ({q.form, *_features(q)} for q in (query, other))
    return len(mine & others) / len(mine | others)


def _is_sound(query: Query) -> bool:
    """Return whether a query is about things that are known, in states that these can have."""
    known = all(is_known(t) or is_place(t) for subject in query.subjects for t in _within(subject))
    return known and all(p.state in ("", *_states(t)) or not t.kind
                         for t in query.things for p in (t, *query.predicates))


def _features(query: Query) -> set[str]:
    """Return what the words of a question have to say for it: "kind:lamp", "look:on", "count"."""
    found = {f for thing in (*query.things, *query.predicates) for f in _of_thing(thing)}
    found |= {f for part in query.parts for f in _features(part)} | set(_CUES.get(query.form, ()))
    if query.compared is not None:
        found |= {query.compared.aspect, "which" if query.compared.which else "whether"}
    found |= {query.aspect} if query.form in ("size", "most") else set()
    return found | ({query.unit} if query.unit else set()) | ({"no"} if query.denied else set())


def _of_thing(thing: Thing) -> set[str]:
    found = {f"look:{look}" for look in (thing.state, thing.colour, thing.material, thing.size) if look}
    found |= {f"kind:{canonical(thing.kind)}"} if thing.kind and is_known(thing) else set()
    found |= {f"room:{canonical(room)}" for room in (thing.room, thing.other_room) if room not in ("", "room", "house")}
    found |= {"no"} if thing.quantifier == "no" or thing.unlike else set()
    found |= {thing.relation} - {""} | ({f"kind:{thing.use}"} if thing.use else set())
    inner = (thing.support, thing.other_support, thing.unlike and thing.unlike.support)
    return found.union(*(_of_thing(t) for t in inner if t is not None))


def _evidence(heard: Heard, things: Sequence[Thing]) -> dict[str, float]:
    """Return what was said: 1 for what a clause asks, less for what one tells."""
    said: dict[str, float] = {}
    for items in heard.clauses:
        tags = [p.tag for p in items if p.tag not in ("unknown", "and", ",")]
        lists, wh = tags[:1] == ["tell"], not set(STRONG).isdisjoint(tags)
        asks = lists or wh or "or" in tags or set(tags[:1]) <= set(AUXILIARY)
        found = {f for at, p in enumerate(items) for f in _of_phrase(p, items[at - 1].tag if at else "")}
        found |= {"which", "what"} if lists else {"whether"} if asks and not wh else set()
        said |= {feature: 1.0 if asks else max(said.get(feature, 0.0), _TOLD) for feature in sorted(found)}
    said = {f"kind:{canonical(thing.kind)}": _MORE for thing in things if thing.kind} | said
    said |= {f"look:{sign}": said[sign] for sign in COMPARED if sign in said}
    return {"fit": _TOLD, **said, heard.unit: 1.0} if heard.metres else {**said, heard.unit: 1.0}


def _of_phrase(p: Phrase, before: str) -> set[str]:
    if p.thing is not None:
        rooms = is_place(p.thing) and (p.text.endswith("s") or before in ("which", "what", "all"))
        return _of_thing(p.thing) | ({"room"} if rooms or p.thing.room == "room" else set())
    if p.tag == "state":
        return {f"look:{state}" for state in states_of(p.text)}
    if p.tag in ("is_colour", "is_material"):
        return {f"look:{p.value}"}
    if p.tag == "without":
        return {"no", "without"}
    return {{"close": "look:closed", "not": "no", **PLACING}.get(p.tag, p.tag)}


def _things(heard: Heard) -> list[Thing]:
    """Return what was named, the last first, then the kinds that uses, or two names together, stand for."""
    spoken = [t for items in reversed(heard.clauses) for p in items if p.thing is not None for t in _within(p.thing)]
    things = [t._replace(quantifier="", number=0, unlike=None, room="" if t.room in ("room", "house") else t.room)
              for t in (*reversed(heard.topics), *spoken) if is_known(t)]
    things += [t._replace(kind=t.kinds[0], use="", kinds=()) for t in things if t.kinds and not t.kind]
    purpose, _ = purpose_of(" ".join(p.text for items in heard.clauses for p in items if p.tag == "unknown"))
    things += [Thing(purpose.kinds[0])] if purpose is not None and not things else []
    named = dict.fromkeys(t.kind for t in things if t.kind)
    return [*things, *(Thing(" ".join(pair)) for pair in permutations(named, 2) if " ".join(pair) in known_names())]


def _candidates(things: Sequence[Thing], heard: Heard, said: dict[str, float]) -> Iterator[Query]:
    """Yield questions of every form about the things and rooms that were heard."""
    rooms = [feature[5:] for feature in said if feature.startswith("room:")]
    places = [place for place in dict.fromkeys(PLACING.values()) if place in said]
    variants = dict.fromkeys(v for t in things for v in _variants(t, rooms))
    best = sorted(variants, key=lambda thing: -_score(Query("", (thing,)), said))[:_BEST]
    for thing in best:
        yield from _asked(thing, heard, said)
        yield from (Query("list", (Thing(room=thing.room, relation=place, support=thing._replace(room="")),))
                    for place in (*places, "on") if place != thing.relation)
    for one, other in permutations([*best[:12], *(Thing(room=room) for room in rooms)], 2):
        if (one.kind, one.room) != (other.kind, other.room) and is_place(one) == is_place(other):
            yield from _of_two(one, other, heard, said)
    yield from (Query("list", (Thing(room=room),)) for room in rooms)


def _within(thing: Thing) -> Iterator[Thing]:
    yield thing
    for inner in (thing.support, thing.other_support, thing.unlike and thing.unlike.support):
        if inner is not None:
            yield from _within(inner._replace(room=inner.room or thing.room))


def _variants(thing: Thing, rooms: Sequence[str]) -> Iterator[Thing]:
    """Yield a thing as it was named, alone, in the rooms that were heard, in the states that it can have."""
    yield thing
    for room, state in product(("", *rooms), ("", *_states(thing))):
        yield thing._replace(room=room or thing.room, state=state or thing.state)
        yield Thing(thing.kind, room, state=state, use=thing.use, kinds=thing.kinds)


def _states(thing: Thing) -> tuple[str, ...]:
    return (states_of_kind(thing.kind) if thing.kind else None) or ()


def _asked(thing: Thing, heard: Heard, said: dict[str, float]) -> Iterator[Query]:
    """Yield what may be asked of one thing."""
    no, bare = thing._replace(quantifier="no"), thing._replace(state="")
    states = [Thing(state=state) for state in _states(thing)]
    forms = ("where", "exists", "count", "room", "rooms", *(f for f in ("colour", "material", "text") if f in said))
    yield from (Query(form, (thing,)) for form in forms)
    yield from (Query(form, (no,)) for form in ("exists", "rooms"))
    yield from (Query("is", (bare,), (state,)) for state in states)
    yield from (Query("choice", (bare,), tuple(states)) for _ in states[:1])
    yield from (Query("which", (thing._replace(size=size),)) for size in ("", *COMPARED) if size in ("", *said))
    yield from (Query("most", (thing,), aspect=aspect) for aspect in ("most", "fewest") if aspect in said)
    if heard.metres:
        yield Query("passes", (thing,), metres=heard.metres)
    if thing.relation:
        free = bare._replace(relation="", support=None)
        yield Query("is", (free,), (Thing(relation=thing.relation, support=thing.support),))
    if heard.unit or not said.keys().isdisjoint(SIZES):
        yield from (Query("size", (thing,), aspect=aspect, unit=heard.unit) for aspect in SIZES)


def _of_two(one: Thing, other: Thing, heard: Heard, said: dict[str, float]) -> Iterator[Query]:
    """Yield what may be asked of two things, or of two rooms."""
    targets, both = (target_of(one), target_of(other)), (one, other)
    for sign, which in product((sign for sign in COMPARED if sign in said), (True, False)):
        yield Query("compare", both, compared=Compared("size", targets, sign, which=which))
    if is_place(one) and heard.metres:
        yield Query("passes", (Thing("door", one.room, other_room=other.room),), metres=heard.metres)
    for sign in (sign for sign in ("more", "fewer") if sign in said and one.kind):
        yield Query("compare", both, compared=Compared("more", targets, sign))
    if one.kind and one.kind == other.kind and one.room and other.room:
        for form in (form for form in ("count", "colour", "where") if form in said):
            parts = tuple(Query(form, (thing,)) for thing in both)
            yield Query("several", both, parts=parts, compared=Compared("each", targets, form))
        yield Query("choice", (one._replace(room=""),), tuple(Thing(room=thing.room) for thing in both))
        if one.state:
            yield Query("choice", (Thing(state=one.state),), tuple(t._replace(state="") for t in both))
    if {"count", "without"} <= said.keys() and one.kind:
        yield Query("count", (one._replace(unlike=Thing(relation="with", support=other)),))
    if "far" in said:
        yield Query("apart", both)
    if "closer" in said:
        yield Query("which", (one._replace(size="closer", relation="next to", support=other),))
