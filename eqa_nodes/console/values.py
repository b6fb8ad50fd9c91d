"""Values that the console shows, and the protocol of the robots that it shows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from eqa_nodes.bench.report.outlines import Outline
from eqa_nodes.console.live import Live
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Evidence, Question, Recalled
from eqa_nodes.core.types.views import Cloud, Keyframe

WAITING, ASKING, ENDED = "waiting", "asking", "ended"


class RequestRefused(EqaError):
    """A request of the page that cannot be fulfilled; status: status of the HTTP reply."""

    def __init__(self, message: str, status: int = 409) -> None:
        super().__init__(message)
        self.status = status


class WatchedRobot(Protocol):
    """A robot that is asked and watched. All methods are thread-safe; concurrent calls of `ask` are queued."""

    recorded: bool  # True for a recording instead of a robot: nothing drives
    place: str  # name of the robot's place on the page
    live: Live  # what happened since the newest question, whoever asked it
    pictures: int  # number of camera pictures so far
    clouds: int  # number of reconstructions received so far

    def ask(self, question: Question, listener: Callable[[Progress], None], cancel: threading.Event) -> Answer:
        """Ask and wait for the answer; setting `cancel` cancels this question. Raises EqaError."""

    def reply(self, inquiry: str, option: int) -> None:
        """Reply to an inquiry of the robot (live.inquiry), by its id and the number of an option. Raises EqaError."""

    def stop(self) -> None:
        """Cancel all questions, including those of other clients. Raises EqaError."""

    def view(self, evidence: Evidence) -> Keyframe:
        """Return the view of a piece of evidence. Raises EqaError."""

    def recall(self, text: str, limit: int) -> list[Recalled]:
        """Return remembered views that match a text, best first; limit 0: all, oldest first. Raises EqaError."""

    def camera(self) -> bytes:
        """Return the newest picture of the camera as JPEG. Raises EqaError, also while there is none."""

    def grid(self) -> GridMap | None:
        """Return the newest map, None while there is none."""

    def surfaces(self) -> Cloud | None:
        """Return the newest reconstruction, None while there is none. Raises EqaError for one that cannot be read."""

    def close(self) -> None:
        """Release its resources; a running question is cancelled."""


class Proof(NamedTuple):
    """A picture that proves an answer. jpeg: empty = unavailable, for the reason in `trouble`."""

    evidence: Evidence
    jpeg: bytes
    where: str = ""
    outlines: tuple[Outline, ...] = ()
    trouble: str = ""


@dataclass
class Entry:
    """A question of the page. asked: wall clock, seconds since 1970; trouble: an error besides the answer.

    given: it was sent to the robot; place: where it was asked; replay: run and number of the episode, "" = it was not
    kept.
    """

    id: int
    question: Question
    asked: float = field(default_factory=time.time)
    state: str = WAITING
    given: bool = False
    progress: Progress | None = None
    answer: Answer | None = None
    proofs: tuple[Proof, ...] = ()
    trouble: str = ""
    place: str = ""
    replay: str = ""
    stopping: bool = False  # cancelled, but not ended yet
    cancel: threading.Event = field(default_factory=threading.Event)
