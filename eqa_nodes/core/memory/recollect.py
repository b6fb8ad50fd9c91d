"""Answers questions about the past from memory alone, with time, place and image."""

from __future__ import annotations

import re

from eqa_nodes.core.language.english import COLOURS, canonical, content_words, normalise
from eqa_nodes.core.language.lexing import CHATTER
from eqa_nodes.core.language.naming import in_group
from eqa_nodes.core.language.spelling import spelled
from eqa_nodes.core.memory.changes import Change, name_of, place_of
from eqa_nodes.core.memory.reading import MemoryReader
from eqa_nodes.core.memory.times import WALL_NS, time_phrase, window_of
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
                      r"(?:did|has) anything (?:been )?(?:change|changed|moved|move))\b(?P<rest>.*)$")
_ASKS = re.compile(r"\b(?:when|where|what|(?:did|has) anything)\b.*")
_SURE, _ONCE, _BY_MEANING = 0.95, 0.8, 0.6  # confidence: seen in several looks, in one, found by meaning only


def recollect(store: MemoryReader, question: str, now_ns: int) -> Recollection | None:
    """Return memory's answer to "When did you last see ...?", "Where did I leave ...?", "What changed since ...?"

    None for other questions, and if nothing remembered matches: then the robot may look. "Where" questions are answered
    only if an earlier session knew such an object; for objects new in this session, the answerer judges the views.
    """
    asked = _as_asked(question)
    if match := _first(_WHEN, asked):
        return _when(store, match["thing"], now_ns)
    if match := _first(_WHERE, asked):
        return _where(store, match["thing"], now_ns)
    if match := _CHANGED.match(asked):
        return _changed(store, match["rest"], now_ns)
    return None


def about_past(question: str) -> bool:
    """Return whether `recollect` may answer a question."""
    return _is_past(_as_asked(question))


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
    return bool(_first((*_WHEN, *_WHERE), asked) or _CHANGED.match(asked))


def _first(forms: tuple[re.Pattern[str], ...], text: str) -> re.Match[str] | None:
    return next((match for form in forms if (match := form.match(text))), None)


def _when(store: MemoryReader, obj: str, now_ns: int) -> Recollection | None:
    fitting, sure = _fitting(store, obj)
    if not fitting:
        return None
    o = fitting[-1]
    text = ", ".join(filter(None, (time_phrase(o.last_ns, now_ns), place_of(o))))
    return Recollection(_if_gone(o, text, now_ns), sure, _proof(store, o, now_ns))


def _where(store: MemoryReader, obj: str, now_ns: int) -> Recollection | None:
    fitting, sure = _fitting(store, obj)
    if not any(store.known_before(o.id) for o in fitting):
        return None
    o = fitting[-1]
    text = f"{place_of(o) or 'where the picture shows it'} ({time_phrase(o.last_ns, now_ns)})"
    return Recollection(_if_gone(o, text, now_ns), sure, _proof(store, o, now_ns), verify=o.here and not o.gone_ns)


def _fitting(store: MemoryReader, obj: str) -> tuple[list[MemoryObject], float]:
    """Return the matching objects, the one seen last at the end, and the confidence in that one.

    Without a match by words, only the most similar object counts; objects of another colour than asked for do not.
    """
    _, text = window_of(obj, store.now_ns)
    text = spelled(normalise(text))
    wanted = set(content_words(text))
    found = [o for o in store.objects(text) if _colour_fits(o, wanted)]
    kinds = [o for o in found if set(canonical(o.kind).split()) <= wanted]
    kinds = kinds or [o for o in store.objects() if in_group(o.kind, text) and _colour_fits(o, wanted)]
    fitting = sorted(kinds or found[:1], key=lambda o: (o.last_ns, o.id))
    return fitting, _BY_MEANING if not kinds else _ONCE if fitting[-1].times < 2 else _SURE


def _colour_fits(o: MemoryObject, wanted: set[str]) -> bool:
    colours = (wanted - set(canonical(o.kind).split())).intersection(COLOURS)
    return not colours or "colour" not in o.attributes or canonical(o.attributes["colour"]) in colours


def _if_gone(o: MemoryObject, text: str, now_ns: int) -> str:
    if not o.here:
        return f"{text}, in a map whose place is not known here"
    return f"{text}; it was gone {time_phrase(o.gone_ns, now_ns)}" if o.gone_ns else text


def _proof(store: MemoryReader, o: MemoryObject, now_ns: int) -> tuple[Evidence, ...]:
    """Return the newest view of an object and then the best one."""
    ids = dict.fromkeys((store.last_view(o.id), o.keyframe_id))
    return _views(store, ids, f"{name_of(o)}, last seen {time_phrase(o.last_ns, now_ns)}")


def _views(store: MemoryReader, ids: dict[int, None], note: str) -> tuple[Evidence, ...]:
    views = [view for i in ids if (view := store.keyframe(i)) is not None]
    return tuple(Evidence(v.id, v.stamp_ns, v.pose, note) for v in views[:MAX_EVIDENCE])


def _changed(store: MemoryReader, rest: str, now_ns: int) -> Recollection | None:
    """Return what changed since the named time, or since this session began."""
    window, left = window_of(rest, now_ns)
    if window is None and now_ns < WALL_NS and (day := window_of(rest, WALL_NS)[0]) is not None:
        window = day._replace(after_ns=0)  # simulator clocks have no days, and any named day began before the clock
    since = window.after_ns if window is not None else store.session_began_ns
    if since is None or (window is None and content_words(left)) or not store.objects(limit=1):
        return None  # "what changed in politics" is not about time; without objects nothing is known
    changes = store.changes(since)
    begin = time_phrase(since, now_ns)
    if not changes:
        return Recollection(f"nothing that I have seen since {begin}", _ONCE, _newest(store, begin))
    evidence: dict[int, Evidence] = {}
    for change in changes:
        for i in filter(None, (change.after, change.before)):
            for proof in _views(store, {i: None}, _described(change)):
                evidence.setdefault(i, proof)
    text = "; ".join(_described(change) for change in changes)
    return Recollection(text, _ONCE, tuple(evidence.values())[:MAX_EVIDENCE])


def _newest(store: MemoryReader, begin: str) -> tuple[Evidence, ...]:
    return _views(store, dict.fromkeys(k.id for k in store.since(0)[-1:]), f"nothing new since {begin}")


def _described(change: Change) -> str:
    name = f"the {name_of(change.object)}"
    if change.what == "moved":
        return f"{name} was moved: {change.was}, now {change.now}"
    if change.what == "gone":
        return f"{name} is gone: it was {change.was}"
    if change.what == "new":
        return f"{name} is new: {change.now}"
    return f"{name} {place_of(change.object)}: {change.was}, now {change.now}"
