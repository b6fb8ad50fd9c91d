"""Cuts a question into sentences of tagged words: names of things, rooms, looks, states, and words that ask.

A word that is in no list is tagged "unknown". Nothing later may use it as if it were understood.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from eqa_nodes.core.language.english import COLOURS, canonical, normalise, number, singular
from eqa_nodes.core.language.naming import known_names
from eqa_nodes.core.language.rooms import room_by_slang
from eqa_nodes.core.language.spelling import spelled
from eqa_nodes.core.language.states import state_of
from eqa_nodes.core.language.vocabulary import entries, groups, table

_LONGEST = 5  # words of the longest phrase in the lists
_MATERIALS = dict(groups("materials"))
_WORD = re.compile(r"\d+(?:[.,]\d+)?|[^\W\d_]+(?:'[^\W\d_]+)*|[?!.;:,\n]| - |--|[\u2013\u2014]|\(|\)")
_STATES = {"shut": "closed", "close": "closed", "burning": "lit"}  # where no kind of thing is named
_BRINGS = frozenset(("switched", "turned", "left", "powered", "put", "wide", "hanging", "turn", "switch", "lit",
                     "closed", "fired", "standing", "propped", "kept", "swung", "half", "shut", "pulled"))
_OWNED = re.compile(r"^(.{2,}?)(?:'s|(?<=s)')$")


class Word(NamedTuple):
    """A word or phrase with what it is; value: what it stands for (a colour, a canonical state, a room's name)."""

    tag: str
    text: str
    value: str = ""


CHATTER = frozenset(entries("chatter"))
_UNITS = {word: unit for unit, words in table("units").items() for word in words}
_ROOMS, _OF_ROOMS = frozenset(entries("room_nouns")), frozenset(entries("room_qualifiers"))
_ROOM_WORDS = {word: room for room, words in table("room_names").items() for word in words}


def _phrases() -> dict[tuple[str, ...], tuple[str, str]]:
    found: dict[tuple[str, ...], tuple[str, str]] = {}
    for tag, entries_of in table("question_words").items():
        for entry in entries_of:
            phrase, _, value = entry.partition("=")
            found.setdefault(tuple(phrase.split()), ("thing" if value == "thing" else tag, value or phrase))
    return found


_PHRASES = _phrases()
_ASIDE = re.compile(r",? (?:when|as|if) (?:you|i|one) (?:face|faces|facing|look at|are facing)\b[^,?.!]*|"
                    r",? (?:including|counting) [^,?.!]*|, [^,?.!]* included\b")


def sentences(text: str) -> list[list[Word]]:
    """Return the sentences of a text as tagged words, with their slips mended."""
    return [words for sentence in _cut(plain(text)) if (words := list(_tagged(sentence)))]


def plain(text: str) -> str:
    """Return a text in lower case with plain marks, short forms in full words and slips mended."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = text.translate(str.maketrans("\u2019\u2018`\u00b4\u201c\u201d", "''''\"\"")).replace('"', " ")
    text = re.sub(r"[^\S\n]+", " ", "".join(c if c.isprintable() or c == "\n" else " " for c in text))
    text = re.sub(r"(?<=\w)/(?=\w)", " or ", text)
    text = re.sub(r"(?<=\w)&(?=\w)| & ", " and ", text)
    for torn, whole in _SHORT_FORMS:
        text = torn.sub(whole, text)
    return _ASIDE.sub("", text)


_SHORT_FORMS = tuple((re.compile(torn), whole) for torn, whole in (
    (r"\bcan'?t\b|\bcannot\b", "can not"), (r"\bwon'?t\b", "will not"), (r"\bain'?t\b", "is not"),
    (r"(?:^|(?<=[.?!,] ))(is|are|was|were|do|does|did|has|have)n'?t\b", r"\1"),  # "isn't it on?" asks whether it is
    (r"\b(is|are|was|were|do|does|did|has|have|had|could|would|should|must|need)n'?t\b", r"\1 not"),
    (r"\b(i|we|you|they)'?ve\b", r"\1 have"), (r"\b(i|we|you|they|he|she|there)'d\b", r"\1 would"),
    (r"\b(where|what|how|who|when|which)'d\b", r"\1 did"),
    (r"\b(i|we|you|they|it|that|there)'ll\b", r"\1 will"), (r"\bi'?m\b", "i am"), (r"\b(we|you|they)'re\b", r"\1 are"),
    (r"\blet's\b", "let us"), (r"\b(what|where|who|how|there|here|that|it|he|she|which|when|why)'s\b", r"\1 is"),
    (r"\b(what|where|how|there|who|that)s\b", r"\1 is"),
    (r"\b(what|where|who|how|which)'?re\b(?! \w+ is)", r"\1 are"),
    (r"\b(?:mummy|mum|mom|mommy|mama) and (?:daddy|dad|papa)'?s?\b", "parents"),
    (r"\b(\w+)[- ]year[- ]olds?\b", r"toddler"),
    (r"(\w+in)'(?=\s|$)", r"\1g"), (r"\b(?:were|wear|ware) (is|are)\b", r"where \1"),
    (r"^(?:wears|wares) (?=the |my )", "where is "),
    (r"\bthing what (?=i|you|we|one)", "thing that "),
    (r"\b(?:have|has|did) (?:we|i|you|they) (?:run|ran) out of\b", "is there no"),
    (r"\b(?:are|am) (?:we|i|you|they) (?:all )?out of\b", "is there no"),
    (r"(?:(?:have|has|did|can|do) )?\b(?:you|(?:any|some)(?:one|body))(?: \w+)? (?:seen|see|found|spotted|spot)\b"
     r"(?= (?:my|the|our|a|any|your|his|her)\b)", "where is"),
))


def _cut(text: str) -> Iterator[list[str]]:
    """Yield the words of each sentence; commas, colons and dashes stay as ","."""
    words: list[str] = []
    for found in _WORD.finditer(text):
        mark = found[0].strip() or ","
        if mark[0] in "?!.;\n" or found[0] == "\n":
            yield words
            words = []
        elif mark in (",", ":", "(", ")", "-", "--", "\u2013", "\u2014"):
            words.append(",")
        else:
            words.append(mark)
    yield words


def _tagged(words: list[str]) -> Iterator[Word]:
    words = list(_mended(words))
    at = 0
    while at < len(words):
        if room := _room_by_slang(words, at):
            yield room
            at += len(room.text.split())
            continue
        for length in range(min(_LONGEST, len(words) - at), 0, -1):
            phrase = tuple(words[at:at + length])
            word = _known(phrase)
            after = words[at + length] if at + length < len(words) else ""
            if word and not (word.tag == "state" and length > 1 and phrase[-1] in ("on", "in") and _leads(after)):
                yield word
                at += length
                break
        else:
            yield Word("unknown", words[at])
            at += 1


def _room_by_slang(words: list[str], at: int) -> Word | None:
    """Return the room that slang names here, where a place is asked for: "in the loo", "which bog", "the lav light"."""
    before = next((word for word in reversed(words[:at]) if word not in ("the", "a", "my", "our", "your")), "")
    for length in (2, 1):
        text, after = " ".join(words[at:at + length]), " ".join(words[at + length:at + length + 1])
        room = room_by_slang(text)
        light = singular(after) in known_names() and f"{text} {singular(after)}" not in known_names()
        if room and (light or before in ("in", "into", "inside", "which", "what", "to")):
            return Word("room", text, room)
    return None


def _leads(word: str) -> bool:
    """Return whether a word begins a noun phrase: "left on the table" is no state."""
    found = _known((word,)) if word else None
    return found is not None and found.tag in ("the", "name", "room", "it", "all", "any", "which", "what")


def _state(word: str) -> str:
    return _STATES.get(word) or state_of(word)


def _mended(words: list[str]) -> Iterator[str]:
    """Yield the words with their slips mended, the mark of an owner apart."""
    apart = [part for word in words for part in _OWNED.sub(r"\1 's", word).split()]
    start = 0
    for at, word in enumerate([*apart, ","]):
        if word == ",":
            yield from spelled(" ".join(apart[start:at])).split()
            yield from ([","] if at < len(apart) else [])
            start = at + 1




def _room(phrase: tuple[str, ...]) -> str:
    """Return the name of a room, "house" for all of them, "" for other words."""
    text = " ".join(phrase).replace("'", "")
    if text in _ROOM_WORDS:
        return _ROOM_WORDS[text]
    last = singular(phrase[-1])
    if last not in _ROOMS or len(phrase) > 3 or not all(word.replace("'", "") in _OF_ROOMS for word in phrase[:-1]):
        return ""
    if len(phrase) == 3 and phrase[0] in ("parents", "parent") and phrase[1] == "main":
        phrase = phrase[1:]
    name = " ".join((*(word.replace("'", "") for word in phrase[:-1]), last))
    return {"parents room": "main bedroom", "bath room": "bathroom", "bed room": "bedroom"}.get(name, name)


@lru_cache(maxsize=8192)
def _known(phrase: tuple[str, ...]) -> Word | None:
    """Return what a word or phrase is, None for an unknown one. Names of things and rooms win over other meanings."""
    text = " ".join(phrase)
    if phrase in ((",",), ("'s",)):
        return Word(text, text)
    if room := _room(phrase):
        return Word("room", text, room)
    if len(phrase) > 1 and (phrase in _PHRASES) is False and not {",", "'s", "a", "an", "the"}.isdisjoint(phrase):
        return None
    one = singular(normalise(text))
    if len(phrase) > 1 and one in known_names() and phrase[0] not in ("something", "anything", "place"):
        return Word("name", text, one)
    if phrase in _PHRASES:
        return Word(_PHRASES[phrase][0], text, _PHRASES[phrase][1])
    brought = len(phrase) == 2 and phrase[0] in _BRINGS and phrase[1] not in ("up", "down", "out")
    if brought and (state := _state(phrase[1])):
        return Word("state", text, state)
    if len(phrase) > 2:
        return None
    if text in COLOURS or text == "grey" or re.fullmatch(rf"(?:light|dark) (?:{'|'.join(COLOURS)})", text):
        return Word("is_colour", text, canonical(text))
    if text in _MATERIALS:
        return Word("is_material", text, _MATERIALS[text])
    if len(phrase) > 1:
        return None
    if text in _UNITS:
        return Word("unit", text, _UNITS[text])
    if text[0].isdigit() or (number(text) is not None and text not in ("no", "none", "once", "twice", "single")):
        return Word("number", text, text)
    if one in known_names():
        return Word("name", text, one)
    if state := _state(text):
        return Word("state", text, state)
    return Word("chatter", text) if text in CHATTER else None
