"""Objects in memory that words mean, their places in words, and the views that prove what is said of them."""

from __future__ import annotations

from collections.abc import Iterable

from eqa_nodes.core.language.english import COLOURS, canonical, content_words, normalise
from eqa_nodes.core.language.naming import in_group
from eqa_nodes.core.language.spelling import spelled
from eqa_nodes.core.memory.reading import MemoryReader
from eqa_nodes.core.types.questions import MAX_EVIDENCE, Evidence, MemoryObject

SURE, ONCE, BY_MEANING = 0.95, 0.8, 0.6  # confidence: seen in several looks, in one, found by meaning only


def fitting_objects(store: MemoryReader, thing: str) -> tuple[list[MemoryObject], float]:
    """Return the matching objects, the one seen last at the end, and the confidence in that one.

    Without a match by words, only the most similar object counts; objects of another colour than asked for do not.
    """
    text = spelled(normalise(thing))
    wanted = set(content_words(text))
    found = [o for o in store.objects(text) if _colour_fits(o, wanted)]
    kinds = [o for o in found if set(canonical(o.kind).split()) <= wanted]
    kinds = kinds or [o for o in store.objects() if in_group(o.kind, text) and _colour_fits(o, wanted)]
    fitting = sorted(kinds or found[:1], key=lambda o: (o.last_ns, o.id))
    return fitting, BY_MEANING if not kinds else ONCE if fitting[-1].times < 2 else SURE


def _colour_fits(o: MemoryObject, wanted: set[str]) -> bool:
    colours = (wanted - set(canonical(o.kind).split())).intersection(COLOURS)
    return not colours or "colour" not in o.attributes or canonical(o.attributes["colour"]) in colours


def views_of(store: MemoryReader, ids: Iterable[int], note: str) -> tuple[Evidence, ...]:
    """Return stored views as evidence, at most MAX_EVIDENCE of them."""
    views = [view for i in dict.fromkeys(ids) if (view := store.keyframe(i)) is not None]
    return tuple(Evidence(v.id, v.stamp_ns, v.pose, note) for v in views[:MAX_EVIDENCE])
