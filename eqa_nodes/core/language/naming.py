"""Sorts and containers: what counts as fruit, what holds it, and names that only sound alike."""

from __future__ import annotations

from functools import cache
from itertools import chain

from eqa_nodes.core.language.english import canonical, normalise, singular
from eqa_nodes.core.language.vocabulary import cells, entries, groups, rows, split, table, topics


def _by_name(section: str) -> dict[str, tuple[str, ...]]:
    return {singular(normalise(name)): kinds for names, kinds in table(section).items() for name in names.split(",")}


GROUPS, KEPT_IN = _by_name("sorts"), _by_name("kept_in")
# Their last word names something else: a pet bed is no bed. Of mats only "mat" says so, not "rug".
_BY_FULL_NAME, _BY_OWN_WORDS = frozenset(entries("only_by_full_name")), frozenset(entries("only_by_own_words"))


@cache
def small_names() -> frozenset[str]:
    """Return the names of things that may be there unseen: small ones, parts of others, what is put away."""
    return frozenset(map(singular, entries("small_things")))


@cache
def known_names() -> frozenset[str]:
    """Return every name of a thing that is known, in normal form and singular: kinds, their synonyms and sorts."""
    names = {*(word for word, _ in groups("things")), *GROUPS, *KEPT_IN, *chain(*GROUPS.values(), *KEPT_IN.values()),
             *chain(*(split(kinds) for _, kinds, _ in rows("uses"))), *entries("seats"), *small_names(),
             *entries("other_things"), *chain(*table("signs").values(), *table("offers").values()),
             *chain(*(kinds for topic in topics("hints") for kinds in table("hints", topic).values())),
             *chain(*(split(cell) for row in cells("usual_rooms").values() for cell in row))}
    return frozenset(singular(normalise(name)) for name in names)


def members(name: str) -> tuple[str, ...]:
    """Return the kinds that a name of a group ("fruit", "furniture") stands for; () for a name of one kind."""
    return GROUPS.get(singular(name), ())


def kept_in(name: str) -> tuple[str, ...]:
    """Return the kinds of objects that contain the named one ("fruit": a fruit bowl)."""
    return KEPT_IN.get(singular(name), ())


@cache
def by_head(kind: str, name: str) -> bool:
    """Return whether a kind is a special case of a name by its last words: a floor lamp is a lamp, a pet bed no bed."""
    kind = normalise(kind)
    if kind in _BY_FULL_NAME:
        return False
    return kind.endswith(f" {name}") or (kind not in _BY_OWN_WORDS and canonical(kind).endswith(f" {canonical(name)}"))


@cache
def in_group(kind: str, name: str) -> bool:
    """Return whether a kind belongs to the group that a name stands for, as a whole or by its last words."""
    own = canonical(kind)
    return any(own == canonical(member) or by_head(kind, member) for member in members(name))
