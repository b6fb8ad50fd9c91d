"""Reads questions over several patrols: what is usual, how often, since when, what is missing or comes next."""

from __future__ import annotations

import re
from typing import NamedTuple

from eqa_nodes.core.language.naming import known_names
from eqa_nodes.core.language.query import Query
from eqa_nodes.core.language.rooms import is_room
from eqa_nodes.core.language.time_words import WEEKDAYS, on_twice
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.memory.days import PARTS
from eqa_nodes.core.memory.times import WALL_NS, Recurring, TimesInText, times_asked

_RELATIVES = ("(?:wife|husband|partner|son|daughter|child|children|kids?|mother|mum|mom|father|dad|brother|sister|"
              "grandma|grandpa|neighbour|guests?|friends?|family)")
_BE = r"(?:is|are|was|were|has|have|had|did|does|do)"
_ANYBODY = r"(?:(?:any|some)(?:one|body)|people|a person)"
_UNIT = r"(?P<unit>patrol|time|day|morning|afternoon|evening|night)s"
_CUES = tuple((form, re.compile(cue)) for form, cue in (
    ("often", rf"^(?:how often|(?:on )?how many {_UNIT}) (?P<rest>.+)$"),
    ("days", r"^(?:on )?(?:which|what) (?:days?|dates?|(?P<part>morning|afternoon|evening|night)s?)"
             r"(?: of the week)? (?P<rest>.+)$"),
    ("since", rf"^since when (?P<rest>{_BE} .+)$"),
    ("since", r"^when (?P<rest>(?:was|were) .+ (?:put|placed|moved|brought) (?:in|on|under|to)(?:to)? .+)$"),
    ("since", r"^when (?P<rest>did .+ (?:disappear|vanish|go missing|get lost))$"),
    ("long", rf"^(?:for )?how long (?P<rest>{_BE} .+)$"),
    ("first", r"^when (?:did|have|was|were) (?:(?:you|we|i|anyone) )?first (?:see|saw|seen|notice) (?P<rest>.+)$"),
    ("first", r"^when (?:did|have) (?:you|we|i|anyone) (?:see|seen) (?P<rest>.+) (?:first|for the first time)$"),
    ("first", r"^when (?:was|were) (?P<rest>.+) first seen$"),
    ("moved", rf"^(?:has|have|did) {_ANYBODY} moved? (?P<rest>.+)$"),
    ("moved", r"^(?:has|have|was|were|did) (?P<rest>.+?) (?:been )?(?:moved?|changed? (?:its |their )?places?)$"),
    ("missing", r"^(?:(?:is|has) anything|(?:what|which)(?: (?:thing|object|item)s?)?)"
                r"(?: is| are| has| have| went| gone)* (?P<rest>missing|gone|lost)$"),
    ("still", rf"^(?P<rest>{_BE} .+? still .+)$"),
    ("next", r"^(?P<rest>(?:where|which room|in which room) will .+)$"),
    ("next", r"^(?P<rest>will .+ be .+)$"),
    ("people", rf"^(?:who|(?:has|was|were)(?: there)? {_ANYBODY}|(?:did|have) (?:you|we|i) (?:see|seen) {_ANYBODY}|"
               r"how many people) (?:(?:was|were|have|has|been|there) )*(?P<rest>in .+)$"),
    ("doer", r"^who (?:has |have |had )?(?:moved?|took|taken|put|placed?|left|brought|removed?|opened|closed|shut|used|"
             r"turned|switched|filled|emptied|stole|stolen) (?P<rest>.+)$")))
_NAMED = re.compile(r"\b(?i:was|were|has|have|had|did) (?:(?P<name>[A-Z][a-z]+)|"
                    rf"(?:my|our|your) {_RELATIVES}|s?he)\b(?!')")
_NO_NAMES = """
anyone anybody someone somebody nobody everyone everybody people there any some anything something everything
nothing all both no you we they it the a an this that these those my our your his her their one two"""
_NOBODY = frozenset(_NO_NAMES.split())  # words that may begin with a capital letter
_USUALLY = re.compile(r"\b(?:usually|normally|generally|typically|mostly|most often|most of the time|as a rule|"
                      r"always)\b ?")
_GONE = re.compile(r"^(?:is|are|has|have|did) (?P<thing>.+?) (?:been )?"
                   r"(?:gone|missing|away|disappear|vanish|go missing|get lost)$")
_PUT = re.compile(r"^(?:was|were) (?P<thing>.+) (?:put|placed|moved|brought) "
                  r"(?P<at>in|on|under|to)(?:to)? (?P<place>.+)$")
_SAW = re.compile(r"^(?:did|have|has) (?:you|we|i|anyone|anybody) (?:see|seen|find|found|notice|noticed) ")
_HABITUAL = re.compile(r"\b(?:usually|normally|generally|typically|mostly|most of the time|always|as a rule|"
                       r"how often|how many|(?:which|what) days)\b")
