"""A spoken question on the console's page: Chromium's microphone plays a file, and the words stand in the field."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.testing.waiting import until
from tests.fixtures.browser import SIZES, browser, overflow, served_page
from tests.fixtures.console_server import serving
from tests.fixtures.voices import SAID, espeak, wav

SCRIPTED = "tests.fixtures.voices:Scripted"


def hearing(file: object) -> tuple[str, ...]:
    """Return the arguments of a Chromium whose microphone plays a file, again and again unless it ends with %noloop."""
    return ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
            f"--use-file-for-fake-audio-capture={file}")


def spoken(page: Any, seconds: float) -> None:
    """Record for some seconds: as long as a question is said."""
    page.click("#mic")
    page.wait_for_selector('#mic[aria-pressed="true"]')
    page.wait_for_timeout(1000 * seconds)
    page.click("#mic")


@SIZES
def test_words_are_shown_before_they_are_asked(tmp_path: Path, size: tuple[int, int]) -> None:
    (tmp_path / "tone.wav").write_bytes(wav(3.0, 48_000))
    with serving(tmp_path, recogniser=SCRIPTED) as (server, _, robot), \
            browser(hearing(tmp_path / "tone.wav")) as chromium, served_page(chromium, server.url, size) as page:
        page.evaluate("window.read = []; speechSynthesis.getVoices = () => [{}]; "
                      "speechSynthesis.speak = said => { read.push(said.text); }; 0")
        page.check("#speak")
        spoken(page, 1.0)
        page.wait_for_selector("#voice:has-text('Check the words')")
        assert page.input_value("#text") == SAID and robot.asked == [] and overflow(page) == 0
        page.fill("#text", "Where is my kettle?")
        robot.go.set()
        page.press("#text", "Enter")
        page.wait_for_selector("article.ended")
        assert robot.asked == ["Where is my kettle?"] and page.is_hidden("#voice")
        until(lambda: page.evaluate("read.includes('in the study')"), "the answer is read aloud")


def test_the_page_says_why_it_cannot_listen(tmp_path: Path) -> None:
    with serving(tmp_path, recogniser="moonshin") as (server, _, _robot), browser() as chromium, \
            served_page(chromium, server.url) as page:
        page.click("#mic")
        page.wait_for_selector("#voice:has-text('did you mean moonshine')")
        page.evaluate("Object.defineProperty(navigator, 'mediaDevices', {value: undefined})")  # as over plain HTTP
        page.click("#mic")
        page.wait_for_selector("#voice:has-text('only to pages over HTTPS or on localhost')")


def test_a_real_recogniser_understands_the_browser(tmp_path: Path) -> None:
    pytest.importorskip("moonshine_voice", reason="moonshine-voice is not installed: pip install 'eqa-nodes[voice]'")
    file = espeak(SAID, tmp_path / "said.wav")
    with serving(tmp_path) as (server, _, _robot), browser(hearing(f"{file}%noloop")) as chromium, \
            served_page(chromium, server.url) as page:
        spoken(page, 5.0)
        page.wait_for_selector("#voice:has-text('Check the words')")
        assert page.input_value("#text") == SAID
