"""Reads a question as a typed query: phrases first (phrases.py), then what the words between them ask of these.

Nothing is guessed: a question whose words do not all fit is not understood, and is asked back with questions that it
may mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.inferences import inferred, query_of
from eqa_nodes.core.language.lexing import plain, sentences
from eqa_nodes.core.language.naming import members
from eqa_nodes.core.language.phrases import PLACING, Phrase, is_known, is_place, phrases
from eqa_nodes.core.language.quantities import lengths
from eqa_nodes.core.language.query import Exchange, Query, Thing, Understood
from eqa_nodes.core.language.refusing import NOT_UNDERSTOOD, Heard, not_a_question, suggestions, why_not
from eqa_nodes.core.language.states import opposite, states_of_kind
from eqa_nodes.core.language.targets import Compared, Target, missing_names
from eqa_nodes.core.language.uses import OFFERS, purpose_of
from eqa_nodes.core.language.wording import in_words

_SIZES = ("wide", "high", "long", "deep", "thick", "big")
_COMPARED = ("larger", "smaller", "taller", "shorter", "wider", "narrower", "longer", "deeper")
_ATTRIBUTES = ("colour", "material", "condition", "text")
_STRONG = ("what", "which", "where", "count", "colour", "material", "condition", "far", "gap", *_SIZES)
_AUXILIARY = ("be", "do", "have", "can")
_FOR_EACH = ("where", "room", "colour", "material", "state", "size")
_ANIMALS = frozenset(map(canonical, members("pet")))
_BEFORE_UP = ("thing", "be", "it", "have", "place", ",", "or")  # "is the lid up", but not "wake up"
_AT_ONCE = 4  # questions in one line
_PLAIN = ("", "wall", "floor", "ceiling", "water")
_LISTING = ("name", "list", "identify", "describe", "give", "report")
_THERE = {**dict.fromkeys(("on top", "sitting on top", "standing on top", "lying on top"), "on"),
          "on top of": "on", "underneath": "under", "below": "under", "inside": "in"}
_ORDINALS = {2: ("one", "other"), 3: ("one", "another", "third")}
_OPENINGS = ("door", "front door", "passage", "opening", "doorway", "window", "gap", "entrance", "archway", "hatch")
_PARTS = frozenset(("lid", "door", "cover", "shade", "lampshade", "seat", "top", "drawer", "lids", "doors", "title"))


def understand(text: str, before: Exchange | None = None) -> Understood:
    """Return how a question is read, after another one if there was one: its query, or why there is none."""
    if why := not_a_question(text):
        return Understood(None, why=why, question=text)
    reading = _read(text)
    if reading.query is None:
        why = why_not(text, reading.unclear)
        asked_back = suggestions(reading.heard) if why.startswith(NOT_UNDERSTOOD) else ()
        return Understood(None, why=why, suggestions=asked_back, question=text)
    return Understood(reading.query, in_words(reading.query), question=text)


def targets(question: str) -> tuple[Target, ...]:
    """Return the places or objects that a question is about where it is about several, in its order; else ()."""
    query = understand(question).query
    return query.targets if query is not None else ()


def missing_in(message: str, question: str) -> tuple[Target, ...]:
    """Return the targets of a question that such a message calls missing; () for any other message."""
    names = missing_names(message)
    return tuple(target for target in targets(question) if target.name in names) if names else ()


class Reading(NamedTuple):
    """What was read of a question: its query, else which words are unclear, and what else was recognised."""

    query: Query | None
    unclear: tuple[str, ...] = ()
    heard: Heard = Heard()


@lru_cache(maxsize=1024)
def _read(text: str) -> Reading:
    if (query := _inferred(text)) is not None:
        return Reading(query)
    doubtful, unclear = list[Query](), list[str]()
    topics: list[Thing] = []
    asked: list[Query] = []
    weak: list[Query] = []
    metres = lengths(text)
    cut = [segment for words in sentences(text) for segment in _segments(_merged(phrases(words)))]
    unit = next((p.value for segment in cut for p in segment if p.tag == "unit" and not _numbered(segment, p)), "")
    place, group, spot, failed = "", list[Thing](), None, False
    for at, segment in enumerate(cut):
        clause = Clause(segment, topics, metres[0] if metres else 0.0, unit, place, group=group, spot=spot)
        if not topics and at + 1 < len(cut) and clause.main() is None:  # "Made or unmade, how did she leave the bed?"
            later = [p.thing for p in cut[at + 1] if p.thing is not None and is_known(p.thing)]
            clause = Clause(segment, later[:1], metres[0] if metres else 0.0, unit, place)
        query = clause.again(asked[-1]) if asked else None
        query = query or clause.query()
        odd = clause.unexplained(query) if query is not None else [p.text for p in clause.items if p.tag == "unknown"]
        if query is not None and not odd:
            (asked if clause.asks() else weak).append(query)
        else:
            unclear = odd if clause.asks() or not unclear else unclear
            doubtful += [query] if query is not None else []
            failed = failed or (clause.asks() and not clause.is_tag())
        spoken = [t for p in segment if (t := p.thing) is not None and is_known(t)]
        inner = [t.support._replace(room=t.support.room or t.room) for p in segment
                 if (t := p.thing) is not None and not (t.kind and is_known(t)) and t.support is not None]
        again = topics[-1:] if clause.tags[:1] == ["it"] else []
        topics.extend(t for t in (*inner, *spoken[1:], *clause.subject(query, spoken), *again) if _can_be_meant(t))
        spot = next((p for p in clause.predicates() if p.support is not None), spot)
        group = spoken if any(p.tag == "and" for p in segment) else []
        place = clause.rooms[0] if clause.rooms and not clause.things else place
    found = list(dict.fromkeys(asked or ([] if failed else weak[-1:])))
    if len(found) > 1:
        parts = tuple(found[:_AT_ONCE])
        return Reading(Query("several", parts=parts, things=tuple(t for q in parts for t in q.things)))
    if found:
        return Reading(found[0])
    items = [p for segment in cut for p in segment]
    tags = {p.tag for p in items} | {"room" for p in items if p.thing is not None and "room" in p.text.split()[-1]}
    states = [p.value for p in items if p.tag == "state"] + [t.state for t in topics if t.state]
    return Reading(None, tuple(unclear), Heard((*doubtful, *weak), tuple(topics), place, frozenset(tags),
                                               tuple(dict.fromkeys(states))))


def _can_be_meant(thing: Thing) -> bool:
    """Return whether "it" can be such a thing: named or described by its use, and no animal that is spoken of."""
    return is_known(thing) and bool(thing.kind or thing.use) and canonical(thing.kind) not in _ANIMALS


def _inferred(text: str) -> Query | None:
    words = " ".join(re.sub(r"[?!.,]+", " ", plain(text)).split())
    found = inferred(words)
    if found is None:
        return None
    form, phrase, groups = found
    if form == "room_for":
        purpose, _ = purpose_of(phrase)
        return purpose and Query("use", (Thing(use=phrase, kinds=purpose.kinds),), aspect="room")
    thing = next((p.thing for sentence in sentences(phrase) for p in phrases(sentence) if p.thing is not None), Thing())
    if form == "filled" and is_place(thing):
        return None
    return query_of(form, thing._replace(quantifier=""), groups)


def _merged(items: Sequence[Phrase]) -> list[Phrase]:
    """Return a sentence with what is said again in other words put together: "the lamp, the one on the table,"."""
    out: list[Phrase] = []
    for at, item in enumerate(items):
        thing, last = item.thing, out[-2].thing if len(out) > 1 else None
        chosen = [p.tag for p in items[at + 1:at + 2]] == ["or"]
        again = thing is not None and thing.kind == "one" and item.fixed and not chosen and (
            [p.tag for p in out[-1:]] == [","])
        if thing is not None and again and last is not None and last.kind not in ("", "one"):
            more = {field: value for field, value in thing._asdict().items()
                    if value and field not in ("kind", "quantifier", "number")}
            out[-2:] = [out[-2]._replace(thing=last._replace(**more))]
            continue
        out.append(item)
    return out


def _numbered(segment: Sequence[Phrase], unit: Phrase) -> bool:
    at = next(i for i, p in enumerate(segment) if p is unit)
    return at > 0 and segment[at - 1].tag == "number"


def _segments(items: Sequence[Phrase]) -> list[list[Phrase]]:
    """Cut a sentence where a further question begins: "and what colour is it", ", is it on"."""
    cuts = [0]
    for at, item in enumerate(items):
        if at and item.text == "i" and items[at + 1:at + 2] and items[at + 1].text in ("am", "need", "want"):
            cuts.append(at)
        if item.tag not in (",", "and", "but", "if") or at == 0:
            continue
        after = [p.tag for p in items[at + 1:] if p.tag not in ("chatter",)]
        if item.tag != "if" and after[:1] == ["person"] and len(after) > 1 and after[1] in (
                *_AUXILIARY, "unknown", "place") and len(items[cuts[-1]:at]) > 1:
            cuts.append(at + 1)
            continue
        rest = [p for p in items[at + 1:] if p.tag not in ("chatter", "and", ",", "but", "at", "in", "from")]
        so_far = items[cuts[-1]:at]
        if item.tag == "but" or (rest and _begins(rest, item.tag) and (item.tag in ("if", ",") or any(
                p.thing is not None or p.tag in _STRONG for p in so_far))):
            cuts.append(at if item.tag == "if" else at + 1)
    return [list(items[start:end]) for start, end in zip(cuts, [*cuts[1:], len(items)], strict=True)]


def _begins(rest: Sequence[Phrase], mark: str) -> bool:
    first = rest[0]
    if first.tag in ("state", "close") and len(rest) > 1 and rest[1].tag == "or":
        return True
    if first.tag in _STRONG and first.tag not in ("material",):
        return True
    if mark == "if" and any(p.tag in _AUXILIARY for p in rest):
        return True
    if first.tag in ("it", "the") and len(rest) > 1 and rest[1].tag in ("colour", *_SIZES):
        return True
    return first.tag in _AUXILIARY and len(rest) > 1 and (rest[1].thing is not None or rest[1].tag in (
        "it", "person", "there", "not", "can", "one", "the", "any", "all"))


class Clause:
    """One question of a text, as phrases and words; topics: what was spoken of before it."""

    def __init__(self, items: Sequence[Phrase], topics: Sequence[Thing], metres: float, unit: str, place: str,
                 told: bool = False, group: Sequence[Thing] = (), spot: Thing | None = None) -> None:
        self.spot = spot
        self.told, self.group = told or bool(items and items[0].tag == "if"), group
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
                if thing.kind == "one":
                    thing = thing._replace(kind=kinds[-1] if kinds else last.kind if last else "one")
                if thing.support is not None and thing.support.kind == "it":
                    other = last if last is not None and last.kind != thing.kind else None
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
        return not set(self.tags) - {*_AUXILIARY, "not", "it", "person", "there", "and", ",", "tell", "or", "at", "if"}

    def subject(self, query: Query | None, spoken: Sequence[Thing]) -> list[Thing]:
        """Return what the next clause may call "it": what this one asks about, or what it names first."""
        if query is not None and not query.parts and query.things and is_known(query.things[0]):
            return [query.things[0]._replace(quantifier="", number=0)]
        return list(spoken[:1])

    def predicates(self) -> list[Thing]:
        """Return what is said of places: "beneath the desk"."""
        inside = [t for t in self.things if not t.kind and t.support is not None]
        return [*inside, *self._predicates()]

    def has(self, *tags: str) -> bool:
        """Return whether a word of these tags occurs."""
        return any(tag in tags for tag in self.tags)

    def again(self, query: Query) -> Query | None:
        """Return the question before this one for what this one names: "and what about the one in the kitchen?"."""
        texts = [p.text for p in self.items if p.tag != "and"]
        if texts[1:2] != ["about"] or texts[0] not in ("what", "how") or not (self.things or self.rooms):
            return None
        thing, before = self.things[0] if self.things else Thing(), query.things[0]
        if not self.things:
            thing = before._replace(room=self.rooms[0])
        elif thing.kind in ("one", before.kind):
            more = {field: value for field, value in thing._asdict().items() if value and field != "kind"}
            thing = before._replace(**more)
        return query._replace(things=(thing, *query.things[1:]))

    def asks(self) -> bool:
        """Return whether the words ask, rather than tell."""
        if self.has(*_STRONG, "or") or any(t.quantifier == "any" for t in self.things[:1]):
            return True
        tags = [tag for tag in self.tags if tag not in ("and", "but", ",", "unknown", "at", "not")]
        return (bool(tags) and tags[0] in _AUXILIARY) or self.told

    def main(self, after: int = 0) -> Thing | None:
        """Return what the question is about: named after a word, in the clause, or spoken of before it."""
        named = [(i, p.thing) for i, p in enumerate(self.items) if p.thing is not None and not is_place(p.thing)
                 and p.thing.kind not in ("one", "it")]
        known = [pair for pair in named if is_known(pair[1])] or ([] if self.topics else named)
        if self.topics and len(self.tags) > 1 and self.tags[0] in _AUXILIARY and self.tags[1] == "it":
            known = []
        thing = next((t for i, t in known if i >= after), known[-1][1] if known else None)
        if thing is None:
            thing = self.topics[-1] if self.topics else None
        if thing is not None and len(self.rooms) == 1 and not thing.room:
            thing = thing._replace(room=self.rooms[0])
        return thing

    def query(self) -> Query | None:
        """Return what is asked, None where that is not clear."""
        if not self.items or self.tags[0] == "turn":
            return None
        if self.has("when", "why", "who") and not self.has("which", *_COMPARED):
            return None
        readers: tuple[Callable[[], Query | None], ...] = (
            self._measure, self._compare, self._size, self._count, self._attribute, self._used, self._rooms,
            self._where, self._side, self._among, self._choice, self._upon, self._which, self._what, self._whether)
        for reader in readers:
            if (found := reader()) is not None:
                things = tuple(map(_tidied, found.things))
                if found.form in ("exists", "list", "where", "count", "which"):
                    things = tuple(map(_offered, things))
                return self._each(found._replace(things=things))
        return None

    def _each(self, query: Query) -> Query:
        """Return one question for each thing of a list: "where are my hat and my shoes"."""
        if query.form not in _FOR_EACH or not ("and" in self.tags or (len(self.group) > 1 and self.has("it"))):
            return query
        named = [t for t in self.things if is_known(t)] or list(self.group)
        if len(named) < 2 or query.things[0].kind not in [t.kind for t in named]:
            return query
        rooms = self.rooms[0] if len(self.rooms) == 1 else ""
        parts = tuple(query._replace(things=(_tidied(t._replace(room=t.room or rooms, quantifier="", number=0)),))
                      for t in named[:4])
        compared = Compared("each", tuple(_target(part.things[0]) for part in parts), query.form)
        return Query("several", tuple(part.things[0] for part in parts), parts=parts, compared=compared)

    def unexplained(self, query: Query) -> list[str]:
        """Return the words of the clause that its reading does not account for."""
        told = _all_things(query)
        kinds = {canonical(t.kind) for t in told} | {t.use for t in told}
        rooms = {room for t in told for room in (t.room, t.other_room, t.kind)}
        looks = {look for t in told for look in (t.state, t.colour, t.material)} - {""}
        if query.compared is not None:
            looks.add(query.compared.aspect)
        wh = query.form not in ("is", "exists", "side") and self.asks()
        cue = next((i for i, tag in enumerate(self.tags) if tag in _STRONG), 0)
        doubts = []
        for at, item in enumerate(self.items):
            before = self.tags[at - 1] if at else ""
            thing = item.thing
            if thing is not None and is_place(thing):
                known = re.sub(r"^\d ", "", thing.room) in {*rooms, "house", "room"} or before == "out_of"
            elif thing is not None:
                aside = (not is_known(thing) and (at <= cue or before in ("from", "at", "but"))) or (
                    bool(at) and self.items[at - 1].text == "for")
                known = thing.kind in _PLAIN or before in ("which", "what") or aside or (
                    canonical(thing.kind) in kinds or thing.use in kinds - {""})
            elif item.tag in ("state", "is_colour", "is_material"):
                known = bool({item.value, opposite(item.value)} & looks) or item.text == "out"
            elif item.tag in ("not", "without"):
                known = query.denied or "or" in self.tags or any(t.quantifier == "no" or t.unlike for t in told) or (
                    wh and at < cue) or (query.form == "rooms" and bool(query.things[0].state))
            elif item.text in ("the", "any", "no") and self.tags[at + 1:at + 2] == ["unknown"]:
                known = at < cue or self.tags[at + 2:at + 3] == ["place"]
            else:
                after = self.tags[at + 1] if at + 1 < len(self.tags) else ""
                wh = wh and not (item.tag == "unknown" and before in _ATTRIBUTES and after in PLACING)
                known = item.tag != "unknown" or wh or before in ("any", "the") or (
                    item.text.endswith("ing") and after == "state")
            if not known:
                doubts.append(item.text)
        return doubts

    def _at(self, *tags: str) -> int:
        return next((i for i, tag in enumerate(self.tags) if tag in tags), -1)

    # measures

    def _measure(self) -> Query | None:
        between = self._between()
        if self.has("fit") or (self.has("gap") and self.metres):
            return self._fits() if self.things or self.topics or len(self.rooms) > 1 else None
        if not self.has("far", "gap"):
            return None
        far = self.has("far") or any(p.text == "distance between" for p in self.items)
        form = "apart" if far else "gap"
        pair = between or [t for t in self.things if t.kind][:2]
        if len(pair) < 2:
            return None
        room = pair[1].room or pair[0].room
        return Query(form, tuple(t if t.room else t._replace(room=room) for t in pair), unit=self.unit)

    def _between(self) -> list[Thing]:
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

    def _fits(self) -> Query | None:
        if not self.things and len(self.rooms) > 1:
            return Query("passes", (Thing("door", self.rooms[0], other_room=self.rooms[1]),), metres=self.metres)
        things = self.things or [self.topics[-1]]
        last = things[-1]
        goes = tuple(t for t in things[:-1] if t.kind)[:1]
        between = self._between()
        if between:
            beside = {canonical(t.kind) for t in between}
            beside |= {"gap", ""}
            before = [t for t in things if canonical(t.kind) not in beside and t.relation != "between"]
            inside = next((t for t in things if t.relation == "between" and t.kind not in ("gap", "")), None)
            first = next((p.thing for p in self.items[:max(self._at("fit"), 0)] if p.thing is not None), None)
            before = before or ([first] if first is not None and first.kind and first.relation != "between" else [])
            goes = tuple(before[:1]) or ((inside._replace(relation="", support=None, other_support=None, room=""),)
                                         if inside else ())
            return Query("fits", (*between, *goes), metres=self.metres)
        at = self._at("fit")
        if self.items[at].text.endswith("enough for") or self.items[at].text == "wide enough":
            last, goes = things[0], tuple(things[1:2])
        if len(self.rooms) > 1 and last.kind not in _OPENINGS:
            return Query("passes", (Thing("door", self.rooms[0], other_room=self.rooms[1]),), metres=self.metres)
        if last.kind in _OPENINGS and (self.metres or goes):
            if len(self.rooms) > 1:
                last = last._replace(room=self.rooms[0], other_room=self.rooms[1])
            elif len(self.rooms) == 1 and last.room and last.room != self.rooms[0] and not last.other_room:
                last = last._replace(other_room=self.rooms[0])
            return Query("passes", (last, *goes), metres=self.metres)
        return Query("passes", (last, *goes), metres=self.metres) if self.metres else None

    def _places(self) -> list[str]:
        """Return the rooms of the clause in its order, of "both bedrooms" one and the other."""
        named = [p.thing.room for p in self.items if p.thing is not None and p.thing.room not in ("", "house", "room")
                 and not p.thing.other_room]
        found: list[str] = []
        for room in named:
            many = re.fullmatch(r"(\d) (.+)", room)
            found += [f"{name} {many[2]}" for name in _ORDINALS.get(int(many[1]), ())] if many else [room]
        return list(dict.fromkeys(found))

    def _over_places(self) -> Query | None:
        """Read what is asked of a thing in several rooms: together, in both, in either, the same in each."""
        places, things = self._places(), [t for t in self.things if t.kind not in ("", "one", "it")]
        kinds = {canonical(t.kind) for t in things}
        if len(places) < 2 or len(kinds) > 1 or self.has("fit", "far", "gap", "closer", "where") or any(
                t.relation == "between" for t in things):
            return None
        if not things and not self.has("same", "different"):
            return None
        thing = things[0]._replace(quantifier="", number=0) if things else Thing()
        targets = tuple(thing._replace(room=re.sub(r"^(?:one|other|another|third) ", "", place)) for place in places)
        wheres = tuple(Target(thing._replace(room="", relation=thing.relation).name if thing.kind else "", place)
                       for place in places)
        form, aspect = self._asked_of_each(thing)
        if not form:
            return None
        compared = Compared(form, wheres, aspect, self.has("different"), self.has("which", "what", "count"))
        if form == "each":
            parts = tuple(Query(aspect, (target,)) for target in targets)
            return Query("several", targets, parts=parts, compared=compared)
        return Query("compare", targets, compared=compared)

    def _asked_of_each(self, thing: Thing) -> tuple[str, str]:
        """Return the form and the aspect of a question over several places, "" where it is none."""
        looks = [p for p in self._predicates(thing) if p.looks and not p.support]
        said = next((p.state or p.colour or p.material for p in looks), "")
        if self.has("same", "different"):
            attribute = next((tag for tag in self.tags if tag in ("colour", "material")), "")
            many = any(p.text in ("as many",) or p.value == "number of" for p in self.items)
            return "same", attribute or ("number" if many else "")
        if self.has("more", "fewer", *_COMPARED):
            return "", ""
        if self.has("count"):
            return "count", ""
        if (attribute := next((tag for tag in self.tags if tag in ("colour", "material", "condition")), "")):
            return "each", {"condition": "state"}.get(attribute, attribute)
        if any(tag in _AUXILIARY for tag in self.tags[:1]) and (self.has("there", "have") or said):
            return ("either" if self.has("or") else "both"), said
        return "", ""

    def _compare(self) -> Query | None:
        if (over := self._over_places()) is not None:
            return over
        if self.has("more", "fewer"):
            aspect = "more" if self.has("more") else "fewer"
            if self.has("big"):
                pair = tuple(Thing(room=room) for room in self.rooms[:2])
                size = "larger" if aspect == "more" else "smaller"
                return self._compared("size", size, pair) if len(pair) > 1 else None
            pair = self._pair() if self.has("than", "or") or len(self.rooms) > 1 else ()
            return self._compared("more", aspect, pair) if pair else None
        if self.has("most", "fewest") and self.has("which", "what", "where") and self.things:
            return Query("most", (self.things[0],), aspect="most" if self.has("most") else "fewest")
        if self.has("closer") and self.things:
            return self._closer()
        if self.has("same", "different") and (pair := self._pair()):
            aspect = next((tag for tag in self.tags if tag in ("colour", "material", "big")), "colour")
            return self._compared("same", aspect, pair)
        sign = next((p for p in self.items if p.tag in _COMPARED), None)
        if sign is None:
            return None
        pair = self._pair()
        if pair:
            return self._compared("size", sign.tag, pair)
        thing = self.main()
        if thing is not None and self.has("which", "what", "the"):
            return Query("which", (thing._replace(size=sign.tag, quantifier="", number=0),))
        return None

    def _closer(self) -> Query | None:
        things = [t for t in self.things if t.kind]
        base = next((p.thing for i, p in enumerate(self.items) if i and p.thing is not None
                     and self.items[i - 1].tag == "closer"), None)
        if base is None:
            base = self.topics[-1] if self.topics else things[0]
        others = [t for t in things if t is not base] or [Thing(room=room) for room in self.rooms]
        if len(others) == 1 and not self.has("or", "than"):
            return Query("which", (others[0]._replace(size="closer", relation="next to", support=base, number=0),))
        if len(others) < 2:
            return None
        others = [t if t.room else t._replace(room=base.room) for t in others[:2]]
        compared = Compared("closer", tuple(map(_target, (*others, base))), "closer", which=self.has("which", "what"))
        return Query("closer", (base, *others), compared=compared)

    def _pair(self) -> tuple[Thing, ...]:
        """Return the things that are compared: named, or rooms."""
        things = list(dict.fromkeys(t._replace(quantifier="", number=0) for t in self.things if t.kind))
        if not all(map(is_known, things)):
            return ()
        if len(things) > 2 and things[0].kind == things[1].kind and not things[0].looks:
            things = things[1:]  # "which bookshelf is taller, the one in A or the one in B?"
        if len(things) == 1 and any(t.number == 2 for t in self.things) and not self.topics and len(self.rooms) < 2:
            return (things[0]._replace(quantifier="one"), things[0]._replace(quantifier="other"))
        if len(things) == 2 and self.topics and things[0].kind == things[1].kind and things[0] == things[1]:
            things = things[:1]
        if len(things) > 1:
            return tuple(things[:3])
        rooms = list(self.rooms)
        if len(things) == 1:
            rooms = [*([things[0].room] if things[0].room else []), *rooms]
            if len(rooms) > 1:
                return tuple(things[0]._replace(room=room) for room in rooms)
            if self.topics and self.topics[-1] != things[0]:
                return (things[0], self.topics[-1])
            return ()
        if not things and len(rooms) < 2 and len(self.topics) > 1:
            return tuple(self.topics[-2:])
        return tuple(Thing(room=room) for room in rooms) if len(rooms) > 1 else ()

    def _compared(self, form: str, aspect: str, things: tuple[Thing, ...]) -> Query:
        targets = tuple(map(_target, things))
        compared = Compared(form, targets, aspect, self.has("different"), self.has("which", "what", "who"))
        return Query("compare", things, compared=compared)

    def _size(self) -> Query | None:
        at = self._at(*_SIZES)
        if at < 0:
            return None
        aspect, area = self.tags[at], self.items[at].value == "area"
        thing = self.main(at)
        if (area or not self.things) and self.rooms and (area or not self.topics):
            return Query("size", (Thing(room=self.rooms[0]),), aspect="area", unit=self.unit)
        if thing is None or area:
            return None
        return Query("size", (thing._replace(quantifier="", number=0),), aspect=aspect, unit=self.unit)

    # counts, looks, places

    def _count(self) -> Query | None:
        at = self._at("count")
        if at < 0:
            return None
        rooms = [p for p in self.items if p.thing is not None and is_place(p.thing) and p.thing.room != "house"]
        if not self.things and rooms and rooms[0].text.endswith("s"):
            return Query("rooms", (Thing(rooms[0].thing.room),), aspect="count")  # type: ignore[union-attr]
        if self.things and rooms and rooms[0].text.endswith("rooms") and self.items.index(rooms[0]) == at + 1:
            query = self._rooms()
            return query and query._replace(aspect="count")
        thing = self.main(at)
        if thing is None or self.tags[at + 1:at + 2] == ["unknown"]:
            return None
        thing = self._with_predicate(thing)
        if self.has("forget") and thing.state:
            thing = thing._replace(state=opposite(thing.state))
        return Query("count", (thing._replace(quantifier="", number=0),))

    def _with_predicate(self, thing: Thing) -> Thing:
        """Return a thing with what the clause says of it: "how many lamps are on", "chairs are at the table"."""
        negated = self.has("not")
        for predicate in self._predicates(thing):
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

    def _predicates(self, thing: Thing | None = None) -> list[Thing]:
        """Return what the clause says of things outside of their phrases: states, looks, places."""
        found: list[Thing] = []
        if (two := self._between()) and not any(t.relation == "between" for t in self.things):
            found.append(Thing(relation="between", support=two[0]._replace(room=""), room=two[1].room or two[0].room,
                               other_support=two[1]._replace(room="")))
        for at, item in enumerate(self.items):
            after = self.tags[at + 1] if at + 1 < len(self.tags) else ""
            if item.tag == "state" and self._is_verb(at):
                continue
            if item.tag == "state" and not (item.text == "out" and thing is not None and not _glows(thing)):
                found.append(Thing(state=item.value))
            elif item.tag == "is_colour":
                found.append(Thing(colour=item.value))
            elif item.tag == "is_material":
                found.append(Thing(material=item.value))
            elif item.tag == "material" and item.text == "made" and not self.has("what"):
                found.append(Thing(state="made"))
            elif self.topics and self.has("what") and item.text in _THERE and after in ("", ",", "and"):
                found.append(Thing(relation=_THERE[item.text], support=self.topics[-1], room=self.topics[-1].room))
            elif item.text in ("on", "in") and after in ("", "or", ",", "and", "in", "at", "if", "but") and at:
                if item.text == "on":
                    found.append(Thing(state="on"))
            elif item.tag == "make" and thing is not None and canonical(thing.kind) == "bed":
                found.append(Thing(state="made"))
            elif item.tag == "close":
                found.append(Thing(state="closed"))
            elif item.tag == "updown" and at and (self.tags[at - 1] in _BEFORE_UP or self.items[at - 1].text in _PARTS):
                found.append(Thing(state="open" if item.text == "up" else "closed"))
            elif item.tag in PLACING and at + 1 < len(self.items):
                other = self.items[at + 1].thing
                if other is None and after == "it" and self.topics:
                    other = self.topics[-1]
                if other is not None and other is not thing and not is_place(other):
                    found.append(Thing(relation=PLACING[item.tag], support=other, room=other.room))
        return found

    def _is_verb(self, at: int) -> bool:
        """Return whether a word of state is a verb: "I have to empty each bin"."""
        before, after = self.items[at - 1] if at else None, self.items[at + 1] if at + 1 < len(self.items) else None
        return before is not None and before.text == "to" and after is not None and after.thing is not None

    def _attribute(self) -> Query | None:
        at = self._at(*_ATTRIBUTES)
        if at < 0:
            return None
        tag = self.tags[at]
        if tag == "text" and (self.has("use") or not (self.has("what", "which") or self.tags.count("text") > 1
                                                      or " is " in f" {self.items[at].text} "
                                                      or self.items[at].text.startswith(("what", "which")))):
            return None
        if tag == "material" and self.items[at].text == "made" and not self.has("what", "which"):
            return None
        thing = self.main(at)
        if thing is None or (tag in ("colour", "material") and self.has("or") and len(self._options(thing)) > 1):
            return None
        if self.tags[0] in ("be",) and tag == "colour" and self._predicates(thing):
            return None
        thing = self._with_predicate(thing) if self._at("state") > -1 or self.has("not") else thing
        return Query({"condition": "state"}.get(tag, tag), (thing._replace(quantifier="", number=0),))

    def _rooms(self) -> Query | None:
        """Read "which room is the lamp in", "which rooms have no window", "every room with a mirror"."""
        described = next((t for t in self.things if not t.kind and t.room.endswith("room") and not t.use), None)
        if described is not None and (described.relation == "with" or (described.unlike and described.unlike.support)):
            return self._rooms_with(described)
        at = next((i for i, p in enumerate(self.items) if p.thing is not None and is_place(p.thing)
                   and self._asks_room(i)), None)
        if at is None:
            return None
        phrase = self.items[at]
        named = phrase.thing.room if phrase.thing else ""
        named = "" if named in ("room", "house") else named
        thing = self.main(at + 1)
        if thing is None:
            return Query("rooms", (Thing(named or "room"),))
        thing = self._with_predicate(thing._replace(room="" if thing.room in (named, "room") else thing.room))
        if self.has("not") and thing.unlike is not None and thing.unlike.state:
            thing = thing._replace(state=opposite(thing.unlike.state), unlike=None)
            return Query("rooms", (thing._replace(room=named, quantifier="", number=0),))
        negated = self.has("not", "without") or thing.quantifier == "no"
        fixed = any(p.fixed and p.thing is not None and not is_place(p.thing) for p in self.items) or not self.things
        if negated:
            thing = thing._replace(quantifier="no", unlike=None)
        elif not phrase.text.endswith("s") and fixed:
            return Query("room", (thing._replace(quantifier="", number=0, room=thing.room or named),))
        thing = thing._replace(quantifier="no" if negated else "", number=0)
        return Query("rooms", (thing._replace(room=named),))

    def _rooms_with(self, described: Thing) -> Query | None:
        """Read "every room with a mirror", "the rooms without a window"."""
        without = described.unlike.support if described.unlike is not None else None
        thing = without or described.support
        if thing is None:
            return None
        room = "" if described.room == "room" else described.room
        return Query("rooms", (thing._replace(room=room, quantifier="no" if without else "", number=0),))

    def _asks_room(self, at: int) -> bool:
        words = self.items[at].text.split()
        asked = at > 0 and self.tags[at - 1] in ("which", "what", "all", "who")
        general = words[-1].rstrip("s") in ("room", "bedroom", "bathroom", "part", "place")
        named = self.items[at].thing is not None and self.items[at].thing.room != "house"  # type: ignore[union-attr]
        return general and named and (asked or words[0] in ("every", "each", "all") or (
            words[-1].endswith("s") and self.has("tell", "without")) or (len(self.items) == 1 and bool(self.topics)))

    def _used(self) -> Query | None:
        """Read "what can i use to ...", "where can i ...", "where can i find something to ..."."""
        thing = next((t for t in self.things if t.use), None)
        if thing is None or not self.has("what", "where") or self.has("colour", "material", "count"):
            return None
        at = self._at("what", "where")
        direct = at + 1 < len(self.items) and self.items[at + 1].thing is thing
        if self.items[at].tag == "where":
            aspect = "place" if direct and "find" not in thing.name else "where"
        elif direct:
            aspect = "tool"
        else:
            return None
        if len(self.rooms) == 1 and not thing.room:
            thing = thing._replace(room=self.rooms[0])
        return Query("use", (thing._replace(quantifier=""),), aspect=aspect)

    def _where(self) -> Query | None:
        at = self._at("where")
        thing = self.main(max(at, 0))
        if thing is None or at < 0:
            return None
        return Query("where", (self._with_predicate(thing)._replace(quantifier="", number=0),))

    def _side(self) -> Query | None:
        """Read "is the plant to the left or to the right of the shelf" and "is it to the left of the shelf"."""
        found = [p.tag for p in self.items if p.tag in ("left_of", "right_of")]
        sides = [t.relation for t in self.things if t.relation in ("left of", "right of")]
        words = {p.text for p in self.items}
        if self.has("what", "where", "which") or not (found or sides):
            return None
        thing = self.main()
        other = next((t.support for t in self.things if t.relation in ("left of", "right of")), None) or next(
            (t for t in self.things if thing is not None and t.kind != thing.kind), None)
        if thing is None or other is None:
            return None
        one = thing._replace(relation="", support=None)
        room = one.room or other.room
        both = len(found) + len(sides) > 1 or "left" in words or self.has("or")
        aspect = "" if both else (found[0] if found else sides[0]).split()[0].split("_")[0]
        return Query("side", (one._replace(room=room), other._replace(room=room)), aspect=aspect)

    def _upon(self) -> Query | None:
        """Read "what is the iron (lying) on", which asks where it is."""
        texts = [p.text for p in self.items if p.tag != ","]
        ends = self.has("what", "which") and texts and texts[-1].split()[-1] in ("on", "in", "under", "above")
        if not ends and not any(tag in PLACING and after in ("what", "which")
                                for tag, after in zip(self.tags, self.tags[1:], strict=False)):
            return None
        asked = [p.thing for tag, p in zip(self.tags, self.items[1:], strict=False) if tag in ("which", "what")]
        things = [t for t in self.things if t not in asked and is_known(t)]
        thing = things[0] if things else self.topics[-1] if self.topics else None
        return Query("where", (thing._replace(quantifier="", number=0),)) if thing is not None else None

    def _options(self, thing: Thing | None) -> tuple[Thing, ...]:
        """Return what can be chosen from: "on or off", "the red one or the blue one", "on the desk or in the bin"."""
        found = self._predicates(thing)
        if thing is not None and thing.support is not None and len(found) == 1 and found[0].support is not None:
            found = [Thing(relation=thing.relation, support=thing.support, room=thing.room), *found]
        if thing is not None and thing.looks and any(t.kind == thing.kind and t is not thing for t in self.things):
            found = [Thing(colour=thing.colour, material=thing.material, state=thing.state), *found]
        alike = [t for t in self.things if thing is not None and t.kind == thing.kind and t is not thing]
        found += [Thing(colour=t.colour, material=t.material, state=t.state) for t in alike if t.looks]
        return tuple(dict.fromkeys(option for option in found if option.looks))

    def _choice(self) -> Query | None:
        thing = self.main()
        if thing is not None and self.topics and self.has("it") and thing.kind == self.topics[-1].kind:
            thing = self.topics[-1]
        options = self._options(thing)
        if thing is None or not ("or" in self.tags or (len([o for o in options if o.material or o.colour]) > 2)):
            return None
        if len(options) > 1:
            moved = thing._replace(relation="", support=None) if options[0].support is thing.support else thing
            if options[0].colour == moved.colour and options[0].material == moved.material:
                moved = moved._replace(colour="", material="")
            return Query("choice", (moved._replace(quantifier=""),), options)
        if self.has("not") and options and self._at("or") < self._at("not"):
            return Query("is", (thing,), options[:1])  # "shut or not?"
        return None

    def _among(self) -> Query | None:
        """Read "which is on, the lamp or the TV, both or neither"."""
        if not self.has("which"):
            return None
        states = [p for p in self._predicates() if p.state]
        alike = [t for t in self.things if t.kind and t.support is None]
        if states and len(alike) > 1 and self.has("or", ",", "and"):
            room = self.rooms[0] if self.rooms else alike[0].room
            options = tuple(t._replace(room=t.room or room) for t in alike)
            return Query("choice", (states[0]._replace(room=room),), options)
        return None

    def _which(self) -> Query | None:
        if any(p.support is not None for p in self._predicates()) and len(self.things) == 1 and self.has("tell"):
            return None
        listed = bool(self.items) and self.tags[0] == "tell" and bool(self.things) and self.items[0].text in _LISTING
        if not (self.has("which") or listed) or not (self.things or self.topics):
            return None
        thing = self.main()
        if thing is None:
            return None
        named = [t for t in self.things if is_known(t)]
        if self.has("have") and len(named) > 1:
            return Query("which", (named[0]._replace(quantifier="", number=0, relation="with", support=named[1]),))
        return Query("which", (self._with_predicate(thing)._replace(quantifier="", number=0),))

    def _what(self) -> Query | None:
        if not self.has("what", "tell", "which") and not any(t.kind == "" for t in self.things):
            return None
        for predicate in self._predicates():
            if predicate.support is not None:
                return Query("list", (predicate,))
        bare = not [t for t in self.things if t.kind or t.support or t.state]
        if bare and self.spot is not None and self.has("there", "thing", "which") and not self.rooms:
            return Query("list", (self.spot._replace(state=""),))
        thing = next((t for t in self.things if t.kind == "" and (t.support or t.state or t.colour)), None)
        if thing is not None and self.has("what", "tell", "which"):
            return Query("list", (thing._replace(quantifier=""),))
        states = [p for p in self._predicates() if p.state]
        if states and self.has("what") and not self.things:
            return Query("list", (Thing(state=states[0].state, room=self.rooms[0] if self.rooms else ""),))
        if self.has("what", "which") and self.has("there", "be") and self.things and self.things[0].kind:
            thing = self._with_predicate(self.things[0])
            if len(self.rooms) == 1 and not thing.room:
                thing = thing._replace(room=self.rooms[0])
            return Query("list", (thing._replace(quantifier=""),)) if self.has("there") or thing.room else None
        if self.rooms and self.has("what") and not self.things:
            return Query("list", (Thing(room=self.rooms[0]),))
        return None

    def _whether(self) -> Query | None:
        thing = self.main()
        if thing is None:
            if self.has("there", "any", "no") and self.rooms and not self.topics:
                no = any(p.text.startswith("no ") or p.tag in ("no", "not") for p in self.items)
                return Query("exists", (Thing(self.rooms[0], quantifier="no" if no else ""),))
            return None
        predicates = self._predicates(thing)
        if thing.kind == "water":
            held = next((p for p in (thing, *predicates) if p.relation == "in" and p.support is not None), None)
            if held is not None and held.support is not None:
                place = held.support._replace(room=held.room or held.support.room)
                return Query("is", (place,), (Thing(state="full"),))
            thing = thing._replace(kind="tap")
        if self.has("forget") and predicates and predicates[-1].state:
            predicates = [Thing(state=opposite(predicates[-1].state))]
        there = any({one, two} == {"be", "there"} or (one, two) == ("can", "there")
                    for one, two in zip(self.tags, self.tags[1:], strict=False))
        exists = there or thing.quantifier in ("any", "no") or thing.kind == ""
        if exists and not (thing.quantifier in ("any", "all") and thing.kind and predicates and not there):
            if self.tags[0] not in (*_AUXILIARY, "thing", "any", "there") and not self.told:
                return None
            thing = self._with_predicate(thing)
            return Query("exists", (thing._replace(quantifier="no" if thing.quantifier == "no" else ""),),
                         denied=self.has("not") and thing.unlike is None)
        if predicates:
            said = next((p for p in predicates if p.state or p.colour or p.material), predicates[-1])
            if said.support is not None and said.support.room in ("", thing.room) and thing.room:
                said = said._replace(room=thing.room, support=said.support._replace(room=""))
            return Query("is", (thing,), (said,), denied=self.has("not"))
        if thing.relation and thing.support is not None and self.tags[0] == "be":
            return Query("is", (thing._replace(relation="", support=None, other_support=None),), (
                Thing(room=thing.room, relation=thing.relation, support=thing.support,
                      other_support=thing.other_support),), denied=self.has("not"))
        if self.has("it") and len(self.group) > 1:
            return None
        if self.tags[0] == "person":
            return None
        at = self._at("have")
        owned = at >= 0 and any(p.thing is not None and not is_place(p.thing) for p in self.items[at + 1:])
        if (owned and (at or self.has("person"))) or thing.quantifier == "any":
            return Query("exists", (thing._replace(quantifier=""),))
        if thing.room and self.tags[0] == "be" and self.things and self.things[0].room:
            return Query("is", (thing._replace(room=""),), (Thing(room=thing.room),), denied=self.has("not"))
        if self.rooms and self.tags[0] == "be":
            return Query("is", (thing._replace(room=""),), (Thing(room=self.rooms[0]),))
        return None


def _target(thing: Thing) -> Target:
    which = f"{thing.quantifier} " if thing.quantifier in ("one", "other") else ""
    return Target(which + thing._replace(room="").name if thing.kind else "", thing.room)


def _all_things(query: Query) -> list[Thing]:
    """Return every phrase of a query, with those inside of others."""
    found: list[Thing] = []
    waiting = [*query.things, *query.predicates]
    while waiting:
        thing = waiting.pop()
        found.append(thing)
        waiting += [t for t in (thing.support, thing.other_support, thing.unlike) if t is not None]
    return found


def _offered(thing: Thing) -> Thing:
    """Return what there is to read, to eat or to drink from, where a thing is asked for by that use."""
    word = next((word for word in thing.use.split() if word in OFFERS), "")
    return thing._replace(kinds=OFFERS[word]) if word else thing


def _glows(thing: Thing) -> bool:
    states = states_of_kind(thing.kind) if thing.kind else None
    return bool(states) and not {"on", "lit"}.isdisjoint(states or ())


def _tidied(thing: Thing) -> Thing:
    """Return a phrase whose place is named once: the support is in the thing's room."""
    support = thing.support
    if support is not None and support.kind == "wall" and support.relation == "above" and support.support is not None:
        thing = thing._replace(relation="above", support=support.support, room=thing.room or support.room)
        support = thing.support
    if thing.kind == "water" and thing.state in ("running", "off", "on"):
        return thing._replace(kind="tap")
    if support is not None and support.room and thing.room in ("", support.room):
        return thing._replace(room=support.room, support=support._replace(room=""))
    return thing


def same_kind(one: Thing, other: Thing) -> bool:
    return canonical(one.kind) == canonical(other.kind)
