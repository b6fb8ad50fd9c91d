"""What things in a home are for, what they say about the people in it, and the rooms where they usually are."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical, content_words
from eqa_nodes.core.language.vocabulary import cells, entries, rows, split, table, topics


class Purpose(NamedTuple):
    """A purpose in words, the objects made for it (the most direct first), and the preposition of their use."""

    words: tuple[str, ...]
    kinds: tuple[str, ...]
    preposition: str


PURPOSES = tuple(Purpose(tuple(words.split()), split(kinds), preposition)
                 for preposition, kinds, words in rows("uses"))
HINTS = {topic: tuple(table("hints", topic).items()) for topic in topics("hints")}  # answers, with what gives them away
SIGNS = {"pet": tuple(kind for _, kinds in HINTS["pet"] for kind in kinds),  # topic -> what gives it away
         **{topic: kinds for names, kinds in table("signs").items() for topic in split(names)}}
OFFERS, SEATS = table("offers"), entries("seats")

_SOMETIMES = 0.35  # as likely as that beside a room where an object usually is
_ANYWHERE = {"living room": 0.25, "bedroom": 0.25, "kitchen": 0.2, "hallway": 0.1, "bathroom": 0.1, "study": 0.1}
_ANY_USE = frozenset(entries("any_use"))


def purpose_of(text: str) -> tuple[Purpose | None, int]:
    """Return the purpose that shares most words with a text, and how many; (None, 0) when none shares any.

    Words of any form count ("sweeping" is sweep); those that fit many uses do not. On a tie rarer words win, then the
    more specific purpose.
    """
    words = _evidence(text)
    shared = {purpose: words & own for purpose, own in _purposes().items() if words & own}
    if not shared:
        return None, 0
    best = max(shared, key=lambda row: (len(shared[row]), sum(1 / _rows_with()[word] for word in shared[row]),
                                        len(shared[row]) / len(_purposes()[row])))
    return best, len(shared[best])


@lru_cache(maxsize=1024)
def _evidence(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in content_words(text) if word not in _ANY_USE)


@cache
def _purposes() -> dict[Purpose, frozenset[str]]:
    return {purpose: _evidence(" ".join(purpose.words)) for purpose in PURPOSES}


@cache
def _rows_with() -> dict[str, int]:
    own = _purposes().values()
    return {word: sum(word in words for words in own) for words in own for word in words}


def _stem(word: str) -> str:
    """Return a word without the ending of its form: "sweep" of "sweeping", "bak" of "bake", "baked" and "baking"."""
    found = re.fullmatch(r"(\w*[aeiouy]\w*?)(?:ing|ed)", word)
    base = re.sub(r"([^aeiousl])\1$", r"\1", found[1]) if found and len(found[1]) > 2 else word
    return base.removesuffix("e") if len(base) > 3 else base


@cache
def rooms_of(kind: str) -> dict[str, float]:
    """Return the usual rooms of an object with weights that sum to 1; for unknown objects the common rooms."""
    name = canonical(kind)
    found = {}
    for room, (usual, rarely) in cells("usual_rooms").items():
        if name in map(canonical, split(usual)):
            found[room] = 1.0
        elif name in map(canonical, split(rarely)):
            found[room] = _SOMETIMES
    total = sum(found.values())
    return {room: weight / total for room, weight in found.items()} if found else dict(_ANYWHERE)
