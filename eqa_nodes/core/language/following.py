"""Places that a question takes from the one before it: "there", and the room that its answer named."""

from __future__ import annotations

import re

from eqa_nodes.core.language.query import Query
from eqa_nodes.core.language.rooms import is_room, room_name

_THERE = re.compile(r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )\bthere\b", re.IGNORECASE)
_PLACE = re.compile(r"\bin the ([a-z]+)(?: ([a-z]+))?")
_PLACING = ("where", "room")  # forms whose answer says where a thing is


def with_place(text: str, last: Query | None, answer: str) -> str:
    """Return a question with "there" replaced by the one room that the last question or its answer names."""
    rooms = (last.rooms or _rooms_in(answer)) if last is not None else ()
    return _THERE.sub(f"in the {rooms[0]}", text, count=1) if len(rooms) == 1 else text


def located(query: Query, last: Query, answer: str) -> Query:
    """Return a question about a thing with the room where the last answer said that it is."""
    rooms = _rooms_in(answer) if last.form in _PLACING and query.form not in _PLACING else ()
    if len(rooms) != 1 or not query.things or query.rooms:
        return query
    return query._replace(things=(query.things[0]._replace(room=rooms[0]), *query.things[1:]))


def _rooms_in(answer: str) -> tuple[str, ...]:
    """Return the rooms that an answer names, each once: of "in the living room on the shelf" the living room."""
    names = ((f"{first} {second}", first) for first, second in _PLACE.findall(answer.lower()))
    found = (next((room_name(name) for name in pair if is_room(name)), "") for pair in names)
    return tuple(dict.fromkeys(filter(None, found)))
