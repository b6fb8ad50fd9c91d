"""Rules for questions over several places or objects: what is known of each target, and what follows from all of them.

Nothing is answered before every target is known. What is known so far is said of each view, and of an abstention.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from eqa_nodes.core.answerers.label.answers import RuleAnswer, in_the, is_are, yes
from eqa_nodes.core.answerers.label.finding import find, is_smaller
from eqa_nodes.core.answerers.label.measuring import size_of
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen
from eqa_nodes.core.language.english import canonical, plural
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.targets import Compared, Target, standing

_PART = 0.75  # what a view of one target promises, of its clarity
_LOOKED = 0.8  # of a room that was looked over: what was not seen there is not there
_COUNTED = 0.5  # of a room, before a state that no object in it has is taken for that of none
_ENOUGH = 0.45  # how sure a target must be to be known
_ALIKE, _DOUBTED = 1.15, 0.4  # ratio of two areas below which rooms hardly differ, and how sure an answer then is
_PLAIN = 1.3  # ratio of two sizes that settles which is larger
_FEWER = ("fewer", "fewest", "less", "least")
_LOOKS = ("state", "colour", "material")


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
    known = [_known(scene, question, target, place) for target, place in zip(
        question.targets, _places(scene, question.targets, asked.things), strict=True)]
    have = [one for one in known if one is not None]
    if not have:
        return None
    told = [one is not None and one.sure >= _ENOUGH for one in known]
    objects = tuple({obj.instance: obj for one in have for obj in one.objects[:3]}.values())
    missing = [target for target, sure in zip(question.targets, told, strict=True) if not sure]
    says = standing([one.says for one in have if one.sure >= _ENOUGH], missing)
    promise = _PART * max(obj.clarity for obj in objects)
    if missing:
        return RuleAnswer(standing([one.says for one in have]), 0.0, objects, promise, says, bool(missing))
    text, clear = _VERDICTS[question.form](question, have)
    return RuleAnswer(text, clear * min(one.sure for one in have), objects, promise, says)


def _places(scene: LabelScene, targets: Sequence[Target], things: Sequence[Thing]) -> list[Thing]:
    """Return what each target may be found by: of rooms that share a name each target has one of its own."""
    taken: dict[str, int] = {}
    places = []
    for target, ref in zip(targets, things, strict=True):
        if target.where != target.room and target.room:
            rooms, nth = scene.rooms(target.room), taken.get(target.room, 0)
            taken[target.room] = nth + 1
            ref = ref._replace(room=rooms[nth] if nth < len(rooms) else "a room that was not seen")
        places.append(ref)
    return places


def _known(scene: LabelScene, question: Compared, target: Target, ref: Thing) -> KnownValue | None:
    if question.form == "size":
        return _size(scene, question, target, ref)
    if question.form in ("more", "count") or question.aspect == "number":
        return _number(scene, ref)
    found = _meant(scene, question, target, ref)
    return _state(scene, question, ref, found) if question.form in ("both", "either") else _look(question, found)


def _meant(scene: LabelScene, question: Compared, target: Target, ref: Thing) -> list[Seen]:
    """Return the objects that a target means; of "one sofa" and the "other sofa" one each."""
    found = find(scene, ref)
    alike = [t for t in question.targets if t.kind == target.kind and t.where == target.where]
    if target.kind == target.what or len(alike) < 2:
        return found
    nth = alike.index(target)
    return found[nth:nth + 1]


def _look(question: Compared, found: Sequence[Seen]) -> KnownValue | None:
    """Return colour or material of a target; nothing while several objects that differ could be meant."""
    name = {"color": "colour", "material": "material", "state": "state"}.get(canonical(question.aspect or "color"), "")
    having = [t for t in found if t.attributes.get(name)]
    values = {canonical(t.attributes[name]) for t in having}
    if len(values) != 1:
        return None
    best = max(having, key=lambda t: (t.clarity, -t.instance))
    says = f"the {best.kind}{in_the(best)} {is_are(best.kind)} {best.attributes[name]}"
    return KnownValue(values.pop(), says, best.clarity * (1.0 if len(having) == 1 else 0.9), (best,))


def _state(scene: LabelScene, question: Compared, ref: Thing, found: Sequence[Seen]) -> KnownValue | None:
    """Return whether a place has such an object, in such a state where one is named; a no needs a look round."""
    wanted = canonical(question.aspect)
    fits = [t for t in found if not wanted or wanted in (canonical(t.attributes.get(name, "")) for name in _LOOKS)]
    if fits:
        best = max(fits, key=lambda t: (t.clarity, -t.instance))
        said = f"{is_are(best.kind)} {question.aspect}" if wanted else is_are(best.kind) + " there"
        return KnownValue("yes", f"the {best.kind}{in_the(best)} {said}", best.clarity, (best,))
    covered = scene.coverage(ref.room) if ref.room else 0.0
    if covered < (_COUNTED if found else _LOOKED):
        return None
    where = f" in the {ref.room}" if ref.room else ""
    says = f"no {ref.kind}{where} is {question.aspect or 'there'}"
    return KnownValue("no", says, 0.95 * covered, tuple(found or scene.in_room(ref.room))[:1])


def _number(scene: LabelScene, ref: Thing) -> KnownValue | None:
    found = find(scene, ref, every=True)
    covered = scene.overview(ref.room)
    if not found and covered < (_LOOKED if ref.room else _COUNTED + 0.01):
        return None
    kind = " ".join(filter(None, (ref.state, ref.colour, ref.kind if len(found) == 1 else plural(ref.kind))))
    says = f"{len(found)} {kind}" + (f" in the {ref.room}" if ref.room else "")
    return KnownValue(float(len(found)), says, 0.95 * covered, tuple(found or scene.in_room(ref.room)[:1]))


def _size(scene: LabelScene, question: Compared, target: Target, ref: Thing) -> KnownValue | None:
    """Return the size of an object (a side or its volume) or of a room: of what was seen in it, m2."""
    if not target.what:
        area, there = scene.area(ref.room), scene.in_room(ref.room)
        says, sure = f"the {ref.room} has {area:.0f} m2", 0.95 * scene.coverage(ref.room)
        return KnownValue(area, says, sure, tuple(there[:1])) if there else None
    found = _meant(scene, question, target, ref)
    got = size_of(scene, ref, question.aspect) if found else None
    if got is None:
        return None
    best, size, sides = got
    says = f"the {best.kind}{in_the(best)} is {' x '.join(f'{s:.1f}' for s in sides)} m"
    return KnownValue(size, says, best.clarity * (1.0 if len(found) == 1 else 0.6), (best,))


def _same(question: Compared, known: Sequence[KnownValue]) -> tuple[str, float]:
    return yes((len({one.value for one in known}) == 1) != question.denied), 1.0


def _most(question: Compared, known: Sequence[KnownValue]) -> tuple[str, float]:
    """Return which target has most, or whether the first one has; of two that are equal neither."""
    least = is_smaller(question.aspect) or question.aspect in _FEWER
    values = [float(one.value) for one in known]
    ranked = sorted(values, reverse=not least)
    plain = question.form == "more" or max(ranked[:2]) > _PLAIN * min(ranked[:2])
    rooms = question.form == "size" and not question.targets[0].what
    alike = rooms and max(ranked[:2]) < _ALIKE * min(ranked[:2])
    clear, doubt = _DOUBTED if alike else 1.0 if plain else 0.6, ": they hardly differ" if alike else ""
    if not question.which:
        return yes(values[0] == ranked[0] != ranked[1]) + doubt, clear
    if ranked[0] == ranked[1]:
        return "both the same", 0.05 * clear  # who asks which has more expects a difference
    best = question.targets[values.index(ranked[0])]
    return f"the {best.room if question.form == 'more' or not best.what else best.name}{doubt}", clear


def _sum(question: Compared, known: Sequence[KnownValue]) -> tuple[str, float]:
    return f"{sum(float(one.value) for one in known):.0f}", 1.0


def _all(question: Compared, known: Sequence[KnownValue]) -> tuple[str, float]:
    told = (any if question.form == "either" else all)(one.value == "yes" for one in known)
    return yes(told), 1.0


_VERDICTS: dict[str, Callable[[Compared, Sequence[KnownValue]], tuple[str, float]]] = {
    "same": _same, "more": _most, "size": _most, "count": _sum, "both": _all, "either": _all}
