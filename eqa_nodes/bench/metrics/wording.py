"""Similarity of two short answers by the words that carry meaning: rules and tables of the offline judge."""

from __future__ import annotations

import re
from typing import NamedTuple

from eqa_nodes.core.language import english as language

_OPPOSITES = (
    ("on", "off"), ("open", "closed"), ("full", "empty"), ("clean", "dirty"), ("wet", "dry"), ("lit", "unlit"),
    ("made", "unmade"), ("locked", "unlocked"), ("on", "under"), ("above", "under"), ("left", "right"),
    ("front", "behind"), ("upstairs", "downstairs"), ("in", "outside"), ("top", "bottom"), ("big", "small"),
    ("round", "square"), ("running", "off"))
_RELATIONS = frozenset((
    "on", "in", "under", "above", "next", "at", "behind", "between", "across", "left", "right", "front", "side", "near",
    "top", "bottom", "along", "against", "around"))
_VAGUE = (
    "dark", "light", "bright", "deep", "pale", "small", "large", "big", "little", "tall", "room", "area", "part",
    "piece", "bit", "color", "kind", "several", "corner", "middle", "centre", "center")
_SLIGHT = {**dict.fromkeys(_RELATIONS, 0.2), **dict.fromkeys(_VAGUE, 0.3), "wall": 0.7, "floor": 0.7}
_NEGATIONS = frozenset(("not", "no", "never", "none", "nothing", "without"))
_MODIFIERS = frozenset(language.canonical(w) for w in (*language.COLOURS, "wood", "metal", "glass", "plastic", "fabric",
                                                       "leather", "ceramic", "stone", "paper"))
_YES_NO_START = re.compile(r"(is|are|was|were|do|does|did|has|have|can|could|will|would|should)\b")


class Likeness(NamedTuple):
    """Overlap of an answer with a reference, 0..1. firm: the shared words name something, not only a relation.

    lone: the reference says one object only (a state, a colour), so that its opposite is simply wrong.
    """

    precision: float
    recall: float
    firm: bool
    lone: bool

    @property
    def f(self) -> float:
        """F-measure of both."""
        return f_measure(self.precision, self.recall)


def f_measure(precision: float, recall: float) -> float:
    """Return the harmonic mean, 0 when both are 0."""
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def words(text: str) -> tuple[str, ...]:
    """Return the words that carry meaning; a room's name is one word, so that rooms do not look alike."""
    joined = re.sub(r"\b(\w+) room\b", r"\1_room", " ".join(language.content_words(text)))
    return tuple(dict.fromkeys(joined.split()))


def numbers(text: str) -> frozenset[int]:
    """Return every whole number that a text names, in digits or words."""
    named = [language.number(word) for word in language.normalise(text).split()]
    counted = frozenset(n for n in named if n is not None)
    return counted - {0} if len(counted) > 1 else counted  # "no, there are two" names two


def items(text: str) -> tuple[str, ...]:
    """Return the parts of a list ("a lamp, a book and keys"); a place ("between a and b") or a sentence is no list."""
    parts = tuple(dict.fromkeys(language.split_list(text.lower())))
    is_list = all(len(part.split()) <= 4 for part in parts) and not _RELATIONS.intersection(words(text))
    return parts if is_list else ()


def affirms(question: str, text: str) -> bool | None:
    """Return whether a text without yes or no says yes to "Is the door open?" ("It is open"), None: unclear."""
    if not _YES_NO_START.match(language.normalise(question)):
        return None
    asked, said = set(words(question)), set(words(text))
    negated = bool(said & _NEGATIONS)
    said -= _NEGATIONS
    if _opposed(asked, said):
        return negated
    return not negated if (said or negated) and said <= asked else None


def likeness(question: str, reference: str, text: str) -> Likeness:
    """Compare an answer with a reference; words of the question that the reference does not need are left out."""
    asked, right, said = set(words(question)), words(reference), words(text)
    known = asked - set(right) if all(w in asked for w in right) else asked
    right = tuple(w for w in right if w not in known)
    said = tuple(w for w in said if w not in known)
    if not (_RELATIONS.intersection(right) and _RELATIONS.intersection(said)):  # "in the kitchen" says "kitchen"
        right, said = _without_relations(right), _without_relations(said)
    if not right or not said:
        return Likeness(0.0, 0.0, False, False)
    weights = _weights(right), _weights(said)
    recall = _covered(right, said, weights[0])
    precision = _covered(said, right, weights[1])
    shared = [w for w in said if any(_alike(w, r) for r in right)]
    return Likeness(precision, recall, any(weights[1][w] >= 0.5 for w in shared), len(right) == 1)


def cap(reference: str, text: str, like: Likeness) -> tuple[int, str]:
    """Return the highest mark that an answer may get, and why: it contradicts, negates or hedges."""
    right, said = set(words(reference)), set(words(text))
    if bool(right & _NEGATIONS) != bool(said & _NEGATIONS):
        return 1, "negated"
    if _opposed(right, said):
        return (1 if like.lone else 2), "contradiction"
    if re.search(r"\bor\b", language.normalise(text)) and not re.search(r"\bor\b", language.normalise(reference)):
        return 3, "hedged"
    return 5, ""


def _opposed(right: set[str], said: set[str]) -> bool:
    """Whether `said` has the opposite of a word in `right` that it does not also say."""
    pairs = [*_OPPOSITES, *((b, a) for a, b in _OPPOSITES)]
    return any(a in right and b in said and a not in said and b not in right for a, b in pairs)


def _without_relations(chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words that are no relations; all of them where there are no others."""
    return tuple(w for w in chosen if w not in _RELATIONS) or chosen


def _weights(chosen: tuple[str, ...]) -> dict[str, float]:
    """Weigh words: relations and sizes little; colours and materials half where an object is named beside them."""
    names_object = any(w not in _MODIFIERS and w not in _SLIGHT for w in chosen)
    return {w: _SLIGHT.get(w, 0.5 if names_object and w in _MODIFIERS else 1.0) for w in chosen}


def _covered(chosen: tuple[str, ...], other: tuple[str, ...], weights: dict[str, float]) -> float:
    """Return the weighted share of `chosen` that `other` says too."""
    return sum(weights[w] * max(_alike(w, o) for o in other) for w in chosen) / sum(weights[w] for w in chosen)


def _alike(a: str, b: str) -> float:
    """1 for the same word; half for a compound and its head ("armchair", "chair")."""
    if a == b:
        return 1.0
    short, long = sorted((a, b), key=len)
    return 0.5 if len(short) >= 4 and long.endswith(short) and "_room" not in long else 0.0
