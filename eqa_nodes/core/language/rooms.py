"""Names of rooms in questions: which words name a room, and the room that an object's name begins with."""

from __future__ import annotations

import re
from functools import cache

from eqa_nodes.core.language.english import singular
from eqa_nodes.core.language.vocabulary import entries, groups

_ROOM_HEADS, _WHOLE_HOUSE = frozenset(entries("room_heads")), frozenset(entries("whole_house"))
# "The kitchen light" is the light in the kitchen, but "kitchen table" is a kind of object.
_OF_ROOM = re.compile(rf"((?:(?:main|master|second|guest|kids?) )?(?:{'|'.join(entries('rooms_of_things'))})) (.+)")
_ROOM_KINDS = frozenset(entries("named_after_rooms"))
_SLANG = dict(groups("rooms_by_slang"))


@cache
def room_words() -> frozenset[str]:
    """Return every name of a kind of room."""
    return _ROOM_HEADS.union(word for word, _ in groups("rooms"))


def is_room(text: str) -> bool:
    """Return whether words in normal form name a room, or the whole house."""
    words = text.split()
    return 0 < len(words) < 4 and "in" not in words and "on" not in words and (
        singular(words[-1]) in _ROOM_HEADS or words[-1] in _WHOLE_HOUSE)


def room_name(text: str) -> str:
    """Return a room's name; "" for the whole house."""
    words = text.split()
    return "" if not words or words[-1] in _WHOLE_HOUSE else " ".join(words)


def room_in(text: str) -> str:
    """Return the room that words name where a place is asked for: "loo" after "in the" is the bathroom. "" for none."""
    for word in sorted(_SLANG, key=len, reverse=True):
        if f" {text}".endswith(f" {word}"):
            return f" {text}".removesuffix(word).lstrip() + _SLANG[word]
    return room_name(text) if is_room(text) else ""


def named_after_room(text: str) -> tuple[str, str]:
    """Return object and room of "kitchen light"; of "kitchen table", a kind of object, the text and no room."""
    found = _OF_ROOM.fullmatch(text)
    return (found[2], room_name(found[1])) if found and text not in _ROOM_KINDS else (text, "")
