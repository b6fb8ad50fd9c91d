"""Answers questions over several patrols from the ledger, each with its number of looks and what was not looked at."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from eqa_nodes.core.language.english import canonical, join_list, number_word
from eqa_nodes.core.language.query import Thing
from eqa_nodes.core.memory.believed import by_name, newest_of, thing_histories
from eqa_nodes.core.memory.habit_questions import HabitQuestion
from eqa_nodes.core.memory.in_words import name_of, place_of, spell_place
from eqa_nodes.core.memory.ledger import PEOPLE, RoomLooks
from eqa_nodes.core.memory.matching import fitting_objects, views_of
from eqa_nodes.core.memory.observations import Observation, observations, within
from eqa_nodes.core.memory.reading import MemoryReader
from eqa_nodes.core.memory.sureness import mean_sureness, sureness
from eqa_nodes.core.memory.times import short_time
from eqa_nodes.core.types.questions import MAX_EVIDENCE, Evidence, MemoryObject, Recollection

LEAST_LOOKS = 3  # fewer looks are no habit
_SURE, _GUESS, _UNKNOWN = 0.95, 0.9, 0.0  # confidence of what was seen, at most of a guess, and of what is not known
_ONE_PATROL = 0.8  # confidence that a thing is gone where one patrol alone says so
_BESIDE = 3  # patrols on either side of one that alone says otherwise
_MOST_DAYS, _MOST_THINGS = 7, 12  # that are named
_Answer = tuple[str, Sequence[Observation] | float]  # text, and the patrols that decide it or its confidence
_COUNTED = ("usual", "often", "days", "next")  # forms that count patrols
_EVERY = re.compile("every|each|always")


def over_weeks(store: MemoryReader, asked: HabitQuestion, now_ns: int) -> Recollection | None:
    """Return memory's answer to a question over weeks; None where it knows no such thing."""
    if asked.form == "named":
        return Recollection("I do not know people by their names: ask how often or when anyone was in a room", _UNKNOWN,
                            ())
    if asked.form in ("people", "missing"):
        return (_people if asked.form == "people" else _missing)(store, asked, now_ns)
    thing = asked.asked.things[0] if asked.asked.things else Thing()
    name = " ".join(filter(None, (thing.colour, thing.kind)))
    objects = store.established([o for o in fitting_objects(store, name)[0] if o.here]) if name else []
    if asked.form == "doer":
        changed = _moved(asked, observations(store, asked.asked, objects), now_ns)[0] if objects else ""
        seen = f"; it was {changed.partition(': ')[2]}" if changed.startswith("yes") else ""
        return Recollection(f"I see what has changed, and not who changed it{seen}", _UNKNOWN, ())
    if not objects and canonical(thing.kind) not in PEOPLE:
        return None
    if asked.form == "first":
        return _first(store, objects, now_ns)
    every = observations(store, asked.asked, objects)
    if all(look.value is None for look in every):
        return None  # it was never seen there, or its state is not known
    looks = [look for look in every if within(look.patrol, asked.times)]
    if asked.form == "moved" and looks:  # beside where it was before that time
        looks = [*[look for look in every[:every.index(looks[0])] if look.value][-1:], *looks]
    text, decisive = _ANSWERS[asked.form](asked, looks, now_ns)
    sure = decisive if isinstance(decisive, float) else sureness(every, decisive)
    if asked.form in _COUNTED and sure:
        sure = min(sure, mean_sureness(every, [look for look in looks if look.value is not None]))
    return Recollection(text, sure, _proof(store, objects, looks, text), asked.form == "still")


def _first(store: MemoryReader, objects: Sequence[MemoryObject], now_ns: int) -> Recollection:
    """Return when and where a thing was seen first."""
    seen = [(spell.first_ns, same, spell) for same in thing_histories(store, objects) for one in same.patrols
            for spell in one.spells]
    if seen:
        first_ns, same, spell = min(seen, key=lambda item: item[0])
        o = next((o for o in same.objects if o.first_ns == first_ns), same.objects[0])
        text = ", ".join(filter(None, (short_time(first_ns, now_ns), spell_place(spell))))
    else:  # the looks are forgotten
        o = min(objects, key=lambda o: (o.first_ns, o.id))
        text = short_time(o.first_ns, now_ns)
    return Recollection(text, _SURE, views_of(store, [o.keyframe_id], text))


