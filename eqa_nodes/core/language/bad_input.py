"""Texts that no answerer gets, whatever it understands: unreadable ones, orders against the rules, private matters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

LONGEST = 1000  # characters of a question that are read
NO_WORDS = "I see no words in this question."
ORDER = "That is an instruction, which I do not follow; ask me about the things in this home."
PRIVATE = "That is a private matter of people; I only know the things in this home."
_ALPHABETS = ("LATIN", "CYRILLIC", "GREEK")  # their letters look alike; other scripts are mixed in ordinary words
_SPACES = "\t\n\r"
_OWN = r"(?:your|all|any|previous|prior|earlier|above|system|safety)"
_OVERRIDE = re.compile(
    rf"\b(?:(?:ignore|disregard|override|bypass|overrule) (?:\w+ ){{0,2}}?(?:{_OWN}|the|these|those)|"
    rf"forget (?:\w+ ){{0,2}}?{_OWN}) (?:\w+ ){{0,2}}?"
    r"(?:rules?|instructions?|limits?|prompts?|restrictions?|guidelines?|programming|zones?)\b", re.IGNORECASE)
_SECRET = r"(?:passwords?|passcodes?|pin (?:codes?|numbers?)|account numbers?|card numbers?|salar(?:y|ies))"
_WRITTEN = r"(?:diar(?:y|ies)|love letters?|private (?:letters?|messages?|e-?mails?)|medical records?)"
_PARTNER = r"(?:husband|wife|partner|boyfriend|girlfriend)"
_ABOUT_PEOPLE = re.compile(
    rf"\b(?:what(?:'s|’s| is| are)|tell me|say)(?: [\w'’]+){{0,4}} {_SECRET}\b|"
    rf"\b(?:read|what (?:does|do|is written|stands))(?: [\w'’]+){{0,5}} {_WRITTEN}\b|"
    rf"\b{_PARTNER}(?: [\w'’]+){{0,3}} (?:cheating|sleeping with|an affair)\b", re.IGNORECASE)


def without_words(text: str) -> str:
    """Return in one sentence why a text is too long or too short to be a question; "" if it is neither."""
    if len(text) > LONGEST:
        return f"The question has {len(text)} characters; please ask it in at most {LONGEST}."
    return "" if any(char.isalnum() for char in text) else NO_WORDS


def unreadable(text: str) -> str:
    """Return in one sentence why a text cannot be a question, whatever its words mean; "" if it can."""
    if why := without_words(text):
        return why
    if odd := next(_control_characters(text), ""):
        return f"The question contains the invalid character {odd!r}; please type it again without it."
    if mixed := next(_mixed_words(text), ""):
        return f"The word {mixed!r} mixes letters of different alphabets; please type it in one of them."
    return ""


def improper(text: str) -> str:
    """Return in one sentence why no answerer may work on a question; "" if it may."""
    if _OVERRIDE.search(text):
        return ORDER
    return PRIVATE if _ABOUT_PEOPLE.search(text) else ""


def _control_characters(text: str) -> Iterator[str]:
    """Yield control characters and halves of surrogate pairs, which neither ROS nor a terminal passes unchanged."""
    return (char for char in text if unicodedata.category(char) in ("Cc", "Cs") and char not in _SPACES)


def _mixed_words(text: str) -> Iterator[str]:
    for word in re.findall(r"\w+", text):
        names = (unicodedata.name(char, "") for char in word if char.isalpha())
        if len({name.split(" ")[0] for name in names} & set(_ALPHABETS)) > 1:
            yield word
