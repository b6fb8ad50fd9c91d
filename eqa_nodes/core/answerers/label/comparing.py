"""Rules for questions over several places or objects: what is known of each target, and what follows from all of them.

Nothing is answered before every target is known. What is known so far is said of each view, and of an abstention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eqa_nodes.core.answerers.label.answers import (
    ONE_OF_SEVERAL,
    PROMISE,
    RuleAnswer,
    clearest,
    in_the,
    is_are,
    with_looks,
    yes,
)
from eqa_nodes.core.answerers.label.finding import LOOKS, PLAIN, find, is_smaller
from eqa_nodes.core.answerers.label.home import ALIKE_SURE
from eqa_nodes.core.answerers.label.measuring import size_of
from eqa_nodes.core.answerers.label.scene import HALF, LOOKED, LabelScene, Seen
from eqa_nodes.core.language.english import canonical, plural
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.targets import Compared, Target, standing

_ENOUGH = 0.45  # how sure a target must be to be known
_PLAIN_SIDES = 1.3  # ratio of two sizes that settles which is larger


class KnownValue(NamedTuple):
    """What is known of one target: its value, in words, how sure that is, and by which objects."""

    value: str | float
    says: str
    sure: float
    objects: tuple[Seen, ...]


def compare(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return the answer once all targets are known; before that what is known, without an answer; None for nothing."""
    question = asked.compared
    if question is None:
        return None
    things = _told_apart(scene, question.targets, asked.things)
    known = [_known(scene, question, target, thing) for target, thing in zip(question.targets, things, strict=True)]
    have = [one for one in known if one is not None]
    if not have:
        return None
    missing = [target for target, one in zip(question.targets, known, strict=True) if not one or one.sure < _ENOUGH]
    says = standing([one.says for one in have if one.sure >= _ENOUGH], missing)
    objects = tuple({obj.instance: obj for one in have for obj in one.objects[:3]}.values())
    promise = PROMISE * clearest(objects).clarity
    if missing:
        return RuleAnswer(standing([one.says for one in have]), 0.0, objects, promise, says, True)
    text, clear = _verdict(question, [one.value for one in have])
    return RuleAnswer(text, clear * min(one.sure for one in have), objects, promise, says)


def _told_apart(scene: LabelScene, targets: Sequence[Target], things: Sequence[Thing]) -> list[Thing]:
    """Return the phrases that find the targets; of rooms that share a name each target gets another one."""
    told, taken = [], list[str]()
    for target, thing in zip(targets, things, strict=True):
        if target.room and target.where != target.room:
            rooms = scene.rooms(target.room)[taken.count(target.room):]
            thing = thing._replace(room=rooms[0] if rooms else "a room that was not seen")
            taken.append(target.room)
        told.append(thing)
    return told


# What is known of one target.

def _known(scene: LabelScene, question: Compared, target: Target, thing: Thing) -> KnownValue | None:
    if question.form == "size" and not target.what:  # a room
        area, there = scene.area(thing.room), tuple(scene.in_room(thing.room)[:1])
        says, sure = f"the {thing.room} has {area:.0f} m2", 0.95 * scene.coverage(thing.room)
        return KnownValue(area, says, sure, there) if there else None
    if question.form in ("more", "count") or question.aspect == "number":
        return _number(scene, thing)
    found = find(scene, thing)
    alike = [t for t in question.targets if (t.kind, t.where) == (target.kind, target.where)]
    if target.kind != target.what and len(alike) > 1:  # "one sofa" and the "other sofa"
        found = found[alike.index(target):alike.index(target) + 1]
    if question.form == "size":
        return _size(scene, question, thing, found)
    return _state(scene, question, thing, found) if question.form in ("both", "either") else _look(question, found)


