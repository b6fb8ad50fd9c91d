"""A clause of a question: its phrases and words, what was spoken of before it, and what it says of its things."""

from __future__ import annotations

from collections.abc import Sequence

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.phrases import PLACING, Phrase, is_known, is_place
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.states import states_of_kind

SIZES = ("wide", "high", "long", "deep", "thick", "big")
COMPARED = ("larger", "smaller", "taller", "shorter", "wider", "narrower", "longer", "deeper")
ATTRIBUTES = ("colour", "material", "condition", "text")
STRONG = ("what", "which", "where", "count", "colour", "material", "condition", "far", "gap", *SIZES)
LISTING = ("name", "list", "identify", "describe", "give", "report")  # "name the rooms" asks
AUXILIARY = ("be", "do", "have", "can")
_BEFORE_UP = ("thing", "be", "it", "have", "place", ",", "or")  # "is the lid up", but not "wake up"
_AFTER_ON = ("", "or", "than", ",", "and", "in", "at", "if", "but")  # "is it on in the kitchen", but not "on the desk"
_THERE = {**dict.fromkeys(("on top", "sitting on top", "standing on top", "lying on top"), "on"),
          "on top of": "on", "underneath": "under", "below": "under", "inside": "in"}
_PARTS = frozenset(("lid", "door", "cover", "shade", "lampshade", "seat", "top", "drawer", "lids", "doors", "title"))


