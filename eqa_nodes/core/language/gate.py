"""The gate: which words of a clause its reading does not account for. With such words a question is not understood."""

from __future__ import annotations

import re

from eqa_nodes.core.language.clauses import ATTRIBUTES, COMPARED, STRONG, Clause
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.phrases import PLACING, Phrase, is_known, is_place
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.states import opposite

_PLAIN = ("", "wall", "floor", "ceiling", "water")
_ANSWERS = {"colour": ("colour", "choice", "compare", "is", "which", "several"),  # word -> forms that ask for it
            "count": ("count", "rooms", "size", "apart", "gap", "compare", "seats", "more", "enough", "most"),
            "where": ("where", "use", "room", "rooms", "most", "compare", "closer", "which", "several")}
_OF_PEOPLE = ("seats", "more", "enough")  # forms that count for people
_ASKS_NEXT = ("most", "fewest", "more", "fewer", "be", "not")  # what follows them is what is asked


def unexplained(clause: Clause, query: Query) -> list[str]:
    """Return the words of the clause that its reading does not account for."""
    reading = _Reading(clause, query)
    return [word for at in range(len(clause.items)) if (word := reading.doubt(at))]


class _Reading:
    """A clause beside the query that it was read as."""

    def __init__(self, clause: Clause, query: Query) -> None:
        self._clause, self._query, self._told = clause, query, _all_things(query)
        self._cue = next((i for i, tag in enumerate(clause.tags) if tag in STRONG), 0)
        self._open = query.form not in ("is", "exists", "side") and clause.asks()  # asks for more than a yes

    def doubt(self, at: int) -> str:
        """Return the word at a position if the query does not account for it, else ""."""
        item, tags = self._clause.items[at], self._clause.tags
        before, after = tags[at - 1] if at else "", tags[at + 1] if at + 1 < len(tags) else ""
        if item.thing is not None and is_place(item.thing):
            known = self._knows_place(item.thing) or before == "out_of"
        elif item.thing is not None and not (item.thing.kind or item.thing.use) and after == "unknown":
            return self._clause.items[at + 1].text  # "is there anything cuddly"
        elif item.thing is not None:
            known = self._knows(item.thing, at)
        elif item.tag in ("state", "is_colour", "is_material"):
            looks = {look for t in self._told for look in (t.state, t.colour, t.material)} - {""}
            looks |= {self._query.compared.aspect} if self._query.compared else set()
            known = bool({item.value, opposite(item.value)} & looks) or item.text == "out" or self._clause.is_verb(at)
        elif item.tag in (*COMPARED, "than", "same", "different"):
            known = self._query.form in ("compare", "closer") or item.value in {t.size for t in self._told}
        elif item.tag in ("not", "without"):
            known = self._denies(at)
        elif at == self._cue and item.tag in _ANSWERS and self._query.form not in _ANSWERS[item.tag]:
            known = False
        elif item.tag == "person" and before == "count":
            known = self._query.form in _OF_PEOPLE
        elif item.text in ("the", "any", "no") and after == "unknown":
            known = at < self._cue or tags[at + 2:at + 3] == ["place"]
        else:
            known = item.tag != "unknown" or self._may_be_ignored(item, at, before, after)
        return "" if known else item.text

    def _knows_place(self, place: Thing) -> bool:
        rooms = {room for t in self._told for room in (t.room, t.other_room, t.kind)}
        return place.quantifier != "other" and re.sub(r"^\d ", "", place.room) in {*rooms, "house", "room"}

    def _knows(self, thing: Thing, at: int) -> bool:
        """Return whether a thing is asked about, or only spoken of: "from my desk", "for my dog"."""
        kinds = {canonical(t.kind) for t in self._told}
        if thing.kind in _PLAIN or canonical(thing.kind) in kinds or (thing.use and thing.use in {
                t.use for t in self._told}):
            return True
        before, fits = self._clause.tags[at - 1] if at else "", self._query.form == "passes" and self._query.metres
        if before in ("which", "what") or (fits and not is_known(thing)):
            return True
        aside = not is_known(thing) and (at <= self._cue or before in ("from", "at", "but"))
        return aside or bool(at and self._clause.items[at - 1].text == "for")

    def _denies(self, at: int) -> bool:
        """Return whether a "not" here is part of the query."""
        query, told = self._query, self._told
        return query.denied or "or" in self._clause.tags or any(t.quantifier == "no" or t.unlike for t in told) or (
            self._open and at < self._cue) or (query.form == "rooms" and bool(query.things[0].state))

    def _may_be_ignored(self, item: Phrase, at: int, before: str, after: str) -> bool:
        """Return whether an unknown word changes nothing: "where did I chuck my shoes", "any old chairs"."""
        if before in ("any", "the") or (item.text.endswith("ing") and after == "state"):
            return True
        return self._open and not (before in ATTRIBUTES and after in PLACING) and not (
            at > self._cue and self._is_asked(at, after))

    def _is_asked(self, at: int, after: str) -> bool:
        """Return whether an unknown word is what is asked: "is comfortable", "what does it cost"."""
        tags = self._clause.tags
        if tags[at - 1] in _ASKS_NEXT:
            return "and" not in tags[at:] and after not in PLACING  # "what was pushed under the desk"
        before = tags[:at]
        alone = "do" in before and "person" not in before and after in ("", ",")
        return alone or (self._query.form == "where" and "can" in before and "person" in before)


def _all_things(query: Query) -> list[Thing]:
    """Return every phrase of a query, with those inside of others."""
    found: list[Thing] = []
    waiting = [*query.things, *query.predicates]
    while waiting:
        thing = waiting.pop()
        found.append(thing)
        waiting += [t for t in (thing.support, thing.other_support, thing.unlike) if t is not None]
    return found
