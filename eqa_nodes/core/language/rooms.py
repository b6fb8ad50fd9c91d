"""Names of rooms in questions: which words name a room, and the room that an object's name begins with."""

from __future__ import annotations

import re

from eqa_nodes.core.language.english import singular

_ROOM_HEADS = frozenset((
    "room", "kitchen", "bedroom", "bathroom", "restroom", "study", "office", "hallway", "hall", "corridor", "entryway",
    "foyer", "garage", "pantry", "nursery", "gym", "lounge", "library", "attic", "basement", "balcony", "closet",
    "cellar"))
_WHOLE_HOUSE = frozenset(("house", "home", "apartment", "flat", "place", "here"))
# "The kitchen light" is the light in the kitchen, but these are kinds of objects.
_OF_ROOM = re.compile(r"((?:(?:main|master|second|guest|kids?) )?(?:kitchen|bedroom|bathroom|living room|"
                      r"dining room|study|hallway|hall|garage|laundry room|guest room|workout room|pantry|"
                      r"entryway)) (.+)")
_ROOM_KINDS = frozenset((
    "kitchen table", "kitchen sink", "kitchen counter", "kitchen island", "kitchen cabinet", "kitchen towel",
    "kitchen scale", "kitchen knife", "bathroom sink", "bathroom scale", "bathroom shelf", "bathroom mat",
    "bathroom cabinet", "dining room table", "study desk", "pantry shelf", "hall stand"))


def is_room(text: str) -> bool:
    """Return whether words in normal form name a room, or the whole house."""
    words = text.split()
    return 0 < len(words) < 4 and "in" not in words and "on" not in words and (
        singular(words[-1]) in _ROOM_HEADS or words[-1] in _WHOLE_HOUSE)


def room_name(text: str) -> str:
    """Return a room's name; "" for the whole house."""
    words = text.split()
    return "" if not words or words[-1] in _WHOLE_HOUSE else " ".join(words)


def named_after_room(text: str) -> tuple[str, str]:
    """Return object and room of "kitchen light"; of "kitchen table", a kind of object, the text and no room."""
    found = _OF_ROOM.fullmatch(text)
    return (found[2], room_name(found[1])) if found and text not in _ROOM_KINDS else (text, "")
