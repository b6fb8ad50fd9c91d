"""Questions over weeks, answered from the ledger: what is usual, how often, since when, what is missing or comes next.

Each patrol that looked is one observation. A patrol that did not look counts for nothing, and is said to be missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical, join_list, number_word
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.states import state_of
from eqa_nodes.core.language.time_words import WEEKDAYS
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.memory.changes import name_of, place_of
from eqa_nodes.core.memory.days import PARTS
from eqa_nodes.core.memory.ledger import NOT_LOOKED, SEEN, ObjectSpell, PatrolSpan, RoomLooks
from eqa_nodes.core.memory.matching import fitting_objects, spell_place, views_of
from eqa_nodes.core.memory.reading import MemoryReader
from eqa_nodes.core.memory.times import Recurring, TimesInText, short_time, times_asked
from eqa_nodes.core.types.questions import MAX_EVIDENCE, Evidence, MemoryObject, Recollection

LEAST_LOOKS = 3  # fewer looks are no habit
_SURE, _GUESS, _MOST_DAYS = 0.95, 0.9, 7  # confidence of what was seen, and at most of a guess; days that are named
_BE = r"(?:is|are|was|were|has|have|had|did|does|do)"
_CUES = tuple((form, re.compile(cue)) for form, cue in (
    ("often", r"^how (?:often|many times) (?P<rest>.+)$"),
    ("days", r"^(?:on )?(?:which|what) (?:days?|dates?|(?P<part>morning|afternoon|evening|night)s?)"
             r"(?: of the week)? (?P<rest>.+)$"),
    ("since", rf"^since when (?P<rest>{_BE} .+)$"),
    ("long", rf"^(?:for )?how long (?P<rest>{_BE} .+)$"),
    ("first", r"^when (?:did|have|was|were) (?:(?:you|we|i|anyone) )?first (?:see|saw|seen|notice) (?P<rest>.+)$"),
    ("first", r"^when (?:did|have) (?:you|we|i|anyone) (?:see|seen) (?P<rest>.+) (?:first|for the first time)$"),
    ("first", r"^when (?:was|were) (?P<rest>.+) first seen$"),
    ("moved", r"^(?:has|have|was|were|did) (?P<rest>.+?) (?:been )?(?:moved?|changed? (?:its |their )?places?)$"),
    ("missing", r"^what(?: is| has gone)? (?P<rest>missing|gone)$"),
    ("still", rf"^(?P<rest>{_BE} .+? still .+)$"),
    ("next", r"^(?P<rest>(?:where|which room|in which room) will .+)$"),
    ("next", r"^(?P<rest>will .+ be .+)$"),
    ("people", r"^(?:who|(?:was|were)(?: there)? (?:any(?:one|body)|some(?:one|body)|people)) (?:was |were )?"
               r"(?P<rest>in .+)$")))
_USUALLY = re.compile(r"\b(?:usually|normally|generally|typically|mostly|most often|as a rule|always)\b ?")
_EVERY = re.compile("every|each|always")
_GONE = re.compile(r"^(?:is|are|has|have) (?P<thing>.+?) (?:been )?(?:gone|missing|away)$")
_FORMS = ("where", "room", "is", "exists")  # forms of questions that one patrol can answer


class HabitQuestion(NamedTuple):
    """A question over several patrols. asked: what is asked of each of them, as of the present.

    form: usual | often | days | then | now | since | long | still | moved | missing | first | next | people; times:
    which patrols count.
    """

    form: str
    asked: Query
    times: TimesInText


class _Looked(NamedTuple):
    """What one patrol says to a question. value: a place, "yes", "no", "" = it was not where it had been.

    None: it did not look. at_ns: stamp of the look that counts.
    """

    patrol: PatrolSpan
    value: str | None
    at_ns: int


def habit_question(question: str, now_ns: int) -> HabitQuestion | None:
    """Return a question over weeks, None for any other one."""
    text = " ".join(question.lower().strip(" ?!.").split())
    if re.search(r"[?!.;] ", text):
        return None  # only one sentence is about several patrols, and which one is not known
    coming = re.match(r"(?:where|which room|in which room) will\b|will .+ be\b", text)
    times = _coming(text) if coming else times_asked(question, now_ns)
    text = " ".join(times.rest.lower().strip(" ?!.").split())
    often = _USUALLY.search(text)
    if often is not None and times.window is None and (times.recurring is not None or not times.fault):
        recurring = times.recurring or Recurring("", tuple(range(7)), "")
        times = times._replace(recurring=recurring._replace(phrase=f"{often[0].strip()} {recurring.phrase}".strip()))
    text = _USUALLY.sub("", text)
    form, said = next(((form, found.groupdict()) for form, cue in _CUES if (found := cue.match(text))), ("", {}))
    rest = said.get("rest", text)
    if (part := said.get("part")) and times.recurring is None and times.window is None:
        times = times._replace(recurring=Recurring(part, tuple(range(7)), f"in the {part}s"))
    if not form and times.recurring is not None:
        form = "usual"
    if not form and times.window is not None and not times.window.last and re.match("(?:was|were|did|had) ", text):
        form = "then"
    if not form or (times.fault and times.recurring is None):
        return None
    size = understand(question).query if form == "long" and not rest.startswith(("has ", "have ")) else None
    if size is not None and size.form == "size":
        return None  # "how long is the table?"
    if form == "missing":
        return None if times.window is not None else HabitQuestion(form, Query("list"), times)
    if form == "people":
        query = understand(f"what is {rest}").query
        return HabitQuestion(form, query, times) if query is not None and query.rooms else None
    query = understand(f"where is {rest}" if form in ("first", "moved") else _present(rest)).query
    if query is None and times.window is not None and times.window.phrase.startswith("on "):
        query = understand(f"{_present(rest)} on").query  # "was the oven on last week"
    if query is None or query.form not in _FORMS or not query.things[0].kind:
        return None
    return HabitQuestion(form, query, times)


def question_now(question: str) -> HabitQuestion | None:
    """Return a question about the present as one about the newest look, None for what no look answers."""
    query = understand(question).query
    if query is None or query.form not in _FORMS or not query.things[0].kind:
        return None
    return HabitQuestion("now", query, TimesInText(None, None, question, ""))


def _present(text: str) -> str:
    """Return a clause as of the present: "has the box been in the hall" is "is the box in the hall"."""
    if gone := _GONE.match(text):
        return f"is there no {re.sub('^(?:the|my|our|your) ', '', gone['thing'])}"
    text = re.sub(r"^(?:has|have|had) (.+?) been\b", r"is \1", text.replace(" still ", " "))
    return re.sub(r"\bwill (.+?) be\b", r"is \1", text)


def _coming(text: str) -> TimesInText:
    """Return a time to come as the patrols at that part of the day: "tomorrow morning" is "in the mornings"."""
    days = rf"tomorrow|tonight|this|(?:on|next) (?:{'|'.join(WEEKDAYS)})|next week"
    part = re.search(rf"\b(?P<day>{days})? ?(?P<part>{'|'.join(PARTS)})?\b\s*$", text)
    day, name = (part["day"] or "", part["part"] or "") if part is not None else ("", "")
    name = "evening" if day == "tonight" else name
    rest = text[:part.start()].rstrip(" ,") if part is not None and (day or name) else text
    weekday = next((i for i, known in enumerate(WEEKDAYS) if known in day), None)
    return TimesInText(None, Recurring(name, (weekday,) if weekday is not None else tuple(range(7)),
                                       f"in the {name}s" if name else ""), rest, "")


def over_weeks(store: MemoryReader, asked: HabitQuestion, now_ns: int) -> Recollection | None:
    """Return memory's answer to a question over weeks; None where it knows no such thing."""
    if asked.form in ("people", "missing"):
        return (_people if asked.form == "people" else _missing)(store, asked, now_ns)
    thing = asked.asked.things[0]
    objects = [o for o in fitting_objects(store, " ".join(filter(None, (thing.colour, thing.kind))))[0] if o.here]
    if not objects:
        return None
    if asked.form == "first":
        first = min(objects, key=lambda o: (o.first_ns, o.id))
        where = next((spell_place(spell) for patrol in store.history(first.id) for spell in patrol.spells), "")
        text = ", ".join(filter(None, (short_time(first.first_ns, now_ns), where)))
        return Recollection(text, _SURE, views_of(store, [first.keyframe_id], text))
    every = _looks(store, asked.asked, objects)
    if all(look.value is None for look in every):
        return None  # it was never seen there, or its state is not known
    looks = [look for look in every if _counts(look.patrol, asked.times)]
    if asked.form == "moved" and looks:  # beside where it was before that time
        looks = [*[look for look in every[:every.index(looks[0])] if look.value][-1:], *looks]
    text, sure = _ANSWERS[asked.form](asked, looks, now_ns)
    return Recollection(text, sure, _proof(store, objects, looks, text), asked.form == "still")


