"""Answers what is written on an object: "What does the sign in the hallway say?" """

from __future__ import annotations

import re

from eqa_nodes.core.answerers.label.answers import ONE_OF_SEVERAL, RuleAnswer, clearest
from eqa_nodes.core.answerers.label.evidence import clearest_text
from eqa_nodes.core.answerers.label.finding import find
from eqa_nodes.core.answerers.label.scene import LabelScene
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.types.views import TEXT

_TIME = re.compile(r"\d{1,2}[:.]\d{2}")
_MONTH = re.compile("(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber", re.IGNORECASE)
_UNCLEAR = 0.5  # confidence in one of several texts that are on no detected object


def written(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return what is written on the object that is meant; the less sure, the less the views agree.

    Where nothing detects objects, it is the text that can be meant by its form (a time by a clock), or the only one.
    """
    ref = asked.things[0]
    named = find(scene, ref)
    if bearing := [t for t in named if TEXT in t.attributes]:
        best = clearest(bearing)
        sure = 1.0 if len({t.attributes[TEXT] for t in bearing}) == 1 else ONE_OF_SEVERAL
    else:
        texts = [t for t in scene.objects if t.kind == TEXT and _can_be(t.attributes.get(TEXT, ""), ref)]
        if not texts or any(t.kind != TEXT for t in named):
            return None  # what is meant is in view, and cannot be read yet
        if any(t.kind != TEXT and not t.sighting.label.detected for t in scene.objects):
            return None  # a simulator labels all objects: what is meant is still to be found
        best = max(texts, key=lambda t: (t.sighting.pixels, -t.instance))
        words = set(best.attributes[TEXT].split())  # a part of it is no other text
        sure = 1.0 if all(words.issuperset(t.attributes[TEXT].split()) for t in texts) else _UNCLEAR
    text, agreed = clearest_text(best.views) or (best.attributes[TEXT], 1.0)
    return RuleAnswer(text, best.clarity * agreed * sure, (best,))


def _can_be(text: str, ref: Thing) -> bool:
    """Return whether a text can be on such an object: only clocks show a time, only calendars a month."""
    is_time, is_month = bool(_TIME.search(text)), bool(_MONTH.search(text))
    last = ref.kind.split()[-1:] or [""]
    if last[0] in ("clock", "watch", "time"):
        return is_time
    return is_month if last[0] == "calendar" else bool(text) and not is_time and not is_month
