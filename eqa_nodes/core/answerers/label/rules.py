"""Rules for what a thing is like, where it is, what it is for and what it tells; RULES holds those of all forms."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.core.answerers.label.found import Found, both, clearest, surveyed, the_one, yes
from eqa_nodes.core.answerers.label.parse import Asked, Ref
from eqa_nodes.core.answerers.label.scene import Scene, Seen, extent
from eqa_nodes.core.answerers.label.spatial import SPATIAL
from eqa_nodes.core.answerers.label.tables import HINTS, SEATS, SIGNS, Purpose, purpose_of
from eqa_nodes.core.language import canonical

_COVERS = frozenset(("blanket", "duvet", "bedspread", "cover"))  # a bed's labelled colour is that of its blanket
_TWO_SLEEP_M = 1.17  # measured width of a bed for two
_SAME_STATE = {"opened": "open", "shut": "closed", "out": "off", "unlit": "off", "lit": "on", "running": "on"}
_OPPOSITES = ({"on", "off"}, {"open", "closed"}, {"made", "unmade"}, {"full", "empty"}, {"clean", "dirty"})
_DONE = {"turn on": "on", "switch on": "on", "turn off": "off", "switch off": "off", "close": "closed",
         "shut": "closed", "open": "open", "make": "made", "on": "on", "off": "off"}


def _colour(scene: Scene, asked: Asked) -> Found | None:
    ref = asked.refs[0]
    found = scene.find(ref) or (scene.find(Ref(ref.support, ref.room)) if ref.kind in _COVERS else [])
    colours = {t.attributes.get("colour", "") for t in found} - {""}
    if not colours:
        return None
    best = max((t for t in found if t.attributes.get("colour")), key=lambda t: (t.clarity, -t.instance))
    colour = best.attributes["colour"]
    text = next((option for option in asked.options if canonical(option) == canonical(colour)), colour)
    if asked.form == "colour?":
        text = yes(canonical(asked.options[0]) == canonical(colour))
    return Found(text, best.clarity * (1.0 if len(colours) == 1 else 0.6), (best,))


def _material(scene: Scene, asked: Asked) -> Found | None:
    one = the_one(scene, asked.refs[0])
    material = one[0].attributes.get("material") if one else None
    return Found(material, one[1], (one[0],)) if one and material else None


def _state_of(scene: Scene, asked: Asked) -> tuple[Seen, float, str] | None:
    one = the_one(scene, asked.refs[0])
    state = one[0].attributes.get("state") if one else None
    return (*one, state) if one and state else None


def _state(scene: Scene, asked: Asked) -> Found | None:
    got = _state_of(scene, asked)
    if got is None:
        return None
    thing, sure, state = got
    said = [option for option in asked.options if _base(option) == _base(state)]
    return Found(said[0] if said else state, sure, (thing,))


def _base(state: str) -> str:
    return _SAME_STATE.get(state, state)


def _state_is(wanted: Callable[[Asked], str]) -> Callable[[Scene, Asked], Found | None]:
    """Return a rule for yes/no questions: is the thing in the wanted state?"""

    def rule(scene: Scene, asked: Asked) -> Found | None:
        got = _state_of(scene, asked)
        if got is None:
            return None
        thing, sure, state = got
        pair = {_base(state), _base(wanted(asked))}
        if len(pair) == 2 and pair not in _OPPOSITES:
            return None  # "is the lamp open?"
        return Found(yes(len(pair) == 1), sure, (thing,))

    return rule


def place(thing: Seen) -> str:
    """Return where a thing is: "on the desk in the study"."""
    room = f" in the {thing.room}" if thing.room else ""
    support, relation = thing.attributes.get("support", ""), thing.attributes.get("relation", "floor")
    if relation == "wall" and support:
        return f"on the wall above the {support}{room}"
    if relation in ("on", "in", "under") and support:
        return f"{relation} the {support}{room}"
    fixed = {"wall": f"on the wall{room}", "ceiling": f"on the ceiling{room}"}
    return fixed.get(relation, room.strip() or "on the floor")


def _where(scene: Scene, asked: Asked) -> Found | None:
    one = the_one(scene, asked.refs[0])
    return Found(place(one[0]), one[1], (one[0],)) if one else None


def _room(scene: Scene, asked: Asked) -> Found | None:
    one = the_one(scene, asked.refs[0])
    return Found(f"the {one[0].room}", one[1], (one[0],)) if one and one[0].room else None


def _made_for(scene: Scene, purpose: Purpose, room: str) -> tuple[Seen, float] | None:
    """Return the most direct thing for a purpose that was seen in a room."""
    for kind in purpose.kinds:
        if one := the_one(scene, Ref(kind, room)):
            return one
    return None


def _use(scene: Scene, asked: Asked) -> Found | None:
    purpose = purpose_of(asked.purpose)
    one = _made_for(scene, purpose, asked.room) if purpose else None
    if purpose is None or one is None:
        return None
    thing, sure = one
    # A less direct thing may be a stopgap: the right one could be elsewhere.
    direct = canonical(thing.kind).endswith(canonical(purpose.kinds[0]))
    text = {"tool": f"the {thing.kind}", "which_room": f"the {thing.room}", "found": place(thing)}.get(
        asked.form, f"{purpose.preposition} the {thing.kind} in the {thing.room}")
    return Found(text, sure * (1.0 if direct else 0.8), (thing,))


def _look_of(scene: Scene, asked: Asked) -> Found | None:
    """Return the colour of the thing for a purpose."""
    purpose = purpose_of(asked.purpose)
    one = _made_for(scene, purpose, asked.room) if purpose else None
    colour = one[0].attributes.get("colour") if one else None
    return Found(colour, one[1], (one[0],)) if one and colour else None


def _sit_for(scene: Scene, asked: Asked) -> Found | None:
    screen = the_one(scene, asked.refs[0])
    room = screen[0].room if screen else "living room"  # where it is most likely, while it is not seen
    seat = next((t for kind in SEATS for t in scene.find(Ref(kind, room))), None)
    if seat is None:
        return None
    sure, things = (min(screen[1], seat.clarity), (seat, screen[0])) if screen else (0.5 * seat.clarity, (seat,))
    return Found(f"on the {seat.kind} in the {seat.room}", sure, things)


def _hint(scene: Scene, asked: Asked) -> Found | None:
    told = [(answer, t) for answer, kinds in HINTS[asked.purpose] for t in scene.things if t.kind in kinds]
    if not told:
        return None
    answer, thing = max(told, key=lambda pair: (pair[1].clarity, -pair[1].instance))
    return Found(answer, thing.clarity * (1.0 if len({answer for answer, _ in told}) == 1 else 0.6), (thing,))


def _sign(scene: Scene, asked: Asked) -> Found | None:
    told = [t for t in scene.things if t.kind in SIGNS[asked.purpose]]
    best = max(told, key=lambda t: (t.clarity, -t.instance), default=None)
    return Found("yes", best.clarity, (best,)) if best else None


def _bath(scene: Scene, asked: Asked) -> Found | None:
    tub, shower = the_one(scene, Ref("bathtub", asked.room)), the_one(scene, Ref("shower", asked.room))
    one = tub or shower
    return Found("a bath" if tub else "only a shower", one[1] * (1.0 if tub else 0.9), (one[0],)) if one else None


def _fits_two(scene: Scene, asked: Asked) -> Found | None:
    one = the_one(scene, asked.refs[0])
    if one is None:
        return None
    width = min(extent(one[0], (1.0, 0.0)), extent(one[0], (0.0, 1.0)))
    return Found(yes(width > _TWO_SLEEP_M), one[1] * surveyed(one[0]) / 0.9, (one[0],), 0.75 * one[1])


def _which_on(scene: Scene, asked: Asked) -> Found | None:
    """Return which of two things is in the state asked for: one, both or neither."""
    found = both(scene, asked.refs)
    if found is None or not all(t.attributes.get("state") for t in found[0]):
        return None
    things, sure = found
    fit = [t for t in things if _base(t.attributes["state"]) == _base(asked.options[0])]
    return Found(("neither", f"the {fit[0].kind}" if fit else "", "both")[len(fit)], sure, tuple(things))


def _wasting(scene: Scene, asked: Asked) -> Found | None:
    wasted = "running" if asked.purpose == "water" else "on"
    found = clearest([t for t in scene.in_room(asked.room) if t.attributes.get("state") == wasted])
    return found and found._replace(text=f"the {found.things[0].kind}")


def _wasted_in(scene: Scene, asked: Asked) -> Found | None:
    flows = asked.purpose == "water"
    taps = [t for t in scene.in_room(asked.room) if "running" in t.attributes.get("state", "")] if flows else [
        t for t in scene.in_room(asked.room) if t.attributes.get("state") == "on"]
    if taps:
        return Found("yes", max(t.clarity for t in taps), tuple(taps[:3]))
    seen = scene.coverage(asked.room)
    return Found("no", 0.9 * seen, tuple(scene.in_room(asked.room)[:1])) if seen > 0.8 else None


RULES: dict[str, Callable[[Scene, Asked], Found | None]] = {
    **SPATIAL, "colour": _colour, "colour?": _colour, "material": _material, "state": _state,
    "state?": _state_is(lambda asked: asked.options[0]), "did": _state_is(lambda asked: _DONE[asked.options[0]]),
    "wasted": _state_is(lambda asked: "on"), "stays_cold": _state_is(lambda asked: "closed"),
    "slept": _state_is(lambda asked: "unmade"), "filled": _state_is(lambda asked: "full"),
    "where": _where, "room": _room, "tool": _use, "place": _use, "which_room": _use, "sit_for": _sit_for, "hint": _hint,
    "sign": _sign, "bath": _bath, "fits_two": _fits_two, "wasted_in": _wasted_in, "wasting": _wasting,
    "which_on": _which_on, "look_of": _look_of, "found": _use,
}


def look_up(scene: Scene, asked: Asked) -> Found | None:
    """Return the answer that the scene gives, None when what is asked about is not in it."""
    rule = RULES.get(asked.form)
    return rule(scene, asked) if rule else None
