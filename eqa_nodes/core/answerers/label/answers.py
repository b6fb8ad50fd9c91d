"""Answers of rules: which object is meant, how sure that is, whether there is none, and words for several objects."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from eqa_nodes.core.answerers.common import match_choice
from eqa_nodes.core.answerers.label.evidence import borders
from eqa_nodes.core.answerers.label.finding import DOORS, HOLDS, SURFACES, find, look_of, support_of
from eqa_nodes.core.answerers.label.scene import LOOKED, LabelScene, Seen, in_region, same_room
from eqa_nodes.core.language.english import canonical, join_list, normalise, number_word, plural, singular, with_article
from eqa_nodes.core.language.naming import in_group, known_names, small_names
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.types.measures import MeasuredLine

PROMISE = 0.75  # share of an object's clarity that its view contributes to an answer about several objects
ONE_OF_SEVERAL = 0.6  # how sure it is that the clearest of several is meant, or that no other room of that name has one
_EACH = 0.9  # of the least clear of several objects: one more may be there
_NEAR_M = 3.2  # maximum distance from which a surface can be looked over
_NAMED, _TOLD_APART = 6, 4  # maximum number of groups that are named before the rest is counted; of looks
_BEHIND_DOORS = ("fruit", "vegetable", "food", "drink", "cutlery")
_LISTED_USES = 0.7  # other kinds of objects may serve the same purpose


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


Rule = Callable[[LabelScene, Query], RuleAnswer | None]


def in_choices(found: RuleAnswer, choices: Sequence[str]) -> RuleAnswer | None:
    """Return an answer in the words of the choice that says the same, None where none does; as it is without choices.
    """
    index = match_choice(found.text, choices) if choices else None
    return found if not choices else None if index is None else found._replace(text=choices[index])


# Which object is meant, and how sure that is.

def clearest(objects: Sequence[Seen]) -> Seen:
    return max(objects, key=lambda t: (t.clarity, -t.instance))


def meant(objects: Sequence[Seen]) -> tuple[Seen, float] | None:
    """Return the clearest object and the certainty that it is meant; None if there are no objects."""
    if not objects:
        return None
    return clearest(objects), clearest(objects).clarity * (1.0 if len(objects) == 1 else ONE_OF_SEVERAL)


def the_one(scene: LabelScene, ref: Thing) -> tuple[Seen, float] | None:
    """Return the clearest object that fits a phrase, and the certainty that it is meant."""
    return scene.door(ref) if ref.kind in DOORS and ref.room else meant(find(scene, ref))


def each_one(scene: LabelScene, refs: Sequence[Thing]) -> tuple[list[Seen], float] | None:
    """Return the objects that several phrases mean, and how sure they all are right; None where one is missing."""
    found = [one for ref in refs if (one := the_one(scene, ref)) is not None]
    return ([obj for obj, _ in found], min(sure for _, sure in found)) if found and len(found) == len(refs) else None


def sure_of(scene: LabelScene, ref: Thing, objects: Sequence[Seen], look: str = "") -> tuple[float, float]:
    """Return how sure an answer about all these objects is, and what a view of some of them promises.

    It is less sure while there must be others: a house with a main bedroom has a second one. If the state of a room's
    door is asked, one of its doors is meant, and it may be uncertain which.
    """
    clear = min(t.clarity for t in objects) * (_EACH if len(objects) > 1 else 1.0)
    if ref.kind in DOORS:  # labelled by the room on either side
        door = scene.door(ref) if ref.room and look == "state" else None
        return door[1] if door else clear, 0.0
    rooms = {t.room for t in objects}
    unknown = [r for r in (scene.rooms(ref.room) if ref.room else ()) if r not in rooms and scene.coverage(r) < LOOKED]
    if scene.has_others(ref.room) or (unknown and not any(same_room(r, ref.room) for r in rooms)):
        return ONE_OF_SEVERAL * clear, PROMISE * clear
    return clear, PROMISE * clear if len(objects) > 1 else 0.0


def surveyed(base: Seen | None) -> float:
    """Return how sure it is that nothing on or in an object was overlooked: it was near and within the image."""
    if base is None:
        return 0.5
    near = [(view, s) for view, s in base.views if math.dist(view.pose[:2], base.middle) <= _NEAR_M]
    return 0.9 if any(borders(view, s) <= 1 for view, s in near) else 0.85 if len(near) > 2 else 0.6


# Whether there is none.

def unlooked(thing: Thing) -> Thing:
    """Return a phrase without what it says of looks: "lit candle in the study" becomes "candle in the study"."""
    return thing._replace(state="", colour="", material="", size="", unlike=None)


def none_so(scene: LabelScene, thing: Thing, said: str = "no") -> RuleAnswer | None:
    """Return that no object of the kind looks as the phrase says, by what those that were seen look like."""
    plain = unlooked(thing)
    if plain == thing or not (objects := find(scene, plain, every=True)):
        return None
    name = look_of(thing) or look_of(thing.unlike or Thing())
    objects = [t for t in objects if t.attributes.get(name)] if name else objects
    if not objects:
        return None
    sure = scene.overview(thing.room) * min(t.clarity for t in objects)
    said += f": {with_looks(objects, name)}" if name else ""
    return RuleAnswer(said, sure, tuple(objects)[:3], PROMISE * sure)


def absent(scene: LabelScene, thing: Thing, said: str = "no") -> RuleAnswer | None:
    """Return that there is no such object, and what was looked at; None where that cannot be claimed.

    Claimed only of a kind that is known to exist, in rooms that were looked over, or on an object that was seen.
    """
    if (thing.use and thing.support is None) or (not thing.kinds and not _can_be_absent(scene, thing.kind or "thing")):
        return None
    if unlooked(thing) != thing and find(scene, unlooked(thing), every=True):
        return None  # such objects were seen, and how they look is not known
    if thing.support is not None and thing.support.kind not in SURFACES:
        base = the_one(scene, support_of(thing)) if thing.relation in HOLDS else None
        return base and RuleAnswer(said, base[1] * surveyed(base[0]), (base[0],), PROMISE * base[1])
    seen = scene.overview(thing.room)
    if not scene.looked_over(thing.room) or scene.has_others(thing.room) or (thing.kinds and not thing.room):
        return None
    if thing.room and not all(map(scene.looked_round, scene.rooms(thing.room))):
        return None
    where = f"no {singular(thing.kind) if thing.kind else 'such thing'} was seen in the {len(scene.rooms())} rooms"
    if thing.room:
        where = f"nothing like that was seen in the {thing.room}, of which {100 * seen:.0f} % was in view"
    sure = 0.9 * seen * (_LISTED_USES if thing.kinds else 1.0)
    return RuleAnswer(f"{said}: {where}", sure, tuple(scene.in_room(thing.room)[:1]))


def _can_be_absent(scene: LabelScene, kind: str) -> bool:
    """Return whether a look round shows that there is no such thing.

    Its name must be in the vocabulary or a label, and it must be neither small nor of a sort that is kept behind doors.
    """
    name = singular(normalise(kind))
    if any(name == sort or in_group(name, sort) for sort in _BEHIND_DOORS):
        return False
    return kind == "thing" or name in known_names() - small_names() or any(
        canonical(t.kind) == canonical(name) for t in scene.objects)


# The words for several objects.

def yes(truth: bool) -> str:
    return "yes" if truth else "no"


def in_the(obj: Seen) -> str:
    """Return " in the study", "" for an unknown room."""
    return f" in the {obj.room}" if obj.room else ""


def is_are(kind: str, count: int = 1) -> str:
    return "are" if count > 1 or singular(kind) != kind else "is"


def counted(kind: str, count: int) -> str:
    """Return "a chair", "four chairs"."""
    return with_article(kind) if count == 1 else f"{number_word(count)} {plural(kind)}"


def said_kinds(objects: Sequence[Seen]) -> str:
    """Return "a mug and two plates"."""
    return join_list([counted(kind, count) for kind, count in sorted(Counter(t.kind for t in objects).items())])


def places(objects: Sequence[Seen], among: Sequence[Seen] = ()) -> str:
    """Return "the table lamp in the main bedroom and two windows in the study".

    among: what they are told from: "the red towel", where another towel in that room is not meant.
    """
    groups = Counter((t.room, _distinguished(t, objects, among)) for t in objects)
    said = [f"{f'the {name}' if n == 1 else counted(name, n)}" + (f" in the {room}" if room else "")
            for (room, name), n in sorted(groups.items())]
    return join_list([*said[:_NAMED], f"{len(said) - _NAMED} more"] if len(said) > _NAMED + 1 else said)


def _distinguished(obj: Seen, objects: Sequence[Seen], among: Sequence[Seen]) -> str:
    instances, colour = {t.instance for t in objects}, obj.attributes.get("colour", "")
    rivals = [t for t in among if (t.kind, t.room) == (obj.kind, obj.room) and t.instance not in instances]
    tells = colour and rivals and all(t.attributes.get("colour") != colour for t in rivals)
    return f"{colour} {obj.kind}" if tells else obj.kind


def of_one_kind(room: str, objects: Sequence[Seen]) -> bool:
    """Return whether a plain answer will do: one object, or several alike, in the very room that was named.

    A door may be labelled by the room on its other side.
    """
    return len({(t.kind, t.room) for t in objects}) == 1 and (
        not room or same_room(objects[0].room, room) or not in_region(objects[0].room, room))


def with_looks(objects: Sequence[Seen], name: str, rest: Sequence[Seen] = ()) -> str:
    """Return "the table lamp in the main bedroom is on; the ceiling lamp in the main bedroom is off".

    name: of the attribute; rest: objects that are told last. Of many only their number is told: "two are on".
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for obj in (*objects, *rest):
        groups.setdefault((obj.attributes[name], obj.room), []).append(obj.kind)
    if len(groups) <= _TOLD_APART:
        alike = Counter((t.kind, t.room) for t in (*objects, *rest))
        return "; ".join(_group(kinds, look, room, alike) for (look, room), kinds in groups.items())
    if objects and rest:
        return f"{with_looks(objects, name)}; {_numbers(rest, name)}"
    return _numbers(objects or rest, name)


def _group(kinds: Sequence[str], look: str, room: str, alike: Counter[tuple[str, str]]) -> str:
    words = []
    for kind, count in Counter(kinds).items():
        the = "the " if count == alike[kind, room] else "one " if count == 1 else ""
        words.append(the + (kind if count == 1 else f"{number_word(count)} {plural(kind)}"))
    where = f" in the {room}" if room else ""
    return f"{join_list(words)}{where} {is_are(kinds[0], len(kinds))} {look}"


def _numbers(objects: Sequence[Seen], name: str) -> str:
    """Return "three are on, one is off"."""
    counts = sorted(Counter(t.attributes[name] for t in objects).items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{number_word(n)} {'is' if n == 1 else 'are'} {look}" for look, n in counts)
