"""Statements that memory can watch: "the stove is on for 30 min", "there is a box in the entryway", "the mug is moved".

A statement is read by the parser of questions, as the question whether it is so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from eqa_nodes.core.errors import BadQuestion
from eqa_nodes.core.language.english import canonical, content_words, number
from eqa_nodes.core.language.naming import by_head, in_group, known_names
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.rooms import fits_room
from eqa_nodes.core.language.spelling import is_word
from eqa_nodes.core.language.states import state_of
from eqa_nodes.core.language.time_words import time_words
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.memory.ledger import PEOPLE

MAX_LETTERS = 200  # of a statement
_UNITS = {"s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hr": 3600, "hour": 3600,
          "d": 86400, "day": 86400, "week": 7 * 86400}
_FOR = re.compile(r"(?P<rest>.+?),? (?:(?:for )?(?:longer|more) than|for(?: at least| over| more than| longer than)?) "
                  r"(?P<time>.+)", re.I)
_AMOUNT = re.compile(r"(?P<half>half )?(?P<amount>an?|\d+(?:\.\d+)?|[a-z-]+)?(?P<half_a> and a half)? ?"
                     rf"(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})s?(?P<more> and a half)?", re.I)
_GONE = re.compile(r"(?:(?:the|my|our|your|an?) )?(?P<thing>.+?) (?:is|are|has|have)(?: been)? "
                   r"(?:gone|missing|away|removed|taken away)", re.I)
_MOVED = re.compile(r"(?P<thing>.+?) (?:moves?|(?:(?:is|are|was|were|has|have|gets?)(?: been| being)? )moved)", re.I)
_THING_IS = re.compile(r"\b(?P<verb>is|are) (?P<what>.+)", re.I)
_NOT = re.compile(r"\b(is|are)(?: no longer| not|n't)\b", re.I)
_SEVERAL = re.compile(r"\b(?:and|or|then|while|but)\b", re.I)
_SAY = 'say "the stove is on for 30 min", "there is a box in the entryway", "the suitcase is gone" or "the laptop is ' \
       'moved"'
_AT = ("on", "in", "under")  # relations that memory knows


class WatchStatement(NamedTuple):
    """A statement about the things of a kind.

    thing: which things, with the room and the support that choose among them; place: room and support where they are
    to be; state: the state that they are to have; moved: whether they are to move instead; denied: it is to be false;
    lasts_ns: for how long.
    """

    text: str
    thing: Thing
    place: Thing
    state: str
    moved: bool
    denied: bool
    lasts_ns: int

    @property
    def people(self) -> bool:
        """Whether it is about people, whom memory counts for each room."""
        return canonical(self.thing.kind) in PEOPLE

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of things that it names."""
        supports = (self.thing.support, self.place.support)
        return (self.thing.kind, *(support.kind for support in supports if support is not None))

    def fits(self, kind: str, attributes: Mapping[str, str]) -> bool:
        """Return whether an object is one of the things that it is about, wherever it is."""
        colour = self.thing.colour
        return fits_kind(kind, self.thing.kind) and (
            not colour or "colour" not in attributes or canonical(attributes["colour"]) == canonical(colour))

    def holds(self, kind: str, room: str, attributes: Mapping[str, str]) -> bool | None:
        """Return whether it is so of an object that fits, as a look saw it; None where the look does not say."""
        if not _is_at(self.thing, room, attributes):
            return None
        if not _is_at(self.place, room, attributes):
            return False
        if not self.state:
            return True
        state = attributes.get("state", "")
        return _state(state, kind) == _state(self.state, kind) if state else None

    def true(self, values: list[bool]) -> bool:
        """Return whether the last looks at its things make it true: at one of them, at as many as it names, or at all.
        """
        least = len(values) if self.thing.quantifier in ("all", "the") else max(1, self.thing.number)
        return (sum(values) >= least) != self.denied


@lru_cache(maxsize=4096)
def fits_kind(kind: str, name: str) -> bool:
    """Return whether a kind of object is what a name means: of "lamp" also a table lamp."""
    return (set(canonical(kind).split()) <= set(content_words(name)) or in_group(kind, name)
            or by_head(kind, name))


def is_known_kind(name: str) -> bool:
    """Return whether the language knows a kind of thing that memory may not have seen yet, if only as a word."""
    return canonical(name) in PEOPLE or name in known_names() or all(map(is_word, name.split()))


def _is_at(wanted: Thing, room: str, attributes: Mapping[str, str]) -> bool:
    if not fits_room(room, wanted.room):
        return False
    if wanted.support is None:
        return True
    relation, support = attributes.get("relation", ""), attributes.get("support", "")
    return bool(support) and fits_kind(support, wanted.support.kind) and (
        relation not in _AT or wanted.relation not in _AT or relation == wanted.relation)


def _state(state: str, kind: str) -> str:
    return state_of(state, kind) or canonical(state)


@lru_cache(maxsize=256)
def stored_statement(text: str) -> WatchStatement | None:
    """Return a stored statement, None if this version does not understand it."""
    try:
        return read_statement(text)
    except BadQuestion:
        return None


