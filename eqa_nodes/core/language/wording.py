"""A query in words: as every interface prints it, and as a whole question that may be asked back."""

from __future__ import annotations

from eqa_nodes.core.language.english import join_list, number_word, plural, singular, with_article
from eqa_nodes.core.language.query import Query, Thing

_SIZES = {"wide": "wide", "high": "tall", "long": "long", "deep": "deep", "thick": "thick", "big": "big"}
_UNITS = {"cm": "centimetres", "mm": "millimetres", "inch": "inches", "foot": "feet", "m": "metres", "yard": "yards"}
_SCOPED = ("count", "exists", "where", "room", "which", "use")
_MOST = ("most", "fewest")


def question_of(query: Query) -> str:
    """Return a query as one question: "How many lit candles are there in the study?"."""
    text = _asked(query)
    return f"{text[0].upper()}{text[1:]}?"


def in_words(query: Query) -> str:
    """Return how a query was understood: "how many clocks are there, of all kinds, in the whole house"."""
    if query.parts:
        return "; ".join(map(in_words, query.parts))
    text = _asked(query)
    thing = query.things[0] if query.things else Thing()
    if query.form == "count" and thing.kind and not thing.looks:
        text += ", of all kinds"
    if query.form in _SCOPED and not query.rooms:
        text += ", in the whole house"
    return text


def _asked(query: Query) -> str:
    if query.parts:
        return ", and ".join(map(_asked, query.parts))
    if query.compared is not None and query.form != "closer":
        return _compared(query)
    writer = _WRITERS.get(query.form)
    return writer(query) if writer else " ".join(filter(None, (query.form, *(the(t) for t in query.things))))


def the(thing: Thing) -> str:
    """Return a phrase with its article: "the red mug on the desk"."""
    if thing.quantifier in ("all", "any", "no"):
        every = "both" if thing.number == 2 and thing.quantifier == "all" else thing.quantifier
        return f"{every} {thing._replace(number=0).name}"
    return thing.name if thing.use and not thing.kind else f"the {thing.name}"


def _a(thing: Thing) -> str:
    some = thing.number > 1 or (thing.use and not thing.kind)
    return thing.name if some else with_article(thing.name)


def _are(thing: Thing) -> str:
    many = thing.number > 1 or thing.quantifier in ("all", "the") or (
        thing.kind and singular(thing.kind) != thing.kind) or plural(thing.kind or "thing") == thing.kind
    return "are" if many else "is"


def _many(thing: Thing) -> str:
    if thing.use and not thing.kind:
        return thing._replace(kind="thing", number=0, quantifier="the", use="").name + f" to {thing.use}"
    return thing._replace(number=0, quantifier="the").name


def _exists(query: Query) -> str:
    thing = query.things[0]
    if thing.quantifier == "no" or query.denied:
        return f"is there no {thing._replace(quantifier='').name}"
    return f"{'are' if thing.number > 1 else 'is'} there {_a(thing)}"


def _is(query: Query) -> str:
    thing, said = query.things[0], query.predicates[0]
    looks = said.looks or with_article(said.kind)
    return f"{_are(thing)} {the(thing)} {'not ' if query.denied else ''}{looks}"


def _choice(query: Query) -> str:
    thing = query.things[0]
    options = [p.looks if thing.kind else the(p) for p in query.predicates]
    if not thing.kind:
        return f"which is {thing.looks}, {' or '.join(options)}"
    return f"{_are(thing)} {the(thing)} {' or '.join(options)}"


def _list(query: Query) -> str:
    thing = query.things[0]
    if thing.kind or thing.use:
        return f"which {_many(thing)} are there"
    return f"what is {thing.looks}"


def _which(query: Query) -> str:
    thing = query.things[0]
    if thing.size == "closer" and thing.support is not None:
        bare = thing._replace(size="", relation="", support=None, quantifier="", number=0)
        return f"which {bare.name} is closer to {the(thing.support)}"
    if thing.state and thing.unlike is None:
        return f"which {_many(thing._replace(state=''))} are {thing.state}"
    return f"which are the {_many(thing)}"


def _rooms(query: Query) -> str:
    thing = query.things[0]
    which = "how many" if query.aspect == "count" else "which"
    rooms = plural(thing.room) if thing.room else "rooms"
    bare = thing._replace(room="", quantifier="")
    if thing.kind.endswith("room") or thing.kind in ("room", "kitchen", "study"):
        return f"{which} {plural(thing.kind)} are there"
    return f"{which} {rooms} have {'no ' + bare.name if thing.quantifier == 'no' else _a(bare)}"


