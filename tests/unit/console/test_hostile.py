"""Clients of the console that mean no good, or are broken: what they send, how slowly, and how many they are."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import http.client
import math
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.console import app, gate
from eqa_nodes.console.guard import cookie_of
from eqa_nodes.console.server import rules_for
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.testing.waiting import WAIT_S, until
from tests.fixtures.console_browser import Browser, events
from tests.fixtures.console_server import ANSWER, DESK, ended, serving

HEAD = b"POST /stop HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
ASK = HEAD.replace(b"/stop", b"/questions")
SHORT = b"Content-Length: 20\r\n\r\n{"  # and the rest never comes


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


def look(browser: Browser, source: str) -> socket.socket:
    connection = dialled(browser, source)
    connection.sendall(b"GET /live/camera.jpg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return connection


def dialled(browser: Browser, source: str = "127.0.0.1") -> socket.socket:
    host, _, port = browser.host.partition(":")
    connection = socket.create_connection((host, int(port)), WAIT_S, (source, 0))
    connection.settimeout(WAIT_S)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Read to the end of what comes; a server that closes says so, or resets the connection."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


def stops(browser: Browser, robot: Any) -> bool:
    return browser.ask("/stop", {}).status == 200 and robot.stopped.is_set()


@pytest.mark.parametrize("text", ["Where is \\ud800?", "Where is the \\udc00\\ud800 desk?", "Where\\u0000 is it?"])
def test_what_is_no_text_is_refused_and_the_next_question_is_answered(console: Any, text: str) -> None:
    browser, page, robot = console
    robot.go.set()
    reply = browser.ask("/questions", raw=b'{"text": "%s"}' % text.encode())
    assert reply.status == 400 and "surrogate" in reply.json["error"]
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
                    broken.setattr(f"eqa_nodes.bench.running.kept.{name}", fail)
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


def test_idle_connections_from_many_addresses_do_not_keep_a_stop_out(console: Any) -> None:
    browser, _, robot = console
    with ExitStack() as stack:
        for n in range(3 * gate.CONNECTIONS):
            stack.enter_context(dialled(browser, f"127.0.0.{1 + n % 7}"))
        assert stops(browser, robot)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ", HEAD + SHORT, ASK + SHORT])
def test_what_does_not_arrive_in_time_is_closed(console: Any, sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "ARRIVE_S", 0.2)
    with dialled(console[0]) as connection:
        connection.sendall(sent)
        assert is_closed(connection)
    assert stops(console[0], console[2])


def test_a_byte_now_and_then_buys_no_time(console: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "ARRIVE_S", 0.5)
    with dialled(console[0]) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")

        def refused() -> bool:
            try:
                connection.sendall(b"X: y\r\n")
            except ConnectionError:
                return True
            return False

        until(refused)


def test_slow_heads_and_bodies_do_not_keep_a_stop_out(console: Any) -> None:
    browser, _, robot = console
    with ExitStack() as stack:
        for n in range(2 * gate.CONNECTIONS):
            connection = stack.enter_context(dialled(browser, f"127.0.0.{2 + n % 5}"))
            connection.sendall((b"GET / HTTP/1.1\r\nHo", HEAD + SHORT, ASK + SHORT)[n % 3])
        robot.stopped.clear()
        assert stops(browser, robot)


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


def test_requests_that_hang_do_not_keep_a_stop_out_and_others_are_told(hanging: Any) -> None:
    browser, page, robot, on = hanging
    with ExitStack() as stack:
        for n in range(gate.REQUESTS):
            stack.enter_context(look(browser, f"127.0.0.{1 + n % 4}"))
        until(lambda: page.gate.requests == gate.REQUESTS)
        assert browser.ask("/").status == 503
        assert stops(browser, robot)
        on.set()
    until(lambda: browser.ask("/").status == 200)


def test_readers_that_take_nothing_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "ARRIVE_S", 0.2)
    with serving(tmp_path, begin=False) as (server, page, robot):
        browser, robot.camera = Browser(server.url), lambda: b"\xff" * 30_000_000  # type: ignore[method-assign]
        page.begin(robot)
        with look(browser, "127.0.0.1") as connection:
            assert connection.recv(1, socket.MSG_PEEK)
            until(lambda: not page.gate.connections)
            assert stops(browser, robot)


def test_an_event_stream_that_nobody_reads_is_let_go(console: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "TAKE_S", 0.2)
    monkeypatch.setattr(app, "_EVENTS_S", 0.0)
    browser, page, robot = console
    robot.live.began("Where? " * 200_000)
    with dialled(browser) as connection:
        connection.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert connection.recv(1, socket.MSG_PEEK)

        def let_go() -> bool:
            robot.live.changed()
            return not page.gate.connections and not page.feed.readers

        until(let_go)


def test_a_client_that_leaves_in_the_middle_says_nothing_on_the_terminal(console: Any,
                                                                         capfd: pytest.CaptureFixture[str]) -> None:
    browser, page, robot = console
    for sent in (ASK + SHORT, b"GET /runs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                 b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"\x16\x03\x01 garbage\r\n\r\n",
                 b"\x81\x85frames"):
        with dialled(browser) as connection:
            connection.sendall(sent)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # reset
    until(lambda: not page.gate.connections and not page.feed.readers)
    assert stops(browser, robot)
    assert capfd.readouterr().err == ""


def test_many_stops_at_once_are_few_and_each_is_followed_by_one(console: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    browser, _, robot = console
    begun, on, count = threading.Semaphore(0), threading.Event(), list[int]()

    def stop() -> None:
        count.append(1)
        begun.release()
        assert on.wait(WAIT_S)

    monkeypatch.setattr(robot, "stop", stop)
    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(browser.ask, "/stop", {})
        assert begun.acquire(timeout=WAIT_S)
        others = [pool.submit(browser.ask, "/stop", {}) for _ in range(19)]
        until(lambda: console[1].gate.requests == 20)
        on.set()
        assert {reply.result(WAIT_S).status for reply in (first, *others)} == {200}
    assert len(count) == 2


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
