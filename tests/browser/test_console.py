"""The console's page in Chromium over a scripted robot: what hostile texts, abstentions and errors look like."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.types.inquiries import MAY_I_DRIVE, Inquiry
from eqa_nodes.core.types.questions import Answer, Evidence
from eqa_nodes.testing.waiting import WAIT_S, until
from sim_bridge.registry import sample_questions
from tests.fixtures.browser import PHONE, SCREEN, browser, overflow
from tests.fixtures.console_server import ANSWER, DESK, STORY, FakeRobot, ended, serving
from tests.fixtures.synthetic_run import asked

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>' + "W" * 300
NO_ANSWER = Answer(abstained=True, message="nothing was seen that bears on the question; no way leads further")
FAILED = Answer(abstained=True, error=ErrorCode.NODE_LOST, message="memory did not answer: does it run?")


@pytest.mark.parametrize("size", [PHONE, SCREEN], ids=["phone", "screen"])
def test_texts_stay_texts_and_ends_are_told_honestly(tmp_path: Path, size: tuple[int, int]) -> None:
    proof = Evidence(DESK.id, DESK.stamp_ns, DESK.pose, HOSTILE)
    faults: list[str] = []
    with serving(tmp_path) as (server, _, robot), browser() as chromium:
        page = chromium.new_page(viewport={"width": size[0], "height": size[1]})
        page.set_default_timeout(1000 * WAIT_S)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else 0)
        page.goto(server.url)
        page.wait_for_selector(".link.ready")
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
    assert not faults, faults


@pytest.mark.parametrize("size", [PHONE, SCREEN], ids=["phone", "screen"])
def test_a_click_on_a_sample_asks_it(tmp_path: Path, size: tuple[int, int]) -> None:
    known = sample_questions("house:3")
    with serving(tmp_path, begin=False) as (server, console, _), browser() as chromium:
        robot = FakeRobot(console.feed.ring)
        robot.place = "house:3"
        console.begin(robot)
        page = chromium.new_page(viewport={"width": size[0], "height": size[1]})
        page.set_default_timeout(1000 * WAIT_S)
        page.goto(server.url)
        page.wait_for_selector(".sample")
        assert page.locator(".sample").all_text_contents() == list(known) and overflow(page) == 0
        robot.go.set()
        page.click(".sample >> nth=1")
        page.wait_for_selector(f"article.ended h2:has-text('{known[1]}')")
        assert robot.asked == [known[1]] and page.input_value("#text") == ""


def test_a_place_that_knows_no_samples_shows_none(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, _robot), browser() as chromium:
        page = chromium.new_page()
        page.set_default_timeout(1000 * WAIT_S)
        with page.expect_response("**/samples") as reply:
            page.goto(server.url)
        assert reply.value.json() == []
        page.wait_for_selector(".link.ready")
        assert not page.is_visible("#samples")


def test_what_is_refused_is_said_and_the_text_stays(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, _robot), browser() as chromium:
        page = chromium.new_page()
        page.set_default_timeout(1000 * WAIT_S)
        page.goto(server.url)
        page.fill("#text", "???")
        page.click("button.main")
        page.wait_for_selector("#alert:has-text('ask something in words')")
        assert page.input_value("#text") == "???"


def test_an_open_page_keeps_the_robot_going_and_one_that_dies_stops_it(tmp_path: Path) -> None:
    with serving(tmp_path, dead_man_s=2.0) as (server, console, robot), browser() as chromium:
        beats, alive = list[int](), console.watch.alive
        console.watch.alive = lambda: (beats.append(1), alive())[1]  # type: ignore[method-assign]
        page = chromium.new_page()
        page.set_default_timeout(1000 * WAIT_S)
        page.goto(server.url)
        page.wait_for_selector(".link.ready")
        page.fill("#text", "Where is the desk?")
        page.click("button.main")
        page.wait_for_selector("article.asking")
        until(lambda: len(beats) > 3)
        page.close()
        assert robot.stopped.wait(WAIT_S)
        ended(console, 1)


def test_a_page_that_has_lost_the_console_still_shows_the_stop(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, robot), browser() as chromium:
        page = chromium.new_page()
        page.set_default_timeout(1000 * WAIT_S)
        page.route("**/events", lambda route: route.abort())
        page.goto(server.url)
        page.wait_for_selector(".link.lost")
        page.click("#stop")
        assert robot.stopped.wait(WAIT_S)


@pytest.mark.parametrize("size", [PHONE, SCREEN], ids=["phone", "screen"])
def test_the_newest_call_of_the_model_is_shown_while_the_question_runs(tmp_path: Path, size: tuple[int, int]) -> None:
    story, faults = asked(), list[str]()
    with serving(tmp_path) as (server, _, robot), browser() as chromium:
        page = chromium.new_page(viewport={"width": size[0], "height": size[1]})
        page.set_default_timeout(1000 * WAIT_S)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(server.url)
        page.wait_for_selector(".link.ready")
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
        assert overflow(page) <= 0 and not faults
        robot.live.answered(NO_ANSWER)
        page.wait_for_selector("#call", state="hidden")


def test_a_lost_network_is_shown_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, _robot), browser() as chromium:
        context = chromium.new_context()
        page = context.new_page()
        page.set_default_timeout(1000 * WAIT_S)
        page.goto(server.url)
        page.wait_for_selector(".link.ready")
        context.set_offline(True)
        page.wait_for_selector(".link.lost")
        page.wait_for_selector("#alert:has-text('cannot be reached')")
        assert page.is_visible("#stop")
        context.set_offline(False)
        page.wait_for_selector(".link.ready")


def test_a_console_that_hangs_is_shown_although_its_connection_stands(tmp_path: Path) -> None:
    """A network that drops everything closes nothing: only the silence shows it."""
    with serving(tmp_path) as (server, console, _), browser() as chromium:
        page = chromium.new_page()
        page.set_default_timeout(1000 * WAIT_S)
        page.goto(server.url)
        page.wait_for_selector(".link.ready")
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


@pytest.mark.parametrize("size", [PHONE, SCREEN], ids=["phone", "screen"])
def test_the_robot_asks_and_a_tap_replies(tmp_path: Path, size: tuple[int, int]) -> None:
    options = ("yes", "no, look elsewhere", HOSTILE)
    inquiry = Inquiry("a1", MAY_I_DRIVE, f"May I drive 3.2 m to {HOSTILE}?", options, WAIT_S)
    with serving(tmp_path) as (server, _, robot), browser() as chromium:
        page = chromium.new_page(viewport={"width": size[0], "height": size[1]})
        page.set_default_timeout(1000 * WAIT_S)
        page.goto(server.url)
        page.wait_for_selector(".link.ready")
        assert not page.is_visible("#inquiry")
        robot.inquire(inquiry)
        page.wait_for_selector("#choices button >> nth=2")
        assert page.text_content("#inquiry-text").startswith("May I drive 3.2 m to <img")
        assert "without a reply it does not drive" in page.text_content("#inquiry-left")
        assert overflow(page) == 0 and page.title() == "Ask the robot"
        page.click("#choices button >> nth=1")
        page.wait_for_selector("#inquiry", state="hidden")
        assert robot.replies == [("a1", 2)]
