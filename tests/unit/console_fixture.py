"""A robot for tests of the console: its camera, map and answers are scripted, and it drives only when told."""

from __future__ import annotations

from tests.console import need_console

need_console()

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from eqa_nodes.console.app import Console
from eqa_nodes.console.feed import Feed
from eqa_nodes.console.guard import AccessRules
from eqa_nodes.console.kept import KeptRun
from eqa_nodes.console.live import Live
from eqa_nodes.console.past import Past
from eqa_nodes.console.questions import Options, Questions
from eqa_nodes.console.server import ConsoleServer, rules_for
from eqa_nodes.core.agent.agent import Progress
from eqa_nodes.core.errors import ErrorCode, StorageError
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.questions import Answer, Evidence, Question, Receipt
from eqa_nodes.core.types.views import Keyframe
from tests.unit.synthetic_run import grid, jpeg, trace

WAIT_S = 60.0  # a deadline that a busy machine does not miss
STORY = trace("Where is the desk?", None)
DESK = STORY.keyframes[6]
ANSWER = Answer("in the study", 0.9, evidence=(Evidence(DESK.id, DESK.stamp_ns, DESK.pose, "desk"),),
                receipt=Receipt(12, 3.5, 4.0, 2, 800, 40, ("labels",), 0.02))


class FakeRobot:
    """Implements Robot. `go` lets a question end, `driving` says that one runs; it answers, or raises, `answer`."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self.place, self.pictures, self.live = "toy:fake", 1, Live(ring)
        self.answer: Answer | Exception = ANSWER
        self.go, self.driving, self.asked = threading.Event(), threading.Event(), list[str]()
        self.lost_views = False
        self._line, self.stopped = list[object](), threading.Event()

    def ask(self, question: Question, listener: Callable[[Progress], None], cancel: threading.Event) -> Answer:
        question.text.encode()  # a ROS message raises for what is no text
        mine = object()
        self._line.append(mine)
        listener(Progress("queued", place=len(self._line)))
        try:
            while self._line[0] is not mine:
                if cancel.wait(0.02) or self.stopped.is_set():
                    return Answer(abstained=True, error=ErrorCode.CANCELED, message="canceled while it waited")
            return self._drive(question, listener, cancel)
        finally:
            self._line.remove(mine)

    def _drive(self, question: Question, listener: Callable[[Progress], None], cancel: threading.Event) -> Answer:
        self.asked.append(question.text)
        self.live.began(question.text)
        for stamp, pose in STORY.poses[:12]:
            self.live.moved(stamp, pose)
        self.live.decided(STORY.decisions[0])
        listener(Progress("driving", 12, 3.5, reason=STORY.decisions[0].reason))
        self.driving.set()
        while not self.go.wait(0.02):
            if cancel.is_set() or self.stopped.is_set():
                return Answer(abstained=True, error=ErrorCode.CANCELED, message="canceled by the caller")
        if isinstance(self.answer, Exception):
            raise self.answer
        self.live.answered(self.answer)
        return self.answer

    def stop(self) -> None:
        self.stopped.set()

    def view(self, evidence: Evidence) -> Keyframe:
        if self.lost_views:
            raise StorageError("memory has no view of 12.0 s (any more)")
        return DESK

    def camera(self) -> bytes:
        return jpeg(self.pictures, "camera")

    def grid(self) -> GridMap | None:
        return grid()

    def close(self) -> None:
        """Nothing to let go of."""


@contextmanager
def serving(out: Path, rules: AccessRules | None = None, begin: bool = True,
            dead_man_s: float = 0.0) -> Iterator[tuple[ConsoleServer, Console, FakeRobot]]:
    """A console with a fake robot on a free port of this machine; what is asked is kept in out/own."""
    feed = Feed()
    with closing(KeptRun(out / "own")) as kept:
        questions = Questions(feed, Options(Question(""), kept.keep))
        console = Console(feed, questions, Past(out, kept.out), rules or rules_for("127.0.0.1", ask_token=False),
                          dead_man_s)
        robot = FakeRobot(feed.ring)
        with closing(ConsoleServer(console, "127.0.0.1", 0)) as server, closing(questions):
            if begin:
                console.begin(robot)
            yield server, console, robot


def ended(console: Console, number: int) -> None:
    """Wait for the end of a question. Fails at the deadline."""
    until(lambda: console.questions.entry(number).state == "ended")


def until(done: Callable[[], bool]) -> None:
    """Wait for what is to be. Fails at the deadline."""
    pause = threading.Event()
    for _ in range(round(WAIT_S / 0.02)):
        if done():
            return
        pause.wait(0.02)
    raise AssertionError("it did not come")
