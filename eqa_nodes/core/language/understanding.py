"""Reads a question as a typed query: phrases first (phrases.py), then what the words between them ask of these.

Nothing is guessed: a question whose words do not all fit is not understood, and is asked back with questions that it
may mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from eqa_nodes.core.language.asking import asked_again, query_of_clause, which_one
from eqa_nodes.core.language.clauses import AUXILIARY, SIZES, STRONG, Clause
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.following import located, with_place
from eqa_nodes.core.language.gate import unexplained
from eqa_nodes.core.language.inferences import inferred, query_of_sentence
from eqa_nodes.core.language.lexing import plain, sentences
from eqa_nodes.core.language.naming import members
from eqa_nodes.core.language.phrases import Phrase, is_known, is_place, phrases
from eqa_nodes.core.language.quantities import lengths
from eqa_nodes.core.language.query import Exchange, Query, Thing, Understood
from eqa_nodes.core.language.refusing import NOT_UNDERSTOOD, not_a_question, why_not
from eqa_nodes.core.language.suggesting import Heard, ReadQuestion, suggestions
from eqa_nodes.core.language.targets import Target, missing_names
from eqa_nodes.core.language.time_words import asked_times, at_another_time, on_twice, with_time, without
from eqa_nodes.core.language.uses import purpose_of
from eqa_nodes.core.language.wording import in_words, question_of

_ANIMALS = frozenset(map(canonical, members("pet")))
_AT_ONCE = 4  # questions in one line
_HERE = r"(?: (?:at )?home| here| in (?:the|this) house)?(?!['\w])(?! (?:can|could|who|that)\b)"
_BE = r"\b(?:there )?(?:is|are|was|were) (?:there )?"
_PEOPLE = tuple((re.compile(words + _HERE, re.IGNORECASE), plain) for words, plain in (
    (rf"{_BE}(?:(?:any|some) ?(?:one|body|people|persons)|people)", "is there a person"),
    (rf"{_BE}(?:nobody|no one|no people|no persons)", "is there not a person"),
    (r"\bhow many (?:people|persons) (?:are|were)(?: there)?", "how many persons are")))


def understand(text: str, before: Exchange | None = None) -> Understood:
    """Return how a question is read, after another one if there was one: its query, or why there is none."""
    if why := not_a_question(text):
        return Understood(None, why=why, question=text)
    if before is not None and (again := at_another_time(text, before.question)):
        return understand(again)
    if before is not None:
        text = with_place(text, _read(before.question).query, before.answer)
    reading = _read(text)
    if reading.query is None and (both := on_twice(text)):
        reading = _read(both)
    if before is not None and (after := _after(_timeless(text), reading, before)) is not None:
        return Understood(after, in_words(after),
                          question=with_time(question_of(after), text, before.question))
    if reading.query is None:
        why = why_not(text, reading.unclear)
        meant = suggestions(_timeless(text), _read) if why.startswith(NOT_UNDERSTOOD) else ()
        return Understood(None, why=why, suggestions=meant, question=text)
    when = " ".join(word.text for word in asked_times(text))
    return Understood(reading.query, ", ".join(filter(None, (in_words(reading.query), when))), question=text)


def _after(text: str, alone: ReadQuestion, before: Exchange) -> Query | None:
    """Return what a question asks after the one before it, None where it says all itself."""
    last = _read(before.question).query
    if last is None or last.parts or not last.things:
        return None
    segments = [segment for words in sentences(text) for segment in _segments(phrases(words))]
    if len(segments) == 1:
        clause = Clause([p for p in segments[0] if p.tag != "and"], [], 0.0, "", "")
        if (again := asked_again(clause, last, short=alone.query is None)) is not None:
            return again
    refers = any(p.tag == "it" or (p.thing is not None and p.thing.kind == "one") for s in segments for p in s)
    together = _read(f"{before.question.rstrip(' ?.!')}? {text}").query if refers else None
    if together is None or not together.parts or together.parts[0] != last:
        return None
    return located(together.parts[-1], last, before.answer)


def query_of(question: str) -> Query:
    """Return what a question asks; the form is "" for one that is not understood."""
    return understand(question).query or Query("")


def targets(question: str) -> tuple[Target, ...]:
    """Return the places or objects that a question is about where it is about several, in its order; else ()."""
    query = understand(question).query
    return query.targets if query is not None else ()


def missing_in(message: str, question: str) -> tuple[Target, ...]:
    """Return the targets of a question that such a message calls missing; () for any other message."""
    names = missing_names(message)
    return tuple(target for target in targets(question) if target.name in names) if names else ()


def _timeless(text: str) -> str:
    """Return a question without the words of the past time that it asks about: core/memory/times.py reads them."""
    return without(text, asked_times(text))


@lru_cache(maxsize=1024)
def _read(text: str) -> ReadQuestion:
    text = _timeless(text)
    for people, a_person in _PEOPLE:
        text = people.sub(a_person, text)
    if (query := _inferred(text)) is not None:
        return ReadQuestion(query)
    cut = [segment for words in sentences(text) for segment in _segments(_merged(phrases(words)))]
    talk = _Talk(cut, lengths(text))
    for at in range(len(cut)):
        talk.hear(at)
    found = talk.questions()
    if len(found) > 1:
        parts = tuple(found[:_AT_ONCE])
        return ReadQuestion(Query("several", parts=parts, things=tuple(t for q in parts for t in q.things)),
                            heard=talk.heard())
    if found:
        return ReadQuestion(found[0], heard=talk.heard())
    return ReadQuestion(None, tuple(talk.unclear), talk.heard())


class _Talk:
    """What is gathered clause by clause: the questions, and what they may refer to."""

    def __init__(self, cut: Sequence[Sequence[Phrase]], metres: Sequence[float]) -> None:
        self._cut, self._metres = cut, metres[0] if metres else 0.0
        self._unit = next((p.value for segment in cut for p in segment
                           if p.tag == "unit" and not _numbered(segment, p)), "")
        self._asked, self._weak, self._doubtful = list[Query](), list[Query](), list[Query]()
        self._clauses = list[tuple[Phrase, ...]]()
        self.unclear: list[str] = []
        self._told: Query | None = None  # what the clause before asked, or said as if it asked
        self._failed = False  # whether a clause that asks was not understood
        self._half = False  # whether it asked something else of what was spoken of
        self._topics, self._group = list[Thing](), list[Thing]()
        self._spot: Thing | None = None  # the place that "there" means
        self._place = ""  # the room that was named before the question: "in the kitchen, how many ..."

    def hear(self, at: int) -> None:
        """Read one clause."""
        clause = self._clause(at)
        self._clauses.append(tuple(clause.items))
        query = asked_again(clause, self._asked[-1]) if self._asked else None
        query = query or which_one(clause, self._told) or query_of_clause(clause)
        self._told = query
        odd = unexplained(clause, query) if query is not None else [p.text for p in clause.items if p.tag == "unknown"]
        if query is not None and not odd:
            aside = clause.has("tell") and -1 < clause.at("not") < clause.at("tell")  # "I never know what is on"
            (self._asked if clause.asks() and not aside else self._weak).append(query)
        else:
            self.unclear = odd if clause.asks() or not self.unclear else self.unclear
            self._doubtful += [query] if query is not None else []
            self._failed = self._failed or (clause.asks() and not clause.is_tag())
            about = bool(clause.things) or (clause.has("it", "which") and bool(self._topics))
            self._half = self._half or (about and clause.has("what", "which", "count", "colour"))
        self._remember(clause, query, self._cut[at])

    def questions(self) -> list[Query]:
        """Return what was asked; nothing where a part of it was not understood."""
        return [] if self._half else _each_once(self._asked or ([] if self._failed else self._weak[-1:]))

    def heard(self) -> Heard:
        """Return what was recognised, for suggestions."""
        return Heard((*self._asked, *self._doubtful, *self._weak), tuple(self._clauses),
                     tuple(self._topics), self._metres, self._unit)

    def _clause(self, at: int) -> Clause:
        clause = Clause(self._cut[at], self._topics, self._metres, self._unit, self._place, self._group, self._spot)
        if self._topics or at + 1 == len(self._cut) or clause.main() is not None:
            return clause
        later = [p.thing for p in self._cut[at + 1] if p.thing is not None and is_known(p.thing)]
        return Clause(self._cut[at], later[:1], self._metres, self._unit, self._place)  # "Made or not, is the bed?"

    def _remember(self, clause: Clause, query: Query | None, segment: Sequence[Phrase]) -> None:
        """Note what the next clause may call "it", "they", "there"."""
        asks = query is None and clause.asks()  # what was not understood tells nothing: "would it be the gold one"
        things = [p.thing for p in (segment if asks else clause.items) if p.thing is not None]
        spoken = [t for t in things if is_known(t)]
        inner = [t.support._replace(room=t.support.room or t.room) for t in things
                 if t.kind and not is_known(t) and t.support is not None]  # "my hand is on the desk"
        again = self._topics[-1:] if clause.tags[:1] == ["it"] else []
        self._topics.extend(t for t in (*inner, *spoken[1:], *clause.subject(query, spoken), *again)
                            if _can_be_meant(t))
        self._spot = next((p for p in clause.places_said() if p.support is not None), self._spot)
        self._group = spoken if any(p.tag == "and" for p in segment) else []
        self._place = clause.rooms[0] if clause.rooms and not clause.things else self._place


def _each_once(queries: Sequence[Query]) -> list[Query]:
    """Return the queries without repeats: "I lost my hat. Where is it?" asks once, "is it full? I mean, empty?" too."""
    found: dict[Query, Query] = {}
    for query in queries:
        key = query._replace(things=tuple(t._replace(quantifier="") for t in query.things))
        if query.form == "is" and query.predicates[0].state:
            found[key._replace(predicates=())] = query  # the last word counts
        else:
            found.setdefault(key, query)
    return list(found.values())


def _can_be_meant(thing: Thing) -> bool:
    """Return whether "it" can be such a thing: named or described by its use, and no animal that is spoken of."""
    named = thing.kind or thing.use or thing.state
    return is_known(thing) and bool(named) and canonical(thing.kind) not in _ANIMALS


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
    return query_of_sentence(form, thing._replace(quantifier=""), groups)


def _merged(items: Sequence[Phrase]) -> list[Phrase]:
    """Return a sentence with what is said again in other words put together: "the lamp, the one on the table,"."""
    out: list[Phrase] = []
    for at, item in enumerate(items):
        thing, last = item.thing, out[-2].thing if len(out) > 1 else None
        chosen = [p.tag for p in items[at + 1:at + 2]] == ["or"]
        again = thing is not None and thing.kind == "one" and item.fixed and not chosen and (
            [p.tag for p in out[-1:]] == [","])
        if thing is not None and again and last is not None and last.kind not in ("", "one"):
            out[-2:] = [out[-2]._replace(thing=last.told(thing))]
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
                *AUXILIARY, "unknown", "place") and len(items[cuts[-1]:at]) > 1:
            cuts.append(at + 1)
            continue
        rest = [p for p in items[at + 1:] if p.tag not in ("chatter", "and", ",", "but", "at", "in", "from")]
        so_far = items[cuts[-1]:at]
        if item.tag == "but" or (rest and _begins(rest, item.tag) and (item.tag in ("if", ",") or any(
                p.thing is not None or p.tag in STRONG for p in so_far))):
            cuts.append(at if item.tag == "if" else at + 1)
    return [list(items[start:end]) for start, end in zip(cuts, [*cuts[1:], len(items)], strict=True)]


def _begins(rest: Sequence[Phrase], mark: str) -> bool:
    first = rest[0]
    if first.tag in ("state", "close") and len(rest) > 1 and rest[1].tag == "or":
        return True
    if first.tag in STRONG and first.tag not in ("material",):
        return True
    if mark == "if" and any(p.tag in AUXILIARY for p in rest):
        return True
    if mark == "and" and first.tag == "tell" and len(rest) > 1 and (rest[1].thing is not None or rest[1].tag in STRONG):
        return True  # "and name the rooms"
    if first.tag in ("it", "the") and len(rest) > 1 and rest[1].tag in ("colour", *SIZES):
        return True
    return first.tag in AUXILIARY and len(rest) > 1 and (rest[1].thing is not None or rest[1].tag in (
        "it", "person", "there", "not", "can", "one", "the", "any", "all"))
