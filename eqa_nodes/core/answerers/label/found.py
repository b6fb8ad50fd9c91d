"""Results of rules, and code that rules share: selecting the object that is meant, and its certainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from eqa_nodes.core.answerers.label.finding import DOORS, find
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, whole
from eqa_nodes.core.language.english import join_list, number_word, plural, with_article
from eqa_nodes.core.language.query import Thing
from eqa_nodes.core.types.measures import MeasuredLine

_NEAR_M = 3.2  # from here a surface can be looked over


class RuleAnswer(NamedTuple):
    """An answer, its certainty given these views (0..1), and its evidence.

    promise: that some view here contributes, for answers which only several views together can settle. says: what is
    known of each of several targets; open: some of them are not, so that there is no answer; measure: the length that
    was measured.
    """

    text: str
    confidence: float
    objects: tuple[Seen, ...]
    promise: float = 0.0
    says: str = ""
    open: bool = False
    measure: MeasuredLine | None = None


def the_one(scene: LabelScene, ref: Thing) -> tuple[Seen, float] | None:
    """Return the clearest object that fits a phrase, and the certainty that it is meant."""
    if ref.kind in DOORS and ref.room:
        return scene.door(ref)
    found = find(scene, ref)
    if not found:
        return None
    best = max(found, key=lambda t: (t.clarity, -t.instance))
    return best, best.clarity * (1.0 if len(found) == 1 else 0.6)


def yes(truth: bool) -> str:
    return "yes" if truth else "no"


def both(scene: LabelScene, refs: Sequence[Thing]) -> tuple[list[Seen], float] | None:
    """Return the objects that several phrases mean, and how sure they all are right."""
    found = [the_one(scene, ref) for ref in refs]
    objects = [one for one in found if one is not None]
    if len(objects) < len(refs):
        return None
    return [obj for obj, _ in objects], min(sure for _, sure in objects)


def surveyed(base: Seen | None) -> float:
    """Return how sure nothing on (in, at) an object was overlooked: it was near and within the image."""
    if base is None:
        return 0.5
    near = [(view, s) for view, s in base.views if math.dist(view.pose[:2], base.middle) <= _NEAR_M]
    return 0.9 if any(whole(view, s) for view, s in near) else 0.85 if len(near) > 2 else 0.6


def clearest(objects: Sequence[Seen]) -> RuleAnswer | None:
    """Return the one object that is meant; less sure when several could be."""
    if not objects:
        return None
    best = max(objects, key=lambda t: (t.clarity, -t.instance))
    return RuleAnswer(with_article(best.kind), best.clarity * (1.0 if len(objects) == 1 else 0.6), (best,))


def listed(objects: Sequence[Seen], base: Seen | None) -> RuleAnswer | None:
    if not objects:
        return None
    clear = min(t.clarity for t in objects)
    evidence = (*objects, base) if base else tuple(objects)
    return RuleAnswer(said_kinds(objects), clear * surveyed(base), evidence, 0.75 * clear)


def said_kinds(objects: Sequence[Seen]) -> str:
    """Return "a mug and two plates"."""
    kinds = [t.kind for t in objects]
    return join_list([counted(kind, kinds.count(kind)) for kind in sorted(set(kinds))])


def counted(kind: str, count: int) -> str:
    """Return "a chair", "four chairs"."""
    return with_article(kind) if count == 1 else f"{number_word(count)} {plural(kind)}"


def in_the(obj: Seen) -> str:
    """Return " in the study", "" for an unknown room."""
    return f" in the {obj.room}" if obj.room else ""
