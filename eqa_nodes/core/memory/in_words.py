"""Names and places of remembered objects in words."""

from __future__ import annotations

from eqa_nodes.core.memory.ledger import ObjectSpell
from eqa_nodes.core.memory.objects import ObjectRecord
from eqa_nodes.core.types.questions import MemoryObject

_RELATIONS = ("on", "in", "under")  # any other one counts as "on"


def name_of(o: MemoryObject | ObjectRecord) -> str:
    """Return the name with its colour, such as "red mug"."""
    return " ".join(filter(None, (o.attributes.get("colour", ""), o.kind)))


def place_of(o: MemoryObject) -> str:
    """Return the location as text ("in the kitchen, on the counter"), "" if it is unknown."""
    on = _support(o.attributes.get("relation", ""), o.attributes.get("support", ""))
    return ", ".join(filter(None, (_room(o.room), on)))


def place_words(room: str, relation: str, support: str) -> str:
    """Return a place as "on the counter in the kitchen", "" if it is unknown."""
    return " ".join(filter(None, (_support(relation, support), _room(room))))


def spell_place(spell: ObjectSpell) -> str:
    """Return where an object was during a spell, "" if it is unknown."""
    return place_words(spell.room, spell.relation, spell.support)


def _room(room: str) -> str:
    return f"in the {room}" if room else ""


def _support(relation: str, support: str) -> str:
    return f"{relation if relation in _RELATIONS else 'on'} the {support}" if support else ""
