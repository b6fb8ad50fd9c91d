"""Answers about all objects that fit a phrase, or that none does: one sentence for all of them, and its certainty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from eqa_nodes.core.answerers.label.finding import DOORS, LOOKS, SURFACES, find, support_of
from eqa_nodes.core.answerers.label.found import RuleAnswer, counted, surveyed, the_one
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, in_region, same_room
from eqa_nodes.core.language.english import canonical, join_list, normalise, number_word, plural, singular
from eqa_nodes.core.language.naming import in_group, known_names, small_names
from eqa_nodes.core.language.query import Thing

_BEHIND_DOORS = ("fruit", "vegetable", "food", "drink", "cutlery")
_LISTED_USES = 0.7  # what else may serve a purpose nobody can list
_HALF = 0.5  # of a house that was not looked over
_NAMED = 6  # groups of objects that are named before the rest is counted
_LISTED = 3  # groups of objects that a sentence tells apart; of more it tells the number
_ONE_OF_TWO = 0.6  # while another room of that name may hold one, too
_LOOKED = 0.8  # of a room that was looked over: what was not seen there is not there
_EACH = 0.9  # as sure as of the least clear one, but there may be one more


def is_are(kind: str, count: int = 1) -> str:
    return "are" if count > 1 or singular(kind) != kind else "is"


def sure_of(scene: LabelScene, ref: Thing, objects: Sequence[Seen]) -> tuple[float, float]:
    """Return how sure an answer about all these objects is, and what a view of some of them promises.

    Unsure while there must be others: who speaks of a main bedroom has a second one.
    """
    clear = min(t.clarity for t in objects) * (_EACH if len(objects) > 1 else 1.0)
    if ref.kind in DOORS:  # labelled by the room on either side
        return clear, 0.0
    rooms = {t.room for t in objects}
    unknown = [r for r in (scene.rooms(ref.room) if ref.room else ()) if r not in rooms and scene.coverage(r) < _LOOKED]
    if scene.has_others(ref.room) or (unknown and not any(same_room(r, ref.room) for r in rooms)):
        return _ONE_OF_TWO * clear, 0.75 * clear
    return clear, 0.75 * clear if len(objects) > 1 else 0.0


def settled(scene: LabelScene, ref: Thing, objects: Sequence[Seen]) -> tuple[float, float]:
    """Return the same of their states; of the doors of a room one is meant, and which one may be uncertain."""
    if ref.kind in DOORS and ref.room and (door := scene.door(ref)) is not None:
        return door[1], 0.0
    return sure_of(scene, ref, objects)


def same_for_all(values: Sequence[str]) -> bool:
    return len(set(map(canonical, values))) == 1


def one_of_a_kind(room: str, objects: Sequence[Seen]) -> bool:
    """Return whether a plain answer will do: one object, or several alike, in the very room that was named.

    A door may be labelled by the room on its other side.
    """
    return len({(t.kind, t.room) for t in objects}) == 1 and (
        not room or same_room(objects[0].room, room) or not in_region(objects[0].room, room))


def with_rooms(objects: Sequence[Seen], values: Sequence[str]) -> str:
    """Return "the table lamp in the main bedroom is on; the ceiling lamp in the main bedroom is off"."""
    groups: dict[tuple[str, str], list[str]] = {}
    for obj, value in zip(objects, values, strict=True):
        groups.setdefault((value, obj.room), []).append(obj.kind)
    if len(groups) > _LISTED + 1:
        return numbers(values)
    alike = [(t.kind, t.room) for t in objects]
    return "; ".join(_group(kinds, value, room, {k: alike.count((k, room)) for k in kinds})
                     for (value, room), kinds in groups.items())


def _group(kinds: list[str], value: str, room: str, of: dict[str, int]) -> str:
    words = []
    for kind in dict.fromkeys(kinds):
        count = kinds.count(kind)
        name = kind if count == 1 else f"{number_word(count)} {plural(kind)}"
        the = "the " if count == of[kind] else "one " if count == 1 else ""
        words.append(f"{the}{name}")
    where = f" in the {room}" if room else ""
    return f"{join_list(words)}{where} {is_are(kinds[0], len(kinds))} {value}"


def numbers(values: Sequence[str]) -> str:
    """Return "three are on, one is off"."""
    counts = sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{number_word(n)} {'is' if n == 1 else 'are'} {value}" for value, n in counts)


def verdict(scene: LabelScene, ref: Thing, objects: Sequence[Seen], values: Sequence[str], fits: Sequence[bool],
            quantifier: str) -> RuleAnswer:
    """Return yes or no to a question that several objects fit: yes if any does, or as the question's quantifier wants.

    values: what each is; fits: whether that is as asked; quantifier: any | all | no | the ("are the windows closed?").
    """
    sure, promise = settled(scene, ref, objects)
    mixed = any(fits) and not all(fits)
    truth = {"all": all(fits), "no": not any(fits)}.get(quantifier, any(fits))
    said = "not all" if mixed and quantifier == "the" else "yes" if truth else "no"
    wanted = quantifier not in ("all", "the")  # what is told first, and what one object is enough to settle
    decisive = [t for t, fit in zip(objects, fits, strict=True) if fit == wanted]
    if mixed or not one_of_a_kind(ref.room, objects):
        said += f": {_proof(objects, values, [fit == wanted for fit in fits])}"
    if quantifier in ("any", "all", "no"):
        # whether there is another one only a look round tells
        sure = max(t.clarity for t in decisive) if decisive else sure * scene.overview(ref.room)
    return RuleAnswer(said, sure, tuple(decisive or objects)[:3], promise)


def _proof(objects: Sequence[Seen], values: Sequence[str], first: Sequence[bool]) -> str:
    """Return what all are, some of them first; of many only those, and how many are not so."""
    ranked = sorted(zip(objects, values, first, strict=True), key=lambda one: not one[2])
    groups = {(t.room, v) for t, v, _ in ranked}
    hits = [(t, v) for t, v, hit in ranked if hit]
    others = [v for _, v, hit in ranked if not hit]
    if len(groups) <= _LISTED + 1 or not hits or not others:
        return with_rooms([t for t, _, _ in ranked], [v for _, v, _ in ranked])
    return f"{with_rooms([t for t, _ in hits], [v for _, v in hits])}; {numbers(others)}"


def places(objects: Sequence[Seen], among: Sequence[Seen] = ()) -> str:
    """Return "the table lamp in the main bedroom and two windows in the study".

    among: what they are told from: "the red towel", where another towel in that room is not meant.
    """
    groups = Counter((t.room, _told_apart(t, objects, among)) for t in objects)
    said = [f"{f'the {name}' if n == 1 else counted(name, n)}" + (f" in the {room}" if room else "")
            for (room, name), n in sorted(groups.items())]
    return join_list([*said[:_NAMED], f"{len(said) - _NAMED} more"] if len(said) > _NAMED + 1 else said)


def _told_apart(obj: Seen, objects: Sequence[Seen], among: Sequence[Seen]) -> str:
    meant = {t.instance for t in objects}
    colour = obj.attributes.get("colour", "")
    rivals = [t for t in among if (t.kind, t.room) == (obj.kind, obj.room) and t.instance not in meant]
    tells = colour and rivals and all(t.attributes.get("colour") != colour for t in rivals)
    return f"{colour} {obj.kind}" if tells else obj.kind


def unlooked(thing: Thing) -> Thing:
    """Return a phrase without what it says of looks: "lit candle in the study" becomes "candle in the study"."""
    return thing._replace(state="", colour="", material="", size="", unlike=None)


def absent(scene: LabelScene, thing: Thing, said: str = "no") -> RuleAnswer | None:
    """Return that there is no such object, and what was looked at; None where that cannot be claimed.

    Claimed only of a kind that is known to exist, in rooms that were looked over, or on an object that was seen.
    """
    if (thing.use and thing.support is None) or (not thing.kinds and not _can_be_absent(scene, thing.kind or "thing")):
        return None
    if unlooked(thing) != thing and find(scene, unlooked(thing), every=True):
        return None  # such objects were seen, and how they look is not known
    if thing.support is not None and thing.support.kind not in SURFACES:
        base = the_one(scene, support_of(thing))
        if base is None or thing.relation not in ("on", "in", "under", "at"):
            return None
        return RuleAnswer(said, base[1] * surveyed(base[0]), (base[0],), 0.75 * base[1])
    seen = scene.overview(thing.room)
    if seen <= (_LOOKED if thing.room else _HALF) or scene.has_others(thing.room) or (thing.kinds and not thing.room):
        return None
    if thing.room and not all(map(scene.looked_round, scene.rooms(thing.room))):
        return None
    where = f"no {singular(thing.kind) if thing.kind else 'such thing'} was seen in the {len(scene.all_rooms())} rooms"
    if thing.room:
        where = f"nothing like that was seen in the {thing.room}, of which {100 * seen:.0f} % was in view"
    sure = 0.9 * seen * (_LISTED_USES if thing.kinds else 1.0)
    return RuleAnswer(f"{said}: {where}", sure, tuple(scene.in_room(thing.room)[:1]))


def none_so(scene: LabelScene, thing: Thing, said: str = "no") -> RuleAnswer | None:
    """Return that no object of the kind looks as the phrase says, by what those that were seen look like."""
    plain = unlooked(thing)
    if plain == thing or not (objects := find(scene, plain, every=True)):
        return None
    name = next((name for name in LOOKS if getattr(thing, name) or (thing.unlike and getattr(thing.unlike, name))), "")
    objects = [t for t in objects if t.attributes.get(name)] if name else objects
    if not objects:
        return None
    sure = scene.overview(thing.room) * min(t.clarity for t in objects)
    groups = with_rooms(objects, [t.attributes[name] for t in objects]) if name else ""
    return RuleAnswer(f"{said}: {groups}" if groups else said, sure, tuple(objects)[:3], 0.75 * sure)


def _can_be_absent(scene: LabelScene, kind: str) -> bool:
    """Return whether who looks round sees that there is no such thing.

    The vocabulary or a label must know its name, and it must be neither small nor of a sort that is kept behind doors.
    """
    name = singular(normalise(kind))
    if any(name == sort or in_group(name, sort) for sort in _BEHIND_DOORS):
        return False
    return kind == "thing" or name in known_names() - small_names() or any(
        canonical(t.kind) == canonical(name) for t in scene.objects)
