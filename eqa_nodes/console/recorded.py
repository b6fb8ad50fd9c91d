"""A recording instead of a robot on the console: it answers questions, and nothing drives."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from eqa_nodes.bench.report.pictures import proof_picture
from eqa_nodes.console.live import Live
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.errors import ConfigError, ErrorCode, StorageError
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Evidence, Question, Recalled
from eqa_nodes.core.types.samples import EpisodeResult, EpisodeRunner, Sample
from eqa_nodes.core.types.views import Cloud, Keyframe
from eqa_nodes.runners.history import ANSWERING

_TURN_S = 0.1  # period at which a waiting question checks whether it was cancelled
_VIEWS = 500  # maximum number of kept views, including those of earlier answers
_READING = "reading"
CANCELED = Answer(abstained=True, error=ErrorCode.CANCELED, message="canceled by the caller")


class RecordedRobot:
    """Answers from an episode history, one question after the other. Implements WatchedRobot.

    A question that is cancelled while it is being answered ends with the answer, which is dropped: a running model call
    cannot be cancelled.
    """

    recorded = True

    def __init__(self, name: str, open_runner: Callable[[Callable[[str], None]], EpisodeRunner],
                 ring: Callable[[], None]) -> None:
        """name: name of the recording. open_runner: takes a progress listener and returns the runner that answers.

        Raises EqaError if the runner cannot be opened.
        """
        self.place, self.live = name, Live(ring)
        self.pictures = self.clouds = 0
        self._listener: Callable[[Progress], None] = lambda progress: None
        self._turn, self._waiting, self._stops = threading.Lock(), list[object](), 0
        self._views: OrderedDict[tuple[int, int], Keyframe] = OrderedDict()  # by id and stamp: each choice of
        # views of a recording, such as those of its memory, is numbered anew
        self._shown = b""
        self._runner = open_runner(self._hear)

    def ask(self, question: Question, listener: Callable[[Progress], None], cancel: threading.Event) -> Answer:
        mine, stops = object(), self._stops
        self._waiting.append(mine)

        def called_off() -> bool:
            return cancel.is_set() or self._stops != stops

        try:
            listener(Progress("queued", place=len(self._waiting)))
            while not self._turn.acquire(timeout=_TURN_S):
                if called_off():
                    return CANCELED
        finally:
            self._waiting.remove(mine)
        try:
            if called_off():
                return CANCELED
            self._listener = listener
            listener(Progress(_READING))
            self.live.began(question.text)
            answer = self._told(question, called_off)
            self.live.answered(answer)
            return answer
        finally:
            self._turn.release()

    def reply(self, inquiry: str, option: int) -> None:
        raise ConfigError("a recording asks nothing back: ask again, in other words")

    def stop(self) -> None:
        self._stops += 1

    def view(self, evidence: Evidence) -> Keyframe:
        view = self._views.get((evidence.keyframe_id, evidence.stamp_ns))
        if view is None:
            raise StorageError(f"the view of {evidence.stamp_ns / 1e9:.1f} s is not kept any more: ask again")
        return view

    def recall(self, text: str, limit: int) -> list[Recalled]:
        raise StorageError("a recording has no memory that can be searched here: ask a question about it")

    def camera(self) -> bytes:
        if not self._shown:
            raise RequestRefused("no view of the recording has proved an answer yet", 404)
        return self._shown

    def grid(self) -> GridMap | None:
        return None

    def surfaces(self) -> Cloud | None:
        return None

    def close(self) -> None:
        self._runner.close()

    def _hear(self, text: str) -> None:
        """Pass the runner's progress to the listener, without the recording's name, which the page shows already."""
        now = text.removeprefix(f"{self.place}: ")
        self._listener(Progress(ANSWERING) if now == ANSWERING else Progress(_READING, reason=now))

    def _told(self, question: Question, called_off: Callable[[], bool]) -> Answer:
        try:
            result = self._runner.run(Sample(question.id, question.text, ""))
        except Exception:
            self.live.answered(Answer(abstained=True, error=ErrorCode.INTERNAL))
            raise
        if called_off():
            return CANCELED
        self._show(result)
        return result.answer

    def _show(self, result: EpisodeResult) -> None:
        """Keep the views of an answer, and show the path and the best view."""
        trace = result.trace
        if trace is None:
            return
        self.live.told(trace)
        for view in trace.keyframes:
            self._views[view.id, view.stamp_ns] = view
            self._views.move_to_end((view.id, view.stamp_ns))
        while len(self._views) > _VIEWS:
            self._views.popitem(last=False)
        proof = next(iter(result.answer.evidence), None)
        best = next((k for k in trace.keyframes if proof and k.id == proof.keyframe_id), None)
        if proof is not None and best is not None:
            self._shown, self.pictures = proof_picture(best, proof.note, trace.calls), self.pictures + 1
