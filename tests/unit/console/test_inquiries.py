"""What the robot asks a person is on the page while it is open, and the reply goes to the robot."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import time
from pathlib import Path

from eqa_nodes.console.values import shown_live
from eqa_nodes.core.types.inquiries import MAY_I_DRIVE, Inquiry
from eqa_nodes.testing.waiting import WAIT_S
from tests.fixtures.console_browser import Browser
from tests.fixtures.console_server import ANSWER, serving

MAY_I = Inquiry("a1", MAY_I_DRIVE, "May I drive 3.2 m to the bedroom?", ("yes", "no, look elsewhere"), WAIT_S, "q", "?")


def test_it_is_shown_with_its_options_and_the_seconds_that_are_left_until_somebody_replies(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, robot):
        assert shown_live(robot)["inquiry"] is None
        robot.inquire(MAY_I)
        shown = shown_live(robot)["inquiry"]
        assert shown["text"] == MAY_I.text and shown["options"] == list(MAY_I.options) and 0 < shown["left_s"] <= WAIT_S
        browser = Browser(server.url)
        for option in (0, -1, 1.5, True, "1", None, 100, 10**30):
            assert browser.ask("/inquiries/a1", {"option": option}).status == 400 and not robot.replies
        assert browser.ask("/inquiries/a1", {"option": 2}).status == 200 and robot.replies == [("a1", 2)]
        assert shown_live(robot)["inquiry"] is None
        late = browser.ask("/inquiries/a1", {"option": 1})
        assert late.status == 409 and "waits for a reply" in late.json["error"] and len(robot.replies) == 1


def test_it_goes_with_its_deadline_the_end_of_the_question_and_the_next_one(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, _console, robot):
        robot.inquire(MAY_I._replace(deadline_s=0.01))
        end = time.monotonic() + WAIT_S
        while robot.live.inquiry() is not None:
            assert time.monotonic() < end
        robot.inquire(MAY_I)
        robot.live.answered(ANSWER)
        assert robot.live.inquiry() is None
        robot.inquire(MAY_I)
        robot.live.began("another question")
        assert robot.live.inquiry() is None
