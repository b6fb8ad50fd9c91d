"""The console's page in Chromium over a scripted robot: what hostile texts, abstentions and errors look like."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.console.web import rules_for
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.types.inquiries import MAY_I_DRIVE, Inquiry
from eqa_nodes.core.types.questions import Answer, Evidence
from eqa_nodes.testing.waiting import WAIT_S, until
from sim_bridge.registry import sample_questions
from tests.fixtures.browser import SIZES, browser, overflow, served_page
from tests.fixtures.console_server import ANSWER, DESK, STORY, FakeRobot, ended, serving
from tests.fixtures.synthetic_run import asked

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>' + "W" * 300
NO_ANSWER = Answer(abstained=True, message="nothing was seen that bears on the question; no way leads further")
FAILED = Answer(abstained=True, error=ErrorCode.NODE_LOST, message="memory did not answer: does it run?")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@SIZES
def test_texts_stay_texts_and_ends_are_told_honestly(chromium: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    proof = Evidence(DESK.id, DESK.stamp_ns, DESK.pose, HOSTILE)
    with serving(tmp_path) as (server, _, robot), served_page(chromium, server.url, size) as page:
        robot.go.set()
        for number, answer in enumerate((NO_ANSWER, FAILED, replace(ANSWER, text=HOSTILE, evidence=(proof,))), 1):
            robot.answer = answer
            page.fill("#text", f"{number} {HOSTILE}")
            page.click("button.main")
            page.wait_for_selector(f"article.ended h2:has-text('{number} <img')")
        robot.live.decided(STORY.decisions[0]._replace(reason=HOSTILE))
        robot.live.refused(HOSTILE)
        robot.live.changed()
        page.wait_for_selector("#goals li:has-text('onerror')")
        page.wait_for_selector("#refused:has-text('onerror')")
        assert all("onerror" in page.text_content(part) for part in ("#current .answer", ".proof figcaption"))
        assert page.text_content("#entries .answer.none") == "I do not know."
        assert "no way leads further" in page.text_content("#entries article:last-child")
        assert page.text_content("#entries .error b") == "node lost"
        assert "does it run?" in page.text_content("#entries .error")
        assert page.locator("main script, main img[src=x]").count() == 0 and page.title() == "Ask the robot"
        assert overflow(page) == 0


@SIZES
def test_a_click_on_a_sample_asks_it(chromium: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    known = sample_questions("house:3")
    with serving(tmp_path, begin=False) as (server, console, _):
        robot = FakeRobot(console.feed.ring)
        robot.place = "house:3"
        console.begin(robot)
        with served_page(chromium, server.url, size, ".sample") as page:
            assert page.locator(".sample").all_text_contents() == list(known) and overflow(page) == 0
            robot.go.set()
            page.click(".sample >> nth=1")
            page.wait_for_selector(f"article.ended h2:has-text('{known[1]}')")
            assert robot.asked == [known[1]] and page.input_value("#text") == ""


def test_a_place_without_samples_shows_none_and_a_refused_question_stays_in_the_field(
        chromium: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, _robot), served_page(chromium, server.url) as page:
        page.fill("#text", "???")
        page.click("button.main")
        page.wait_for_selector("#alert:has-text('I see no words')")
        assert page.input_value("#text") == "???" and not page.is_visible("#samples")


def test_a_page_without_the_link_asks_for_the_token(chromium: Any, tmp_path: Path) -> None:
    with serving(tmp_path, rules_for("127.0.0.1", ask_token=True)) as (server, _, _robot):
        address, _, token = server.url.partition("enter#")
        with served_page(chromium, address, ready="#token") as page:
            page.fill("#token", "guess")
            page.keyboard.press("Enter")
            page.wait_for_selector("#alert:has-text('not the console')")
            page.fill("#token", token)
            page.keyboard.press("Enter")
            page.wait_for_selector(".link.ready")
            assert "#" not in page.url and "enter" not in page.url


def test_an_open_page_keeps_the_robot_going_and_one_that_dies_stops_it(chromium: Any, tmp_path: Path) -> None:
    with serving(tmp_path, dead_man_s=2.0) as (server, console, robot):
        beats, alive = list[int](), console.watch.alive
        console.watch.alive = lambda: (beats.append(1), alive())[1]  # type: ignore[method-assign]
        with served_page(chromium, server.url) as page:
            page.fill("#text", "Where is the desk?")
            page.click("button.main")
            page.wait_for_selector("article.asking")
            until(lambda: len(beats) > 3)
        assert robot.stopped.wait(WAIT_S)
        ended(console, 1)


def test_a_page_that_has_lost_the_console_still_shows_the_stop(chromium: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, robot), served_page(chromium, server.url) as page:
        page.route("**/events", lambda route: route.abort())
        page.reload()
        page.wait_for_selector(".link.lost")
        page.click("#stop")
        assert robot.stopped.wait(WAIT_S)


@SIZES
def test_the_newest_call_of_the_model_is_shown_while_the_question_runs(
        chromium: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    story = asked()
    with serving(tmp_path) as (server, _, robot), served_page(chromium, server.url, size) as page:
        assert page.is_hidden("#call")
        robot.live.began("Where is the cup?")
        for view in story.keyframes:
            robot.live.saw(view)
        robot.live.called(story.calls[0]._replace(reasons=HOSTILE))
        page.wait_for_selector("#call blockquote:has-text('onerror')")
        loaded = "() => [...document.querySelectorAll('#call img')].every(i => i.complete && i.naturalWidth)"
        until(lambda: page.evaluate(loaded), "the pictures are loaded")  # waiting in the page would need its eval
        assert page.locator("#call img").count() == 2 and page.locator("#call .proves").count() == 1
        robot.live.decided(story.decisions[0])
        page.wait_for_selector("#call .went:has-text('the robot goes here')")
        assert overflow(page) <= 0
        robot.live.answered(NO_ANSWER)
        page.wait_for_selector("#call", state="hidden")


def test_a_lost_network_is_shown_at_once(chromium: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, _robot), served_page(chromium, server.url) as page:
        page.context.set_offline(True)
        page.wait_for_selector(".link.lost")
        page.wait_for_selector("#alert:has-text('cannot be reached')")
        assert page.is_visible("#stop")
        page.context.set_offline(False)
        page.wait_for_selector(".link.ready")


def test_a_console_that_hangs_is_shown_although_its_connection_stands(chromium: Any, tmp_path: Path) -> None:
    """A network that drops everything closes nothing: only the silence shows it."""
    with serving(tmp_path) as (server, console, _), served_page(chromium, server.url) as page:
        hanging = threading.Event()
        state = console._state

        def silent() -> dict[str, object]:
            hanging.wait(WAIT_S)
            return state()

        console._state = silent  # type: ignore[method-assign]
        try:
            page.wait_for_selector(".link.lost")
        finally:
            hanging.set()
        page.wait_for_selector(".link.ready")


@SIZES
def test_the_robot_asks_and_a_tap_replies(chromium: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    options = ("yes", "no, look elsewhere", HOSTILE)
    inquiry = Inquiry("a1", MAY_I_DRIVE, f"May I drive 3.2 m to {HOSTILE}?", options, WAIT_S)
    with serving(tmp_path) as (server, _, robot), served_page(chromium, server.url, size) as page:
        assert not page.is_visible("#inquiry")
        robot.inquire(inquiry)
        page.wait_for_selector("#choices button >> nth=2")
        assert page.text_content("#inquiry-text").startswith("May I drive 3.2 m to <img")
        assert "without a reply it does not drive" in page.text_content("#inquiry-left")
        assert overflow(page) == 0 and page.title() == "Ask the robot"
        page.click("#choices button >> nth=1")
        page.wait_for_selector("#inquiry", state="hidden")
        assert robot.replies == [("a1", 2)]
