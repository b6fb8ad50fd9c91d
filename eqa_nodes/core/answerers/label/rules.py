"""Rules for attributes, places, uses and inferences; RULES maps every form of question to its rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from eqa_nodes.core.answerers.label.comparing import compare
from eqa_nodes.core.answerers.label.found import RuleAnswer, both, clearest, surveyed, the_one, yes
from eqa_nodes.core.answerers.label.measuring import MEASURING
from eqa_nodes.core.answerers.label.reading import written
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, extent
from eqa_nodes.core.answerers.label.several import one_of_a_kind, same_for_all, settled, sure_of, verdict, with_rooms
from eqa_nodes.core.answerers.label.spatial import SPATIAL, count, held, is_at
from eqa_nodes.core.language.english import canonical, join_list, number_word, plural
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.uses import HINTS, SEATS, SIGNS, Purpose, purpose_of

_COVERS = frozenset(("blanket", "duvet", "bedspread", "cover"))  # a bed's labelled colour is that of its blanket
_PLACES, _LISTED = 4, 6  # places of one name, and groups of objects, that are told before the rest is counted
_TWO_SLEEP_M = 1.17  # measured width of a bed for two
_SAME_STATE = {"opened": "open", "shut": "closed", "out": "off", "unlit": "off", "lit": "on", "running": "on"}
_OPPOSITES = ({"on", "off"}, {"open", "closed"}, {"made", "unmade"}, {"full", "empty"}, {"clean", "dirty"})


def _colour(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    ref = asked.things[0]
    found = scene.find(ref) or (scene.find(ref.support) if ref.kind in _COVERS and ref.support else [])
    colours = {t.attributes.get("colour", "") for t in found} - {""}
    if not colours:
        return None
    coloured = [t for t in found if t.attributes.get("colour")]
    if asked.form == "is":
        wanted = canonical(asked.predicates[0].colour)
        fits = [canonical(t.attributes["colour"]) == wanted for t in coloured]
        if len(coloured) > 1:
            return verdict(scene, ref, coloured, [t.attributes["colour"] for t in coloured], fits, ref.quantifier)
        return RuleAnswer(yes(fits[0]), coloured[0].clarity, (coloured[0],))
    return _each(scene, asked, "colour", coloured)


def _each(scene: LabelScene, asked: Query, attribute: str, objects: Sequence[Seen]) -> RuleAnswer | None:
    """Return what an attribute of an object is; of several that differ, of each."""
    ref, values = asked.things[0], [t.attributes[attribute] for t in objects]
    if not objects:
        return None
    sure, promise = (settled if attribute == "state" else sure_of)(scene, ref, objects)
    best = max(objects, key=lambda t: (t.clarity, -t.instance))
    if same_for_all([_base(value) for value in values]) and (
            attribute != "state" or not ref.room or one_of_a_kind(ref.room, objects)):
        said = best.attributes[attribute]
        options = [option.looks for option in asked.predicates if not asked.denied]
        option = [option for option in options if canonical(_base(option)) == canonical(_base(said))]
        sure = sure if len(objects) == 1 or scene.has_others(ref.room) else best.clarity
        return RuleAnswer(option[0] if option else said, sure, (best,), promise)
    return RuleAnswer(with_rooms(objects, values), sure, tuple(objects)[:3], promise)


def _material(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    return _each(scene, asked, "material", [t for t in scene.find(asked.things[0]) if t.attributes.get("material")])


def _state(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    return _each(scene, asked, "state", [t for t in scene.find(asked.things[0]) if t.attributes.get("state")])


def _is_in_state(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Answer whether objects are in a state: of several, yes if any is; "is it not on?" is answered with the state."""
    ref, wanted = asked.things[0], _base(asked.predicates[0].state)
    objects = [t for t in scene.find(ref) if (state := t.attributes.get("state")) and (
        _base(state) == wanted or {_base(state), wanted} in _OPPOSITES)]
    if asked.denied:
        return _each(scene, asked, "state", objects)
    if not objects:
        return None
    values = [t.attributes["state"] for t in objects]
    return verdict(scene, ref, objects, values, [_base(value) == wanted for value in values], ref.quantifier)