class Clause:
    """One question of a text, as phrases and words; topics: what was spoken of before it."""

    def __init__(self, items: Sequence[Phrase], topics: Sequence[Thing], metres: float, unit: str, place: str,
                 group: Sequence[Thing] = (), spot: Thing | None = None) -> None:
        """Take what was spoken of: metres and unit of the text, the room that was named first, a group and a place."""
        self.told, self.group, self.spot = bool(items and items[0].tag == "if"), group, spot
        self.topics, self.metres, self.unit = topics, metres, unit
        self.items = self._resolved([p for p in items if p.tag not in ("chatter", "if")])
        self.tags = [p.tag for p in self.items]
        self.things = [p.thing for p in self.items if p.thing is not None and not is_place(p.thing)]
        rooms = [p.thing.room for i, p in enumerate(self.items) if p.thing is not None and is_place(p.thing)
                 and not (i and self.tags[i - 1] == "out_of")]
        self.rooms = [room for room in rooms if room not in ("house", "room")] or ([place] if place else [])

    def _resolved(self, items: list[Phrase]) -> list[Phrase]:
        """Put what a pronoun refers to in its place; "the red one" gets its kind from what was spoken of last."""
        out: list[Phrase] = []
        for item in items:
            kinds = [p.thing.kind for p in out if p.thing is not None and p.thing.kind not in ("", "one", "it")]
            last = self.topics[-1] if self.topics else None
            thing = item.thing
            if thing is not None:
                if thing.kind == "one" and thing.quantifier == "other" and last is not None:
                    thing = last.other() or thing
                elif thing.kind == "one" and last is not None and not kinds and not thing.looks and item.fixed:
                    thing = last._replace(quantifier="that")  # "is that one full?"
                elif thing.kind == "one" and kinds:
                    thing = thing._replace(kind=kinds[-1])
                elif thing.kind == "one" and last is not None:
                    thing = last.told(thing)._replace(quantifier=thing.quantifier, number=thing.number)
                bare = thing._replace(quantifier="") == Thing(relation="in", support=thing.support)
                if bare and kinds and (thing.quantifier == "no" or out[-1].tag == "have"):
                    state = "empty" if thing.quantifier == "no" else "full"
                    out.append(Phrase("state", state, state))  # "which bowl has nothing in it"
                    continue
                if thing.support is not None and thing.support.kind == "it":
                    other = last if last is not None and (last.kind, last.use) != (thing.kind, thing.use) else None
                    thing = thing._replace(support=other, relation=thing.relation if other else "",
                                           room=thing.room or (other.room if other else ""))
                inner = thing.support.support if thing.support is not None else None
                if thing.support is not None and inner is not None and inner.kind == "it" and last is not None:
                    thing = thing._replace(support=thing.support._replace(support=last), room=thing.room or last.room)
                if thing.kind in _PARTS and last is not None and not thing.colour and not thing.room:
                    thing = last
                item = item._replace(thing=thing)
            out.append(item)
        return out

    def is_tag(self) -> bool:
        """Return whether the words only ask for a yes: "isn't it?", "am I right?"."""
        return not set(self.tags) - {*AUXILIARY, "not", "it", "person", "there", "and", ",", "tell", "or", "at", "if"}

    def subject(self, query: Query | None, spoken: Sequence[Thing]) -> list[Thing]:
        """Return what the next clause may call "it": what this one asks about, or what it names first."""
        if query is not None and not query.parts and query.things and is_known(query.things[0]):
            thing = query.things[0]._replace(quantifier="", number=0)
            if query.form == "is" and not self.asks() and query.predicates[0].colour and not query.denied:
                thing = thing.told(query.predicates[0])  # "one cushion is pink: what colour is the other one?"
            return [thing if thing.kind or thing.use or thing.support is None else thing.support]
        if spoken and self.tags[0] in PLACING:
            return [self.with_predicate(spoken[-1])]  # "on the desk stands a lamp"
        return list(spoken[:1])

    def places_said(self) -> list[Thing]:
        """Return what is said of places: "beneath the desk"."""
        inside = [t for t in self.things if not t.kind and t.support is not None]
        return [*inside, *self.said()]

    def has(self, *tags: str) -> bool:
        """Return whether a word of these tags occurs."""
        return any(tag in tags for tag in self.tags)

    def asks(self) -> bool:
        """Return whether the words ask, rather than tell."""
        if self.has(*STRONG, "or") or any(t.quantifier == "any" for t in self.things[:1]):
            return True
        first = next((p for p in self.items if p.tag not in ("and", "but", ",", "unknown", "at", "not")), None)
        return self.told or (first is not None and (first.tag in AUXILIARY or first.text in LISTING))

    def main(self, after: int = 0) -> Thing | None:
        """Return what the question is about: named after a word, in the clause, or spoken of before it."""
        named = [(i, p.thing) for i, p in enumerate(self.items) if p.thing is not None and not is_place(p.thing)
                 and p.thing.kind not in ("one", "it")]
        known = [pair for pair in named if is_known(pair[1])] or ([] if self.topics else named)
        if self.topics and len(self.tags) > 1 and self.tags[0] in AUXILIARY and self.tags[1] == "it":
            known = []
        thing = next((t for i, t in known if i >= after), known[-1][1] if known else None)
        if thing is None and self.topics:
            room = self.rooms[0] if len(self.rooms) == 1 else self.topics[-1].room  # "... and how many in the kitchen?"
            return self.topics[-1]._replace(quantifier="that", room=room)
        if thing is not None and len(self.rooms) == 1 and not thing.room:
            thing = thing._replace(room=self.rooms[0])
        return thing

    def at(self, *tags: str) -> int:
        """Return the position of the first word of these tags, -1 for none."""
        return next((i for i, tag in enumerate(self.tags) if tag in tags), -1)

    def between(self) -> list[Thing]:
        """Return the two things that something is between, [] where nothing is."""
        inside = next((t for t in self.things if t.relation == "between" and t.other_support is not None), None)
        if inside is not None and inside.support is not None and inside.other_support is not None:
            return [t._replace(room=t.room or inside.room) for t in (inside.support, inside.other_support)]
        for at, item in enumerate(self.items[:-3]):
            if item.tag == "between" or item.value == "between":
                one, mark, two = (self.items[at + k] for k in (1, 2, 3))
                if one.thing is not None and two.thing is not None and mark.tag in ("and", "or") and one.thing.kind:
                    return [one.thing._replace(room=one.thing.room or two.thing.room), two.thing]
        return []

    def with_predicate(self, thing: Thing) -> Thing:
        """Return a thing with what the clause says of it: "how many lamps are on", "chairs are at the table"."""
        negated = self.has("not")
        for predicate in self.said(thing):
            if predicate == thing:
                continue
            if negated and not predicate.support:
                thing = thing._replace(unlike=predicate)
                continue
            for field in ("state", "colour", "material", "relation", "support"):
                if getattr(predicate, field) and not getattr(thing, field):
                    thing = thing._replace(**{field: getattr(predicate, field)})
            thing = thing._replace(room=thing.room or predicate.room)
        return thing

    def said(self, thing: Thing | None = None) -> list[Thing]:
        """Return what the clause says of things outside of their phrases: states, looks, places."""
        found: list[Thing] = []
        if (two := self.between()) and not any(t.relation == "between" for t in self.things):
            found.append(Thing(relation="between", support=two[0]._replace(room=""), room=two[1].room or two[0].room,
                               other_support=two[1]._replace(room="")))
        found += (one for at in range(len(self.items)) if (one := self._said_at(at, thing)) is not None)
        return found

    def _said_at(self, at: int, thing: Thing | None) -> Thing | None:
        """Return what the word at a position says of things: a state, a look or a place."""
        item, after = self.items[at], self.tags[at + 1] if at + 1 < len(self.tags) else ""
        if item.tag == "state":
            dark = item.text == "out" and thing is not None and not _glows(thing)  # "how many plates are out"
            return None if dark or self.is_verb(at) else Thing(state=item.value)
        if item.tag == "is_colour":
            return Thing(colour=item.value)
        if item.tag == "is_material":
            return Thing(material=item.value)
        if (item.text == "made" and not self.has("what")) or (
                item.tag == "make" and thing is not None and canonical(thing.kind) == "bed"):
            return Thing(state="made")
        if item.tag == "close":
            return Thing(state="closed")
        if item.tag == "updown" and at and (self.tags[at - 1] in _BEFORE_UP or self.items[at - 1].text in _PARTS):
            opens = thing is None or not thing.kind or "closed" in (states_of_kind(thing.kind) or ())
            return Thing(state="open" if item.text == "up" else "closed") if opens else None
        if self.topics and self.has("what") and item.text in _THERE and after in ("", ",", "and"):
            return Thing(relation=_THERE[item.text], support=self.topics[-1], room=self.topics[-1].room)
        if item.text == "on" and at and after in _AFTER_ON:
            return Thing(state="on")
        return self._place_at(at, thing) if item.tag in PLACING and after else None

    def _place_at(self, at: int, thing: Thing | None) -> Thing | None:
        """Return the place that a preposition begins: "are they (on) the desk"."""
        other = self.items[at + 1].thing
        if other is None and self.tags[at + 1] == "it" and self.topics:
            other = self.topics[-1]
        if other is None or other is thing or is_place(other):
            return None
        return Thing(relation=PLACING[self.tags[at]], support=other, room=other.room)

    def is_verb(self, at: int) -> bool:
        """Return whether a word of state is a verb: "I have to empty each bin"."""
        return at > 0 and self.items[at - 1].text == "to"


def _glows(thing: Thing) -> bool:
    states = states_of_kind(thing.kind) if thing.kind else None
    return bool(states) and not {"on", "lit"}.isdisjoint(states or ())
