"""Where a question fits several things that memory knows, or none, the person is asked first which one is meant."""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.core.agent.dialogue import Dialogue
from eqa_nodes.core.answerers.common import labelled
from eqa_nodes.core.language.ambiguity import Ambiguity, ambiguity, known_of
from eqa_nodes.core.protocols import Memory
from eqa_nodes.core.types.inquiries import NO_REPLY, WHICH
from eqa_nodes.core.types.questions import Question
from eqa_nodes.core.types.remembered import RecallQuery

_VIEWS = 200  # of memory, from which rooms and objects are named
_TIMES = 2  # inquiries about one question


class Clear(NamedTuple):
    """A question as it is understood. said: what the answer's message says of that, "" where it was clear.

    privileged: what the options were made from.
    """

    question: Question
    said: str = ""
    privileged: tuple[str, ...] = ()


class Clarifying:
    """Asks which meaning a question has. It is asked of a question without options to choose from only."""

    def __init__(self, question: Question, memory: Memory, dialogue: Dialogue) -> None:
        self._question, self._memory, self._dialogue = question, memory, dialogue

    def needed(self) -> bool:
        """Say whether the question is not clear. Raises EqaError when memory does not answer."""
        return self._unclear(self._question.text)[0] is not None

    def clear(self) -> Clear:
        """Return the question as the person means it; without a reply as it was asked. Raises Canceled."""
        question, said, privileged = self._question, list[str](), tuple[str, ...]()
        for _ in range(_TIMES):
            unclear, seen = self._unclear(question.text)
            if unclear is None:
                break
            privileged = seen
            options = tuple(meaning.option for meaning in unclear.meanings)
            reply = self._dialogue.ask(WHICH, unclear.text, options)
            if reply == NO_REPLY:
                said.append(f"nobody said which {unclear.what!r} is meant ({', '.join(options)}): understood as asked")
                break
            meaning = unclear.meanings[reply - 1]
            said.append(f"{unclear.what!r} was understood as {meaning.option}")
            if meaning.question == question.text:
                break
            question = question._replace(text=meaning.question)
        return Clear(question, "; ".join(said), privileged)

    def _unclear(self, text: str) -> tuple[Ambiguity | None, tuple[str, ...]]:
        if self._question.choices:
            return None, ()
        views = [item.keyframe for item in self._memory.recall(RecallQuery(limit=_VIEWS))]
        things = [(s.label.kind, s.label.room) for view in views for s in view.sightings]
        return ambiguity(text, known_of([view.region for view in views], things)), labelled(views)
