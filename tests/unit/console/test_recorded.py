"""A recording in the robot's place: one question after the other, proofs that stay, questions that are called off."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import io
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.cli import main
from eqa_nodes.console.live import Live
from eqa_nodes.console.questions import proof_of
from eqa_nodes.console.recorded import RecordedRobot
from eqa_nodes.console.values import RequestRefused, shown_live
from eqa_nodes.core.errors import ErrorCode, StorageError
from eqa_nodes.core.types.calls import CallPicture, ModelCall
from eqa_nodes.core.types.measures import with_point
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Question
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.runners.history import ANSWERING
from eqa_nodes.testing.waiting import WAIT_S, until
from tests.fixtures.console_server import ANSWER, STORY


class Reader:
    """An EpisodeRunner that answers when it may, and tells what it reads."""

    def __init__(self, listener: Callable[[str], None]) -> None:
        self.listener, self.go, self.asked = listener, threading.Event(), list[str]()
        self.fault: Exception | None = None
        self.answer, self.story = ANSWER, STORY

    def run(self, sample: Sample) -> EpisodeResult:
        self.asked.append(sample.question)
        self.listener("tour: frame 3 of 40")
        self.listener(ANSWERING)
        assert self.go.wait(WAIT_S)
        if self.fault is not None:
            raise self.fault
        return EpisodeResult(sample.id, self.answer, None, self.story)

    def blind(self, sample: Sample) -> Answer:
        return Answer(abstained=True)

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def readers() -> list[Reader]:
    return []


@pytest.fixture
def robot(readers: list[Reader]) -> RecordedRobot:
    def opened(listener: Callable[[str], None]) -> Reader:
        readers.append(Reader(listener))
        return readers[0]

    return RecordedRobot("tour", opened, lambda: None)


def asking(robot: RecordedRobot, text: str, heard: list[Progress], cancel: threading.Event) -> tuple[
        threading.Thread, list[Answer]]:
    """Ask in a thread; the list gets the answer."""
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(robot.ask(Question(text), heard.append, cancel)),
                              daemon=True)
    thread.start()
    return thread, answers


def test_an_answer_comes_with_its_proofs_and_the_whole_path(robot: RecordedRobot, readers: list[Reader]) -> None:
    heard: list[Progress] = []
    readers[0].go.set()
    for text in ("Where is the desk?", "And now?"):  # the second path does not begin where the first one ended
        assert robot.ask(Question(text), heard.append, threading.Event()) == ANSWER
        shown = robot.live.trace()
        assert (shown.question, shown.poses, shown.answer) == (text, STORY.poses, ANSWER)
    assert robot.view(ANSWER.evidence[0]) == STORY.keyframes[6]
    assert [(p.phase, p.reason) for p in heard] == [
        ("queued", ""), ("reading", ""), ("reading", "frame 3 of 40"), ("answering", "")] * 2
    assert shown_live(robot)["recorded"] and robot.grid() is None and robot.surfaces() is None


def test_two_choices_of_views_may_number_different_pictures_alike(
        robot: RecordedRobot, readers: list[Reader]) -> None:
    readers[0].go.set()
    robot.ask(Question("When did you see the desk?"), lambda progress: None, threading.Event())
    desk = STORY.keyframes[6]
    door = replace(desk, stamp_ns=desk.stamp_ns + 1, jpeg=b"a door")
    proof = ANSWER.evidence[0]._replace(stamp_ns=door.stamp_ns)
    readers[0].answer = replace(ANSWER, evidence=(proof,))
    readers[0].story = replace(STORY, keyframes=[door])
    robot.ask(Question("Is the door open?"), lambda progress: None, threading.Event())
    assert robot.view(proof) == door and robot.view(ANSWER.evidence[0]) == desk


def test_before_the_first_answer_there_is_no_picture(robot: RecordedRobot, readers: list[Reader]) -> None:
    robot.live.began("Where is the desk?")
    assert shown_live(robot)["map"] == 0  # the page would show an empty one
    robot.live.told(STORY)
    assert shown_live(robot)["map"] == robot.live.version
    with pytest.raises(RequestRefused, match="no view of the recording"):
        robot.camera()
    with pytest.raises(StorageError, match="ask again"):
        robot.view(ANSWER.evidence[0])


def test_questions_wait_for_one_another_and_can_be_called_off(robot: RecordedRobot, readers: list[Reader]) -> None:
    cancel, waiting = threading.Event(), list[Progress]()
    first, answers = asking(robot, "One?", [], threading.Event())
    until(lambda: readers[0].asked == ["One?"])
    second, canceled = asking(robot, "Two?", waiting, cancel)
    until(lambda: bool(waiting))
    cancel.set()
    second.join(WAIT_S)
    assert [a.error for a in canceled] == [ErrorCode.CANCELED] and readers[0].asked == ["One?"]
    readers[0].go.set()
    first.join(WAIT_S)
    assert answers == [ANSWER]


def test_stop_drops_what_runs_and_what_waits(robot: RecordedRobot, readers: list[Reader]) -> None:
    heard: list[Progress] = []
    first, answers = asking(robot, "One?", [], threading.Event())
    until(lambda: readers[0].asked == ["One?"])
    second, waiting = asking(robot, "Two?", heard, threading.Event())
    until(lambda: bool(heard))
    robot.stop()
    second.join(WAIT_S)
    readers[0].go.set()
    first.join(WAIT_S)
    assert [a.error for a in (*answers, *waiting)] == [ErrorCode.CANCELED] * 2
    assert robot.ask(Question("Three?"), heard.append, threading.Event()) == ANSWER  # a stop ends what was asked before


def test_a_recording_that_breaks_off_lets_the_next_question_in(robot: RecordedRobot, readers: list[Reader]) -> None:
    readers[0].go.set()
    readers[0].fault = StorageError("tour cannot be read")
    with pytest.raises(StorageError, match="tour cannot be read"):
        robot.ask(Question("One?"), lambda progress: None, threading.Event())
    assert not robot.live.running
    readers[0].fault = None
    assert robot.ask(Question("Two?"), lambda progress: None, threading.Event()) == ANSWER


def test_a_trace_is_told_at_once_and_stays_bounded() -> None:
    live = Live(lambda: None)
    live.began("Where?")
    long = [(i, pose) for i in range(500) for _, pose in STORY.poses[:12]]
    live.told(type(STORY)("Where?", long))
    assert len(live.trace().poses) <= 4000 and live.trace().poses[0] == long[0] and live.trace().poses[-1] == long[-1]


@pytest.mark.parametrize(("words", "complaint"), [
    (["--history", "nowhere"], "there is no nowhere"),
    (["--history", ".", "--attach"], "a recording drives nothing"),
    (["--history", ".", "--scene", "house:3"], "a recording drives nothing"),
    (["--episode", "q-3", "--format", "stray"], "--episode and --format need --history PATH"),
    (["--history", "."], "holds no episode history")])
def test_what_cannot_be_asked_is_said_before_the_page_is_served(
        words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["console", *words]) != 0
    assert complaint in capsys.readouterr().err and not list(tmp_path.iterdir())


def ringed(jpeg: bytes) -> bool:
    """Whether a picture holds the colour of the ring round what a model pointed at."""
    with Image.open(io.BytesIO(jpeg)) as image:
        return bool((np.abs(np.asarray(image.convert("RGB")).astype(int) - (245, 158, 11)).sum(axis=2) < 90).sum() > 50)


def test_the_picture_of_the_newest_answer_shows_what_the_model_pointed_at(
        robot: RecordedRobot, readers: list[Reader]) -> None:
    readers[0].go.set()
    robot.ask(Question("Where is the desk?"), lambda progress: None, threading.Event())
    plain = robot.camera()
    pointed = ANSWER.evidence[0]._replace(note=with_point("desk", (0.5, 0.5)))
    readers[0].answer = replace(ANSWER, evidence=(pointed,))
    robot.ask(Question("And where is it now?"), lambda progress: None, threading.Event())
    assert not ringed(plain) and ringed(robot.camera()) and robot.pictures == 2
    assert ringed(proof_of(robot, pointed).jpeg) and not ringed(proof_of(robot, ANSWER.evidence[0]).jpeg)


def test_a_call_of_the_question_says_where_its_proof_is(robot: RecordedRobot, readers: list[Reader]) -> None:
    readers[0].go.set()
    robot.ask(Question("Where is the desk?"), lambda progress: None, threading.Event())
    e = ANSWER.evidence[0]
    call = ModelCall(1, e.pose, "Where is the desk?", "decide", (CallPicture(e.keyframe_id, points=((90.0, 90.0),)),))
    assert ringed(proof_of(robot, e, [call]).jpeg)
