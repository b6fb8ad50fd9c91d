"""Usual answers to questions about a home that was not seen, from common sense."""

from __future__ import annotations

from eqa_nodes.core.language.english import canonical, with_article
from eqa_nodes.core.language.query import Query
from eqa_nodes.core.language.uses import HINTS, purpose_of, rooms_of
from eqa_nodes.core.language.vocabulary import table

_USUAL_COLOUR = {kind: colour for colour, kinds in table("usual_colours").items() for kind in kinds}
_USUAL_MATERIAL = {kind: material for material, kinds in table("usual_materials").items() for kind in kinds}
_USUAL_STATES = frozenset(("off", "closed", "made", "full", "clean"))
_FIXED_GUESSES = {
    "count": "2", "seats": "4", "bath": "only a shower", "sit_for": "on the sofa in the living room", "more": "2",
    "wasting": "the ceiling lamp",
}
_AT_HOME = 0.5  # share of a room from which an object belongs to it
_USUALLY_THERE = {"on": "vase", "above": "painting", "between": "coffee table", "left of": "side table",
                  "right of": "side table", "next to": "table"}  # relation -> what is usually there


def guess(asked: Query) -> tuple[str, float]:
    """Return the usual answer to a question about a home that was not seen, and how often that may be right."""
    kind = canonical(asked.things[0].kind) if asked.things else ""
    if asked.form in _FIXED_GUESSES:
        return _FIXED_GUESSES[asked.form], 0.2
    if asked.form == "list" and asked.things[0].support is not None:
        return with_article(_USUALLY_THERE.get(asked.things[0].relation, "vase")), 0.2
    if asked.form == "choice":
        options = [option.looks or f"the {option.name}" for option in asked.predicates]
        return next((option for option in options if option in _USUAL_STATES), options[0]), 0.5
    if asked.form == "side" and not asked.aspect:
        return "to the left", 0.5
    if asked.form == "colour":
        return _USUAL_COLOUR.get(kind, "white"), 0.2
    if asked.form == "material":
        return _USUAL_MATERIAL.get(kind, "wood"), 0.4
    if asked.form == "closer":
        return f"the {asked.things[1].kind}", 0.5
    if asked.form in ("where", "room", "use"):
        return _guess_place(asked, kind)
    if asked.form == "hint":
        return HINTS[asked.aspect][0][0], 0.3
    if asked.form == "is" and asked.predicates[0].state and asked.predicates[0].state not in _USUAL_STATES:
        return "no", 0.5
    return "yes", 0.5 if asked.form else 0.1


def _guess_place(asked: Query, kind: str) -> tuple[str, float]:
    use = asked.things[0].use if asked.things else ""
    purpose, _ = purpose_of(use)
    kind = purpose.kinds[0] if purpose else kind
    weights = rooms_of(kind)
    room = max(weights, key=lambda name: weights[name])
    if "room" in (asked.form, asked.aspect):
        return f"the {room}", 0.3
    if asked.aspect == "tool":
        return f"the {kind}" if purpose else "a tool", 0.3
    if purpose and asked.aspect != "where":
        return f"{purpose.preposition} the {kind} in the {room}", 0.4
    return (f"in the {room}" if weights[room] >= _AT_HOME else f"on the table in the {room}"), 0.15