def _unit(asked: HabitQuestion, count: int) -> str:
    part = asked.times.recurring.part if asked.times.recurring is not None else ""
    name = part if part in ("morning", "afternoon", "evening", "night") else "patrol"
    return name if count == 1 else f"{name}s"


def _day(look: Observation) -> str:
    then = datetime.fromtimestamp(look.at_ns / 1e9)
    return f"{then:%a} {then.day} {then:%B}"


def _days(looks: Iterable[Observation]) -> str:
    """Return the days of looks in words, about a week of them."""
    days = list(dict.fromkeys(map(_day, looks)))
    return join_list(days if len(days) <= _MOST_DAYS + 1 else [*days[:_MOST_DAYS], f"{len(days) - _MOST_DAYS} more"])


def _unseen(asked: HabitQuestion, looks: Sequence[Observation]) -> str:
    missing = sum(look.value is None for look in looks)
    return f"; I did not look on {number_word(missing)} {_unit(asked, missing)}" if missing else ""


def _usual(asked: HabitQuestion, looks: Sequence[Observation], now_ns: int) -> _Answer:
    known = [look for look in looks if look.value is not None]
    if len(known) < LEAST_LOOKS:
        return (f"that is no habit yet: I looked on only {number_word(len(known)) if known else 'none'} of "
                f"{len(looks)} {_unit(asked, len(looks))}"), _UNKNOWN
    if asked.asked.form not in ("where", "room"):
        return _usually_so(asked, known) + _unseen(asked, looks), ()
    (best, count), *_ = Counter(look.value for look in known).most_common()
    others = [look for look in known if look.value != best]
    said = best or "not where it had been seen before"
    usual = said if count > len(known) / 2 else f"no usual place: most often {said}"
    rest = f"; {_otherwise(others)}" if others else ""
    return f"{usual}, {count} of {len(known)} {_unit(asked, len(known))}{rest}{_unseen(asked, looks)}", ()


def _usually_so(asked: HabitQuestion, known: Sequence[Observation]) -> str:
    """Return whether it is usually so (every time, where the question says so), with the days of the smaller number."""
    true, false = ([look for look in known if look.value == value] for value in ("yes", "no"))
    of = f"of {len(known)} {_unit(asked, len(known))}"
    every = asked.times.recurring is not None and _EVERY.match(asked.times.recurring.phrase)
    if len(true) > len(false):
        said = "no, but" if every and false else "yes,"
        return f"{said} on {len(true)} {of}" + (f"; not on {_days(false)}" if false else "")
    return f"no: on {len(true) or 'none'} {of}" + (f" ({_days(true)})" if true else "")


def _otherwise(others: Sequence[Observation]) -> str:
    """Return where else it was, and on which days."""
    groups = Counter(look.value for look in others)
    return "; ".join(f"{value or 'not seen there'} on {_days(o for o in others if o.value == value)}"
                     for value, _ in groups.most_common(2))


def _often(asked: HabitQuestion, looks: Sequence[Observation], now_ns: int) -> _Answer:
    """Return on how many patrols it was so, and on which days."""
    known = [look for look in looks if look.value is not None]
    true = [look for look in known if look.value == "yes"]
    if not known:
        return f"I did not look{' then' if asked.times.window is not None else ''}", _UNKNOWN
    if asked.form == "days":
        text = _days(true) if true else f"on none of the {len(known)} {_unit(asked, len(known))} that looked"
        return text + _unseen(asked, looks), ()
    on = f": {_days(true)}" if true else ""
    return f"on {len(true)} of {len(known)} {_unit(asked, len(known))}{on}{_unseen(asked, looks)}", ()


def _then(asked: HabitQuestion, looks: Sequence[Observation], now_ns: int) -> _Answer:
    """Return whether it was so at a time: at each look, where they differ."""
    known = [look for look in looks if look.value is not None]
    if not known:
        return "I did not look then", _UNKNOWN
    if len({look.value for look in known}) == 1:
        return f"{known[0].value}, {short_time(known[-1].at_ns, now_ns)}", known[-1:]
    return "; ".join(f"{look.value} {short_time(look.at_ns, now_ns)}" for look in known[-_MOST_DAYS:]), known[-2:]


