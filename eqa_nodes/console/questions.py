"""Questions: sent to the robot in order, waiting in its queue, and kept with their answers and evidence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from urllib.parse import quote

from eqa_nodes.bench.report.pictures import outlines, proof_picture
from eqa_nodes.bench.running.runner import KeptRun
from eqa_nodes.console.live import Feed
from eqa_nodes.console.values import ASKING, ENDED, WAITING, Entry, Proof, RequestRefused, WatchedRobot
from eqa_nodes.core.answerers.common import check_question
from eqa_nodes.core.errors import BadQuestion, EqaError, ErrorCode, StorageError
from eqa_nodes.core.language.conversation import Conversations
from eqa_nodes.core.storage.text import shown_name
from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Evidence, Question
from eqa_nodes.core.types.samples import EpisodeResult
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.wire.image_files import shrunk

MAX_WAITING, KEPT = 20, 60  # maximum number of waiting questions; of ended ones on the page
PROOF_PX = 960  # maximum width of a picture
_CLOSE_S = 2.0  # time for a robot to receive the cancellation of its questions


class Questions:
    """The queue and the history of questions; `begin` sets the robot, `close` ends it.

    Waiting questions are sent to the robot too, each by its own thread: what it sees for one can answer another.
    """

    def __init__(self, feed: Feed, template: Question,
                 keep: Callable[[Entry, EpisodeTrace], None] = lambda entry, trace: None) -> None:
        """template: its limits and seed are used; keep: called with each ended question and its trace."""
        self._feed, self._template, self._keep_entry = feed, template, keep
        self._entries: dict[int, Entry] = {}
        self._next = 1
        self._turn = threading.Condition()
        self._keeping = threading.Lock()
        self._closing = False
        self._conversations = Conversations()
        self._threads: list[threading.Thread] = []

    def begin(self, robot: WatchedRobot) -> None:
        """Send the robot the waiting questions and later ones."""
        self._start(self._give, robot)

    def close(self) -> None:
        """Cancel running and waiting questions, and wait up to _CLOSE_S for each to end."""
        with self._turn:
            self._closing = True
            for entry in self._entries.values():
                entry.cancel.set()
            self._turn.notify_all()
        for thread in self._threads:
            thread.join(_CLOSE_S)

    def entries(self) -> list[Entry]:
        """Return the questions, the newest first."""
        with self._turn:
            return list(self._entries.values())[::-1]

    def entry(self, number: int) -> Entry:
        """Return a question. Raises RequestRefused."""
        with self._turn:
            if number not in self._entries:
                raise RequestRefused(f"there is no question {number} (any more)", 404)
            return self._entries[number]

    def put(self, text: str, may_explore: bool = True, show: bool = False, chat: str = "") -> Entry:
        """Add a question to the queue. Raises RequestRefused if it is not a question or too many wait.

        chat: name of the client's conversation, to whose last question "it" and "there" refer; "" = none.
        """
        try:
            words = check_question(text)
        except BadQuestion as error:
            raise RequestRefused(str(error), 400) from error
        with self._turn:
            if sum(e.state == WAITING for e in self._entries.values()) >= MAX_WAITING:
                raise RequestRefused(f"{MAX_WAITING} questions wait already: wait for an answer, or take one back")
            conversation = self._conversations.of(chat)
            text = conversation.question(words)
            question = self._template._replace(text=text, id=f"console-{self._next}", may_explore=may_explore,
                                                       show=show)
            entry = self._entries[self._next] = Entry(self._next, question, "" if text == words else words,
                                                      conversation)
            self._next += 1
            for old in [e.id for e in self._entries.values() if e.state == ENDED][:-KEPT]:
                del self._entries[old]
            self._turn.notify_all()
        self._feed.ring()
        return entry

    def cancel(self, number: int) -> None:
        """Cancel a waiting or running question; one that has ended stays as it is."""
        entry = self.entry(number)
        with self._turn:
            if entry.state == WAITING and not entry.given:
                entry.state = ENDED
                entry.answer = Answer(abstained=True, error=ErrorCode.CANCELED, message="taken back before it began")
            elif entry.state != ENDED:
                entry.stopping = True
                entry.cancel.set()
        self._feed.ring()

    def stop(self, robot: WatchedRobot | None) -> None:
        """Cancel all questions: waiting ones, the running one, and those of other clients. Raises EqaError."""
        for entry in self.entries():
            with suppress(RequestRefused):  # it has ended and is no longer on the page
                self.cancel(entry.id)
        if robot is not None:
            robot.stop()

    def busy(self) -> bool:
        """Return whether a question waits or runs."""
        return any(entry.state != ENDED for entry in self.entries())

    def _start(self, work: Callable[..., None], *args: object) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(threading.Thread(target=work, args=args, name="questions", daemon=True))
        self._threads[-1].start()

    def _give(self, robot: WatchedRobot) -> None:
        """Send the robot one question after the other, each after the robot has acknowledged the previous one."""
        while (entry := self._next_entry()) is not None:
            self._start(self._follow, robot, entry)
            with self._turn:
                while not self._closing and entry.progress is None and entry.state != ENDED and entry.given:
                    self._turn.wait()

    def _next_entry(self) -> Entry | None:
        """Wait for the next question to send; None at the end."""
        with self._turn:
            while not self._closing:
                for entry in self._entries.values():
                    if entry.state == WAITING and not entry.given:
                        entry.given = True
                        return entry
                self._turn.wait()
        return None

    def _follow(self, robot: WatchedRobot, entry: Entry) -> None:
        """Follow one question from the robot's queue to its end, which is reached even after a failure."""
        answer = self._answer(robot, entry)
        try:
            self._keep(robot, entry, answer)
        except (EqaError, OSError) as error:  # a full disk loses the replay, not the answer
            entry.trouble = f"this episode was not kept for replay: {error}"
        except Exception as error:  # nor may a bug lose the answer
            entry.trouble = f"this episode was not kept for replay: {error!r}"
        finally:
            with self._turn:
                entry.state, entry.answer, entry.stopping = ENDED, answer, False
                entry.conversation.answered(entry.question.text, answer.text)
                self._turn.notify_all()
            self._feed.ring()

    def _keep(self, robot: WatchedRobot, entry: Entry, answer: Answer) -> None:
        """Collect the evidence of the answer, and save the episode unless it was cancelled before it began."""
        if robot.live.trace().question == entry.question.text:
            robot.live.answered(answer)  # also if the graph died before it published the answer
        text = entry.question.text
        calls = [call for call in robot.live.trace(text).calls if call.question == text]
        entry.proofs = tuple(proof_of(robot, e, calls) for e in answer.evidence)
        if entry.state != WAITING or answer.error is not ErrorCode.CANCELED:
            with self._keeping:
                self._keep_entry(entry, _trace(robot, entry, answer))

    def _answer(self, robot: WatchedRobot, entry: Entry) -> Answer:
        def listen(progress: Progress) -> None:
            with self._turn:
                entry.progress = progress
                entry.state = WAITING if progress.phase == "queued" else ASKING
                self._turn.notify_all()
            self._feed.ring()

        entry.place = robot.place
        try:
            return robot.ask(entry.question, listen, entry.cancel)
        except EqaError as error:
            return Answer(abstained=True, error=error.code, message=str(error))
        except Exception as error:  # a bug must not block all later questions: the page shows it
            return Answer(abstained=True, error=ErrorCode.INTERNAL, message=repr(error))


