"""What the console shows, and the protocol of what it shows it of."""

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
    """The page asked for something that cannot be done; status: of the HTTP reply."""

    def __init__(self, message: str, status: int = 409) -> None:
        super().__init__(message)
        self.status = status


class WatchedRobot(Protocol):
    """What is asked and watched. All methods may be called from any thread, `ask` by several: questions wait there."""

    recorded: bool  # a recording stands in the robot's place: nothing drives
    place: str  # what the page calls the place that the robot is in
    live: Live  # what happened since the newest question, whoever asked it
    pictures: int  # of the camera, so far
    clouds: int  # reconstructions that were received, so far

    def ask(self, question: Question, listener: Callable[[Progress], None], cancel: threading.Event) -> Answer:
        """Ask and wait for the answer; setting `cancel` calls this question off. Raises EqaError."""

    def reply(self, inquiry: str, option: int) -> None:
        """Reply to what the robot asks (live.inquiry), by its id and the number of an option. Raises EqaError."""

    def stop(self) -> None:
        """Call off every question, also those of others. Raises EqaError."""

    def view(self, evidence: Evidence) -> Keyframe:
        """Return the view that is the evidence. Raises EqaError."""

    def recall(self, text: str, limit: int) -> list[Recalled]:
        """Return remembered views that fit a text, best first; limit 0: all of them, oldest first. Raises EqaError."""

    def camera(self) -> bytes:
        """Return the newest picture of the camera as JPEG. Raises EqaError, also while there is none."""

    def grid(self) -> GridMap | None:
        """Return the newest map, None while there is none."""

    def surfaces(self) -> Cloud | None:
        """Return the newest reconstruction, None while there is none. Raises EqaError for one that cannot be read."""

    def close(self) -> None:
        """Let go of it; a running question is called off."""


class Proof(NamedTuple):
    """A picture that proves an answer. jpeg: empty = it is not there any more, and `trouble` says why."""

    evidence: Evidence
    jpeg: bytes
    where: str = ""
    outlines: tuple[Outline, ...] = ()
    trouble: str = ""


@dataclass
class Entry:
    """A question of the page. asked: wall clock, seconds since 1970; trouble: what went wrong beside the answer.

    given: the robot has it; place: where it was asked; replay: run and number by which the page finds the episode, "" =
    it was not kept.
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
    stopping: bool = False  # it was called off, and its end is awaited
    cancel: threading.Event = field(default_factory=threading.Event)
