"""Shared by all answerers: checking questions and composing answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eqa_nodes.core.answerers.letters import named_letter, spoken
from eqa_nodes.core.errors import BadQuestion
from eqa_nodes.core.language.bad_input import improper, unreadable
from eqa_nodes.core.language.directions import bad_directions
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.memory.times import times_asked
from eqa_nodes.core.types.questions import (
    MAX_EVIDENCE,
    Answer,
    Evidence,
    Question,
    RankedRegion,
    Receipt,
    Recollection,
    ViewAssessment,
)
from eqa_nodes.core.types.views import Keyframe

if TYPE_CHECKING:
    from eqa_nodes.core.answerers.object_graph import CropRanker
    from eqa_nodes.core.answerers.socratic import CaptionStore
    from eqa_nodes.core.model import Backend
    from eqa_nodes.core.protocols import Answerer

_DECLINES = re.compile(
    r"unanswerable|unknown|unclear|insufficient|not (?:enough|visible|shown|sure|possible)|can ?(?:not|'t)\b|unable to|"
    r"(?:do|does|is|was|could) ?n[o']t (?:know|show|seen|visible|be)|no (?:information|evidence)", re.I)
RECOLLECTED_FROM = ("labels",)  # privileged: memory's objects are built from labels


class AnswererOptions(NamedTuple):
    """Options of an answerer. open_model: opens the model of the settings, or raises ConfigError or MissingExtra.

    max_images: maximum number of images in one call, 0 = the answerer's default. folder: where an answerer may store
    captions, None = in memory. max_side_px: longest side of a picture for the model, 0 = as stored.
    open_ranker: opens the ranker of objects by their pictures, None = they are ranked by their names. detected: the
    labels of the views are a detector's, not a simulator's.
    """

    open_model: Callable[[], Backend]
    max_images: int = 0
    folder: Path | None = None
    max_side_px: int = 512
    open_ranker: Callable[[], CropRanker] | None = None
    detected: bool = False

    def captions(self) -> CaptionStore:
        """Return the store of captions. Raises StorageError."""
        from eqa_nodes.core.answerers.socratic import FILE, CaptionStore

        return CaptionStore(self.folder / FILE if self.folder else None)


def check_question(text: str) -> str:
    """Return the question without outer blanks. Raises BadQuestion for an unreadable one (language/bad_input.py)."""
    stripped = text.strip()
    if why := unreadable(stripped):
        raise BadQuestion(why)
    return stripped


def check_asked(question: Question) -> None:
    """Raise BadQuestion for an unreadable question, and for directions that cannot be followed."""
    check_question(question.text)
    if why := bad_directions(question.instruction):
        raise BadQuestion(why)


def says_nothing(text: str) -> bool:
    """Return whether a text has neither letters nor digits. "A" says something: it may be an option."""
    return not any(char.isalnum() for char in text)


def may_decline(text: str) -> bool:
    """Return whether a text may decline to answer, so that a model must decide whether it does."""
    return _DECLINES.search(text) is not None


def match_choice(text: str, choices: Sequence[str]) -> int | None:
    """Return the index of the choice that a reply means, by its words or its letter (letters.py); None if unclear.

    A partial match of words counts if it leaves one choice: "yes" for "Yes, it is on", "on the desk here" for "the
    desk". Contiguous words are matched first, so that "on the table, not the desk" means "on the table".
    """
    said = spoken(text)
    wanted = canonical(said)
    exact = [i for i, choice in enumerate(choices) if said.casefold() == choice.strip().casefold()] or [
        i for i, choice in enumerate(choices) if wanted and canonical(choice) == wanted]
    if exact:
        return exact[0]
    letter = named_letter(said, choices)
    if letter.choice is not None or letter.several:
        return letter.choice
    words, options = set(wanted.split()), [set(canonical(choice).split()) for choice in choices]
    for part in ([words and words <= option for option in options],
                 [bool(option) and f" {canonical(choice)} " in f" {wanted} "
                  for choice, option in zip(choices, options, strict=True)],
                 [option and option <= words for option in options]):
        if sum(map(bool, part)) == 1:
            return next(i for i, fits in enumerate(part) if fits)
    return None


def evidence_from(views: Iterable[Keyframe], note: str = "") -> tuple[Evidence, ...]:
    """Return evidence that refers to the views, each once, at most MAX_EVIDENCE."""
    unique = {view.id: view for view in views}
    return tuple(Evidence(v.id, v.stamp_ns, v.pose, note) for v in list(unique.values())[:MAX_EVIDENCE])


def from_labels(views: Iterable[Keyframe]) -> bool:
    """Return whether knowledge of objects may be from a simulator's labels: unless all objects in view were detected.
    """
    detected = {s.label.detected for view in views for s in view.sightings}
    return detected != {True}


def answer_of(recollection: Recollection, proof: Iterable[Keyframe]) -> Answer:
    """Return memory's own result as an answer. proof: the views that its evidence refers to."""
    if not recollection.known:
        return Answer(abstained=True, message=recollection.text)
    privileged = RECOLLECTED_FROM if from_labels(proof) else ()
    return Answer(recollection.text, recollection.confidence, evidence=recollection.evidence,
                  receipt=Receipt(privileged=privileged))


def labelled(views: Iterable[Keyframe]) -> tuple[str, ...]:
    """Return what is privileged about views: a simulator's labels, from which captions and ranking are derived."""
    return ("labels",) if any(view.privileged for view in views) else ()


def refusal(answerer: Answerer, question: Question) -> Answer | None:
    """Return the result of a question that the answerer refuses, None if it may be answered.

    It is an abstention, which benchmarks score as one, or a guess if one is required: looking would not improve it.
    Of an improper question there is no guess either.
    """
    forbidden = "" if question.choices else improper(question.text)
    if not question.choices and (asked := times_asked(question.text, 0)).recurring is not None:
        return Answer(abstained=True, message=asked.fault)
    why = forbidden or answerer.why_unanswerable(question)
    if not why:
        return None
    if question.force_guess and not forbidden:
        return replace(answerer.answer(question, ()), message=f"forced guess: {why}")
    return Answer(abstained=True, receipt=Receipt(privileged=answerer.spent().privileged), message=why)


class AcceptsAnyQuestion:
    """Mixin of answerers that accept every question."""

    def why_unanswerable(self, question: Question) -> str:
        """Return "": every question may be answered."""
        return ""


class JudgesNoView(AcceptsAnyQuestion):
    """Mixin of answerers that assess no views: all views and rooms get the same value."""

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return no regions."""
        return []

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Return assessments with all scores 0."""
        return [ViewAssessment(view.id, view.stamp_ns, 0.0, 0.0, pose=view.pose, z=view.map_from_base.xyz[2])
                for view in views]