def _looks(store: MemoryReader, asked: Query, objects: Sequence[MemoryObject]) -> list[_Looked]:
    """Return what each patrol says, oldest first."""
    thing, found = asked.things[0], list[_Looked]()
    predicate = asked.predicates[0] if asked.predicates else Thing()
    room = predicate.room or thing.room
    rooms = store.room_history(room) if room and asked.form in ("is", "exists") else []
    entered = {row.patrol.number for row in rooms if isinstance(row, RoomLooks)}
    for same in zip(*(store.history(o.id) for o in objects), strict=True):
        patrol = same[0].patrol
        seen = [one.now for one in same if one.outcome == SEEN and one.now is not None]
        if predicate.state:
            seen = [spell for spell in seen if _is_at(spell, thing, Thing())]
        looked = any(one.outcome != NOT_LOOKED for one in same)
        at_ns = max((spell.last_ns for spell in seen), default=max((one.empty_ns for one in same), default=0))
        value: str | None = None
        if asked.form in ("where", "room"):
            value = " and ".join(dict.fromkeys(map(spell_place, seen))) if looked else None
        elif predicate.state:
            fits = [_is_so(spell, thing.kind, predicate.state) for spell in seen if spell.state]
            value = ("yes" if any(fits) else "no") if fits else None
        elif any(_is_at(spell, thing, predicate) for spell in seen):
            value = "yes"
        elif looked or patrol.number in entered:
            value = "no"
        if value and (asked.denied != (thing.quantifier == "no")):
            value = "no" if value == "yes" else "yes"
        found.append(_Looked(patrol, value, at_ns or patrol.last_ns))
    return found