_PART = re.compile(r"\b(?P<lead>in the (?:morning|afternoon|evening)|at night)\b(?! of\b)")
_LIKELY = re.compile(r"\b(?:is|are) (?P<thing>.+?) (?:most |very )?(?:likely|expected|going|supposed) to be\b", re.I)
_USUAL_PLACE = re.compile(r"^what(?: is|'s) the usual place (?:of|for) (?P<thing>.+?)[ ?]*$", re.I)
_MAYBE = re.compile(r"\b(?:most )?(?:likely|probably) (?=be\b)")
_CALENDAR_NS = 2 * WALL_NS  # a moment at which days have names
_FORMS = ("where", "room", "is", "exists")  # forms of questions that one patrol can answer


class HabitQuestion(NamedTuple):
    """A question over several patrols. asked: what is asked of each of them, as of the present.

    form: usual | often | days | then | now | since | long | still | moved | missing | first | next | people | doer (who
    did it) | named (somebody who is called by a name); times: which patrols count.
    """

    form: str
    asked: Query
    times: TimesInText


def habit_question(question: str, now_ns: int) -> HabitQuestion | None:
    """Return a question over weeks, None for any other one."""
    return _read(question, now_ns) or _read(on_twice(question), now_ns)


def _read(question: str, now_ns: int) -> HabitQuestion | None:
    question = _as_usual(question)
    text = " ".join(question.lower().strip(" ?!.").split())
    if re.search(r"[?!.;] ", text):
        return None  # only one sentence is about several patrols, and which one is not known
    coming = re.match(r"(?:where|which room|in which room) will\b|will .+ be\b", text)
    times = _coming(text) if coming else times_asked(question, now_ns)
    text = " ".join(times.rest.lower().strip(" ?!,.").split())
    often = _USUALLY.search(text)
    if often is not None and times.window is None and (times.recurring is not None or not times.fault):
        recurring = times.recurring or Recurring("", tuple(range(7)), "")
        times = times._replace(recurring=recurring._replace(phrase=f"{often[0].strip()} {recurring.phrase}".strip()))
    text = _USUALLY.sub("", text)
    form, said = next(((form, found.groupdict()) for form, cue in _CUES if (found := cue.match(text))), ("", {}))
    rest = said.get("rest", text)
    part = said.get("part") or (said.get("unit") if said.get("unit") in PARTS else None)
    if part and times.recurring is None and times.window is None:
        times = times._replace(recurring=Recurring(part, tuple(range(7)), f"in the {part}s"))
    if not form and times.recurring is not None:
        form = "usual"
    if not form and times.window is not None and not times.window.last and re.match("(?:was|were|did|had) ", text):
        form = "then"
    if _names_somebody(times.rest):
        return HabitQuestion("named", Query("where"), times)
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
    query = understand(f"where is {rest}" if form in ("first", "moved", "doer") else _present(rest)).query
    if form == "doer":
        return HabitQuestion(form, query or Query("where"), times)
    if query is None or query.form not in _FORMS or not query.things[0].kind:
        return None
    return HabitQuestion(form, query, times)


def _as_usual(question: str) -> str:
    """Return the question with "is likely to be" as "will be", and "in the evening" as "in the evenings" in a question
    about what is usual, where no day is named.
    """
    text = _MAYBE.sub("", _LIKELY.sub(r"will \g<thing> be", _USUAL_PLACE.sub(r"where is \g<thing> usually", question)))
    if not _HABITUAL.search(text.lower()):
        return text
    window = times_asked(text, _CALENDAR_NS).window
    part = _PART.search(text)
    if part is None or (window is not None and _PART.fullmatch(window.phrase.lower()) is None):
        return text
    return text if part["lead"] == "at night" else f"{text[:part.end()]}s{text[part.end():]}"


def _names_somebody(text: str) -> bool:
    """Return whether a question about the past is about a person who has a name, or is called "my wife" or "she"."""
    found = _NAMED.search(text)
    name = (found["name"] or "").lower() if found is not None else ""
    known = name in known_names() or is_room(name) or name in _NOBODY
    return found is not None and not (name and known)


def question_now(question: str) -> HabitQuestion | None:
    """Return a question about the present as one about the newest look, None for what no look answers."""
    query = understand(question).query
    if query is None or query.form not in _FORMS or not query.things[0].kind:
        return None
    return HabitQuestion("now", query, TimesInText(None, None, question, ""))


def _present(text: str) -> str:
    """Return a clause as of the present: "has the box been in the hall" is "is the box in the hall"."""
    text = _SAW.sub("is ", text)
    if put := _PUT.match(text):
        return f"is {put['thing']} {put['at'].replace('to', 'in')} {put['place']}"
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
