"""Finds words of time in a text ("on Monday at 9 in the evening", "between the 3rd and the 5th", "every morning").

Only the words are found here; core/memory/times.py reads what they mean at a given moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
          "december")
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
           "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "twenty": 20, "thirty": 30, "half an": 0.5, "half a": 0.5}
VAGUE = {"a couple of": (1, 3), "couple of": (1, 3), "a few": (2, 5), "few": (2, 5), "several": (2, 5)}  # least, most
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "fortnight": 1209600, "month": 2592000,
         "year": 31536000}


def _any(words: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


_COUNT = rf"(?:\d+(?:\.\d+)?|{_any((*NUMBERS, *VAGUE))})"
_UNIT = _any(UNITS)
COUNTS = re.compile(rf"({_COUNT}) (and a half )?({_UNIT})s?( and a half)?")  # in a duration: "two hours and a half"
_SPELL = rf"{_COUNT} (?:and a half )?{_UNIT}s?(?: and a half)?(?:,? (?:and )?{_COUNT} {_UNIT}s?)?"
_DAY = _any(WEEKDAYS)
_PART = "(?:morning|afternoon|evening|night)"
_MONTH = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "september" else "sept?(?:ember)?"
                          for name in MONTHS) + r")\b\.?"
_YEAR = r"(?:19|20)\d\d"
_TH = "(?:st|nd|rd|th)"
_HOUR = r"(?:\d\d?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_CLOCK = r"(?:\d\d?(?:[:.]\d\d)? ?[ap](?:\.m\.?|m\b)|\d\d?:\d\d(?::\d\d)?|noon|midday|midnight)"
_NEXT = rf"(?=[\s,]*(?:[?!.;]|$|(?:on|in the|at|this|last|and|to|until|till|between|yesterday|today|{_DAY})\b))"
_IN = "(?:in|within|during|over|for)"
_WITH = "(?:at|since|before|after|until|till|around|during|between)"
_NO_TIME = (rf"(?!(?:the |on )*(?:\d\w*|{_MONTH}|{_DAY}|{_PART}|{_UNIT}|weekend|last|past|this|yesterday|today|"
            r"tomorrow|lunch ?time)\b)")

# Names of tokens and their patterns; at each place the longest one counts. Those called "weak" may mean something else
# ("3 pm", "evening", "May"): alone they are a time only if they are the whole text.
_TOKENS = (
    ("rel", r"(?:all day |all of )?(?P<rel>(?:the )?day before yesterday|yesterday|today)"),
    ("weekday", rf"(?:(?:on )?(?:the )?|(?P<which>last|this past|past|this) )(?P<weekday>{_DAY})"
                r"(?P<before> before last)?"),
    ("weekday", r"on (?P<weekday>mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b"),
    ("date", rf"(?:on |of )?(?:the )?(?P<day>\d\d?){_TH}?(?: of)? (?P<month>{_MONTH})(?:,? (?P<year>{_YEAR}))?"),
    ("date", rf"(?:on |of )?(?P<month>{_MONTH}) (?:the )?(?P<day>\d\d?){_TH}?(?![\w:])(?:,? (?P<year>{_YEAR}))?"),
    ("date", rf"(?:on )?(?P<year>{_YEAR})-(?P<month>\d\d)-(?P<day>\d\d)(?:t(?P<clock>\d\d:\d\d)(?::\d\d)?)?"),
    ("date", rf"(?:on )?(?P<day>\d\d?)(?P<mark>[./-])(?P<month>\d\d?)[./-](?P<year>{_YEAR})"),
    ("date", r"on (?P<day>\d\d?)(?P<mark>[./])(?P<month>\d\d?)\.?"),
    ("date", r"(?P<day>\d\d?)\.(?P<month>\d\d?)\."),
    ("weak date", r"(?P<day>\d\d?)(?P<mark>/)(?P<month>\d\d?)"),
    ("nth", rf"(?:on |of )?the (?P<nth>\d\d?){_TH}{_NEXT}"),
    ("weak nth", rf"(?P<nth>\d\d?){_TH}{_NEXT}"),
    ("part", rf"(?:{_IN} (?:the )?)?(?P<which>this|last|to)[ -]?(?P<part>{_PART})"),
    ("part", rf"(?:{_IN}|through|throughout) the (?:early |late )?(?P<part>{_PART})(?P<before> before last)?"),
    ("part", rf"on the (?P<part>{_PART})(?:(?P<before> before last)|(?= of\b)|{_NEXT})"),
    ("part", rf"(?:the )?(?P<part>{_PART})(?P<before> before last)"),
    ("part", r"(?P<night>overnight)|(?:at )?(?P<part>lunch ?time)"),
    ("weak part", rf"(?:the )?(?P<part>{_PART})"),
    ("at night", "at night"),
    ("clock", rf"(?:(?:at|around|about) )+(?P<clock>{_CLOCK}|\d\d?\.\d\d{_NEXT})"),
    ("clock", rf"(?:at |around )?(?:a )?(?P<fraction>half|quarter) (?P<side>past|to) (?P<hour>{_HOUR})"),
    ("clock", rf"(?:(?:at|around|about) )+(?P<hour>{_HOUR})(?: o'clock|{_NEXT})"),
    ("weak clock", rf"(?P<clock>{_CLOCK})"),
    ("weak clock", rf"(?P<hour>\d\d?)(?: o'clock|(?= in the {_PART}))"),
    ("ago", rf"(?P<ago>{_SPELL}) ago(?P<exact> today)?"),
    ("unclear", rf"(?:{_COUNT}|some|(?:a )?long) (?:\w+ )?ago|the other (?:day|week|{_PART}|{_DAY})"),
    ("unclear", rf"{_SPELL} (?:before|after)\b[^?!.;,]*|(?:all|the whole|during the) (?:day|week|night|month)"),
    ("unclear", rf"{_WITH} (?:breakfast|lunch|dinner|supper|dawn|dusk|sunrise|sunset|bedtime){_NEXT}"),
    ("unclear", rf"(?:in|last|this|since|before|after) (?:the )?(?:spring|summer|autumn|winter){_NEXT}"),
    ("unclear", rf"(?:on )?the (?:{_PART}|day|week|weekend|month|year) (?:before|after) (?!last\b|yesterday|tomorrow)"
                r"[^?!.;,]+"),
    ("unclear", rf"(?:on )?the (?:(?:{_PART}|day) (?:of|when|that) {_NO_TIME}|(?:week|month|year) (?:of|when|that) )"
                r"[^?!.;,]+"),
    ("unclear", rf"since {_NO_TIME}(?:the|my|our|your|his|her|their) [^?!.;,]+"),
    ("unclear", rf"(?:(?:at|in) )?the (?:beginning|start|middle|end|first|second|third|last) (?:\w+ )?of "
                rf"(?:{_MONTH}|(?:last|this|the) (?:{_UNIT}|weekend)\b)|(?:early|mid|late)[ -]{_MONTH}"),
    ("unclear", rf"(?:in )?(?:the )?(?:last|past) {_COUNT} (?:{_PART}|weekend|{_DAY})s"),
    ("unclear", rf"(?:at |on |since |before |after )?(?:christmas|easter|new year|thanksgiving|halloween)(?: eve| day)?"
                rf"{_NEXT}|\d\d? ?- ?\d\d? {_MONTH}"),
    ("weak unclear", "utc|gmt"),
    ("weak filler", "early|late|earlier|later|sometime|just"),
    ("lately", rf"(?:{_IN} )?(?:the )?(?:last|past) (?P<lately>{_SPELL}|second\b(?! \w)|minute|hour)"),
    ("lately", rf"(?:{_IN} the (?:last|past)|the past) (?P<lately>{_UNIT})"),
    ("older", rf"(?:older|more|longer) than (?P<older>{_SPELL})(?: ago| old)?"),
    ("unit", r"(?:(?:at|on|of|in|during|over|for) )?(?:the |(?P<which>this past|this|last|past) )+(?P<unit>weekend)"
             r"(?P<before> before last)?"),
    ("weak unit", "(?P<unit>weekend)"),
    ("unit", r"(?:(?:of|in|during|on) )?(?P<which>this|last) (?P<unit>week|month|year)"),
    ("unit", rf"(?:{_IN} )?the (?P<unit>week|month|year)(?P<before> before last)"),
    ("month", rf"(?:in|during|last) (?P<month>{_MONTH})(?: (?P<year>{_YEAR}))?|(?:in|during) (?P<only_year>{_YEAR})"),
    ("weak month", rf"(?P<month>{_any(MONTHS)})(?: (?P<year>{_YEAR}))?|(?P<only_year>{_YEAR})"),
    ("ahead", rf"(?:the day after )?tomorrow|(?:on |in )?next (?:{_DAY}|{_UNIT}|weekend|{_PART})"),
    ("ahead", rf"in {_SPELL}(?<!second)(?: time\b)?(?! ago)"),
    ("future", "(?:(?:in|from) )?the future"),
    ("last", "(?:the )?(?:last|most recent) time(?! (?:that|you|i|we|any))|most recently"),
    ("often", rf"(?:every|each|most)(?: single| other)? (?P<often>(?:{_DAY}|weekday|weekend|day)s?(?: {_PART}s?)?|"
              rf"{_PART}s?|{_UNIT}s?)(?! (?:stand|lamp|light|table|gown|dress|paper|newspaper|room|hand)s?\b)"),
    ("often", rf"(?:on|at) (?P<often>{_DAY}s(?:(?:,| and|, and) {_DAY}s)*)"),
    ("often", rf"(?:on|at|during) (?:the )?(?P<often>weekdays|weekends|(?:weekday|weekend|{_DAY}) {_PART}s)"),
    ("often", rf"in the (?P<often>{_PART}s)|(?:once|twice|{_COUNT} times) (?:a|an|per|every) {_UNIT}"),
    ("often", r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )(?<!\bthat )"
              "(?:usually|normally|typically|generally|habitually)"),
    ("between", r"(?P<edge>between|from)(?: (?P<hour>\d\d?)(?= (?:and|to|until|till|-) ))?"),
    ("edge", rf"(?P<edge>(?:ever )?since|after|before|until|till|up to|by)(?: (?P<hour>\d\d?){_NEXT})?"),
    ("to", rf"(?:and|to|-)(?: (?P<hour>\d\d?){_NEXT})?"))
# A sentence that asks in the past tense: nothing in the present tense stands before its verb.
_VERB = (r"(?:(?:was|were|did|had)\b|"
         r"(?:has|have) (?:the|my|our|you|we|i|any\w*|some\w*|there|been|\w{4,}ed|moved|gone)\b|"
         r"(?:who|what|which \w+|any\w+|some\w+) (?:\w{4,}ed|left|slept|took|put|sat|stood|came|went|lay|brought)\b)")
_PAST = re.compile(rf"(?:(?!\b(?:is|are|am|can|will|do|does|would|could|should|must)\b).)*?\b{_VERB}")
_ASKS = re.compile(rf"\W*(?:(?!(?:there|i|it|we|you|he|she|they|my|the|our|a)\b)\w+\W+){{0,2}}?"
                   rf"(?:who|whose|whom|what|when|where|which|how|{_VERB})\b")
_PRESENT = re.compile(r"\b(?:is|are|am|can|do|does|now)\b|'s\b")
EDGES = ("between", "edge", "to")  # tokens that divide a span; one with an hour is also a time of day


class TimeToken(NamedTuple):
    """A word or phrase of a time, as it is written. said: the named parts of its pattern that it has, in lower case."""

    name: str
    text: str
    start: int
    end: int
    said: dict[str, str]
    weak: bool = False


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns, compiled at first use because that takes a tenth of a second."""
    return tuple((name, re.compile(rf"(?:{form})(?!\w)")) for name, form in _TOKENS)


