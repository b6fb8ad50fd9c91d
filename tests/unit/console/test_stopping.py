"""With --dead-man the robot is stopped when no page is open any more, and the pages say so."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import threading
from pathlib import Path

import pytest

from eqa_nodes.console.app import PageWatch
from eqa_nodes.core.errors import ConfigError, ErrorCode, NodeLost
from eqa_nodes.testing.waiting import WAIT_S, until
from tests.fixtures.console_browser import Browser
from tests.fixtures.console_server import ended, serving


class Bench:
    """A watch whose clock and robot belong to the test."""

    def __init__(self) -> None:
        self.time, self.busy, self.stops = 100.0, True, 0
        self.fault: NodeLost | None = None
        self.watch = PageWatch(4.0, lambda: self.busy, self.stop, lambda: self.time)

    def stop(self) -> None:
        self.stops += 1
        if self.fault is not None:
            raise self.fault

    def check(self, after_s: float) -> int:
        self.time += after_s
        self.watch.check()
        return self.stops


def test_silence_stops_the_robot_while_a_question_waits_or_runs() -> None:
    bench = Bench()
    assert bench.check(3.9) == 0
    bench.watch.alive()
    assert bench.check(3.9) == 0 and bench.check(0.2) == 1 and "4 s: the robot was stopped" in bench.watch.trouble
    bench.watch.alive()
    assert bench.watch.trouble == "" and bench.check(1.0) == 1
    bench.busy = False
    assert bench.check(100.0) == 1


def test_a_stop_that_fails_is_shown_and_repeated() -> None:
    bench = Bench()
    bench.fault = NodeLost("nobody serves ask")
    assert bench.check(5.0) == 1 and "could not be stopped: nobody serves ask" in bench.watch.trouble
    bench.fault = None
    assert bench.check(1.0) == 2 and "was stopped" in bench.watch.trouble


def test_a_limit_out_of_range_is_refused() -> None:
    for limit_s in (-1.0, 1.9, 3601.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="--dead-man is"):
            PageWatch(limit_s, lambda: True, lambda: None)
    for limit_s in (0.0, 2.0, 3600.0):
        assert PageWatch(limit_s, lambda: True, lambda: None).limit_s == limit_s


def test_a_page_that_dies_stops_the_robot(tmp_path: Path) -> None:
    with serving(tmp_path, dead_man_s=2.0) as (server, page, robot):
        browser = Browser(server.url)
        assert browser.ask("/questions", {"text": "Where is the desk?"}).status == 200
        assert browser.ask("/alive", {}).status == 200
        assert robot.stopped.wait(WAIT_S)  # no page sends /alive any more
        ended(page, 1)
        answer = page.questions.entry(1).answer
        assert answer is not None and answer.error is ErrorCode.CANCELED
        until(lambda: "no page was open for 2 s" in page.watch.trouble)


def test_nothing_is_stopped_by_default(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with serving(tmp_path):
        assert all(thread.name != "page watch" for thread in set(threading.enumerate()) - before)