def _is_so(spell: ObjectSpell, kind: str, state: str) -> bool:
    return (state_of(spell.state, kind) or spell.state) == (state_of(state, kind) or state)


def _is_at(spell: ObjectSpell, thing: Thing, predicate: Thing) -> bool:
    """Return whether an object was in the room and on the support that a question names, of either phrase."""
    room, support = predicate.room or thing.room, predicate.support or thing.support
    there = not room or f" {canonical(spell.room)}".endswith(f" {canonical(room)}")
    return there and (support is None or canonical(spell.support) == canonical(support.kind))


def _counts(patrol: PatrolSpan, times: TimesInText) -> bool:
    """Return whether a patrol is within the time that the question names."""
    window, recurring, began = times.window, times.recurring, datetime.fromtimestamp(patrol.first_ns / 1e9)
    if window is not None:
        return patrol.first_ns <= window.before_ns and patrol.last_ns >= window.after_ns
    if recurring is None:
        return True
    first, last = PARTS.get(recurring.part, (0, 30))
    night = began.hour + 24 < last  # "Monday night" ends on Tuesday
    day = (began - timedelta(days=1)) if night and not first <= began.hour else began
    hour = began.hour if first <= began.hour else began.hour + 24
    return day.weekday() in recurring.weekdays and first <= hour < last


def _unit(asked: HabitQuestion, count: int) -> str:
    part = asked.times.recurring.part if asked.times.recurring is not None else ""
    name = part if part in ("morning", "afternoon", "evening", "night") else "patrol"
    return name if count == 1 else f"{name}s"


def _day(look: _Looked) -> str:
    then = datetime.fromtimestamp(look.at_ns / 1e9)
    return f"{then:%a} {then.day} {then:%B}"


def _days(looks: Iterable[_Looked]) -> str:
    """Return the days of looks in words, about a week of them."""
    days = list(dict.fromkeys(map(_day, looks)))
    return join_list(days if len(days) <= _MOST_DAYS + 1 else [*days[:_MOST_DAYS], f"{len(days) - _MOST_DAYS} more"])


def _unseen(asked: HabitQuestion, looks: Sequence[_Looked]) -> str:
    missing = sum(look.value is None for look in looks)
    return f"; I did not look on {number_word(missing)} {_unit(asked, missing)}" if missing else ""


def _usual(asked: HabitQuestion, looks: Sequence[_Looked], now_ns: int) -> tuple[str, float]:
    known = [look for look in looks if look.value is not None]
    if len(known) < LEAST_LOOKS:
        return (f"that is no habit yet: I looked on only {number_word(len(known)) if known else 'none'} of "
                f"{len(looks)} {_unit(asked, len(looks))}"), _SURE
    if asked.asked.form not in ("where", "room"):
        return _usually_so(asked, known) + _unseen(asked, looks), _SURE
    (best, count), *_ = Counter(look.value for look in known).most_common()
    others = [look for look in known if look.value != best]
    said = best or "not where it had been seen before"
    usual = said if count > len(known) / 2 else f"no usual place: most often {said}"
    rest = f"; {_otherwise(others)}" if others else ""
    return f"{usual}, {count} of {len(known)} {_unit(asked, len(known))}{rest}{_unseen(asked, looks)}", _SURE


