"""What a question asks, as a typed query, and the words in which every interface prints it ("understood: ...")."""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.core.language.english import number_word, plural
from eqa_nodes.core.language.targets import Compared, Target

DID_YOU_MEAN = "Did you mean:"
MEANT = "was understood as"  # in the message of an answer after a person said what is meant


class Thing(NamedTuple):
    """A noun phrase: "two lit candles on the desk in the study" is candle, number 2, state lit, on (desk), study.

    kind: the singular name, "" for any object; kinds: what it may be where only its use is named ("something to sit
    on"), the most direct first. use: that use in words. size: "large", "smaller", "tallest". quantifier: any | all | no
    | the (of a plural) | other | that (one that was spoken of before). unlike: what it must not be ("that is not red",
    "outside the kitchen").
    """

    kind: str = ""
    room: str = ""
    colour: str = ""
    relation: str = ""  # on, in, under, above, at, next to, left of, right of, behind, in front of, between, with
    support: Thing | None = None  # what it is on, in, under, above, next to, behind or with
    other_room: str = ""  # of a door or passage between two rooms
    state: str = ""
    material: str = ""
    size: str = ""
    number: int = 0
    quantifier: str = ""
    kinds: tuple[str, ...] = ()
    use: str = ""
    unlike: Thing | None = None
    other_support: Thing | None = None  # the second of the two that it is between

    @property
    def name(self) -> str:
        """The phrase in words, without an article: "lit candle on the desk in the study"."""
        looks = " ".join(filter(None, (self.size, self.state if not self.unlike or self.state else "", self.colour,
                                       self.material)))
        kind = self.kind or (f"something to {self.use}" if self.use else "thing")
        kind = plural(kind) if self.number > 1 or self.quantifier in ("all", "the") else kind
        count = number_word(self.number) if self.number else ""
        words = " ".join(filter(None, (count, looks, kind)))
        words += f" {self._place}" if self._place else ""
        if self.other_room:
            return f"{words} between the {self.room} and the {self.other_room}"
        words += f" in the {self.room}" if self.room else ""
        if self.unlike is not None:
            unlike = self.unlike
            words += f" without {unlike.support.name}" if unlike.support and unlike.relation == "with" else (
                f" that is not {unlike.looks}")
        return words

    @property
    def name_of_kind(self) -> str:
        """The kind, or the most direct one for its use."""
        return self.kind or next(iter(self.kinds), "")

    def plain(self) -> Thing:
        """Return the phrase without its quantifier, but for "that": one that was spoken of."""
        return self._replace(quantifier="that" if self.quantifier == "that" else "")

    def told(self, more: Thing) -> Thing:
        """Return the phrase with what another one says of the same thing, beside its kind and how many there are."""
        said = {name: value for name, value in more._asdict().items()
                if value and name not in ("kind", "quantifier", "number")}
        return self._replace(**said)

    def other(self) -> Thing | None:
        """Return "the other one": of another colour, material or state, else in another place or another room.

        None where nothing tells them apart.
        """
        for names in (("colour",), ("material",), ("state",), ("relation", "support"), ("room",)):
            if getattr(self, names[0]):
                told = Thing(**{name: getattr(self, name) for name in names})
                empty = {name: getattr(Thing(), name) for name in names}
                return self._replace(**empty, quantifier="", number=0, unlike=told)
        return None

    @property
    def looks(self) -> str:
        """State, colour, material and place in words: "on", "red", "on the desk in the study"."""
        room = f"in the {self.room}" if self.room else ""
        return " ".join(filter(None, (self.size, self.state, self.colour, self.material, self._place, room)))

    @property
    def _place(self) -> str:
        if self.support is None:
            return ""
        second = f" and the {self.other_support.name}" if self.other_support is not None else ""
        return f"{self.relation} the {self.support.name}{second}"


class Query(NamedTuple):
    """A question that was understood. form: a key of the rules (core/answerers/label/rules.py) and of _ASKED here.

    things: what it is about; predicates: what is asked of them ("is it red?"), one for each option of "is it red or
    blue?"; aspect: which side, measure or manner of use; unit: of length, as the question wants it (cm, inch, foot, m);
    metres: a length that it names; denied: "is it not ...?"; compared: what it asks of several targets, which things
    then describe one by one.
    """

    form: str
    things: tuple[Thing, ...] = ()
    predicates: tuple[Thing, ...] = ()
    aspect: str = ""
    unit: str = ""
    metres: float = 0.0
    number: int = 0
    denied: bool = False
    parts: tuple[Query, ...] = ()
    compared: Compared | None = None

    @property
    def targets(self) -> tuple[Target, ...]:
        """The places or objects that it is about, where they are several."""
        return self.compared.targets if self.compared else ()

    @property
    def subjects(self) -> tuple[Thing, ...]:
        """The phrases that name what it is about: of "what is on the table" the table."""
        found: list[Thing | None] = []
        for thing in self.things:
            if thing.kind or thing.kinds or thing.support is None:
                found.append(thing)
            else:
                found += (thing.support, thing.other_support)
        found += (p if p.kind else p.support for p in self.predicates)
        return tuple(dict.fromkeys(t for t in found if t is not None))

    @property
    def rooms(self) -> tuple[str, ...]:
        """The rooms that it names, each once."""
        told = (*self.things, *self.predicates, *self.subjects)
        supports = [t.support for t in told if t.support is not None]
        named = [t.room for t in (*told, *supports)] + [t.other_room for t in told]
        return tuple(dict.fromkeys(filter(None, (*named, *(target.room for target in self.targets)))))

    @property
    def names(self) -> tuple[str, ...]:
        """What memory is searched for: the kinds, looks and rooms of everything that it is about, each once."""
        parts = [name for part in self.parts for name in part.names]
        targets = [name for target in self.targets for name in (target.kind, target.room)]
        named = [name for thing in (*self.things, *self.predicates) for name in _names(thing)]
        return tuple(dict.fromkeys(filter(None, (*named, *targets, *parts))))


def _names(thing: Thing) -> list[str]:
    own = [*(thing.kinds or (thing.kind,)), thing.colour, thing.material, thing.state, thing.room, thing.other_room]
    supports = [s for s in (thing.support, thing.other_support) if s is not None]
    return own + [name for support in supports for name in _names(support)]


class Exchange(NamedTuple):
    """The question before this one, as it was understood, and its answer: what "it" and "there" refer to."""

    question: str
    answer: str = ""


class Understood(NamedTuple):
    """How a question was read: its query, or why there is none, with up to three questions that may have been meant."""

    query: Query | None
    said: str = ""
    why: str = ""
    suggestions: tuple[str, ...] = ()
    question: str = ""  # the question in full words where it referred to the one before: "Is the lamp on?"

    @property
    def refusal(self) -> str:
        """Why there is no query, with the questions that may have been meant; "" if there is one."""
        if self.query is not None:
            return ""
        meant = f"{DID_YOU_MEAN} {' '.join(self.suggestions)}" if self.suggestions else ""
        return " ".join(filter(None, (self.why, meant)))
