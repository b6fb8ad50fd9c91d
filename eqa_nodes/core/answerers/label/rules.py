"""Rules for each form of question; RULES maps every form to its rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from eqa_nodes.core.answerers.label.answers import (
    ONE_OF_SEVERAL,
    PROMISE,
    Rule,
    RuleAnswer,
    absent,
    clearest,
    counted,
    each_one,
    in_the,
    meant,
    none_so,
    of_one_kind,
    places,
    said_kinds,
    sure_of,
    surveyed,
    the_one,
    unlooked,
    with_looks,
    yes,
)
from eqa_nodes.core.answerers.label.comparing import compare
from eqa_nodes.core.answerers.label.evidence import is_doubtful
from eqa_nodes.core.answerers.label.finding import (
    HOLDS,
    LOOKS,
    OF_FURNITURE,
    SURFACES,
    base_state,
    bases_of,
    find,
    held,
    is_called,
    is_there,
    look_of,
    looks_so,
    off_line,
    placed,
    support_of,
)
from eqa_nodes.core.answerers.label.home import HOME, about_room, extreme_room, room_exists
from eqa_nodes.core.answerers.label.measuring import MEASURING
from eqa_nodes.core.answerers.label.reading import written
from eqa_nodes.core.answerers.label.scene import HALF, LabelScene, Seen, gap, likely
from eqa_nodes.core.language.english import canonical, join_list, normalise, with_article
from eqa_nodes.core.language.naming import members
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.rooms import is_room
from eqa_nodes.core.language.states import opposite
from eqa_nodes.core.language.uses import purpose_of

_COVERS = frozenset(("blanket", "duvet", "bedspread", "cover"))  # a bed's labelled colour is that of its blanket
_WHICH_ONE = 0.45  # maximum confidence in an answer about several objects if the question means one
_NUMBERED = ("exists", "count", "which", "compare", "enough", "more", "several")  # whose rules count by themselves
_ZERO = 0.8  # factor of the confidence that there are none: a question how many expects some
_MISSED = 0.5  # factor of the confidence that nothing is on an object, since a detector may have missed what is small
_PLACES = 4  # places of one name that are named before the rest is counted


# Whether there is any, how many, which.

def _exists(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Answer whether there is any such object, or as many as the question names."""
    thing = asked.things[0]
    there, not_there = ("no", "yes") if asked.denied != (thing.quantifier == "no") else ("yes", "no")
    thing = thing._replace(quantifier="")
    if is_room(thing.kind) and not thing.room:
        return room_exists(scene, thing, there, not_there)
    found = find(scene, thing, every=not thing.kinds)
    if found and thing.number > 1:
        return _as_many(scene, thing, found, there, not_there)
    if found and clearest(found).trust < HALF and (none := absent(scene, thing, not_there)):
        return none._replace(confidence=none.confidence * (1.0 - clearest(found).trust))
    if found:
        best = clearest(found)
        return RuleAnswer(": ".join(filter(None, (there, _proof(thing, found, best)))), best.clarity, (best,))
    if thing.kind and (holders := held(scene, thing)):
        return _left_in(holders, there, not_there)
    return none_so(scene, thing, not_there) or absent(scene, thing, not_there)


def _proof(thing: Thing, found: Sequence[Seen], best: Seen) -> str:
    """Return what there is, where the question does not name it; "" where it does."""
    if not thing.kind and not thing.kinds:
        return said_kinds(found)
    if thing.state or thing.unlike is not None or (unlooked(thing) != thing and not thing.room):
        return places(found)
    general = bool(members(thing.kind) or thing.kinds) and thing.support is None
    return f"{with_article(best.kind)}{in_the(best)}" if general else ""


def _as_many(scene: LabelScene, thing: Thing, found: Sequence[Seen], there: str, not_there: str) -> RuleAnswer:
    """Answer whether there are as many as a phrase says; that there are fewer needs a look round."""
    count, said = len(found), counted(found[0].kind, len(found))
    clear = sorted((t.clarity for t in found), reverse=True)
    if count < thing.number:
        sure = 0.95 * scene.overview(thing.room)
        return RuleAnswer(f"{not_there}: {said}", sure, tuple(found)[:3], PROMISE * clear[-1])
    text = there if count == thing.number else f"{there}: {said}"
    return RuleAnswer(text, clear[thing.number - 1], tuple(found)[:3])


