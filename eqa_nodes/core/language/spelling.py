"""Corrects spelling mistakes in questions: unknown words only, and only where a single word can be meant."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache

from eqa_nodes.core.language.english import COMMON_WORDS, plural
from eqa_nodes.core.language.naming import GROUP_WORDS
from eqa_nodes.core.language.vocabulary import ASKING, HOUSEHOLD, OTHER

# What people type for short, and slips of short words, for which likeness is no proof.
_SHORT = {"teh": "", "hte": "", "thr": "", "adn": "and", "si": "is", "r": "are", "u": "you", "ur": "your",
          "plz": "please", "pls": "please", "wat": "what", "wut": "what", "wats": "what is", "wheres": "where is",
          "hows": "how is", "whos": "who is", "theres": "there is", "cud": "could", "wud": "would", "abt": "about",
          "rm": "room", "n": "and", "nd": "and", "rn": "right now", "thx": "thanks", "thnx": "thanks", "tnx": "thanks",
          "ya": "you", "lemme": "let me", "gimme": "give me", "whats": "what is", "dont": "do not",
          "isnt": "is not", "arent": "are not", "didnt": "did not", "cant": "can not",
          "cannot": "can not", "im": "i am", "ive": "i have", "wanna": "want to", "dunno": "do not know",
          "isthe": "is", "inthe": "in", "onthe": "on", "livingroom": "living room", "diningroom": "dining room",
          "laundryroom": "laundry room",
          "wether": "whether", "wheter": "whether", "bathrom": "bathroom", "coulour": "colour"}  # "" = an article
_SURE = 0.8  # likeness (difflib) from which one word may have been meant for another
_CLEAR = 0.02  # how much likelier it must be than the next


@lru_cache(maxsize=1)
def words() -> frozenset[str]:
    """Return every word that counts as spelled correctly."""
    known = {*COMMON_WORDS, *GROUP_WORDS, *HOUSEHOLD, *ASKING, *OTHER}
    return frozenset(known | {plural(word) for word in (*HOUSEHOLD, *GROUP_WORDS, *OTHER)})


@lru_cache(maxsize=1)
def _targets() -> tuple[str, ...]:
    """Return the words that a slip is mended to: those of a house and of questions, not just any word."""
    meant = {*COMMON_WORDS, *GROUP_WORDS, *HOUSEHOLD, *ASKING}
    return tuple(sorted(meant | {plural(word) for word in (*HOUSEHOLD, *GROUP_WORDS)}))


@lru_cache(maxsize=4096)
def spelled(text: str) -> str:
    """Return a text in lower case, words apart by blanks, with the slips mended that leave no doubt."""
    return " ".join(filter(None, (_SHORT[word] if word in _SHORT else _mended(word) for word in text.split())))


@lru_cache(maxsize=4096)
def _mended(word: str) -> str:
    if len(word) < 3 or not word.isascii() or not word.isalpha() or word in words():
        return word
    once = re.sub(r"(.)\1{2,}", r"\1\1", word)  # "offff", "sooofa"
    for short in (once, re.sub(r"(.)\1", r"\1", once)):
        if short != word and short in words():
            return short
    if len(word) < 4:
        return word
    return _unswapped(word) or close_to(word, _targets()) or word


def _unswapped(word: str) -> str:
    """Return the one word of which two neighbouring letters were exchanged, "" where none or several fit.

    Of several, one that is often meant in a house wins.
    """
    swapped = {word[:i] + word[i + 1] + word[i] + word[i + 2:] for i in range(len(word) - 1)} & words()
    meant = swapped & frozenset(_targets()) if len(swapped) > 1 else swapped
    return meant.pop() if len(meant) == 1 else ""


def close_to(word: str, known: tuple[str, ...]) -> str:
    """Return the known word for a misspelt one, "" where none or several fit.

    It begins with the same letter; of four letters it holds the same ones, two neighbours of them exchanged.
    """
    near = sorted(((_likeness(word, other), other) for other in known
                   if other[:1] == word[:1] and abs(len(other) - len(word)) <= 2), reverse=True)
    near = [pair for pair in near if pair[0] >= _SURE]
    if not near:
        return ""
    rivals = [other for score, other in near[1:] if near[0][0] - score < _CLEAR
              and other not in (plural(near[0][1]),) and near[0][1] != plural(other)]
    return "" if rivals else near[0][1]


def _likeness(word: str, other: str) -> float:
    if len(word) == len(other) and Counter(word) == Counter(other):
        differ = [i for i, pair in enumerate(zip(word, other, strict=True)) if pair[0] != pair[1]]
        if len(differ) == 2 and differ[1] == differ[0] + 1:
            return 0.95
    if min(len(word), len(other)) < 5:  # of short words: a letter too many or too few in one of five
        longer, shorter = sorted((word, other), key=len, reverse=True)
        return 0.85 if len(longer) == 5 and len(shorter) == 4 and _is_within(shorter, longer) else 0.0
    return SequenceMatcher(None, word, other, autojunk=False).ratio()


def _is_within(shorter: str, longer: str) -> bool:
    return any(longer[:i] + longer[i + 1:] == shorter for i in range(1, len(longer)))