_WORD = re.compile(r"(?<![\w.:/-])[\w-]")


@lru_cache(maxsize=256)
def time_words(text: str) -> tuple[TimeToken, ...]:
    """Return the words of time in a text, in order."""
    lowered = text.lower()
    if len(lowered) != len(text):  # some letters become two, and the places would not fit
        return ()
    tokens, at = list[TimeToken](), 0
    while (word := _WORD.search(lowered, at)) is not None:
        token = _token(text, lowered, word.start())
        tokens += [token] if token is not None else []
        at = token.end if token is not None else word.end()
    runs, kept = _runs(lowered, tokens), list[TimeToken]()
    for run in runs:
        whole = not lowered[:run[0].start].strip() and not lowered[run[-1].end:].strip(" ?!.")
        kept += run if whole or any(not t.weak and t.name != "to" for t in run) else []
    return tuple(kept)


def without(text: str, tokens: Sequence[TimeToken]) -> str:
    """Return a text without some of its words."""
    for token in reversed(tokens):
        text = text[:token.start].rstrip(" ,") + " " + text[token.end:]
    return " ".join(text.split()) if tokens else text


def asked_times(question: str) -> tuple[TimeToken, ...]:
    """Return the words of the time that a question asks about: those in a sentence that asks in the past tense.

    "Is the lamp on? It was off last night" asks about the present. Repeated times ("every morning") have any tense.
    """
    tokens = time_words(question)
    found = list[TimeToken]()
    for begin, end in _asking(question.lower()) if tokens else ():
        within = [t for t in tokens if begin <= t.start < end]
        past = _PAST.match(question.lower()[begin:end]) or any(t.name == "often" for t in within)
        found += within if past else []
    return tuple(found)


