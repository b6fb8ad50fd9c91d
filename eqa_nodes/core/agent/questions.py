"""Questions wait in order of arrival; the agent answers one at a time, and core/agent/episode.py orders each of them.

The agent drives ports (core/protocols.py): objects in process; topics, services and actions in the graph.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol, TypeVar

from eqa_nodes.core.agent.config import ASKING, AgentConfig
from eqa_nodes.core.agent.episode import Episode
from eqa_nodes.core.agent.stopping import make_stop
from eqa_nodes.core.answerers.common import check_question
from eqa_nodes.core.background import background_task
from eqa_nodes.core.errors import EqaError, ErrorCode, QueueFull
from eqa_nodes.core.language.english import wish
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.inquiries import GO
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Question

__all__ = ["Agent", "AgentConfig", "Ports", "Progress", "QuestionQueue"]

QUEUE_LIMIT = 32  # questions that may wait
T = TypeVar("T", int, float)
Listener = Callable[[Progress], None]


class Agent:
    """Answers one question at a time."""

    def __init__(self, ports: Ports, config: AgentConfig | None = None,
                 listener: Listener = lambda progress: None, drive: str = GO) -> None:
        """drive: one of DRIVE_MODES. Raises ConfigError for a calibration that cannot be read, or a risk beyond it."""
        self.ports = ports
        self.config = config or AgentConfig()
        self._stop = make_stop(self.config.enough, self.config.calibration, self.config.risk)
        self._listener, self._drive = listener, drive
        self._canceled = False

    def ask(self, question: Question) -> Answer:
        """Answer a question. Never raises EqaError: a failure is an Answer with its code, message and what was found.

        No limit is exceeded: they hold inside a drive and inside a model's turn.
        """
        self._canceled = False
        return self.episode(question, self._listener, lambda: self._canceled).run()

    def episode(self, question: Question, listener: Listener, canceled: Callable[[], bool],
                turn: AbstractContextManager[object] = nullcontext()) -> Episode:
        """Return the episode of a question, not begun yet. turn: as Episode takes it."""
        limits = question.limits
        limits = limits._replace(tokens=_tighter(limits.tokens, self.config.max_tokens),
                                 money=_tighter(limits.money, self.config.max_money))
        return Episode(self.ports, self.config, self._stop, understood(question._replace(limits=limits)), listener,
                       canceled, self._drive, turn)

    def cancel(self) -> None:
        """End the running question at the next safe moment."""
        self._canceled = True
        self.ports.navigator.cancel()


def _tighter(a: T, b: T) -> T:
    """Return the smaller of two limits; 0 is none."""
    return min(a, b) if a and b else a or b


def understood(question: Question) -> Question:
    """Return the question with a wish to be shown something as what it asks: "Show me the mug" -> "Where is the mug?"
    """
    text = "" if question.choices else wish(question.text)
    return question._replace(text=text, show=True) if text else question


class WaitingQuestion:
    """Answers one question before its episode begins, without moving, if memory or what is seen meanwhile is enough.

    A question that asks for a drive, is about the past, is unclear, or fails is left to its episode.
    """

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._begun = False  # memory was asked
        self._hopeless = False  # what is seen meanwhile cannot answer it

    def consider(self) -> Answer | None:
        """Return the answer from memory and from what was seen since; None while that is not enough."""
        if self._hopeless or self._episode.config.explore != ASKING:
            return None
        try:
            with self._episode.ledger.apart():
                answer = self._considered()
        except EqaError:  # the episode will fail by it, and say so
            self._hopeless, answer = True, None
        if answer is not None:
            answer.receipt = self._episode.ledger.receipt()
        return answer

    def _considered(self) -> Answer | None:
        episode = self._episode
        if self._begun:
            enough = not episode.ledger.reached() and episode.strategy.answered()
        else:
            check_question(episode.question.text)
            if (refused := episode.memory.refused()) is not None:
                return refused
            self._begun = True
            self._hopeless = episode.question.show or episode.unclear() or episode.memory.recollection() is not None
            episode.answers.views.leave_to_recall()
            enough = not self._hopeless and not episode.ledger.reached() and (
                episode.memory.answer_from_views() is not None)
        answer = episode.answers.last
        return answer if enough and answer is not None and not episode.memory.stale(answer.evidence) else None


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
        self.waiting: WaitingQuestion


class QuestionQueue:
    """Answers questions in order of arrival; each costs what is done for it alone. Any thread may call; use `close`.

    While one is worked on, those that wait are answered as soon as memory or a new view does (agent.answer_waiting).
    """

    def __init__(self, agent: Agent, limit: int = QUEUE_LIMIT) -> None:
        self.agent, self._limit = agent, limit  # another agent, with other settings, is that of later questions
        self._turn = threading.Lock()  # one question at a time asks the answerer
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
        asked.episode = self.agent.episode(asked.question, asked.asker.progress, lambda: asked.canceled, self._turn)
        asked.waiting = WaitingQuestion(asked.episode)

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
