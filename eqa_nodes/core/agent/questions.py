"""The queue of questions: the agent answers them one at a time, in order of arrival (see core/agent/episode.py).

The agent drives ports (core/protocols.py): objects in process; topics, services and actions in the graph.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol, TypeVar

from eqa_nodes.core.agent.config import ASKING, AgentConfig
from eqa_nodes.core.agent.episode import Episode
from eqa_nodes.core.agent.resolving import read_as
from eqa_nodes.core.agent.stopping import make_stop
from eqa_nodes.core.answerers.common import check_asked
from eqa_nodes.core.errors import EqaError, ErrorCode, QueueFull
from eqa_nodes.core.language.directions import split_directions
from eqa_nodes.core.language.english import wish
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.inquiries import GO
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Question

__all__ = ["Agent", "AgentConfig", "Ports", "Progress", "QuestionQueue"]

QUEUE_LIMIT = 32  # maximum number of waiting questions
T = TypeVar("T", int, float)
Listener = Callable[[Progress], None]


class Agent:
    """Answers one question at a time."""

    def __init__(self, ports: Ports, config: AgentConfig | None = None,
                 listener: Listener = lambda progress: None, drive: str = GO) -> None:
        """drive: one of DRIVE_MODES. Raises ConfigError if the calibration is unreadable or does not reach the risk."""
        self.ports = ports
        self.config = config or AgentConfig()
        self._stop = make_stop(self.config.enough, self.config.calibration, self.config.risk)
        self._listener, self._drive = listener, drive
        self._canceled = False

    def ask(self, question: Question) -> Answer:
        """Answer a question. Never raises EqaError: a failure is an Answer with code, message and what was found.

        Limits are enforced within a drive and within a model's turn too.
        """
        self._canceled = False
        return self.episode(question, self._listener, lambda: self._canceled).run()

    def episode(self, question: Question, listener: Listener, canceled: Callable[[], bool],
                turn: AbstractContextManager[object] = nullcontext()) -> Episode:
        """Return the episode of a question, not begun yet. turn: see Episode."""
        limits = question.limits
        limits = limits._replace(tokens=_tighter(limits.tokens, self.config.max_tokens),
                                 money=_tighter(limits.money, self.config.max_money))
        return Episode(self.ports, self.config, self._stop, as_meant(question._replace(limits=limits)), listener,
                       canceled, self._drive, turn)

    def cancel(self) -> None:
        """Cancel the running question at the next safe moment."""
        self._canceled = True
        self.ports.navigator.cancel()


def _tighter(a: T, b: T) -> T:
    """Return the smaller of two limits; 0 means no limit."""
    return min(a, b) if a and b else a or b


def as_meant(question: Question) -> Question:
    """Return the question without directions in its text, which are stated apart, and a wish to see something as one.

    "Go to the kitchen. Is the oven off?" -> directions, and "Is the oven off?"; "Show me the mug" -> "Where is the
    mug?".
    """
    if not question.instruction:
        directions, text = split_directions(question.text)
        question = question._replace(text=text, instruction=directions)
    text = "" if question.choices else wish(question.text)
    return question._replace(text=text, show=True) if text else question


class WaitingQuestion:
    """Answers a waiting question without moving, if memory or what is seen in the meantime is enough.

    A question that asks for a drive, is about the past, is ambiguous or fails is left to its episode.
    """

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._begun = False  # whether memory was asked
        self._hopeless = False  # what is seen in the meantime cannot answer it

    def consider(self) -> Answer | None:
        """Return the answer from memory and from what was seen since then; None while that is not enough."""
        if self._hopeless or self._episode.config.explore != ASKING:
            return None
        try:
            with self._episode.ledger.apart():
                answer = self._considered()
        except EqaError:  # the episode will fail with the same error and report it
            self._hopeless, answer = True, None
        if answer is not None:
            answer.receipt, answer.understood = self._episode.ledger.receipt(), read_as(self._episode.question)
        return answer

    def _considered(self) -> Answer | None:
        episode = self._episode
        if self._begun:
            enough = not episode.ledger.reached() and episode.strategy.answered()
        else:
            check_asked(episode.question)
            if (refused := episode.memory.refused()) is not None:
                self._hopeless = refused.abstained and episode.unclear(refused=True)
                return None if self._hopeless else refused
            self._begun = True
            self._hopeless = (episode.question.show or episode.unclear() or episode.memory.asks_of_then()
                              or episode.memory.recollection() is not None)
            episode.answers.views.leave_to_recall()
            enough = not self._hopeless and not episode.ledger.reached() and (
                episode.memory.answer_from_views() is not None)
        answer = episode.answers.last
        return answer if enough and answer is not None and not episode.memory.stale(answer.evidence) else None


class QuestionObserver(Protocol):
    """Receives the progress and the end of a question. Called from the queue's threads; must not block for long."""

    def progress(self, progress: Progress) -> None:
        """Receive the progress of the question, including its place in the queue (phase "queued")."""

    def begins(self) -> None:
        """Receive the start of the question. An EqaError raised here ends the question."""

    def ends(self, answer: Answer) -> None:
        """Receive the result, once: an answer, an abstention or a named error; `begins` may not have been called."""