def _compared(query: Query) -> str:
    asked = query.compared
    assert asked is not None
    things = [f"the {t.room}" if t == Thing(room=t.room) else the(t) for t in query.things]  # rooms are compared
    if asked.form == "same":
        return f"do {join_list(things)} have {'different' if asked.denied else 'the same'} {asked.aspect or 'looks'}"
    if asked.form == "more":
        one, *others = query.things
        if not asked.which:
            return f"are there {asked.aspect} {_many(one)} than {join_list([_many(t) for t in others])}"
        rooms = " or ".join(f"the {t.room}" for t in query.things)
        return f"where are there {asked.aspect} {_many(one._replace(room=''))}, in {rooms}"
    if asked.form == "size":
        if asked.which:
            return f"which is {asked.aspect}, {' or '.join(things)}"
        return f"is {things[0]} {asked.aspect} than {' and '.join(things[1:])}"
    if asked.form == "count":
        rooms = join_list([f"the {target.where}" for target in asked.targets])
        return f"how many {_many(query.things[0]._replace(room=''))} are there in {rooms} together"
    thing, places = query.things[0]._replace(room=""), [f"the {target.where}" for target in asked.targets]
    where = f"both {join_list(places)}" if asked.form == "both" else " or ".join(places)
    return f"is {the(thing)} {asked.aspect} in {where}" if asked.aspect else f"is there {_a(thing)} in {where}"


def _size(query: Query) -> str:
    unit = f" in {_UNITS[query.unit]}" if query.unit in _UNITS else ""
    if query.aspect == "area":
        return f"how large is the {query.things[0].room}{unit}"
    return f"how {_SIZES.get(query.aspect, query.aspect)} is {the(query.things[0])}{unit}"


def _fits(query: Query) -> str:
    what = f"something {query.metres:.2f} m wide" if query.metres else the(query.things[-1])
    if query.form == "passes":
        return f"does {what} fit through {the(query.things[0])}"
    return f"does {what} fit between {the(query.things[0])} and {the(query.things[1])}"


def _use(query: Query) -> str:
    thing = query.things[0]
    room = f" in the {thing.room}" if thing.room else ""
    if query.aspect == "tool":
        return f"what can I use to {thing.use}{room}"
    if query.aspect == "room":
        return f"which room should I go to to {thing.use}"
    return f"where can I {thing.use}" if query.aspect == "place" else f"where can I find something to {thing.use}{room}"


_WRITERS = {
    "exists": _exists, "is": _is, "choice": _choice, "list": _list, "rooms": _rooms, "size": _size, "fits": _fits,
    "passes": _fits, "use": _use,
    "count": lambda q: f"how many {_many(q.things[0])} are there",
    "where": lambda q: f"where {_are(q.things[0])} {the(q.things[0])}",
    "room": lambda q: f"which room {_are(q.things[0])} {the(q.things[0])} in",
    "colour": lambda q: f"what colour {_are(q.things[0])} {the(q.things[0])}",
    "material": lambda q: f"what {_are(q.things[0])} {the(q.things[0])} made of",
    "state": lambda q: f"what state {_are(q.things[0])} {the(q.things[0])} in",
    "text": lambda q: f"what is written on {the(q.things[0])}",
    "which": _which,
    "most": lambda q: f"which room has {'the most' if q.aspect == 'most' else 'the fewest'} {_many(q.things[0])}",
    "apart": lambda q: f"how far is {the(q.things[0])} from {the(q.things[1])}",
    "gap": lambda q: f"how wide is the gap between {the(q.things[0])} and {the(q.things[1])}",
    "closer": lambda q: f"which is closer to {the(q.things[0])}, {the(q.things[1])} or {the(q.things[2])}",
    "side": lambda q: f"is {the(q.things[0])} to the {q.aspect or 'left or to the right'} of {the(q.things[1])}",
    "seats": lambda q: f"how many people can sit at {the(q.things[0])}",
    "enough": lambda q: f"are there enough {_many(q.things[0])} for {number_word(q.number)} people",
    "more": lambda q: f"how many more {_many(q.things[0])} are needed for {number_word(q.number)} people",
    "fits_two": lambda q: f"can two people sleep in {the(q.things[0])}",
    "sit_for": lambda q: "where can one sit to watch television",
    "hint": lambda q: f"which {q.aspect} is there", "sign": lambda q: f"does a {q.aspect} live here",
    "wasted_in": lambda q: f"is {q.aspect} being wasted in the {q.things[0].room}",
    "wasting": lambda q: f"what is wasting {q.aspect} in the {q.things[0].room}",
    "bath": lambda q: f"can one take a bath in the {q.things[0].room}, or only a shower",
}
