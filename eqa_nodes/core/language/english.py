"""Small English helpers that answering and judging share: plain rules over tables, no model.

Normal form: lower case, no punctuation, no articles. Canonical form: also singular, digits for number words, and the
first word of its synonym group for every word or phrase ("the Couches" -> "sofa").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from eqa_nodes.core.language.vocabulary import entries, groups, table

COLOURS = entries("colours")
_NUMBERS = entries("numbers")
_QUANTITIES = {word: int(value) for word, (value,) in table("quantities").items()}
_IRREGULAR = {many: one for many, (one,) in table("plurals").items()}
_IRREGULAR_PLURAL = {one: many for many, one in _IRREGULAR.items()}
_SINGULAR_AS_IT_IS = frozenset(entries("only_plural"))
_ARTICLES = frozenset(("a", "an", "the"))
_STOP = frozenset(entries("idle"))
_YES = frozenset(entries("yes"))
_NO = frozenset(entries("no"))
_SHORT_IS = re.compile(r"\b(what|where|who|there|it|that|how|here|he|she)'?s\b")


def normalise(text: str) -> str:
    """Return the normal form: lower case, no punctuation (decimal points stay), no articles, single spaces."""
    text = text.lower().replace("\0", " ").replace("\u2019", "'").replace("`", "'")
    text = _SHORT_IS.sub(r"\1 is", text) if "'" in text or re.match(r"\s*(what|where|there)s\b", text) else text
    text = re.sub(r"n't\b", " not", text)
    text = re.sub(r"'s\b|s'(?=\s)", lambda m: "s" if m[0].startswith("s'") else "", text)
    text = re.sub(r"(?<=\d)[.,](?=\d)", "\0", text)
    text = re.sub(r"[^\w\0]+|_", " ", text).replace("\0", ".")
    return " ".join(word for word in text.split() if word not in _ARTICLES)


@lru_cache(maxsize=4096)
def singular(word: str) -> str:
    """Return the singular of a lower-case noun or phrase (its last word); a singular comes back as it is."""
    head, _, last = word.rpartition(" ")
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    elif last in _SINGULAR_AS_IT_IS or len(last) < 4 or last.endswith(("ss", "us", "is")):
        pass
    elif last.endswith("ies"):
        last = last[:-3] + "y"
    elif last.endswith(("ches", "shes", "sses", "xes", "zzes")):
        last = last[:-2]
    elif last.endswith("s"):
        last = last[:-1]
    return f"{head} {last}" if head else last


def plural(word: str) -> str:
    """Return the plural of a noun or phrase (its last word)."""
    head, _, last = word.rpartition(" ")
    if last in _IRREGULAR_PLURAL:
        last = _IRREGULAR_PLURAL[last]
    elif last in _IRREGULAR or last.endswith("ains") or (  # it is one: shoes, curtains
            last in _SINGULAR_AS_IT_IS and last.endswith("s") and not last.endswith("ss")):
        pass
    elif re.search(r"[^aeiou]y$", last):
        last = last[:-1] + "ies"
    else:
        last += "es" if last.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{head} {last}" if head else last


# Later sections win: "on" is a state and a relation with one canonical form.
_CANONICAL = {word: name for section in ("things", "rooms", "other_colours", "other_words", "materials", "relations")
              for word, name in groups(section)}
# Every word that these tables hold: well spelled, and understood.
COMMON_WORDS = frozenset(" ".join(_CANONICAL).split()) | {*COLOURS, *_NUMBERS, *_QUANTITIES, *_IRREGULAR, *_YES, *_NO,
                                                          *_IRREGULAR.values(), *_SINGULAR_AS_IT_IS, *_STOP, *_ARTICLES}
_LONGEST = dict[str, int]()  # first word of a known phrase -> number of words of the longest such phrase
for _phrase in map(str.split, _CANONICAL):
    _LONGEST[_phrase[0]] = max(len(_phrase), _LONGEST.get(_phrase[0], 1))


def _number_word(word: str) -> str:
    return str(_NUMBERS.index(word)) if word in _NUMBERS else word


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """Return the canonical form (see the module): equal for texts that say the same in other household words."""
    words = normalise(text).split()
    out: list[str] = []
    i = 0
    while i < len(words):
        for n in range(min(_LONGEST.get(words[i], 1), len(words) - i), 0, -1):  # the longest known phrase wins
            phrase = " ".join(words[i:i + n])
            known = _CANONICAL.get(phrase) or _CANONICAL.get(singular(phrase)) or (
                _CANONICAL.get(plural(phrase)) if n > 1 else None)  # "chest of drawer"
            if phrase == "light" and words[i + 1:i + 2] and words[i + 1] in COLOURS:
                known = phrase  # a shade, not a lamp
            if known or n == 1:
                out.append(known or _number_word(singular(phrase)))
                i += n
                break
    return " ".join(out)


def same(a: str, b: str) -> bool:
    """Return whether two texts are equal in canonical form."""
    return canonical(a) == canonical(b)


def content_words(text: str) -> tuple[str, ...]:
    """Return the canonical words that carry meaning, in order, each once."""
    return tuple(dict.fromkeys(word for word in canonical(text).split() if word not in _STOP))


def number(text: str) -> int | None:
    """Return the first whole number that a text names, in digits or words ("a pair" is 2), or None."""
    for word in normalise(text).split():
        if word.isdecimal():
            return int(word)
        if word in _NUMBERS:
            return _NUMBERS.index(word)
        if word in _QUANTITIES:
            return _QUANTITIES[word]
    return None


def number_word(value: int) -> str:
    """Return the word for 0..20, digits for the rest."""
    return _NUMBERS[value] if 0 <= value < len(_NUMBERS) else str(value)


def yes_no(text: str) -> bool | None:
    """Return True for a yes, False for a no, None for neither: the first word decides, then a lone "not"."""
    words = normalise(text).split()
    if not words:
        return None
    if words[0] in _YES:
        return True
    if words[0] in _NO:
        return False
    starts_statement = len(words) > 1 and words[0] in {"there", "it", "they", "i", "you"}
    if starts_statement and words[1] in {"is", "are", "can", "do", "does"}:
        return not _NO.intersection(words[2:4])
    return None


_WISH = re.compile(r"(?:(?:please|kindly|can you|could you|would you|will you)[,\s]+)*"
                   r"(?:show me|show us|take me to|bring me to|lead me to|guide me to)\s+(?P<what>.+)", re.I | re.S)
_WHERE = re.compile(r"(?:where|what|which|who|whose)\b", re.I)
_NO_THING = re.compile(r"(?:how|why|when|that|if|whether)\b", re.I)


def wish(text: str) -> str:
    """Return the question in a request to be shown something or led to it, "" where there is none.

    "Show me the mug" and "Take me to the mug, please" ask "Where is the mug?"; "Show me what is on the desk" asks "What
    is on the desk?"; "Show me how to cook" is no such wish.
    """
    found = _WISH.fullmatch(text.strip())
    if found is None or _NO_THING.match(found["what"]):
        return ""
    what = re.sub(r"(?:,?\s*please)?[\s.!?]*$", "", found["what"], flags=re.I)
    if not any(char.isalnum() for char in what):
        return ""
    if not _WHERE.match(what):
        return f"Where {'is' if singular(what.lower()) == what.lower() else 'are'} {what}?"
    moved = re.fullmatch(r"where\s+(.+)\s+(is|are)", what, re.I | re.S)  # "where the mug is"
    return f"Where {moved[2].lower()} {moved[1]}?" if moved else f"{what[0].upper()}{what[1:]}?"


def split_list(text: str) -> tuple[str, ...]:
    """Split "a, b and c" into its parts, in normal form, empty ones dropped."""
    parts = re.split(r"\s*[,;/&]\s*(?:and\s+|or\s+)?|\s+and\s+|\s+as well as\s+|\n", text.strip().strip("."))
    return tuple(filter(None, map(normalise, parts)))


_MASS = frozenset(entries("masses"))


def with_article(noun: str) -> str:
    """Return a noun phrase with its indefinite article; plurals and masses have none."""
    last = noun.rsplit(" ", 1)[-1]
    if last in _MASS or singular(last) != last or (last in _SINGULAR_AS_IT_IS and last[-2:] not in ("ss", "us", "as")):
        return noun
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def join_list(words: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1] if words else ""