class QueuedQuestion:
    """A question in the queue."""

    def __init__(self, question: Question, asker: QuestionObserver) -> None:
        self.question, self.asker = question, asker
        self.canceled = False
        self.episode: Episode  # both set by the queue
        self.waiting: WaitingQuestion


class QuestionQueue:
    """Answers questions in order of arrival, each with its own costs. Thread-safe; call `close` at the end.

    While one runs, waiting ones are answered as soon as memory or a new view suffices (agent.answer_waiting).
    """

    def __init__(self, agent: Agent, limit: int = QUEUE_LIMIT) -> None:
        self.agent, self._limit = agent, limit  # a new agent, with other settings, applies to later questions
        self._turn = threading.Lock()  # only one question at a time may use the answerer
        self._changed = threading.Condition()
        self._waiting: list[QueuedQuestion] = []
        self._running: QueuedQuestion | None = None
        self._pauses, self._closed = 0, False
        self._worker = threading.Thread(target=self._work, name="questions", daemon=True)
        self._worker.start()

    @property
    def full(self) -> bool:
        """Return whether the queue is full."""
        return len(self._waiting) >= self._limit

    def put(self, question: Question, asker: QuestionObserver) -> QueuedQuestion:
        """Add a question to the queue. Raises QueueFull."""
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
        """Cancel one question: a waiting one ends at once, a running one at the next safe moment."""
        asked.canceled = True
        self._end_waiting(asked, Answer(abstained=True, error=ErrorCode.CANCELED, message="canceled while it waited"))
        if self._running is asked:
            self.agent.ports.navigator.cancel()

    def cancel_all(self) -> None:
        """Cancel all waiting questions and the running one."""
        running = self._running
        for asked in (*self._line(), *([running] if running is not None else [])):
            self.cancel(asked)

    def tell(self) -> None:
        """Report to the waiting questions their places in the queue."""
        with self._changed:  # so that none is reported as queued after it has begun
            for place, asked in enumerate(self._waiting, start=1):
                asked.asker.progress(Progress("queued", place=place))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Wait until the running question has ended and begin no other inside; judgements for waiting ones are dropped.
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
        """Cancel all questions and stop the worker."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.cancel_all()

    def _prepare(self, asked: QueuedQuestion) -> None:
        """Create the episode of a question, not begun yet."""
        asked.episode = self.agent.episode(asked.question, asked.asker.progress, lambda: asked.canceled, self._turn)
        asked.waiting = WaitingQuestion(asked.episode)

    def _line(self) -> list[QueuedQuestion]:
        with self._changed:
            return list(self._waiting)

    def _work(self) -> None:
        while (asked := self._next()) is not None:
            try:
                self._answer(asked)
            except Exception:  # raised by the observer; the next question must still run
                traceback.print_exc()
            finally:
                with self._changed:
                    self._running = None
                    self._changed.notify_all()

    def _next(self) -> QueuedQuestion | None:
        """Wait for the next question and remove it from the queue; None once the queue is closed."""
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
            except Exception as error:  # the asker must be informed, and the next question must still run
                answer = internal(error)
            asked.asker.ends(answer)

    @contextmanager
    def _sharing(self) -> Iterator[None]:
        """Judge new views for the waiting questions in the background."""
        if not self.agent.config.answer_waiting:
            yield
            return
        over = threading.Event()
        with ThreadPoolExecutor(1, "waiting") as pool:
            done = pool.submit(self._share, over)
            try:
                yield
            finally:
                over.set()
            done.result()  # raises its error

    def _share(self, over: threading.Event) -> None:
        while not over.wait(self.agent.config.look_s):
            for asked in self._line():
                if over.is_set():
                    return
                try:
                    answer = asked.waiting.consider()
                except Exception as error:  # handled as in `_answer`
                    answer = internal(error)
                if answer is not None:
                    self._end_waiting(asked, answer)

    def _end_waiting(self, asked: QueuedQuestion, answer: Answer) -> None:
        """End a waiting question, unless it has begun or ended in the meantime."""
        with self._changed:
            if asked not in self._waiting:
                return
            self._waiting.remove(asked)
        asked.asker.ends(answer)
        self.tell()


def internal(error: Exception) -> Answer:
    """Return the result of a question that ended with an internal error."""
    return Answer(abstained=True, error=ErrorCode.INTERNAL, message=repr(error))
