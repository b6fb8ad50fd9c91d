"""Recordings of a page: who may send them, and how large they may be."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import base64
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import pytest

from eqa_nodes.console.app import RECORDINGS
from eqa_nodes.console.web import rules_for
from eqa_nodes.core.components import RECOGNISERS
from eqa_nodes.testing.waiting import WAIT_S
from eqa_nodes.voice.recogniser import Sound
from tests.fixtures.console_browser import Browser
from tests.fixtures.console_server import serving
from tests.fixtures.voices import SAID, wav

SCRIPTED = "tests.fixtures.voices:Scripted"


def sent(sound: bytes) -> dict[str, str]:
    """Return what a page sends."""
    return {"wav": base64.b64encode(sound).decode()}


def test_words_come_back_and_nothing_is_asked(tmp_path: Path) -> None:
    with serving(tmp_path, recogniser=SCRIPTED) as (server, _, robot):
        browser = Browser(server.url)
        assert browser.ask("/speech").json == {"most_s": 20.0}
        assert browser.ask("/speech", sent(wav(20.2))).json == {"text": SAID}
        assert robot.asked == []


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path, recogniser=SCRIPTED) as (server, _, _robot):
        for body, status, why in (
                ({}, 400, "WAV file in base64"), ({"wav": "&&&&"}, 400, "WAV file in base64"),
                ({"wav": "ä"}, 400, "base64"), (sent(b"no sound"), 400, "not a WAV file"),
                (sent(wav(22.0)), 400, "lasts 22.0 s"), (sent(wav(40.0)), 413, "at most 1000000 bytes")):
            reply = Browser(server.url).ask("/speech", body)
            assert reply.status == status and why in reply.json["error"]


def test_speech_needs_the_token(tmp_path: Path) -> None:
    with serving(tmp_path, rules_for("127.0.0.1", True), recogniser=SCRIPTED) as (server, _, _robot):
        browser = Browser(server.url)
        assert browser.ask("/speech").status == browser.ask("/speech", sent(wav())).status == 401


def test_a_recogniser_that_is_absent_has_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqa_nodes.voice.recogniser.find_spec", lambda name: None)
    with serving(tmp_path) as (server, _, _robot):
        reply = Browser(server.url).ask("/speech")
        assert reply.status == 409 and "pip install 'eqa-nodes[voice]'" in reply.json["error"]


def test_a_slow_recogniser_holds_up_nobody(tmp_path: Path) -> None:
    go = threading.Event()

    class Slow:
        """Recognises when it is told to."""

        def recognise(self, sound: Sound) -> str:
            go.wait(WAIT_S)
            return SAID

    RECOGNISERS["slow"] = Slow
    try:
        with serving(tmp_path, recogniser="slow") as (server, _, _robot), ThreadPoolExecutor(RECORDINGS + 3) as pages:
            browser = Browser(server.url)
            replies = as_completed(pages.submit(browser.ask, "/speech", sent(wav())) for _ in range(RECORDINGS + 3))
            assert [next(replies).result().status for _ in range(3)] == [503] * 3
            assert browser.ask("/live/camera.jpg").status == 200 and browser.ask("/stop", {}).status == 200
            go.set()
            assert [page.result().json for page in replies] == [{"text": SAID}] * RECORDINGS
    finally:
        go.set()
        del RECOGNISERS["slow"]