def _now(asked: HabitQuestion, looks: Sequence[Observation], now_ns: int) -> _Answer:
    """Return what the newest look saw; of a thing that is gone, where it was before; of people, that they move."""
    known = [look for look in looks if look.value is not None]
    last = f"when I looked last, {short_time(known[-1].at_ns, now_ns)}"
    if canonical(asked.asked.things[0].kind) in PEOPLE:
        seen = "somebody" if known[-1].value == "yes" else "nobody"
        return f"I do not know who is there now: {seen} was in view {last}", _UNKNOWN
    if known[-1].value:
        return f"{known[-1].value}, {last}", known[-1:]
    before = next((look for look in reversed(known) if look.value), None)
    where = f": it was {before.value} until {short_time(before.at_ns, now_ns)}" if before is not None else ""
    return f"not where it had been seen before, {last}{where}", known[-1:]


def _still(asked: HabitQuestion, looks: Sequence[Observation], now_ns: int) -> _Answer:
    known = [look for look in looks if look.value is not None]
    if known and known[-1].value == "yes":
        return f"yes, when I looked last, {short_time(known[-1].at_ns, now_ns)}", known[-1:]
    if known:
        said, _ = _since(asked, looks, now_ns)
        return f"no: {said}", known[-1:]
    return _since(asked, looks, now_ns)


def _moved(asked: HabitQuestion, looks: Sequence[Observation], now_ns: int) -> _Answer:
    """Return from where to where a thing was moved, each time between two looks."""
    known = [look for look in looks if look.value]
    moves = [(a, b) for a, b in pairwise(known) if a.value != b.value]
    if not known:
        return "I have not seen it since", _UNKNOWN
    if not moves:
        return f"no: it was {known[-1].value} each of the {len(known)} times that I saw it", known[-1:]
    said = "; ".join(f"{a.value} until {short_time(a.at_ns, now_ns)}, {b.value} from {short_time(b.at_ns, now_ns)} on"
                     for a, b in moves[-2:])
    count = f"yes, {len(moves)} times, the last ones: " if len(moves) > 2 else "yes: "
    return count + said, moves[-1]


def _missing(store: MemoryReader, asked: HabitQuestion, now_ns: int) -> Recollection:
    """Return what was seen, is gone from its place, and was not seen anywhere else since; what is surest first."""
    gone = list[tuple[bool, MemoryObject]]()
    newest_ns = max((patrol.first_ns for patrol in store.patrols()), default=0)
    objects = store.established([o for o in store.objects() if o.here])
    there = {canonical(name_of(o)) for o in objects if not o.gone_ns and o.last_ns >= newest_ns}
    for things in by_name(store, [o for o in objects if canonical(name_of(o)) not in there]).values():
        last = None if any(same.there() for same in things) else newest_of(store, things)
        if last is not None and last.gone_ns:
            away = max((len(same.away) for same in things if any(o.id == last.id for o in same.objects)), default=0)
            gone.append((away < 2, last))
    if not gone:
        return Recollection("nothing that I have seen", _SURE, ())
    said = [o for _, o in sorted(gone, key=lambda item: (item[0], -item[1].gone_ns))[:_MOST_THINGS]]
    text = [f"the {name_of(o)}: {place_of(o)} until {short_time(o.last_ns, now_ns)}, gone "
            f"{short_time(o.gone_ns, now_ns)}" for o in said]
    sure = _SURE if not any(unsure for unsure, _ in gone) else _ONE_PATROL
    return Recollection("; ".join(text), sure, views_of(store, [o.keyframe_id for o in said], "missing"))


