"""Answers what is written on an object: "What does the sign in the hallway say?" """

from __future__ import annotations

import re

from eqa_nodes.core.answerers.label.answers import RuleAnswer
from eqa_nodes.core.answerers.label.evidence import clearest_text
from eqa_nodes.core.answerers.label.finding import find
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.types.views import TEXT

_TIME = re.compile(r"\d{1,2}[:.]\d{2}")
_MONTH = re.compile("(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber", re.IGNORECASE)
_UNCLEAR = 0.5  # of a text that is on nothing that was detected


def written(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return what is written on the object that is meant; the less sure, the less the views agree.

    Where nothing detects objects, it is the text that can be meant by its form (a time by a clock), or the only one.
    """
    ref = asked.things[0]
    bearing = [t for t in find(scene, ref) if TEXT in t.attributes]
    if bearing:
        best = max(bearing, key=lambda t: (t.clarity, -t.instance))
        one = len({t.attributes[TEXT] for t in bearing}) == 1
        return _found(best, 1.0 if one else 0.6)
    texts = [t for t in scene.objects if t.kind == TEXT and _can_be(t.attributes.get(TEXT, ""), ref)]
    if not texts or any(t.kind != TEXT for t in find(scene, ref)):
        return None  # what is meant is in view, and cannot be read yet
    if any(t.kind != TEXT and not t.sighting.label.detected for t in scene.objects):
        return None  # a simulator labels all objects: what is meant is still to be found
    best = max(texts, key=lambda t: (t.sighting.pixels, -t.instance))
    words = set(best.attributes[TEXT].split())
    others = [t for t in texts if not words.issuperset(t.attributes[TEXT].split())]  # a part of it is no other text
    return _found(best, _UNCLEAR if others else 1.0)


def _found(t: Seen, sure: float) -> RuleAnswer:
    text, agreed = clearest_text(t.views) or (t.attributes[TEXT], 1.0)
    return RuleAnswer(text, t.clarity * agreed * sure, (t,))


def _can_be(text: str, ref: Thing) -> bool:
    """Return whether a text can be on such an object: only clocks show a time, only calendars a month."""
    is_time, is_month = bool(_TIME.search(text)), bool(_MONTH.search(text))
    last = ref.kind.split()[-1:] or [""]
    if last[0] in ("clock", "watch", "time"):
        return is_time
    return is_month if last[0] == "calendar" else bool(text) and not is_time and not is_month
