"""Sentences that mean more than their words say: a bed was slept in, electricity is wasted, a pet lives here."""

from __future__ import annotations

import re

from eqa_nodes.core.language.english import number, singular
from eqa_nodes.core.language.query import Query, Thing

_WHO = "(?:i|we|you|one|someone|somebody|anyone|anybody|people|guests)"
_WASTED = r"(?:is|are) (?P<what>electricity|energy|power|water) being wasted"
_HINTS = r"pet|instrument|sport|hobby"
# form | pattern on the words of a question; t: a phrase, n: a number of people, what: electricity, a pet ...
_FORMS = tuple((form, re.compile(pattern)) for form, pattern in (
    ("on", rf"{_WASTED} (?:by|at) (?P<t>.+)"),
    ("wasted_in", rf"{_WASTED} in (?P<t>.+)"),
    ("wasting", r"what is wasting (?P<what>electricity|energy|power|water) in (?P<t>.+)"),
    ("unmade", r"(?:has|have|did) any(?:one|body) (?:slept|sleep) in (?P<t>.+?)(?: since .+)?"),
    ("unmade", r"could some(?:one|body) have slept in (?P<t>.+)"),
    ("closed", r"will (?:food|milk|drinks|the food|the milk) in (?P<t>.+) (?:stay|keep) (?:cold|fresh|cool)"),
    ("meal", r"is (?P<t>.+?) (?:set|laid) for (?:a |the )?(?:meal|breakfast|lunch|dinner|supper)(?P<r>(?: in .+)?)"),
    ("seats", r"how many (?:people|persons|guests) can (?:sit|eat|dine) (?:at|around) (?P<t>.+)"),
    ("more", r"how many more (?P<t>chairs?|seats?) do (?:i|we) need (?P<r>in .+?) for (?P<n>\w+) (?:people|guests)"),
    ("enough", r"(?:are|is) there enough (?P<t>chairs?|seats?) for (?P<n>\w+) (?:people|guests) (?P<r>(?:in|at) .+)"),
    ("fits_two", r"can (?:two|2) (?:people|persons|adults) sleep in (?P<t>.+)"),
    ("bath", r"can (?:i|you|one|we) take a bath in (?P<t>.+?)(?: ,)? or only (?:take )?a? ?shower"),
    ("sit_for", rf"where (?:can|could|should|do) {_WHO} sit(?: down)? to watch (?P<t>(?:the )?(?:tv|tele\w+|telly))"),
    ("filled", r"is there (?:any|some) \w+ left in (?P<t>.+)"),
    ("hint", rf"what (?:kind of |sort of )?(?P<what>{_HINTS})s? (?:does|do|did) (?:some|any)(?:one|body)\b.*"),
    ("hint", rf"what (?:kind of |sort of )?(?P<what>{_HINTS}) (?:lives?|is played|is there)\b.*"),
    ("sign", r"do (?:i|we|they|people) have a (?:\w+ )?(?P<what>pet|child|baby)"),
    ("sign", r"does (?:a |an |any )?(?:\w+ )?(?P<what>pet|child|baby|toddler) live here"),
    ("room_for", rf"{_WHO} (?:want|need|would like) to (?P<t>.+?) (?:what|which) room should {_WHO} (?:go to|use)"),
))
_STATES = {"on": "on", "unmade": "unmade", "closed": "closed", "filled": "full"}


def inferred(words: str) -> tuple[str, str, dict[str, str]] | None:
    """Return the form, the phrase it is about and the other parts of such a sentence, None for any other one."""
    for form, pattern in _FORMS:
        if found := pattern.fullmatch(words):
            groups = {name: text or "" for name, text in found.groupdict().items()}
            return form, f"{groups.get('t', '')} {groups.get('r', '')}".strip(), groups
    return None


def query_of_sentence(form: str, thing: Thing, groups: dict[str, str]) -> Query:
    """Return the query of such a sentence about a thing."""
    if form in _STATES:
        return Query("is", (thing,), (Thing(state="running" if groups.get("what") == "water" else _STATES[form]),))
    if form == "meal":
        plates = Thing(room=thing.room, relation="on", support=thing._replace(room=""), kinds=("plate", "cutlery"),
                       use="eat with")
        return Query("exists", (plates,))
    aspect = groups.get("what", "")
    aspect = "energy" if aspect in ("electricity", "power") else singular(aspect) if aspect else ""
    things = (Thing(room=thing.room),) if form in ("wasted_in", "wasting", "bath") else () if form in (
        "hint", "sign") else (thing,)
    return Query(form, things, aspect=aspect, number=number(groups.get("n", "")) or 0)
