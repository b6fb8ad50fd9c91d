"""Names of rooms in questions."""

from __future__ import annotations

from functools import cache

from eqa_nodes.core.language.english import canonical, singular
from eqa_nodes.core.language.vocabulary import entries, groups

_ROOM_NOUNS, _WHOLE_HOUSE = frozenset(entries("room_nouns")), frozenset(entries("whole_house"))
_SLANG, _QUALIFIERS = dict(groups("rooms_by_slang")), frozenset(entries("room_qualifiers"))


@cache
def room_words() -> frozenset[str]:
    """Return every name of a kind of room."""
    return _ROOM_NOUNS.union(word for word, _ in groups("rooms"))


def is_room(text: str) -> bool:
    """Return whether words in normal form name a room, or the whole house."""
    words = text.split()
    return 0 < len(words) < 4 and "in" not in words and "on" not in words and (
        singular(words[-1]) in _ROOM_NOUNS or words[-1] in _WHOLE_HOUSE)


def fits_room(room: str, name: str) -> bool:
    """Return whether a room is one that a name means: of "bedroom" also the main bedroom, of "" every room."""
    return not name or f" {canonical(room)}".endswith(f" {canonical(name)}")


def room_name(text: str) -> str:
    """Return a room's name; "" for the whole house."""
    words = text.split()
    return "" if not words or words[-1] in _WHOLE_HOUSE else " ".join(words)


def room_by_slang(text: str) -> str:
    """Return the room that slang for it names where a place is asked for: "second loo" is the second bathroom."""
    before, _, last = text.rpartition(" ")
    return f"{before} {_SLANG[last]}".lstrip() if last in _SLANG and (not before or before in _QUALIFIERS) else ""
