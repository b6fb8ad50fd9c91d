"""Corrects spelling mistakes in questions: of unknown words only, and only where a single word can be meant.

A word of the vocabulary or of an English dictionary (pyspellchecker's, 160,000 words) stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain

from eqa_nodes.core.language.english import COMMON_WORDS, plural, singular
from eqa_nodes.core.language.naming import known_names
from eqa_nodes.core.language.rooms import room_words
from eqa_nodes.core.language.states import MATERIALS, state_words
from eqa_nodes.core.language.vocabulary import entries, groups, table

_SHORT = {word: "" if text == "-" else text for word, (text,) in table("short").items()}
_SLIPS = {slip: text for slip, (text,) in table("slips").items()}
_SLIP = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, _SLIPS), key=len, reverse=True))})\b")
_ARTICLES, _BEFORE = frozenset(("a", "an", "the")), frozenset((*entries("idle"), "in", "on", "under", "from", "near"))
# Costs of a letter left out or added, changed, changed for one that sounds alike, of two exchanged, of another initial.
_MISSED, _CHANGED, _ALIKE, _SWAPPED, _OTHER_START = 0.9, 1.3, 0.7, 0.6, 0.5
_MOST_SHORT, _MOST, _MOST_LONG = 1.4, 2.3, 2.7  # what a word of up to six letters, of up to nine, and a longer may cost
_CLEAR = 0.25  # how much nearer a word must be than the next
_OFTEN = 20.0  # or how much more often it is written
_COMMON = 20_000  # how often the dictionary met a common word
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SOUND = {frozenset(pair) for pair in ("ck", "sz", "iy", "ei", "ae", "fv", "cs", "ao")}


@cache
def words() -> frozenset[str]:
    """Return every single word of the vocabulary, with its plural."""
    listed = {*known_names(), *room_words(), *state_words(), *MATERIALS, *(word for word, _ in groups("other_colours")),
              *(entry.partition("=")[0] for asked in table("question_words").values() for entry in asked),
              *chain(*table("units").values()), *entries("chatter"), *entries("around_states"),
              *entries("room_qualifiers"), *entries("brands")}
    single = {word for text in listed for word in text.split()} | COMMON_WORDS
    return frozenset(single | {plural(word) for word in single if len(word) > 2 and word not in _BEFORE})


def is_word(word: str) -> bool:
    """Return whether a word is spelled correctly: one of the vocabulary, or of the English dictionary."""
    return word in words() or word in _english()


@cache
def _english() -> dict[str, int]:
    from spellchecker import SpellChecker  # takes 0.4 s: loaded for the first word that the vocabulary does not know

    return dict(SpellChecker().word_frequency.dictionary)


@lru_cache(maxsize=4096)
def spelled(text: str) -> str:
    """Return a text in lower case, words apart by blanks, with the slips mended that leave no doubt."""
    typed = _SLIP.sub(lambda found: _SLIPS[found[0]], text).split()
    plain = " ".join(filter(None, (_SHORT.get(word, word) for word in typed))).split()
    return " ".join(mended for mended in map(_mended, _joined(plain)) if mended)


def _joined(typed: list[str]) -> Iterator[str]:
    """Yield words, two that are one name as one: "tread mill" is treadmill, but "side table" is a name as it is."""
    rest = iter([*zip(typed, [*typed[1:], ""], strict=False)])
    for word, following in rest:
        apart, whole = singular(f"{word} {following}"), word + following
        if (min(len(word), len(following)) > 2 and whole in _whole_names() and not {word, following} & _BEFORE
                and apart not in known_names() | room_words()):
            yield whole
            next(rest)
        else:
            yield word


@cache
def _whole_names() -> frozenset[str]:
    single = {name for name in (*known_names(), *room_words()) if " " not in name and len(name) > 5}
    return frozenset(single | set(map(plural, single)))


@lru_cache(maxsize=4096)
def _mended(word: str) -> str:
    if len(word) < 3 or not word.isascii() or not word.isalpha() or is_word(word):
        return word
    once = re.sub(r"(.)\1{2,}", r"\1\1", word)  # "offff", "sooofa"
    guesses = [once, re.sub(r"(.)\1", r"\1", once), *([f"{word}g"] if word.endswith("in") else [])]  # "runnin"
    found = next((guess for guess in guesses if guess in words() or (guess.endswith("ing") and is_word(guess))), "")
    return found or _parted(word) or _nearest(word) or _parted(
        close_to(word, (name for name in _glued() if name[0] == word[0]))) or word


def _parted(word: str) -> str:
    """Return the words that were written as one, without articles: "livingroom", "isthe"; "" where none fit."""
    if word in _glued():
        return _glued()[word]
    for i in range(2, len(word) - 1):
        first, second = word[:i], word[i:]
        if first in _BEFORE and second in _ARTICLES:
            return first
        if (first in _BEFORE and second in _BEFORE) or (
                (first in _BEFORE or (i > 3 and first in words())) and len(second) > 3 and second in words()):
            return f"{first} {second}"
    return ""


@cache
def _glued() -> dict[str, str]:
    return {name.replace(" ", ""): name for name in sorted(known_names() | room_words()) if " " in name}


@cache
def _by_initial() -> dict[str, tuple[str, ...]]:
    return {first: tuple(sorted(word for word in words() if word[0] == first and len(word) > 2))
            for first in {word[0] for word in words() if word}}


def _nearest(word: str) -> str:
    """Return the word of the vocabulary that a misspelt one is, "" where a common word outside of it is as near."""
    begin = {word[1:], word[1] + word[0] + word[2:], *(letter + word[k:] for letter in _LETTERS for k in (0, 1))}
    best = close_to(word, (*_by_initial().get(word[0], ()), *sorted(begin & words())))
    if not best:
        return ""
    cuts = [(word[:i], word[i:]) for i in range(1, len(word) + 1)]
    changed = {first + letter + rest[k:] for first, rest in cuts for letter in _LETTERS for k in (0, 1)}
    other = {near for near in changed | {first + rest[1:] for first, rest in cuts}
             if near not in words() and _english().get(near, 0) > _COMMON}
    return "" if any(_cost(word, near) < _cost(word, best) - _CLEAR for near in other) else best


def close_to(word: str, known: Iterable[str]) -> str:
    """Return the known word for a misspelt one, "" where none or several fit.

    It is one letter off, of seven letters or more two.
    """
    most = _MOST_SHORT if len(word) < 7 else _MOST if len(word) < 10 else _MOST_LONG
    letters = set(word)
    near = sorted((cost, other) for other in dict.fromkeys(known) if other != word and abs(len(other) - len(word)) <= 2
                  and len(letters ^ set(other)) <= 2 * most and (cost := _cost(word, other)) <= most)
    if not near:
        return ""
    best = near[0][1]
    rivals = [other for cost, other in near[1:] if cost - near[0][0] < _CLEAR
              and best != plural(other) and other != plural(best)]
    if not rivals:
        return best
    often = sorted((best, *rivals), key=lambda other: -_english().get(other, 0))
    return often[0] if _english().get(often[0], 0) > _OFTEN * _english().get(often[1], 0) else ""


def _cost(word: str, other: str) -> float:
    """Return how far apart two spellings are: letters left out, added, changed or exchanged with their neighbour."""
    before: list[float] = []
    row = [_MISSED * k for k in range(len(other) + 1)]
    for i, letter in enumerate(word, 1):
        older, before, row = before, row, [_MISSED * i]
        for k, wanted in enumerate(other, 1):
            changed = 0.0 if letter == wanted else _ALIKE if frozenset((letter, wanted)) in _SOUND else _CHANGED
            costs = [before[k] + _MISSED, row[k - 1] + _MISSED, before[k - 1] + changed]
            if i > 1 and k > 1 and letter != wanted and letter == other[k - 2] and word[i - 2] == wanted:
                costs.append(older[k - 2] + _SWAPPED)
            row.append(min(costs))
    swapped = word[:2] == other[1::-1]
    return row[-1] + (_OTHER_START if word[0] != other[0] and not swapped and row[-1] > _ALIKE else 0.0)