def asks_of_past(question: str) -> bool:
    """Return whether a sentence of a text asks in the past tense."""
    lowered = question.lower()
    return any(_PAST.match(lowered[begin:end]) for begin, end in _asking(lowered))


def _asking(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the sentences of a text in lower case begin and end that ask."""
    bounds = [0, *(m.end() for m in re.finditer(r"[?!;\n]|\.(?=\s)", text)), len(text)]
    for begin, end in pairwise(bounds):
        if text[begin:end].rstrip().endswith("?") or _ASKS.match(text[begin:end]):  # the mark may be left out
            yield begin, end


def on_twice(question: str) -> str:
    """Return "Was the lamp on Monday?" as "Was the lamp on on Monday?"; "" for a question about no such time."""
    words = asked_times(question)
    start = words[0].start if words and words[0].text.lower().startswith("on ") else 0
    return f"{question[:start]}on {question[start:]}" if start else ""


def at_another_time(text: str, before: str) -> str:
    """Return the question before a text that names only another time ("And on Monday?") at that time; "" for others."""
    words = time_words(text)
    again = r"(?:and )?where (?:was|were) (?:it|they)|" if before.lower().startswith("where") else ""
    only = rf"(?:{again}and|but|or|what about|how about)?[\s?!.,]*"
    if not words or not re.fullmatch(only, without(text, words).lower()):
        return ""
    return as_past(without(before, asked_times(before)), words)


def with_time(question: str, text: str, before: str) -> str:
    """Return a question in full words with the time of the text that asks it, else that of the question before.

    A text in the present tense asks about now.
    """
    words = asked_times(text) or (() if _PRESENT.search(text.lower()) else asked_times(before))
    return (as_past(question, words) or question) if words else question


def as_past(question: str, words: Sequence[TimeToken]) -> str:
    """Return "Is the lamp on?" as "Was the lamp on yesterday?"; "" for a question without "is" or "are"."""
    past, count = question, 1
    if not _PAST.match(question.lower()):
        past, count = re.subn(r"\b(?:is|are)\b", lambda m: "was" if m[0].lower() == "is" else "were", question, count=1,
                              flags=re.IGNORECASE)
    when = " ".join(word.text for word in words)
    return f"{past[:1].upper()}{past[1:].rstrip(' ?.!')} {when}?" if count else ""


def _token(text: str, lowered: str, at: int) -> TimeToken | None:
    """Return the longest token that begins at a place."""
    best: TimeToken | None = None
    for name, pattern in _patterns():
        match = pattern.match(lowered, at)
        if match is not None and match.end() > at and (best is None or match.end() > best.end):
            said = {key: value for key, value in match.groupdict().items() if value}
            best = TimeToken(name.removeprefix("weak "), text[at:match.end()], at, match.end(), said,
                             name.startswith("weak "))
    return best


def _runs(text: str, tokens: Sequence[TimeToken]) -> list[list[TimeToken]]:
    """Return tokens that follow each other, without "to", "from" and the like where no time is beside them."""
    runs = list[list[TimeToken]]()
    for token in tokens:
        if runs and not text[runs[-1][-1].end:token.start].strip(" ,"):
            runs[-1].append(token)
        else:
            runs.append([token])
    for run in runs:
        while run and run[-1].name in EDGES and "hour" not in run[-1].said:
            run.pop()
        while run and run[0].name == "to":
            run.pop(0)
    return [run for run in runs if any(t.name not in (*EDGES, "filler") or "hour" in t.said for t in run)]