def _look(question: Compared, found: Sequence[Seen]) -> KnownValue | None:
    """Return colour, material or state of a target; None while several objects that differ could be meant."""
    name = next((name for name in LOOKS if canonical(name) == canonical(question.aspect or "colour")), "")
    having = [t for t in found if t.attributes.get(name)]
    values = {canonical(t.attributes[name]) for t in having}
    if len(values) != 1:
        return None
    best = clearest(having)
    sure = best.clarity * (1.0 if len(having) == 1 else 0.9)
    return KnownValue(values.pop(), with_looks([best], name), sure, (best,))


def _state(scene: LabelScene, question: Compared, thing: Thing, found: Sequence[Seen]) -> KnownValue | None:
    """Return whether a place has such an object, in the state that the question names; a no needs a look round."""
    wanted, said = canonical(question.aspect), question.aspect or "there"
    fits = [t for t in found if not wanted or wanted in (canonical(t.attributes.get(name, "")) for name in LOOKS)]
    if fits:
        best = clearest(fits)
        return KnownValue("yes", f"the {best.kind}{in_the(best)} {is_are(best.kind)} {said}", best.clarity, (best,))
    covered = scene.coverage(thing.room) if thing.room else 0.0
    if covered < (HALF if found else LOOKED):
        return None
    says = f"no {thing.kind} in the {thing.room} is {said}"
    return KnownValue("no", says, 0.95 * covered, tuple(found or scene.in_room(thing.room))[:1])


def _number(scene: LabelScene, thing: Thing) -> KnownValue | None:
    found = find(scene, thing, every=True)
    if not found and not scene.looked_over(thing.room):
        return None
    kind = " ".join(filter(None, (thing.state, thing.colour, thing.kind if len(found) == 1 else plural(thing.kind))))
    says = f"{len(found)} {kind}" + (f" in the {thing.room}" if thing.room else "")
    shown = tuple(found or scene.in_room(thing.room)[:1])
    return KnownValue(float(len(found)), says, 0.95 * scene.overview(thing.room), shown)


def _size(scene: LabelScene, question: Compared, thing: Thing, found: Sequence[Seen]) -> KnownValue | None:
    """Return a side or the volume of an object."""
    got = size_of(scene, thing, question.aspect) if found else None
    if got is None:
        return None
    best, size, sides = got
    says = f"the {best.kind}{in_the(best)} is {' x '.join(f'{s:.1f}' for s in sides)} m"
    return KnownValue(size, says, best.clarity * (1.0 if len(found) == 1 else ONE_OF_SEVERAL), (best,))


# What follows from all of them.

def _verdict(question: Compared, values: Sequence[str | float]) -> tuple[str, float]:
    """Return the answer, and how clear it is, 0..1."""
    if question.form in ("more", "size"):
        return _most(question, [float(value) for value in values])
    if question.form == "count":
        return f"{sum(map(float, values)):.0f}", 1.0
    if question.form == "same":
        return yes((len(set(values)) == 1) != question.denied), 1.0
    return yes((any if question.form == "either" else all)(value == "yes" for value in values)), 1.0


def _most(question: Compared, values: Sequence[float]) -> tuple[str, float]:
    """Return which target has most, or whether the first one has; if two are equal, neither has."""
    ranked = sorted(values, reverse=not is_smaller(question.aspect))
    ratio = max(ranked[:2]) / max(min(ranked[:2]), 1e-9)
    rooms = question.form == "size" and not question.targets[0].what
    alike = rooms and ratio < PLAIN
    plain = question.form == "more" or ratio > _PLAIN_SIDES
    clear, doubt = ALIKE_SURE if alike else 1.0 if plain else 0.6, ": they hardly differ" if alike else ""
    if not question.which:
        return yes(values[0] == ranked[0] != ranked[1]) + doubt, clear
    if ranked[0] == ranked[1]:
        return "both the same", 0.05 * clear  # a question which has more expects a difference
    best = question.targets[values.index(ranked[0])]
    return f"the {best.room if question.form == 'more' or not best.what else best.name}{doubt}", clear