def _since(asked: HabitQuestion, looks: Sequence[Observation], now_ns: int) -> _Answer:
    """Return between which two looks it began: the last one before that was otherwise, and the first one since.

    One look alone ends no run: neither the last of several of the newest patrol, nor the only one of a patrol within.
    """
    known = [look for look in looks if look.value is not None]
    if not known:
        return "I have not looked", _UNKNOWN
    but = known[-1].value != "yes" and known[-1].looks == 1 < known[-1].against
    if known[-1].value != "yes" and not but:
        so = [look for look in known if look.value == "yes"]
        seen = f"; it was so last {short_time(so[-1].at_ns, now_ns)}" if so else ""
        return f"it was not so when I looked last, {short_time(known[-1].at_ns, now_ns)}{seen}", known[-1:]
    run = _run(known)
    first, before = known[-run], known[-run - 1] if run < len(known) else None
    begin = short_time(first.at_ns, now_ns)
    if before is None:
        text = f"since before I looked first, {begin}"
    else:
        text = f"since between {short_time(before.at_ns, now_ns)} and {begin}"
    if asked.form == "long":
        least = _span(now_ns - first.at_ns)
        text = f"for at least {least}: {text}" if before is None else (
            f"for {least} to {_span(now_ns - before.at_ns)}: {text}")
    last = "" if run == 1 else f"; seen so {short_time(known[-1].at_ns, now_ns)} the last time"
    if but:
        last = f"; only my last look, {short_time(known[-1].at_ns, now_ns)}, says otherwise"
    return text + last, [first, *([before] if before is not None else []), *(known[-1:] if but else [])]


def _run(known: Sequence[Observation]) -> int:
    """Return the number of the newest patrols on which it was so, with those of which one look alone says otherwise."""
    run = 1
    while run < len(known):
        if known[-run - 1].value != "yes" and not (known[-run - 1].is_lone and run >= _BESIDE and len(
                known) > run + _BESIDE and all(look.value == "yes" for look in known[-run - 1 - _BESIDE:-run - 1])):
            break
        run += 1
    return run


def _span(ns: int) -> str:
    hours = ns / 3600e9
    if hours < 48:
        return f"{hours:.0f} hour{'' if round(hours) == 1 else 's'}"
    return f"{hours / 24:.0f} days"


def _next(asked: HabitQuestion, looks: Sequence[Observation], now_ns: int) -> _Answer:
    """Return what is likely by how often it was so, marked as a guess."""
    known = [look for look in looks if look.value is not None]
    if len(known) < LEAST_LOOKS:
        return _usual(asked, looks, now_ns)
    (best, count), *_ = Counter(look.value for look in known).most_common()
    place = asked.asked.form in ("where", "room")
    said = best if best or not place else "not where it had been seen before"
    text = f"probably {said}: so on {count} of {len(known)} {_unit(asked, len(known))} (a guess from what I saw)"
    return text, float(min(_GUESS, count / len(known)))


def _people(store: MemoryReader, asked: HabitQuestion, now_ns: int) -> Recollection | None:
    """Return how many people were in view in a room, and when; never who they are."""
    room = asked.asked.rooms[0]
    looked = [row for row in store.room_history(room)
              if isinstance(row, RoomLooks) and within(row.patrol, asked.times)]
    if not looked:
        return Recollection(f"I did not look into the {room} then", _UNKNOWN, ())
    there = [row for row in looked if row.people]
    if not there:
        last = short_time(looked[-1].last_ns, now_ns)
        return Recollection(f"nobody was in view on {len(looked)} patrol{'s' * (len(looked) > 1)}; the last was {last}",
                            _SURE, ())
    said = [f"{number_word(row.people)} {'person' if row.people == 1 else 'people'} {short_time(row.first_ns, now_ns)}"
            for row in there[-_MOST_DAYS:]]
    return Recollection(f"{join_list(said)} in the {room}; I do not know who", _SURE, ())


def _proof(store: MemoryReader, objects: Sequence[MemoryObject], looks: Sequence[Observation], text: str
           ) -> tuple[Evidence, ...]:
    """Return views of the newest looks, and of the newest one that says otherwise."""
    known = [look for look in looks if look.value is not None]
    if not known:
        return ()
    other = next((look for look in reversed(known) if look.value != known[-1].value), None)
    wanted = [known[-1], *([other] if other is not None else []), *reversed(known[:-1])]
    views = store.views_showing(objects)
    stamps = [stamp_ns for stamp_ns, _ in views]
    newest = [bisect_right(stamps, look.patrol.last_ns) - 1 for look in wanted]
    ids = [views[i][1] for i, look in zip(newest, wanted, strict=True) if i >= 0 and stamps[i] >= look.patrol.first_ns]
    return views_of(store, ids[:MAX_EVIDENCE], text)


_ANSWERS = {"usual": _usual, "often": _often, "days": _often, "then": _then, "now": _now, "since": _since,
            "long": _since, "still": _still, "moved": _moved, "next": _next}