def _usually_so(asked: HabitQuestion, known: Sequence[_Looked]) -> str:
    """Return whether it is usually so (every time, where the question says so), with the days of the smaller number."""
    true, false = ([look for look in known if look.value == value] for value in ("yes", "no"))
    of = f"of {len(known)} {_unit(asked, len(known))}"
    every = asked.times.recurring is not None and _EVERY.match(asked.times.recurring.phrase)
    if len(true) > len(false):
        said = "no, but" if every and false else "yes,"
        return f"{said} on {len(true)} {of}" + (f"; not on {_days(false)}" if false else "")
    return f"no: on {len(true) or 'none'} {of}" + (f" ({_days(true)})" if true else "")


def _otherwise(others: Sequence[_Looked]) -> str:
    """Return where else it was, and on which days."""
    groups = Counter(look.value for look in others)
    return "; ".join(f"{value or 'not seen there'} on {_days(o for o in others if o.value == value)}"
                     for value, _ in groups.most_common(2))


def _often(asked: HabitQuestion, looks: Sequence[_Looked], now_ns: int) -> tuple[str, float]:
    """Return on how many patrols it was so, and on which days."""
    known = [look for look in looks if look.value is not None]
    true = [look for look in known if look.value == "yes"]
    if not known:
        return f"I did not look{' then' if asked.times.window is not None else ''}", _SURE
    if asked.form == "days":
        text = _days(true) if true else f"on none of the {len(known)} {_unit(asked, len(known))} that looked"
        return text + _unseen(asked, looks), _SURE
    on = f": {_days(true)}" if true else ""
    return f"on {len(true)} of {len(known)} {_unit(asked, len(known))}{on}{_unseen(asked, looks)}", _SURE


def _then(asked: HabitQuestion, looks: Sequence[_Looked], now_ns: int) -> tuple[str, float]:
    """Return whether it was so at a time: at each look, where they differ."""
    known = [look for look in looks if look.value is not None]
    if not known:
        return "I did not look then", _SURE
    if len({look.value for look in known}) == 1:
        return f"{known[0].value}, {short_time(known[-1].at_ns, now_ns)}", _SURE
    return "; ".join(f"{look.value} {short_time(look.at_ns, now_ns)}" for look in known[-_MOST_DAYS:]), _SURE


def _now(asked: HabitQuestion, looks: Sequence[_Looked], now_ns: int) -> tuple[str, float]:
    """Return what the newest look saw; of a thing that is gone, where it was before."""
    known = [look for look in looks if look.value is not None]
    last = f"when I looked last, {short_time(known[-1].at_ns, now_ns)}"
    if known[-1].value:
        return f"{known[-1].value}, {last}", _SURE
    before = next((look for look in reversed(known) if look.value), None)
    where = f": it was {before.value} until {short_time(before.at_ns, now_ns)}" if before is not None else ""
    return f"not where it had been seen before, {last}{where}", _SURE


def _still(asked: HabitQuestion, looks: Sequence[_Looked], now_ns: int) -> tuple[str, float]:
    known = [look for look in looks if look.value is not None]
    if known and known[-1].value == "yes":
        return f"yes, when I looked last, {short_time(known[-1].at_ns, now_ns)}", _SURE
    said, sure = _since(asked, looks, now_ns)
    return (f"no: {said}" if known else said), sure


def _moved(asked: HabitQuestion, looks: Sequence[_Looked], now_ns: int) -> tuple[str, float]:
    """Return from where to where a thing was moved, each time between two looks."""
    known = [look for look in looks if look.value]
    moves = [(a, b) for a, b in pairwise(known) if a.value != b.value]
    if not known:
        return "I have not seen it since", _SURE
    if not moves:
        return f"no: it was {known[-1].value} each of the {len(known)} times that I saw it", _SURE
    said = "; ".join(f"{a.value} until {short_time(a.at_ns, now_ns)}, {b.value} from {short_time(b.at_ns, now_ns)} on"
                     for a, b in moves[-2:])
    count = f"yes, {len(moves)} times, the last ones: " if len(moves) > 2 else "yes: "
    return count + said, _SURE


