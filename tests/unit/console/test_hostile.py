"""Clients of the console that are hostile or broken: what they send is refused, and the robot can still be stopped."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import http.client
import math
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.console.web import cookie_of, rules_for
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.testing.waiting import WAIT_S, until
from tests.fixtures.console_browser import Browser, events
from tests.fixtures.console_server import ANSWER, DESK, ended, serving

HEAD = b"POST /stop HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
ASK = HEAD.replace(b"/stop", b"/questions")
SHORT = b"Content-Length: 20\r\n\r\n{"  # the rest never arrives
HANGING = 50  # requests: more than the server has threads for them


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Any]:
    with serving(tmp_path) as (server, page, robot):
        yield Browser(server.url), page, robot


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One console for all tests that leave it as it was."""
    with serving(tmp_path_factory.mktemp("refusing")) as (server, page, robot):
        yield Browser(server.url), page, robot


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[Any]:
    """A console whose camera gives no picture until the test says so."""
    on = threading.Event()
    with serving(tmp_path, begin=False) as (server, page, robot):
        robot.camera = lambda: b"\xff" if on.wait(WAIT_S) else b""  # type: ignore[method-assign]
        page.begin(robot)
        yield Browser(server.url), page, robot, on
        on.set()


def look(browser: Browser) -> socket.socket:
    connection = dialled(browser)
    connection.sendall(b"GET /live/camera.jpg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return connection


def dialled(browser: Browser) -> socket.socket:
    host, _, port = browser.host.partition(":")
    connection = socket.create_connection((host, int(port)), WAIT_S)
    connection.settimeout(WAIT_S)
    return connection


def stops(browser: Browser, robot: Any) -> bool:
    return browser.ask("/stop", {}).status == 200 and robot.stopped.is_set()


@pytest.mark.parametrize("text", ["Where is \\ud800?", "Where is the \\udc00\\ud800 desk?", "Where\\u0000 is it?"])
def test_what_is_no_text_is_refused_and_the_next_question_is_answered(console: Any, text: str) -> None:
    browser, page, robot = console
    robot.go.set()
    reply = browser.ask("/questions", raw=b'{"text": "%s"}' % text.encode())
    assert reply.status == 400 and "invalid character" in reply.json["error"]
    number = browser.ask("/questions", {"text": "Where is the desk?"}).json["id"]
    ended(page, number)
    assert page.questions.entry(number).answer == ANSWER


@pytest.mark.parametrize("body", [
    b'{"text": %s}' % (b"9" * 5000), b'{"text": "a", "explore": NaN}', b'{"text": "\xff"}', b'{"a":' * 4000,
    b"\x00" * 50, b'{"text": "Where?", "text": 7}', b'\xff\xfe{\x00', b'"\\ud800"'])
def test_json_that_is_no_question_is_refused(refusing: Any, body: bytes) -> None:
    browser, page, _ = refusing
    reply = browser.ask("/questions", raw=body)
    assert reply.status == 400 and reply.json["error"] and page.questions.entries() == []


def test_no_fault_while_an_episode_is_kept_stops_the_next_question(tmp_path: Path,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[Exception] = [UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), ZeroDivisionError("oops"),
                               MemoryError(), OSError(28, "No space left on device")]
    with serving(tmp_path) as (_, console, robot):
        robot.go.set()
        for number, fault in enumerate(faults, 1):
            def fail(*_: object, fault: Exception = fault) -> None:
                raise fault

            for name in ("save_trace", "write_samples", "state_manifest"):
                with monkeypatch.context() as broken:
                    broken.setattr(f"eqa_nodes.bench.running.runner.{name}", fail)
                    entry = console.questions.put(f"Where is {number}?")
                    ended(console, entry.id)
                assert entry.answer == ANSWER and "not kept" in entry.trouble and entry.replay == ""
        last = console.questions.put("Where is the desk?")
        ended(console, last.id)
        assert last.trouble == "" and last.replay == "own/0"


def test_an_answer_of_half_characters_and_no_numbers_is_shown_and_kept(console: Any) -> None:
    browser, page, robot = console
    nan = math.nan
    nowhere = ANSWER.evidence[0]._replace(note="\udfff", pose=Pose2(nan, nan, nan))
    robot.answer = Answer("in \ud800", nan, evidence=(nowhere,), message="\ud83d")
    robot.go.set()
    browser.ask("/questions", {"text": "Where is the desk?"})
    ended(page, 1)
    with closing(http.client.HTTPConnection(browser.host, timeout=WAIT_S)) as connection:
        (entry,) = next(value for name, value in events(connection) if name == "questions")
    assert (entry["answer"], entry["confidence"], entry["proofs"][0]["x"]) == ("in \ud800", None, None)
    assert entry["proofs"][0]["heading"] is None and "not kept" in entry["trouble"]  # JSON files hold no NaN
    robot.answer = replace(robot.answer, confidence=0.5, evidence=())
    browser.ask("/questions", {"text": "Where is the chair?"})
    ended(page, 2)
    (kept,) = browser.ask("/runs/own").json
    assert kept["answer"] == "in \ufffd" and kept["replay"]


def test_a_picture_that_nobody_expected_is_no_end_of_the_question(console: Any,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    browser, page, robot = console
    robot.go.set()
    monkeypatch.setattr(robot, "view", lambda evidence: replace(DESK, jpeg=b"no image"))
    browser.ask("/questions", {"text": "Where is the desk?"})
    ended(page, 1)
    assert page.questions.entry(1).answer == ANSWER and "cannot be shown" in page.questions.entry(1).proofs[0].trouble


def test_bodies_without_end_are_refused(console: Any) -> None:
    browser, page, robot = console
    with dialled(browser) as connection:
        connection.sendall(ASK + b"Transfer-Encoding: chunked\r\n\r\n" + (b"1000\r\n" + b"x" * 4096 + b"\r\n") * 6)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")
    with dialled(browser) as connection:
        connection.sendall(ASK + b"Content-Length: 99999999999\r\n\r\n" + b"x" * 30_000)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")
    with dialled(browser) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: " + b"x" * 100_000)
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")
    assert page.questions.entries() == [] and stops(browser, robot)


@pytest.mark.parametrize(("path", "headers", "status"), [
    ("/runs/%ed%a0%80", {}, 404), ("/page/%ff%00", {}, 404), ("/runs/a/" + "9" * 5000, {}, 404),
    ("/questions/1/proof/999999999999999999999.jpg", {}, 404), ("/", {"Origin": "http://["}, 200),
    ("/", {"Cookie": "a=\x80; =;;\"{[", "X": "\xff"}, 200),
    ("/events?" + "x" * 9000, {"Sec-Fetch-Site": "cross-site"}, 403),
    ("/runs", {"Upgrade": "websocket", "Connection": "upgrade", "Sec-WebSocket-Key": "x"}, 200),
    ("/runs", {"Host": "127.0.0.1:99999999999"}, 200), ("/runs", {"Host": "[::1"}, 421)])
def test_strange_addresses_and_headers_are_answered(refusing: Any, capfd: pytest.CaptureFixture[str], path: str,
                                                    headers: dict[str, str], status: int) -> None:
    reply = refusing[0].ask(path, **{name.replace("-", "_"): value for name, value in headers.items()})
    assert reply.status == status
    assert capfd.readouterr().err == ""


def test_an_origin_that_is_no_address_may_not_act(refusing: Any) -> None:
    assert refusing[0].ask("/questions", {"text": "Where?"}, Origin="http://[").status == 403


def test_requests_that_hang_do_not_keep_a_stop_waiting(hanging: Any) -> None:
    browser, _, robot, on = hanging
    with ExitStack() as stack:
        for _ in range(HANGING):
            stack.enter_context(look(browser))
        assert stops(browser, robot)
        on.set()


def test_a_client_that_leaves_in_the_middle_says_nothing_on_the_terminal(console: Any,
                                                                         capfd: pytest.CaptureFixture[str]) -> None:
    browser, page, robot = console
    for sent in (ASK + SHORT, b"GET /runs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                 b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"\x16\x03\x01 garbage\r\n\r\n",
                 b"\x81\x85frames"):
        with dialled(browser) as connection:
            connection.sendall(sent)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # reset
    until(lambda: not page.feed.readers)
    assert stops(browser, robot)
    assert capfd.readouterr().err == ""


def test_two_consoles_of_one_host_have_cookies_of_their_own(tmp_path: Path) -> None:
    """A browser sends the cookies of all ports of a host to each: the newer console must not log the older one out."""
    with ExitStack() as stack:
        consoles = [stack.enter_context(serving(tmp_path / name, rules_for("127.0.0.1", ask_token=True)))
                    for name in ("a", "b")]
        jar: dict[str, str] = {"_xsrf": "2|a,b", "foreign": "{\"x\": [1]}"}
        for server, _, _robot in consoles:
            entered = Browser(server.url).ask("/enter", {"token": server.url.partition("#")[2]})
            name, _, value = entered.headers["set-cookie"].split(";")[0].partition("=")
            jar[name] = value
        for server, _, robot in consoles:
            browser = Browser(server.url)
            browser.cookie = "; ".join(f"{name}={value}" for name, value in jar.items())
            assert cookie_of(browser.host) in jar and stops(browser, robot)
        tunnel = Browser(consoles[0][0].url)  # ssh -L 5000:...: the browser sees another port
        entered = tunnel.ask("/enter", {"token": consoles[0][0].url.partition("#")[2]}, Host="localhost:5000")
        assert entered.headers["set-cookie"].startswith("eqa_console_5000=")