def _which_state(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which of the objects of a kind are in a state, and how many."""
    ref, wanted = asked.things[0]._replace(state=""), _base(asked.things[0].state)
    objects = [t for t in scene.find(ref) if t.attributes.get("state")]
    fit = [t for t in objects if _base(t.attributes["state"]) == wanted]
    if not objects:
        return None
    sure, promise = sure_of(scene, ref, objects)
    seen = scene.coverage(ref.room) if ref.room else 0.5
    text = str(len(fit)) if asked.form == "count" else places(fit) if fit else "none"
    return RuleAnswer(text, sure * seen, tuple(fit or objects)[:3], promise)


def places(objects: Sequence[Seen]) -> str:
    """Return "the table lamp in the main bedroom and two windows in the study"."""
    groups = Counter((t.room, t.kind) for t in objects)
    said = [f"{f'the {kind}' if n == 1 else f'{number_word(n)} {plural(kind)}'}" + (f" in the {room}" if room else "")
            for (room, kind), n in sorted(groups.items())]
    return join_list([*said[:_LISTED], f"{len(said) - _LISTED} more"] if len(said) > _LISTED + 1 else said)


def _several(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Answer several questions in one; as unsure as the least sure of them."""
    found = [look_up(scene, part) for part in asked.parts]
    got = [one for one in found if one is not None]
    if not got:
        return None
    texts = [f"{_subject(part)}: {one.text if one else 'not seen'}"
             for part, one in zip(asked.parts, found, strict=True)]
    shown = tuple({one.objects[0].instance: one.objects[0] for one in got}.values())
    least = min(one.confidence for one in got)
    promise = 0.75 * max(max(one.confidence, one.promise) for one in got)
    return RuleAnswer("; ".join(texts), least if len(got) == len(found) else 0.3 * least, shown, promise)


def _subject(part: Query) -> str:
    return next((name for thing in part.subjects if (name := thing.kind or thing.use)), part.form)


def _base(state: str) -> str:
    return _SAME_STATE.get(state, state)


def place(obj: Seen) -> str:
    """Return where an object is: "on the desk in the study"."""
    room = f" in the {obj.room}" if obj.room else ""
    support, relation = obj.attributes.get("support", ""), obj.attributes.get("relation", "floor")
    if relation == "wall" and support:
        return f"on the wall above the {support}{room}"
    if relation in ("on", "in", "under") and support:
        return f"{relation} the {support}{room}"
    fixed = {"wall": f"on the wall{room}", "ceiling": f"on the ceiling{room}"}
    return fixed.get(relation, room.strip() or "on the floor")


def _where(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    return _placed(scene, asked, place)


def _room(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    return _placed(scene, asked, lambda obj: f"the {obj.room}" if obj.room else "")


def _placed(scene: LabelScene, asked: Query, place_of: Callable[[Seen], str]) -> RuleAnswer | None:
    """Return where an object is; of several, where each is; where none is seen, where such objects are kept."""
    ref = asked.things[0]
    objects = scene.find(ref) or held(scene, ref)
    objects = sorted((t for t in objects if place_of(t)), key=lambda t: (-t.clarity, t.instance))
    if not objects:
        return None
    sure, promise = sure_of(scene, ref, objects)
    where = [(place_of(t) if canonical(t.kind).endswith(canonical(ref.kind)) or len(objects) == 1
              else f"{place_of(t)} (the {t.kind})") for t in objects]
    said = list(dict.fromkeys(where))
    if len(said) == 1:
        sure = sure if len(objects) == 1 or scene.has_others(ref.room) else objects[0].clarity
        return RuleAnswer(said[0], sure, (objects[0],), promise)
    if len(said) > _PLACES + 1:
        said = [*said[:_PLACES], f"and in {len(said) - _PLACES} other places"]
    text = "; ".join(said)
    return RuleAnswer(text, sure, tuple(objects)[:3], promise)


def _made_for(scene: LabelScene, purpose: Purpose, room: str) -> tuple[Seen, float] | None:
    """Return the most direct object for a purpose that was seen in a room."""
    for kind in purpose.kinds:
        if one := the_one(scene, Thing(kind, room)):
            return one
    return None


def _use(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    purpose, _ = purpose_of(asked.things[0].use)
    one = _made_for(scene, purpose, asked.things[0].room) if purpose else None
    if purpose is None or one is None:
        return None
    obj, sure = one
    # A less direct object may be a stopgap: the right one could be elsewhere.
    direct = canonical(obj.kind).endswith(canonical(purpose.kinds[0]))
    text = {"tool": f"the {obj.kind}", "room": f"the {obj.room}", "where": place(obj)}.get(
        asked.aspect, f"{purpose.preposition} the {obj.kind} in the {obj.room}")
    return RuleAnswer(text, sure * (1.0 if direct else 0.8), (obj,))


def _sit_for(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    screen = the_one(scene, asked.things[0])
    room = screen[0].room if screen else "living room"  # where it is most likely, while it is not seen
    seat = next((t for kind in SEATS for t in scene.find(Thing(kind, room))), None)
    if seat is None:
        return None
    sure, objects = (min(screen[1], seat.clarity), (seat, screen[0])) if screen else (0.5 * seat.clarity, (seat,))
    return RuleAnswer(f"on the {seat.kind} in the {seat.room}", sure, objects)


def _hint(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    hinted = [(answer, t) for answer, kinds in HINTS[asked.aspect] for t in scene.objects if t.kind in kinds]
    if not hinted:
        return None
    answer, obj = max(hinted, key=lambda pair: (pair[1].clarity, -pair[1].instance))
    return RuleAnswer(answer, obj.clarity * (1.0 if len({answer for answer, _ in hinted}) == 1 else 0.6), (obj,))


def _sign(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    signs = [t for t in scene.objects if t.kind in SIGNS[asked.aspect]]
    best = max(signs, key=lambda t: (t.clarity, -t.instance), default=None)
    return RuleAnswer("yes", best.clarity, (best,)) if best else None


def _bath(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    tub, shower = the_one(scene, Thing("bathtub", asked.things[0].room)), the_one(
        scene, Thing("shower", asked.things[0].room))
    one = tub or shower
    return RuleAnswer("a bath" if tub else "only a shower", one[1] * (1.0 if tub else 0.9), (one[0],)) if one else None


def _fits_two(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    one = the_one(scene, asked.things[0])
    if one is None:
        return None
    width = min(extent(one[0], (1.0, 0.0)), extent(one[0], (0.0, 1.0)))
    return RuleAnswer(yes(width > _TWO_SLEEP_M), one[1] * surveyed(one[0]) / 0.9, (one[0],), 0.75 * one[1])


def _which_on(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which of two objects is in the state asked for: one, both or neither."""
    found = both(scene, asked.predicates)
    if found is None or not all(t.attributes.get("state") for t in found[0]):
        return None
    objects, sure = found
    fit = [t for t in objects if _base(t.attributes["state"]) == _base(asked.things[0].state)]
    return RuleAnswer(("neither", f"the {fit[0].kind}" if fit else "", "both")[len(fit)], sure, tuple(objects))


def _wasting(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    wasted = "running" if asked.aspect == "water" else "on"
    found = clearest([t for t in scene.in_room(asked.things[0].room) if t.attributes.get("state") == wasted])
    return found and found._replace(text=f"the {found.objects[0].kind}")


def _wasted_in(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    flows, room = asked.aspect == "water", asked.things[0].room
    taps = [t for t in scene.in_room(room) if "running" in t.attributes.get("state", "")] if flows else [
        t for t in scene.in_room(room) if t.attributes.get("state") == "on"]
    if taps:
        return RuleAnswer("yes", max(t.clarity for t in taps), tuple(taps[:3]))
    seen = scene.coverage(room)
    return RuleAnswer("no", 0.9 * seen, tuple(scene.in_room(room)[:1])) if seen > 0.8 else None


def _is(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Answer whether an object is as a predicate says."""
    wanted = asked.predicates[0]
    if wanted.state:
        return _is_in_state(scene, asked)
    return _colour(scene, asked) if wanted.colour else is_at(scene, asked)


def _choice(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which of several looks an object has, or which of several objects look so."""
    first = asked.predicates[0]
    if first.kind:
        return _which_on(scene, asked)
    return _state(scene, asked) if first.state else _colour(scene, asked) if first.colour else _material(scene, asked)


def _counted(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    return (_which_state if asked.things[0].state else count)(scene, asked)


RULES: dict[str, Callable[[LabelScene, Query], RuleAnswer | None]] = {
    **SPATIAL, **MEASURING,
    "compare": compare, "colour": _colour, "material": _material, "state": _state, "is": _is, "choice": _choice,
    "which": _which_state, "count": _counted, "several": _several,
    "where": _where, "room": _room, "use": _use, "sit_for": _sit_for, "hint": _hint,
    "sign": _sign, "bath": _bath, "fits_two": _fits_two, "wasted_in": _wasted_in, "wasting": _wasting, "text": written,
}


def look_up(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return the answer that the scene gives, None when what is asked about is not in it."""
    rule = RULES.get(asked.form)
    return rule(scene, asked) if rule else None