def _missing(store: MemoryReader, asked: HabitQuestion, now_ns: int) -> Recollection:
    """Return what was seen, is gone from its place, and was not seen anywhere else since."""
    objects = [o for o in store.objects() if o.here]
    there = {canonical(name_of(o)) for o in objects if not o.gone_ns}
    gone = [o for o in objects if o.gone_ns and canonical(name_of(o)) not in there]
    if not gone:
        return Recollection("nothing that I have seen", _SURE, ())
    said = [f"the {name_of(o)}: {place_of(o)} until {short_time(o.last_ns, now_ns)}, gone "
            f"{short_time(o.gone_ns, now_ns)}" for o in sorted(gone, key=lambda o: -o.gone_ns)[:_MOST_DAYS]]
    return Recollection("; ".join(said), _SURE, views_of(store, [o.keyframe_id for o in gone], "missing"))


def _since(asked: HabitQuestion, looks: Sequence[_Looked], now_ns: int) -> tuple[str, float]:
    """Return between which two looks it began: the last one before that was otherwise, and the first one since."""
    known = [look for look in looks if look.value is not None]
    if not known:
        return "I have not looked", _SURE
    if known[-1].value != "yes":
        so = [look for look in known if look.value == "yes"]
        seen = f"; it was so last {short_time(so[-1].at_ns, now_ns)}" if so else ""
        return f"it was not so when I looked last, {short_time(known[-1].at_ns, now_ns)}{seen}", _SURE
    run = 1
    while run < len(known) and known[-run - 1].value == "yes":
        run += 1
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
    return text + last, _SURE


def _span(ns: int) -> str:
    hours = ns / 3600e9
    if hours < 48:
        return f"{hours:.0f} hour{'' if round(hours) == 1 else 's'}"
    return f"{hours / 24:.0f} days"


def _next(asked: HabitQuestion, looks: Sequence[_Looked], now_ns: int) -> tuple[str, float]:
    """Return what is likely by how often it was so, marked as a guess."""
    known = [look for look in looks if look.value is not None]
    if len(known) < LEAST_LOOKS:
        return _usual(asked, looks, now_ns)
    (best, count), *_ = Counter(look.value for look in known).most_common()
    place = asked.asked.form in ("where", "room")
    said = best if best or not place else "not where it had been seen before"
    text = f"probably {said}: so on {count} of {len(known)} {_unit(asked, len(known))} (a guess from what I saw)"
    return text, min(_GUESS, count / len(known))


def _people(store: MemoryReader, asked: HabitQuestion, now_ns: int) -> Recollection | None:
    """Return how many people were in view in a room, and when; never who they are."""
    room = asked.asked.rooms[0]
    looked = [row for row in store.room_history(room)
              if isinstance(row, RoomLooks) and _counts(row.patrol, asked.times)]
    if not looked:
        return Recollection(f"I did not look into the {room} then", _SURE, ())
    there = [row for row in looked if row.people]
    if not there:
        last = short_time(looked[-1].last_ns, now_ns)
        return Recollection(f"nobody was in view on {len(looked)} look{'s' * (len(looked) > 1)}; the last was {last}",
                            _SURE, ())
    said = [f"{number_word(row.people)} {'person' if row.people == 1 else 'people'} {short_time(row.first_ns, now_ns)}"
            for row in there[-_MOST_DAYS:]]
    return Recollection(f"{join_list(said)} in the {room}; I do not know who", _SURE, ())


def _proof(store: MemoryReader, objects: Sequence[MemoryObject], looks: Sequence[_Looked], text: str
           ) -> tuple[Evidence, ...]:
    """Return views of the newest looks, and of the newest one that says otherwise."""
    known = [look for look in looks if look.value is not None]
    if not known:
        return ()
    other = next((look for look in reversed(known) if look.value != known[-1].value), None)
    wanted = [known[-1], *([other] if other is not None else []), *reversed(known[:-1])]
    seen = store.sightings(objects, known[0].patrol.first_ns, known[-1].patrol.last_ns)
    ids = [next((o.keyframe_id for o in reversed(seen) if o.keyframe_id
                 and look.patrol.first_ns <= o.last_ns <= look.patrol.last_ns), 0) for look in wanted]
    return views_of(store, [i for i in ids if i][:MAX_EVIDENCE], text)


_ANSWERS = {"usual": _usual, "often": _often, "days": _often, "then": _then, "now": _now, "since": _since,
            "long": _since, "still": _still, "moved": _moved, "next": _next}
