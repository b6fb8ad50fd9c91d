"""Questions over the fortnight of benchmarks/weeks.py, with what a right answer says; the clock is half an hour on."""

from __future__ import annotations

import re
from typing import NamedTuple

from eqa_nodes.core.memory import MemoryStore

LATER_NS = 1800 * 10 ** 9


class AskedOverWeeks(NamedTuple):
    """A question. right: pattern of a right answer, "" where memory must not answer; never: one of wrong answers.

    known: whether memory knows it; else `right` is the reason that it gives.
    """

    kind: str
    question: str
    right: str
    never: str = r"$^"
    known: bool = True


QUESTIONS = tuple(AskedOverWeeks(*row) for row in (
    ("now", "Where is the green mug?", r"^on the kitchen table in the kitchen, when I looked last, today at 18"),
    ("now", "Is the bed made?", r"^yes, when I looked last, today at 18"),
    ("now", "Is there a cardboard box in the entryway?", r"^no, when I looked last, today at 18"),
    ("now", "Where is the suitcase?", r"^not where it had been seen before.*entryway until Fri 20 November at 08"),
    ("habit", "Where is the laptop usually?", r"no usual place.*7 of 14 patrols"),
    ("habit", "Where is the laptop in the mornings?", r"kitchen table in the kitchen, 7 of 7 mornings"),
    ("habit", "Where is the laptop usually in the evening?", r"coffee table in the living room, 7 of 7 evenings"),
    ("habit", "Where do I usually leave my laptop on Saturday mornings?", r"no habit yet.*one of 1 morning",
     r"$^", False),
    ("habit", "Is the bed made in the mornings?", r"^no: on 1 of 7 mornings \(Wed 18 November\)"),
    ("habit", "Is the bed usually made in the evenings?", r"^yes, on 7 of 7 evenings"),
    ("habit", "Is the oven usually on in the evenings?",
     r"^yes, on 5 of 7 evenings; not on Sat 14 November and Fri 20 November"),
    ("habit", "Is the oven on every evening?", r"^no, but on 5 of 7 evenings; not on Sat 14 November and Fri 20"),
    ("habit", "Is the green mug usually on the kitchen table?",
     r"^yes, on 9 of 14 patrols; not on Mon 16 November, Wed 18 November and Fri 20 November"),
    ("habit", "Is the bathtub usually full?", r"^yes, on 5 of 7.*did not look on seven"),
    ("how often", "How often was the oven on?", r"on 5 of 14 patrols"),
    ("how often", "How many times was the oven on last week?", r"on 3 of 8 patrols"),
    ("how often", "How often was the bathtub full?", r"on 5 of 7 patrols.*did not look on seven"),
    ("how often", "How often was the television on in the evenings?", r"on 6 of 7 evenings"),
    ("how often", "How often was there a cardboard box in the entryway?", r"on 4 of 14 patrols"),
    ("which days", "On which days was there a cardboard box in the entryway?",
     r"^Sat 14 November, Mon 16 November and Wed 18 November$"),
    ("which days", "On which mornings was the kitchen sink off?", r"^Sat 14 November and Sun 22 November$", r"Mon 16"),
    ("which days", "On which days was the pink mug on the kitchen table?",
     r"^Mon 16 November, Wed 18 November and Fri 20 November$"),
    ("since when", "Since when is the suitcase gone?", r"between Fri 20 November at 08:\d\d and Fri 20 November at 18"),
    ("since when", "Since when has the bed been made?", r"between today at 08:\d\d and today at 18"),
    ("since when", "Since when is the green mug on the kitchen table?",
     r"between Fri 20 November at 08:\d\d and Fri 20 November at 18"),
    ("how long", "How long has the suitcase been gone?", r"for 4 days"),
    ("how long", "How long has the television been on?", r"for [01] hours? to 1[01] hours"),
    ("then", "Was the oven on on Wednesday evening?", r"^yes, Wed 18 November at 18"),
    ("then", "Was the bed made on 18 November in the morning?", r"^yes, Wed 18 November at 08"),
    ("then", "Was the window in the laundry room open on Monday morning?", r"I did not look then",
     r"$^", False),
    ("then", "Was the window in the laundry room open on 16 November?", r"no Mon.* at 08:\d\d; yes Mon.* at 18"),
    ("then", "Where was the pink mug on 20 November?", r"kitchen table.*08:\d\d.*coffee table.*18:\d\d"),
    ("first and last", "When did you first see the cardboard box?", r"^Sat 14 November at 18.*entryway"),
    ("first and last", "When did you last see the suitcase?",
     r"Friday 20 November 2026 at 08:\d\d, in the entryway; it was gone"),
    ("first and last", "When did you last see the cardboard box?", r"Wednesday 18 November 2026 at 08"),
    ("still", "Is the cardboard box still in the entryway?", r"^no: .*Wed 18 November at 08"),
    ("still", "Is the laptop still on the coffee table?", r"^yes, when I looked last, today at 18"),
    ("missing", "What is missing?", r"(?=.*suitcase)(?=.*cardboard box)", r"laptop|mug"),
    ("moved", "Has the laptop moved since Monday?", r"^yes: .*kitchen table.*coffee table"),
    ("moved", "Has the green mug been moved since Sunday?", r"^no: .*kitchen table"),
    ("changed", "What changed since 20 November?", r"suitcase is gone", r"cardboard box"),
    ("next", "Where will the laptop be tomorrow morning?", r"probably on the kitchen table.*7 of 7 mornings \(a guess"),
    ("next", "Will the oven be on tomorrow evening?", r"probably yes: so on 5 of 7 evenings \(a guess"),
    ("who", "Was anyone in the kitchen on Sunday?", r"nobody was in view"),
    ("who", "How often was anyone in the kitchen?", r"on 0 of 14 patrols"),
    ("who", "Who moved the green mug?", r"not who changed it", r"$^", False),
    ("changed", "What changed on 16 November?", r"green mug: .*kitchen table.*now on the coffee table", r"suitcase"),
    ("not known", "Where is the unicorn usually?", ""),
    ("not known", "How often was the aquarium on?", "")))


def outcomes(store: MemoryStore) -> list[tuple[AskedOverWeeks, bool, str]]:
    """Return each question, whether it was answered rightly, and the answer ("" for none)."""
    found = []
    store.set_now(store.newest_ns + LATER_NS)
    for asked in QUESTIONS:
        said = store.ask(asked.question)
        text = said.text if said is not None else ""
        right = not text if not asked.right else bool(re.search(asked.right, text)) and not re.search(asked.never, text)
        right = right and (said is None or said.known == asked.known)
        found.append((asked, right, text))
    return found
