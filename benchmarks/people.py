"""Questions as people type them, with their true answers, asked of houses of which everything was seen.

`people.jsonl` holds them. They were written from lists of the rooms and objects of the houses by readers who had not
seen the code. Those of the set "tuned", and of the set "odd", which is full of riddles, were looked at while the
reading of questions was written; those of the set "kept" were asked once, when it was finished.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.known_house import known
from benchmarks.timing import Figure
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.language.english import canonical, normalise, number, yes_no
from eqa_nodes.core.language.quantities import lengths
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.types.questions import Answer, Question

QUESTIONS = Path(__file__).with_name("people.jsonl")
SURE = 0.5  # confidence from which a wrong answer counts as claimed
_METRES = {"cm": 0.01, "mm": 0.001, "m": 1.0, "inch": 0.0254, "inches": 0.0254, "feet": 0.3048, "foot": 0.3048,
           "ft": 0.3048}


def load(name: str) -> list[dict[str, Any]]:
    """Return the questions of one set: tuned, odd or kept."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["set"] == name]


def outcome(row: dict[str, Any]) -> str:
    """Return what becomes of a question: right, wrong, unsure (wrong below SURE), not seen, asked back or refused.

    Asked back: one of the suggestions has the right answer. Where nothing can be answered every sure answer is wrong.
    """
    understood = understand(row["question"])
    if understood.query is None:
        back = row["answerable"] and any(is_right(row, _answer(row, text)) for text in understood.suggestions)
        return "asked back" if back else "refused"
    answer = _answer(row, row["question"])
    if answer.abstained:
        return "not seen"
    if row["answerable"] and is_right(row, answer):
        return "right"
    return "wrong" if answer.confidence >= SURE else "unsure"


def is_right(row: dict[str, Any], answer: Answer) -> bool:
    """Return whether an answer says what is true: yes or no, a number, or every word that it must name."""
    text = answer.text
    if answer.abstained:
        return False
    if "yes" in row:
        return yes_no(text) is row["yes"]
    if "number" in row:
        return _is_number(row, text)
    wanted = all(any(_says(text, word) for word in (group if isinstance(group, list) else [group]))
                 for group in row["all"])
    return wanted and not any(_says(text, word) for word in row.get("none", []))


def tally(rows: Iterable[dict[str, Any]]) -> Counter[tuple[bool, str]]:
    """Return how many questions that can be answered, and that cannot, had each outcome."""
    return Counter((row["answerable"], outcome(row)) for row in rows)


def figures() -> list[Figure]:
    """Return the shares of every outcome in each set, and the time to read a question."""
    found = []
    for name in ("tuned", "odd", "kept"):
        rows = load(name)
        began = time.perf_counter()
        for row in rows:
            understand(row["question"])
        each_ms = (time.perf_counter() - began) / max(len(rows), 1) * 1e3
        found.append(Figure(f"{name}: reading a question", round(each_ms, 1)))
        counts = tally(rows)
        for answerable in (True, False):
            total = sum(n for (can, _), n in counts.items() if can is answerable)
            which = "answerable" if answerable else "not answerable"
            found += [Figure(f"{name}, {which}: {what}", ratio=round(n / total, 3), note=f"{n} of {total}")
                      for (can, what), n in sorted(counts.items()) if can is answerable]
    return found


def _answer(row: dict[str, Any], text: str) -> Answer:
    return LabelAnswerer().answer(Question(text), known(row["house"]))


def _is_number(row: dict[str, Any], text: str) -> bool:
    wanted, unit = float(row["number"]), _METRES.get(row.get("unit", ""))
    if unit is not None:
        found = [metres / unit for metres in lengths(text)]
        slack = 0.5 if unit < 0.1 else 0.0  # to the whole centimetre or inch
    else:
        said = number(text)
        found = [float(x) for x in re.findall(r"\d+(?:\.\d+)?", text)[:1]] or ([] if said is None else [float(said)])
        slack = 0.0
    return any(abs(one - wanted) <= row.get("within", 0.0) * wanted + slack + 1e-6 for one in found)


def _says(text: str, word: str) -> bool:
    plain = f" {normalise(text)} "
    return any(f" {form} " in plain for form in (normalise(word), f"{normalise(word)}s")) or (
        f" {canonical(word)} " in f" {canonical(text)} ")
