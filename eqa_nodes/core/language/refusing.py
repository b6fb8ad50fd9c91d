"""Why a question is not understood, in one sentence."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from eqa_nodes.core.language.bad_input import NO_WORDS, ORDER, PRIVATE, improper, without_words
from eqa_nodes.core.language.english import join_list
from eqa_nodes.core.language.vocabulary import entries, table

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
