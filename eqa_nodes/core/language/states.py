"""States of things in a home: the canonical state that words mean, and its opposite."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical, normalise
from eqa_nodes.core.language.naming import by_head
from eqa_nodes.core.language.vocabulary import entries, pairs, table


class StatePair(NamedTuple):
    """Two opposite states, all words for each (itself first), and the kinds of things that have them."""

    states: tuple[str, str]
    words: tuple[tuple[str, ...], tuple[str, ...]]
    kinds: tuple[str, ...]


def _pair(row: dict[str, tuple[str, ...]]) -> StatePair:
    one, other = (name for name in row if name != "of")
    return StatePair((one, other), ((one, *row[one]), (other, *row[other])), row["of"])


PAIRS = tuple(map(_pair, pairs("states")))
MATERIALS = tuple(table("materials"))
_AROUND = frozenset(entries("around_states"))


def state_of(words: str, kind: str = "") -> str:
    """Return the canonical state that words mean ("left switched on" is on), "" for none.

    Of a kind that has states its own pair comes first: a burning candle is lit, a burning lamp is on.
    """
    return next(iter(states_of(words, kind)), "")


@lru_cache(maxsize=1024)
def states_of(words: str, kind: str = "") -> tuple[str, ...]:
    """Return every state that words may mean, those of the kind first, then exact names: "burning" is on or lit."""
    text = normalise(words)
    bare = _bare(text)
    found = [(not _has(pair, kind), state not in (text, bare), rank, state) for rank, pair in enumerate(PAIRS)
             for state, names in zip(pair.states, pair.words, strict=True) if text in names or bare in names]
    return tuple(dict.fromkeys(state for *_, state in sorted(found)))


@cache
def states_of_kind(kind: str) -> tuple[str, str] | None:
    """Return the two states that a kind of thing has, None where the vocabulary knows none."""
    return next((pair.states for pair in PAIRS if _has(pair, kind)), None)


def opposite(state: str, kind: str = "") -> str:
    """Return the opposite of a canonical state, in the pair that the kind has first; "" where none is known."""
    for pair in sorted(PAIRS, key=lambda pair: not _has(pair, kind)):
        if state in pair.states:
            return pair.states[1 - pair.states.index(state)]
    return ""


@cache
def state_words() -> frozenset[str]:
    """Return every word and phrase that names a state."""
    return frozenset(word for pair in PAIRS for names in pair.words for word in names)


def _bare(text: str) -> str:
    """Return a phrase without the words around a state: "still left switched on" is "switched on", then "on"."""
    known, words = state_words(), text.split()
    while words and " ".join(words) not in known:
        if words[0] in _AROUND:
            words = words[1:]
        elif words[-1] in _AROUND:
            words = words[:-1]
        else:
            break
    return " ".join(words)


def _has(pair: StatePair, kind: str) -> bool:
    return bool(kind) and any(canonical(kind) == canonical(own) or by_head(kind, own) for own in pair.kinds)