def read_statement(text: str) -> WatchStatement:
    """Return what is to be watched. Raises BadQuestion, naming what is not understood and what would work."""
    text = " ".join(text.split()).rstrip(".!? ")
    if not text or len(text) > MAX_LETTERS:
        raise BadQuestion(f"a statement to watch has 1 to {MAX_LETTERS} letters: {_SAY}")
    said, lasts_ns = _lasting(text)
    if gone := _GONE.fullmatch(said):
        return _read(text, f"is there no {gone['thing']}", lasts_ns)
    if moved := _MOVED.fullmatch(said):
        return _moving(text, moved["thing"], lasts_ns)
    return _read(text, said, lasts_ns)


def _lasting(text: str) -> tuple[str, int]:
    """Return a statement without its duration, and that in ns, 0 = none."""
    found = _FOR.fullmatch(text)
    if found is None:
        return text, 0
    amount = _AMOUNT.fullmatch(found["time"])
    ns = round(_seconds(amount) * 1e9) if amount is not None else 0
    if ns <= 0 or ns > 366 * 86400 * 10 ** 9:
        raise BadQuestion(f"{found['time']!r} is not understood as a duration: say for 30 min, for two hours, for half "
                          "an hour or for 3 days (at most a year)")
    return found["rest"], ns


def _seconds(found: re.Match[str]) -> float:
    """Return a duration such as "two hours" or "an hour and a half" in seconds, 0 if its number is not understood."""
    words = (found["amount"] or "a").lower()
    if re.fullmatch(r"\d+(?:\.\d+)?", words):
        amount: float = float(words)
    else:
        amount = 1 if words in ("a", "an") else number(words) or 0
    amount += 0.5 * bool(amount and (found["half_a"] or found["more"]))
    return amount * (0.5 if found["half"] else 1.0) * _UNITS[found["unit"].lower()]


def _moving(text: str, thing: str, lasts_ns: int) -> WatchStatement:
    query = understand(f"where is {thing}").query
    if query is None or query.form != "where" or len(query.things) != 1 or not query.things[0].kind:
        raise _not_understood(text)
    moved = query.things[0]
    if lasts_ns or moved != Thing(moved.kind, colour=moved.colour, quantifier=moved.quantifier):
        raise BadQuestion(f"{text!r} says more than that a thing is moved, which cannot be watched: say \"the "
                          f"{moved.kind} is moved\"")
    if canonical(moved.kind) in PEOPLE:
        raise BadQuestion(f'memory does not follow people: say "there is a {moved.kind} in the kitchen"')
    return WatchStatement(text, moved, Thing(), "", True, False, 0)


def _read(text: str, said: str, lasts_ns: int) -> WatchStatement:
    """Return a statement about a state or a place."""
    if _SEVERAL.search(said):
        raise BadQuestion(f"{text!r} says several things, and a watch is for one: set a watch for each")
    query, denied = _query(said)
    if query is None and time_words(said):
        raise BadQuestion(f"{text!r} names a time, and a watch is for all looks to come: say it without "
                          f"{time_words(said)[0].text!r}")
    if query is None or query.form not in ("is", "exists") or len(query.things) != 1 or not query.things[0].kind \
            or len(query.predicates) > 1:
        raise _not_understood(text)
    thing = query.things[0]
    denied ^= query.denied ^ (thing.quantifier == "no")
    predicate = query.predicates[0] if query.predicates else thing
    state = predicate.state or thing.state
    which, place = thing, predicate
    if query.predicates and state and not predicate.room and predicate.support is None:
        place = Thing()  # "the window in the kitchen is open" is about that window
    else:  # "there is a box in the kitchen" is about all boxes
        place = Thing(room=predicate.room or thing.room, relation=predicate.relation or thing.relation,
                      support=predicate.support or thing.support)
        which = thing._replace(room="", relation="", support=None)
    found = WatchStatement(text, which, place, state, False, denied, lasts_ns)
    _check(found, thing, predicate)
    return found


def _query(said: str) -> tuple[Query | None, bool]:
    """Return a statement as a question, as it is or with the verb in front ("is the box in the entryway"), and whether
    it is denied.
    """
    if (query := understand(said).query) is not None:
        return query, False
    said, denied = _NOT.subn(r"\1", said, count=1)
    for verb in _THING_IS.finditer(said):
        asked = f"{verb['verb']} {said[:verb.start()]}{verb['what']}"
        if (query := understand(asked).query) is not None:
            return query, denied > 0
    return None, False


def _check(found: WatchStatement, *said: Thing) -> None:
    """Raise BadQuestion for what looks do not tell."""
    for t in said:
        if t.material or t.size or t.unlike or t.other_room or t.use or t.other_support or (
                t.support is not None and t.relation not in ("", "at", *_AT)):
            raise BadQuestion(f"{found.text!r} names more than looks tell: name kinds and colours of things, their "
                              "state, and the room or what they are on, in or under")
    if len(said) == 2 and said[0] is not said[1] and said[1].colour:
        raise BadQuestion(f"{found.text!r} is about a colour, which does not change: say \"there is a "
                          f"{said[1].colour} {found.thing.kind}\"")
    if found.people and not found.place.room:
        raise BadQuestion(f"{found.text!r} names no room, and people are counted for each room: say \"there is a "
                          "person in the kitchen\"")


def _not_understood(text: str) -> BadQuestion:
    return BadQuestion(f"{text!r} is not understood as a statement about a thing: {_SAY}")
