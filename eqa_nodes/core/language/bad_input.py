"""Questions that nobody is asked: neither a person's words about the place, nor anything a robot should look for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MAX_CHARS = 2000
_ALPHABETS = ("LATIN", "CYRILLIC", "GREEK")  # their letters look alike; other scripts are mixed in ordinary words
_SPACES = "\t\n\r"
_OWN = r"(?:your|all|any|previous|prior|earlier|above|system|safety)"
_OVERRIDE = re.compile(
    rf"\b(?:(?:ignore|disregard|override|bypass|overrule) (?:\w+ ){{0,2}}?(?:{_OWN}|the|these|those)|"
    rf"forget (?:\w+ ){{0,2}}?{_OWN}) (?:\w+ ){{0,2}}?"
    r"(?:rules?|instructions?|limits?|prompts?|restrictions?|guidelines?|programming|zones?)\b", re.IGNORECASE)
_SECRET = r"(?:passwords?|passcodes?|pin (?:codes?|numbers?)|account numbers?|card numbers?|salar(?:y|ies))"
_WRITTEN = r"(?:diar(?:y|ies)|love letters?|private (?:letters?|messages?|e-?mails?)|medical records?)"
_PRIVATE = re.compile(
    rf"\b(?:what(?:'s|’s| is| are)|tell me|say)(?: [\w'’]+){{0,4}} {_SECRET}\b|"
    rf"\b(?:read|what (?:does|do|is written|stands))(?: [\w'’]+){{0,5}} {_WRITTEN}\b|"
    r"\b(?:cheating on|sleeping with|having an affair|having sex|pregnant|naked)\b", re.IGNORECASE)


def why_bad(text: str) -> str:
    """Return in one sentence why a text is refused before anything reads it as a question; "" if it is not."""
    if not any(char.isalnum() for char in text):
        return f"the question {text.strip()[:20]!r} is empty: ask something in words"
    if len(text) > MAX_CHARS:
        return f"the question is {len(text)} characters long: at most {MAX_CHARS} are read"
    if odd := next(_unreadable(text), ""):
        return f"the question contains the invalid character {odd!r}: type it again without it"
    if mixed := next(_mixed(text), ""):
        return f"the word {mixed!r} mixes letters of different alphabets: type it in one of them"
    if _OVERRIDE.search(text):
        return "the question tells the robot to ignore its rules: it only answers questions about the place it is in"
    if _PRIVATE.search(text):
        return "the question is about a person's private matters: the robot only answers questions about the place"
    return ""


def _unreadable(text: str) -> Iterator[str]:
    """Yield control characters and halves of surrogate pairs, which neither ROS nor a terminal passes unchanged."""
    return (char for char in text if unicodedata.category(char) in ("Cc", "Cs") and char not in _SPACES)


def _mixed(text: str) -> Iterator[str]:
    for word in re.findall(r"\w+", text):
        names = (unicodedata.name(char, "") for char in word if char.isalpha())
        if len({name.split(" ")[0] for name in names} & set(_ALPHABETS)) > 1:
            yield word