def proof_of(robot: WatchedRobot, evidence: Evidence, calls: Sequence[ModelCall] = ()) -> Proof:
    """Return the picture of a piece of evidence, or the reason why there is none. calls: of its question."""
    try:
        view = robot.view(evidence)
        return Proof(evidence, shrunk(proof_picture(view, evidence.note, calls), PROOF_PX),
                     view.region or view.caption, outlines(view, evidence.note))
    except (EqaError, OSError) as error:
        return Proof(evidence, b"", trouble=f"its picture cannot be shown: {error}")
    except Exception as error:  # caused by a peer, such as an unexpected picture or label
        return Proof(evidence, b"", trouble=f"its picture cannot be shown: {error!r}")


def _trace(robot: WatchedRobot, entry: Entry, answer: Answer) -> EpisodeTrace:
    """Return the trace of a question, including the views of the evidence."""
    text = entry.question.text
    trace = replace(robot.live.trace(text), grid=robot.grid(), question=text, answer=answer)
    there = {(view.id, view.stamp_ns) for view in trace.keyframes}
    for evidence in answer.evidence:
        if (evidence.keyframe_id, evidence.stamp_ns) not in there:
            try:
                trace.keyframes.append(robot.view(evidence))
            except EqaError:
                continue  # the entry's proof gives the reason
    trace.keyframes.sort(key=lambda view: view.stamp_ns)
    return trace


def keeping(run: KeptRun) -> Callable[[Entry, EpisodeTrace], None]:
    """Return a function that saves an ended entry in a run directory, and sets entry.replay to its place there.

    The function raises StorageError and OSError.
    """
    def keep(entry: Entry, trace: EpisodeTrace) -> None:
        if trace.answer is None:
            raise StorageError(f"question {entry.id} has no answer yet")
        last = trace.poses[-1][1] if trace.poses else None
        at = run.keep(entry.question.text, entry.place, EpisodeResult("", trace.answer, last, trace))
        entry.replay = f"{quote(shown_name(run.out.resolve()))}/{at}"
    return keep
