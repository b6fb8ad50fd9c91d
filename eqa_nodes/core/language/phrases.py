"""Noun phrases: what a question speaks of, with its looks, its state, its place and its use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical, number, singular
from eqa_nodes.core.language.lexing import Word
from eqa_nodes.core.language.naming import known_names
from eqa_nodes.core.language.query import Thing
from eqa_nodes.core.language.uses import OFFERS, purpose_of, rooms_of

RELATIONS = {"left_of": "left of", "right_of": "right of", "on": "on",
             "in": "in", "under": "under", "above": "above", "beside": "next to", "behind": "behind",
             "with": "with", "without": "with"}
PLACING = {"left_of": "left of", "right_of": "right of", "on": "on",
           "in": "in", "under": "under", "above": "above", "beside": "next to", "behind": "behind",
           "at": "next to"}
_LOOKS = ("is_colour", "is_material", "state")
_SIZES = ("small", "large", "tall", "larger", "smaller", "taller", "shorter", "wider", "narrower", "longer",
          "largest", "smallest", "tallest", "shortest", "widest", "longest", "deeper")
_GENERIC = frozenset(("box", "machine", "animal", "ball", "tool", "appliance", "bowl", "board", "rack", "stand", "toy"))
_LEADING = re.compile(r"^(?:(?:use|that|which|who|where|with|to|for|find|something|anything|i|you|we|one|can|could) )+")
_USUAL = 0.5  # share of the things of a kind from which a room is known by it
_ALSO_VERBS = frozenset(("water", "iron", "watch", "drink", "dress", "clean", "book", "light", "paint", "hoover", "mop",
                         "empty", "dry", "open", "close", "vacuum", "shower", "bath", "picture", "photo", "play"))
_PARTS = frozenset(("lid", "door", "doors", "cover", "shade", "lampshade", "seat", "screen", "flame", "surface"))
_OWNERS = {**dict.fromkeys(("kid", "kids", "children", "child", "kiddie", "toddler", "daughter", "son"),
                           "kids bedroom"),
           **dict.fromkeys(("parents", "parent", "grownups", "ups", "mummy", "daddy", "mum"), "main bedroom")}
_OWNED = frozenset(("bed", "beds", "one", "curtains", "rug", "wardrobe", "bookcase", "bookshelf", "window"))


class Phrase(NamedTuple):
    """A noun phrase or a single word of a sentence. thing: None for a word."""

    tag: str
    text: str
    value: str = ""
    thing: Thing | None = None
    fixed: bool = False  # "the", "my", "that": it is known which one


def phrases(words: Sequence[Word]) -> list[Phrase]:
    """Return a sentence as noun phrases and the words between them."""
    found: list[Phrase] = []
    at = 0
    while at < len(words):
        read = _Reader(words, at)
        if (wanted := read.wanted()) is not None:
            found += [Phrase(*words[at]), Phrase("thing", wanted.use, "", wanted)]
            at = read.at
            continue
        if (thing := read.thing()) is not None:
            found.append(Phrase("thing", " ".join(w.text for w in words[at:read.at]), "", thing, read.fixed))
            at = read.at
        else:
            found.append(Phrase(*words[at]))
            at += 1
    return found


class _Reader:
    """Reads one noun phrase from a position on."""

    def __init__(self, words: Sequence[Word], at: int, depth: int = 0) -> None:
        self.words, self.at, self.fixed, self._depth = words, at, False, depth

    def tag(self, ahead: int = 0) -> str:
        """Return the tag of a word ahead, "" past the end."""
        return self.words[self.at + ahead].tag if self.at + ahead < len(self.words) else ""

    def text(self, ahead: int = 0) -> str:
        """Return a word ahead."""
        return self.words[self.at + ahead].text if self.at + ahead < len(self.words) else ""

    def thing(self) -> Thing | None:
        """Read a noun phrase; the position stays where it was if there is none."""
        start = self.at
        head = self._head()
        if head is None:
            self.at = start
            return None
        return self._followed(head)

    def wanted(self) -> Thing | None:
        """Read what "what can i ..." and "where can i ..." want something for."""
        if self.tag() not in ("what", "where") or self.tag(1) != "can" or self.tag(2) != "person":
            return None
        start, self.at = self.at, self.at + 2
        thing = self._use(Thing())
        if thing.use:
            return self._followed(thing)
        self.at = start
        return None

    def _head(self) -> Thing | None:
        thing, before = Thing(), self.at
        while True:
            tag, word = self.tag(), self.words[self.at] if self.at < len(self.words) else None
            if word is None:
                return None
            if (tag in ("the", "it") and self._leads()) or (tag == "person" and word.text == "them" and self._leads()):
                self.fixed = True
            elif tag == "all":
                thing = thing._replace(quantifier="all", number=2 if "both" in word.text else 0)
            elif tag in ("any", "no"):
                thing = thing._replace(quantifier=tag)
            elif tag == "other":
                thing = thing._replace(quantifier="other")
            elif tag == "number" and self.tag(1) != "unit" and self._leads():
                thing = thing._replace(number=number(word.text) or 0)
            elif tag in _SIZES and self._leads():
                thing = thing._replace(size=word.value)
            elif tag in _LOOKS and self._leads():
                thing = _with_look(thing, tag, word.value)
            elif tag == "room" and self._names_object(1):
                thing = thing._replace(room=word.value)
            elif tag == "'s":
                pass
            elif tag == "unknown" and (room := _OWNERS.get(word.text, "")) and self._bed():
                thing = thing._replace(room=room)
            elif tag == "unknown" and self.at > before and self.fixed and self.tag(1) == "'s":
                if f"{word.text} {singular(self.text(2))}" in known_names():
                    self.at += 3
                    return thing._replace(kind=f"{word.text} {singular(self.words[self.at - 1].text)}")
                # else an owner: "my daughter's toy box"
            elif tag == "chatter" and self.at > before and self._leads() and word.text not in ("is",):
                pass
            elif tag == "unknown" and self.at > before and self.tag(1) == "name" and self.fixed:
                named = f"{word.text} {singular(self.text(1))}"
                self.at += 2
                return thing._replace(kind=named)
            else:
                break
            self.at += 1
        return self._noun(thing, before)

    def _bed(self) -> bool:
        ahead = 1
        while self.tag(ahead) in ("'s", *_LOOKS, *_SIZES):
            ahead += 1
        return self.text(ahead) in _OWNED

    def _leads(self) -> bool:
        """Return whether a determiner or adjective here is followed by what a noun phrase can go on with."""
        ahead = 1
        while self.tag(ahead) in (*_LOOKS, *_SIZES, "number", "chatter", "'s", "all", "other", "the"):
            ahead += 1
        if self.tag() in ("state", "is_colour", "is_material", *_SIZES):
            if self.tag(1) in ("all", "any", "no", "it"):
                return False  # "empty each bin"
            return self.tag(ahead) in ("name", "one", "thing") and self.tag(1) != "the"
        return self.tag(ahead) in ("name", "one", "thing", "room", "unknown")

    def _names_object(self, ahead: int) -> bool:
        while self.tag(ahead) in ("'s", *_LOOKS, *_SIZES):
            ahead += 1
        return self.tag(ahead) in ("name",)

    def _noun(self, thing: Thing, before: int) -> Thing | None:
        word = self.words[self.at]
        if self.at == before and before and word.text in _ALSO_VERBS and (
                self.words[before - 1].tag == "person" or self.words[before - 1].text == "to"):
            return None
        if word.text == "orange" and self.words[self.at - 1].text in ("a", "an", "any", "the", "no", "my") and (
                self.tag(1) in ("", "in", "on", ",", "chatter")):
            self.at += 1
            return thing._replace(kind="orange")
        if word.tag == "name":
            self.at += 1
            kind = word.value
            if kind in _GENERIC and (named := self._made_for(thing._replace(kind=kind)) or self._used(thing)):
                return named
            while self.tag() == "'s" and self.tag(1) == "name":
                owned = self.words[self.at + 1].value
                kind, self.at = f"{kind} {owned}" if f"{kind} {owned}" in known_names() else owned, self.at + 2
            if self.text() in _PARTS:
                self.at += 1
            many = singular(word.text.split()[-1]) != word.text.split()[-1]
            if many and not thing.quantifier and not thing.number and self.fixed:
                thing = thing._replace(quantifier="the")
            return thing._replace(kind=kind)
        if word.tag == "thing":
            if thing.state and word.text in ("anywhere", "somewhere", "anyplace", "someplace"):
                return None  # "is a candle lit anywhere"
            self.at += 1
            if word.value == "nothing" or word.text.startswith("any"):
                thing = thing._replace(quantifier="no" if word.value == "nothing" else "any")
            return self._use(thing)
        if word.text in ("those", "that") and self.text(1) == "of":
            self.at += 2
            return self._head()
        if word.text in ("those", "that") and (self.text(1) in ("that", "which", "with", "of") or self.tag(1) in (
                *PLACING, "without")):
            self.at += 1
            self.fixed = True
            return thing._replace(kind="one")
        if word.text in _PARTS and self.text(1) in ("of", "on") and self._depth < 2:
            inner = _Reader(self.words, self.at + 2, self._depth + 1)
            if (whole := inner.thing()) is not None and whole.kind:
                self.at, self.fixed = inner.at, True
                return whole
        if word.text in ("stand", "rack", "holder", "box", "machine", "hood", "cup") and self.at > before and (
                self.words[self.at - 1].tag != "person"):
            self.at += 1
            used = self._use(thing)
            return used if used.use else thing._replace(kind=word.text)
        if word.tag == "one" and (self.at > before):
            self.at += 1
            return thing._replace(kind="one")
        if word.tag == "room" and thing._replace(quantifier="", number=0) == Thing():
            self.at += 1
            several = thing.number > 1 and word.text.endswith("s")
            return Thing(room=f"{thing.number} {word.value}" if several else word.value, quantifier=thing.quantifier)
        if word.text == "water":
            self.at += 1
            return thing._replace(kind="water")
        if word.tag == "unknown" and self.at > before and self.fixed and self.tag(1) != "unknown":
            self.at += 1
            return thing._replace(kind=singular(word.text))
        return None

    def _used(self, thing: Thing) -> Thing | None:
        used = self._use(thing)
        return used if used.use else None

    def _use(self, thing: Thing) -> Thing:
        """Read what something is for: "to sit on", "that i can drink out of", "you cook soup in"."""
        ahead = 0
        while self.tag(ahead) in ("chatter", "other", "large"):
            ahead += 1
        if self.tag(ahead) in ("in", "on", "at", "with") and self.text(ahead + 1) == "which":
            ahead += 1
        if self.tag(ahead) in (*PLACING, "from") and self.tag(ahead + 1) in ("room", "the"):
            return self._use_there(thing, ahead)
        if not (self.text(ahead) in ("that", "which", "who", "where", "to", "for", "with", "whose") or self.tag(
                ahead) == "person") or (self.text(ahead) in ("that", "which") and self.tag(ahead + 1) == "be"):
            return thing
        words: list[str] = []
        if self.tag(ahead) == "use":
            ahead += 1
            words.append("use")
        while self.tag(ahead) not in ("", ",", "or", "and") and not (
                words and self._asks_again(ahead) and not self._belongs(words, ahead)):
            words.append(self.text(ahead))
            ahead += 1
        purpose, _ = purpose_of(" ".join(words))
        if purpose is None:
            return thing
        self.at += ahead
        sort = f"something to {words[1]}" if words[:1] == ["to"] and len(words) == 2 else ""
        if sort in known_names() and words[1] not in OFFERS:
            return thing._replace(kind=sort)
        use = _LEADING.sub("", " ".join(words))
        return thing._replace(use=use, kinds=purpose.kinds)

    def _belongs(self, words: Sequence[str], ahead: int) -> bool:
        """Return whether what follows belongs to a use: "work on a computer", "find something to read"."""
        more = [self.text(ahead + i) for i in range(3)]
        reads = self.text(ahead) == "find" and self.tag(ahead + 1) == "name" and "which" in words
        return reads or (self.text(ahead) in ("on", "for") and purpose_of(" ".join(words))[1] < purpose_of(
            " ".join((*words, *more)))[1])

    def _use_there(self, thing: Thing, ahead: int) -> Thing:
        """Read "the thing in the study in which i can ...", "something in the kitchen that i can sit on"."""
        start = self.at
        self.at += ahead + 1
        place = self.thing()
        tag = self.words[start + ahead].tag
        if place is not None:
            used = self._use(thing)
            if used.use and not is_place(place):
                return used._replace(relation=PLACING.get(tag, ""), support=place if tag in PLACING else None)
            if used.use:
                return used._replace(room="" if place.room == "house" else place.room)
        self.at = start
        return thing

    def _asks_again(self, ahead: int) -> bool:
        """Return whether a new clause or a place begins: "is it on", "in the kitchen"."""
        if self.tag(ahead) in ("be", "do", "have") and self.tag(ahead + 1) in ("it", "there"):
            return True
        if self.text(ahead) in ("that", "which") and self.tag(ahead + 1) == "be":
            return True
        if self.tag(ahead) in ("colour", "what", "where", "which"):
            return True
        if self.text(ahead) == "for" and self.tag(ahead + 1) == "the":
            return True  # "a place to sleep for a guest", unless "for" belongs to the use: "to go for a run"
        rest = _Reader(self.words, self.at + ahead + 1, self._depth + 1)
        place = rest.thing() if self.tag(ahead) in (*PLACING, "from") and self._depth < 2 else None
        return place is not None and (is_place(place) or (self.tag(ahead) in ("on", "under") and rest.fixed))

    def _followed(self, thing: Thing) -> Thing:
        """Read what follows a noun and belongs to it: where it is, what it has, what it is like."""
        while self.at < len(self.words):
            start = self.at
            more = None if is_place(thing) else self._made_for(thing) or self._lid(thing) or self._told(thing)
            more = more or self._placed(thing) or self._where(thing)
            if more is None:
                self.at = start
                break
            thing = more
        if not thing.kind and thing.room == "room" and thing.relation == "with" and thing.support and self.fixed:
            return Thing(room=_room_with(thing.support.kind) or "room")
        return thing

    def _where(self, thing: Thing) -> Thing | None:
        """Read "the counter where the toaster is": the counter with the toaster."""
        if self.text() != "where" or thing.support is not None or self._depth or thing.kind not in known_names():
            return None
        inner = _Reader(self.words, self.at + 1, self._depth + 1)
        other = inner.thing()
        if other is None or not other.kind or inner.tag() not in ("be", "place"):
            return None
        self.at = inner.at + 1
        return thing._replace(relation="with", support=other)

    def _made_for(self, thing: Thing) -> Thing | None:
        """Read "bowl for fruit", "stand that holds the umbrellas", "of yellow colour"."""
        start, ahead = self.at, 0
        if self.text() == "of" and self.tag(1) == "is_colour":
            self.at += 3 if self.tag(2) == "colour" else 2
            return thing._replace(colour=self.words[start + 1].value)
        if self.text() in ("that", "which"):
            ahead = 1
        if self.text(ahead) not in ("for", "of", "with", "holds", "holding", "where") and self.tag(ahead) != "have":
            return None
        ahead += 1
        while self.tag(ahead) in ("the", "it"):
            ahead += 1
        kind = f"{singular(self.text(ahead))} {thing.kind}"
        if self.tag(ahead) not in ("name", "unknown") or kind not in known_names():
            return None
        self.at += ahead + 1
        return thing._replace(kind=kind)

    def _lid(self, thing: Thing) -> Thing | None:
        """Read "that has its lid open", "with the door shut"."""
        start = self.at
        if self.text() in ("that", "which"):
            self.at += 1
        owns = self.tag() in ("have", "with") and self.tag(1) in ("it", "the") and self.text(2) in _PARTS
        if owns and self.tag(3) in ("state", "updown"):
            state = self.words[self.at + 3].value
            self.at += 4
            return thing._replace(state={"up": "open", "down": "closed"}.get(state, state))
        self.at = start
        return None

    def _told(self, thing: Thing) -> Thing | None:
        """Read "that is (not) red", "which are on"."""
        if self.text() not in ("that", "which", "who"):
            return None
        self.at += 1
        if self.tag() == "have" or (self.tag() == "do" and self.tag(1) == "not" and self.tag(2) == "have"):
            return self._having(thing)
        if self.tag() != "be":
            return None
        self.at += 1
        unlike = self.tag() == "not"
        self.at += unlike
        while self.tag() == "chatter":
            self.at += 1
        tag = "state" if self.text() == "on" and self._ends(1) else self.tag()
        if tag in _LOOKS:
            value, self.at = self.words[self.at].value, self.at + 1
            if unlike:
                return thing._replace(unlike=_with_look(Thing(), tag, value))
            return _with_look(thing, tag, value)
        placed = self._placed(Thing())
        if placed is None:
            return None
        if unlike:
            return thing._replace(unlike=placed)
        return thing._replace(room=placed.room or thing.room, relation=placed.relation or thing.relation,
                              support=placed.support or thing.support)

    def _having(self, thing: Thing) -> Thing | None:
        """Read "has a window", "does not have a window" of "a room that ..."."""
        lacks = self.tag() == "do"
        inner = _Reader(self.words, self.at + (3 if lacks else 1), self._depth + 1)
        other = inner.thing()
        if other is None or thing.support is not None or self._depth > 1:
            return None
        self.at = inner.at
        lacks, other = lacks or other.quantifier == "no", other._replace(quantifier="")
        return thing._replace(unlike=Thing(relation="with", support=other)) if lacks else thing._replace(
            relation="with", support=other)

    def _ends(self, ahead: int) -> bool:
        return self.tag(ahead) in ("", ",", "or", "and", "in", "at", "chatter", "be", "do")

    def _placed(self, thing: Thing) -> Thing | None:
        """Read a preposition with its noun phrase."""
        skip = 0
        while skip < 3 and (self.tag(skip) in ("place", "chatter") or (
                self.tag(skip) == "unknown" and self.text(skip).endswith("ing"))):
            skip += 1
        tag = self.tag(skip)
        if tag not in (*RELATIONS, "at", "from", "between") or self._depth > 2 or (thing.support and thing.room):
            return None
        if is_place(thing) and tag not in ("with", "without"):
            return None
        word = self.words[self.at + skip]
        inner = _Reader(self.words, self.at + skip + 1, self._depth + 1)
        if tag == "between":
            return self._between(thing, inner)
        other = inner.like() or inner.thing()
        if other is None and inner.tag() == "it":
            inner.at += 1
            other = Thing("it")
        if other is None:
            return None
        if tag == "in" and canonical(other.kind) == "toilet" and not other.looks:
            other = Thing(room="bathroom")
        if not other.kind and other.room and other.relation == "" and other.unlike is None:
            if thing.room and tag != "in":
                return None
            self.at = inner.at
            room = "" if other.room == "house" else other.room
            return thing._replace(room=room or thing.room) if tag != "without" else None
        relation = RELATIONS.get(tag) or ("in front of" if word.value == "in front of" else
                                          "next to" if word.text in ("round", "around", "about", "at") else "")
        if not relation or thing.support is not None:
            return None
        self.at = inner.at
        room, other = thing.room or other.room, other._replace(room="") if other.room in (thing.room, "") or not (
            thing.room) else other
        if tag == "without" or (tag == "with" and other.quantifier == "no"):
            return thing._replace(unlike=Thing(relation="with", support=other), room=room)
        return thing._replace(relation=relation, support=other, room=room)

    def like(self) -> Thing | None:
        """Read "the same shelf as the jar": the shelf with the jar on it."""
        if self.text() != "the" or self.tag(1) != "same" or self.tag(2) != "name":
            return None
        other = _Reader(self.words, self.at + 4, self._depth + 1)
        if self.text(3) != "as" or (beside := other.thing()) is None:
            return None
        kind, self.at = self.words[self.at + 2].value, other.at
        return Thing(kind, relation="with", support=beside)

    def _between(self, thing: Thing, inner: _Reader) -> Thing | None:
        first = inner.thing()
        if first is None or inner.tag() not in ("and", "or"):
            return None
        inner.at += 1
        second = inner.thing()
        if second is None:
            return None
        self.at = inner.at
        if not first.kind and not second.kind:
            return thing._replace(room=first.room, other_room=second.room)
        room = thing.room or second.room or first.room
        return thing._replace(relation="between", support=first._replace(room=""), room=room,
                              other_support=second._replace(room=""))


def _with_look(thing: Thing, tag: str, value: str) -> Thing:
    if tag == "is_colour":
        return thing._replace(colour=value)
    return thing._replace(material=value) if tag == "is_material" else thing._replace(state=value)


def _room_with(kind: str) -> str:
    """Return the room that "the room with the bath" means, "" where several may be meant."""
    rooms = rooms_of(kind)
    best = max(rooms, key=lambda room: rooms[room])
    return best if rooms[best] >= _USUAL else ""


def is_place(thing: Thing) -> bool:
    """Return whether a phrase names a room only: "the kitchen"."""
    return not thing.kind and bool(thing.room) and not thing.use and thing.support is None and thing.unlike is None


def is_known(thing: Thing) -> bool:
    """Return whether a phrase names a thing that the vocabulary knows, or describes one by its use or looks."""
    return not is_place(thing) and (bool(thing.use or thing.kinds) or (
        thing.kind not in ("", "one", "it") and (thing.kind == "water" or thing.kind in known_names())) or (
            not thing.kind and bool(thing.looks)))
