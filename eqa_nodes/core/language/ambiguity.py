"""What a question may mean where it fits several rooms or objects that are known, or names something unknown.

Rules in English: a name that is not known ("Pia"), a room with several of its kind ("the bedroom"), an object of the
query without room and number, of a kind that is known in several rooms ("the lamp"). They find one phrase at a time;
the question with the meaning that was chosen is checked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical, plural
from eqa_nodes.core.language.naming import by_head
from eqa_nodes.core.language.spelling import words
from eqa_nodes.core.language.understanding import understand

MOST = 6  # meanings that are offered
_NAME = re.compile(r"(?<=[\w,] )(?P<name>[A-Z][a-z]+)(?P<own>'s|’s)?(?: (?P<what>[a-z]+(?: room)?))?")
_OWNER = r"(?:the|my|our)"
_TOLD = re.compile(r"\s+(?:that|which|whose|where|(?:in|inside|on|at|from|of|near|beside|by|under|behind|next to|with) "
                   r"(?:the|my|our|an?|his|her|their)\b)")  # after a name: the question tells itself which one
_OF_ALL = frozenset(("where", "count", "room", "rooms", "most", "list", "which"))  # answered for all of them


class KnownPlaces(NamedTuple):
    """What memory knows: names of rooms, and objects by kind with the room that each is in."""

    rooms: tuple[str, ...] = ()
    things: tuple[tuple[str, str], ...] = ()


class Meaning(NamedTuple):
    """One thing that a question may mean: in words for the person, and the question that says it."""

    option: str
    question: str


class Ambiguity(NamedTuple):
    """What is not clear: a sentence that asks for it, and the meanings. what: the words that are not clear."""

    what: str
    text: str
    meanings: tuple[Meaning, ...]


def ambiguity(question: str, known: KnownPlaces) -> Ambiguity | None:
    """Return what is not clear of a question, None where it is clear, or where nothing is known to choose from."""
    return _of_name(question, known) or _of_room(question, known) or _of_thing(question, known)


def _of_name(question: str, known: KnownPlaces) -> Ambiguity | None:
    """Return the meanings of a name that is neither a word nor known: "Where is Pia?", "Pia's bedroom"."""
    for found in _NAME.finditer(question):
        name, what = found["name"], found["what"] or ""
        if not _is_name(name, question, known):
            continue
        if found["own"]:
            return _of_owned(question, found[0], name, what, known)
        start, end = found.span("name")
        others = [(option, question[:start] + said + question[end:]) for option, said in
                  (("a person", "the person"), ("a pet", "the pet"))]
        rooms = [(f"a name of the {room}", f"{question[:start]}the {room}{question[end:]}")
                 for room in _rooms(known)[:MOST - 3]]
        meanings = [*others, (f"a thing that is called {name}", question), *rooms]
        return Ambiguity(name, f"I know no {name}: what is meant?", tuple(Meaning(*m) for m in meanings))
    return None


def _of_owned(question: str, phrase: str, name: str, what: str, known: KnownPlaces) -> Ambiguity | None:
    """Return the meanings of "Pia's bedroom" or "Pia's desk"; None where there are not several to choose from."""
    head = what.split(" ")[-1]
    owned = _rooms(known) if head == "room" else [room for room in _rooms(known) if _is_kind(room, what)] or [
        f"{kind} in the {room}" for kind, room in _things(what, known)]
    if what and head != "room" and not _is_owned_word(what):
        owned = []
    return _several(question, phrase, f"Which {what} is {name}'s?", owned) if what else None


def _of_room(question: str, known: KnownPlaces) -> Ambiguity | None:
    """Return the meanings of "the bedroom" where several rooms are bedrooms, and none is just called so."""
    for head in dict.fromkeys(canonical(room).split()[-1] for room in _rooms(known)):
        named = [room for room in _rooms(known) if canonical(room).split()[-1] == head]
        if len(named) < 2 or any(canonical(room) == head for room in named):
            continue
        for name in dict.fromkeys((named[0].split()[-1], head)):
            found = re.search(rf"\b{_OWNER} {re.escape(name)}\b(?!')", question)
            if found and not _TOLD.match(question, found.end()):
                return _several(question, found[0], f"Which {name} is meant?", named)
    return None


def _of_thing(question: str, known: KnownPlaces) -> Ambiguity | None:
    """Return the meanings of "the lamp" if lamps are known in several rooms and the question names no place."""
    query = understand(question).query
    if query is None or query.form in _OF_ALL or query.rooms or any(p.support for p in query.predicates):
        return None
    for thing in query.subjects:
        found = re.search(rf"\b{_OWNER} {re.escape(thing.kind)}\b(?!')", question) if thing.kind else None
        if found and thing.support is None and thing.unlike is None and not thing.number:
            there = [f"{name} in the {room}" for name, room in _things(thing.kind, known)]
            return _several(question, found[0], f"Which {thing.kind} is meant?", there)
    return None


def _several(question: str, phrase: str, text: str, names: Sequence[str]) -> Ambiguity | None:
    """Return the meanings of a phrase, one for each name, and all of them; None for fewer than two."""
    if len(names) < 2:
        return None
    meanings = [Meaning(f"the {name}", question.replace(phrase, f"the {name}", 1)) for name in names[:MOST]]
    meanings.append(Meaning("any of them", question))
    return Ambiguity(phrase, text, tuple(meanings))


def _is_name(word: str, question: str, known: KnownPlaces) -> bool:
    """Say whether a capitalised word is a name that nothing known has: no word, no title of a question in capitals."""
    lower = word.lower()
    plain = any(other[:1].islower() for other in question.split()[1:])
    heard = " ".join((*known.rooms, *(kind for kind, _ in known.things))).lower().split()
    return plain and len(word) > 2 and lower not in words() and plural(lower) not in words() and lower not in heard


def _is_owned_word(what: str) -> bool:
    return all(word in words() for word in what.split())


def _is_kind(room: str, kind: str) -> bool:
    return f" {canonical(room)}".endswith(f" {canonical(kind)}")


def _rooms(known: KnownPlaces) -> list[str]:
    """Return the rooms, each once, without those that lead to others."""
    return sorted({room for room in known.rooms if room and canonical(room) not in ("hallway", "entryway")})


def _things(kind: str, known: KnownPlaces) -> Iterator[tuple[str, str]]:
    """Yield the objects of a kind, and of its special cases, one for each room and name: a floor lamp is a lamp."""
    seen: set[tuple[str, str]] = set()
    for name, room in sorted(known.things):
        said = kind if canonical(name) == canonical(kind) else name
        if room and (said, room) not in seen and (said == kind or by_head(name, kind)):
            seen.add((said, room))
            yield said, room


def known_of(rooms: Iterable[str], things: Iterable[tuple[str, str]]) -> KnownPlaces:
    """Return what is known, each once and in order."""
    return KnownPlaces(tuple(sorted({*rooms} - {""})), tuple(sorted({*things})))
