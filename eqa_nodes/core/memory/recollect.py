"""Answers questions about the past from memory alone, with time, place and image."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from eqa_nodes.core.language.english import content_words, normalise
from eqa_nodes.core.language.lexing import CHATTER
from eqa_nodes.core.language.rooms import fits_room, is_room, room_name
from eqa_nodes.core.language.spelling import spelled
from eqa_nodes.core.memory.believed import last_seen
from eqa_nodes.core.memory.changes import Change
from eqa_nodes.core.memory.confirmed import confirmed_changes
from eqa_nodes.core.memory.digest import events
from eqa_nodes.core.memory.habit_questions import habit_question
from eqa_nodes.core.memory.in_words import name_of, place_of
from eqa_nodes.core.memory.ledger import PAUSE_NS
from eqa_nodes.core.memory.matching import ONCE, fitting_objects, views_of
from eqa_nodes.core.memory.over_weeks import over_weeks
from eqa_nodes.core.memory.reading import MemoryReader
from eqa_nodes.core.memory.times import FOR_EVER, WALL_NS, TimesInText, short_time, time_phrase, times_asked, times_in
from eqa_nodes.core.types.questions import MAX_EVIDENCE, Evidence, MemoryObject, Recollection

_THING = r"(?:the |my |our |your |a |an )?(?P<thing>.+?)"
_WHEN = tuple(re.compile(form) for form in (
    rf"^when (?:(?:did|have) )?(?:you|we|i|anyone) last (?:see|seen|saw) {_THING}$",
    rf"^when (?:did|have) (?:you|we|i|anyone) (?:see|seen) {_THING} last$",
    rf"^when was the last time (?:that )?(?:you|we|i|anyone) saw {_THING}$",
    rf"^when (?:was|were) {_THING} (?:last seen|seen last)$"))
_WHERE = tuple(re.compile(form) for form in (
    rf"^where (?:(?:did|have) )?(?:i|we) (?:last )?(?:leave|left|put|forget|lose|lost) {_THING}(?: last)?$",
    rf"^where (?:(?:did|have) )?(?:you|we|i|anyone) last (?:see|seen|saw) {_THING}$",
    rf"^where (?:was|were) {_THING} last seen$"))
_CHANGED = re.compile(r"^(?:what (?:has |have |is |things )?(?:been )?"
                      r"(?:changed|change|different|new|moved|gone|missing)|"
                      r"(?:did|has) anything (?:been )?(?:change|changed|moved|move))\b(?P<thing>.*)$")
_WAS = re.compile(rf"^where (?:was|were) {_THING}$")
_IN_ROOM = re.compile(r"(?P<rest>.+) in (?:the |my |our |your )?(?P<room>[^,]+)$")
_ASKS = re.compile(r"\b(?:when|where|what|(?:did|has) anything)\b.*")
_MOST_EVENTS = 12  # changes that are named
_ANY_NS = 2 * WALL_NS  # a moment at which days have names


def recollect(store: MemoryReader, question: str, now_ns: int) -> Recollection | None:
    """Return memory's answer to "When did you last see ...?", "Where did I leave ...?", "What changed since ...?"

    None for other questions, for a time that is not understood, and if nothing remembered matches: then the robot may
    look. "Where" questions are answered only if an earlier session knew such an object; for objects new in this
    session, the answerer judges the views.
    """
    if (habit := habit_question(question, now_ns)) is not None:
        return over_weeks(store, habit, now_ns)
    asked = past_question(question, now_ns)
    if asked.form == "changed":
        return _changed(store, asked, now_ns)
    if not asked.form or asked.times.fault:
        return None
    fitting, sure = fitting_objects(store, asked.thing)
    if not fitting or (asked.form == "where" and not any(store.known_before(o.id) for o in fitting)):
        return None
    if asked.form == "was":
        return _was(store, asked, fitting, sure, now_ns)
    o = _last(store, asked, fitting)
    if o is None:
        return _elsewhere(store, asked, fitting[-1], now_ns)
    when, where = time_phrase(o.last_ns, now_ns), place_of(o)
    text = f"{where or 'where the picture shows it'} ({when})" if asked.form == "where" else (
        ", ".join(filter(None, (when, where))))
    verify = asked.form == "where" and o.here and not o.gone_ns and asked.times.window is None
    then = asked.times.window is not None or asked.room != ""
    return Recollection(_if_gone(o, text, now_ns), sure, _proof(store, o, now_ns, then), verify)


class PastQuestion(NamedTuple):
    """A question that memory itself answers. form: when | where | was | changed, "" for any other question.

    thing, room: what it is about and where, "" for anything and anywhere; times: the time that it names.
    """

    form: str
    thing: str
    room: str
    times: TimesInText


def past_question(question: str, now_ns: int) -> PastQuestion:
    """Return what a question asks of memory itself."""
    times = times_asked(question, now_ns)
    asked, room = _as_asked(times.rest), ""
    place = _IN_ROOM.match(asked)
    if place is not None and is_room(normalise(place["room"])):
        asked, room = place["rest"], room_name(normalise(place["room"]))
    form, rest = next(_forms(asked), ("", ""))
    if form == "was" and (times.window is None or times.window.last or times.window.before_ns >= now_ns):
        form = ""
    if times.window is None and not times.fault:  # "What is new since Monday?"
        times = times_in(rest, now_ns)
        rest = times.rest
    return PastQuestion(form, rest, room, times)


def about_past(question: str) -> bool:
    """Return whether `recollect` may answer a question."""
    return past_question(question, 0).form != "" or habit_question(question, _ANY_NS) is not None


def _as_asked(question: str) -> str:
    """Return the question as typed if it is understood, else without typing errors and the polite words around it."""
    typed = " ".join(question.lower().strip(" ?!.").split())
    if _is_past(typed):
        return typed
    plain = spelled(normalise(question))
    asks = _ASKS.search(plain)
    words = (asks[0] if asks else plain).split()
    while words and words[-1] in CHATTER:
        words.pop()
    return " ".join(words)


def _is_past(asked: str) -> bool:
    return any(form != "was" for form, _ in _forms(asked))


def _forms(asked: str) -> Iterator[tuple[str, str]]:
    """Yield the forms that a question may have, with its words about the thing or the time."""
    for name, forms in (("when", _WHEN), ("where", _WHERE), ("changed", (_CHANGED,)), ("was", (_WAS,))):
        yield from ((name, match["thing"]) for form in forms if (match := form.match(asked)))


def _last(store: MemoryReader, asked: PastQuestion, fitting: Sequence[MemoryObject]) -> MemoryObject | None:
    """Return the object that was last seen in the room and at the time asked about, as it was then."""
    window = asked.times.window
    after_ns, before_ns = (0, FOR_EVER) if window is None else window[:2]
    if window is None and not asked.room and (last := last_seen(store, fitting)) is not None:
        return last
    there = [o for o in fitting if after_ns <= o.last_ns <= before_ns and fits_room(o.room, asked.room)]
    if window is not None or asked.room:
        seen = [o for o in store.sightings(fitting, after_ns, before_ns) if fits_room(o.room, asked.room)]
        there = sorted((*seen, *there), key=lambda o: (o.last_ns, o.id))
    return there[-1] if there else None


def _elsewhere(store: MemoryReader, asked: PastQuestion, o: MemoryObject, now_ns: int) -> Recollection:
    """Return that an object was not seen in the room or at the time asked about, and where it was seen last."""
    window = asked.times.window
    then = ", ".join(filter(None, (f"in the {asked.room}" if asked.room else "", window.phrase if window else "")))
    seen = ", ".join(filter(None, (time_phrase(o.last_ns, now_ns), place_of(o))))
    return Recollection(f"I have not seen it {then}; I last saw it {seen}", ONCE, _proof(store, o, now_ns))


def _was(store: MemoryReader, asked: PastQuestion, fitting: Sequence[MemoryObject], sure: float,
         now_ns: int) -> Recollection | None:
    """Return where an object was during a time: each place once in a row, with the time at which it was seen there."""
    window = asked.times.window
    assert window is not None
    seen = [o for o in store.sightings(fitting, *window[:2]) if fits_room(o.room, asked.room)]
    if not seen:
        return _elsewhere(store, asked, fitting[-1], now_ns)
    spells = [list(group) for _, group in groupby(seen, key=place_of)]
    text = "; ".join(f"{place_of(o) or 'where the picture shows it'} ({time_phrase(o.last_ns, now_ns)})"
                     for o, *_ in spells)
    ids = dict.fromkeys(max(o.keyframe_id for o in spell) for spell in reversed(spells))
    return Recollection(text, sure, views_of(store, ids, f"{name_of(seen[-1])}, seen {window.phrase}"))


def _if_gone(o: MemoryObject, text: str, now_ns: int) -> str:
    if not o.here:
        return f"{text}, in a map whose place is not known here"
    return f"{text}; it was gone {time_phrase(o.gone_ns, now_ns)}" if o.gone_ns else text


def _proof(store: MemoryReader, o: MemoryObject, now_ns: int, then: bool = False) -> tuple[Evidence, ...]:
    """Return the newest view of an object and then the best one; then: only the view in which it was seen so."""
    ids = dict.fromkeys((o.keyframe_id,) if then else (store.last_view(o.id), o.keyframe_id))
    return views_of(store, ids, f"{name_of(o)}, last seen {time_phrase(o.last_ns, now_ns)}")


def _changed(store: MemoryReader, asked: PastQuestion, now_ns: int) -> Recollection | None:
    """Return what changed within the named time, or since this session began.

    Simulator clocks have no days, and any day that is named began before such a clock.
    """
    window, since = asked.times.window, store.session_began_ns
    if window is not None or (asked.times.fault and now_ns < WALL_NS):
        since = window.after_ns if window is not None else 0
    elif asked.times.fault or content_words(asked.thing):
        return None
    if since is None or not store.objects(limit=1):
        return None  # "what changed in politics" is not about time; without objects nothing is known
    if window is not None and window.before_ns < now_ns:
        return _happened(store, asked, now_ns)
    changes = [change for change in confirmed_changes(store, since) if fits_room(change.object.room, asked.room)]
    begin = time_phrase(since, now_ns).removeprefix("on ")
    if not changes:
        return Recollection(f"nothing that I have seen since {begin}", ONCE, _newest(store, begin))
    evidence: dict[int, Evidence] = {}
    for change in changes:
        for i in filter(None, (change.after, change.before)):
            for proof in views_of(store, {i: None}, _described(change, now_ns)):
                evidence.setdefault(i, proof)
    text = "; ".join(_described(change, now_ns) for change in changes)
    return Recollection(text, ONCE, tuple(evidence.values())[:MAX_EVIDENCE])


def _happened(store: MemoryReader, asked: PastQuestion, now_ns: int) -> Recollection:
    """Return what changed within a time that is over, also what has changed again since."""
    window = asked.times.window
    assert window is not None
    looked = any(p.first_ns <= window.before_ns and p.last_ns >= window.after_ns for p in store.patrols())
    if not looked:
        return Recollection("I did not look then", 0.0, ())
    happened = [e for e in events(store, window.after_ns, window.before_ns) if not asked.room or (
        f" the {asked.room}" in e.text)]
    if not happened:
        return Recollection(f"nothing that I have seen {window.phrase}", ONCE, ())
    said = [f"{e.text} (between {short_time(e.before_ns, now_ns)} and {short_time(e.at_ns, now_ns)})" if e.before_ns
            else f"{e.text} (first seen {short_time(e.at_ns, now_ns)})" for e in happened[:_MOST_EVENTS]]
    more = len(happened) - len(said)
    text = "; ".join([*said, f"and {more} more changes"] if more else said)
    return Recollection(text, ONCE, views_of(store, (i for e in happened for i in e.views), text))


def _newest(store: MemoryReader, begin: str) -> tuple[Evidence, ...]:
    return views_of(store, dict.fromkeys(k.id for k in store.since(0)[-1:]), f"nothing new since {begin}")


def _described(change: Change, now_ns: int) -> str:
    """Return a change in words; with the times of the looks between which it happened if they are far apart."""
    name, when = f"the {name_of(change.object)}", ""
    if change.last_ns and change.first_ns - change.last_ns > PAUSE_NS:
        when = f" (between {time_phrase(change.last_ns, now_ns)} and {time_phrase(change.first_ns, now_ns)})"
    if change.what == "moved":
        return f"{name} was moved: {change.was}, now {change.now}{when}"
    if change.what == "gone":
        return f"{name} is gone: it was {change.was}{when}"
    if change.what == "back":
        return f"{name} is back, seen again {time_phrase(change.first_ns, now_ns)}: {change.now}"
    if change.what == "new":
        return f"{name} is new: {change.now}"
    return f"{name} {place_of(change.object)}: {change.was}, now {change.now}{when}"
