"""What a question means: how the parser reads it, and what a person says if it is not understood or is ambiguous."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from eqa_nodes.core.agent.person import Dialogue
from eqa_nodes.core.answerers.common import labelled
from eqa_nodes.core.language.ambiguity import Ambiguity, ambiguity, known_of
from eqa_nodes.core.language.bad_input import unreadable
from eqa_nodes.core.language.directions import destination
from eqa_nodes.core.language.query import MEANT
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.protocols import ViewMemory
from eqa_nodes.core.types.inquiries import NO_REPLY, WHICH
from eqa_nodes.core.types.questions import Answer, Question, RecallQuery

NONE_OF_THESE = "none of these"
_VIEWS = 200  # maximum number of views in memory from which rooms and objects are named
_TIMES = 2  # maximum number of inquiries about the meaning of one question


def read_as(question: Question) -> str:
    """Return the question as the parser understood it, in words, and where its directions end; "" if it did not."""
    said, room = "" if unreadable(question.text) else understand(question.text).said, destination(question.instruction)
    return f"{said}; the directions end in the {room}" if said and room else said


def suggestions(question: Question) -> tuple[str, ...]:
    """Return the questions that may have been meant; () if the parser understood the question."""
    return () if question.choices else understand(question.text).suggestions


class ResolvedQuestion(NamedTuple):
    """A question as it is understood. said: note on that for the answer's message, "" if the question was clear.

    privileged: privileged components that the options were derived from. unknown: why the question is not understood,
    if the person meant none of the suggestions.
    """

    question: Question
    said: str = ""
    privileged: tuple[str, ...] = ()
    unknown: str = ""

    def complete(self, answer: Answer) -> Answer:
        """Return the answer to the question, which also says how the question was understood."""
        if self.unknown:
            return replace(answer, message=self.unknown)
        if not self.said:
            return answer
        privileged = tuple(sorted({*answer.receipt.privileged, *self.privileged}))
        return replace(answer, message=self.said, receipt=replace(answer.receipt, privileged=privileged)).saying(
            answer.message)


def resolve(question: Question, memory: ViewMemory, person: Dialogue, refused: bool) -> ResolvedQuestion:
    """Return the question as the person means it.

    The person is asked if the answerer refused the question and the parser has suggestions, and if it fits several
    things in memory, or none. Without a reply the question stays as it was asked. Raises Canceled.
    """
    said, privileged = list[str](), tuple[str, ...]()
    if refused and not _is_named(question, memory) and (options := suggestions(question)):
        why = understand(question.text).why
        reply = person.ask(WHICH, f"{why} Did you mean one of these?", (*options, NONE_OF_THESE))
        if reply == NO_REPLY or reply > len(options):
            return ResolvedQuestion(question, unknown=why if reply else "")
        said.append(f"{question.text!r} {MEANT} {options[reply - 1]}")
        question = question._replace(text=options[reply - 1])
    for _ in range(_TIMES):
        unclear, seen = _meanings(question, memory)
        if unclear is None:
            break
        privileged = seen
        names = tuple(meaning.option for meaning in unclear.meanings)
        reply = person.ask(WHICH, unclear.text, names)
        if reply == NO_REPLY:
            said.append(f"nobody said which {unclear.what!r} is meant ({', '.join(names)}): understood as asked")
            break
        meaning = unclear.meanings[reply - 1]
        said.append(f"{unclear.what!r} {MEANT} {meaning.option}")
        if meaning.question == question.text:
            break
        question = question._replace(text=meaning.question)
    return ResolvedQuestion(question, "; ".join(said), privileged)


def _is_named(question: Question, memory: ViewMemory) -> bool:
    """Return whether a question is understood as soon as it is said what a name in it means: "Pia's room"."""
    unclear, _ = _meanings(question, memory)
    return unclear is not None and any(understand(meaning.question).query for meaning in unclear.meanings)


def needs_resolving(question: Question, memory: ViewMemory, refused: bool) -> bool:
    """Return whether `resolve` would ask the person. Raises EqaError if memory does not answer."""
    return bool(refused and suggestions(question)) or _meanings(question, memory)[0] is not None


def _meanings(question: Question, memory: ViewMemory) -> tuple[Ambiguity | None, tuple[str, ...]]:
    """Return the meanings of a question given what is in memory, None if it is clear; and the privileged components."""
    if question.choices:
        return None, ()
    views = [item.keyframe for item in memory.recall(RecallQuery(limit=_VIEWS))]
    things = [(s.label.kind, s.label.room) for view in views for s in view.sightings]
    return ambiguity(question.text, known_of([view.region for view in views], things)), labelled(views)


