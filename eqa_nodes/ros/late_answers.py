"""Answers that the middleware gave up are sent again in a thread of their own.

On a busy machine a client whose requests arrive may be discovered in full only seconds later. An executor that waited
for it would serve nobody else meanwhile, and answers to many requests of one client would wait one after the other.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from rclpy._rclpy_pybind11 import InvalidHandle

ANSWER_S = 10.0  # how long an answer is tried: so long a client waits to hear that its goal is accepted
PAUSE_S = 0.1  # after an attempt that failed, for others to send: the attempt itself has waited as long


class Unsent(NamedTuple):
    """An answer that was given up.

    send: tries once and returns whether the middleware took the answer; ended: is told whether it ever did; end:
    deadline by the monotonic clock.
    """

    send: Callable[[], bool]
    ended: Callable[[bool], None]
    end: float


class LateAnswers:
    """Sends answers in turn until each is taken or its deadline has passed."""

    def __init__(self) -> None:
        self._lock, self._working = threading.Lock(), False
        self._waiting: deque[Unsent] = deque()

    def put(self, send: Callable[[], bool], ended: Callable[[bool], None]) -> None:
        """Add an answer, as of `Unsent`; return at once."""
        with self._lock:
            self._waiting.append(Unsent(send, ended, time.monotonic() + ANSWER_S))
            if self._working:
                return
            self._working = True
        threading.Thread(target=self._work, name="late answers", daemon=True).start()

    def _work(self) -> None:
        """Send until nothing is left. After an answer that was taken, the next one follows at once."""
        while (answer := self._next()) is not None:
            try:
                if not self._ended(answer):
                    time.sleep(PAUSE_S)
            except Exception:  # of whoever hears of the end: other answers are not theirs
                traceback.print_exc()

    def _next(self) -> Unsent | None:
        with self._lock:
            self._working = bool(self._waiting)
            return self._waiting.popleft() if self._waiting else None

    def _ended(self, answer: Unsent) -> bool:
        """Try once; return whether that was the last attempt. An answer that is tried again is last in the line."""
        try:
            sent, over = answer.send(), time.monotonic() > answer.end
        except InvalidHandle:  # its server is gone
            sent, over = False, True
        if not (sent or over):
            with self._lock:
                self._waiting.append(answer)
            return False
        answer.ended(sent)
        return True


LATE = LateAnswers()  # of this process
