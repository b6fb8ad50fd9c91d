"""Cleans untrusted text, such as a model's: removes terminal control sequences and what cannot be stored."""

from __future__ import annotations

import re

_LONGEST_NEST = 20  # of lists and objects in each other; replies have three
# Control characters but tab and line break, marks that turn the direction of writing, halves of surrogate pairs.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_HALVES = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def printable(text: str) -> str:
    """Return the text with U+FFFD in place of terminal controls and invalid characters."""
    return _STEERING.sub("\ufffd", text)


def stored(text: str) -> str:
    """Return the text with U+FFFD in place of characters that files, requests and ROS messages cannot contain."""
    return _UNSTORABLE.sub("\ufffd", text)


def encodable(text: str) -> str:
    """Return the text with U+FFFD in the place of each half of a surrogate pair, which UTF-8 cannot hold."""
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def storable(text: str) -> bool:
    """Return whether files and ROS messages can hold the text whole: no NUL, no half of a surrogate pair."""
    return _UNSTORABLE.search(text) is None


def plain(value: object, depth: int = _LONGEST_NEST) -> object:
    """Return a JSON value with all its texts printable. Raises ValueError for too deep nesting."""
    if isinstance(value, str):
        return printable(value)
    if not isinstance(value, (dict, list)):
        return value
    if not depth:
        raise ValueError("the JSON is nested too deep")
    if isinstance(value, dict):
        return {printable(key): plain(item, depth - 1) for key, item in value.items()}
    return [plain(item, depth - 1) for item in value]