def _left_in(holders: Sequence[Seen], there: str, not_there: str) -> RuleAnswer:
    """Answer whether there is any of what is kept in something, by whether that is empty."""
    best = max(holders, key=lambda t: (t.attributes.get("state") != "empty", t.clarity, -t.instance))
    state = best.attributes.get("state", "")
    if state == "empty":
        return RuleAnswer(f"{not_there}: {with_looks(holders, 'state')}", 0.8 * best.clarity, (best,))
    said = with_looks([best], "state") if state else f"the {best.kind}{in_the(best)}"
    return RuleAnswer(f"{there}: {said}", best.clarity * (1.0 if state else 0.8), (best,))


def _count(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return how many there are; none where the kind was seen and looks otherwise, or the place was looked over."""
    thing = asked.things[0].plain()
    found = find(scene, thing, every=True)
    if not found:
        if not thing.kind:
            return None
        none = absent(scene, thing, "0")  # a question how many expects some
        return none_so(scene, thing, "0") or (none and none._replace(confidence=_ZERO * none.confidence))
    sure, least = 0.95 * scene.overview(thing.room), min(t.clarity for t in found)
    if (bases := bases_of(scene, thing)) and thing.relation in HOLDS:
        sure = least * surveyed(bases[0])
    elif unlooked(thing) != thing:
        sure *= sure_of(scene, thing, found)[0]
    counted = likely(found)
    return RuleAnswer(str(len(counted)), sure * scene.counted(found), counted, PROMISE * least)


def _which(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which of the objects of a kind are as the phrase says; of rooms the largest or smallest."""
    thing = asked.things[0].plain()
    if thing.size and about_room(thing):
        return extreme_room(scene, thing)
    plain = Thing(thing.kind, thing.room, kinds=thing.kinds)
    found, among = find(scene, thing, every=True), find(scene, plain, every=True)
    if not found:
        return none_so(scene, thing, "none") if among else absent(scene, thing, "none")
    sure, promise = sure_of(scene, thing, found)
    return RuleAnswer(places(found, among), sure * scene.overview(thing.room), tuple(found)[:3], promise)


def _list(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return what fits, by kinds: of a sort, in a room, or what is on, above, beside or between others."""
    thing = placed(asked.things[0]).plain()
    found = find(scene, thing, every=True)
    if thing.support is None:
        known = scene.overview(thing.room) if thing.kind or thing.kinds else scene.coverage(thing.room) * surveyed(None)
        return _listed(found, None, known)
    if thing.support.kind in SURFACES:
        return _named(found)
    base = the_one(scene, support_of(thing))
    shown = (base[0],) if base else ()
    if thing.relation in OF_FURNITURE and not thing.kind and base is not None:
        return _nearest(scene, thing, found, base)
    if thing.relation == "above" and not thing.kind:
        kinds = {canonical(t.kind) for t in shown}
        return _named([t for t in found if canonical(t.attributes.get("support", "")) in kinds] or found, *shown)
    if thing.colour and not thing.kind:
        return _named(found)
    if not found and base is not None and thing.relation in HOLDS:
        sure = base[1] * surveyed(base[0]) * (_MISSED if is_doubtful(base[0].sighting) else 1.0)
        return RuleAnswer("nothing", 0.5 * sure, shown, PROMISE * base[1])
    return _listed(found, base[0] if base else None, surveyed(base[0] if base else None))


def _listed(objects: Sequence[Seen], base: Seen | None, known: float) -> RuleAnswer | None:
    """Return all objects by their kinds. known: how sure there are no others."""
    if not objects:
        return None
    least = min(t.clarity for t in objects)
    return RuleAnswer(said_kinds(objects), known * least, (*objects, *([base] if base else [])), PROMISE * least)


def _named(objects: Sequence[Seen], *shown: Seen) -> RuleAnswer | None:
    """Return the kind of the one object that is meant. shown: what else the evidence shows."""
    one = meant(objects)
    return one and RuleAnswer(with_article(one[0].kind), one[1], (one[0], *shown))


def _nearest(scene: LabelScene, thing: Thing, found: Sequence[Seen], base: tuple[Seen, float]) -> RuleAnswer | None:
    """Return the piece of furniture that is nearest in a direction, or most in the middle of two."""
    (seen, sure), objects = base, [t for t in found if t.room == base[0].room]
    if thing.relation == "next to":
        objects, sure = [t for t in scene.furniture(seen.room) if t.instance != seen.instance], 0.8 * sure
    between = thing.relation == "between"
    other = the_one(scene, support_of(thing._replace(room=seen.room), second=True)) if between else None
    if not objects or (between and other is None):
        return None
    best = min(objects, key=lambda t: (off_line(t, seen, other[0]) if other else gap(seen, t), t.instance))
    sure, shown = min(sure, best.clarity, other[1] if other else 1.0), (best, seen, *([other[0]] if other else []))
    return RuleAnswer(with_article(best.kind), sure, shown)


# How something is.

def _look(name: str, scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return state, colour or material of what is meant; of several that differ, of each."""
    thing = asked.things[0]
    found = find(scene, thing)
    if not found and name == "colour" and thing.kind in _COVERS and thing.support:
        found = find(scene, thing.support)
    return _each(scene, asked, name, [t for t in found if t.attributes.get(name)])


def _each(scene: LabelScene, asked: Query, name: str, objects: Sequence[Seen]) -> RuleAnswer | None:
    """Return how an object looks; of several that differ, each."""
    thing = asked.things[0]
    if not objects:
        return None
    sure, promise = sure_of(scene, thing, objects, name)
    alike = len({canonical(base_state(t.attributes[name], t.kind)) for t in objects}) == 1
    if not alike or (name == "state" and thing.room and not of_one_kind(thing.room, objects)):
        return RuleAnswer(with_looks(objects, name), sure, tuple(objects)[:3], promise)
    best = clearest(objects)
    said = best.attributes[name]
    options = [getattr(option, name) for option in asked.predicates if not asked.denied]
    said = next((option for option in options
                 if canonical(base_state(option, best.kind)) == canonical(base_state(said, best.kind))), said)
    sure = sure if len(objects) == 1 or scene.has_others(thing.room) else best.clarity
    return RuleAnswer(said, sure, (best,), promise)


def _is(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Answer whether what is meant is as a predicate says; "is it not on?" is answered with the state."""
    thing, wanted = asked.things[0], asked.predicates[0]
    name = look_of(wanted)
    if not name and wanted.kind:
        one = the_one(scene, thing)
        return one and RuleAnswer(yes(is_called(one[0].kind, wanted.kind)), one[1], (one[0],))
    if not name:
        return _is_at(scene, asked)
    objects = [t for t in find(scene, thing, thing.quantifier != "") if (own := t.attributes.get(name)) and (
        name != "state" or _is_so(t, wanted) or opposite(base_state(wanted.state, t.kind), t.kind) == own)]
    if not objects:
        return None
    return _each(scene, asked, name, objects) if asked.denied and name == "state" else _are(scene, asked, name, objects)


def _is_so(obj: Seen, wanted: Thing) -> bool:
    """Return whether an object looks as asked; a word of state means what it means of its kind: a lit lamp is on."""
    return looks_so(obj, wanted._replace(kind=obj.kind))


def _are(scene: LabelScene, asked: Query, name: str, objects: Sequence[Seen]) -> RuleAnswer:
    """Answer yes if any of several objects is as asked, or as the question's quantifier wants: all, no, or the windows.

    The objects that settle the answer are named first; that there are no such objects needs a look round.
    """
    thing, quantifier = asked.things[0], asked.things[0].quantifier
    fit = [t for t in objects if _is_so(t, asked.predicates[0])]
    others = [t for t in objects if t not in fit]
    truth = {"all": not others, "no": not fit}.get(quantifier, bool(fit))
    said = "not all" if fit and others and quantifier == "the" else yes(truth != asked.denied)
    decisive, rest = (others, fit) if quantifier in ("all", "the") else (fit, others)
    if (fit and others) or not of_one_kind(thing.room, objects):
        said += f": {with_looks(decisive, name, rest)}"
    elif name != "state" and len(others) == 1:
        said += f": {others[0].attributes[name]}"
    sure, promise = sure_of(scene, thing, objects, "state")
    if quantifier in ("any", "all", "no"):
        sure = clearest(decisive).clarity if decisive else sure * scene.overview(thing.room)
    return RuleAnswer(said, sure, tuple(decisive or objects)[:3], promise)


def _is_at(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Answer whether an object is in a room, or on, in, next to, ... another object; where it is, if not."""
    thing, at = asked.things[0], asked.predicates[0]
    anywhere = find(scene, thing)
    bases = bases_of(scene, at if at.room else at._replace(room=thing.room))
    if not anywhere or (at.support is not None and not bases and at.relation not in HOLDS):
        return None
    there = [t for t in anywhere if is_there(scene, t, at, bases)]
    objects = there or anywhere
    best = clearest(objects)
    if at.relation not in (*HOLDS, "") and bases:
        base = clearest(bases)
        alone = 1.0 if len(objects) == 1 and len(bases) == 1 else ONE_OF_SEVERAL
        return RuleAnswer(yes(bool(there) != asked.denied), min(best.clarity, base.clarity) * alone, (best, base))
    if there:
        return RuleAnswer(yes(not asked.denied), best.clarity, tuple(there)[:3])
    where = _support(best)
    sure = best.clarity * (1.0 if len(anywhere) == 1 else ONE_OF_SEVERAL)
    return RuleAnswer(f"{yes(asked.denied)}, the {best.kind} is{where and ' ' + where}{in_the(best)}", sure, (best,))


def _choice(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which of several looks or places an object has, or which of several objects look as asked."""
    first, thing = asked.predicates[0], asked.things[0]
    if first.kind:
        return _which_of(scene, asked)
    if name := look_of(first):
        return _look(name, scene, asked)
    one = the_one(scene, thing)
    fit = [option for option in asked.predicates if one and is_there(scene, one[0], option, bases_of(scene, option))]
    return RuleAnswer(fit[0].looks, one[1], (one[0],)) if one and len(fit) == 1 else None


def _which_of(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return which of two objects is in the state asked for: one, both or neither."""
    found = each_one(scene, asked.predicates)
    if found is None or not all(t.attributes.get("state") for t in found[0]):
        return None
    objects, sure = found
    fit = [t for t in objects if looks_so(t, asked.things[0])]
    texts = {0: "neither" if len(objects) == 2 else "none", len(objects): "both" if len(objects) == 2 else "all"}
    return RuleAnswer(texts.get(len(fit), join_list([f"the {t.kind}" for t in fit])), sure, tuple(objects))


# Where something is.

def _support(obj: Seen) -> str:
    """Return what a label says that an object is on, in or under: "on the desk"; "" where it says nothing."""
    support, relation = obj.attributes.get("support", ""), obj.attributes.get("relation", "")
    return f"{relation} the {support}" if support and relation in HOLDS else ""


def place(obj: Seen) -> str:
    """Return where an object is: "on the desk in the study"."""
    support, relation = obj.attributes.get("support", ""), obj.relation
    above = f"on the wall above the {support}" if relation == "wall" and support else ""
    fixed = f"on the {relation}" if relation in ("wall", "ceiling") else ""
    return f"{above or _support(obj) or fixed}{in_the(obj)}".strip() or ("on the floor" if relation == "floor" else "")


def _room(obj: Seen) -> str:
    return f"the {obj.room}" if obj.room else ""


def _placed(place_of: Callable[[Seen], str], scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return where an object is; of several, each; where none is seen, where such are kept."""
    thing = asked.things[0]
    objects = find(scene, thing) or (held(scene, thing) if thing.kind else [])
    objects = sorted((t for t in objects if place_of(t)), key=lambda t: (-t.clarity, t.instance))
    if not objects:
        return None
    sure, promise = sure_of(scene, thing, objects)
    said = list(dict.fromkeys(
        place_of(t) if canonical(t.kind).endswith(canonical(thing.kind)) or len(objects) == 1
        else f"{place_of(t)} (the {t.kind})" for t in objects))
    if len(said) == 1:
        sure = sure if len(objects) == 1 or scene.has_others(thing.room) else objects[0].clarity
        return RuleAnswer(said[0], sure, (objects[0],), promise)
    if len(said) > _PLACES + 1:
        said = [*said[:_PLACES], f"and in {len(said) - _PLACES} other places"]
    return RuleAnswer("; ".join(said), sure, tuple(objects)[:3], promise)


def _use(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return what serves a purpose, or where that is: the most direct object that was seen."""
    thing = asked.things[0]
    one = the_one(scene, thing) if thing.kinds else None
    if one is None:
        return None
    obj, sure = one
    purpose, _ = purpose_of(thing.use)
    # A less direct object may be a substitute: the right one could be elsewhere.
    direct = canonical(obj.kind).endswith(canonical(thing.kinds[0]))
    text = {"tool": f"the {obj.kind}", "room": f"the {obj.room}", "where": place(obj)}.get(
        asked.aspect, f"{purpose.preposition if purpose else 'at'} the {obj.kind} in the {obj.room}")
    return RuleAnswer(text, sure * (1.0 if direct else 0.8), (obj,)) if text else None  # its place may not be known


# Several questions in one.

def _several(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Answer several questions in one; as unsure as the least sure of them."""
    found = [one if one and not one.open else None for one in (look_up(scene, part) for part in asked.parts)]
    got = [one for one in found if one is not None]
    if not got:
        return None
    subjects = [next((name for t in part.subjects if (name := t.kind or t.use)), part.form) for part in asked.parts]
    text = "; ".join(f"{subject}: {_part(part, one) if one else 'not seen'}"
                     for subject, part, one in zip(subjects, asked.parts, found, strict=True))
    shown = tuple({one.objects[0].instance: one.objects[0] for one in got if one.objects}.values())
    sure = min(one.confidence for one in got) * (1.0 if len(got) == len(found) else 0.3)
    return RuleAnswer(text, sure, shown, PROMISE * max(max(one.confidence, one.promise) for one in got))


def _part(part: Query, found: RuleAnswer) -> str:
    """Return the answer to one of several questions: of whether one object is on or off, which of them it is."""
    if part.form == "is" and part.predicates[0].state and len(found.objects) == 1 and found.text in ("yes", "no"):
        return found.objects[0].attributes.get("state", found.text)
    return found.text


RULES: dict[str, Rule] = {
    **HOME, **MEASURING, "exists": _exists, "count": _count, "which": _which, "list": _list, "is": _is,
    **{name: partial(_look, name) for name in LOOKS}, "choice": _choice, "text": written,
    "where": partial(_placed, place), "room": partial(_placed, _room), "use": _use,
    "compare": compare, "several": _several,
}


def look_up(scene: LabelScene, asked: Query) -> RuleAnswer | None:
    """Return the answer that the scene gives, None when what is asked about is not in it."""
    rule = RULES.get(asked.form)
    found = rule(scene, asked) if rule else None
    if found is None or found.open:
        return found
    unclear = any(_is_unclear(scene, asked.form, thing, found.objects) for thing in asked.things)
    return found._replace(confidence=min(found.confidence, _WHICH_ONE)) if unclear else found


def _is_unclear(scene: LabelScene, form: str, thing: Thing, objects: Sequence[Seen]) -> bool:
    """Return whether it is unclear what a phrase means: "it" of several, "both" of three, a chair for a high chair."""
    if form not in _NUMBERED and ((thing.quantifier == "that" and len(objects) > 1) or (
            thing.number > 1 and len(find(scene, thing, every=True)) != thing.number)):
        return True
    named = [t for t in objects if thing.kind.endswith(f" {normalise(t.kind)}")]
    return bool(named) and not any(is_called(t.kind, thing.kind) for t in objects)
