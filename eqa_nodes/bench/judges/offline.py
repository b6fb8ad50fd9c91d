"""Marks by rules over words: no model, no network, deterministic. docs/judging.md lists the rules."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.bench.judges.base import JudgeMark, JudgeOptions, drop_after_last_full_stop
from eqa_nodes.bench.metrics import wording
from eqa_nodes.core.answerers import common, letters
from eqa_nodes.core.language import english as language
from eqa_nodes.core.language import quantities
from eqa_nodes.core.types.samples import Sample

if TYPE_CHECKING:
    from eqa_nodes.core.model import Backend
    from eqa_nodes.models.config import ModelConfig


def mark_choice(sample: Sample, text: str) -> JudgeMark:
    """Return 5 for the right option, else 1: an answer that names none, or several, is wrong."""
    index = common.match_choice(text, sample.choices)
    if index is None:
        return JudgeMark(1, None, "no option named")
    chosen = sample.choices[index]
    return JudgeMark(5 if chosen == sample.answer else 1, None, f"chose {chosen!r}")


@dataclass(frozen=True)
class OfflineJudge:
    """Rules over words. It cannot see images, so it gives no grounding mark.

    until_last_full_stop: as OpenEQA's scorer does, drop what follows the last full stop of an answer that has one.
    """

    until_last_full_stop: bool = False
    kind = "offline"
    sees = False

    @classmethod
    def from_options(cls, options: JudgeOptions, open_backend: Callable[[ModelConfig], Backend]) -> OfflineJudge:
        """Return it as the registry makes it. It asks no model."""
        return cls(options.until_last_full_stop)

    @property
    def name(self) -> str:
        """Return the name for score files."""
        return f"{self.kind}+until_last_full_stop" if self.until_last_full_stop else self.kind

    @property
    def version(self) -> str:
        """Return the sha256 of the rules' source and of the options."""
        digest = hashlib.sha256(self.name.encode())
        for module in (__file__, common.__file__, letters.__file__, wording.__file__, language.__file__,
                       quantities.__file__):
            digest.update(Path(str(module)).read_bytes())
        return digest.hexdigest()

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Mark an answer by the best of the accepted ones."""
        text = drop_after_last_full_stop(answer_text) if self.until_last_full_stop else answer_text
        if common.says_nothing(text):
            return JudgeMark(1, None, "no answer")
        if sample.choices:
            return mark_choice(sample, text)
        references = dict.fromkeys((sample.answer, *sample.alternatives))
        if not language.normalise(text):  # "A" may be a letter on a door, and is no article then
            return _letter(references, text)
        return max((mark_against(sample.question, reference, text) for reference in references),
                   key=lambda mark: mark.sigma or 0)

    def close(self) -> None:
        """Nothing to release."""


class ChoicesJudge(OfflineJudge):
    """Accuracy over options as HM-EQA counts it (Ren et al. 2024): a question without options is unscored."""

    kind = "choices"

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Mark an answer to a question that has options."""
        return super().judge(sample, answer_text) if sample.choices else JudgeMark(None, None,
                                                                                  "the question has no options")


def _letter(references: Iterable[str], text: str) -> JudgeMark:
    """Mark an answer of one letter, or another that is nothing but an article."""
    said = re.sub(r"\W", "", text).casefold()
    right = any(re.sub(r"\W", "", reference).casefold() == said for reference in references)
    return JudgeMark(5 if right else 1, None, "same letter" if right else "another letter, or none")


def mark_against(question: str, reference: str, text: str) -> JudgeMark:
    """Mark an answer against one accepted answer; the first rule that applies decides."""
    if language.same(reference, text):
        return JudgeMark(5, None, "same words")
    for rule in (_length, _count, _yes_no, _items):
        mark = rule(question, reference, text)
        if mark is not None:
            return mark
    return _wording(question, reference, text)


def _length(question: str, reference: str, text: str) -> JudgeMark | None:
    """Lengths: within 10 % or 5 cm, whichever is more, 5; right among several 3; within twice as much 2; else 1."""
    right = quantities.lengths(reference)
    if len(right) != 1 or quantities.without_lengths(reference).strip() != "#":
        return None
    off = [abs(length - right[0]) for length in quantities.lengths(text)]
    if not off:
        return JudgeMark(1, None, f"no length with its unit where {reference} is right")
    within = quantities.tolerance(right[0]) + 1e-9
    if min(off) <= within:
        one = max(off) <= within
        return JudgeMark(5 if one else 3, None,
                         f"{100 * min(off):.0f} cm off" + ("" if one else ", among several lengths"))
    return JudgeMark(2 if min(off) <= 2 * within else 1, None, f"{100 * min(off):.0f} cm off {reference}")


def _count(question: str, reference: str, text: str) -> JudgeMark | None:
    """Numbers: right 5; right among several 3; one off 2, unless one of them is none at all; else 1."""
    asks = re.match(r"how many|what number|number of|count", language.normalise(question)) is not None
    right = language.number(reference)
    if right is None or not (asks or reference.strip().isdecimal()):
        return None
    said = wording.numbers(text)
    if not said:
        return JudgeMark(1, None, f"no number where {right} is right")
    if said == {right}:
        return JudgeMark(5, None, "same number")
    if right in said:
        return JudgeMark(3, None, f"{right} among several numbers")
    near = min(said) > 0 and right > 0 and any(abs(right - n) == 1 for n in said)
    return JudgeMark(2 if near else 1, None, f"{sorted(said)} where {right} is right")


def _yes_no(question: str, reference: str, text: str) -> JudgeMark | None:
    """Yes and no: the polarity decides, also when an answer repeats the question's words instead of saying it."""
    right = language.yes_no(reference)
    if right is None:
        return None
    said = language.yes_no(language.normalise(text).split()[0])
    if said is None:  # "they are open" is a no to "are they closed?"
        said = wording.affirms(question, text)
    if said is None:
        said = language.yes_no(text)
    if said is None:
        return JudgeMark(1, None, "neither yes nor no")
    return JudgeMark(5, None, "same polarity") if said == right else JudgeMark(1, None, "opposite polarity")


def _items(question: str, reference: str, text: str) -> JudgeMark | None:
    """Lists: F-measure over items, each as good as its wording."""
    right = wording.items(reference)
    if len(right) < 2:
        return None
    said = wording.items(text) or (text,)
    likeness = [[wording.likeness(question, r, s).f for s in said] for r in right]
    recall = sum(max(row) for row in likeness) / len(right)
    precision = sum(max(column) for column in zip(*likeness, strict=True)) / len(said)
    f = wording.f_measure(precision, recall)
    return JudgeMark(_mark_of(f), None, f"items: F {f:.2f}")


def _wording(question: str, reference: str, text: str) -> JudgeMark:
    """Phrases: overlap of the words that carry meaning; a contradiction or a hedge caps the mark."""
    like = wording.likeness(question, reference, text)
    mark = _mark_of(like.f)
    if like.recall > 0.95 and like.precision >= 0.25:
        mark = max(mark, 4)  # says it all, and more
    elif like.precision > 0.95 and like.firm:
        mark = max(mark, 3)  # says a part, and nothing else
    cap, why = wording.cap(reference, text, like)
    return JudgeMark(min(mark, cap), None, f"words: F {like.f:.2f}" + (f"; {why}" if cap < mark else ""))


def _mark_of(f: float) -> int:
    """Return the mark for an F-measure: 5 from 0.95, 4 from 0.75, 3 from 0.6, 2 from 0.3."""
    return 1 + sum(f >= step for step in (0.3, 0.6, 0.75, 0.95))
