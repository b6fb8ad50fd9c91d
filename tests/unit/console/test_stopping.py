"""A robot is stopped when all pages have fallen silent, and the page says so."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import threading
from pathlib import Path

import pytest

from eqa_nodes.console.stopping import DeadMan
from eqa_nodes.core.errors import ConfigError, ErrorCode, NodeLost
from eqa_nodes.testing.waiting import WAIT_S, until
from tests.fixtures.console_browser import Browser
from tests.fixtures.console_server import ended, serving


class Bench:
    """A dead man whose clock and robot are the test's."""

    def __init__(self, limit_s: float = 4.0, does: str = "stop") -> None:
        self.back: list[float] = []
        self.acts = {"stop": self.stop, "pause": self.stop, "back": lambda: self.back.append(self.time)}
        self.time, self.open, self.stops = 100.0, True, 0
        self.fault: NodeLost | None = None
        self.man = DeadMan(limit_s, lambda: self.open, self.acts, does, lambda: self.time)

    def stop(self) -> None:
        self.stops += 1
        if self.fault is not None:
            raise self.fault

    def look(self, after_s: float) -> int:
        self.time += after_s
        self.man.look()
        return self.stops


def test_silence_stops_the_robot_while_something_is_asked() -> None:
    bench = Bench()
    assert bench.look(3.9) == 0
    bench.man.alive()
    assert bench.look(3.9) == 0 and bench.look(0.2) == 1 and "4 s: the robot was stopped" in bench.man.trouble
    bench.man.alive()
    assert bench.man.trouble == "" and bench.look(1.0) == 1
    bench.open = False
    assert bench.look(100.0) == 1


def test_a_stop_that_fails_is_told_and_tried_again() -> None:
    bench = Bench()
    bench.fault = NodeLost("nobody serves ask")
    assert bench.look(5.0) == 1 and "could not be stopped: nobody serves ask" in bench.man.trouble
    bench.fault = None
    assert bench.look(1.0) == 2 and "was stopped" in bench.man.trouble


@pytest.mark.parametrize("limit_s", [-1.0, 1.9, 3601.0, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_refused(limit_s: float) -> None:
    with pytest.raises(ConfigError, match="--dead-man is"):
        DeadMan(limit_s, lambda: True, {})


def test_a_page_that_dies_stops_the_robot(tmp_path: Path) -> None:
    with serving(tmp_path, dead_man_s=2.0) as (server, page, robot):
        browser = Browser(server.url)
        assert browser.ask("/questions", {"text": "Where is the desk?"}).status == 200
        assert browser.ask("/alive", {}).status == 200
        assert robot.stopped.wait(WAIT_S)  # nobody is there any more
        ended(page, 1)
        answer = page.questions.entry(1).answer
        assert answer is not None and answer.error is ErrorCode.CANCELED
        until(lambda: "no page was open for 2 s" in page.dead_man.trouble)


def test_nothing_is_stopped_unless_it_is_asked_for(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with serving(tmp_path) as (_, page, _robot):
        assert page.dead_man.limit_s == 0.0
        assert all(thread.name != "dead man" for thread in set(threading.enumerate()) - before)


def test_a_page_that_is_back_ends_a_pause_once() -> None:
    bench = Bench(does="pause")
    assert bench.look(5.0) == 1 and "no page was open for 4 s: the robot stands still" in bench.man.trouble
    bench.man.alive()
    bench.man.alive()
    assert bench.back == [105.0] and bench.man.trouble == ""


def test_a_report_stops_nothing() -> None:
    bench = Bench(does="report")
    assert bench.look(5.0) == bench.look(5.0) == 0
    assert bench.man.trouble == "no page was open for 4 s: the question goes on"


def test_a_paused_question_is_asked_again_when_a_page_is_back(tmp_path: Path) -> None:
    with serving(tmp_path, dead_man_s=2.0, page_lost="pause") as (server, page, robot):
        browser = Browser(server.url)
        assert browser.ask("/questions", {"text": "Where is the desk?"}).status == 200
        entry = page.questions.entry(1)
        until(lambda: entry.paused and not entry.given)  # nobody is there any more: the robot was told to let go of it
        assert entry.state == "waiting" and not robot.stopped.is_set()
        robot.go.set()
        assert browser.ask("/alive", {}).status == 200
        until(lambda: entry.state == "ended")
        assert entry.answer is not None and entry.answer.text == "in the study"


def test_a_paused_question_can_be_taken_back(tmp_path: Path) -> None:
    with serving(tmp_path, dead_man_s=2.0, page_lost="pause") as (server, page, _):
        browser = Browser(server.url)
        browser.ask("/questions", {"text": "Where is the desk?"})
        entry = page.questions.entry(1)
        until(lambda: entry.paused and not entry.given)
        assert browser.ask("/questions/1/cancel", {}).status == 200
        assert entry.state == "ended" and entry.answer is not None and entry.answer.error is ErrorCode.CANCELED
