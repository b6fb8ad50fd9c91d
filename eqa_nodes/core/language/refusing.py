"""Why a question is not understood, in one sentence, and the questions that may have been meant."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from eqa_nodes.core.language.bad_input import NO_WORDS, ORDER, PRIVATE, improper, without_words
from eqa_nodes.core.language.english import join_list
from eqa_nodes.core.language.phrases import is_known, is_place
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.states import states_of_kind
from eqa_nodes.core.language.vocabulary import entries, table
from eqa_nodes.core.language.wording import question_of

NOT_UNDERSTOOD = "I do not understand"
_UNCLEAR = 3  # words that are named to the person
_SHOWN = 60  # characters of a question that are repeated to the person
_WORDS = {language: frozenset(words) for language, words in table("other_languages").items()}
_ONLY = {  # what is said to who asks in another language
    "German": "Ich verstehe nur Englisch; bitte stellen Sie die Frage auf Englisch.",
    "Spanish": "Solo entiendo ingl\u00e9s; haga la pregunta en ingl\u00e9s, por favor.",
    "French": "Je ne comprends que l'anglais ; posez la question en anglais, s'il vous pla\u00eet.",
    "Italian": "Capisco solo l'inglese; faccia la domanda in inglese, per favore.",
    "Portuguese": "S\u00f3 entendo ingl\u00eas; fa\u00e7a a pergunta em ingl\u00eas, por favor.",
    "Dutch": "Ik versta alleen Engels; stel de vraag alstublieft in het Engels.",
}
_ORDERS = re.compile(r"\b(?:ignore|disregard|forget|override|bypass)\b.*\b(?:rules?|instructions?|prompts?|told|"
                     r"directives?|safety)\b|\bsystem prompt\b|\b(?:your|the) (?:\w+ )?(?:configuration|prompt)\b",
                     re.S)
_COMMANDS = frozenset(entries("commands"))
_CAN_YOU = re.compile(rf"(?:please |hey )?(?:can|could|would|will) you (?:please |kindly )?(?:{'|'.join(_COMMANDS)})\b")
_PRIVATE = frozenset(entries("private_matters"))
_FUTURE = re.compile(r"\b(?:will|going to)\b.*\b(?:tomorrow|next|years? from now|in (?:an?|\d+) (?:hour|day|week|"
                     r"year)s?|weather)\b|\bcome next\b|\byears? from now\b|\btill next\b", re.S)


def not_a_question(text: str) -> str:
    """Return why a text is no question about a home, whatever its words are; "" where it may be one."""
    if why := without_words(text):
        return why
    if _CAN_YOU.match(text.lower()):
        return ORDER
    letters = [c for c in text if c.isalpha()]
    if not letters:
        return NO_WORDS
    scripts = Counter(unicodedata.name(c, "?").split()[0] for c in letters)
    if scripts["LATIN"] < len(letters):
        return "I understand English only, in Latin letters."
    return ""


def why_not(text: str, unclear: Sequence[str]) -> str:
    """Return why a question was not understood, in the language that it was asked in; unclear: words that are not."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    if language := _language(words):
        return _ONLY[language]
    if improper(text):
        return improper(text)
    if _ORDERS.search(text.lower()):
        return ORDER
    if not _PRIVATE.isdisjoint(words):
        return PRIVATE
    if _FUTURE.search(text.lower()):
        return "I cannot know what will be; ask me what is in this home now."
    if words and words[0] in _COMMANDS:
        return ORDER
    if unclear:
        words = [repr(_shown(word)) for word in dict.fromkeys(unclear)][:_UNCLEAR]
        return f"{NOT_UNDERSTOOD} {join_list(words)} in this question."
    return f"{NOT_UNDERSTOOD} {_shown(text)!r}."


class Heard(NamedTuple):
    """What was recognised of a question that is not understood: doubtful readings, things, a room, tags of words."""

    readings: tuple[Query, ...] = ()
    things: tuple[Thing, ...] = ()
    room: str = ""
    tags: frozenset[str] = frozenset()
    states: tuple[str, ...] = ()


def suggestions(heard: Heard) -> tuple[str, ...]:
    """Return questions that may have been meant: what the words hint at, doubtful readings, then what is usual."""
    things = [t._replace(quantifier="", number=0, unlike=None, room=t.room or heard.room) for t in heard.things]
    first, rest = (things[-1:], things[:-1]) if things else ([], [])
    queries = [*(q for t in first for q in _hinted(t, heard)), *heard.readings,
               *(q for t in reversed(rest) for q in _hinted(t, heard)),
               *(q for t in (*first, *reversed(rest)) for q in _usual(t))]
    if not queries and heard.room:
        queries.append(Query("list", (Thing(room=heard.room),)))
    known = (query for query in queries if all(is_known(t) or is_place(t) for t in query.subjects))
    return tuple(dict.fromkeys(map(question_of, known)))


def _hinted(thing: Thing, heard: Heard) -> list[Query]:
    """Return what the words of a question may ask of a thing: its colour where they name colours, and so on."""
    tags, bare = heard.tags, thing._replace(room="", state="")
    none = not tags.isdisjoint(("not", "without", "no"))
    queries = []
    if "room" in tags:
        queries += [Query("rooms", (bare._replace(quantifier="no" if none else ""),)), Query("room", (thing,))]
    if "count" in tags:
        states = [thing._replace(state=state) for state in heard.states] or [thing]
        queries += [Query("count", (t,)) for t in states]
    queries += [Query(form, (thing,)) for form in ("colour", "material", "where") if form in tags]
    queries += [Query("size", (thing,), aspect=tag) for tag in ("wide", "high", "long", "deep") if tag in tags]
    known = states_of_kind(thing.kind) if thing.kind else None
    if known is not None:
        queries += [Query("is", (thing._replace(state=""),), (Thing(state=state),)) for state in heard.states]
    if "what" in tags:
        placed = [tag for tag in ("under", "on", "above", "next to") if tag in tags]
        placed += ["on"] if placed == ["above"] else []  # "what do I touch with my hand over the table"
        queries += [Query("list", (Thing(room=thing.room, relation=tag, support=thing._replace(room="")),))
                    for tag in placed]
    return queries


def _usual(thing: Thing) -> list[Query]:
    """Return what is most often asked of such a thing."""
    states = states_of_kind(thing.kind) if thing.kind else None
    queries = [Query("where", (thing._replace(state=""),)), Query("exists", (thing,))]
    if states is not None:
        queries.insert(0, Query("is", (thing._replace(state=""),), (Thing(state=thing.state or states[0]),)))
    return queries


def _language(words: Sequence[str]) -> str:
    """Return the other language that a text is in, "" for English: two of its words at least, and more than English."""
    counts = {language: sum(word in known for word in words) for language, known in _WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    english = sum(word in _ENGLISH for word in words)
    return best if best != "English" and counts[best] >= 2 and counts[best] > english else ""


_ENGLISH = _WORDS.pop("English")


def _shown(text: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}..."
