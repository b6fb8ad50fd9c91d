"""Several questions, one body: they wait in order of arrival, and what is seen for one is used for those that wait."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from eqa_nodes.core.agent.agent import Agent, Progress
from eqa_nodes.core.agent.cost import MeteredAnswerer
from eqa_nodes.core.agent.waiting import Waiting
from eqa_nodes.core.background import background_task
from eqa_nodes.core.episode import Episode
from eqa_nodes.core.errors import EqaError, ErrorCode, QueueFull
from eqa_nodes.core.types.questions import Answer, Question

LINE = 32  # questions that may wait


class QuestionObserver(Protocol):
    """Who asked, and hears what becomes of the question. Called from the queue's threads; may not wait for long."""

    def progress(self, progress: Progress) -> None:
        """Hear what is done for the question, also that it waits (phase "queued") and at which place."""

    def begins(self) -> None:
        """Hear that its turn has come. An EqaError raised here is the end of the question."""

    def ends(self, answer: Answer) -> None:
        """Hear the end, once: an answer, an abstention or a named error; `begins` need not have been called."""


class QueuedQuestion:
    """A question in the queue."""

    def __init__(self, question: Question, asker: QuestionObserver) -> None:
        self.question, self.asker = question, asker
        self.canceled = False
        self.episode: Episode  # both given by the queue
        self.waiting: Waiting


class Queue:
    """Answers questions in order of arrival; each costs what is done for it alone. Any thread may call; use `close`.

    While one is worked on, those that wait are answered as soon as memory or a new view does (agent.answer_waiting).
    """

    def __init__(self, agent: Agent, limit: int = LINE) -> None:
        self.agent, self._limit = agent, limit  # another agent, with other settings, is that of later questions
        self._paying = threading.Lock()
        self._changed = threading.Condition()
        self._waiting: list[QueuedQuestion] = []
        self._running: QueuedQuestion | None = None
        self._pauses, self._closed = 0, False
        self._worker = threading.Thread(target=self._work, name="questions", daemon=True)
        self._worker.start()

    @property
    def full(self) -> bool:
        """Say whether as many wait as may."""
        return len(self._waiting) >= self._limit

    def put(self, question: Question, asker: QuestionObserver) -> QueuedQuestion:
        """Let a question wait for its turn. Raises QueueFull."""
        asked = QueuedQuestion(question, asker)
        self._prepare(asked)
        with self._changed:
            if self.full:
                raise QueueFull(f"{self._limit} questions wait already: wait for an answer, or cancel one")
            self._waiting.append(asked)
            self._changed.notify_all()
        self.tell()
        return asked

    def cancel(self, asked: QueuedQuestion) -> None:
        """Call off one question: one that waits ends at once, a running one at the next safe moment."""
        asked.canceled = True
        self._end_waiting(asked, Answer(abstained=True, error=ErrorCode.CANCELED, message="canceled while it waited"))
        if self._running is asked:
            self.agent.ports.navigator.cancel()

    def cancel_all(self) -> None:
        """Call off what waits and what runs."""
        running = self._running
        for asked in (*self._line(), *([running] if running is not None else [])):
            self.cancel(asked)

    def tell(self) -> None:
        """Tell those that wait their places."""
        with self._changed:  # or one would hear that it waits after its turn has come
            for place, asked in enumerate(self._waiting, start=1):
                asked.asker.progress(Progress("queued", place=place))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Wait until the running question has ended, and begin none meanwhile; what was judged for others is forgotten.
        """
        with self._changed:
            self._pauses += 1
            self._changed.wait_for(lambda: self._running is None)
        try:
            yield
        finally:
            with self._changed:
                for asked in self._waiting:
                    self._prepare(asked)
                self._pauses -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Call everything off and begin nothing more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.cancel_all()

    def _prepare(self, asked: QueuedQuestion) -> None:
        """Give a question its episode, not begun yet."""
        ports = self.agent.ports
        meter = MeteredAnswerer(ports.answerer, self._paying)
        asked.episode = self.agent.episode(ports._replace(answerer=meter), asked.question, asked.asker.progress,
                                           lambda: asked.canceled)
        asked.waiting = Waiting(asked.episode)

    def _line(self) -> list[QueuedQuestion]:
        with self._changed:
            return list(self._waiting)

    def _work(self) -> None:
        while (asked := self._next()) is not None:
            try:
                self._answer(asked)
            except Exception:  # of who was told; the next question is not theirs
                traceback.print_exc()
            finally:
                with self._changed:
                    self._running = None
                    self._changed.notify_all()

    def _next(self) -> QueuedQuestion | None:
        """Wait for the next question and take it out of the line; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or (self._waiting and not self._pauses))
            if self._closed:
                return None
            self._running = self._waiting.pop(0)
            return self._running

    def _answer(self, asked: QueuedQuestion) -> None:
        self.tell()
        with self._sharing():
            try:
                asked.asker.begins()
                answer = asked.episode.run()
            except EqaError as error:
                answer = Answer(abstained=True, error=error.code, message=str(error))
            except Exception as error:  # whoever asked must hear of it, and the next one be answered
                answer = internal(error)
            asked.asker.ends(answer)

    @contextmanager
    def _sharing(self) -> Iterator[None]:
        """Meanwhile judge what comes into view for those that wait."""
        if not self.agent.config.answer_waiting:
            yield
            return
        with background_task("waiting", self._share):
            yield

    def _share(self, over: threading.Event) -> None:
        while not over.wait(self.agent.config.look_s):
            for asked in self._line():
                if over.is_set():
                    return
                try:
                    answer = asked.waiting.consider()
                except Exception as error:  # as in its own turn
                    answer = internal(error)
                if answer is not None:
                    self._end_waiting(asked, answer)

    def _end_waiting(self, asked: QueuedQuestion, answer: Answer) -> None:
        """End a question unless its turn has come, or its end, meanwhile."""
        with self._changed:
            if asked not in self._waiting:
                return
            self._waiting.remove(asked)
        asked.asker.ends(answer)
        self.tell()


def internal(error: Exception) -> Answer:
    """Return the end of a question that a fault of ours ended."""
    return Answer(abstained=True, error=ErrorCode.INTERNAL, message=repr(error))
