"""Directions to the place that a question is about: "Walk through the hallway and stop in the kitchen by the oven."."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from eqa_nodes.core.language.bad_input import LONGEST as _PART
from eqa_nodes.core.language.bad_input import improper, unreadable
from eqa_nodes.core.language.english import normalise, singular
from eqa_nodes.core.language.naming import known_names
from eqa_nodes.core.language.query import Query
from eqa_nodes.core.language.rooms import room_words
from eqa_nodes.core.language.vocabulary import entries

LONGEST = 2000  # characters of directions that are read
_QUALIFIERS = frozenset(entries("room_qualifiers"))
_WORDS = 3  # maximum number of words in the name of a room
_LEFT = re.compile(r"\b(?:before (?:entering|reaching|you (?:enter|reach))|(?:do not|dont|without) enter(?:ing)?|exit|"
                   r"leave|out of|from|begin in|start in|past|in front of)$")
_CLAUSE = re.compile(r"[.;,!?]|\bthen\b|\band\b")
_MARK = r"(?:door|doorway|room|bedroom|bathroom|entrance|opening|archway|hallway|corridor)"
_TURN = re.compile(
    r"\b(?:turn|go|bear|veer|head|take|make|hang)(?: (?:a|an|the|your|another))?(?: (?:first|second|third|next|last|"
    r"sharp|slight|hard|immediate))? (left|right|around|round)\b|"
    rf"\b{_MARK} (?:is |will be )?(?:immediately )?(?:on|to) (?:your|the) (left|right)\b", re.IGNORECASE)
_ONWARD = re.compile(r"\b(?:straight|past|down|along|through|forwards?|ahead|across|until|out of|enter|leave|exit)\b",
                     re.IGNORECASE)
_ANGLES = {"left": math.pi / 2, "right": -math.pi / 2, "around": math.pi, "round": math.pi}
_PLACED = ("where", "room", "area")  # forms whose answer is a place, or a room itself
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_MOVES = re.compile(
    r"^(?:(?:please|then|first|now|next) )*(?:to (?:get|reach|find)|go|walk|exit|leave|enter|turn|head|begin|start|"
    r"stop|wait|take|continue|move|proceed|make|follow|climb|pass|cross|step|face|keep)\b", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"^(?:(?:and|then|also|finally|by the way|after that|once (?:you(?:'re| are)? )?(?:there|arrived?|inside)|"
    r"once you(?:'ve| have) arrived|(?:while|when) (?:you(?:'re| are) )?(?:there|you arrive|you get there)|"
    r"you might (?:wonder|ask(?: yourself)?)|i (?:wonder|would like to know|want to know)|"
    r"(?:can|could|would|will) you (?:please )?(?:tell me|check|say|find out|see)|do you know|please tell me|tell me|"
    r"check|find out)(?:[,:]\s*|\s+))+", re.IGNORECASE)
_HERE = re.compile(r"\b(?:in this (?:room|area|space|place)|in here|in there)\b", re.IGNORECASE)
_WHETHER = re.compile(r"^(?:if|whether) (.+?) (is|are|was|were|has|have|can) (.*)$", re.IGNORECASE)


def split_directions(text: str) -> tuple[str, str]:
    """Return directions and question of a text that has both: "Go to the kitchen. Is the oven off?".

    Directions are all sentences before the last one if the first of them says how to move. The question then loses
    words that lead to it ("While you're there, can you tell me ..."). A text without directions stays as it is.
    """
    sentences = _SENTENCE.split(text.strip())
    if len(sentences) < 2 or not _MOVES.match(sentences[0]) or "?" in "".join(sentences[:-1]):
        return "", text
    asked = _LEAD_IN.sub("", sentences[-1].replace("’", "'")).strip()
    if whether := _WHETHER.match(asked):
        asked = f"{whether[2]} {whether[1]} {whether[3]}"
    asked, directions = asked.rstrip(".!? ") + "?" if asked else sentences[-1], " ".join(sentences[:-1])
    if room := destination(directions):
        asked = _HERE.sub(f"in the {room}", asked)
    return directions, asked[:1].upper() + asked[1:]


def bad_directions(text: str) -> str:
    """Return in one sentence why a text cannot be followed as directions; "" if it can, and for an empty one."""
    if not text.strip():
        return ""
    if len(text) > LONGEST:
        return f"The directions have {len(text)} characters; please give them in at most {LONGEST}."
    parts = (text[i:i + _PART] for i in range(0, len(text), _PART))
    why = next(filter(None, map(unreadable, parts)), "") or improper(text)
    return why.replace("The question contains", "The directions contain").replace("this question", "the directions")


def rooms_along(text: str) -> tuple[str, ...]:
    """Return the rooms that directions lead into, in order; not those that they leave, pass, or stop in front of."""
    return tuple(name for name, entered in _rooms(text) if entered)


def rooms_named(text: str) -> frozenset[str]:
    """Return all rooms that directions name, those that they leave or pass too."""
    return frozenset(name for name, _ in _rooms(text))


def _rooms(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each room that directions name, and whether they lead into it."""
    for sentence in _CLAUSE.split(text):
        words, i = normalise(sentence).split(), 0
        while i < len(words):
            name, length = _room_at(words, i)
            if name:
                yield name, not _LEFT.search(" ".join(words[:i]))
            i += length or 1


def _room_at(words: list[str], i: int) -> tuple[str, int]:
    """Return the room that begins at a word, and its number of words; "" and 0 for none. The longest name wins."""
    for n in range(min(_WORDS, len(words) - i), 0, -1):
        *before, last = words[i:i + n]
        name = " ".join((*before, singular(last)))
        known = name in room_words() or (set(before) <= _QUALIFIERS and singular(last) in room_words())
        of_a_thing = i + n < len(words) and singular(words[i + n]) in known_names()  # "the kitchen table" is no kitchen
        if known and name != "room" and not of_a_thing:
            return name, n
    return "", 0


def bearing(text: str) -> float | None:
    """Return where directions lead, as an angle from the heading at their beginning, left positive, radians.

    Every clause that says how to move counts as one stretch of equal length; "on your left" is a turn where it is said
    of a door or a room. None if they say neither a turn nor that the way is straight, or lead back to the start.
    """
    heading = x = y = 0.0
    for clause in _CLAUSE.split(text):
        turns = [a or b for a, b in _TURN.findall(clause)]
        heading += math.fsum(_ANGLES[turn.lower()] for turn in turns)
        if turns or _ONWARD.search(clause):
            x, y = x + math.cos(heading), y + math.sin(heading)
    return math.atan2(y, x) if math.hypot(x, y) > 0.5 else None


def destination(text: str) -> str:
    """Return the room in which directions end, "" if they name none."""
    return next(reversed(rooms_along(text)), "")


def at_destination(query: Query, directions: str) -> Query:
    """Return a question that names no room as one about the room in which the directions end."""
    room = destination(directions)
    if not room or query.rooms or not query.things or query.form in _PLACED or query.parts or query.compared:
        return query
    return query._replace(things=(query.things[0]._replace(room=room), *query.things[1:]))
